//! A lowered limit, what became of it, and what can go wrong.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One lowered limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lowered {
    /// Kernel name of the drive.
    pub device: String,
    /// What was there.
    pub old_bytes: u64,
    /// What was written.
    pub new_bytes: u64,
    /// What can be put back: `old_bytes`, or less where the kernel does not take that much.
    pub restorable_bytes: u64,
    /// `diskseq` of the drive (5.15+): a drive that came later under the same name is another.
    pub diskseq: Option<u64>,
    /// Inode of the drive's directory in sysfs, which is its queue's for as long as that exists: a
    /// loop device that is attached anew is another drive in the same queue, and from 6.9 on finds
    /// the limit of its predecessor there (`max_user_discard_sectors`).
    #[serde(default)]
    pub queue_inode: Option<u64>,
    /// Boot in which it was written; limits do not outlive a boot.
    pub boot_id: String,
}

/// What became of a journaled limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Restored {
    /// The old value is back.
    Restored,
    /// As much as the kernel takes is back (see [`Lowered::restorable_bytes`]).
    Nearest {
        /// What is there.
        found_bytes: u64,
    },
    /// Somebody else has changed it since: left alone.
    ChangedByOthers {
        /// What is there.
        found_bytes: u64,
    },
    /// The boot or the drive is another.
    Obsolete,
}

/// Why a limit could not be lowered or put back.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The journal is not what this program writes.
    #[error("{path}: {message}")]
    Invalid {
        /// Which.
        path: PathBuf,
        /// What was wrong.
        message: String,
    },
}

/// An error about a file.
pub(super) fn io_error(path: &Path) -> impl Fn(std::io::Error) -> LimitError + use<> {
    let path = path.to_owned();
    move |source| LimitError::Io {
        path: path.clone(),
        source,
    }
}
