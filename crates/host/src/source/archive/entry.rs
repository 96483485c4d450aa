//! What an archive consists of, and how much of it is kept.

use super::limits::{BundleError, Limits};

/// An archive entry.
#[derive(Debug)]
pub(in crate::source) struct Entry {
    /// Plain path, see [`plain_path_fault`]; empty for `./`.
    pub(in crate::source) path: String,
    pub(in crate::source) kind: EntryKind,
    pub(in crate::source) mode: u32,
    pub(in crate::source) mtime_s: i64,
}

#[derive(Debug)]
pub(in crate::source) enum EntryKind {
    Directory,
    File(Vec<u8>),
    /// A file that was wanted if possible and is too large to keep, with its size.
    Withheld(u64),
    Link(String),
}

/// What a reader wants of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) enum Want {
    /// Its content; if that cannot be had, the archive is refused.
    All,
    /// Its content, unless it is too large or of a kind that is not read.
    IfPossible,
    /// That it is there.
    Nothing,
}

/// Counts what is kept of an archive.
pub(super) struct Kept<'l> {
    limits: &'l Limits,
    bytes: u64,
}

impl<'l> Kept<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        Self { limits, bytes: 0 }
    }

    /// Whether to keep the content of an entry. What is wanted if possible may take up half of the
    /// whole on its own: of a cluster's state there is one.
    ///
    /// # Errors
    /// If it is wanted by all means and too large: `None` if it is so alone.
    pub(super) fn add(&mut self, size: u64, want: Want) -> Result<bool, Option<BundleError>> {
        let is_small = size
            <= match want {
                Want::All => self.limits.entry_bytes_max,
                Want::IfPossible | Want::Nothing => self.limits.kept_bytes_max / 2,
            };
        match want {
            Want::Nothing => return Ok(false),
            Want::IfPossible if !is_small => return Ok(false),
            Want::All if !is_small => return Err(None),
            Want::All | Want::IfPossible => {}
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.kept_bytes_max {
            let limit = format!("{} bytes", self.limits.kept_bytes_max);
            return Err(Some(BundleError::too_large(
                "what would be read of it",
                limit,
            )));
        }
        Ok(true)
    }

    pub(super) fn too_large(&self) -> String {
        format!("it is larger than {} bytes", self.limits.entry_bytes_max)
    }
}

/// Returns why a path is not allowed in an archive; `None` if it is allowed: relative, with non-empty
/// components other than `.` and `..`, and within the limits.
pub(crate) fn plain_path_fault(path: &str, limits: &Limits) -> Option<String> {
    if path.starts_with('/') {
        return Some("its path is absolute".to_owned());
    }
    if path.contains('\0') {
        return Some("its path holds a NUL".to_owned());
    }
    if path.len() > limits.path_bytes_max {
        return Some(format!(
            "its path is longer than {} bytes",
            limits.path_bytes_max
        ));
    }
    let mut depth = 0;
    for component in path.split('/') {
        depth += 1;
        match component {
            "" => return Some("its path has an empty component".to_owned()),
            "." => return Some("its path has a component \".\"".to_owned()),
            ".." => return Some("its path leads upwards with \"..\"".to_owned()),
            _ => {}
        }
    }
    (depth > limits.depth_max)
        .then(|| format!("its path is deeper than {} directories", limits.depth_max))
}
