//! Changes, made all together or not at all.

use crate::entry::Entry;
use crate::root::Root;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use thiserror::Error;

/// What happens to a file. Its contents are not part of answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// Its path below the root, such as `etc/fstab`.
    pub name: String,
    /// What happens, in words: `added: -javaagent:...`.
    pub what: String,
    /// What it was; `None` if there is nothing.
    #[serde(skip)]
    pub before: Option<Entry>,
    /// What it becomes; `None` if it is removed.
    #[serde(skip)]
    pub after: Option<Entry>,
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

/// Makes all changes in order, or none. The folders that files are in are there.
///
/// # Errors
/// If a file cannot be written or removed, or is not any more what it was when the changes were planned.
pub fn apply(root: &Root, changes: &[Change]) -> Result<(), ChangeError> {
    for (at, change) in changes.iter().enumerate() {
        let Err(error) = make(root, change) else {
            continue;
        };
        for done in changes[..at].iter().rev() {
            if let Err(undo) = root.set(&done.name, done.before.as_ref()) {
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

fn make(root: &Root, change: &Change) -> io::Result<()> {
    if root.read(&change.name)? != change.before {
        return Err(io::Error::other("somebody else has just changed it"));
    }
    root.set(&change.name, change.after.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_fails_halfway_is_undone() {
        let temporary = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(temporary.path()).unwrap();
        let root = Root::open(path.clone()).unwrap();
        fs::write(path.join("one"), "before").unwrap();
        let before = root.read("one").unwrap();
        let text = |text: &str| {
            let contents = before.as_ref().unwrap().file().unwrap();
            Entry::File(contents.with_bytes(text.as_bytes().to_vec()))
        };
        let change = |name: &str, before: Option<Entry>, after: Option<Entry>| Change {
            name: name.to_owned(),
            what: String::new(),
            before,
            after,
        };
        let changes = [
            change("one", before.clone(), Some(text("after"))),
            change("new", None, Some(Entry::Link("/dev/null".to_owned()))),
            // It is not what it was.
            change("two", Some(text("two")), None),
        ];
        let error = apply(&root, &changes).unwrap_err();
        assert!(matches!(error, ChangeError::Undone { .. }), "{error}");
        assert_eq!(root.read("one").unwrap(), before);
        assert!(fs::symlink_metadata(path.join("new")).is_err());
        apply(&root, &changes[..2]).unwrap();
        assert_eq!(fs::read_to_string(path.join("one")).unwrap(), "after");
        assert_eq!(
            fs::read_link(path.join("new")).unwrap().to_str(),
            Some("/dev/null")
        );
        apply(
            &root,
            &[change(
                "new",
                Some(Entry::Link("/dev/null".to_owned())),
                None,
            )],
        )
        .unwrap();
        assert!(fs::symlink_metadata(path.join("new")).is_err());
    }
}
