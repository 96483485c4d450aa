//! flock(2): locks belong to an open file description, are inherited with its descriptors, and end
//! when the last of these is closed.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
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
}
