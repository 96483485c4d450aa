//! flock(2): locks belong to an open file description, are inherited with its descriptors, and end
//! when the last of these is closed.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::time::{Duration, Instant};

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Tries to take an exclusive lock; `false` if another holder has one.
///
/// # Errors
/// Those of flock(2).
pub fn try_exclusive(file: &File) -> io::Result<bool> {
    attempt(file, FlockOperation::NonBlockingLockExclusive)
}

/// Tries to take a shared lock; `false` if another holder has an exclusive one.
///
/// # Errors
/// Those of flock(2).
pub fn try_shared(file: &File) -> io::Result<bool> {
    attempt(file, FlockOperation::NonBlockingLockShared)
}

/// Retries [`try_exclusive`] until `patience` is over, for locks that are only held briefly.
///
/// # Errors
/// Those of flock(2).
pub fn exclusive_within(file: &File, patience: Duration) -> io::Result<bool> {
    let until = Instant::now() + patience;
    loop {
        if try_exclusive(file)? {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

/// A file with an exclusive lock, which ends when this is dropped: also while a child that another thread forked, and
/// that has not executed its program yet, shares the description. Of a process that is killed it ends with that child's copy.
#[derive(Debug)]
pub struct Exclusive(File);

impl Exclusive {
    /// [`try_exclusive`]; `None` if another holder has a lock.
    ///
    /// # Errors
    /// Those of flock(2).
    pub fn attempt(file: File) -> io::Result<Option<Self>> {
        Ok(try_exclusive(&file)?.then_some(Self(file)))
    }

    /// [`exclusive_within`]; `None` if another holder has a lock until then.
    ///
    /// # Errors
    /// Those of flock(2).
    pub fn within(file: File, patience: Duration) -> io::Result<Option<Self>> {
        Ok(exclusive_within(&file, patience)?.then_some(Self(file)))
    }
}

impl Deref for Exclusive {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        // It fails for no lock that was taken; closing the file would end it then.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn attempt(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_belongs_to_the_open_file_and_ends_with_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let (first, second) = (open(), open());
        assert!(try_shared(&first).unwrap() && try_shared(&second).unwrap());
        assert!(!try_exclusive(&first).unwrap());
        drop(second);
        assert!(try_exclusive(&first).unwrap());
        let third = open();
        assert!(!try_shared(&third).unwrap());
        let copy = first.try_clone().unwrap();
        drop(first);
        assert!(!exclusive_within(&third, Duration::from_millis(30)).unwrap());
        let holder = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            drop(copy);
        });
        assert!(exclusive_within(&third, Duration::from_secs(20)).unwrap());
        holder.join().unwrap();
    }
    #[test]
    fn an_exclusive_lock_ends_when_it_is_dropped_whoever_else_has_the_descriptor() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let held = Exclusive::attempt(open()).unwrap().unwrap();
        // As a child has it between fork(2) and execve(2).
        let _inherited = held.try_clone().unwrap();
        assert!(Exclusive::attempt(open()).unwrap().is_none());
        drop(held);
        let again = Exclusive::within(open(), Duration::ZERO).unwrap();
        assert!(again.is_some());
    }
}
