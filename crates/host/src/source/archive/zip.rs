//! Reads untrusted zip archives (PKWARE's APPNOTE.TXT).

use super::entry::{Entry, EntryKind, Kept, Want, plain_path_fault};
use super::limits::{BundleError, Limits};
use std::io::{Read, Seek, SeekFrom};
use zip::ZipArchive;

/// Maximum size of the central directory: 46 bytes and a name for each entry. It is read at once.
const DIRECTORY_BYTES_MAX: u32 = 8 << 20;
/// The end-of-central-directory record (4.3.16), without its comment.
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: usize = 0xffff;
/// Bits of a Unix mode in `external file attributes` (4.4.15).
const TYPE_MASK: u32 = 0o170_000;
const TYPE_LINK: u32 = 0o120_000;

/// Walks a zip, see [`super::walk`].
///
/// # Errors
/// As [`super::walk`].
pub(super) fn walk(
    mut input: impl Read + Seek,
    limits: &Limits,
    wanted: impl Fn(&str) -> Want,
    mut take: impl FnMut(Entry) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    check_directory(&mut input)?;
    let mut zip = ZipArchive::new(input).map_err(BundleError::damaged)?;
    let mut kept = Kept::new(limits);
    for index in 0..zip.len() {
        let raw = zip.by_index_raw(index).map_err(BundleError::damaged)?;
        let name = raw.name().map_err(BundleError::damaged)?.into_owned();
        let refuse = |reason: &str| BundleError::refused(&name, reason);
        let path = name.trim_end_matches('/');
        if let Some(fault) = plain_path_fault(path, limits) {
            return Err(refuse(&fault));
        }
        let want = wanted(path);
        let mode = raw.unix_mode();
        let mtime_s = raw.last_modified().and_then(seconds).unwrap_or(0);
        let is_directory = raw.is_dir();
        let (is_encrypted, size) = (raw.encrypted(), raw.size());
        drop(raw);
        let kind = if is_directory {
            EntryKind::Directory
        } else {
            let keep = kept.add(size, want).map_err(|error| match error {
                Some(error) => error,
                None => refuse(&kept.too_large()),
            })?;
            if !keep {
                take(Entry {
                    path: path.to_owned(),
                    kind: EntryKind::Withheld(size),
                    mode: 0o444,
                    mtime_s,
                })?;
                continue;
            }
            if is_encrypted {
                return Err(refuse("it is encrypted; unpack it with its password"));
            }
            let file = zip.by_index(index).map_err(BundleError::damaged)?;
            let mut bytes = Vec::new();
            // The stated size is only a claim.
            let read = file.take(size.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(BundleError::damaged)?;
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > size {
                return Err(refuse("it is larger than stated"));
            }
            if mode.is_some_and(|mode| mode & TYPE_MASK == TYPE_LINK) {
                match String::from_utf8(bytes) {
                    Ok(text) if text.len() <= limits.path_bytes_max && !text.contains('\0') => {
                        EntryKind::Link(text)
                    }
                    _ => return Err(refuse("its link text is too long or no text")),
                }
            } else {
                EntryKind::File(bytes)
            }
        };
        take(Entry {
            path: path.to_owned(),
            kind,
            mode: mode.unwrap_or(0o644) & 0o7777,
            mtime_s,
        })?;
    }
    Ok(())
}

/// Times in a zip have no zone; UTC is taken.
fn seconds(time: zip::DateTime) -> Option<i64> {
    let date = jiff::civil::Date::new(
        i16::try_from(time.year()).ok()?,
        i8::try_from(time.month()).ok()?,
        i8::try_from(time.day()).ok()?,
    );
    let time = jiff::civil::Time::new(
        i8::try_from(time.hour()).ok()?,
        i8::try_from(time.minute()).ok()?,
        i8::try_from(time.second()).ok()?,
        0,
    );
    let zoned = date
        .ok()?
        .to_datetime(time.ok()?)
        .to_zoned(jiff::tz::TimeZone::UTC);
    Some(zoned.ok()?.timestamp().as_second())
}

/// Refuses a directory that would take too much memory, before anything is made of it.
fn check_directory(input: &mut (impl Read + Seek)) -> Result<(), BundleError> {
    let len = input.seek(SeekFrom::End(0)).map_err(BundleError::damaged)?;
    let tail_len = len.min((END_BYTES + COMMENT_BYTES_MAX) as u64);
    let seek = input.seek(SeekFrom::Start(len - tail_len));
    seek.map_err(BundleError::damaged)?;
    let mut tail = Vec::new();
    input.read_to_end(&mut tail).map_err(BundleError::damaged)?;
    let seek = input.seek(SeekFrom::Start(0));
    seek.map_err(BundleError::damaged)?;
    // Any of them: which one counts is the library's business.
    let ends = tail
        .windows(END_BYTES)
        .filter(|end| end.starts_with(b"PK\x05\x06"));
    for end in ends {
        let bytes = u32::from_le_bytes([end[12], end[13], end[14], end[15]]);
        if bytes > DIRECTORY_BYTES_MAX {
            let limit = format!("{DIRECTORY_BYTES_MAX} bytes");
            return Err(BundleError::too_large("the zip's directory", limit));
        }
    }
    Ok(())
}
