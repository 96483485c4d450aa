//! Locks: flock on files that are never removed, so that a name always stands for the same file.
//!
//! The file tells who took the lock. That is believed only while the lock is held, and only of a
//! process that still lives: an inherited lock outlives the one who took it.

use super::directory::{Directory, read_bounded};
use crate::process::ProcessId;
use linux::lock;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Longest record that is read.
const RECORD_BYTES_MAX: usize = 4096;

/// The record is written over the last one in one piece, so it always has the same length.
const RECORD_BYTES: usize = 96;

/// Somebody who only looks holds the lock for a moment: what is busy is looked at again.
const ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(20);

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The process that took it.
    Taker(ProcessId),
    /// It is dead, and this one inherited the lock (a child that is stuck in the kernel). 0 where
    /// nobody could be found.
    Heir(u32),
}

impl Holder {
    pub(super) fn pid(self) -> u32 {
        match self {
            Self::Taker(id) => id.pid,
            Self::Heir(pid) => pid,
        }
    }
}

/// Takes a lock.
pub(super) fn take(directory: &Directory, name: &str) -> io::Result<Result<File, Holder>> {
    for attempt in 1.. {
        let file = directory.create_file(name, OFlags::RDWR)?;
        if lock::try_exclusive(&file)? {
            // Else the directory was emptied in between: the lock is one on a file without a name.
            if directory.is_current(name, &file)? {
                sign(&file)?;
                return Ok(Ok(file));
            }
        } else if attempt >= ATTEMPTS {
            return Ok(Err(identify(&file, &directory.join(name))?));
        }
        std::thread::sleep(PAUSE);
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// Who holds a lock now; `None` where nobody does.
pub(super) fn holder(directory: &Directory, name: &str) -> io::Result<Option<Holder>> {
    let Some(file) = directory.open_file(name, OFlags::RDWR)? else {
        return Ok(None);
    };
    if lock::try_shared(&file)? {
        return Ok(None);
    }
    identify(&file, &directory.join(name)).map(Some)
}

fn sign(file: &File) -> io::Result<()> {
    let mut record = serde_json::to_string(&ProcessId::own())?;
    while record.len() < RECORD_BYTES - 1 {
        record.push(' ');
    }
    record.push('\n');
    file.write_all_at(record.as_bytes(), 0)
}

fn identify(file: &File, path: &Path) -> io::Result<Holder> {
    // Between taking and signing there is a moment in which the record is another's.
    for _ in 0..ATTEMPTS {
        let record = read_bounded(&file.try_clone()?, RECORD_BYTES_MAX)?;
        if let Ok(taker) = serde_json::from_slice::<ProcessId>(&record)
            && taker.is_alive()
        {
            return Ok(Holder::Taker(taker));
        }
        std::io::Seek::rewind(&mut &*file)?;
        std::thread::sleep(PAUSE);
    }
    Ok(Holder::Heir(find_heir(path).unwrap_or(0)))
}

/// A process that has the file open, as far as they can be looked at.
fn find_heir(path: &Path) -> Option<u32> {
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
