//! flock(2): locks that belong to an open file, are inherited with its descriptor, and end with the
//! last one of these.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

/// Between attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes a lock that nobody else may have at the same time; `false` where somebody has it.
///
/// # Errors
/// As flock(2).
pub fn try_exclusive(file: &File) -> io::Result<bool> {
    attempt(file, FlockOperation::NonBlockingLockExclusive)
}

/// Takes a lock beside others that are shared; `false` where somebody has it alone.
///
/// # Errors
/// As flock(2).
pub fn try_shared(file: &File) -> io::Result<bool> {
    attempt(file, FlockOperation::NonBlockingLockShared)
}

/// As [`try_exclusive`], again and again for a while: for those who hold it for a moment.
///
/// # Errors
/// As flock(2).
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
    fn a_lock_is_the_open_files_and_ends_with_it() {
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
