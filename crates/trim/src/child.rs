//! FITRIM in a child process with its own process group and default signal dispositions: the kernel
//! interrupts the call only for a process that is about to die.
//!
//! Parent and child communicate over a socket pair that serves as the child's stdin, using one JSON
//! object per line. Lock descriptors are passed over it as well (`SCM_RIGHTS`). Lifting their
//! close-on-exec flags instead would leak them into any other process started at the same moment.
//! The child opens the mount for each range and closes it right after.

mod dispositions;
mod protocol;
mod serve;
mod signal_mask;

use crate::step::ByteRange;
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

/// Result of one FITRIM call. `reported_len_bytes` is not the amount discarded: XFS counts what it
/// examined, ext4 what it had not trimmed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// `len` as returned by FITRIM. Never shown as bytes trimmed.
    pub reported_len_bytes: u64,
    /// Duration of the call.
    pub took: Duration,
}

/// Why a range was not trimmed.
#[derive(Debug, thiserror::Error)]
pub enum TrimError {
    /// A stop was requested and the call was interrupted.
    #[error("the call was ended")]
    Stopped,
    /// The child does not die because it is waiting for the drive. It keeps the locks until it
    /// exits.
    #[error("process {pid} is still waiting for the drive")]
    Stuck {
        /// Process ID of the child.
        pid: u32,
    },
    /// FITRIM failed.
    #[error("FITRIM: {0}")]
    Kernel(std::io::Error),
    /// A different filesystem is mounted there now.
    #[error(transparent)]
    Target(#[from] crate::target::TargetError),
    /// The child died or was killed by another process.
    #[error("the process that trims ended: {0}")]
    Died(String),
    /// The child could not be started, or communication with it failed.
    #[error("the process that trims: {0}")]
    Process(std::io::Error),
}

/// Trims ranges.
pub trait Trimmer {
    /// Trims one range; blocks until the kernel returns or a stop is requested.
    ///
    /// # Errors
    /// See [`TrimError`].
    fn trim(&mut self, range: ByteRange, minlen_bytes: u64) -> Result<Trimmed, TrimError>;
}

/// Time limit for the child to report that it is ready. A host too busy to meet it should not be
/// trimmed now.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval at which stop requests are checked while the kernel is working.
const STOP_CHECK: Duration = Duration::from_millis(25);

/// How long the child may be stopped (SIGSTOP) before it is ended: nothing would ever continue it. Counted in
/// looks at it, since this process may have been stopped as well.
const STOPPED_CHECKS_MAX: u32 = 400;

/// Time limits for the child to die after SIGTERM, then after SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Time to wait for a child on drop. A child that takes longer is left behind.
const DROP_TIMEOUT: Duration = Duration::from_millis(200);

/// Descriptors sent per message; the kernel allows 253 (`SCM_MAX_FD`).
const LOCKS_PER_MESSAGE: usize = 64;

/// The child process: started for the first range, and restarted after it died.
///
/// It is killed when the thread that started it ends (`PR_SET_PDEATHSIG` watches the thread, not
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
    /// The child is being terminated: send no more requests.
    is_ending: bool,
    /// SIGTERM does not terminate it.
    ignores_sigterm: bool,
}

impl Child {
    /// Creates a child without starting it. `helper` is the command that ends up in [`serve`]. The
    /// child inherits the locks, so that one stuck in the kernel keeps holding them.
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

    /// Returns the child's process ID while it is running.
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
        // A stuck child outlives its parent, so it must not hold a pipe of the caller open.
        let mut command = isolated(program);
        command.args(arguments).stdin(OwnedFd::from(theirs));
        let process = linux::child::Child::spawn(&mut command).map_err(TrimError::Process)?;
        // Close our copy of the child's end, so that the child's exit shows up as end of file on
        // ours.
        drop(command);
        let mut running = Running {
            process,
            socket,
            lines: Lines::default(),
            is_ending: false,
            ignores_sigterm: false,
        };
        match self.introduce(&mut running) {
            Ok(()) => Ok(running),
            Err(error) => {
                running.abandon();
                Err(error)
            }
        }
    }

    /// Sends target and locks, then waits until the child is ready.
    fn introduce(&self, running: &mut Running) -> Result<(), TrimError> {
        let hello = Request::hello(&self.target, self.locks.len());
        running.send(&hello, &[])?;
        for locks in self.locks.chunks(LOCKS_PER_MESSAGE) {
            running.send(&Request::Locks { count: locks.len() }, locks)?;
        }
        match running.answer(&self.stop, Some(START_TIMEOUT))? {
            Answer::Ready { is_deaf } => {
                running.ignores_sigterm = is_deaf;
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
            // It was stuck at the previous call.
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
            Ok(answer) if answer.id() == Some(id) => trim_result(answer),
            Ok(other) => Err(unexpected(&other)),
            Err(error) => Err(error),
        };
        match &result {
            // A stuck child is still running; the next call checks whether it has exited.
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

fn trim_result(answer: Answer) -> Result<Trimmed, TrimError> {
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

    /// Waits for an answer, a stop request or the child's exit.
    fn answer(&mut self, stop: &Stop, timeout: Option<Duration>) -> Result<Answer, TrimError> {
        let start = Instant::now();
        let mut stopped_checks = 0;
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
            stopped_checks = if self.process.is_stopped() {
                stopped_checks + 1
            } else {
                0
            };
            if stopped_checks > STOPPED_CHECKS_MAX {
                return Err(self.kill(TrimError::Died(format!(
                    "it was stopped (SIGSTOP) for {} and not continued, so it was killed",
                    units::duration(STOP_CHECK * STOPPED_CHECKS_MAX)
                ))));
            }
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
        // An error here will show up again when reading.
        let _ = linux::wait_ready(&mut fds, Instant::now() + timeout);
    }

    /// Terminates the child because a stop was requested.
    fn end(&mut self) -> TrimError {
        self.is_ending = true;
        if !self.ignores_sigterm {
            self.process.signal(Signal::TERM);
            if self.wait(TERM_TIMEOUT).is_some() {
                return TrimError::Stopped;
            }
        }
        self.kill(TrimError::Stopped)
    }

    /// Kills the child. Returns this error if it dies.
    fn kill(&mut self, killed: TrimError) -> TrimError {
        self.is_ending = true;
        self.process.signal(Signal::KILL);
        match self.wait(KILL_TIMEOUT) {
            Some(_) => killed,
            None => TrimError::Stuck {
                pid: self.process.pid(),
            },
        }
    }

    /// Handles a closed socket: the child is dying, has died, or is broken.
    fn ended(&mut self) -> TrimError {
        if let Some(status) = self.wait(TERM_TIMEOUT) {
            return TrimError::Died(describe(status));
        }
        let why = "it closed its connection and was killed";
        self.kill(TrimError::Died(why.to_owned()))
    }

    /// Gives up on the child without blocking. If it is waiting for the drive it stays behind: it
    /// has been sent SIGKILL, holds its own copies of the locks, and exits as soon as the drive
    /// answers.
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
