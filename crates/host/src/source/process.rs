//! Child processes that cannot hold the audit up: every wait has a deadline, every answer a size.

use super::Unread;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of a program's complaint is kept.
const STDERR_BYTES_MAX: usize = 4096;
/// How long a killed process may take to vanish before it is left alone. One that hangs in the
/// kernel never does.
const REAP: Duration = Duration::from_millis(20);
/// Longer than any line that the statfs helper writes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Waits until one of the descriptors is ready. `false` when `until` has passed.
fn wait_ready(fds: &mut [PollFd<'_>], until: Instant) -> Result<bool, rustix::io::Errno> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(fds, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Kills a child and collects it if it goes at once; one that does not is abandoned.
fn kill(child: &mut Child) {
    // Fails only for a child that was collected before.
    let _ = child.kill();
    let until = Instant::now() + REAP;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Runs a program without input and returns what it wrote to its standard output.
///
/// # Errors
/// [`Unread::NotFound`] where there is no such program, [`Unread::Timeout`] and
/// [`Unread::TooLarge`] at the limits, [`Unread::Failed`] with the first line of its complaint where
/// it ends with another status than 0.
pub(super) fn run(
    command: &mut Command,
    deadline: Duration,
    max_bytes: usize,
) -> Result<Vec<u8>, Unread> {
    let ended = run_to_end(command, deadline, max_bytes)?;
    let status = ended.status;
    if status.success() {
        return Ok(ended.answer);
    }
    let complaint = String::from_utf8_lossy(&ended.complaint);
    Err(Unread::Failed(
        match complaint.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{status}: {}", line.trim()),
            None => status.to_string(),
        },
    ))
}

/// How a program ended that was let run to its end.
pub(super) struct Ended {
    /// Its status, whatever that is.
    pub(super) status: ExitStatus,
    /// Its standard output.
    pub(super) answer: Vec<u8>,
    /// The beginning of its standard error, where it ended with another status than 0.
    pub(super) complaint: Vec<u8>,
}

/// As [`run`], for programs whose status says more than whether there is an answer.
///
/// # Errors
/// As [`run`], but for the status.
pub(super) fn run_to_end(
    command: &mut Command,
    deadline: Duration,
    max_bytes: usize,
) -> Result<Ended, Unread> {
    let until = Instant::now() + deadline;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| super::unread(&error))?;
    let outcome = collect(&mut child, until, deadline, max_bytes);
    if outcome.is_err() {
        kill(&mut child);
    }
    outcome
}

fn collect(
    child: &mut Child,
    until: Instant,
    deadline: Duration,
    max_bytes: usize,
) -> Result<Ended, Unread> {
    let timeout = || Unread::Timeout(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
    let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Unread::Failed("no pipe to the child process".to_owned()));
    };
    let mut answer = Vec::new();
    let mut complaint = Vec::new();
    let mut complaint_open = true;
    let mut buffer = vec![0; 32 << 10];
    loop {
        let mut fds = vec![PollFd::new(&stdout, PollFlags::IN)];
        if complaint_open {
            fds.push(PollFd::new(&stderr, PollFlags::IN));
        }
        if !wait_ready(&mut fds, until).map_err(|error| super::unread(&error.into()))? {
            return Err(timeout());
        }
        let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        let (answer_ready, complaint_ready) = (ready(0), ready(1));
        if complaint_ready {
            let read = read_some(&mut stderr, &mut buffer)?;
            complaint_open = read > 0;
            let room = STDERR_BYTES_MAX - complaint.len();
            complaint.extend_from_slice(&buffer[..read.min(room)]);
        }
        if answer_ready {
            let read = read_some(&mut stdout, &mut buffer)?;
            if read == 0 {
                break;
            }
            if answer.len() + read > max_bytes {
                return Err(Unread::TooLarge(max_bytes));
            }
            answer.extend_from_slice(&buffer[..read]);
        }
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() >= until => return Err(timeout()),
            Ok(None) => std::thread::sleep(Duration::from_micros(200)),
            Err(error) => return Err(super::unread(&error)),
        }
    };
    if status.success() {
        return Ok(Ended {
            status,
            answer,
            complaint,
        });
    }
    // What it wrote last, after the wait above.
    while complaint.len() < STDERR_BYTES_MAX {
        let mut fds = [PollFd::new(&stderr, PollFlags::IN)];
        if !matches!(wait_ready(&mut fds, Instant::now()), Ok(true)) {
            break;
        }
        let read = read_some(&mut stderr, &mut buffer)?;
        if read == 0 {
            break;
        }
        let room = STDERR_BYTES_MAX - complaint.len();
        complaint.extend_from_slice(&buffer[..read.min(room)]);
    }
    Ok(Ended {
        status,
        answer,
        complaint,
    })
}

fn read_some(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Unread> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(super::unread(&error)),
            Ok(read) => return Ok(read),
        }
    }
}

/// What a helper did until the deadline.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Text(Vec<u8>),
    /// It closed its output.
    Ended,
    /// Nothing came.
    Late,
    /// A line without end.
    TooLong,
}

/// A child process that is given its input at once and answers line by line.
///
/// It inherits nothing of ours: one that hangs in the kernel for good must not hold a terminal, a
/// pipe or a mount point that others wait for.
pub(super) struct Helper {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    input: Vec<u8>,
    written: usize,
    pending: Vec<u8>,
    ended: bool,
}

impl Helper {
    /// Starts it.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(super) fn start(mut command: Command, input: Vec<u8>) -> std::io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipe to the child process"));
        };
        // A child that does not read must not block the writing.
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

    /// The next line.
    pub(super) fn next_line(&mut self, until: Instant) -> Line {
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.pending.drain(..=end).collect();
                line.pop();
                return Line::Text(line);
            }
            if self.ended {
                return Line::Ended;
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
                Ok(false) => return Line::Late,
                Err(_) => return Line::Ended,
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

    /// Writes as much input as the pipe takes; closes it at the end.
    fn feed(&mut self) {
        let Some(stdin) = &mut self.stdin else {
            return;
        };
        match stdin.write(&self.input[self.written..]) {
            Ok(written) => self.written += written,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // It has closed its input: its output says how far it got.
            Err(_) => self.written = self.input.len(),
        }
        if self.written >= self.input.len() {
            self.stdin = None;
        }
    }

    /// Ends it, without waiting for one that cannot end.
    pub(super) fn abandon(mut self) {
        kill(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_output_comes_back() {
        let answer = run(
            &mut shell("echo out; echo err >&2"),
            Duration::from_secs(5),
            100,
        );
        assert_eq!(answer, Ok(b"out\n".to_vec()));
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let script = "echo partial; echo 'no such unit' >&2; exit 3";
        let Err(Unread::Failed(why)) = run(&mut shell(script), Duration::from_secs(5), 100) else {
            panic!("status 3 passed for success");
        };
        assert!(why.contains('3') && why.contains("no such unit"), "{why}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_at_the_deadline() {
        let begun = Instant::now();
        // exec, so that no grandchild keeps the pipe open after the kill.
        let answer = run(&mut shell("exec sleep 30"), Duration::from_millis(80), 100);
        assert_eq!(answer, Err(Unread::Timeout(80)));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_closes_its_output_and_stays_is_killed_at_the_deadline() {
        let script = "exec >&- 2>&-; exec sleep 30";
        let answer = run(&mut shell(script), Duration::from_millis(80), 100);
        assert_eq!(answer, Err(Unread::Timeout(80)));
    }

    #[test]
    fn an_endless_answer_is_cut() {
        let answer = run(&mut shell("exec yes"), Duration::from_secs(20), 1 << 20);
        assert_eq!(answer, Err(Unread::TooLarge(1 << 20)));
    }

    #[test]
    fn a_flood_of_complaints_does_not_block_the_program() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo 'a complaint of some length, over and over again' >&2; i=$((i+1)); done; echo done";
        let answer = run(&mut shell(script), Duration::from_secs(20), 100);
        assert_eq!(answer, Ok(b"done\n".to_vec()));
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let answer = run(
            &mut Command::new("/nonexistent/program"),
            Duration::from_secs(1),
            100,
        );
        assert_eq!(answer, Err(Unread::NotFound));
    }

    #[test]
    fn input_larger_than_a_pipe_reaches_a_slow_reader() {
        let input = vec![b'x'; 1 << 20];
        let mut helper = Helper::start(shell("sleep 0.05; wc -c"), input).unwrap();
        let line = helper.next_line(Instant::now() + Duration::from_secs(20));
        let Line::Text(line) = line else {
            panic!("{line:?}");
        };
        assert_eq!(String::from_utf8(line).unwrap().trim(), "1048576");
        helper.abandon();
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut helper = Helper::start(shell("exec tr '\\000' x </dev/zero"), Vec::new()).unwrap();
        let line = helper.next_line(Instant::now() + Duration::from_secs(20));
        assert_eq!(line, Line::TooLong);
        helper.abandon();
    }
}
