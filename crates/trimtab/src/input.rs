//! Reading files named by options or arguments, whole and up to a size limit.

use crate::error::CommandError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a file. `what` prefixes error messages: `--events deploys.csv`.
///
/// # Errors
/// When it cannot be read, or is longer than `bytes_max`.
pub fn bytes(path: &Path, what: &str, bytes_max: u64) -> Result<Vec<u8>, CommandError> {
    let file = File::open(path).map_err(|error| CommandError::unreadable(what, error))?;
    all_of(file, what, bytes_max)
}

fn all_of(reader: impl Read, what: &str, bytes_max: u64) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    // The length of a growing or endless file is not known in advance.
    reader
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::unreadable(what, error))?;
    if bytes.len() as u64 > bytes_max {
        let limit = units::size::bytes(bytes_max);
        let message = format!("expected at most {limit}, found more");
        return Err(CommandError::input(message).at(what));
    }
    Ok(bytes)
}

/// Reads a text file as [`bytes`] does.
///
/// # Errors
/// As [`bytes`], and when it is not UTF-8.
pub fn text(path: &Path, what: &str, bytes_max: u64) -> Result<String, CommandError> {
    decoded(bytes(path, what, bytes_max)?, what)
}

/// As [`text`]; `-` is standard input.
///
/// # Errors
/// As [`text`].
pub fn text_or_stdin(path: &Path, what: &str, bytes_max: u64) -> Result<String, CommandError> {
    if path.as_os_str() == "-" {
        return decoded(all_of(std::io::stdin().lock(), what, bytes_max)?, what);
    }
    text(path, what, bytes_max)
}

fn decoded(bytes: Vec<u8>, what: &str) -> Result<String, CommandError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        let message = format!("expected text, found no UTF-8 at byte {at}");
        CommandError::input(message).at(what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

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
