//! The running host, read by a child process under a deadline.
//!
//! [`Live`] never touches a filesystem that depends on a server. That cannot cover everything that may hang: a
//! local disk that no longer answers, or the command line of a process that waits for one. A process that waits
//! in the kernel cannot be killed, not even to report it. So the waiting is left to a child.

use super::{End, Live, Source, Stat};
use crate::command::Command;
use crate::parse::statfs;
use crate::unread::Unread;
use linux::child::{Child, isolated};
use linux::{read_some, wait_ready};
use rustix::event::{PollFd, PollFlags};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// Timeout of one read. Two of them still leave a monitoring plugin time to report; their usual limit is a
/// minute.
const READ_DEADLINE: Duration = Duration::from_secs(5);
/// Number of reads that may hang before nothing more is read.
const STALLS_MAX: usize = 2;
/// How long a filesystem may take to tell its size, and all of them together.
const STATFS_DEADLINE: Duration = Duration::from_millis(250);
const STATFS_TOTAL: Duration = Duration::from_millis(600);
/// Maximum length of a request: a path of at most `PATH_MAX`, escaped.
const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// What the child is asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request<'a> {
    Read {
        path: Cow<'a, str>,
        max_bytes: usize,
    },
    List {
        path: Cow<'a, str>,
    },
    Link {
        path: Cow<'a, str>,
    },
    Stat {
        path: Cow<'a, str>,
    },
    Statfs {
        mount_point: Cow<'a, str>,
    },
    DmTable,
}

/// One line of its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// That many bytes follow the line.
    Bytes(usize),
    Names(Vec<String>),
    Link(String),
    Stat(Stat),
    Statfs(statfs::Answer),
    Unread(Unread),
}

/// The running host. A read that hangs fails after a timeout; after two of them nothing more is read.
#[derive(Debug)]
pub struct Guarded {
    helper: Vec<OsString>,
    live: Live,
    deadline: Duration,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    child: Option<Reading>,
    stalls: usize,
}

/// A running child.
#[derive(Debug)]
struct Reading {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Bytes received and not used yet.
    pending: Vec<u8>,
}

/// Why there is no answer.
enum NoAnswer {
    TimedOut,
    Ended(io::Error),
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> Self {
        Self::Ended(error)
    }
}

impl Guarded {
    /// Creates the source. `helper` is a program, with its arguments, that runs [`serve`]; `live` runs the
    /// commands, each of which has a timeout of its own.
    pub fn new(helper: Vec<OsString>, live: Live) -> Self {
        Self {
            helper,
            live,
            deadline: READ_DEADLINE,
            state: RefCell::default(),
        }
    }

    fn ask(&self, request: &Request<'_>) -> Result<(Answer, Vec<u8>), Unread> {
        if self.state.borrow().stalls >= STALLS_MAX {
            return Err(Unread::Failed(format!(
                "not read, because {STALLS_MAX} reads before it hung"
            )));
        }
        let failed = |error: io::Error| Unread::Failed(format!("the reading process: {error}"));
        let reading = self.reading().map_err(failed)?;
        match self.ask_child(reading, request, Instant::now() + self.deadline) {
            Ok((Answer::Unread(unread), _)) => Err(unread),
            Ok(answer) => Ok(answer),
            Err(no_answer) => {
                self.state.borrow_mut().stalls += 1;
                Err(match no_answer {
                    NoAnswer::TimedOut => Unread::no_answer_within(self.deadline),
                    NoAnswer::Ended(error) => failed(error),
                })
            }
        }
    }

    /// Returns the child that waits for a request, or starts one.
    fn reading(&self) -> io::Result<Reading> {
        match self.state.borrow_mut().child.take() {
            Some(reading) => Ok(reading),
            None => Reading::start(&self.helper),
        }
    }

    /// Asks a child, which is given up if it does not answer.
    fn ask_child(
        &self,
        mut reading: Reading,
        request: &Request<'_>,
        until: Instant,
    ) -> Result<(Answer, Vec<u8>), NoAnswer> {
        let answer = reading.ask(request, until);
        if answer.is_ok() {
            self.state.borrow_mut().child = Some(reading);
        } else {
            reading.child.kill_or_abandon();
        }
        answer
    }

    /// Returns one JSON line ([`statfs::Answer`]) for each mount point, in order. One that hangs counts as
    /// no read: the next child asks the others.
    fn statfs(&self, mount_points: &[String]) -> Vec<u8> {
        let end = Instant::now() + STATFS_TOTAL;
        let mut lines = Vec::new();
        for mount_point in mount_points {
            let answer = statfs::Answer {
                mount_point: mount_point.clone(),
                ..self.statfs_of(mount_point, end)
            };
            // Strings and numbers only, so this cannot fail.
            lines.extend(serde_json::to_vec(&answer).unwrap_or_default());
            lines.push(b'\n');
        }
        lines
    }

    fn statfs_of(&self, mount_point: &str, end: Instant) -> statfs::Answer {
        let timed_out = |waited| statfs::Answer {
            timeout_ms: Some(milliseconds(waited)),
            ..statfs::Answer::default()
        };
        let failed = |error: String| statfs::Answer {
            error: Some(error),
            ..statfs::Answer::default()
        };
        let now = Instant::now();
        if now >= end {
            return timed_out(STATFS_TOTAL);
        }
        let reading = match self.reading() {
            Ok(reading) => reading,
            Err(error) => return failed(format!("the reading process: {error}")),
        };
        let request = Request::Statfs {
            mount_point: mount_point.into(),
        };
        let until = end.min(now + STATFS_DEADLINE);
        match self.ask_child(reading, &request, until) {
            Ok((Answer::Statfs(answer), _)) => answer,
            Ok(_) => failed("the reading process gave another answer".to_owned()),
            Err(NoAnswer::TimedOut) if until < end => timed_out(STATFS_DEADLINE),
            Err(NoAnswer::TimedOut) => timed_out(STATFS_TOTAL),
            Err(NoAnswer::Ended(error)) => failed(format!("the reading process: {error}")),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Reading {
    fn start(helper: &[OsString]) -> io::Result<Self> {
        let Some((program, arguments)) = helper.split_first() else {
            return Err(io::Error::other("no program was named"));
        };
        let mut command = isolated(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = Child::spawn(&mut command)?;
        match (child.take_stdin(), child.take_stdout()) {
            (Some(stdin), Some(stdout)) => Ok(Self {
                child,
                stdin,
                stdout,
                pending: Vec::new(),
            }),
            _ => Err(io::Error::other("no pipe to it")),
        }
    }

    fn ask(
        &mut self,
        request: &Request<'_>,
        until: Instant,
    ) -> Result<(Answer, Vec<u8>), NoAnswer> {
        let mut line = serde_json::to_vec(request).map_err(io::Error::other)?;
        line.push(b'\n');
        // It is waiting for a request, so a line that fits the pipe is taken at once.
        self.stdin.write_all(&line)?;
        let line = loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let rest = self.pending.split_off(end + 1);
                break std::mem::replace(&mut self.pending, rest);
            }
            self.receive(until)?;
        };
        let answer: Answer = serde_json::from_slice(&line).map_err(io::Error::other)?;
        let Answer::Bytes(len) = answer else {
            return Ok((answer, Vec::new()));
        };
        while self.pending.len() < len {
            self.receive(until)?;
        }
        let rest = self.pending.split_off(len);
        Ok((answer, std::mem::replace(&mut self.pending, rest)))
    }

    fn receive(&mut self, until: Instant) -> Result<(), NoAnswer> {
        if !wait_ready(&mut [PollFd::new(&self.stdout, PollFlags::IN)], until)? {
            return Err(NoAnswer::TimedOut);
        }
        let mut buffer = [0; 16 << 10];
        match read_some(&mut self.stdout, &mut buffer)? {
            0 => Err(io::Error::other("it ended").into()),
            len => {
                self.pending.extend_from_slice(&buffer[..len]);
                Ok(())
            }
        }
    }
}

/// An answer of another kind than was asked for.
fn other_answer() -> Unread {
    Unread::Failed("the reading process gave another answer".to_owned())
}

impl Source for Guarded {
    fn is_whole(&self) -> bool {
        self.live.is_whole()
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        match self.ask(&Request::Read {
            path: path.into(),
            max_bytes,
        })? {
            (Answer::Bytes(_), bytes) => Ok(bytes),
            _ => Err(other_answer()),
        }
    }

    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        // A log of root's, of up to 256 MiB: not in memory twice.
        self.live.read_end(path, max_bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        match self.ask(&Request::List { path: path.into() })? {
            (Answer::Names(names), _) => Ok(names),
            _ => Err(other_answer()),
        }
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        match self.ask(&Request::Link { path: path.into() })? {
            (Answer::Link(target), _) => Ok(target),
            _ => Err(other_answer()),
        }
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        match self.ask(&Request::Stat { path: path.into() })? {
            (Answer::Stat(stat), _) => Ok(stat),
            _ => Err(other_answer()),
        }
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        match command {
            Command::DmTable => match self.ask(&Request::DmTable)? {
                (Answer::Bytes(_), bytes) => Ok(bytes),
                _ => Err(other_answer()),
            },
            Command::Statfs { mount_points } => Ok(self.statfs(mount_points)),
            // Each runs in a process of its own, with a timeout.
            Command::SystemctlShow { .. } | Command::DriveLog { .. } | Command::Journal { .. } => {
                self.live.command(command)
            }
        }
    }
}

/// Answers requests from `input` until it ends; the child's side of [`Guarded`].
///
/// # Errors
/// When a request is not understood, or reading or writing fails.
pub fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let live = Live::default();
    let mut input = io::BufReader::new(input);
    let mut request = Vec::new();
    loop {
        request.clear();
        (&mut input)
            .take(REQUEST_BYTES_MAX)
            .read_until(b'\n', &mut request)?;
        if request.is_empty() {
            return Ok(());
        }
        let (answer, bytes) = answer(&live, &serde_json::from_slice(&request)?);
        let mut head = serde_json::to_vec(&answer)?;
        head.push(b'\n');
        output.write_all(&head)?;
        output.write_all(&bytes)?;
        output.flush()?;
    }
}

fn answer(live: &Live, request: &Request<'_>) -> (Answer, Vec<u8>) {
    let bytes = |bytes: Vec<u8>| (Answer::Bytes(bytes.len()), bytes);
    let outcome = match request {
        Request::Read { path, max_bytes } => live.read(path, *max_bytes).map(bytes),
        Request::DmTable => live.command(&Command::DmTable).map(bytes),
        Request::List { path } => live
            .list(path)
            .map(|names| (Answer::Names(names), Vec::new())),
        Request::Link { path } => live
            .link(path)
            .map(|target| (Answer::Link(target), Vec::new())),
        Request::Stat { path } => live.stat(path).map(|stat| (Answer::Stat(stat), Vec::new())),
        Request::Statfs { mount_point } => {
            Ok((Answer::Statfs(super::statfs::ask(mount_point)), Vec::new()))
        }
    };
    outcome.unwrap_or_else(|unread| (Answer::Unread(unread), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source whose child is a shell script.
    fn with_script(script: &str, deadline: Duration) -> Guarded {
        let helper = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        Guarded {
            deadline,
            ..Guarded::new(helper, Live::default())
        }
    }

    /// Asks the child's side directly.
    fn served(request: &Request<'_>) -> (Answer, Vec<u8>) {
        let mut line = serde_json::to_vec(request).unwrap();
        line.push(b'\n');
        let mut out = Vec::new();
        serve(line.as_slice(), &mut out).unwrap();
        let end = out.iter().position(|&byte| byte == b'\n').unwrap();
        let answer = serde_json::from_slice(&out[..end]).unwrap();
        (answer, out.split_off(end + 1))
    }

    #[test]
    fn the_child_answers_as_the_live_source_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file \"1\"\n");
        std::fs::write(&path, b"\xff\nbytes").unwrap();
        let path = path.to_str().unwrap().trim_start_matches('/');
        let read = |max_bytes| {
            served(&Request::Read {
                path: path.into(),
                max_bytes,
            })
        };
        let (answer, bytes) = read(9);
        assert!(matches!(answer, Answer::Bytes(7)), "{answer:?}");
        assert_eq!(bytes, b"\xff\nbytes");
        let (answer, _) = read(2);
        assert!(
            matches!(answer, Answer::Unread(Unread::TooLarge(2))),
            "{answer:?}"
        );
        let (answer, _) = served(&Request::Stat { path: path.into() });
        assert!(
            matches!(&answer, Answer::Stat(stat) if stat.size_bytes == 7),
            "{answer:?}"
        );
        let (answer, _) = served(&Request::Link { path: path.into() });
        assert!(
            matches!(answer, Answer::Unread(Unread::NotFound)),
            "{answer:?}"
        );
        let parent = path.rsplit_once('/').unwrap().0;
        let (answer, _) = served(&Request::List {
            path: parent.into(),
        });
        assert!(
            matches!(&answer, Answer::Names(names) if names == &["file \"1\"\n"]),
            "{answer:?}"
        );
    }

    #[test]
    fn answers_are_received_in_pieces() {
        let script = r#"read -r request; printf '{"byt'; sleep 0.02
            printf 'es":6}\nab'; sleep 0.02; printf 'cdef{"link'
            read -r request; printf '":"target"}\n'"#;
        let source = with_script(script, Duration::from_secs(20));
        assert_eq!(source.read("a", 9).unwrap(), b"abcdef");
        assert_eq!(source.link("a").unwrap(), "target");
        // It has ended.
        assert!(matches!(source.link("a"), Err(Unread::Failed(_))));
    }

    #[test]
    fn a_read_that_hangs_is_given_up_and_the_next_one_made() {
        let script = r#"read -r request; case "$request" in
            *hung*) exec sleep 100;; *) printf '{"link":"target"}\n'; exec sleep 100;; esac"#;
        let source = with_script(script, Duration::from_millis(300));
        assert_eq!(source.link("hung"), Err(Unread::Timeout(300)));
        assert_eq!(source.link("other"), Ok("target".to_owned()));
        assert_eq!(source.link("hung"), Err(Unread::Timeout(300)));
        let began = Instant::now();
        for _ in 0..100 {
            let refused = source.link("other");
            assert!(
                matches!(&refused, Err(Unread::Failed(why)) if why.contains("hung")),
                "{refused:?}"
            );
        }
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    fn asked(source: &Guarded, mount_points: &[&str]) -> Vec<statfs::Answer> {
        let mount_points: Vec<String> = mount_points.iter().map(|&m| m.to_owned()).collect();
        let command = Command::Statfs {
            mount_points: mount_points.clone(),
        };
        let lines = String::from_utf8(source.command(&command).unwrap()).unwrap();
        let answers: Vec<statfs::Answer> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let names: Vec<_> = answers.iter().map(|a| a.mount_point.clone()).collect();
        assert_eq!(names, mount_points, "one answer each, in their order");
        answers
    }

    #[test]
    fn a_hung_filesystem_does_not_affect_the_others() {
        let script = r#"while read -r request; do case "$request" in
            *hung*) exec sleep 100;; *bad*) exit 1;; esac
            printf '{"statfs":{"mount_point":"","usage":{"block_bytes":4096,"size_bytes":8,"free_bytes":4,"available_bytes":2}}}\n'
            done"#;
        let source = with_script(script, Duration::from_secs(20));
        let answers = asked(&source, &["/", "/a b", "/bad", "/hung", "/data"]);
        for index in [0, 1, 4] {
            assert!(answers[index].usage.is_some(), "{answers:?}");
        }
        assert!(answers[2].error.is_some(), "{answers:?}");
        assert_eq!((answers[3].timeout_ms, answers[3].usage), (Some(250), None));
        // Nothing of it counts as a read that hung.
        assert_eq!(source.state.borrow().stalls, 0);
    }

    #[test]
    fn many_hung_filesystems_are_limited_by_the_total_timeout() {
        let source = with_script("exec sleep 100", Duration::from_secs(20));
        let begun = Instant::now();
        let answers = asked(&source, &["/1", "/2", "/3", "/4", "/5"]);
        assert!(begun.elapsed() < Duration::from_secs(20));
        let waited: Vec<_> = answers.iter().map(|a| a.timeout_ms).collect();
        // 250 + 250 + 100 of the 600 ms: the third is cut short (on a busy machine the second).
        assert_eq!(waited[0], Some(250));
        assert_eq!(waited[2..], [Some(600), Some(600), Some(600)]);
    }

    #[test]
    fn a_child_that_fails_is_an_error_for_all_filesystems() {
        let no_program = Guarded::new(Vec::new(), Live::default());
        let garbage = with_script("while read -r r; do echo nonsense; done", READ_DEADLINE);
        for source in [no_program, with_script("exit 0", READ_DEADLINE), garbage] {
            for answer in asked(&source, &["/", "/data"]) {
                assert!(answer.error.is_some() && answer.usage.is_none());
            }
        }
    }
}
