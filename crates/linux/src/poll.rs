//! Waiting for file descriptors with a deadline.

use rustix::event::{PollFd, Timespec};
use std::io::{self, ErrorKind, Read};
use std::time::Instant;

/// Waits until one of the descriptors is ready. `false` if `until` has passed.
///
/// # Errors
/// Those of poll(2), except interruption by a signal.
pub fn wait_ready(fds: &mut [PollFd<'_>], until: Instant) -> io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match rustix::event::poll(fds, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads what is available, retrying after a signal. Returns 0 at the end of file.
///
/// # Errors
/// Those of the reader.
pub fn read_some(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
