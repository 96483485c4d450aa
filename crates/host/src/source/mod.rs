//! Sources of facts. Paths have no leading slash and are relative to the host's root.

mod archive;
pub mod bundle;
mod dialect;
mod directory;
mod dm_ioctl;
mod drive_log;
mod guarded;
mod host_name;
mod ioctl;
mod journal;
mod live;
mod log_file;
mod memory;
mod process;
mod reader;
mod resolve;
mod statfs;
#[cfg(test)]
mod testing;

pub use bundle::{Bundle, BundleError, Limits, is_archive, may_be_archive, open, read_bytes};
pub use directory::Directory;
pub use guarded::{Guarded, serve};
pub use host_name::static_host_name;
pub use live::Live;
pub use log_file::{read_log, whole_log};
pub use reader::{Answers, Reader, Recording};
#[cfg(test)]
pub(crate) use testing::MemorySource;

use crate::command::Command;
use crate::unread::Unread;
use serde::{Deserialize, Serialize};

/// More names than any directory has that is listed here: /proc on a large host has some 10,000.
const LIST_NAMES_MAX: usize = 100_000;

/// Returns the names in a directory, sorted.
fn sorted(names: impl Iterator<Item = Result<String, Unread>>) -> Result<Vec<String>, Unread> {
    let names: Result<Vec<String>, Unread> = names.take(LIST_NAMES_MAX + 1).collect();
    let mut names = names?;
    if names.len() > LIST_NAMES_MAX {
        return Err(Unread::Failed(format!("more than {LIST_NAMES_MAX} names")));
    }
    names.sort_unstable();
    Ok(names)
}

/// A host's files, and the few commands whose output is in no file.
pub trait Source {
    /// Returns the contents of a file, following symbolic links.
    ///
    /// # Errors
    /// If it could not be read; [`Unread::TooLarge`] above `max_bytes`.
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread>;

    /// Returns the last `max_bytes` of a file, following symbolic links. A source that keeps its
    /// files in memory anyway returns them completely or not at all.
    ///
    /// # Errors
    /// Same as [`Self::read`].
    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        Ok(End {
            bytes: self.read(path, max_bytes)?,
            is_cut: false,
        })
    }

    /// Returns the names in a directory, sorted, without `.` and `..`.
    ///
    /// # Errors
    /// If it could not be read.
    fn list(&self, path: &str) -> Result<Vec<String>, Unread>;

    /// Returns the target of a symbolic link, verbatim; links in its parent directories are
    /// followed.
    ///
    /// # Errors
    /// [`Unread::NotFound`] also if `path` is not a link.
    fn link(&self, path: &str) -> Result<String, Unread>;

    /// Returns kind, mode and modification time, following symbolic links.
    ///
    /// # Errors
    /// If it could not be read.
    fn stat(&self, path: &str) -> Result<Stat, Unread>;

    /// Returns the output of a command.
    ///
    /// # Errors
    /// [`Unread::NotFound`] if the command does not apply to this host.
    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread>;

    /// Whether this is the complete host, so that what is not found does not exist. False for a
    /// tree that may contain only a part of it.
    fn is_whole(&self) -> bool {
        false
    }

    /// Whether this tells about a host: its disks and jobs. False for the answers of a cluster alone.
    fn holds_a_host(&self) -> bool {
        true
    }

    /// Returns the paths of curves that were recorded on the host, such as sar's.
    fn curves(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns when the facts were collected, if not now.
    fn collected_at(&self) -> Option<jiff::Timestamp> {
        None
    }

    /// Returns the data paths that the user supplied when the facts were collected.
    fn data_paths(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns remarks for the user about this source, such as skipped entries of a bundle.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Whether there is more before it.
    pub is_cut: bool,
}

/// The relevant part of `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Regular file, directory, or anything else.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Modification time, in seconds since 1970.
    pub mtime_s: i64,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// Kinds of files that are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Device, socket, pipe.
    Other,
}
