//! A child process that gets all its input up front and answers line by line.

use crate::child::Child;
use crate::poll::{read_some, wait_ready};
use rustix::event::{PollFd, PollFlags};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Maximum length of a line.
const LINE_BYTES_MAX: usize = 64 << 10;

/// What a helper produced before the deadline.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its line ending.
    Text(Vec<u8>),
    /// It closed its output.
    Closed,
    /// Nothing arrived in time.
    TimedOut,
    /// A line longer than 64 KiB.
    TooLong,
}

/// A child process that answers line by line.
///
/// One that hangs in the kernel must not hold a terminal, pipe or mount point that others wait for:
/// create its command with [`crate::child::isolated`].
#[derive(Debug)]
pub struct Helper {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    input: Vec<u8>,
    written: usize,
    pending: Vec<u8>,
    ended: bool,
}

impl Helper {
    /// Starts the process.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command, input: Vec<u8>) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = Child::spawn(command)?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(io::Error::other("no pipe to the child process"));
        };
        // A child that does not read must not block our writes.
        let flags = rustix::fs::fcntl_getfl(&stdin)?;
        rustix::fs::fcntl_setfl(&stdin, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout,
            input,
            written: 0,
            pending: Vec::new(),
            ended: false,
        })
    }

    /// Returns the next line.
    pub fn next_line(&mut self, until: Instant) -> Line {
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.pending.drain(..=end).collect();
                line.pop();
                return Line::Text(line);
            }
            if self.ended {
                return Line::Closed;
            }
            if self.pending.len() > LINE_BYTES_MAX {
                return Line::TooLong;
            }
            let mut fds = vec![PollFd::from_borrowed_fd(self.stdout.as_fd(), PollFlags::IN)];
            if let Some(stdin) = &self.stdin {
                fds.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
            }
            match wait_ready(&mut fds, until) {
                Ok(true) => {}
                Ok(false) => return Line::TimedOut,
                Err(_) => return Line::Closed,
            }
            let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
            let (readable, writable) = (ready(0), ready(1));
            if writable {
                self.feed();
            }
            if readable {
                let mut buffer = [0; 4096];
                match read_some(&mut self.stdout, &mut buffer) {
                    Ok(0) | Err(_) => self.ended = true,
                    Ok(read) => self.pending.extend_from_slice(&buffer[..read]),
                }
            }
        }
    }

    /// Writes as much input as the pipe accepts; closes the pipe at the end.
    fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else {
            return;
        };
        match stdin.write(&self.input[self.written..]) {
            Ok(written) => self.written += written,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // It closed its input: its output shows how far it got.
            Err(_) => self.written = self.input.len(),
        }
        if self.written >= self.input.len() {
            self.stdin = None;
        }
    }

    /// Kills it, without waiting for a process that cannot be killed.
    pub fn abandon(mut self) {
        self.child.kill_or_abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::isolated;
    use std::time::Duration;

    fn start(script: &str, input: Vec<u8>) -> Helper {
        Helper::start(isolated("/bin/sh").args(["-c", script]), input).unwrap()
    }

    #[test]
    fn input_larger_than_a_pipe_reaches_a_slow_reader() {
        let mut helper = start("sleep 0.05; wc -c", vec![b'x'; 1 << 20]);
        let line = helper.next_line(Instant::now() + Duration::from_secs(20));
        let Line::Text(line) = line else {
            panic!("{line:?}");
        };
        assert_eq!(String::from_utf8(line).unwrap().trim(), "1048576");
        helper.abandon();
    }

    #[test]
    fn an_endless_line_is_rejected() {
        let mut helper = start("exec tr '\\000' x </dev/zero", Vec::new());
        let line = helper.next_line(Instant::now() + Duration::from_secs(20));
        assert_eq!(line, Line::TooLong);
        helper.abandon();
    }
}
