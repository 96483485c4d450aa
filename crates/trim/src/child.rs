//! FITRIM in a child process of its own group with default signal dispositions: the kernel ends the
//! call only for a process that is about to die.
//!
//! The two speak over a pair of sockets, which is the child's stdin: JSON, one object a line. The
//! locks travel over it as well (`SCM_RIGHTS`), so that no other process that happens to be started
//! at the same moment inherits them, as it would if their close-on-exec flags were lifted for a
//! while. The child opens the mount for each range, and only for its length.

mod dispositions;
mod protocol;
mod serve;
mod signal_mask;

use crate::range::ByteRange;
use crate::stop::Stop;
use crate::target::{Target, TargetError};
use linux::child::isolated;
use protocol::{Answer, Lines, Request};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
pub use serve::serve;
pub use signal_mask::clear as unblock_signals;
use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// What one call said. `reported_len_bytes` is not what was discarded: XFS counts what it looked
/// at, ext4 what it had not trimmed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// `len` as FITRIM returned it. Never shown as bytes trimmed.
    pub reported_len_bytes: u64,
    /// How long the call took.
    pub took: Duration,
}

/// Why a range was not trimmed.
#[derive(Debug, thiserror::Error)]
pub enum TrimError {
    /// A stop was asked for; the call was ended.
    #[error("the call was ended")]
    Stopped,
    /// The child does not die: it waits for the drive. It keeps the locks until it is gone.
    #[error("process {pid} is still waiting for the drive")]
    Stuck {
        /// The child.
        pid: u32,
    },
    /// FITRIM failed.
    #[error("FITRIM: {0}")]
    Kernel(std::io::Error),
    /// Another filesystem is mounted there now.
    #[error(transparent)]
    Target(#[from] crate::target::TargetError),
    /// The child was killed by somebody else, or died.
    #[error("the process that trims ended: {0}")]
    Died(String),
    /// The child could not be started or spoken to.
    #[error("the process that trims: {0}")]
    Process(std::io::Error),
}

/// Hands ranges to the kernel.
pub trait Trimmer {
    /// Trims one range; blocks until the kernel answers or a stop is asked for.
    ///
    /// # Errors
    /// See [`TrimError`].
    fn trim(&mut self, range: ByteRange, minlen_bytes: u64) -> Result<Trimmed, TrimError>;
}

/// How long the child may take to say that it is ready. A host that is busy enough to need more
/// should not be trimmed now.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a stop is looked for while the kernel is at work.
const STOP_CHECK: Duration = Duration::from_millis(25);

/// How long the child may take to die of SIGTERM, then of SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a dropped child is waited for. One that takes longer is left to itself.
const DROP_TIMEOUT: Duration = Duration::from_millis(200);

/// Descriptors that one message carries; the kernel allows 253 (`SCM_MAX_FD`).
const LOCKS_PER_MESSAGE: usize = 64;

/// The child process: started at the first range, and anew after it died.
///
/// It is killed when the thread that started it ends (`PR_SET_PDEATHSIG` looks at the thread, not at
/// the process), so use it from a thread that lives as long as the pass.
#[derive(Debug)]
pub struct Child {
    helper: Vec<OsString>,
    target: Target,
    locks: Vec<OwnedFd>,
    stop: Stop,
    running: Option<Running>,
    requests: u64,
}

#[derive(Debug)]
struct Running {
    process: linux::child::Child,
    socket: UnixStream,
    lines: Lines,
    /// It is being ended: no more requests.
    is_ending: bool,
    /// SIGTERM does not end it.
    is_deaf: bool,
}

impl Child {
    /// Prepares a child: `helper` is the command that ends up in [`serve`]. The locks are inherited
    /// by it, so that a child that is stuck in the kernel keeps them.
    pub fn new(helper: Vec<OsString>, target: Target, locks: Vec<OwnedFd>, stop: Stop) -> Self {
        Self {
            helper,
            target,
            locks,
            stop,
            running: None,
            requests: 0,
        }
    }

    /// The child's process id, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.process.pid())
    }

    fn start(&self) -> Result<Running, TrimError> {
        let [program, arguments @ ..] = self.helper.as_slice() else {
            return Err(TrimError::Process(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no command to start it with",
            )));
        };
        let (socket, theirs) = UnixStream::pair().map_err(TrimError::Process)?;
        socket.set_nonblocking(true).map_err(TrimError::Process)?;
        // A stuck child outlives its parent: it must not keep a pipe of the caller's open.
        let mut command = isolated(program);
        command.args(arguments).stdin(OwnedFd::from(theirs));
        let process = linux::child::Child::spawn(&mut command).map_err(TrimError::Process)?;
        // Its end of the socket is its own now: that it ends is told by the end of ours.
        drop(command);
        let mut running = Running {
            process,
            socket,
            lines: Lines::default(),
            is_ending: false,
            is_deaf: false,
        };
        match self.introduce(&mut running) {
            Ok(()) => Ok(running),
            Err(error) => {
                running.abandon();
                Err(error)
            }
        }
    }

    /// Hands target and locks over and waits until the child is ready.
    fn introduce(&self, running: &mut Running) -> Result<(), TrimError> {
        let hello = Request::hello(&self.target, self.locks.len());
        running.send(&hello, &[])?;
        for locks in self.locks.chunks(LOCKS_PER_MESSAGE) {
            running.send(&Request::Locks { count: locks.len() }, locks)?;
        }
        match running.answer(&self.stop, Some(START_TIMEOUT))? {
            Answer::Ready { is_deaf } => {
                running.is_deaf = is_deaf;
                Ok(())
            }
            Answer::Refused { message } => Err(TrimError::Process(io::Error::other(message))),
            other => Err(unexpected(&other)),
        }
    }
}

impl Trimmer for Child {
    fn trim(&mut self, range: ByteRange, minlen_bytes: u64) -> Result<Trimmed, TrimError> {
        if let Some(running) = &mut self.running
            && running.is_ending
        {
            // It was stuck when it was last heard of.
            match running.process.try_wait() {
                Ok(Some(_)) => self.running = None,
                _ => {
                    return Err(TrimError::Stuck {
                        pid: running.process.pid(),
                    });
                }
            }
        }
        if self.stop.requested().is_some() {
            return Err(TrimError::Stopped);
        }
        if self.running.is_none() {
            self.running = Some(self.start()?);
        }
        let Some(running) = &mut self.running else {
            return Err(TrimError::Process(io::Error::other("not started")));
        };
        self.requests += 1;
        let id = self.requests;
        let request = Request::Trim {
            id,
            start_bytes: range.start_bytes,
            len_bytes: range.len_bytes,
            minlen_bytes,
        };
        let answer = running
            .send(&request, &[])
            .and_then(|()| running.answer(&self.stop, None));
        let result = match answer {
            Ok(answer) if answer.id() == Some(id) => understand(answer),
            Ok(other) => Err(unexpected(&other)),
            Err(error) => Err(error),
        };
        match &result {
            // A stuck one is still there: its end is looked for at the next call.
            Ok(_) | Err(TrimError::Kernel(_) | TrimError::Target(_) | TrimError::Stuck { .. }) => {}
            Err(_) => {
                if let Some(running) = self.running.take() {
                    running.abandon();
                }
            }
        }
        result
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abandon();
        }
    }
}

fn understand(answer: Answer) -> Result<Trimmed, TrimError> {
    match answer {
        Answer::Trimmed {
            reported_len_bytes,
            took_ns,
            ..
        } => Ok(Trimmed {
            reported_len_bytes,
            took: Duration::from_nanos(took_ns),
        }),
        Answer::Kernel { errno, .. } => Err(TrimError::Kernel(io::Error::from_raw_os_error(errno))),
        Answer::Changed {
            mount_point,
            expected,
            found,
            ..
        } => Err(TrimError::Target(TargetError::Changed {
            mount_point,
            expected,
            found,
        })),
        Answer::Unreadable {
            mount_point,
            errno,
            message,
            ..
        } => Err(TrimError::Target(TargetError::Unreadable {
            mount_point,
            source: match errno {
                Some(errno) => io::Error::from_raw_os_error(errno),
                None => io::Error::other(message),
            },
        })),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(answer: &Answer) -> TrimError {
    TrimError::Process(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("it gave an answer to another question: {answer:?}"),
    ))
}

impl Running {
    fn send(&mut self, request: &Request, locks: &[OwnedFd]) -> Result<(), TrimError> {
        match protocol::send(self.socket.as_fd(), request, locks) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(self.ended()),
            Err(error) => Err(TrimError::Process(error)),
        }
    }

    /// Waits for one answer, for a stop, or for the child's end.
    fn answer(&mut self, stop: &Stop, timeout: Option<Duration>) -> Result<Answer, TrimError> {
        let start = Instant::now();
        loop {
            if let Some(line) = self.lines.next_line().map_err(TrimError::Process)? {
                return protocol::parse_answer(&line).map_err(TrimError::Process);
            }
            if stop.requested().is_some() {
                return Err(self.end());
            }
            if timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
                return Err(TrimError::Process(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("not ready after {} s", start.elapsed().as_secs()),
                )));
            }
            self.wait_readable(STOP_CHECK);
            match self.lines.read_from(&self.socket) {
                Ok(0) => return Err(self.ended()),
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(self.ended());
                }
                Err(error) => return Err(TrimError::Process(error)),
            }
        }
    }

    fn wait_readable(&self, timeout: Duration) {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        // What fails, fails at the reading again.
        let _ = linux::wait_ready(&mut fds, Instant::now() + timeout);
    }

    /// Ends it because a stop was asked for.
    fn end(&mut self) -> TrimError {
        self.is_ending = true;
        if !self.is_deaf {
            self.process.signal(Signal::TERM);
            if self.wait(TERM_TIMEOUT).is_some() {
                return TrimError::Stopped;
            }
        }
        self.process.signal(Signal::KILL);
        match self.wait(KILL_TIMEOUT) {
            Some(_) => TrimError::Stopped,
            None => TrimError::Stuck {
                pid: self.process.pid(),
            },
        }
    }

    /// It has closed its end of the socket: it is dying, or has died, or is out of order.
    fn ended(&mut self) -> TrimError {
        if let Some(status) = self.wait(TERM_TIMEOUT) {
            return TrimError::Died(describe(status));
        }
        self.is_ending = true;
        self.process.signal(Signal::KILL);
        match self.wait(KILL_TIMEOUT) {
            Some(_) => TrimError::Died("it closed its connection and was killed".to_owned()),
            None => TrimError::Stuck {
                pid: self.process.pid(),
            },
        }
    }

    /// Leaves without blocking. A child that waits for the drive stays behind: it has been sent
    /// SIGKILL, holds its own copies of the locks, and is gone as soon as the drive answers.
    fn abandon(mut self) {
        self.process.signal(Signal::KILL);
        let _ = self.wait(DROP_TIMEOUT);
    }

    fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        self.process
            .wait_until(Instant::now() + timeout)
            .ok()
            .flatten()
    }
}

fn describe(status: ExitStatus) -> String {
    if let Some(signal) = status.signal() {
        return match signal_hook::low_level::signal_name(signal) {
            Some(name) => format!("killed by {name}"),
            None => format!("killed by signal {signal}"),
        };
    }
    match status.code() {
        Some(code) => format!("it exited with status {code}"),
        None => status.to_string(),
    }
}
