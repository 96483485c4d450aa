//! A program that is run again and again. Its exit code is the answer.

use super::Ask;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much of a program's complaints is kept.
const STDERR_BYTES_MAX: usize = 4096;
/// The longest line of it that is shown, in characters.
const LINE_CHARS_MAX: usize = 200;
/// How long to wait for the end of the complaints of a program that is gone: what it started may
/// hold the pipe open.
const COMPLAINT: Duration = Duration::from_millis(200);

/// A program, run directly in a process group of its own.
pub struct CommandProbe {
    words: Vec<String>,
    /// Variables that it does not get.
    secrets: &'static [&'static str],
    time_limit: Duration,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The probe is being dropped.
    stop: bool,
    running: Option<Running>,
}

/// A program that was started and not collected yet: its number is its own until then.
struct Running {
    group: Pid,
    until: Instant,
    timed_out: bool,
}

impl Running {
    fn kill(&self) {
        // Fails only where the whole group is gone already.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

impl Shared {
    /// A thread that panicked took no invariant with it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills what runs for too long, until the probe is dropped.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.stop {
            let now = Instant::now();
            let wait = match &mut state.running {
                Some(running) if !running.timed_out => {
                    if running.until <= now {
                        running.timed_out = true;
                        running.kill();
                        continue;
                    }
                    running.until - now
                }
                // One that was killed is collected by whoever waits for it.
                _ => Duration::from_hours(1),
            };
            state = self
                .changed
                .wait_timeout(state, wait)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// Why a program cannot be used as a probe.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Its words are none.
    #[error("{reason}")]
    Unreadable {
        /// Why.
        reason: &'static str,
    },
    /// No thread can be started to watch it.
    #[error("no thread: {0}")]
    Thread(io::Error),
    /// It failed at once.
    #[error("{label}: {reason}")]
    Failed {
        /// The program.
        label: String,
        /// How it ended, with its last words.
        reason: String,
    },
}

impl CommandProbe {
    /// Splits the words as a shell would, and runs the program once. It does not get the variables
    /// named by `secrets`.
    ///
    /// # Errors
    /// Where the words are none, or the program fails.
    pub fn open(
        text: &str,
        time_limit: Duration,
        secrets: &'static [&'static str],
    ) -> Result<Self, CommandError> {
        let words = shlex::split(text).ok_or(CommandError::Unreadable {
            reason: "the command's quotes have no end, or it ends with \\",
        })?;
        if words.first().is_none_or(String::is_empty) {
            return Err(CommandError::Unreadable {
                reason: "the command is empty",
            });
        }
        let probe = Self {
            words,
            secrets,
            time_limit,
            shared: Arc::default(),
        };
        let shared = Arc::clone(&probe.shared);
        std::thread::Builder::new()
            .name("store-probe-watch".to_owned())
            .spawn(move || shared.watch())
            .map_err(CommandError::Thread)?;
        match probe.run(Stdio::piped()) {
            Ok(()) => Ok(probe),
            // `probe` is dropped then, and with it the watching thread ends.
            Err(reason) => Err(CommandError::Failed {
                label: probe.label(),
                reason,
            }),
        }
    }

    /// The program's name: its arguments may hold secrets.
    pub fn label(&self) -> String {
        let program = &self.words[0];
        let name = Path::new(program).file_name().map_or_else(
            || program.clone(),
            |name| name.to_string_lossy().into_owned(),
        );
        let dots = if self.words.len() > 1 { " ..." } else { "" };
        format!("{}{dots}", one_line(name.as_bytes()))
    }

    fn command(&self, stderr: Stdio) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .process_group(0);
        // They are this process's; a program that needs some is given its own.
        for name in self.secrets {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, stderr: Stdio) -> Result<(), String> {
        let mut command = self.command(stderr);
        // Started under the lock: it is killed even if the probe is dropped this moment.
        let mut state = self.shared.lock();
        if state.stop {
            return Err("the probe has ended".to_owned());
        }
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot be started: {error}"))?;
        let group = Pid::from_child(&child);
        state.running = Some(Running {
            group,
            until: Instant::now() + self.time_limit,
            timed_out: false,
        });
        drop(state);
        self.shared.changed.notify_all();
        let complaints = child.stderr.take().map(Complaints::collect);
        // Without collecting it: until that is done under the lock, nobody else can get its number.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(
            waitid(WaitId::Pid(group), options),
            Err(rustix::io::Errno::INTR)
        ) {}
        let (status, timed_out) = self.collect(&mut child);
        if timed_out {
            return Err(format!("killed: not done within {:?}", self.time_limit));
        }
        let ended = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => how_it_ended(status),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        match complaints.and_then(Complaints::last_line) {
            Some(line) => Err(format!("{ended}: {line}")),
            None => Err(ended),
        }
    }

    /// Collects a program that has ended, and says whether it was killed for its time.
    fn collect(&self, child: &mut Child) -> (std::io::Result<ExitStatus>, bool) {
        let mut state = self.shared.lock();
        let timed_out = state.running.take().is_some_and(|running| {
            // What it started and left behind in its group.
            if running.timed_out {
                running.kill();
            }
            running.timed_out
        });
        (child.wait(), timed_out)
    }
}

impl Ask for CommandProbe {
    fn ask(&self) -> Result<(), String> {
        self.run(Stdio::null())
    }

    fn abort(&self) {
        let mut state = self.shared.lock();
        state.stop = true;
        if let Some(running) = &state.running {
            running.kill();
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for CommandProbe {
    fn drop(&mut self) {
        self.abort();
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The end of what a program writes to its standard error.
struct Complaints(Arc<(Mutex<Tail>, Condvar)>);

#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    ended: bool,
}

impl Complaints {
    /// Reads beside the caller, so that a program with many complaints is not held up.
    fn collect(mut pipe: ChildStderr) -> Self {
        let shared: Arc<(Mutex<Tail>, Condvar)> = Arc::default();
        let writer = Arc::clone(&shared);
        let reader = move || {
            let (tail, ended) = &*writer;
            let mut chunk = [0; 1024];
            loop {
                let read = pipe.read(&mut chunk).unwrap_or(0);
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                if read == 0 {
                    tail.ended = true;
                    ended.notify_all();
                    return;
                }
                tail.bytes.extend(&chunk[..read]);
                let surplus = tail.bytes.len().saturating_sub(STDERR_BYTES_MAX);
                tail.bytes.drain(..surplus);
            }
        };
        let spawned = std::thread::Builder::new()
            .name("store-probe-stderr".to_owned())
            .spawn(reader);
        if spawned.is_err() {
            // Only the words of a failure are lost.
            shared
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .ended = true;
        }
        Self(shared)
    }

    fn last_line(self) -> Option<String> {
        let (tail, ended) = &*self.0;
        let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (tail, _) = ended
            .wait_timeout_while(tail, COMPLAINT, |tail| !tail.ended)
            .unwrap_or_else(PoisonError::into_inner);
        tail.bytes
            .split(|byte| *byte == b'\n')
            .rfind(|line| !line.trim_ascii().is_empty())
            .map(one_line)
    }
}

/// A foreign text for people: one line, cut, without what terminals obey.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line: String = text.trim().chars().take(LINE_CHARS_MAX).collect();
    units::escape(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_no_secrets_of_the_environment() {
        let secrets = &["TRIMTAB_PASSWORD", "TRIMTAB_API_KEY"];
        let probe = CommandProbe::open("true", Duration::from_secs(30), secrets).unwrap();
        let command = probe.command(Stdio::null());
        for name in secrets {
            let removed = command
                .get_envs()
                .any(|(key, value)| key == *name && value.is_none());
            assert!(removed, "{name}");
        }
    }
}
