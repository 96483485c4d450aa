//! Standard output and properties of the terminal.

use crate::error::CommandError;
use linux::atomic_file::{self, Access, IfExists};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::FileType;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Writes text to standard output. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// When the write fails for any other reason: a full disk must not look like success.
pub fn print(text: &str) -> Result<(), CommandError> {
    print_bytes(text.as_bytes())
}

/// Writes binary data to standard output, as [`print`] does.
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(
            CommandError::environment(format!("standard output: {error}")),
        ),
        _ => Ok(()),
    }
}

/// Writes a file atomically. Devices and pipes are written to directly. Symbolic links are refused, because
/// another user may have put one there that names any file or drive; those in /dev are the system's.
///
/// # Errors
/// Any I/O error.
pub fn write_file(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let is_special = |kind: FileType| !kind.is_file() && !kind.is_symlink();
    let is_special =
        std::fs::symlink_metadata(path).is_ok_and(|found| is_special(found.file_type()));
    if is_special || path.parent() == Some(Path::new("/dev")) {
        return std::fs::write(path, content);
    }
    atomic_file::write(path, IfExists::Replace, Access::Default, |out| {
        out.write_all(content)
    })
}

/// Prints an error to standard error and ignores write failures: `eprintln!` would panic and abort the
/// remaining work.
pub fn complain(error: &CommandError) {
    let _ = std::io::stderr().write_all(with_causes(error).as_bytes());
}

/// An error and those of its causes that its message does not repeat already.
fn with_causes(error: &CommandError) -> String {
    let mut text = format!("trimtab: {error}\n");
    let mut cause = error.source();
    while let Some(error) = cause {
        let error_text = error.to_string();
        let shown = units::escape::escape(&error_text);
        if !text.contains(&*shown) {
            let _ = writeln!(text, "  caused by: {shown}");
        }
        cause = error.source();
    }
    text
}

/// Whether to color standard output by default: only on a terminal and without `NO_COLOR`
/// (<https://no-color.org>).
pub fn use_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        && std::io::stdout().is_terminal()
}

/// Whether the locale uses UTF-8; otherwise lines are drawn in ASCII.
pub fn use_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // Without a locale the output most likely goes to a file or log, which is usually read as UTF-8.
    locale.is_none_or(|name| {
        let name = name.to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}

/// Width of the terminal on standard output in columns, at most 120; 80 without a terminal.
pub fn terminal_columns() -> u16 {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| size.ws_col);
    if columns < 40 { 80 } else { columns.min(120) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use std::fs;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn causes_are_shown_once_and_control_no_terminal() {
        let of = |cause: io::Error| with_causes(&CommandError::because(Kind::Input, cause).at("x"));
        assert_eq!(
            of(io::Error::other("red \u{1b}[31m")),
            "trimtab: error (input): x: red \\u{1b}[31m\n"
        );
        let nested = io::Error::other(Outer(io::Error::other("in\u{1b}ner")));
        let error = CommandError::because(Kind::Input, Outer(nested));
        assert_eq!(
            with_causes(&error),
            "trimtab: error (input): outer\n  caused by: in\\u{1b}ner\n"
        );
    }

    #[test]
    fn a_file_is_replaced_and_what_is_none_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("page"), "before").unwrap();
        fs::hard_link(path("page"), path("copy")).unwrap();
        std::os::unix::fs::symlink("page", path("link")).unwrap();
        let refused = write_file(&path("link"), b"forged").unwrap_err();
        assert!(
            refused.to_string().contains("not a regular file"),
            "{refused}"
        );
        assert!(path("link").is_symlink());
        std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
        assert!(write_file(&path("dangling"), b"forged").is_err());
        assert_eq!(fs::read(path("page")).unwrap(), b"before");
        write_file(&path("page"), b"after").unwrap();
        assert_eq!(fs::read(path("page")).unwrap(), b"after");
        assert_eq!(fs::read(path("copy")).unwrap(), b"before");
        write_file(&path("new"), b"1").unwrap();
        assert_eq!(fs::read(path("new")).unwrap(), b"1");
        std::os::unix::fs::symlink("/dev/null", path("device")).unwrap();
        assert!(write_file(&path("device"), b"1").is_err());
        write_file(Path::new("/dev/null"), b"1").unwrap();
        assert!(write_file(directory.path(), b"1").is_err());
        assert!(write_file(&path("no/where"), b"1").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 6);
    }
}
