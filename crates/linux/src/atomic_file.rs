//! Files that are there whole or not at all: written under another name beside it, fsynced, renamed.
//!
//! Not the crate `tempfile`: it works with paths, and a state directory that was opened and found to
//! be our own must be written to through its descriptor.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How many names for a temporary file are tried.
const NAMES_MAX: u32 = 100;
/// Of a file's name, what its temporary one begins with: both fit into 255 bytes.
const NAME_CHARS_MAX: usize = 40;

/// What becomes of a file that has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    Replaced,
    /// It stays, and writing fails with [`ErrorKind::AlreadyExists`].
    Kept,
}

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner (0600).
    Owner,
    /// Whoever the umask lets, as for any file that a program makes (0666); a file that replaces
    /// another has that one's mode and, where this process may give it away, its owner.
    AsUsual,
}

/// A file under a temporary name; removed when dropped, unless it got its name.
#[derive(Debug)]
pub struct Temporary<'d> {
    directory: BorrowedFd<'d>,
    name: String,
    file: File,
    is_named: bool,
}

impl<'d> Temporary<'d> {
    /// Makes it. Nothing that is there is opened or followed.
    ///
    /// # Errors
    /// As open(2); [`ErrorKind::AlreadyExists`] where the name is taken.
    pub fn create(
        directory: BorrowedFd<'d>,
        temporary_name: String,
        access: Access,
    ) -> io::Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(match access {
            Access::Owner => 0o600,
            Access::AsUsual => 0o666,
        });
        let file = rustix::fs::openat(directory, &temporary_name, flags, mode)?;
        Ok(Self {
            directory,
            name: temporary_name,
            file: file.into(),
            is_named: false,
        })
    }

    /// For its content.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Fsyncs it and gives it its name. The name itself is safe once the directory is fsynced, too.
    ///
    /// # Errors
    /// As fsync(2) and rename(2); [`ErrorKind::AlreadyExists`].
    pub fn persist(mut self, name: &OsStr, existing: Existing) -> io::Result<()> {
        self.file.sync_all()?;
        let (directory, temporary) = (self.directory, self.name.as_str());
        match existing {
            Existing::Replaced => rustix::fs::renameat(directory, temporary, directory, name)?,
            Existing::Kept => {
                let flags = RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(directory, temporary, directory, name, flags) {
                    Ok(()) => {}
                    // Before kernel 3.15, and on filesystems that cannot: a second link fails as
                    // well where the name is taken, and the first one goes with `self`.
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
    /// As unlink(2).
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
            // Nothing more can be done about it here.
            let _ = rustix::fs::unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

/// Writes a file so that it is there whole or not at all.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] where a file is to be kept; [`ErrorKind::InvalidInput`] where `path`
/// names no file, or anything but a regular one (a device, a symbolic link); else what `contents` or
/// the system says. What was there is as it was, and nothing is left behind.
pub fn write(
    path: &Path,
    existing: Existing,
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
        Ok(_) if existing == Existing::Kept => return Err(already_there(path)),
        Ok(found) => Some(found),
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // PATH: whoever may write to a directory need not be allowed to list it.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, parent, flags, Mode::empty())?;
    let mut temporary = temporary(&directory, parent, &name.to_string_lossy(), access)?;
    let mut out = BufWriter::new(temporary.file());
    contents(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(replaced) = replaced.filter(|_| access == Access::AsUsual) {
        let (owner, group) = (Uid::from_raw(replaced.uid()), Gid::from_raw(replaced.gid()));
        let file = temporary.file();
        // Only root may; another owner is no reason to lose what was to be written.
        let _ = rustix::fs::fchown(&*file, Some(owner), Some(group));
        rustix::fs::fchmod(&*file, Mode::from_raw_mode(replaced.mode() & 0o777))?;
    }
    // Looked at once more by the kernel: somebody may have made the file meanwhile.
    temporary.persist(name, existing).map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            already_there(path)
        } else {
            error
        }
    })?;
    // The name is in the directory, so that needs its own sync. Some filesystems know none.
    if let Ok(directory) = File::open(parent) {
        let _ = directory.sync_all();
    }
    Ok(())
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
        format!(
            "{} is there already and is not overwritten; remove it or name another file",
            path.display()
        ),
    )
}

#[cfg(test)]
mod tests;
