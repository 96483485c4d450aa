//! Where facts are read from. Paths have no leading slash and are relative to the host's root.

pub mod bundle;
mod directory;
mod dm_ioctl;
mod drive_log;
mod host_name;
mod ioctl;
mod journal;
mod live;
mod log_file;
mod process;
mod reader;
mod resolve;
mod statfs;
mod statfs_child;
#[cfg(test)]
mod testing;

pub use bundle::{Bundle, BundleError, Limits, open, read_bytes};
pub use directory::Directory;
pub use host_name::static_host_name;
pub use live::Live;
pub use log_file::{read_log, whole_log};
pub use reader::{Reader, Recording};
pub use statfs_child::answer_mount_points;
#[cfg(test)]
pub(crate) use testing::MemorySource;

use crate::command::Command;
use crate::unread::Unread;
use serde::{Deserialize, Serialize};

/// More names than any directory has that is listed here: /proc of a large host has some 10,000.
const LIST_NAMES_MAX: usize = 100_000;

/// What is said of a directory above [`LIST_NAMES_MAX`].
fn too_many_names() -> Unread {
    Unread::Failed(format!("more than {LIST_NAMES_MAX} names"))
}

/// A host's files and the few commands whose answers no file holds.
pub trait Source {
    /// The content of a file, symbolic links followed.
    ///
    /// # Errors
    /// Why it could not be read; [`Unread::TooLarge`] above `max_bytes`.
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread>;

    /// The last `max_bytes` of a file, symbolic links followed. A source that holds its files in
    /// memory anyway gives them as a whole or not at all.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        Ok(End {
            bytes: self.read(path, max_bytes)?,
            is_cut: false,
        })
    }

    /// The names in a directory, sorted, without `.` and `..`.
    ///
    /// # Errors
    /// Why it could not be read.
    fn list(&self, path: &str) -> Result<Vec<String>, Unread>;

    /// The text of a symbolic link, as it stands; the links on the way to it are followed.
    ///
    /// # Errors
    /// [`Unread::NotFound`] also where `path` is no link.
    fn link(&self, path: &str) -> Result<String, Unread>;

    /// Kind, mode and time of change, symbolic links followed.
    ///
    /// # Errors
    /// Why it could not be read.
    fn stat(&self, path: &str) -> Result<Stat, Unread>;

    /// The answer of a command.
    ///
    /// # Errors
    /// [`Unread::NotFound`] where the command has nothing to say on this host.
    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread>;

    /// Whether all of the host can be asked: what is not found is then not there. False for a tree
    /// that may hold only a part of it.
    fn is_whole(&self) -> bool {
        false
    }

    /// When the facts were collected, where that was another time than now.
    fn collected_at(&self) -> Option<jiff::Timestamp> {
        None
    }

    /// Data paths that were given by hand when the facts were collected.
    fn data_paths(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the user should know of this source: entries of a bundle that were passed over.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether something stands before them.
    pub is_cut: bool,
}

/// What `stat` tells that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Regular file, directory, or anything else.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Last change of the content, seconds since 1970.
    pub mtime_s: i64,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// File kinds that are told apart.
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
