//! systemd's manager, told what changed.

use linux::child::isolated;
use linux::run::{IfStuck, KeepStderr, Limits, run};
use std::path::Path;
use std::time::Duration;

/// Limits of `systemctl`: a manager that is busy takes its time.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(90),
    stdout_bytes_max: Some(64 << 10),
    keep_stderr: KeepStderr::Last,
    if_stuck: IfStuck::Abandon,
};

/// Whether systemd manages this host (`sd_booted(3)`).
pub fn is_running() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Runs `systemctl` without waiting for jobs that need an answer from a terminal.
///
/// # Errors
/// What it says, or why it could not run.
pub fn systemctl(arguments: &[&str]) -> Result<(), String> {
    let mut command = isolated("systemctl");
    command.arg("--no-ask-password").args(arguments);
    let said = |why: String| format!("systemctl {}: {why}", arguments.join(" "));
    let ended = run(&mut command, &LIMITS).map_err(|error| said(error.to_string()))?;
    if ended.status.success() {
        return Ok(());
    }
    Err(said(
        String::from_utf8_lossy(&ended.stderr).trim().to_owned(),
    ))
}

/// Runs `systemctl VERB UNIT` for each unit, up to the first that fails.
///
/// # Errors
/// As [`systemctl`].
pub fn each(verb: &str, units: &[String]) -> Result<(), String> {
    units.iter().try_for_each(|unit| systemctl(&[verb, unit]))
}

/// Whether a unit is active.
pub fn is_active(unit: &str) -> bool {
    systemctl(&["is-active", "--quiet", unit]).is_ok()
}
