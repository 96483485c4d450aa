//! The register of experiments: a file for each, which names what must be removed if the experiment is killed. It is
//! locked as long as the experiment runs.
//!
//! A record is appended before what it names is of any use: the path before the folder is made, and the image before
//! a loop device is put before it. So whatever a crash leaves is found, by device and inode, whatever has become of
//! its path.

use bench::path_error::{PathError, at};
use linux::folder::{FileId, Folder, OthersWrite};
use linux::lock::Exclusive;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// It is locked while an entry is made or removed.
const LOCK: &str = ".lock";
/// Removing what a crash left takes some seconds.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);
/// An entry has a path, a folder, and an image for each filesystem.
const ENTRY_BYTES_MAX: u64 = 1 << 20;
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Why the register cannot be used.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Another process holds it.
    #[error("{} is locked: another experiment begins, or removes what was left", units::escape(&.0.to_string_lossy()))]
    Locked(PathBuf),
    /// An entry is not one.
    #[error("{}: expected what an experiment of this version leaves, found {found}; remove it, and what it names", units::escape(&entry.to_string_lossy()))]
    Entry {
        /// The entry.
        entry: PathBuf,
        /// What is wrong.
        found: String,
    },
}

/// One line of an entry.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Record {
    /// Where the workspace will be.
    Workspace(PathBuf),
    /// The workspace, and the boot in which it was made.
    Folder {
        device: u64,
        inode: u64,
        boot_id: String,
    },
    /// An image in it.
    Image { device: u64, inode: u64 },
}

/// What an entry names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Recorded {
    /// Where the workspace was made; `None` if the experiment ended before.
    pub(crate) workspace: Option<PathBuf>,
    /// The workspace; `None` if the experiment ended before it was made.
    pub(crate) folder: Option<FileId>,
    pub(crate) images: Vec<FileId>,
    /// Whether it was made since this machine started: only then do mounts and loop devices exist, and do device numbers
    /// mean the same.
    pub(crate) is_of_this_boot: bool,
}

/// The register, locked.
#[derive(Debug)]
pub(crate) struct Register {
    folder: Folder,
    _lock: Exclusive,
}

/// An entry, locked.
#[derive(Debug)]
pub(crate) struct Entry {
    register: Folder,
    name: String,
    file: Exclusive,
}

impl Register {
    /// Opens and locks the register, making it (0700) if there is none.
    pub(crate) fn open(path: &Path) -> Result<Self, RegisterError> {
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700);
        folders.create(path).map_err(at(path))?;
        Self::lock(Folder::open_protected(path, OthersWrite::Refused).map_err(at(path))?)
    }

    /// Opens and locks the register; `None` if there is none.
    pub(crate) fn existing(path: &Path) -> Result<Option<Self>, RegisterError> {
        match Folder::open_protected(path, OthersWrite::Refused) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            folder => Self::lock(folder.map_err(at(path))?).map(Some),
        }
    }

    fn lock(folder: Folder) -> Result<Self, RegisterError> {
        let path = folder.join(LOCK);
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = folder.open_file(LOCK, flags).map_err(at(&path))?;
        let file = file.ok_or_else(|| at(&path)(io::ErrorKind::NotFound.into()))?;
        let lock = Exclusive::within(file, LOCK_PATIENCE).map_err(at(&path))?;
        Ok(Self {
            folder,
            _lock: lock.ok_or(RegisterError::Locked(path))?,
        })
    }

    /// Makes an entry; `None` if its name is taken.
    pub(crate) fn enter(&self, name: &str) -> Result<Option<Entry>, RegisterError> {
        let path = self.folder.join(name);
        let file = match self.folder.make_file(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            file => file.map_err(at(&path))?,
        };
        let file = Exclusive::attempt(file).map_err(at(&path))?;
        file.map(|file| self.entry(name, file)).transpose()
    }

    /// The entries of experiments that run, by name.
    pub(crate) fn running(&self) -> Result<Vec<String>, RegisterError> {
        let mut running = Vec::new();
        for name in self.names()? {
            if let Some(file) = self.file(&name)? {
                let lock = Exclusive::attempt(file).map_err(at(&self.folder.join(&name)))?;
                if lock.is_none() {
                    running.push(name);
                }
            }
        }
        Ok(running)
    }

    /// Takes the entry of an experiment that no longer runs; `None` if it does, or has ended.
    pub(crate) fn take_abandoned(&self, name: &str) -> Result<Option<Entry>, RegisterError> {
        let Some(file) = self.file(name)? else {
            return Ok(None);
        };
        let lock = Exclusive::attempt(file).map_err(at(&self.folder.join(name)))?;
        lock.map(|file| self.entry(name, file)).transpose()
    }

    /// Names of all entries.
    pub(crate) fn names(&self) -> Result<Vec<String>, RegisterError> {
        let mut names = self.folder.names().map_err(at(self.folder.path()))?;
        names.retain(|name| name != LOCK);
        Ok(names)
    }

    /// What an entry names, whoever has it.
    pub(crate) fn read(&self, name: &str) -> Result<Recorded, RegisterError> {
        read(&self.folder, name)
    }

    /// The path of an entry.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn file(&self, name: &str) -> Result<Option<File>, RegisterError> {
        let file = self.folder.open_file(name, OFlags::RDWR | OFlags::APPEND);
        Ok(file.map_err(at(&self.folder.join(name)))?)
    }

    fn entry(&self, name: &str, file: Exclusive) -> Result<Entry, RegisterError> {
        Ok(Entry {
            register: self.folder.try_clone().map_err(at(self.folder.path()))?,
            name: name.to_owned(),
            file,
        })
    }
}

impl Entry {
    pub(crate) fn path(&self) -> PathBuf {
        self.register.join(&self.name)
    }

    /// Records where the workspace will be.
    pub(crate) fn record_workspace(&self, path: &Path) -> Result<(), RegisterError> {
        self.append(&Record::Workspace(path.to_owned()))
    }

    /// Records the workspace.
    pub(crate) fn record_folder(&self, folder: FileId) -> Result<(), RegisterError> {
        self.append(&Record::Folder {
            device: folder.device,
            inode: folder.inode,
            boot_id: boot_id()?,
        })
    }

    pub(crate) fn record_image(&self, image: FileId) -> Result<(), RegisterError> {
        self.append(&Record::Image {
            device: image.device,
            inode: image.inode,
        })
    }

    fn append(&self, record: &Record) -> Result<(), RegisterError> {
        let path = self.path();
        let mut line = serde_json::to_vec(record).map_err(|error| at(&path)(error.into()))?;
        line.push(b'\n');
        (&*self.file)
            .write_all(&line)
            .and_then(|()| self.file.sync_all())
            .map_err(at(&path))?;
        Ok(())
    }

    /// What it names.
    pub(crate) fn read(&self) -> Result<Recorded, RegisterError> {
        read(&self.register, &self.name)
    }

    /// Removes it.
    pub(crate) fn remove(self) -> Result<(), RegisterError> {
        let removed = self.register.remove_file(&self.name);
        removed.map_err(at(&self.path()))?;
        Ok(())
    }
}

/// What an entry names. A last line that a crash cut counts as not written.
fn read(register: &Folder, name: &str) -> Result<Recorded, RegisterError> {
    let path = register.join(name);
    let text = register.read(name, ENTRY_BYTES_MAX);
    let text = text.map_err(at(&path))?.unwrap_or_default();
    let wrong = |found: String| RegisterError::Entry {
        entry: path.clone(),
        found,
    };
    let mut recorded = Recorded::default();
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    lines.pop();
    for line in lines {
        let record = serde_json::from_slice(line).map_err(|error| {
            let line = units::escape(&String::from_utf8_lossy(line)).into_owned();
            wrong(format!("\"{line}\" ({error})"))
        })?;
        match record {
            Record::Workspace(path) => recorded.workspace = Some(path),
            Record::Folder {
                device,
                inode,
                boot_id: of,
            } => {
                recorded.folder = Some(FileId { device, inode });
                recorded.is_of_this_boot = of == boot_id()?;
            }
            Record::Image { device, inode } => recorded.images.push(FileId { device, inode }),
        }
    }
    if recorded.workspace.is_none() && !text.is_empty() && recorded.folder.is_none() {
        // What another version wrote has no line.
        let text = units::escape(&String::from_utf8_lossy(&text)).into_owned();
        return Err(wrong(format!("\"{text}\"")));
    }
    Ok(recorded)
}

fn boot_id() -> Result<String, PathError> {
    let path = Path::new(BOOT_ID);
    let text = std::fs::read_to_string(path).map_err(at(path))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_recorded_is_read() {
        let held = tempfile::tempdir().unwrap();
        let path = held.path().join("register");
        let register = Register::open(&path).unwrap();
        let entry = register.enter("a").unwrap().unwrap();
        assert!(register.enter("a").unwrap().is_none());
        assert_eq!(entry.read().unwrap(), Recorded::default());
        entry.record_workspace(Path::new("/w")).unwrap();
        let (folder, image) = (
            FileId {
                device: 1,
                inode: 2,
            },
            FileId {
                device: 3,
                inode: u64::MAX,
            },
        );
        entry.record_folder(folder).unwrap();
        entry.record_image(image).unwrap();
        let expected = Recorded {
            workspace: Some(PathBuf::from("/w")),
            folder: Some(folder),
            images: vec![image],
            is_of_this_boot: true,
        };
        assert_eq!(entry.read().unwrap(), expected);
        assert_eq!(register.running().unwrap(), ["a"]);
        drop(entry);
        // A crash cut the last line.
        let file = path.join("a");
        let mut text = fs::read_to_string(&file).unwrap();
        text.push_str("{\"image\":{\"devi");
        fs::write(&file, &text).unwrap();
        assert!(register.running().unwrap().is_empty());
        let entry = register.take_abandoned("a").unwrap().unwrap();
        assert_eq!(entry.read().unwrap(), expected);
        // Another boot.
        let text = text.replace(&boot_id().unwrap(), "0");
        fs::write(&file, text).unwrap();
        assert!(!entry.read().unwrap().is_of_this_boot);
        entry.remove().unwrap();
        assert!(register.names().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_entry_is_an_error() {
        let held = tempfile::tempdir().unwrap();
        let path = held.path().join("register");
        let register = Register::open(&path).unwrap();
        for text in [
            "/var/tmp/trimtab-experiment-1",
            "{}\n",
            "x\n",
            "{\"image\":{}}\n",
            "\n",
        ] {
            fs::write(path.join("a"), text).unwrap();
            let entry = register.take_abandoned("a").unwrap().unwrap();
            let read = entry.read();
            assert!(matches!(read, Err(RegisterError::Entry { .. })), "{read:?}");
        }
        fs::remove_file(path.join("a")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path.join("a")).unwrap();
        assert!(register.take_abandoned("a").is_err());
    }
}
