//! Log files: long, read from their end, and compressed if they are old.

use super::{End, Source};
use crate::unread::Unread;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Reads the last `max_bytes` of a file, by its size at the start.
pub(super) fn read_end_bounded(mut file: File, max_bytes: usize) -> Result<End, Unread> {
    let failed = |error: std::io::Error| Unread::from(&error);
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let len = file.metadata().map_err(failed)?.len();
    let before = len.saturating_sub(limit);
    file.seek(SeekFrom::Start(before)).map_err(failed)?;
    let mut bytes = Vec::new();
    // Ignore what is appended meanwhile.
    file.take(len - before)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(End {
        bytes,
        is_cut: before > 0,
    })
}

/// Returns the complete lines at the end of a log, at most `bytes_left` bytes. A file whose name
/// ends in `.gz` is read like [`whole_log`] does, completely or not at all, since the end of a
/// compressed file cannot be read separately. What was read and decompressed is subtracted from
/// `bytes_left`, even if it could not be used.
///
/// # Errors
/// If it could not be read; [`Unread::TooLarge`] for a compressed file that is longer, and
/// [`Unread::Malformed`] for a damaged one.
pub fn read_log(source: &dyn Source, path: &str, bytes_left: &mut usize) -> Result<End, Unread> {
    let is_gzip = std::path::Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "gz");
    if is_gzip {
        let packed = match source.read(path, *bytes_left) {
            Err(Unread::TooLarge(max_bytes)) => {
                *bytes_left = 0;
                return Err(Unread::TooLarge(max_bytes));
            }
            read => read?,
        };
        return Ok(End {
            bytes: whole_log(packed, bytes_left)?,
            is_cut: false,
        });
    }
    let mut end = source.read_end(path, *bytes_left)?;
    *bytes_left = bytes_left.saturating_sub(end.bytes.len());
    if end.is_cut {
        let line = end.bytes.iter().position(|&byte| byte == b'\n');
        end.bytes.drain(..line.map_or(end.bytes.len(), |at| at + 1));
    }
    Ok(end)
}

/// Returns the contents of a log that was read as a whole, decompressed (RFC 1952) if it starts
/// like gzip. The larger of the sizes read and decompressed is subtracted from `bytes_left`.
///
/// # Errors
/// [`Unread::TooLarge`] if it is longer than `bytes_left`, and [`Unread::Malformed`] if it is
/// damaged.
pub fn whole_log(bytes: Vec<u8>, bytes_left: &mut usize) -> Result<Vec<u8>, Unread> {
    let max_bytes = *bytes_left;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        *bytes_left = max_bytes.saturating_sub(bytes.len());
        return if bytes.len() > max_bytes {
            Err(Unread::TooLarge(max_bytes))
        } else {
            Ok(bytes)
        };
    }
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    let inflated = flate2::bufread::MultiGzDecoder::new(bytes.as_slice())
        .take(limit.saturating_add(1))
        .read_to_end(&mut text);
    *bytes_left = max_bytes.saturating_sub(text.len().max(bytes.len()));
    inflated.map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => Unread::Malformed("the compressed file is cut".to_owned()),
        _ => Unread::Malformed(error.to_string()),
    })?;
    if text.len() > max_bytes {
        return Err(Unread::TooLarge(max_bytes));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::{Directory, MemorySource};
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn end(text: &str, is_cut: bool) -> End {
        End {
            bytes: text.as_bytes().to_vec(),
            is_cut,
        }
    }

    #[test]
    fn only_the_newest_lines_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(directory.path().join(name), bytes).unwrap();
        };
        write("log", b"first\nsecond\nthird\n");
        write("endless", &[b'x'; 1000]);
        write("empty", b"");
        let tree = Directory::new(directory.path().to_path_buf());
        let read = |path: &str, mut max_bytes: usize| read_log(&tree, path, &mut max_bytes);
        assert_eq!(read("log", 19), Ok(end("first\nsecond\nthird\n", false)));
        assert_eq!(read("log", 18), Ok(end("second\nthird\n", true)));
        assert_eq!(read("log", 8), Ok(end("third\n", true)));
        assert_eq!(read("log", 0), Ok(end("", true)));
        assert_eq!(read("endless", 100), Ok(end("", true)));
        assert_eq!(read("empty", 100), Ok(end("", false)));
        assert_eq!(read("gone", 100), Err(Unread::NotFound));
        // The running host reads in the same way.
        let path = directory.path().join("log");
        let path = path.to_str().unwrap().trim_start_matches('/');
        let live = super::super::Live::default();
        assert_eq!(read_log(&live, path, &mut 8), Ok(end("third\n", true)));
    }

    #[test]
    fn compressed_files_are_read_completely_or_not_at_all() {
        let packed = gzip(b"first\nsecond\n");
        let source = MemorySource::new()
            .file("log.gz", &packed)
            .file("cut.gz", &packed[..packed.len() - 9])
            .file("renamed.gz", b"third\n")
            .file("wrong.gz", b"\x1f\x8bno more than that")
            .file("bomb.gz", gzip(&vec![0; 1 << 20]));
        let read = |path: &str, mut max_bytes: usize| read_log(&source, path, &mut max_bytes);
        assert_eq!(read("log.gz", 100), Ok(end("first\nsecond\n", false)));
        assert_eq!(read("renamed.gz", 100), Ok(end("third\n", false)));
        assert_eq!(read("bomb.gz", 10_000), Err(Unread::TooLarge(10_000)));
        for path in ["cut.gz", "wrong.gz"] {
            let answer = read(path, 100);
            assert!(
                matches!(answer, Err(Unread::Malformed(_))),
                "{path}: {answer:?}"
            );
        }
    }

    #[test]
    fn unusable_reads_count_toward_the_limit() {
        let zeros = gzip(&vec![0; 1 << 20]);
        let source = MemorySource::new()
            .file("log", "first\n")
            .file("bomb.gz", &zeros)
            .file("damaged.gz", &zeros[..zeros.len() - 9])
            .file("long.gz", vec![b'x'; 3_000]);
        let left = |path: &str, mut bytes_left: usize| {
            let answer = read_log(&source, path, &mut bytes_left);
            (answer.is_ok(), bytes_left)
        };
        assert_eq!(left("log", 100), (true, 94));
        assert_eq!(left("bomb.gz", (1 << 20) + 5), (true, 5));
        assert_eq!(left("bomb.gz", 50_000), (false, 0));
        let (is_read, bytes_left) = left("damaged.gz", 2 << 20);
        assert!(!is_read && bytes_left <= (1 << 20) + 40_000, "{bytes_left}");
        assert_eq!(left("long.gz", 2_000), (false, 0));
        assert_eq!(left("gone.gz", 100), (false, 100));
    }
}
