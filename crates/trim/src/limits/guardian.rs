//! The guardian: a process that does nothing but notice the end of the pass, and put limits back.
//!
//! It holds the reading end of a pipe whose only writing end is the pass's: end of input means that
//! the pass is over or dead, whatever killed it. The pass writes the journal's name into the pipe;
//! the guardian answers when it is ready, and at the end with what it restored.

use super::journal::{self, JournalFile, restore_leftovers};
use super::lowered::{LimitError, Lowered, Restored, io_error};
use linux::child::{Child, isolated};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long it may take to get ready.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it may take to exit after its report.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest answer; a limit takes about 300 bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Longest name of a journal.
const NAME_BYTES_MAX: u64 = 255;

const READY: &[u8] = b"ready\n";

/// Signals that come to the group, the terminal or the control group of a pass that is to end.
const SURVIVED: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM];

/// The pass's side.
#[derive(Debug)]
pub(super) struct Guardian {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
}

/// How a guardian ended its work.
#[derive(Debug)]
pub(super) enum Dismissed {
    /// All is settled.
    Restored(Vec<(Lowered, Restored)>),
    /// It waits for a drive, and goes on waiting.
    Waiting { pid: u32 },
    /// It died, or could not do it.
    Failed,
}

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    restored: Vec<(Lowered, Restored)>,
}

impl Guardian {
    pub(super) fn start(command: &[OsString], journal: &str) -> Result<Self, LimitError> {
        let [program, arguments @ ..] = command else {
            return Err(failed(command, io::ErrorKind::InvalidInput.into()));
        };
        let mut program = isolated(program);
        program
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Child::spawn(&mut program).map_err(|error| failed(command, error))?;
        let pipes = process.take_stdin().zip(process.take_stdout());
        let Some((mut stdin, stdout)) = pipes else {
            return Err(failed(command, io::ErrorKind::BrokenPipe.into()));
        };
        let written = writeln!(stdin, "{journal}");
        let mut guardian = Self {
            process,
            stdin: Some(stdin),
            stdout,
        };
        let ready = written.and_then(|()| guardian.read(START_TIMEOUT, READY.len()));
        match ready {
            Ok(Some(answer)) if answer == READY => Ok(guardian),
            other => {
                guardian.process.signal(Signal::KILL);
                guardian.wait(EXIT_TIMEOUT);
                Err(failed(
                    command,
                    match other {
                        Err(error) => error,
                        Ok(None) => io::Error::new(
                            io::ErrorKind::TimedOut,
                            "the guardian of the drives' limits did not get ready",
                        ),
                        Ok(Some(_)) => {
                            io::Error::other("the guardian of the drives' limits ended at once")
                        }
                    },
                ))
            }
        }
    }

    pub(super) fn has_died(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Ends its input and waits for its report.
    pub(super) fn dismiss(mut self, timeout: Duration) -> Dismissed {
        self.stdin = None;
        let dismissed = match self.read(timeout, ANSWER_BYTES_MAX) {
            Ok(Some(answer)) => match serde_json::from_slice::<Report>(&answer) {
                Ok(report) => Dismissed::Restored(report.restored),
                Err(_) => Dismissed::Failed,
            },
            Ok(None) => Dismissed::Waiting {
                pid: self.process.pid(),
            },
            Err(_) => Dismissed::Failed,
        };
        if !matches!(dismissed, Dismissed::Waiting { .. }) {
            self.wait(EXIT_TIMEOUT);
        }
        dismissed
    }

    /// Reads up to the end, or to a length; `None` where the time is over first.
    fn read(&mut self, timeout: Duration, len_max: usize) -> io::Result<Option<Vec<u8>>> {
        linux::read_until(&mut self.stdout, Instant::now() + timeout, len_max)
    }

    fn wait(&mut self, timeout: Duration) {
        // One that is still there afterwards is left to itself.
        let _ = self.process.wait_until(Instant::now() + timeout);
    }
}

fn failed(command: &[OsString], source: io::Error) -> LimitError {
    LimitError::Io {
        path: command.first().map(PathBuf::from).unwrap_or_default(),
        source,
    }
}

/// The body of the guardian process: waits until its stdin ends (the pass ended or died), then
/// restores what the journal still names. Speaks over stdin and stdout with the pass that started
/// it, and outlives the signals that end a pass.
///
/// # Errors
/// As [`restore_leftovers`].
pub fn guard(state_dir: &Path, sysfs: &Path) -> Result<(), LimitError> {
    let stdin_error = io_error(Path::new("stdin"));
    // For lists of processes; without it, it would be called `exe` there.
    rustix::thread::set_name(c"trimtab-guard").map_err(|error| stdin_error(error.into()))?;
    for signal in SURVIVED {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(&stdin_error)?;
    }
    let mut stdin = io::stdin().lock();
    let mut name = String::new();
    (&mut stdin)
        .take(NAME_BYTES_MAX)
        .read_line(&mut name)
        .map_err(&stdin_error)?;
    answer(READY);
    io::copy(&mut stdin, &mut io::sink()).map_err(&stdin_error)?;
    let mut restored = Vec::new();
    // The pass has let go of it, even where it still lives.
    let own = name.trim_end();
    if is_journal_name(own)
        && let Some(directory) = journal::open_directory(state_dir)?
        && let Some(journal) = JournalFile::claim(&directory, own)?
    {
        restored = journal.restore(&directory, sysfs)?;
    }
    if let Ok(mut report) = serde_json::to_vec(&Report { restored }) {
        report.push(b'\n');
        answer(&report);
    }
    restore_leftovers(state_dir, sysfs).map(|_| ())
}

/// Of a file in the journal's own directory.
fn is_journal_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\0']) && !name.starts_with('.')
}

/// Nobody may be listening any more.
fn answer(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}
