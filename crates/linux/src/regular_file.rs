//! Opens files that are named by a user, or lie in folders that others may have written.

use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file for reading; links are followed. Anything else is refused before it is opened: a pipe would
/// wait for whoever writes to it, a device may act on being opened, and neither may ever end.
///
/// # Errors
/// Those of stat(2) and open(2); [`io::ErrorKind::InvalidInput`] for anything but a regular file, with what it is.
pub fn open(path: &Path) -> io::Result<File> {
    refuse_others(&rustix::fs::stat(path)?)?;
    // Something else may have taken the file's place meanwhile.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    refuse_others(&rustix::fs::fstat(&file)?)?;
    Ok(file.into())
}

/// Refuses anything but a regular file, and says what it is.
pub(crate) fn refuse_others(stat: &Stat) -> io::Result<()> {
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    let message = format!("expected a file, found {found}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        symlink("file", path("link")).unwrap();
        for name in ["file", "link"] {
            let mut text = String::new();
            open(&path(name))
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "text");
        }
        rustix::fs::mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        symlink("pipe", path("link to a pipe")).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        for (path, found) in [
            (path("pipe"), "a pipe"),
            (path("link to a pipe"), "a pipe"),
            (path("socket"), "a socket"),
            (path("."), "a directory"),
            ("/dev/zero".into(), "a device"),
        ] {
            let error = open(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert_eq!(error.to_string(), format!("expected a file, found {found}"));
        }
        let missing = open(&path("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
