//! A folder that is held open, so that its files are made, read and removed where they were looked for, whatever
//! another user puts in the place of its path meanwhile. What is in it may be another user's: links are not followed,
//! only regular files are opened, and reads are bounded.

use crate::regular_file::refuse_others;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// No folder that is walked is as deep; each level holds a descriptor.
const DEPTH_MAX: usize = 100;
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Which file it is, whatever its name: valid as long as its filesystem is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// Number of its filesystem's device (`st_dev`).
    pub device: u64,
    /// Its inode's number.
    pub inode: u64,
}

impl FileId {
    /// That of an open file.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(Self::from(&rustix::fs::fstat(file)?))
    }
}

impl From<&Stat> for FileId {
    fn from(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }
}

/// Whether other users may make files in a [protected](Folder::open_protected) folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OthersWrite {
    /// No.
    Refused,
    /// If it is sticky, such as `/var/tmp`: they can touch nothing of ours there.
    IfSticky,
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

impl Folder {
    /// Opens a folder. Its last name must not be a link.
    ///
    /// # Errors
    /// Those of open(2); if it is a link, or no folder.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let fd = open_directory(CWD, path.as_os_str())?;
        Ok(Self { path, fd })
    }

    /// Opens a folder in whose place no other user can put another one: neither it nor one above it belongs to another
    /// user than this process's and root, or can be written by others, unless it is sticky. Links in `path` are
    /// resolved first.
    ///
    /// # Errors
    /// As [`Self::open`]; [`io::ErrorKind::InvalidInput`] if it is not protected.
    pub fn open_protected(path: &Path, others: OthersWrite) -> io::Result<Self> {
        let own = rustix::process::geteuid();
        let path = path.canonicalize()?;
        let mut here = PathBuf::from("/");
        let mut fd = open_directory(CWD, here.as_os_str())?;
        // Each is looked at when it is open, and opened in the one above, which nobody else can change then.
        for name in path.components() {
            let Component::Normal(name) = name else {
                continue;
            };
            let unprotected = unprotected(&rustix::fs::fstat(&fd)?, own, OthersWrite::IfSticky);
            if let Some(why) = unprotected {
                return Err(refused(format!(
                    "is below {}, which {why}: another directory may be put in its place; use one elsewhere",
                    here.display()
                )));
            }
            fd = open_directory(fd.as_fd(), name)?;
            here.push(name);
        }
        let stat = rustix::fs::fstat(&fd)?;
        match unprotected(&stat, own, others) {
            None => Ok(Self { path, fd }),
            Some(why) if is_others(&stat, own) => {
                Err(refused(format!("{why}; use a directory of your own")))
            }
            Some(why) => Err(refused(format!(
                "{why}; take that away with chmod go-w, or use another directory"
            ))),
        }
    }

    /// The same folder, held a second time.
    ///
    /// # Errors
    /// If no descriptors are left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            path: self.path.clone(),
            fd: self.fd.try_clone()?,
        })
    }

    /// Its path when it was opened, for people and for other programs.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something in it, for people and for other programs.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A path that leads this process, and no other, to the open folder: for calls that take no descriptor.
    pub fn descriptor_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Which folder it is.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn id(&self) -> io::Result<FileId> {
        FileId::of(&self.fd)
    }

    /// What is there under a name, itself if it is a link; `None` if nothing is.
    ///
    /// # Errors
    /// Those of fstatat(2).
    pub fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder in it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self {
            path: self.join(name),
            fd: open_directory(self.fd.as_fd(), OsStr::new(name))?,
        })
    }

    /// Opens the folder above an open one: of a mount's root, that in which it is mounted. `path` is its path.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn above(folder: BorrowedFd<'_>, path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            fd: open_directory(folder, OsStr::new(".."))?,
        })
    }

    /// Makes a folder in it, with this mode whatever the umask.
    ///
    /// # Errors
    /// Those of mkdir(2) and open(2); if another folder was put in its place meanwhile.
    pub fn make_folder(&self, name: &str, mode: u32) -> io::Result<Self> {
        rustix::fs::mkdirat(&self.fd, name, Mode::RWXU)?;
        let folder = self.folder(name)?;
        let stat = rustix::fs::fstat(&folder.fd)?;
        if Uid::from_raw(stat.st_uid) != rustix::process::geteuid() {
            return Err(refused("was replaced by another user while it was made"));
        }
        rustix::fs::fchmod(&folder.fd, Mode::from_raw_mode(mode))?;
        Ok(folder)
    }

    /// Opens a regular file without waiting, as a pipe could make it; `None` if there is nothing of that name. `flags`
    /// are added; what they create has the mode 0600.
    ///
    /// # Errors
    /// Those of open(2); if it is a link or anything but a regular file.
    pub fn open_file(
        &self,
        name: impl rustix::path::Arg,
        flags: OFlags,
    ) -> io::Result<Option<File>> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(refused("expected a file, found a symbolic link")),
            // A pipe without a reader may be one as well.
            Err(Errno::NXIO) => return Err(refused("expected a file, found a socket")),
            Err(error) => return Err(error.into()),
        };
        refuse_others(&rustix::fs::fstat(&file)?)?;
        Ok(Some(file.into()))
    }

    /// Makes a file (0600) that only this process has: nothing that is there is opened.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn make_file(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Reads a regular file as a whole; `None` if there is nothing of that name.
    ///
    /// # Errors
    /// As [`Self::open_file`]; [`io::ErrorKind::InvalidData`] if it is longer than `bytes_max`.
    pub fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.open_file(name, OFlags::RDONLY)?;
        file.map(|file| read_bounded(file, bytes_max)).transpose()
    }

    /// Removes a file; `false` if there was none.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn remove_file(&self, name: &str) -> io::Result<bool> {
        self.remove(name, AtFlags::empty())
    }

    /// Removes an empty folder; `false` if there was none.
    ///
    /// # Errors
    /// Those of rmdir(2).
    pub fn remove_folder(&self, name: &str) -> io::Result<bool> {
        self.remove(name, AtFlags::REMOVEDIR)
    }

    fn remove(&self, name: &str, flags: AtFlags) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.fd, name, flags) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes all that is in it. Links are removed, never followed.
    ///
    /// # Errors
    /// Of the first that cannot be removed.
    pub fn empty(&self) -> io::Result<()> {
        let here = self.descriptor_path();
        for (name, kind) in self.entries()? {
            let path = here.join(OsStr::from_bytes(name.to_bytes()));
            let removed = match kind {
                // Works with descriptors itself.
                FileType::Directory => std::fs::remove_dir_all(path),
                _ => std::fs::remove_file(path),
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The names in it, sorted. Those that are not UTF-8 are left out.
    ///
    /// # Errors
    /// Those of getdents(2).
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = self.entries()?.into_iter();
        let mut names: Vec<String> = entries
            .filter_map(|(name, _)| name.into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Gives it, and all folders and files in it, to a user and the group of the same number. Links are given as such;
    /// files with another name elsewhere are left alone.
    ///
    /// # Errors
    /// Of the first that cannot be given.
    pub fn give_to(&self, id: u32) -> io::Result<()> {
        self.give(id, 0)
    }

    fn give(&self, id: u32, depth: usize) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
        for (name, kind) in self.entries()? {
            if kind == FileType::Directory {
                self.below(&name, depth)?.give(id, depth + 1)?;
                continue;
            }
            let held = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.fd, &name, held, Mode::empty())?;
            if rustix::fs::fstat(&file)?.st_nlink > 1 {
                continue;
            }
            rustix::fs::chownat(&file, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
        }
        Ok(rustix::fs::fchown(&self.fd, Some(user), Some(group))?)
    }

    /// Copies the folders and regular files in it to the empty folder `to`, with their modes. Anything else in it, such
    /// as a link, is left out.
    ///
    /// # Errors
    /// Of the first that cannot be copied; [`io::ErrorKind::InvalidData`] if they have more than `bytes_max`.
    pub fn copy_into(&self, to: &Self, mut bytes_max: u64) -> io::Result<()> {
        self.copy(to, &mut bytes_max, 0)
    }

    fn copy(&self, to: &Self, bytes_left: &mut u64, depth: usize) -> io::Result<()> {
        for (name, kind) in self.entries()? {
            match kind {
                FileType::Directory => {
                    let from = self.below(&name, depth)?;
                    let mode = rustix::fs::fstat(&from.fd)?.st_mode & 0o777;
                    rustix::fs::mkdirat(&to.fd, &name, Mode::RWXU)?;
                    let target = to.below(&name, depth)?;
                    from.copy(&target, bytes_left, depth + 1)?;
                    rustix::fs::fchmod(&target.fd, Mode::from_raw_mode(mode))?;
                }
                FileType::RegularFile => {
                    let Some(from) = self.open_file(&name, OFlags::RDONLY)? else {
                        continue;
                    };
                    let mode = rustix::fs::fstat(&from)?.st_mode & 0o777;
                    let anew = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                    let Some(mut file) = to.open_file(&name, anew)? else {
                        continue;
                    };
                    // A sparse file has no end to speak of.
                    let copied = io::copy(&mut from.take(*bytes_left + 1), &mut file)?;
                    *bytes_left = bytes_left.checked_sub(copied).ok_or_else(|| {
                        io::Error::new(io::ErrorKind::InvalidData, "holds more than its filesystem")
                    })?;
                    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A folder below it, at a depth that is bounded.
    fn below(&self, name: &CStr, depth: usize) -> io::Result<Self> {
        let name = OsStr::from_bytes(name.to_bytes());
        let path = self.path.join(name);
        if depth >= DEPTH_MAX {
            return Err(refused(format!(
                "{} has more than {DEPTH_MAX} folders within each other",
                path.display()
            )));
        }
        let fd = open_directory(self.fd.as_fd(), name)?;
        Ok(Self { path, fd })
    }

    /// What is in it, and of what kind.
    fn entries(&self) -> io::Result<Vec<(CString, FileType)>> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some filesystems do not tell.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reads a file from its position on.
///
/// # Errors
/// Those of read(2); [`io::ErrorKind::InvalidData`] if more than `bytes_max` are left.
pub fn read_bounded(file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("is larger than {bytes_max} bytes"),
        ));
    }
    Ok(bytes)
}

fn open_directory(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    rustix::fs::openat(at, name, DIRECTORY, Mode::empty()).map_err(|error| {
        let stat = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_link =
            stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link {
            refused("is a symbolic link; name the directory itself")
        } else {
            error.into()
        }
    })
}

fn is_others(stat: &Stat, own: Uid) -> bool {
    let owner = Uid::from_raw(stat.st_uid);
    owner != own && !owner.is_root()
}

/// Why another user than `own` and root can change what is in a folder; `None` if none can.
fn unprotected(stat: &Stat, own: Uid, others: OthersWrite) -> Option<String> {
    if is_others(stat, own) {
        return Some(format!("belongs to user {}", stat.st_uid));
    }
    // In a sticky folder, only its owner and that of a file can rename or remove that file.
    if others == OthersWrite::IfSticky && stat.st_mode & 0o1000 != 0 {
        return None;
    }
    // With an access control list, these are its mask.
    let by_group = stat.st_mode & 0o020 != 0 && stat.st_gid != 0;
    if stat.st_mode & 0o002 != 0 {
        Some("is open to all users".to_owned())
    } else if by_group {
        Some(format!("can be written by group {}", stat.st_gid))
    } else {
        None
    }
}

fn refused(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    fn folder() -> (tempfile::TempDir, Folder) {
        let held = tempfile::tempdir().unwrap();
        let folder = Folder::open(held.path().canonicalize().unwrap()).unwrap();
        (held, folder)
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn fifo(path: &Path) {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    #[test]
    fn it_stays_the_same_whatever_takes_its_place() {
        let (held, folder) = folder();
        let inner = folder.make_folder("inner", 0o711).unwrap();
        fs::write(inner.join("file"), "ours").unwrap();
        fs::rename(held.path().join("inner"), held.path().join("away")).unwrap();
        fs::create_dir(held.path().join("inner")).unwrap();
        fs::write(held.path().join("inner/file"), "theirs").unwrap();
        assert_eq!(inner.read("file", 9).unwrap().unwrap(), b"ours");
        inner.empty().unwrap();
        assert_eq!(fs::read(held.path().join("inner/file")).unwrap(), b"theirs");
        assert!(inner.names().unwrap().is_empty());
        let mode = fs::metadata(held.path().join("away"))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o7777, 0o711);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let (held, folder) = folder();
        fs::write(held.path().join("secret"), "secret").unwrap();
        symlink(held.path().join("secret"), held.path().join("link")).unwrap();
        symlink("/dev/zero", held.path().join("zero")).unwrap();
        fifo(&held.path().join("fifo"));
        let _socket = std::os::unix::net::UnixListener::bind(held.path().join("socket")).unwrap();
        for name in ["link", "zero", "fifo", "socket", "."] {
            let read = folder.read(name, 9);
            assert!(read.is_err(), "{name}: {read:?}");
            let made = folder.make_file(name);
            assert!(made.is_err(), "{name}: {made:?}");
        }
        assert_eq!(folder.read("none", 9).unwrap(), None);
        assert_eq!(folder.read("secret", 6).unwrap().unwrap(), b"secret");
        let error = folder.read("secret", 5).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let linked = folder.folder("link").unwrap_err().to_string();
        assert!(linked.contains("symbolic link"), "{linked}");
    }

    #[test]
    fn what_others_can_exchange_is_not_protected() {
        let (held, _) = folder();
        let inner = held.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let open =
            |others| Folder::open_protected(&inner, others).map_err(|error| error.to_string());
        let sticky = || open(OthersWrite::IfSticky);
        assert!(open(OthersWrite::Refused).is_ok());
        // Itself.
        chmod(&inner, 0o777);
        assert!(sticky().unwrap_err().contains("is open to all users"));
        chmod(&inner, 0o1777);
        assert!(sticky().is_ok());
        assert!(
            open(OthersWrite::Refused)
                .unwrap_err()
                .contains("is open to all users")
        );
        chmod(&inner, 0o755);
        // One above it.
        let above = held.path().join("a");
        chmod(&above, 0o777);
        let error = sticky().unwrap_err();
        assert!(
            error.contains("is below") && error.contains("is open to all users"),
            "{error}"
        );
        chmod(&above, 0o755);
        // A link to it is resolved, and what is behind it looked at.
        symlink(&inner, held.path().join("link")).unwrap();
        let linked = Folder::open_protected(&held.path().join("link"), OthersWrite::Refused);
        assert_eq!(linked.unwrap().path(), inner.canonicalize().unwrap());
        if rustix::process::geteuid().is_root() {
            chown(&above, None, Some(12345)).unwrap();
            chmod(&above, 0o775);
            assert!(
                sticky()
                    .unwrap_err()
                    .contains("can be written by group 12345")
            );
            chown(&above, Some(12345), Some(0)).unwrap();
            chmod(&above, 0o755);
            assert!(sticky().unwrap_err().contains("belongs to user 12345"));
            // Whoever owns a sticky folder may rename everything in it.
            chown(&above, Some(0), None).unwrap();
            chown(&inner, Some(12345), None).unwrap();
            chmod(&inner, 0o1777);
            assert!(sticky().unwrap_err().contains("belongs to user 12345"));
        }
    }

    #[test]
    fn links_are_neither_given_nor_copied() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let (held, folder) = folder();
        let secret = held.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let from = folder.make_folder("from", 0o755).unwrap();
        let deep = from.make_folder("deep", 0o750).unwrap();
        fs::write(deep.join("file"), "text").unwrap();
        chmod(&deep.join("file"), 0o640);
        symlink(&secret, from.join("link")).unwrap();
        symlink(held.path(), from.join("folder")).unwrap();
        fs::hard_link(&secret, deep.join("other")).unwrap();
        fifo(&deep.join("fifo"));
        from.give_to(12345).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        assert_eq!(owner(&secret), 0);
        assert_eq!(owner(held.path()), 0);
        for name in ["from", "from/deep", "from/deep/file", "from/link"] {
            assert_eq!(owner(&held.path().join(name)), 12345, "{name}");
        }
        let to = folder.make_folder("to", 0o755).unwrap();
        from.copy_into(&to, 1 << 20).unwrap();
        assert_eq!(to.names().unwrap(), ["deep"]);
        let copied = to.folder("deep").unwrap();
        assert_eq!(copied.names().unwrap(), ["file", "other"]);
        assert_eq!(copied.read("file", 9).unwrap().unwrap(), b"text");
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(copied.join("file")), 0o640);
        assert_eq!(mode(copied.path().to_owned()), 0o750);
        // More than there should be.
        let again = folder.make_folder("again", 0o755).unwrap();
        assert!(from.copy_into(&again, 5).is_err());
    }

    #[test]
    fn a_tree_without_end_is_an_error() {
        let (_held, folder) = folder();
        let mut path = folder.path().join("from");
        let names = "d/".repeat(DEPTH_MAX + 5);
        path.push(names);
        fs::create_dir_all(&path).unwrap();
        let from = folder.folder("from").unwrap();
        let to = folder.make_folder("to", 0o700).unwrap();
        let error = from.copy_into(&to, 1 << 20).unwrap_err().to_string();
        assert!(error.contains("100 folders"), "{error}");
        folder.empty().unwrap();
    }
}
