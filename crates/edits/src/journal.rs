//! What was changed, written down before it is changed.
//!
//! The journal keeps, for each path, what was there before the first change and what is there now. It is on disk before
//! anything else is, so that a process that was killed leaves each path as one of the two: the next run makes the changes
//! once more, or takes them back.

use crate::change::{self, Change, ChangeError};
use crate::entry::{Contents, Entry};
use crate::lines::Replaced;
use crate::planned::Planned;
use crate::root::Root;
use linux::lock::Exclusive;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Version of the format.
const VERSION: u32 = 1;
/// How long another run is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Mode of the folder of the journal: what was in the files may be secret.
const PRIVATE: u32 = 0o700;

/// A change that was made, and how it is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its path below the root.
    pub name: String,
    /// What was there before the first change; `None` if nothing was.
    pub before: Option<Entry>,
    /// What is there now.
    pub after: Option<Entry>,
    /// The lines that were changed, before and after: they can be taken back although others were edited since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Replaced>,
}

/// What a path is found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// As the change left it.
    Changed,
    /// As it was before.
    Original,
    /// Other lines of it were edited since; holds what it is once ours are taken back.
    EditedAround(Contents),
    /// Something else; ours cannot be told from it.
    Edited,
}

/// Changes that were made together, or one after the other. `N` is what their owner keeps with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal<N> {
    version: u32,
    /// Whether all of them were made: `false` while they are made, or after a run that was killed.
    pub is_complete: bool,
    /// The changes, in the order in which they were made first.
    pub changes: Vec<Recorded>,
    /// Folders that were made, the outer ones first.
    pub folders: Vec<String>,
    /// Folders that were made for the journal itself.
    own_folders: Vec<String>,
    /// What their owner keeps with them.
    pub note: N,
}

/// Why changes could not be made or taken back.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The journal cannot be read or written.
    #[error("{path}: {error}")]
    Journal {
        /// Its path.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// It is no journal of this version.
    #[error("{path}: expected a journal of version {VERSION}, found {found}")]
    Invalid {
        /// Its path.
        path: String,
        /// What it is.
        found: String,
    },
    /// Another run holds it.
    #[error("{path}: another run is changing files")]
    Busy {
        /// Its path.
        path: String,
    },
    /// A file could not be changed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Files were changed since by somebody else.
    #[error("changed since by somebody else: {}; nothing was changed", names.join(", "))]
    Edited {
        /// Their paths.
        names: Vec<String>,
    },
    /// What was to follow failed, and the changes were taken back.
    #[error("{0}; the files were put back")]
    Then(String),
    /// What was to follow failed, and the changes could not be taken back.
    #[error("{why}; and not all files could be put back: {error}")]
    Stuck {
        /// What failed.
        why: String,
        /// Why the files are as they are.
        error: ChangeError,
    },
    /// All files are as they were, but what was to follow failed.
    #[error("the files were put back, but {0}")]
    AfterUndo(String),
    /// Others may have written it.
    #[error(
        "{path}: expected a journal that only its owner can write, found one that is another user's or can be written by others"
    )]
    Foreign {
        /// Its path.
        path: String,
    },
}

impl<N: Serialize + DeserializeOwned + Clone> Journal<N> {
    /// Reads the journal at a path below the root; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(root: &Root, path: &str) -> Result<Option<Self>, JournalError> {
        let Some(entry) = root.read(path).map_err(at(path))? else {
            return Ok(None);
        };
        let invalid = |found: String| JournalError::Invalid {
            path: path.to_owned(),
            found,
        };
        let contents = entry.file().ok_or_else(|| invalid("a link".to_owned()))?;
        // It says what is written where, by whoever undoes it.
        if contents.uid != rustix::process::geteuid().as_raw() || contents.mode & 0o022 != 0 {
            let path = format!("/{path}");
            return Err(JournalError::Foreign { path });
        }
        let journal: Self =
            serde_json::from_slice(&contents.bytes).map_err(|error| invalid(error.to_string()))?;
        if journal.version != VERSION {
            return Err(invalid(format!("version {}", journal.version)));
        }
        Ok(Some(journal))
    }

    /// Makes changes and writes them down, after those that were made before; then does what follows, which may ask for
    /// the changes to be taken back.
    ///
    /// # Errors
    /// If a change or what follows fails: nothing is changed then, unless it says so.
    pub fn apply(
        root: &Root,
        path: &str,
        changes: &[Planned],
        note: impl FnOnce(Option<N>) -> N,
        then: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), JournalError> {
        let (_lock, own_folders) = locked(root, path)?;
        let earlier = Self::read(root, path)?;
        root.remove_leftovers(path).map_err(at(path))?;
        if let Some(earlier) = &earlier {
            earlier.remove_leftovers(root, path)?;
        }
        let mut journal = match earlier.clone() {
            Some(known) => Self {
                is_complete: false,
                note: note(Some(known.note)),
                ..known
            },
            None => Self {
                version: VERSION,
                is_complete: false,
                changes: Vec::new(),
                folders: Vec::new(),
                own_folders,
                note: note(None),
            },
        };
        let mut made = Vec::new();
        for planned in changes {
            journal.add(planned);
            let name = &planned.change.name;
            for folder in root.missing_folders(name).map_err(at(path))? {
                if !made.contains(&folder) {
                    made.push(folder);
                }
            }
        }
        for folder in &made {
            if !journal.folders.contains(folder) {
                journal.folders.push(folder.clone());
            }
        }
        journal.write(root, path)?;
        let changes: Vec<Change> = changes
            .iter()
            .map(|planned| planned.change.clone())
            .collect();
        let mut is_stuck = false;
        let done = make_folders(root, &made)
            .and_then(|()| Ok(change::apply(root, &changes)?))
            .and_then(|()| {
                then().map_err(|why| match take_back(root, &changes) {
                    Ok(()) => JournalError::Then(why),
                    Err(error) => {
                        is_stuck = true;
                        JournalError::Stuck { why, error }
                    }
                })
            });
        if let Err(error) = done {
            is_stuck |= matches!(error, JournalError::Change(ChangeError::Stuck { .. }));
            // Of what is stuck the journal has to know.
            if !is_stuck {
                remove_folders(root, &made)?;
                if let Some(earlier) = earlier {
                    earlier.write(root, path)?;
                } else {
                    remove(root, path)?;
                    remove_folders(root, &journal.own_folders)?;
                }
            }
            return Err(error);
        }
        journal.is_complete = true;
        journal.write(root, path)
    }

    /// Takes all changes back, does what follows, and forgets them. Returns the journal as it was; `None` if there was
    /// none.
    ///
    /// # Errors
    /// If somebody else has changed a file since so that ours cannot be told from theirs; if a file cannot be written, or
    /// what follows fails: the next call goes on from there.
    pub fn undo(
        root: &Root,
        path: &str,
        then: impl FnOnce(&Self) -> Result<(), String>,
    ) -> Result<Option<Self>, JournalError> {
        if Self::read(root, path)?.is_none() {
            return Ok(None);
        }
        let (_lock, _) = locked(root, path)?;
        let Some(mut journal) = Self::read(root, path)? else {
            return Ok(None);
        };
        journal.remove_leftovers(root, path)?;
        journal.take_all_back(root, path)?;
        then(&journal).map_err(JournalError::AfterUndo)?;
        remove(root, path)?;
        remove_folders(root, &journal.own_folders)?;
        Ok(Some(journal))
    }

    fn take_all_back(&mut self, root: &Root, path: &str) -> Result<(), JournalError> {
        let mut before = Vec::new();
        let mut edited = Vec::new();
        for recorded in self.changes.iter().rev() {
            let name = &recorded.name;
            match recorded.found(root).map_err(at(name))? {
                Found::Changed => before.push((name.clone(), recorded.before.clone())),
                Found::Original => {}
                Found::EditedAround(contents) => {
                    before.push((name.clone(), Some(Entry::File(contents))));
                }
                Found::Edited => edited.push(format!("/{name}")),
            }
        }
        if !edited.is_empty() {
            return Err(JournalError::Edited { names: edited });
        }
        self.is_complete = false;
        self.write(root, path)?;
        for (name, entry) in &before {
            root.set(name, entry.as_ref()).map_err(at(name))?;
        }
        remove_folders(root, &self.folders)
    }

    fn add(&mut self, Planned { change, lines }: &Planned) {
        let known = self.changes.iter_mut();
        match known.into_iter().find(|known| known.name == change.name) {
            Some(known) => {
                known.rebase(change.before.as_ref());
                known.after.clone_from(&change.after);
                for line in lines {
                    if !known.lines.contains(line) {
                        known.lines.push(line.clone());
                    }
                }
            }
            None => self.changes.push(Recorded {
                name: change.name.clone(),
                before: change.before.clone(),
                after: change.after.clone(),
                lines: lines.clone(),
            }),
        }
    }

    /// Removes what a run that was killed has left under other names.
    fn remove_leftovers(&self, root: &Root, path: &str) -> Result<(), JournalError> {
        if self.is_complete {
            return Ok(());
        }
        let names = self.changes.iter().map(|recorded| recorded.name.as_str());
        for name in names.chain([path]) {
            root.remove_leftovers(name).map_err(at(name))?;
        }
        Ok(())
    }

    fn write(&self, root: &Root, path: &str) -> Result<(), JournalError> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        let contents = Contents {
            mode: 0o600,
            ..Contents::own(text.map_err(at(path))?)
        };
        root.set(path, Some(&Entry::File(contents)))
            .map_err(at(path))
    }
}

impl Recorded {
    /// Takes over what others have edited since the last change: that must not go when ours is taken back.
    fn rebase(&mut self, now: Option<&Entry>) {
        if now == self.after.as_ref() || now == self.before.as_ref() {
            return;
        }
        self.before = if let Some(contents) = self.without_lines(now) {
            Some(Entry::File(contents))
        } else {
            self.lines.clear();
            now.cloned()
        };
    }

    /// What a file is without our lines; `None` if these cannot be told from others.
    fn without_lines(&self, now: Option<&Entry>) -> Option<Contents> {
        let now = now?.file().filter(|_| !self.lines.is_empty())?;
        let mut lines = self.lines.iter().rev();
        let without = lines.try_fold(now.bytes.to_vec(), |bytes, line| line.put_back(&bytes));
        Some(now.with_bytes(without?))
    }

    /// Returns what its path is found to be.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn found(&self, root: &Root) -> io::Result<Found> {
        let now = root.read(&self.name)?;
        if now == self.after {
            return Ok(Found::Changed);
        }
        if now == self.before {
            return Ok(Found::Original);
        }
        Ok(self
            .without_lines(now.as_ref())
            .map_or(Found::Edited, Found::EditedAround))
    }
}

/// Takes back what was just changed.
fn take_back(root: &Root, changes: &[Change]) -> Result<(), ChangeError> {
    let reversed: Vec<Change> = changes
        .iter()
        .rev()
        .map(|change| Change {
            before: change.after.clone(),
            after: change.before.clone(),
            ..change.clone()
        })
        .collect();
    change::apply(root, &reversed)
}

fn make_folders(root: &Root, folders: &[String]) -> Result<(), JournalError> {
    for folder in folders {
        root.make_folder(folder, None).map_err(at(folder))?;
    }
    Ok(())
}

fn remove_folders(root: &Root, folders: &[String]) -> Result<(), JournalError> {
    for folder in folders.iter().rev() {
        root.remove_folder(folder).map_err(at(folder))?;
    }
    Ok(())
}

fn remove(root: &Root, path: &str) -> Result<(), JournalError> {
    root.set(path, None).map_err(at(path))
}

/// Takes the lock on the journal's folder, which is made if it is missing; also returns the folders that were made.
fn locked(root: &Root, path: &str) -> Result<(Exclusive, Vec<String>), JournalError> {
    let missing = root.missing_folders(path).map_err(at(path))?;
    for (depth, folder) in missing.iter().enumerate() {
        let is_innermost = depth + 1 == missing.len();
        let mode = is_innermost.then_some(PRIVATE);
        root.make_folder(folder, mode).map_err(at(folder))?;
    }
    let folder = root.folder_for_lock(path).map_err(at(path))?;
    let lock = Exclusive::within(folder, PATIENCE).map_err(at(path))?;
    let busy = || JournalError::Busy {
        path: format!("/{path}"),
    };
    Ok((lock.ok_or_else(busy)?, missing))
}

fn at(path: &str) -> impl Fn(io::Error) -> JournalError + '_ {
    move |error| JournalError::Journal {
        path: format!("/{path}"),
        error,
    }
}

#[cfg(test)]
mod tests;
