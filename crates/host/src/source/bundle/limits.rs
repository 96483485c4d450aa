//! What a bundle may at most be, and why one is not read.

use std::fmt;
use std::path::Path;

/// What a bundle may at most be. The defaults hold the bundle of any real host some ten times over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Size of the file as it lies on disk.
    pub compressed_bytes_max: u64,
    /// Size of the archive inside, headers and skipped entries included.
    pub total_bytes_max: u64,
    /// Size of one entry.
    pub entry_bytes_max: u64,
    /// Number of entries, and of files and directories that they make.
    pub entries_max: u64,
    /// Length of a path.
    pub path_bytes_max: usize,
    /// Components of a path.
    pub depth_max: usize,
    /// Size of `manifest.json`.
    pub manifest_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            compressed_bytes_max: 64 << 20,
            total_bytes_max: 256 << 20,
            entry_bytes_max: 16 << 20,
            entries_max: 100_000,
            path_bytes_max: 1024,
            depth_max: 64,
            manifest_bytes_max: 16 << 20,
        }
    }
}

/// Why a bundle is not read. Nothing of it was written anywhere.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file or directory could not be opened or read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// As it was given.
        path: String,
        /// Why.
        reason: String,
    },
    /// A limit was exceeded.
    #[error(
        "the bundle is refused: {what} is larger than {limit}; \
         bundles that `trimtab collect` writes are far below"
    )]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// An entry that no bundle holds.
    #[error("the bundle is refused: entry {entry:?}: {reason}")]
    Refused {
        /// Its path; a long one is cut.
        entry: String,
        /// Why.
        reason: String,
    },
    /// Not an archive, or a cut or changed one.
    #[error("the bundle is damaged: {reason}; collect or copy it again")]
    Damaged {
        /// What is wrong.
        reason: String,
    },
    /// `manifest.json` is not understood.
    #[error("the bundle's manifest.json is not understood: {reason}")]
    Manifest {
        /// What is wrong with it.
        reason: String,
    },
    /// A tar archive or a directory, but not of a bundle.
    #[error(
        "not a bundle: expected manifest.json or files below root/, found {found}; \
         make one with `trimtab collect -o FILE.tar.zst`"
    )]
    NotABundle {
        /// What is there.
        found: String,
    },
}

/// The longest foreign text that a message repeats, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// Foreign text, cut to a readable length.
pub(super) fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

impl BundleError {
    pub(super) fn damaged(error: impl fmt::Display) -> Self {
        Self::Damaged {
            reason: error.to_string(),
        }
    }

    pub(super) fn refused(entry: &str, reason: &str) -> Self {
        Self::Refused {
            entry: cut(entry),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn unreadable(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Unreadable {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}
