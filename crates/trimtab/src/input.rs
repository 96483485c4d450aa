//! Reading files named by options or arguments, whole and up to a size limit.

use crate::error::{CommandError, Kind};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a file; `-` is standard input. `what` prefixes error messages: `--drive disk.toml`.
///
/// # Errors
/// When it cannot be read, or is longer than `bytes_max`.
pub fn bytes(path: &Path, what: &str, bytes_max: u64) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = |reader: &mut dyn Read, bytes: &mut Vec<u8>| {
        // The length of a growing or endless file is not known in advance.
        reader.take(bytes_max.saturating_add(1)).read_to_end(bytes)
    };
    let outcome = if path.as_os_str() == "-" {
        read(&mut std::io::stdin().lock(), &mut bytes)
    } else {
        File::open(path).and_then(|mut file| read(&mut file, &mut bytes))
    };
    outcome.map_err(|error| CommandError::unreadable(what, error))?;
    if bytes.len() as u64 > bytes_max {
        let limit = units::size::bytes(bytes_max);
        return Err(CommandError::new(
            Kind::Input,
            format!("{what}: expected at most {limit}, found more"),
        ));
    }
    Ok(bytes)
}

/// Reads a text file as [`bytes`] does.
///
/// # Errors
/// As [`bytes`], and when it is not UTF-8.
pub fn text(path: &Path, what: &str, bytes_max: u64) -> Result<String, CommandError> {
    String::from_utf8(bytes(path, what, bytes_max)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        CommandError::new(
            Kind::Input,
            format!("{what}: expected text, found no UTF-8 at byte {at}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_their_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, b"ab\xff").unwrap();
        assert_eq!(bytes(&path, "--x file", 3).unwrap(), b"ab\xff");
        let long = bytes(&path, "--x file", 2).unwrap_err();
        assert_eq!(long.kind, Kind::Input);
        assert_eq!(long.message, "--x file: expected at most 2 B, found more");
        let binary = text(&path, "--x file", 3).unwrap_err();
        assert_eq!(
            binary.message,
            "--x file: expected text, found no UTF-8 at byte 3"
        );
        // An endless file.
        assert!(bytes(Path::new("/dev/zero"), "--x", 1 << 10).is_err());
        let missing = bytes(&directory.path().join("none"), "--x none", 1).unwrap_err();
        assert_eq!(missing.kind, Kind::Environment);
        assert!(missing.message.starts_with("--x none: "), "{missing}");
        assert!(!missing.hints.is_empty());
    }
}
