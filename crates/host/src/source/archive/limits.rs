//! Size limits for archives, and the reasons for rejecting one.

use std::fmt;
use std::path::Path;

/// Size limits for bundles and support archives. What is kept in memory stays far below the size of
/// an archive, most of which are logs that nobody asks for here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Size of the file on disk.
    pub compressed_bytes_max: u64,
    /// Size of the archive inside, including headers and skipped entries.
    pub total_bytes_max: u64,
    /// Size of one entry.
    pub entry_bytes_max: u64,
    /// Size of all entries that are kept.
    pub kept_bytes_max: u64,
    /// Number of entries.
    pub entries_max: u64,
    /// Number of files and directories that are kept.
    pub kept_entries_max: u64,
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
            compressed_bytes_max: 1 << 30,
            total_bytes_max: 2 << 30,
            entry_bytes_max: 16 << 20,
            kept_bytes_max: 192 << 20,
            entries_max: 2_000_000,
            kept_entries_max: 100_000,
            path_bytes_max: 1024,
            depth_max: 64,
            manifest_bytes_max: 16 << 20,
        }
    }
}

/// Why a bundle was rejected. None of it was written anywhere.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file or directory could not be opened or read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The path as given.
        path: String,
        /// The I/O error.
        reason: String,
    },
    /// A limit was exceeded.
    #[error(
        "the archive is refused: {what} is larger than {limit}; bundles that \
         `trimtab collect` writes are far below, and of a larger one the directory can be named"
    )]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// An entry that is not allowed in a bundle.
    #[error("the archive is refused: entry {entry:?}: {reason}")]
    Refused {
        /// Its path, truncated if long.
        entry: String,
        /// Why it is not allowed.
        reason: String,
    },
    /// Not an archive, or a truncated or altered one.
    #[error("the archive is damaged: {reason}; collect or copy it again")]
    Damaged {
        /// What is wrong.
        reason: String,
    },
    /// A support archive that is known, and not read.
    #[error("it is {name}, which trimtab does not read; {way_out}")]
    NotRead {
        /// What it is.
        name: &'static str,
        /// What to do instead.
        way_out: &'static str,
    },
    /// A file of another kind.
    #[error(
        "it is not an archive: neither a zip nor a tar, plain or compressed with gzip, xz or zstd"
    )]
    NotAnArchive,
    /// An archive of several clusters.
    #[error("it holds several archives: {found}; unpack it, and name the directory of one")]
    Several {
        /// Their paths.
        found: String,
    },
    /// `manifest.json` is invalid.
    #[error("the bundle's manifest.json is not understood: {reason}")]
    Manifest {
        /// What is wrong with it.
        reason: String,
    },
    /// An archive or a directory, but none of the known ones.
    #[error(
        "neither a bundle (manifest.json, or files below root/) nor a known support archive \
         ({known}): found {found}; make a bundle with `trimtab collect -o FILE.tar.zst`",
        known = crate::source::dialect::known()
    )]
    NotABundle {
        /// What it contains instead.
        found: String,
    },
}

/// Maximum length of foreign text quoted in a message, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// Truncates foreign text to a readable length.
pub(crate) fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

impl BundleError {
    pub(crate) fn damaged(error: impl fmt::Display) -> Self {
        Self::Damaged {
            reason: error.to_string(),
        }
    }

    pub(crate) fn refused(entry: &str, reason: &str) -> Self {
        Self::Refused {
            entry: cut(entry),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn too_large(what: &str, limit: String) -> Self {
        Self::TooLarge {
            what: what.to_owned(),
            limit,
        }
    }

    pub(crate) fn unreadable(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Unreadable {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}
