//! Maps the outcome of a program to its output or to why there is none.

use crate::unread::Unread;
use linux::child::isolated;
use linux::run::{Ended, IfStuck, KeepStderr, Limits, RunError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where systemd's programs are. `PATH` is not used, since root may have inherited it from somebody else.
pub(super) const DIRECTORIES: [&str; 3] = ["/usr/bin", "/bin", "/run/current-system/sw/bin"];

/// Returns the path of a program that is in one of these directories.
///
/// # Errors
/// [`Unread::NotFound`] if it is in none.
pub(super) fn find(name: &str, directories: &[&str]) -> Result<PathBuf, Unread> {
    directories
        .iter()
        .map(|directory| Path::new(directory).join(name))
        .find(|program| program.is_file())
        .ok_or(Unread::NotFound)
}

/// Returns a command with a clean environment, in the C locale and UTC.
pub(super) fn in_c_locale(program: &Path) -> Command {
    let mut command = isolated(program);
    command.env("LC_ALL", "C").env("TZ", "UTC");
    command
}

/// Runs a program that must succeed and returns its output.
///
/// # Errors
/// [`Unread::NotFound`] if there is no such program, [`Unread::Timeout`] and [`Unread::TooLarge`]
/// at the limits, [`Unread::Failed`] with the first line of its error message if it exits with a
/// status other than 0.
pub(super) fn run(
    command: &mut Command,
    deadline: Duration,
    max_bytes: usize,
) -> Result<Vec<u8>, Unread> {
    let ended = run_to_end(command, deadline, max_bytes)?;
    let status = ended.status;
    if status.success() {
        return Ok(ended.stdout);
    }
    let complaint = String::from_utf8_lossy(&ended.stderr);
    Err(Unread::Failed(
        match complaint.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{status}: {}", line.trim()),
            None => status.to_string(),
        },
    ))
}

/// Like [`run`], for programs whose exit status says more than whether there is output.
///
/// # Errors
/// Same as [`run`], except for the status.
pub(super) fn run_to_end(
    command: &mut Command,
    deadline: Duration,
    max_bytes: usize,
) -> Result<Ended, Unread> {
    let limits = Limits {
        deadline,
        stdout_bytes_max: Some(max_bytes),
        keep_stderr: KeepStderr::First,
        if_stuck: IfStuck::Abandon,
    };
    linux::run::run(command, &limits).map_err(|error| match error {
        RunError::Start(error) | RunError::Wait(error) => Unread::from(&error),
        RunError::Deadline(after) => Unread::no_answer_within(after),
        RunError::TooLarge(bytes_max) => Unread::TooLarge(bytes_max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn run_shell(script: &str, deadline: Duration, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        run(
            isolated("/bin/sh").args(["-c", script]),
            deadline,
            max_bytes,
        )
    }

    #[test]
    fn the_output_is_returned() {
        let answer = run_shell("echo out; echo err >&2", LONG, 100);
        assert_eq!(answer, Ok(b"out\n".to_vec()));
    }

    #[test]
    fn a_failure_contains_the_programs_message() {
        let script = "echo partial; echo 'no such unit' >&2; exit 3";
        let Err(Unread::Failed(why)) = run_shell(script, LONG, 100) else {
            panic!("status 3 passed for success");
        };
        assert!(why.contains('3') && why.contains("no such unit"), "{why}");
    }

    #[test]
    fn a_program_that_exceeds_its_limits_is_killed() {
        let short = Duration::from_millis(80);
        let answer = run_shell("exec sleep 30", short, 100);
        assert_eq!(answer, Err(Unread::Timeout(80)));
        let answer = run_shell("exec yes", LONG, 1 << 20);
        assert_eq!(answer, Err(Unread::TooLarge(1 << 20)));
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let answer = run(&mut isolated("/nonexistent/program"), LONG, 100);
        assert_eq!(answer, Err(Unread::NotFound));
    }
}
