//! Files of logs: long, read from their end, and compressed when they are old.

use super::{Source, Unread};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// The end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether something stands before them.
    pub is_cut: bool,
}

/// Reads the last `max_bytes` of a file, those that are added meanwhile not among them.
pub(super) fn read_end_bounded(mut file: File, max_bytes: usize) -> Result<End, Unread> {
    let failed = |error: std::io::Error| super::unread(&error);
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let before = file.metadata().map_err(failed)?.len().saturating_sub(limit);
    file.seek(SeekFrom::Start(before)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    Ok(End {
        bytes,
        is_cut: before > 0,
    })
}

/// The whole lines at the end of a log, `max_bytes` at most. A file whose name ends in `.gz` is
/// decompressed (RFC 1952), as a whole or not at all: it has no end that could be read by itself.
///
/// # Errors
/// Why it could not be read; [`Unread::TooLarge`] for a compressed file that holds more, and
/// [`Unread::Malformed`] for a damaged one.
pub fn read_log(source: &dyn Source, path: &str, max_bytes: usize) -> Result<End, Unread> {
    let is_gzip = std::path::Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "gz");
    if is_gzip {
        return Ok(End {
            bytes: decompressed(&source.read(path, max_bytes)?, max_bytes)?,
            is_cut: false,
        });
    }
    let mut end = source.read_end(path, max_bytes)?;
    if end.is_cut {
        let line = end.bytes.iter().position(|&byte| byte == b'\n');
        end.bytes.drain(..line.map_or(end.bytes.len(), |at| at + 1));
    }
    Ok(end)
}

fn decompressed(bytes: &[u8], max_bytes: usize) -> Result<Vec<u8>, Unread> {
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    flate2::bufread::MultiGzDecoder::new(bytes)
        .take(limit.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|error| match error.kind() {
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
    fn the_newest_lines_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(directory.path().join(name), bytes).unwrap();
        };
        write("log", b"first\nsecond\nthird\n");
        write("endless", &[b'x'; 1000]);
        write("empty", b"");
        let tree = Directory::new(directory.path().to_path_buf());
        let read = |path: &str, max_bytes: usize| read_log(&tree, path, max_bytes);
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
        assert_eq!(read_log(&live, path, 8), Ok(end("third\n", true)));
    }

    #[test]
    fn compressed_files_are_read_whole_or_not_at_all() {
        let packed = gzip(b"first\nsecond\n");
        let source = MemorySource::new()
            .file("log.gz", &packed)
            .file("cut.gz", &packed[..packed.len() - 9])
            .file("wrong.gz", b"Jun  9 06:47:01 h cron[1]: x\n")
            .file("bomb.gz", gzip(&vec![0; 1 << 20]));
        let read = |path: &str, max_bytes: usize| read_log(&source, path, max_bytes);
        assert_eq!(read("log.gz", 100), Ok(end("first\nsecond\n", false)));
        assert_eq!(read("bomb.gz", 10_000), Err(Unread::TooLarge(10_000)));
        for path in ["cut.gz", "wrong.gz"] {
            let answer = read(path, 100);
            assert!(
                matches!(answer, Err(Unread::Malformed(_))),
                "{path}: {answer:?}"
            );
        }
    }
}
