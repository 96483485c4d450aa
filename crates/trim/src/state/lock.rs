//! Locks: flock on files that are removed when nobody holds them.
//!
//! A name is only removed by whoever holds the lock on the file that it names, and a lock only counts once its file
//! was found under that name after it was taken. So two processes never both hold a lock: the name of a file
//! whose lock counts stays, and another file cannot get it.
//!
//! The file records who took the lock. The record is only trusted while the lock is held, and only
//! if that process is still alive: an inherited lock outlives the process that took it.

use super::directory::Directory;
use crate::process::ProcessId;
use facts::host::DeviceNumber;
use linux::folder::read_bounded;
use linux::lock;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Maximum length of a record that is read.
const RECORD_BYTES_MAX: u64 = 4096;

/// A record overwrites the last one in a single write, so it always has the same length.
const RECORD_BYTES: usize = 96;

/// A process that only checks the lock holds it for a moment, so a busy lock is tried again.
const ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(20);

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The process that took it.
    Owner(ProcessId),
    /// The process that took it is dead; this one inherited the lock (a child stuck in the kernel).
    /// 0 if it could not be found.
    Inheritor(u32),
}

impl Holder {
    pub(super) fn pid(self) -> u32 {
        match self {
            Self::Owner(id) => id.pid,
            Self::Inheritor(pid) => pid,
        }
    }
}

/// A lock, held until dropped and by every process that inherited it.
#[derive(Debug)]
pub(super) struct Held {
    directory: Arc<Directory>,
    name: String,
    /// `None` while it is dropped.
    file: Option<File>,
}

impl Held {
    /// Returns the locked file.
    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A child may have inherited it, which only shows after this process has let go.
        drop(self.file.take());
        // What is left is removed when the next pass begins.
        let _ = remove_free(&self.directory, &self.name, PAUSE);
    }
}

/// Takes a lock.
pub(super) fn take(directory: &Arc<Directory>, name: &str) -> io::Result<Result<Held, Holder>> {
    for _ in 0..ATTEMPTS {
        if let Some(held) = attempt(directory, name)? {
            held.file().map_or(Ok(()), write_record)?;
            return Ok(Ok(held));
        }
        std::thread::sleep(PAUSE);
    }
    match holder(directory, name)? {
        Some(holder) => Ok(Err(holder)),
        None => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Tries to take a lock once; `None` if somebody holds it, or removes its file just now.
fn attempt(directory: &Arc<Directory>, name: &str) -> io::Result<Option<Held>> {
    let file = directory.create_file(name, OFlags::RDWR)?;
    // Otherwise the file was removed in between, and the lock is on one without a name.
    let counts = lock::try_exclusive(&file)? && directory.is_current(name, &file)?;
    Ok(counts.then(|| Held {
        directory: Arc::clone(directory),
        name: name.to_owned(),
        file: Some(file),
    }))
}

/// Removes a lock's file unless somebody holds the lock; returns whether it did. Tries for as long as `patience`: a
/// process that only checks the lock holds it for a moment.
fn remove_free(directory: &Directory, name: &str, patience: Duration) -> io::Result<bool> {
    let Some(file) = directory.open_file(name, OFlags::RDWR)? else {
        return Ok(false);
    };
    if !lock::exclusive_within(&file, patience)? || !directory.is_current(name, &file)? {
        return Ok(false);
    }
    directory.remove(name)
}

/// Removes what earlier processes left: files of locks that nobody holds, and requests to cancel a pass that is over.
/// Files that cannot be removed stay; the error of whoever wants that lock says why.
pub(super) fn sweep(directory: &Arc<Directory>) -> io::Result<()> {
    for name in directory.names()? {
        if name.starts_with("drive-") && name.ends_with(LOCK_ENDING) {
            let _ = remove_free(directory, &name, Duration::ZERO);
        }
        let of_filesystem = name.strip_prefix("fs-").and_then(|name| {
            let key = name.strip_suffix(LOCK_ENDING);
            key.or_else(|| name.strip_suffix(CANCEL_ENDING))
        });
        // A request is only written, and only read, while its pass holds the lock.
        if let Some(key) = of_filesystem
            && let Ok(Some(_held)) = attempt(directory, &filesystem_lock(key))
        {
            let _ = directory.remove(&cancel_request(key));
        }
    }
    Ok(())
}

/// Ending of the names of locks' files.
const LOCK_ENDING: &str = ".lock";
/// Ending of the names of requests to cancel a pass.
const CANCEL_ENDING: &str = ".cancel";

/// Returns the name of a filesystem's lock.
pub(super) fn filesystem_lock(key: &str) -> String {
    format!("fs-{key}{LOCK_ENDING}")
}

/// Returns the name of a drive's lock.
pub(super) fn drive_lock(number: DeviceNumber) -> String {
    format!("drive-{}-{}{LOCK_ENDING}", number.major, number.minor)
}

/// Returns the name of a request to cancel the pass on a filesystem.
pub(super) fn cancel_request(key: &str) -> String {
    format!("fs-{key}{CANCEL_ENDING}")
}

/// Returns who holds a lock; `None` if nobody does.
pub(super) fn holder(directory: &Directory, name: &str) -> io::Result<Option<Holder>> {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        // Anew each time: the file may have been removed, and the lock taken on a new one.
        let Some(file) = directory.open_file(name, OFlags::RDWR)? else {
            return Ok(None);
        };
        if lock::try_shared(&file)? {
            return Ok(None);
        }
        // Between taking the lock and writing the record, and while the file is removed, the record
        // is that of an earlier holder.
        let record = read_bounded(&file, RECORD_BYTES_MAX)?;
        if let Ok(owner) = serde_json::from_slice::<ProcessId>(&record)
            && owner.is_alive()
        {
            return Ok(Some(Holder::Owner(owner)));
        }
    }
    let path = directory.join(name);
    Ok(Some(Holder::Inheritor(find_inheritor(&path).unwrap_or(0))))
}

fn write_record(file: &File) -> io::Result<()> {
    let mut record = serde_json::to_string(&ProcessId::own())?;
    while record.len() < RECORD_BYTES - 1 {
        record.push(' ');
    }
    record.push('\n');
    file.write_all_at(record.as_bytes(), 0)
}

/// Finds a process that has the file open, among those that may be inspected.
fn find_inheritor(path: &Path) -> Option<u32> {
    let path = std::fs::canonicalize(path).ok()?;
    let own = std::process::id();
    std::fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|&pid| pid != own)
        .find(|pid| {
            std::fs::read_dir(format!("/proc/{pid}/fd"))
                .into_iter()
                .flatten()
                .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
                .any(|open| open == path)
        })
}

#[cfg(test)]
mod tests;
