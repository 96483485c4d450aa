//! The audit log: one line per pass, written when the pass ends and read back for the results of
//! earlier passes.

use crate::layers::LayerCount;
use crate::request::Request;
use crate::state::boot_id;
use crate::summary::PassSummary;
use facts::host::TrimPasses;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const SCHEMA: &str = "trimtab.audit/1";
/// The outcome of a pass over the whole filesystem.
const COMPLETE: &str = "complete";
/// Only this much of the end of the log is read.
const TAIL_BYTES: u64 = 1 << 20;

/// Builds the audit log line of a pass. Visited bytes, steps and times cover this session; fields
/// starting with `resumed_` cover earlier sessions; discarded bytes cover all of them.
/// `tool_version` is the version of the running program.
pub fn entry(summary: &PassSummary, request: &Request, tool_version: &str) -> Value {
    let (target, outcome, earlier) = (&summary.target, &summary.outcome, &summary.earlier);
    let progress = &outcome.progress;
    let loginuid: Option<u32> = std::fs::read_to_string("/proc/self/loginuid")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|uid| *uid != u32::MAX);
    json!({
        "schema": SCHEMA,
        "type": "trim",
        "tool_version": tool_version,
        "began_at": summary.began_at,
        "ended_at": Timestamp::now(),
        "who": {
            "uid": rustix::process::getuid().as_raw(),
            "login_uid": loginuid,
            "sudo_user": std::env::var("SUDO_USER").ok(),
        },
        "mount_point": target.mount_point.display().to_string(),
        "key": target.identity.key(),
        "identity": target.identity,
        "options": request.for_audit(),
        "outcome": outcome.ended.word(),
        "reason": outcome.ended.reason(),
        "free_bytes": outcome.survey.as_ref().map(|survey| survey.free_bytes),
        "visited_bytes": summary.session_visited_bytes(),
        "resumed_bytes": earlier.visited_bytes,
        "discarded_bytes": outcome.measurable.then(|| by_device(&summary.layers)),
        "steps": summary.session_steps(),
        "resumed_steps": earlier.steps,
        "active_s": progress.active.as_secs_f64(),
        "resumed_active_s": earlier.active.as_secs_f64(),
        "measuring_s": summary.session_measuring().as_secs_f64(),
        "longest_step_s": outcome.longest_step.as_secs_f64(),
        "warnings": summary.warnings,
        "boot_id": boot_id(),
        "written_bytes": written_bytes(&summary.layers),
    })
}

/// Bytes that each drive was written since boot: what is written later is known to be written since this pass.
fn written_bytes(layers: &[LayerCount]) -> BTreeMap<String, u64> {
    let drives: Vec<String> = layers
        .iter()
        .filter(|layer| layer.is_leaf)
        .map(|layer| layer.device.clone())
        .collect();
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let counters = linux::counters::parse_diskstats(&text, &drives).unwrap_or_default();
    let each = counters.into_iter();
    each.map(|(drive, counters)| (drive, counters.written_bytes))
        .collect()
}

/// Returns discarded bytes by device; null for devices that do not count discards.
pub fn by_device(layers: &[LayerCount]) -> Value {
    let each = layers.iter();
    each.map(|layer| (layer.device.clone(), layer.discarded_bytes.into()))
        .collect::<serde_json::Map<String, Value>>()
        .into()
}

/// Results of an earlier pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    /// When the pass completed.
    pub ended_at: Timestamp,
    /// Average bytes visited per second, including pauses; `None` if the pass was too short to
    /// tell.
    pub visited_bytes_per_s: Option<f64>,
    /// How long it ran, in seconds, with its pauses; 0 if the log does not tell.
    #[serde(default)]
    pub active_s: f64,
    /// The boot in which it completed.
    pub boot_id: Option<String>,
    /// Bytes that each drive had been written since that boot when it completed.
    pub written_bytes: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Line {
    key: String,
    #[serde(default)]
    mount_point: String,
    outcome: String,
    ended_at: Timestamp,
    #[serde(default)]
    visited_bytes: u64,
    #[serde(default)]
    active_s: f64,
    #[serde(default)]
    measuring_s: f64,
    #[serde(default)]
    boot_id: Option<String>,
    #[serde(default)]
    written_bytes: BTreeMap<String, u64>,
    #[serde(default)]
    discarded_bytes: Option<BTreeMap<String, Option<u64>>>,
}

/// Returns the last complete pass of a filesystem. A missing or unreadable log yields `None`.
pub fn last_complete(state_dir: &Path, key: &str) -> Option<Earlier> {
    last_complete_in(&tail(state_dir)?, key)
}

/// Returns the last passes over what was last mounted at each mount point. A missing or unreadable log yields none.
pub fn last_passes(state_dir: &Path) -> Vec<TrimPasses> {
    last_passes_in(&tail(state_dir).unwrap_or_default())
}

/// Reads the end of the log.
fn tail(state_dir: &Path) -> Option<String> {
    use rustix::fs::{Mode, OFlags};
    use std::io::{Read, Seek, SeekFrom};
    // Refuse links and FIFOs; opening a FIFO could block forever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(state_dir.join("audit.jsonl"), flags, Mode::empty()).ok()?;
    let mut file = std::fs::File::from(file);
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let size = found.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_passes_in(log: &str) -> Vec<TrimPasses> {
    let mut passes: BTreeMap<String, TrimPasses> = BTreeMap::new();
    for line in log.lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else {
            continue;
        };
        // What the drives counted; the devices above them count the same bytes once more.
        let drives = line.discarded_bytes.iter().flatten();
        let drives = drives.filter(|(device, _)| line.written_bytes.contains_key(*device));
        let discarded_bytes = drives.map(|(_, bytes)| *bytes).sum::<Option<u64>>();
        let earlier = passes.get(&line.key).and_then(|pass| pass.completed_at);
        let is_complete = line.outcome == COMPLETE;
        let pass = TrimPasses {
            mount_point: line.mount_point,
            ended_at: line.ended_at,
            active_s: line.active_s,
            discarded_bytes: discarded_bytes.filter(|_| !line.written_bytes.is_empty()),
            completed_at: if is_complete {
                Some(line.ended_at)
            } else {
                earlier
            },
        };
        passes.insert(line.key, pass);
    }
    // A filesystem that was made anew has another key.
    let mut by_mount: BTreeMap<String, TrimPasses> = BTreeMap::new();
    for pass in passes.into_values() {
        match by_mount.get(&pass.mount_point) {
            Some(other) if other.ended_at >= pass.ended_at => {}
            _ => {
                by_mount.insert(pass.mount_point.clone(), pass);
            }
        }
    }
    by_mount.into_values().collect()
}

#[allow(clippy::cast_precision_loss)] // a rate for people
fn last_complete_in(log: &str, key: &str) -> Option<Earlier> {
    let line = log
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        .find(|line| line.key == key && line.outcome == COMPLETE)?;
    let worked_s = line.active_s - line.measuring_s;
    let long_enough = worked_s >= 1.0 && line.visited_bytes >= 64 << 20;
    Some(Earlier {
        ended_at: line.ended_at,
        visited_bytes_per_s: long_enough.then(|| line.visited_bytes as f64 / worked_s),
        active_s: line.active_s,
        boot_id: line.boot_id,
        written_bytes: line.written_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Ended, Outcome, Progressed};
    use crate::request::plain;
    use crate::summary::EarlierSessions;
    use crate::target;
    use std::time::Duration;

    #[test]
    fn missing_or_special_file_yields_no_pass_and_does_not_block() {
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
    fn the_last_pass_and_the_last_complete_one_are_told_apart() {
        let line = |mount: &str, outcome: &str, day: u8, discarded: &str| {
            format!(
                "{{\"key\":\"{mount}\",\"mount_point\":\"{mount}\",\"outcome\":\"{outcome}\",\
                 \"ended_at\":\"2026-01-0{day}T00:00:00Z\",\"active_s\":7.5,\
                 \"discarded_bytes\":{discarded},\"written_bytes\":{{\"sda\":1,\"sdb\":1}}}}\n"
            )
        };
        let log = [
            line("/a", "complete", 1, "{\"md0\":300,\"sda\":100,\"sdb\":200}"),
            line("/b", "failed", 2, "null"),
            "not JSON\n".to_owned(),
            line("/a", "stopped", 3, "{\"md0\":30,\"sda\":null,\"sdb\":20}"),
        ]
        .concat();
        let passes = last_passes_in(&log);
        let at = |day: u8| format!("2026-01-0{day}T00:00:00Z").parse().unwrap();
        assert_eq!(passes.len(), 2);
        assert_eq!(passes[0].mount_point, "/a");
        assert_eq!(passes[0].ended_at, at(3));
        assert_eq!(passes[0].completed_at, Some(at(1)));
        // A drive that does not count leaves the sum unknown.
        assert_eq!(passes[0].discarded_bytes, None);
        assert_eq!(passes[1].completed_at, None);
        let first = last_passes_in(log.lines().next().unwrap());
        assert_eq!(first[0].discarded_bytes, Some(300));
    }

    #[test]
    fn last_complete_pass_of_this_filesystem_is_used() {
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
        assert!((earlier.active_s - 7.0).abs() < f64::EPSILON);
        assert_eq!(last_complete_in(&log, "c"), None);
        let short = line("a", "complete", 1, 1);
        assert_eq!(
            last_complete_in(&short, "a").unwrap().visited_bytes_per_s,
            None
        );
    }

    fn summary(discarded: &[(&str, Option<u64>)], earlier: Option<EarlierSessions>) -> PassSummary {
        let layers = discarded
            .iter()
            .map(|&(device, discarded_bytes)| LayerCount {
                device: device.to_owned(),
                depth: 0,
                is_leaf: true,
                discarded_bytes,
            });
        PassSummary {
            mount_point: "/data".to_owned(),
            target: target::sample(),
            began_at: Timestamp::UNIX_EPOCH,
            outcome: Outcome {
                ended: Ended::Complete,
                progress: Progressed {
                    steps: 673,
                    free_bytes: 3 << 30,
                    visited_bytes: 3 << 30,
                    active: Duration::from_millis(12_340),
                    ..Progressed::default()
                },
                survey: None,
                quiet: Vec::new(),
                longest_step: Duration::ZERO,
                locks_whole_steps: true,
                measurable: true,
            },
            is_resumed: earlier.is_some(),
            earlier: earlier.unwrap_or_default(),
            layers: layers.collect(),
            top_devices: vec!["md0".to_owned()],
            kernel_counts: true,
            measuring: Duration::from_secs(5),
            warnings: Vec::new(),
            findings: Vec::new(),
        }
    }

    #[test]
    fn uncounted_layer_is_null() {
        let pass = summary(&[("md0", None), ("nvme0n1", Some(5))], None);
        let entry = entry(&pass, &plain(None), "1.0");
        assert_eq!(entry["discarded_bytes"], json!({"md0": null, "nvme0n1": 5}));
        assert_eq!(entry["schema"], SCHEMA);
        assert_eq!(entry["outcome"], "complete");
    }

    #[test]
    fn sessions_are_reported_separately() {
        let earlier = EarlierSessions {
            steps: 600,
            visited_bytes: 2 << 30,
            active: Duration::from_secs(90),
        };
        let entry = entry(&summary(&[], Some(earlier)), &plain(None), "1.0");
        assert_eq!(entry["steps"], 73);
        assert_eq!(entry["resumed_steps"], 600);
        assert_eq!(entry["visited_bytes"], 1_u64 << 30);
        assert_eq!(entry["resumed_active_s"], 90.0);
        assert_eq!(entry["measuring_s"], 5.0);
    }
}
