//! Locks: flock on files that are never removed, so that a name always refers to the same file.
//!
//! The file records who took the lock. The record is only trusted while the lock is held, and only
//! if that process is still alive: an inherited lock outlives the process that took it.

use super::directory::{Directory, read_bounded};
use crate::process::ProcessId;
use linux::lock;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Maximum length of a record that is read.
const RECORD_BYTES_MAX: usize = 4096;

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

/// Takes a lock.
pub(super) fn take(directory: &Directory, name: &str) -> io::Result<Result<File, Holder>> {
    for attempt in 1.. {
        let file = directory.create_file(name, OFlags::RDWR)?;
        if lock::try_exclusive(&file)? {
            // Otherwise the directory was emptied in between, and the locked file no longer has a
            // name.
            if directory.is_current(name, &file)? {
                write_record(&file)?;
                return Ok(Ok(file));
            }
        } else if attempt >= ATTEMPTS {
            return Ok(Err(identify_holder(&file, &directory.join(name))?));
        }
        std::thread::sleep(PAUSE);
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Returns who holds a lock; `None` if nobody does.
pub(super) fn holder(directory: &Directory, name: &str) -> io::Result<Option<Holder>> {
    let Some(file) = directory.open_file(name, OFlags::RDWR)? else {
        return Ok(None);
    };
    if lock::try_shared(&file)? {
        return Ok(None);
    }
    identify_holder(&file, &directory.join(name)).map(Some)
}

fn write_record(file: &File) -> io::Result<()> {
    let mut record = serde_json::to_string(&ProcessId::own())?;
    while record.len() < RECORD_BYTES - 1 {
        record.push(' ');
    }
    record.push('\n');
    file.write_all_at(record.as_bytes(), 0)
}

fn identify_holder(file: &File, path: &Path) -> io::Result<Holder> {
    // Between taking the lock and writing the record, the record is that of an earlier holder.
    for _ in 0..ATTEMPTS {
        let record = read_bounded(&file.try_clone()?, RECORD_BYTES_MAX)?;
        if let Ok(owner) = serde_json::from_slice::<ProcessId>(&record)
            && owner.is_alive()
        {
            return Ok(Holder::Owner(owner));
        }
        std::io::Seek::rewind(&mut &*file)?;
        std::thread::sleep(PAUSE);
    }
    Ok(Holder::Inheritor(find_inheritor(path).unwrap_or(0)))
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
