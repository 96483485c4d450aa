//! The files of a server's configuration, read and written as a whole with all that belongs to them, in a folder that is
//! held open.

use linux::atomic_file::{Access, IfExists, Temporary};
use linux::attributes::{self, Attributes};
use linux::folder::read_bounded;
use rustix::fd::AsFd;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The contents of a file, with its mode, owner, group and extended attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) attributes: Attributes,
}

impl Contents {
    /// Contents that everybody may read, with the owner of another file and no ACL.
    pub(crate) fn readable(bytes: Vec<u8>, like: &Self) -> Self {
        Self {
            bytes,
            mode: 0o644,
            attributes: Attributes::default(),
            ..like.clone()
        }
    }
}

/// A folder of a server's configuration.
#[derive(Debug)]
pub(crate) struct Folder(linux::folder::Folder);

impl Folder {
    /// Opens a folder; `path` is absolute and has no links.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        linux::folder::Folder::open(path).map(Self)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Reads a regular file of at most `most_bytes`; `None` if there is none of that name.
    pub(crate) fn read(&self, name: &str, most_bytes: u64) -> io::Result<Option<Contents>> {
        let Some(file) = self.0.open_file(name, OFlags::RDONLY)? else {
            return Ok(None);
        };
        let stat = rustix::fs::fstat(&file)?;
        if stat.st_nlink != 1 {
            return Err(io::Error::other(
                "expected a file with no other name, found one with several",
            ));
        }
        let attributes = attributes::read(&file)?;
        let bytes = read_bounded(file, most_bytes)?;
        Ok(Some(Contents {
            bytes,
            mode: stat.st_mode & 0o777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            attributes,
        }))
    }

    /// Writes a file as a whole or not at all, with its mode, owner, group and extended attributes.
    pub(crate) fn write(&self, name: &str, contents: &Contents) -> io::Result<()> {
        let temporary = format!(".{name}.{}.tmp", std::process::id());
        let mut new = Temporary::create(self.0.as_fd(), temporary, Access::Owner)?;
        let file = new.file();
        file.write_all(&contents.bytes)?;
        let stat = rustix::fs::fstat(&*file)?;
        if (stat.st_uid, stat.st_gid) != (contents.uid, contents.gid) {
            let (uid, gid) = (Uid::from_raw(contents.uid), Gid::from_raw(contents.gid));
            rustix::fs::fchown(&*file, Some(uid), Some(gid))?;
        }
        contents.attributes.apply(&*file)?;
        rustix::fs::fchmod(&*file, Mode::from_raw_mode(contents.mode))?;
        new.persist(OsStr::new(name), IfExists::Replace)?;
        // Some filesystems do not support it.
        let _ = rustix::fs::fsync(&self.0);
        Ok(())
    }

    /// Removes a file; it is no error if it is gone.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove_file(name).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_files_of_their_own_are_read() {
        let temporary = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(temporary.path()).unwrap();
        let folder = Folder::open(path.clone()).unwrap();
        fs::write(path.join("one"), "text").unwrap();
        let contents = folder.read("one", 10).unwrap().unwrap();
        assert_eq!(contents.bytes, b"text");
        assert!(folder.read("none", 10).unwrap().is_none());
        symlink("one", path.join("link")).unwrap();
        fs::hard_link(path.join("one"), path.join("other")).unwrap();
        let fifo = path.join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        for name in ["link", "other", "fifo"] {
            assert!(folder.read(name, 10).is_err(), "{name}");
        }
        fs::remove_file(path.join("other")).unwrap();
        assert!(folder.read("one", 3).is_err());
        let mut changed = contents;
        changed.bytes = b"more".to_vec();
        changed.mode = 0o640;
        folder.write("one", &changed).unwrap();
        assert_eq!(folder.read("one", 10).unwrap(), Some(changed));
        folder.remove("one").unwrap();
        folder.remove("one").unwrap();
    }
}
