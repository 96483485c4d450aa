use super::{Source, Stat};
use crate::command::Command;
use crate::filter;
use crate::unread::Unread;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Maximum file size, unless a caller specifies another.
const FILE_BYTES_MAX: usize = 4 << 20;

/// Reads through a [`Source`]: filters, and records every read with its outcome, including not
/// found and denied.
pub struct Reader<'s> {
    source: &'s dyn Source,
    recording: RefCell<Recording>,
}

/// Everything that was read, after filtering; a bundle consists of this.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// Contents by path.
    pub files: BTreeMap<String, Result<Vec<u8>, Unread>>,
    /// Directory listings by path.
    pub lists: BTreeMap<String, Result<Vec<String>, Unread>>,
    /// Link targets by path.
    pub links: BTreeMap<String, Result<String, Unread>>,
    /// Stats by path.
    pub stats: BTreeMap<String, Result<Stat, Unread>>,
    /// Outputs by command name.
    pub commands: BTreeMap<String, Result<Vec<u8>, Unread>>,
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

    /// Returns the contents of a file after filtering.
    ///
    /// # Errors
    /// If it could not be read; [`Unread::Failed`] for a path that the filter does not handle,
    /// which is a bug in this crate.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread> {
        if let Some(known) = self.recording.borrow().files.get(path) {
            return known.clone();
        }
        let outcome = self
            .source
            .read(path, FILE_BYTES_MAX)
            .and_then(|bytes| filter::keep_file(path, &bytes));
        self.recording
            .borrow_mut()
            .files
            .insert(path.to_owned(), outcome.clone());
        outcome
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
        if let Some(known) = self.recording.borrow().lists.get(path) {
            return known.clone();
        }
        let outcome = self.source.list(path);
        self.recording
            .borrow_mut()
            .lists
            .insert(path.to_owned(), outcome.clone());
        outcome
    }

    /// Returns the target of a symbolic link.
    ///
    /// # Errors
    /// If it could not be read.
    pub fn link(&self, path: &str) -> Result<String, Unread> {
        if let Some(known) = self.recording.borrow().links.get(path) {
            return known.clone();
        }
        let outcome = self.source.link(path);
        self.recording
            .borrow_mut()
            .links
            .insert(path.to_owned(), outcome.clone());
        outcome
    }

    /// Returns kind, mode and modification time.
    ///
    /// # Errors
    /// If it could not be read.
    pub fn stat(&self, path: &str) -> Result<Stat, Unread> {
        if let Some(known) = self.recording.borrow().stats.get(path) {
            return known.clone();
        }
        let outcome = self.source.stat(path);
        self.recording
            .borrow_mut()
            .stats
            .insert(path.to_owned(), outcome.clone());
        outcome
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
        let files = recording
            .files
            .iter()
            .filter(|(_, o)| matches!(o, Err(Unread::Denied)));
        let lists = recording
            .lists
            .iter()
            .filter(|(_, o)| matches!(o, Err(Unread::Denied)));
        let mut paths: Vec<String> = files
            .map(|(path, _)| path.clone())
            .chain(lists.map(|(path, _)| path.clone()))
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}
