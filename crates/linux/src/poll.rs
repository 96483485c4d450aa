//! Waiting for file descriptors with a deadline.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
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

/// Reads up to the end of file or to a maximum length. `None` if `until` passes first.
///
/// # Errors
/// Those of the reader or of poll(2).
pub fn read_until(
    from: &mut (impl Read + AsFd),
    until: Instant,
    len_max: usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while bytes.len() < len_max {
        if !wait_ready(&mut [PollFd::new(&*from, PollFlags::IN)], until)? {
            return Ok(None);
        }
        let room = buffer.len().min(len_max - bytes.len());
        match read_some(from, &mut buffer[..room])? {
            0 => break,
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[test]
    fn reading_stops_at_the_deadline() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let soon = || Instant::now() + Duration::from_millis(30);
        let late = || Instant::now() + Duration::from_secs(20);
        theirs.write_all(b"ready\nmore").unwrap();
        assert_eq!(
            read_until(&mut ours, late(), 6).unwrap().unwrap(),
            b"ready\n"
        );
        // The pipe has not been closed yet.
        assert_eq!(read_until(&mut ours, soon(), 100).unwrap(), None);
        theirs.write_all(b"end").unwrap();
        drop(theirs);
        assert_eq!(read_until(&mut ours, late(), 100).unwrap().unwrap(), b"end");
    }
}
