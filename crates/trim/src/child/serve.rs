//! The child process's side of the protocol.

use super::dispositions;
use super::protocol::{Answer, Hello, Lines, Request, parse_request, receive, send};
use crate::range::ByteRange;
use crate::target::{Target, TargetError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::set_name;
use std::io;
use std::time::Instant;

/// Runs the child: reads requests from the socket on stdin, answers them there, and returns at end
/// of input. The kernel kills it when its parent dies, even in the middle of a call.
///
/// # Errors
/// If stdin is not a socket (the command was typed by hand) or fails.
pub fn serve() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Started as /proc/self/exe, it would appear as `exe` in process lists.
    set_name(c"trimtab-fitrim")?;
    let is_deaf = dispositions::make_default()?;
    let stdin = io::stdin();
    let mut server = Server {
        socket: stdin.as_fd(),
        lines: Lines::default(),
        descriptors: Vec::new(),
    };
    let Some(line) = server.next_line().map_err(explain)? else {
        return Ok(());
    };
    let hello = match Hello::parse(&line) {
        Ok(hello) => hello,
        Err(error) => {
            return server.answer(&Answer::Refused {
                message: error.to_string(),
            });
        }
    };
    // If the parent died before the death signal was armed, this process has been reparented.
    if getppid().map(Pid::as_raw_pid).map(i32::unsigned_abs) != Some(hello.parent_pid) {
        return Ok(());
    }
    // Descriptors may arrive together with bytes sent before them, so count the messages.
    let mut announced = 0;
    while announced < hello.locks {
        let Some(line) = server.next_line()? else {
            return Ok(());
        };
        match parse_request(&line)? {
            Request::Locks { count } if count > 0 => announced += count,
            _ => break,
        }
    }
    if announced != hello.locks || server.descriptors.len() != hello.locks {
        let found = server.descriptors.len();
        return server.answer(&Answer::Refused {
            message: format!("{found} of {} locks arrived", hello.locks),
        });
    }
    server.answer(&Answer::Ready { is_deaf })?;
    while let Some(line) = server.next_line()? {
        let answer = match parse_request(&line)? {
            Request::Trim {
                id,
                start_bytes,
                len_bytes,
                minlen_bytes,
            } => {
                let range = ByteRange {
                    start_bytes,
                    len_bytes,
                };
                trim(&hello.target, id, range, minlen_bytes)
            }
            other => Answer::Refused {
                message: format!("{other:?} after the greeting"),
            },
        };
        server.answer(&answer)?;
    }
    Ok(())
}

struct Server<'s> {
    socket: BorrowedFd<'s>,
    lines: Lines,
    /// The locks, held for the lifetime of this process.
    descriptors: Vec<OwnedFd>,
}

impl Server<'_> {
    fn next_line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(line) = self.lines.next_line()? {
                return Ok(Some(line));
            }
            if receive(self.socket, &mut self.lines, &mut self.descriptors)? == 0 {
                return Ok(None);
            }
        }
    }

    fn answer(&self, answer: &Answer) -> io::Result<()> {
        send(self.socket, answer, &[])
    }
}

fn explain(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error() == Some(rustix::io::Errno::NOTSOCK.raw_os_error())
    {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            "this command is started by `trimtab trim` and is of no use by hand",
        );
    }
    error
}

/// Trims one range. The mount is open only during the call.
fn trim(target: &Target, id: u64, range: ByteRange, minlen_bytes: u64) -> Answer {
    let mount = match target.open() {
        Ok(mount) => mount,
        Err(TargetError::Changed {
            mount_point,
            expected,
            found,
        }) => {
            return Answer::Changed {
                id,
                mount_point,
                expected,
                found,
            };
        }
        Err(TargetError::Unreadable {
            mount_point,
            source,
        }) => {
            return Answer::Unreadable {
                id,
                mount_point,
                errno: source.raw_os_error(),
                message: source.to_string(),
            };
        }
    };
    let start = Instant::now();
    let result = crate::ioctl::fitrim(mount.as_fd(), range, minlen_bytes);
    let took_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    drop(mount);
    match result {
        Ok(reported_len_bytes) => Answer::Trimmed {
            id,
            reported_len_bytes,
            took_ns,
        },
        Err(error) => Answer::Kernel {
            id,
            // Every system call error has an errno.
            errno: error.raw_os_error().unwrap_or(0),
        },
    }
}
