use super::{Source, Stat};
use crate::command::Command;
use crate::filter;
use crate::unread::Unread;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum file size, unless a caller specifies another.
const FILE_BYTES_MAX: usize = 4 << 20;

/// Reads through a [`Source`]: filters, and records every read with its outcome, including not
/// found and denied.
pub struct Reader<'s> {
    source: &'s dyn Source,
    recording: RefCell<Recording>,
}

/// What was answered, or why there was no answer, by path or name.
pub type Answers<T> = BTreeMap<String, Result<T, Unread>>;

/// Everything that was read, after filtering; a bundle consists of this.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// Contents by path.
    pub files: Answers<Vec<u8>>,
    /// Directory listings by path.
    pub lists: Answers<Vec<String>>,
    /// Link targets by path.
    pub links: Answers<String>,
    /// Stats by path.
    pub stats: Answers<Stat>,
    /// Outputs by command name.
    pub commands: Answers<Vec<u8>>,
    /// Data paths supplied by the user.
    pub data_paths: Vec<String>,
}

impl<'s> Reader<'s> {
    /// Creates a reader with an empty recording.
    pub fn new(source: &'s dyn Source) -> Self {
        Self {
            source,
            recording: RefCell::default(),
        }
    }

    /// Whether what is not found does not exist on the host, see [`Source::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.source.is_whole()
    }

    /// Returns the data paths supplied by the user, now and when the source was collected. They are
    /// added to the recording, since they are in no file.
    pub fn data_paths(&self, given: &[String]) -> Vec<String> {
        let mut paths = given.to_vec();
        for path in self.source.data_paths() {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        self.recording.borrow_mut().data_paths.clone_from(&paths);
        paths
    }

    /// Returns the recording.
    pub fn into_recording(self) -> Recording {
        self.recording.into_inner()
    }

    /// Returns the recorded answer about a path, otherwise asks for it and records it.
    fn once<T: Clone>(
        &self,
        path: &str,
        of: impl Fn(&mut Recording) -> &mut Answers<T>,
        ask: impl FnOnce() -> Result<T, Unread>,
    ) -> Result<T, Unread> {
        if let Some(known) = of(&mut self.recording.borrow_mut()).get(path) {
            return known.clone();
        }
        let outcome = ask();
        of(&mut self.recording.borrow_mut()).insert(path.to_owned(), outcome.clone());
        outcome
    }

    /// Returns the contents of a file after filtering.
    ///
    /// # Errors
    /// If it could not be read; [`Unread::Failed`] for a path that the filter does not handle,
    /// which is a bug in this crate.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread> {
        let read = || {
            let bytes = self.source.read(path, FILE_BYTES_MAX)?;
            filter::keep_file(path, &bytes)
        };
        self.once(path, |known| &mut known.files, read)
    }

    /// Returns the contents of a file as text; bytes that are not UTF-8 become U+FFFD, since
    /// comments in old configuration files are often Latin-1.
    ///
    /// # Errors
    /// Same as [`Self::bytes`].
    pub fn text(&self, path: &str) -> Result<String, Unread> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Returns the trimmed contents of a single-value file such as a sysfs attribute; `None` if it
    /// cannot be read or is empty.
    pub fn attribute(&self, path: &str) -> Option<String> {
        let text = self.text(path).ok()?;
        let value = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Returns the number in a single-value file.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.attribute(path)?.parse().ok()
    }

    /// Returns the names in a directory, sorted.
    ///
    /// # Errors
    /// If it could not be read.
    pub fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        self.once(path, |known| &mut known.lists, || self.source.list(path))
    }

    /// Returns the target of a symbolic link.
    ///
    /// # Errors
    /// If it could not be read.
    pub fn link(&self, path: &str) -> Result<String, Unread> {
        self.once(path, |known| &mut known.links, || self.source.link(path))
    }

    /// Returns kind, mode and modification time.
    ///
    /// # Errors
    /// If it could not be read.
    pub fn stat(&self, path: &str) -> Result<Stat, Unread> {
        self.once(path, |known| &mut known.stats, || self.source.stat(path))
    }

    /// Whether a path exists; `None` if that is unknown.
    pub fn exists(&self, path: &str) -> Option<bool> {
        match self.stat(path) {
            Ok(_) => Some(true),
            Err(unread) if unread.is_absent() => Some(false),
            Err(_) => None,
        }
    }

    /// Returns the output of a command after filtering. Each command is run once.
    ///
    /// # Errors
    /// If there is no output.
    pub fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        let outcome = self
            .source
            .command(command)
            .and_then(|bytes| filter::keep_command(command, &bytes));
        self.recording
            .borrow_mut()
            .commands
            .insert(command.name().into_owned(), outcome.clone());
        outcome
    }

    /// Returns the paths for which access was denied, sorted.
    pub fn denied(&self) -> Vec<String> {
        let recording = self.recording.borrow();
        let denied: BTreeSet<&String> = denied_in(&recording.files)
            .chain(denied_in(&recording.lists))
            .collect();
        denied.into_iter().cloned().collect()
    }
}

fn denied_in<T>(answers: &Answers<T>) -> impl Iterator<Item = &String> {
    let denied = answers
        .iter()
        .filter(|(_, answer)| matches!(answer, Err(Unread::Denied)));
    denied.map(|(path, _)| path)
}
