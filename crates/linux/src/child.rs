//! Child processes that can be killed: each leads its own process group, and every wait has a
//! deadline. A child stuck in the kernel (state D) cannot be killed by any signal; it is abandoned.

use crate::poll::wait_ready;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a killed child may take to exit before it is abandoned.
const REAP_TIMEOUT: Duration = Duration::from_millis(20);
/// Polling interval if the kernel cannot report the exit of a child (before 5.3).
const POLL_INTERVAL_MIN: Duration = Duration::from_micros(200);
const POLL_INTERVAL_MAX: Duration = Duration::from_millis(5);

/// Returns a command that inherits nothing: an empty environment (ours may contain passwords), `/`
/// as its working directory (so that it keeps no mount busy), and no input or output. It runs
/// without a shell, and a name with a slash is not looked up in `PATH`.
pub fn isolated(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Kills a child from another thread. A switch serves one child at a time.
#[derive(Debug, Clone, Default)]
pub struct KillSwitch(Arc<Mutex<Switch>>);

#[derive(Debug, Default)]
struct Switch {
    is_pulled: bool,
    /// The process group of a child that has not been reaped: its number cannot be reused until
    /// then.
    group: Option<Pid>,
}

impl KillSwitch {
    /// Kills the child and its group; no further child can be started under this switch.
    pub fn pull(&self) {
        let mut switch = self.lock();
        switch.is_pulled = true;
        switch.signal(Signal::KILL);
    }

    /// A panic in another thread cannot have broken an invariant.
    fn lock(&self) -> MutexGuard<'_, Switch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Switch {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails only if the whole group is already gone.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// A child process and its group. Dropping it does not kill it.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    switch: KillSwitch,
    /// Pidfd, readable once the child has exited; kernel 5.3 or later.
    pidfd: Option<OwnedFd>,
}

impl Child {
    /// Starts a program in its own process group.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Self::spawn_under(command, &KillSwitch::default())
    }

    /// Starts a program like [`Self::spawn`], under a kill switch.
    ///
    /// # Errors
    /// If it cannot be started, or the switch has already been pulled.
    pub fn spawn_under(command: &mut Command, switch: &KillSwitch) -> io::Result<Self> {
        // Holding the lock ensures that it is killed even if the switch is pulled right now.
        let mut locked = switch.lock();
        if locked.is_pulled {
            return Err(io::Error::other("no program is started any more"));
        }
        let process = command.process_group(0).spawn()?;
        let pid = Pid::from_child(&process);
        locked.group = Some(pid);
        Ok(Self {
            process,
            switch: switch.clone(),
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
        })
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Takes its standard input, if that is a pipe; works once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// Takes its standard output, if that is a pipe; works once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// Takes its standard error, if that is a pipe; works once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Returns its exit status; `None` while it is running.
    ///
    /// # Errors
    /// If it has been reaped by someone else.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        // Under the lock: once it is reaped, its process id can be reused.
        let mut switch = self.switch.lock();
        let status = self.process.try_wait()?;
        if status.is_some() {
            switch.group = None;
        }
        Ok(status)
    }

    /// Waits until it exits or the deadline passes; `None` if it is still running then.
    ///
    /// # Errors
    /// Same as [`Self::try_wait`].
    pub fn wait_until(&mut self, until: Instant) -> io::Result<Option<ExitStatus>> {
        let mut pause = POLL_INTERVAL_MIN;
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(Some(status));
            }
            let now = Instant::now();
            if now >= until {
                return Ok(None);
            }
            if let Some(pidfd) = &self.pidfd {
                wait_ready(&mut [PollFd::new(pidfd, PollFlags::IN)], until)?;
            } else {
                std::thread::sleep(pause.min(until - now));
                pause = (pause * 2).min(POLL_INTERVAL_MAX);
            }
        }
    }

    /// Waits until it exits, without a deadline.
    ///
    /// # Errors
    /// Same as [`Self::try_wait`].
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        // Without reaping it, which is done under the lock.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&self.process);
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            match waitid(WaitId::Pid(pid), options) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns whether it is stopped (SIGSTOP), and not inside a system call.
    pub fn is_stopped(&self) -> bool {
        // Without taking the report, which is true until it is continued.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(
            waitid(WaitId::Pid(Pid::from_child(&self.process)), options),
            Ok(Some(_))
        )
    }

    /// Sends a signal to its whole group. Does nothing once it has been reaped.
    pub fn signal(&self, signal: Signal) {
        self.switch.lock().signal(signal);
    }

    /// Kills its group and reaps it if it exits at once; otherwise it is abandoned.
    pub fn kill_or_abandon(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.wait_until(Instant::now() + REAP_TIMEOUT);
    }

    /// Returns a descriptor for poll(2) that is readable once it has exited. `None` if the kernel
    /// does not support it.
    pub(crate) fn pidfd(&self) -> Option<&OwnedFd> {
        self.pidfd.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn shell(script: &str) -> Command {
        let mut command = isolated("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn exit_is_awaited_with_and_without_a_pidfd() {
        for tells in [true, false] {
            let mut child = Child::spawn(&mut shell("sleep 0.1; exit 3")).unwrap();
            if !tells {
                child.pidfd = None;
            }
            let soon = Instant::now() + Duration::from_millis(10);
            assert_eq!(child.wait_until(soon).unwrap(), None);
            let status = child.wait_until(late()).unwrap().unwrap();
            assert_eq!(status.code(), Some(3));
            // The status is cached, and the process id is no longer signalled.
            assert_eq!(child.wait().unwrap().code(), Some(3));
            child.signal(Signal::KILL);
        }
    }

    #[test]
    fn a_stopped_child_is_told_from_a_running_one() {
        let mut child = Child::spawn(&mut shell("exec sleep 30")).unwrap();
        let becomes = |child: &Child, wanted: bool| {
            let until = late();
            while child.is_stopped() != wanted {
                assert!(Instant::now() < until, "stopped is not {wanted}");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        assert!(!child.is_stopped());
        child.signal(Signal::STOP);
        becomes(&child, true);
        // Asking does not use it up, and neither does a look for its exit.
        assert_eq!(child.try_wait().unwrap(), None);
        assert!(child.is_stopped());
        child.signal(Signal::CONT);
        becomes(&child, false);
        child.kill_or_abandon();
        assert!(!child.is_stopped());
    }

    #[test]
    fn descendants_are_killed_with_the_child() {
        let mut command = shell("sleep 30 & echo; wait");
        let mut child = Child::spawn(command.stdout(Stdio::piped())).unwrap();
        let mut stdout = child.take_stdout().unwrap();
        let mut line = [0];
        stdout.read_exact(&mut line).unwrap();
        child.kill_or_abandon();
        // The pipe is at its end: no process holds it any more.
        let begun = Instant::now();
        assert_eq!(stdout.read(&mut line).unwrap(), 0);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_kill_switch_works_from_another_thread_and_stays_pulled() {
        let switch = KillSwitch::default();
        let mut child = Child::spawn_under(&mut shell("exec sleep 30"), &switch).unwrap();
        let begun = Instant::now();
        let puller = std::thread::spawn({
            let switch = switch.clone();
            move || switch.pull()
        });
        assert!(!child.wait().unwrap().success());
        puller.join().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert!(Child::spawn_under(&mut shell("exec sleep 30"), &switch).is_err());
    }

    #[test]
    fn an_isolated_program_inherits_neither_environment_nor_directory() {
        // Cargo sets this for tests, so there is something that could leak.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let mut command = isolated("/usr/bin/env");
        let mut child = Child::spawn(command.stdout(Stdio::piped())).unwrap();
        let mut told = String::new();
        child
            .take_stdout()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert_eq!(told, "");
        assert!(child.wait().unwrap().success());

        let mut child = Child::spawn(isolated("/bin/pwd").stdout(Stdio::piped())).unwrap();
        let mut told = String::new();
        child
            .take_stdout()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert_eq!(told, "/\n");
        assert!(child.wait().unwrap().success());
    }
}
