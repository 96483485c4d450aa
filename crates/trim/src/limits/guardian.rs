//! The guardian: a process that only waits for the end of the pass, and then restores limits.
//!
//! It holds the read end of a pipe whose only write end belongs to the pass: end of file means that
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

/// Time limit for the guardian to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for the guardian to exit after its report.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum length of an answer; a limit takes about 300 bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Maximum length of a journal's name.
const NAME_BYTES_MAX: u64 = 255;

const READY: &[u8] = b"ready\n";

/// Signals sent to the process group, terminal or control group of a pass that should end; the
/// guardian survives them.
const SURVIVED: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM];

/// Handle to the guardian, on the pass's side.
#[derive(Debug)]
pub(super) struct Guardian {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
}

/// How a guardian finished.
#[derive(Debug)]
pub(super) enum Dismissed {
    /// Everything is restored or settled.
    Restored(Vec<(Lowered, Restored)>),
    /// It is blocked by a drive and keeps waiting.
    Waiting { pid: u32 },
    /// It died or failed.
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

    /// Continues it if it was stopped (SIGSTOP), since it would not notice the end of the pass.
    pub(super) fn keep_running(&self) {
        if self.process.is_stopped() {
            self.process.signal(Signal::CONT);
        }
    }

    /// Closes its input and waits for its report.
    pub(super) fn dismiss(mut self, timeout: Duration) -> Dismissed {
        self.stdin = None;
        self.keep_running();
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

    /// Reads up to end of file or `len_max`; `None` on timeout.
    fn read(&mut self, timeout: Duration, len_max: usize) -> io::Result<Option<Vec<u8>>> {
        linux::read_until(&mut self.stdout, Instant::now() + timeout, len_max)
    }

    fn wait(&mut self, timeout: Duration) {
        // If it is still running afterwards it is left alone.
        let _ = self.process.wait_until(Instant::now() + timeout);
    }
}

fn failed(command: &[OsString], source: io::Error) -> LimitError {
    LimitError::Io {
        path: command.first().map(PathBuf::from).unwrap_or_default(),
        source,
    }
}

/// Runs the guardian process: waits until its stdin ends (the pass ended or died), then restores
/// what the journal still names. Communicates over stdin and stdout with the pass that started it,
/// and survives the signals that end a pass.
///
/// # Errors
/// As [`restore_leftovers`].
pub fn guard(state_dir: &Path, sysfs: &Path) -> Result<(), LimitError> {
    let stdin_error = io_error(Path::new("stdin"));
    // Otherwise it would appear as `exe` in process lists.
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
    // The pass has released the journal, even if it is still running.
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

/// Returns whether `name` is a file in the journal's own directory.
fn is_journal_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\0']) && !name.starts_with('.')
}

/// Writes to stdout, ignoring errors: the reader may be gone.
fn answer(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}
