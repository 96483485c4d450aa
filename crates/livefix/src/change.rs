//! Changes of files: shown first, then made all together or not at all.

use crate::folder::{Contents, Folder};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use thiserror::Error;

/// Files of a configuration folder are small.
const BYTES_MAX: u64 = 16 << 20;

/// What happens to a file. Its contents are not part of answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// The file's name.
    pub name: String,
    /// What happens, in words: `added: -javaagent:...`.
    pub what: String,
    /// What it was; `None` if there is no such file.
    #[serde(skip)]
    pub(crate) before: Option<Contents>,
    /// What it becomes; `None` if it is removed.
    #[serde(skip)]
    pub(crate) after: Option<Contents>,
}

/// Why changes were not made.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// A file could not be written or removed. What had been changed before was undone.
    #[error("{name}: {error}; nothing was changed")]
    Undone {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// Neither could what had been changed before be undone.
    #[error("{name}: {error}; and {other} could not be restored: {undo}")]
    Stuck {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
        /// The file that was changed before.
        other: String,
        /// Why it was not restored.
        undo: io::Error,
    },
}

/// Makes all changes in order, or none. Each file must still be what it was when the changes were planned.
pub(crate) fn apply(folder: &Folder, changes: &[Change]) -> Result<(), ChangeError> {
    for (at, change) in changes.iter().enumerate() {
        let Err(error) = make(folder, change) else {
            continue;
        };
        for done in changes[..at].iter().rev() {
            if let Err(undo) = set(folder, &done.name, done.before.as_ref()) {
                return Err(ChangeError::Stuck {
                    name: change.name.clone(),
                    error,
                    other: done.name.clone(),
                    undo,
                });
            }
        }
        return Err(ChangeError::Undone {
            name: change.name.clone(),
            error,
        });
    }
    Ok(())
}

fn make(folder: &Folder, change: &Change) -> io::Result<()> {
    if folder.read(&change.name, BYTES_MAX)? != change.before {
        return Err(io::Error::other("somebody else has just changed it"));
    }
    set(folder, &change.name, change.after.as_ref())
}

fn set(folder: &Folder, name: &str, contents: Option<&Contents>) -> io::Result<()> {
    match contents {
        Some(contents) => folder.write(name, contents),
        None => folder.remove(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_fails_halfway_is_undone() {
        let temporary = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(temporary.path()).unwrap();
        let folder = Folder::open(path.clone()).unwrap();
        fs::write(path.join("one"), "before").unwrap();
        let before = folder.read("one", 100).unwrap();
        let text = |text: &str| Contents {
            bytes: text.as_bytes().to_vec(),
            ..before.clone().unwrap()
        };
        let change = |name: &str, before: Option<Contents>, after: Option<Contents>| Change {
            name: name.to_owned(),
            what: String::new(),
            before,
            after,
        };
        let changes = [
            change("one", before.clone(), Some(text("after"))),
            change("new", None, Some(text("new"))),
            // It is not what it was.
            change("two", Some(text("two")), None),
        ];
        let error = apply(&folder, &changes).unwrap_err();
        assert!(matches!(error, ChangeError::Undone { .. }), "{error}");
        assert_eq!(folder.read("one", 100).unwrap(), before);
        assert!(!path.join("new").exists());
        apply(&folder, &changes[..2]).unwrap();
        assert_eq!(fs::read_to_string(path.join("one")).unwrap(), "after");
        apply(&folder, &[change("new", Some(text("new")), None)]).unwrap();
        assert!(!path.join("new").exists());
    }
}
