//! The audit log: one line for each pass, written when it ends, and read for what passes before it
//! reached.

use super::lines;
use super::options::{self, Options};
use super::over::Over;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use trim::pass::Ended;

const SCHEMA: &str = "trimtab.audit/1";
/// More of the log than this is not looked at.
const TAIL_BYTES: u64 = 1 << 20;

/// The line of a pass. Bytes visited, steps and times are of this sitting; what begins with
/// `resumed_` is of those before. What was discarded is of all.
pub fn entry(over: &Over<'_>, options: &Options) -> Value {
    let (target, outcome, earlier) = (over.target, over.outcome, &over.earlier);
    let progress = &outcome.progress;
    let loginuid: Option<u32> = std::fs::read_to_string("/proc/self/loginuid")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|uid| *uid != u32::MAX);
    json!({
        "schema": SCHEMA,
        "type": "trim",
        "tool_version": env!("CARGO_PKG_VERSION"),
        "began_at": over.began_at,
        "ended_at": Timestamp::now(),
        "who": {
            "uid": rustix::process::getuid().as_raw(),
            "login_uid": loginuid,
            "sudo_user": std::env::var("SUDO_USER").ok(),
        },
        "mount_point": target.mount_point.display().to_string(),
        "key": target.identity.key(),
        "identity": target.identity,
        "options": options.for_audit(),
        "outcome": word(&outcome.ended),
        "reason": lines::reason(&outcome.ended),
        "free_bytes": outcome.survey.as_ref().map(|survey| survey.free_bytes),
        "visited_bytes": progress.visited_bytes.saturating_sub(earlier.visited_bytes),
        "resumed_bytes": earlier.visited_bytes,
        "discarded_bytes": outcome.measurable.then(|| lines::by_device(&over.seen())),
        "steps": progress.steps.saturating_sub(earlier.steps),
        "resumed_steps": earlier.steps,
        "active_s": progress.active.as_secs_f64(),
        "resumed_active_s": earlier.active.as_secs_f64(),
        "measuring_s": options::QUIET.min(progress.active).as_secs_f64(),
        "longest_step_s": outcome.longest_step.as_secs_f64(),
        "warnings": over.warnings,
    })
}

/// One word for an end.
pub fn word(ended: &Ended) -> &'static str {
    match ended {
        Ended::Complete => "complete",
        Ended::Stopped { .. } => "stopped",
        Ended::Signal(_) => "signal",
        Ended::Cancelled => "cancelled",
        Ended::Swallowed(_) => "swallowed",
        Ended::Failed { .. } => "failed",
    }
}

/// What an earlier pass reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// When it was complete.
    pub ended_at: Timestamp,
    /// Bytes visited a second, pauses included; `None` for one too short to tell.
    pub visited_bytes_per_s: Option<f64>,
}

#[derive(Deserialize)]
struct Line {
    key: String,
    outcome: String,
    ended_at: Timestamp,
    #[serde(default)]
    visited_bytes: u64,
    #[serde(default)]
    active_s: f64,
    #[serde(default)]
    measuring_s: f64,
}

/// The last complete pass of a filesystem. A log that is not there, or cannot be read, tells of none.
pub fn last_complete(state_dir: &Path, key: &str) -> Option<Earlier> {
    use rustix::fs::{Mode, OFlags};
    use std::io::{Read, Seek, SeekFrom};
    // A link or a FIFO that somebody put there is no log; opening the latter would never end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(state_dir.join("audit.jsonl"), flags, Mode::empty()).ok()?;
    let mut file = std::fs::File::from(file);
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let size = found.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    last_complete_in(&String::from_utf8_lossy(&bytes), key)
}

#[allow(clippy::cast_precision_loss)] // a rate for people
fn last_complete_in(log: &str, key: &str) -> Option<Earlier> {
    let line = log
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        .find(|line| line.key == key && line.outcome == "complete")?;
    let worked_s = line.active_s - line.measuring_s;
    let long_enough = worked_s >= 1.0 && line.visited_bytes >= 64 << 20;
    Some(Earlier {
        ended_at: line.ended_at,
        visited_bytes_per_s: long_enough.then(|| line.visited_bytes as f64 / worked_s),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_log_tells_of_nothing_and_holds_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("audit.jsonl");
        assert!(last_complete(directory.path(), "k").is_none());
        let status = std::process::Command::new("mkfifo").arg(&log).status();
        assert!(status.unwrap().success());
        assert!(last_complete(directory.path(), "k").is_none());
        std::fs::remove_file(&log).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &log).unwrap();
        assert!(last_complete(directory.path(), "k").is_none());
    }

    #[test]
    fn the_last_complete_pass_of_this_filesystem_counts() {
        let line = |key: &str, outcome: &str, day: u8, bytes: u64| {
            format!(
                "{{\"key\":\"{key}\",\"outcome\":\"{outcome}\",\"ended_at\":\"2026-01-0{day}T00:00:00Z\",\
                 \"visited_bytes\":{bytes},\"active_s\":7.0,\"measuring_s\":5.0}}\n"
            )
        };
        let log = [
            line("a", "complete", 1, 1 << 30),
            line("a", "complete", 2, 2 << 30),
            line("b", "complete", 3, 3 << 30),
            line("a", "stopped", 4, 4 << 30),
            "not JSON\n".to_owned(),
        ]
        .concat();
        let earlier = last_complete_in(&log, "a").unwrap();
        assert_eq!(earlier.ended_at, "2026-01-02T00:00:00Z".parse().unwrap());
        assert_eq!(earlier.visited_bytes_per_s, Some(f64::from(1 << 30)));
        assert_eq!(last_complete_in(&log, "c"), None);
        let short = line("a", "complete", 1, 1);
        assert_eq!(
            last_complete_in(&short, "a").unwrap().visited_bytes_per_s,
            None
        );
    }
}
