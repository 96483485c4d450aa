//! The files of a folder that is held open, read and written as a whole with all that belongs to them.

use crate::entry::{Bytes, Contents, Entry};
use linux::atomic_file::{Access, IfExists, Temporary};
use linux::attributes;
use linux::folder::read_bounded;
use rustix::fd::AsFd;
use rustix::fs::{FileType, Gid, Mode, OFlags, Uid};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder of configuration files.
#[derive(Debug)]
pub struct Folder(pub(crate) linux::folder::Folder);

impl Folder {
    /// Opens a folder; `path` is absolute and has no links.
    ///
    /// # Errors
    /// Those of open(2); if it is a link.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        linux::folder::Folder::open(path).map(Self)
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Reads a regular file of at most `most_bytes`; `None` if there is none of that name.
    ///
    /// # Errors
    /// If it cannot be read, is larger, is a link, or has a second name: what is written is another file.
    pub fn read(&self, name: &str, most_bytes: u64) -> io::Result<Option<Contents>> {
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
        let bytes = Bytes(read_bounded(file, most_bytes)?);
        Ok(Some(Contents {
            bytes,
            mode: stat.st_mode & 0o777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            attributes,
        }))
    }

    /// Reads a regular file or a link.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn entry(&self, name: &str, most_bytes: u64) -> io::Result<Option<Entry>> {
        let stat = self.0.stat(name)?;
        let is_link = stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink());
        if !is_link {
            return Ok(self.read(name, most_bytes)?.map(Entry::File));
        }
        let target = rustix::fs::readlinkat(&self.0, name, Vec::new())?;
        let target = target.into_string();
        let target = target.map_err(|_| io::Error::other("the target of the link is not UTF-8"))?;
        Ok(Some(Entry::Link(target)))
    }

    /// Writes a file as a whole or not at all, with its mode, owner, group and extended attributes.
    ///
    /// # Errors
    /// If one of them cannot be written.
    pub fn write(&self, name: &str, contents: &Contents) -> io::Result<()> {
        let mut new = Temporary::create(self.0.as_fd(), temporary_name(name), Access::Owner)?;
        let file = new.file();
        file.write_all(&contents.bytes)?;
        let stat = rustix::fs::fstat(&*file)?;
        if (stat.st_uid, stat.st_gid) != (contents.uid, contents.gid) {
            let (uid, gid) = (Uid::from_raw(contents.uid), Gid::from_raw(contents.gid));
            rustix::fs::fchown(&*file, Some(uid), Some(gid))?;
        }
        contents.attributes.apply(&*file)?;
        rustix::fs::fchmod(&*file, Mode::from_raw_mode(contents.mode & 0o777))?;
        new.persist(OsStr::new(name), IfExists::Replace)?;
        self.sync();
        Ok(())
    }

    /// Removes a file or a link; it is no error if it is gone.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove_file(name)?;
        self.sync();
        Ok(())
    }

    /// Puts an entry in the place of what is there; nothing, if it is `None`.
    ///
    /// # Errors
    /// As [`Self::write`] and [`Self::remove`].
    pub fn set(&self, name: &str, entry: Option<&Entry>) -> io::Result<()> {
        match entry {
            Some(Entry::File(contents)) => self.write(name, contents),
            Some(Entry::Link(target)) => {
                let temporary = temporary_name(name);
                rustix::fs::symlinkat(target, &self.0, &temporary)?;
                let renamed = rustix::fs::renameat(&self.0, &temporary, &self.0, name);
                if renamed.is_err() {
                    self.0.remove_file(&temporary)?;
                }
                renamed?;
                self.sync();
                Ok(())
            }
            None => self.remove(name),
        }
    }

    /// Removes what a process that was killed while it wrote `name` has left.
    pub(crate) fn remove_leftovers(&self, name: &str) -> io::Result<()> {
        let beginning = format!(".{name}.");
        for found in self.0.names()? {
            let pid = found.strip_prefix(&beginning);
            let pid = pid.and_then(|rest| rest.strip_suffix(TEMPORARY));
            if pid.is_some_and(|pid| pid.parse::<u32>().is_ok()) {
                self.0.remove_file(&found)?;
            }
        }
        Ok(())
    }

    fn sync(&self) {
        // Some filesystems do not support it.
        let _ = rustix::fs::fsync(&self.0);
    }
}

/// End of the names of temporary files.
const TEMPORARY: &str = ".trimtab-tmp";

/// Neither cron nor systemd reads files of such names.
fn temporary_name(name: &str) -> String {
    format!(".{name}.{}{TEMPORARY}", std::process::id())
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
        assert_eq!(*contents.bytes, *b"text");
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
        changed.bytes = Bytes(b"more".to_vec());
        changed.mode = 0o640;
        folder.write("one", &changed).unwrap();
        assert_eq!(folder.read("one", 10).unwrap(), Some(changed));
        folder.remove("one").unwrap();
        folder.remove("one").unwrap();
    }
}
