//! The tree that changes are made in: `/`, an image, or one folder.

use crate::entry::{Contents, Entry};
use crate::folder::Folder;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};

/// Files of a configuration are small.
const BYTES_MAX: u64 = 16 << 20;
/// Mode of folders that are made.
const FOLDER_MODE: u32 = 0o755;

/// A tree. Paths below it have no leading slash, and no link on their way is followed.
#[derive(Debug)]
pub struct Root(Folder);

impl Root {
    /// Opens a tree; `path` is absolute and has no links.
    ///
    /// # Errors
    /// Those of open(2); if it is a link.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        Folder::open(path).map(Self)
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Reads a file or a link; `None` if there is nothing.
    ///
    /// # Errors
    /// If it cannot be read, is something else, or has a second name, or if a link is on the way.
    pub fn read(&self, path: &str) -> io::Result<Option<Entry>> {
        let Some((folder, name)) = self.find(path)? else {
            return Ok(None);
        };
        folder.entry(name, BYTES_MAX)
    }

    /// Reads a regular file of at most `most_bytes`; `None` if there is nothing.
    ///
    /// # Errors
    /// As [`Self::read`]; if it is a link, or larger.
    pub fn read_file(&self, path: &str, most_bytes: u64) -> io::Result<Option<Contents>> {
        match self.find(path)? {
            Some((folder, name)) => folder.read(name, most_bytes),
            None => Ok(None),
        }
    }

    /// The names in a folder, sorted; none if it is missing.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let Some((folder, name)) = self.find(path)? else {
            return Ok(Vec::new());
        };
        match folder.0.folder(name) {
            Ok(folder) => folder.names(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Puts an entry in the place of what is there; nothing, if it is `None`.
    ///
    /// # Errors
    /// If it cannot be written as a whole, with all its attributes, or its folder is missing.
    pub fn set(&self, path: &str, entry: Option<&Entry>) -> io::Result<()> {
        match (self.find(path)?, entry) {
            (Some((folder, name)), _) => folder.set(name, entry),
            (None, None) => Ok(()),
            (None, Some(_)) => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "its directory is missing",
            )),
        }
    }

    /// Removes what processes that were killed while they wrote this path have left.
    pub(crate) fn remove_leftovers(&self, path: &str) -> io::Result<()> {
        match self.find(path)? {
            Some((folder, name)) => folder.remove_leftovers(name),
            None => Ok(()),
        }
    }

    /// The folders above a path that are missing, the outermost first.
    pub(crate) fn missing_folders(&self, path: &str) -> io::Result<Vec<String>> {
        let mut missing = Vec::new();
        for (at, _) in path.match_indices('/') {
            let above = &path[..at];
            if !missing.is_empty() || !self.exists(above)? {
                missing.push(above.to_owned());
            }
        }
        Ok(missing)
    }

    /// Whether there is something at a path, of any kind and size; a link counts, wherever it leads.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn exists(&self, path: &str) -> io::Result<bool> {
        match self.find(path)? {
            Some((folder, name)) => Ok(folder.0.stat(name)?.is_some()),
            None => Ok(false),
        }
    }

    /// Makes a folder, of mode 0755, or another.
    pub(crate) fn make_folder(&self, path: &str, mode: Option<u32>) -> io::Result<()> {
        let (folder, name) = self
            .find(path)?
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        match folder.0.make_folder(name, mode.unwrap_or(FOLDER_MODE)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done.map(drop),
        }
    }

    /// Removes a folder if it is empty.
    pub(crate) fn remove_folder(&self, path: &str) -> io::Result<()> {
        let Some((folder, name)) = self.find(path)? else {
            return Ok(());
        };
        match folder.0.remove_folder(name) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// Opens the folder of a path for a lock on it.
    pub(crate) fn folder_for_lock(&self, path: &str) -> io::Result<std::fs::File> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let (folder, _) = self.find(path)?.ok_or_else(missing)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&folder.0, ".", flags, Mode::empty())?.into())
    }

    /// The folder that a path is in, and its name there; `None` if that folder is missing.
    fn find<'p>(&self, path: &'p str) -> io::Result<Option<(Folder, &'p str)>> {
        let is_plain = |name: &str| !matches!(name, "" | "." | "..");
        if !path.split('/').all(is_plain) {
            let message = format!("{path:?} is no path below a root");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.0.0.try_clone()?;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            folder = match folder.folder(part) {
                Ok(next) => next,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => {
                    let message = format!("{}: {error}", folder.join(part).display());
                    return Err(io::Error::new(error.kind(), message));
                }
            };
        }
        Ok(Some((Folder(folder), name)))
    }
}
