use super::live::{not_regular, read_bounded};
use super::log_file::read_end_bounded;
use super::resolve::{Entry, Found, LastLink, Tree, resolve};
use super::{End, Kind, Source, Stat, sorted};
use crate::command::Command;
use crate::unread::Unread;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat};
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

/// Maximum size of a command output in `cmd/`.
const COMMAND_BYTES_MAX: usize = 16 << 20;

/// An untrusted tree of files below a directory (`--root DIR`).
///
/// Every component is opened individually without following links (`O_PATH | O_NOFOLLOW`), and
/// links are interpreted inside the tree, so that nothing outside can be reached, even if somebody
/// changes the tree meanwhile. Only regular files are read.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    root: OnceCell<Result<Rc<Node>, Unread>>,
    /// The directory last read from, by path: attributes are read in groups.
    last_parent: RefCell<Option<(String, Rc<Node>)>>,
}

/// An open directory (`O_PATH`) with its parents, which `..` needs.
#[derive(Debug)]
pub(super) struct Node {
    fd: OwnedFd,
    parent: Option<Rc<Node>>,
}

/// Opens whatever a name refers to, without side effects and without following links.
fn open_path(dir: &Node, name: &str) -> Result<(OwnedFd, rustix::fs::Stat), Unread> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(&dir.fd, name, flags, Mode::empty()).map_err(failed)?;
    let seen = fstat(&fd).map_err(failed)?;
    Ok((fd, seen))
}

fn failed(error: rustix::io::Errno) -> Unread {
    // A link replaced what was there a moment ago.
    if error == rustix::io::Errno::LOOP {
        return Unread::NotFound;
    }
    Unread::from(&error.into())
}

impl Directory {
    /// Creates a source for the tree below `root`, which is opened on the first read; if that
    /// fails, every read returns the error.
    pub fn new(root: PathBuf) -> Self {
        Self {
            path: root,
            root: OnceCell::new(),
            last_parent: RefCell::default(),
        }
    }

    /// Resolves a path.
    fn find(&self, path: &str, last: LastLink) -> Result<Found<Rc<Node>>, Unread> {
        let Some((parent, name)) = path.rsplit_once('/') else {
            return resolve(self, path, last);
        };
        if matches!(name, "" | "." | "..") || path.contains('\0') {
            return resolve(self, path, last);
        }
        let known = self
            .last_parent
            .borrow()
            .as_ref()
            .filter(|(known, _)| known == parent)
            .map(|(_, node)| node.clone());
        let node = match known {
            Some(node) => node,
            None => match resolve(self, parent, LastLink::Follow)? {
                Found::Directory(node) => node,
                Found::Leaf { .. } | Found::Link(_) => return Err(Unread::NotFound),
            },
        };
        *self.last_parent.borrow_mut() = Some((parent.to_owned(), node.clone()));
        Ok(match self.look(&node, name)? {
            Entry::Directory(node) => Found::Directory(node),
            Entry::Leaf => Found::Leaf {
                parent: node,
                name: name.to_owned(),
            },
            Entry::Link(text) if last == LastLink::Keep => Found::Link(text),
            Entry::Link(_) => return resolve(self, path, last),
        })
    }
}

impl Directory {
    /// Opens a regular file, and nothing else.
    fn open_regular(&self, path: &str) -> Result<File, Unread> {
        let Found::Leaf { parent, name } = self.find(path, LastLink::Follow)? else {
            return Err(not_regular());
        };
        // Checked before opening: opening a device has side effects.
        let (_, looked) = open_path(&parent, &name)?;
        if FileType::from_raw_mode(looked.st_mode) != FileType::RegularFile {
            return Err(not_regular());
        }
        // It may have been replaced since.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(&parent.fd, name.as_str(), flags, Mode::empty()).map_err(failed)?;
        let opened = fstat(&fd).map_err(failed)?;
        if FileType::from_raw_mode(opened.st_mode) != FileType::RegularFile {
            return Err(not_regular());
        }
        Ok(File::from(fd))
    }
}

impl Tree for Directory {
    type Dir = Rc<Node>;

    fn root(&self) -> Result<Rc<Node>, Unread> {
        self.root
            .get_or_init(|| {
                // The user chose this path, so links in it are followed.
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                match openat(CWD, &self.path, flags, Mode::empty()) {
                    Ok(fd) => Ok(Rc::new(Node { fd, parent: None })),
                    Err(error) => Err(Unread::Failed(format!(
                        "{}: {}",
                        self.path.display(),
                        std::io::Error::from(error)
                    ))),
                }
            })
            .clone()
    }

    fn parent(&self, dir: &Rc<Node>) -> Rc<Node> {
        dir.parent.clone().unwrap_or_else(|| dir.clone())
    }

    fn look(&self, dir: &Rc<Node>, name: &str) -> Result<Entry<Rc<Node>>, Unread> {
        let (fd, seen) = open_path(dir, name)?;
        match FileType::from_raw_mode(seen.st_mode) {
            FileType::Directory => Ok(Entry::Directory(Rc::new(Node {
                fd,
                parent: Some(dir.clone()),
            }))),
            FileType::Symlink => {
                let text = readlinkat(&fd, "", Vec::new()).map_err(failed)?;
                Ok(Entry::Link(text.to_string_lossy().into_owned()))
            }
            _ => Ok(Entry::Leaf),
        }
    }
}

impl Source for Directory {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        read_bounded(self.open_regular(path)?, max_bytes)
    }

    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        read_end_bounded(self.open_regular(path)?, max_bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        let Found::Directory(node) = self.find(path, LastLink::Follow)? else {
            return Err(Unread::NotFound);
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&node.fd, ".", flags, Mode::empty()).map_err(failed)?;
        let names = Dir::new(fd).map_err(failed)?.map(|entry| {
            let entry = entry.map_err(failed)?;
            Ok(entry.file_name().to_string_lossy().into_owned())
        });
        let is_self_or_parent =
            |name: &Result<String, Unread>| matches!(name.as_deref(), Ok("." | ".."));
        sorted(names.filter(|name| !is_self_or_parent(name)))
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        match self.find(path, LastLink::Keep)? {
            Found::Link(text) => Ok(text),
            Found::Directory(_) | Found::Leaf { .. } => Err(Unread::NotFound),
        }
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let seen = match self.find(path, LastLink::Follow)? {
            Found::Directory(node) => fstat(&node.fd).map_err(failed)?,
            Found::Leaf { parent, name } => open_path(&parent, &name)?.1,
            Found::Link(_) => return Err(Unread::NotFound),
        };
        Ok(Stat {
            kind: match FileType::from_raw_mode(seen.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                _ => Kind::Other,
            },
            mode: seen.st_mode & 0o7777,
            mtime_s: seen.st_mtime,
            size_bytes: u64::try_from(seen.st_size).unwrap_or(0),
        })
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        self.read(&format!("cmd/{}", command.name()), COMMAND_BYTES_MAX)
    }
}
