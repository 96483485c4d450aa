//! A lowered limit, the result of restoring it, and errors.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One lowered limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lowered {
    /// Kernel name of the drive.
    pub device: String,
    /// Value before.
    pub old_bytes: u64,
    /// Value written.
    pub new_bytes: u64,
    /// Value that can be restored: `old_bytes`, or less if the kernel does not accept that much.
    pub restorable_bytes: u64,
    /// `diskseq` of the drive (5.15+), which differs for a later drive with the same name.
    pub diskseq: Option<u64>,
    /// Inode of the drive's directory in sysfs, which identifies its queue for as long as that
    /// exists: a loop device that is reattached is another drive in the same queue, and from 6.9 on
    /// finds the limit of its predecessor there (`max_user_discard_sectors`).
    #[serde(default)]
    pub queue_inode: Option<u64>,
    /// Boot in which it was written; limits do not survive a reboot.
    pub boot_id: String,
}

/// Result of restoring a journaled limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Restored {
    /// The old value was restored.
    Restored,
    /// As much as the kernel accepts was restored (see [`Lowered::restorable_bytes`]).
    Nearest {
        /// Current value.
        found_bytes: u64,
    },
    /// The value has been changed since and was left alone.
    ChangedByOthers {
        /// Current value.
        found_bytes: u64,
    },
    /// The host was rebooted or the drive replaced since.
    Obsolete,
}

/// Why a limit could not be lowered or restored.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error from the kernel.
        source: std::io::Error,
    },
    /// The journal is not one that this program writes.
    #[error("{path}: {message}")]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// Returns a function that wraps an I/O error of a file.
pub(super) fn io_error(path: &Path) -> impl Fn(std::io::Error) -> LimitError + use<> {
    let path = path.to_owned();
    move |source| LimitError::Io {
        path: path.clone(),
        source,
    }
}
