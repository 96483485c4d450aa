//! Atomic file writes: a file appears complete or not at all, because it is written under a
//! temporary name in the same directory, fsynced and renamed.
//!
//! This does not use the crate `tempfile`, which works with paths: a state directory that was
//! opened and verified to be ours must be written to through its file descriptor.

use crate::attributes;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// How many temporary names are tried.
const NAMES_MAX: u32 = 100;
/// How much of a file's name its temporary name starts with: both fit into 255 bytes.
const NAME_CHARS_MAX: usize = 40;

/// What to do with an existing file of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Replaces it.
    Replace,
    /// Keeps it; writing fails with [`ErrorKind::AlreadyExists`].
    Keep,
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only its owner (0600).
    Owner,
    /// As for any newly created file (0666 less the umask); when replacing a file, the new one gets
    /// the old one's mode, ACL and other [`attributes`], and, if this process may change it, its owner.
    Default,
}

/// A file under a temporary name; removed when dropped unless it was persisted.
#[derive(Debug)]
pub struct Temporary<'d> {
    directory: BorrowedFd<'d>,
    name: String,
    file: File,
    is_named: bool,
}

impl<'d> Temporary<'d> {
    /// Creates a temporary file. Existing files are never opened and links never followed.
    ///
    /// # Errors
    /// Those of open(2); [`ErrorKind::AlreadyExists`] if the name is taken.
    pub fn create(
        directory: BorrowedFd<'d>,
        temporary_name: String,
        access: Access,
    ) -> io::Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(match access {
            Access::Owner => 0o600,
            Access::Default => 0o666,
        });
        let file = rustix::fs::openat(directory, &temporary_name, flags, mode)?;
        Ok(Self {
            directory,
            name: temporary_name,
            file: file.into(),
            is_named: false,
        })
    }

    /// Returns the file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Fsyncs the file and renames it. The name itself is durable only once the directory is
    /// fsynced, too.
    ///
    /// # Errors
    /// Those of fsync(2) and rename(2); [`ErrorKind::AlreadyExists`].
    pub fn persist(mut self, name: &OsStr, if_exists: IfExists) -> io::Result<()> {
        self.file.sync_all()?;
        let (directory, temporary) = (self.directory, self.name.as_str());
        match if_exists {
            IfExists::Replace => rustix::fs::renameat(directory, temporary, directory, name)?,
            IfExists::Keep => {
                let flags = RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(directory, temporary, directory, name, flags) {
                    Ok(()) => {}
                    // Before kernel 3.15, and on filesystems without it: link(2) also fails if the
                    // name is taken, and dropping `self` removes the temporary name.
                    Err(Errno::NOSYS | Errno::INVAL) => {
                        let flags = AtFlags::empty();
                        return Ok(rustix::fs::linkat(
                            directory, temporary, directory, name, flags,
                        )?);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.is_named = true;
        Ok(())
    }

    /// Removes it.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn remove(mut self) -> io::Result<()> {
        self.is_named = true;
        let name = self.name.as_str();
        Ok(rustix::fs::unlinkat(
            self.directory,
            name,
            AtFlags::empty(),
        )?)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            let name = self.name.as_str();
            // Nothing more can be done about a failure here.
            let _ = rustix::fs::unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

/// Writes a file so that it appears complete or not at all.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if an existing file is to be kept; [`ErrorKind::InvalidInput`] if
/// `path` has no file name, or is anything but a regular file (a device, a symbolic link);
/// otherwise the error of `contents` or of the system, also if an attribute cannot be kept. On failure an existing file is unchanged and
/// nothing is left behind.
pub fn write(
    path: &Path,
    if_exists: IfExists,
    access: Access,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| invalid(format!("{} names no file", path.display())))?;
    let replaced = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => {
            return Err(invalid(format!(
                "{} is there and is not a regular file; name another file",
                path.display()
            )));
        }
        Ok(_) if if_exists == IfExists::Keep => return Err(already_there(path)),
        Ok(_) if access == Access::Owner => None,
        Ok(_) => Some(Replaced::read(path)?),
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // PATH: write permission to a directory does not imply permission to list it.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, parent, flags, Mode::empty())?;
    let mut temporary = temporary(&directory, parent, &name.to_string_lossy(), access)?;
    let mut out = BufWriter::new(temporary.file());
    contents(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(replaced) = replaced {
        replaced.apply(temporary.file())?;
    }
    // Checked again by the kernel: the file may have been created meanwhile.
    temporary.persist(name, if_exists).map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            already_there(path)
        } else {
            error
        }
    })?;
    // The name is stored in the directory, which needs its own fsync. Some filesystems do not
    // support it.
    if let Ok(directory) = File::open(parent) {
        let _ = directory.sync_all();
    }
    Ok(())
}

/// Who may do what with a file that is replaced.
struct Replaced {
    stat: Stat,
    attributes: attributes::Attributes,
}

impl Replaced {
    fn read(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self {
            stat: rustix::fs::fstat(&file)?,
            attributes: attributes::read(&file)?,
        })
    }

    fn apply(&self, file: &File) -> io::Result<()> {
        let (owner, group) = (
            Uid::from_raw(self.stat.st_uid),
            Gid::from_raw(self.stat.st_gid),
        );
        // Only root may do this; failing to keep the owner must not lose the data.
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
        self.attributes.apply(file)?;
        Ok(rustix::fs::fchmod(
            file,
            Mode::from_raw_mode(self.stat.st_mode & 0o777),
        )?)
    }
}

fn temporary<'d>(
    directory: &'d OwnedFd,
    parent: &Path,
    name: &str,
    access: Access,
) -> io::Result<Temporary<'d>> {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    for attempt in 0..NAMES_MAX {
        let temporary_name = format!(".{name}.{}-{attempt}.tmp", std::process::id());
        match Temporary::create(directory.as_fd(), temporary_name, access) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            result => return result,
        }
    }
    Err(io::Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "{} is full of temporary files of other runs; remove .{name}.*.tmp",
            parent.display()
        ),
    ))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, message)
}

fn already_there(path: &Path) -> io::Error {
    io::Error::new(
        ErrorKind::AlreadyExists,
        format!("{} already exists", path.display()),
    )
}

#[cfg(test)]
mod tests;
