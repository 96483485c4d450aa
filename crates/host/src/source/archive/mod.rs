//! Untrusted archives: tar (plain, gzip, xz, zstd) and zip.

mod limits;
mod tar;
mod zip;

pub(super) use limits::cut;
pub use limits::{BundleError, Limits};

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// The first bytes of a zip archive: a local header, or the end of an empty one (APPNOTE.TXT, 4.3).
const ZIP_MAGICS: [[u8; 4]; 2] = [*b"PK\x03\x04", *b"PK\x05\x06"];

/// An archive entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// Plain path, see [`plain_path_fault`]; empty for `./`.
    pub(super) path: String,
    pub(super) kind: EntryKind,
    pub(super) mode: u32,
    pub(super) mtime_s: i64,
}

#[derive(Debug)]
pub(super) enum EntryKind {
    Directory,
    File(Vec<u8>),
    /// A file that was wanted if possible and is too large to keep, with its size.
    Withheld(u64),
    Link(String),
}

/// What a reader wants of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Its content; if that cannot be had, the archive is refused.
    All,
    /// Its content, unless it is too large or of a kind that is not read.
    IfPossible,
    /// That it is there.
    Nothing,
}

/// Counts what is kept of an archive.
struct Kept<'l> {
    limits: &'l Limits,
    bytes: u64,
}

impl<'l> Kept<'l> {
    fn new(limits: &'l Limits) -> Self {
        Self { limits, bytes: 0 }
    }

    /// Whether to keep the content of an entry. What is wanted if possible may take up half of the
    /// whole on its own: of a cluster's state there is one.
    ///
    /// # Errors
    /// If it is wanted by all means and too large: `None` if it is so alone.
    fn add(&mut self, size: u64, want: Want) -> Result<bool, Option<BundleError>> {
        let is_small = size
            <= match want {
                Want::All => self.limits.entry_bytes_max,
                Want::IfPossible | Want::Nothing => self.limits.kept_bytes_max / 2,
            };
        match want {
            Want::Nothing | Want::IfPossible if !is_small || want == Want::Nothing => {
                return Ok(false);
            }
            Want::All if !is_small => return Err(None),
            Want::All | Want::IfPossible | Want::Nothing => {}
        }
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.limits.kept_bytes_max {
            return Err(Some(BundleError::TooLarge {
                what: "what would be read of it".to_owned(),
                limit: format!("{} bytes", self.limits.kept_bytes_max),
            }));
        }
        Ok(true)
    }

    fn too_large(&self) -> String {
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

/// Walks an archive that is read from a stream, see [`walk`].
///
/// # Errors
/// As [`walk`].
pub(super) fn walk_stream(
    mut input: impl Read,
    limits: &Limits,
    wanted: impl Fn(&str) -> Want,
    take: impl FnMut(Entry) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let mut start = Vec::new();
    (&mut input)
        .take(4)
        .read_to_end(&mut start)
        .map_err(BundleError::damaged)?;
    let whole = std::io::Cursor::new(start.clone()).chain(input);
    if !ZIP_MAGICS.iter().any(|magic| start == magic) {
        return tar::walk(whole, limits, wanted, take);
    }
    // A zip is read from its end.
    let mut bytes = Vec::new();
    let most = limits.kept_bytes_max;
    let read = whole.take(most + 1).read_to_end(&mut bytes);
    read.map_err(BundleError::damaged)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(BundleError::TooLarge {
            what: "a zip that is no regular file".to_owned(),
            limit: format!("{most} bytes"),
        });
    }
    zip::walk(std::io::Cursor::new(bytes), limits, wanted, take)
}

/// Walks an archive in a regular file: `take` gets each entry, as much of it as `wanted(path)` asks
/// for.
///
/// # Errors
/// At the first thing that is wrong with the archive, or with an entry that is wanted by all means.
pub(super) fn walk(
    mut file: File,
    limits: &Limits,
    wanted: impl Fn(&str) -> Want,
    take: impl FnMut(Entry) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let mut start = [0; 4];
    let is_zip = file.read_exact(&mut start).is_ok() && ZIP_MAGICS.contains(&start);
    file.seek(SeekFrom::Start(0))
        .map_err(BundleError::damaged)?;
    if is_zip {
        zip::walk(file, limits, wanted, take)
    } else {
        tar::walk(file, limits, wanted, take)
    }
}
