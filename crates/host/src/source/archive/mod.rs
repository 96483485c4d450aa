//! Untrusted archives: tar (plain, gzip, xz, zstd) and zip.

mod entry;
mod limits;
mod tar;
mod zip;

pub(crate) use entry::plain_path_fault;
pub(super) use entry::{Entry, EntryKind, Want};
pub(super) use limits::cut;
pub use limits::{BundleError, Limits};

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// The first bytes of a zip archive: a local header, or the end of an empty one (APPNOTE.TXT, 4.3).
const ZIP_MAGICS: [[u8; 4]; 2] = [*b"PK\x03\x04", *b"PK\x05\x06"];

/// Whether a file is an archive, by its content: a zip, or a tar, compressed or not. A table or a
/// cluster's answer may be compressed, too.
pub(super) fn is_one(mut file: File) -> bool {
    let mut start = [0; 4];
    let is_read = file.read_exact(&mut start).is_ok() && file.seek(SeekFrom::Start(0)).is_ok();
    is_read && (ZIP_MAGICS.contains(&start) || tar::begins(BufReader::new(file)))
}

/// Whether a file may be an archive, by its first 512 bytes.
pub(super) fn may_be_one(head: &[u8]) -> bool {
    let magics: [&[u8]; 4] = [
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"\xfd7zXZ",
        &ZIP_MAGICS[0],
    ];
    magics.iter().any(|magic| head.starts_with(magic)) || head.get(257..262) == Some(b"ustar")
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
        let limit = format!("{most} bytes");
        return Err(BundleError::too_large(
            "a zip that is no regular file",
            limit,
        ));
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
