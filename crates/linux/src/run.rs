//! Runs a program to completion within a deadline and captures a limited amount of output.

use crate::child::{Child, KillSwitch};
use crate::poll::{read_some, wait_ready};
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of a program's standard error is kept.
const STDERR_BYTES_MAX: usize = 4096;
/// A full pipe: what a program wrote before it exited, but no flood from processes it left behind.
const STDERR_LAST_BYTES_MAX: usize = 64 << 10;
/// Polling interval if the exit of a program cannot be waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Which part of a program's standard error is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepStderr {
    /// Nothing.
    Nothing,
    /// The first 4096 bytes.
    First,
    /// The last 4096 bytes.
    Last,
}

/// What to do with a program that was killed but does not exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfStuck {
    /// Abandon it, since it is stuck in the kernel.
    Abandon,
    /// Wait for it, so that there is never a second instance.
    Wait,
}

/// Limits for a program.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long it may run.
    pub deadline: Duration,
    /// Maximum length of its standard output; `None` to discard it.
    pub stdout_bytes_max: Option<usize>,
    /// Which part of its standard error is kept.
    pub keep_stderr: KeepStderr,
    /// What to do at the deadline if even SIGKILL does not help.
    pub if_stuck: IfStuck,
}

/// Outcome of a program that exited.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status, success or not.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, at most 4096 bytes.
    pub stderr: Vec<u8>,
}

/// Why a program returned no output.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error("cannot be started: {0}")]
    Start(#[source] io::Error),
    /// It could not be read from or waited for.
    #[error("cannot be waited for: {0}")]
    Wait(#[from] io::Error),
    /// It was killed at its deadline.
    #[error("killed: not done within {0:?}")]
    Deadline(Duration),
    /// It was killed because its output exceeded this many bytes.
    #[error("killed: it wrote more than {0} bytes")]
    TooLarge(usize),
}

/// Runs a program without input. Standard output and error are set here; everything else is as
/// configured in `command`, so create that with [`crate::child::isolated`] unless the program needs
/// more.
///
/// # Errors
/// See [`RunError`]. A program that exits with a failure status is not an error.
pub fn run(command: &mut Command, limits: &Limits) -> Result<Ended, RunError> {
    run_under(command, limits, &KillSwitch::default())
}

/// Like [`run`], with a switch by which another thread can kill the program.
///
/// # Errors
/// Same as [`run`].
pub fn run_under(
    command: &mut Command,
    limits: &Limits,
    switch: &KillSwitch,
) -> Result<Ended, RunError> {
    let until = Instant::now() + limits.deadline;
    let pipe = |wanted: bool| {
        if wanted {
            Stdio::piped()
        } else {
            Stdio::null()
        }
    };
    command
        .stdin(Stdio::null())
        .stdout(pipe(limits.stdout_bytes_max.is_some()))
        .stderr(pipe(limits.keep_stderr != KeepStderr::Nothing));
    let mut child = Child::spawn_under(command, switch).map_err(RunError::Start)?;
    let outcome = follow(&mut child, limits, until);
    if outcome.is_err() {
        match limits.if_stuck {
            IfStuck::Abandon => child.kill_or_abandon(),
            IfStuck::Wait => {
                child.signal(Signal::KILL);
                child.wait()?;
            }
        }
    }
    outcome
}

fn follow(child: &mut Child, limits: &Limits, until: Instant) -> Result<Ended, RunError> {
    let stdout_bytes_max = limits.stdout_bytes_max.unwrap_or_default();
    let mut stdout = child.take_stdout();
    let mut stderr = child.take_stderr();
    let mut output = Vec::new();
    let mut kept_stderr = StderrBuffer::new(limits.keep_stderr);
    let mut status = None;
    let mut buffer = vec![0; 32 << 10];
    while status.is_none() || stdout.is_some() {
        let mut fds = Vec::with_capacity(3);
        let mut add = |fd: Option<_>| {
            fd.map(|fd| {
                fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
                fds.len() - 1
            })
        };
        let stdout_at = add(stdout.as_ref().map(AsFd::as_fd));
        let stderr_at = add(stderr.as_ref().map(AsFd::as_fd));
        // Not earlier: processes it left behind may hold its output open for a long time.
        let is_silent = stdout.is_none() && status.is_none();
        let pidfd = if is_silent { child.pidfd() } else { None };
        let pidfd_at = add(pidfd.map(AsFd::as_fd));
        // No descriptor wakes us when it exits.
        let is_blind = is_silent && pidfd_at.is_none();
        let now = Instant::now();
        if now >= until {
            return Err(RunError::Deadline(limits.deadline));
        }
        let wake = if is_blind {
            until.min(now + POLL_INTERVAL)
        } else {
            until
        };
        wait_ready(&mut fds, wake)?;
        let ready = |at: Option<usize>| {
            at.and_then(|at| fds.get(at))
                .is_some_and(|fd| !fd.revents().is_empty())
        };
        let (stdout_ready, stderr_ready) = (ready(stdout_at), ready(stderr_at));
        drop(fds);
        if stderr_ready && let Some(pipe) = &mut stderr {
            match read_some(pipe, &mut buffer)? {
                0 => stderr = None,
                read => kept_stderr.add(&buffer[..read]),
            }
        }
        if stdout_ready && let Some(pipe) = &mut stdout {
            match read_some(pipe, &mut buffer)? {
                0 => stdout = None,
                read if output.len() + read > stdout_bytes_max => {
                    return Err(RunError::TooLarge(stdout_bytes_max));
                }
                read => output.extend_from_slice(&buffer[..read]),
            }
        }
        if stdout.is_none() && status.is_none() {
            status = child.try_wait()?;
        }
    }
    let Some(status) = status else {
        return Err(RunError::Deadline(limits.deadline));
    };
    if let Some(pipe) = &mut stderr {
        kept_stderr.add_last(pipe, &mut buffer)?;
    }
    Ok(Ended {
        status,
        stdout: output,
        stderr: kept_stderr.bytes,
    })
}

/// The part of standard error that is kept.
struct StderrBuffer {
    which: KeepStderr,
    bytes: Vec<u8>,
}

impl StderrBuffer {
    fn new(which: KeepStderr) -> Self {
        Self {
            which,
            bytes: Vec::new(),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = match self.which {
            KeepStderr::Nothing => 0,
            KeepStderr::First => STDERR_BYTES_MAX - self.bytes.len(),
            KeepStderr::Last => bytes.len(),
        };
        self.bytes
            .extend_from_slice(&bytes[..room.min(bytes.len())]);
        let surplus = self.bytes.len().saturating_sub(STDERR_BYTES_MAX);
        self.bytes.drain(..surplus);
    }

    /// Reads what it wrote last, after it exited, without waiting.
    fn add_last(&mut self, pipe: &mut (impl Read + AsFd), buffer: &mut [u8]) -> io::Result<()> {
        let mut total = 0;
        while total < STDERR_LAST_BYTES_MAX
            && wait_ready(&mut [PollFd::new(&*pipe, PollFlags::IN)], Instant::now())?
        {
            match read_some(pipe, buffer)? {
                0 => break,
                read => {
                    self.add(&buffer[..read]);
                    total += read;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::isolated;

    const LONG: Duration = Duration::from_secs(20);

    fn limits(deadline: Duration, stdout_bytes_max: usize) -> Limits {
        Limits {
            deadline,
            stdout_bytes_max: Some(stdout_bytes_max),
            keep_stderr: KeepStderr::First,
            if_stuck: IfStuck::Abandon,
        }
    }

    fn run_shell(script: &str, limits: &Limits) -> Result<Ended, RunError> {
        run(isolated("/bin/sh").args(["-c", script]), limits)
    }

    #[test]
    fn status_stdout_and_stderr_are_returned() {
        let script = "echo out; echo 'no such unit' >&2; exit 3";
        let ended = run_shell(script, &limits(LONG, 100)).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(ended.stdout, b"out\n");
        assert_eq!(ended.stderr, b"no such unit\n");
    }

    #[test]
    fn a_program_that_keeps_running_is_killed_at_the_deadline() {
        let begun = Instant::now();
        let short = Duration::from_millis(80);
        // With a grandchild that keeps the pipe open; and a program that closes its output and
        // keeps running.
        for script in ["sleep 30; true", "exec >&- 2>&-; exec sleep 30"] {
            for keep_stderr in [KeepStderr::First, KeepStderr::Nothing] {
                for stdout_bytes_max in [Some(100), None] {
                    let limits = Limits {
                        stdout_bytes_max,
                        keep_stderr,
                        ..limits(short, 0)
                    };
                    let outcome = run_shell(script, &limits);
                    assert!(
                        matches!(outcome, Err(RunError::Deadline(after)) if after == short),
                        "{outcome:?}"
                    );
                }
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn endless_output_is_an_error() {
        let outcome = run_shell("exec yes", &limits(LONG, 1 << 20));
        assert!(
            matches!(outcome, Err(RunError::TooLarge(len)) if len == 1 << 20),
            "{outcome:?}"
        );
    }

    #[test]
    fn a_flood_on_stderr_does_not_block_the_program() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo \"complaint number $i of many, over and over again\" >&2; i=$((i+1)); done; echo done";
        let first = run_shell(script, &limits(LONG, 100)).unwrap();
        assert_eq!(first.stdout, b"done\n");
        assert_eq!(first.stderr.len(), STDERR_BYTES_MAX);
        assert!(first.stderr.starts_with(b"complaint number 0 "));
        let last = Limits {
            keep_stderr: KeepStderr::Last,
            ..limits(LONG, 100)
        };
        let last = run_shell(script, &last).unwrap();
        assert_eq!(last.stderr.len(), STDERR_BYTES_MAX);
        let text = String::from_utf8(last.stderr).unwrap();
        assert!(text.ends_with("complaint number 2999 of many, over and over again\n"));
    }

    #[test]
    fn a_process_left_behind_is_not_awaited_if_stdout_is_discarded() {
        let begun = Instant::now();
        let limits = Limits {
            stdout_bytes_max: None,
            keep_stderr: KeepStderr::Last,
            ..limits(LONG, 0)
        };
        let ended = run_shell("sleep 30 & echo why >&2; exit 1", &limits).unwrap();
        assert_eq!(ended.stderr, b"why\n");
        assert!(begun.elapsed() < LONG);
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let outcome = run(&mut isolated("/nonexistent/program"), &limits(LONG, 100));
        let Err(RunError::Start(error)) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_kill_switch_ends_a_run() {
        let switch = KillSwitch::default();
        let begun = Instant::now();
        let puller = std::thread::spawn({
            let switch = switch.clone();
            move || {
                std::thread::sleep(Duration::from_millis(50));
                switch.pull();
            }
        });
        let mut command = isolated("/bin/sh");
        command.args(["-c", "sleep 30; true"]);
        let limits = Limits {
            if_stuck: IfStuck::Wait,
            ..limits(LONG, 100)
        };
        let ended = run_under(&mut command, &limits, &switch);
        puller.join().unwrap();
        // The switch may have been pulled before the program was started.
        assert!(!ended.is_ok_and(|ended| ended.status.success()));
        assert!(begun.elapsed() < LONG);
    }
}
