//! `--status` and `--cancel`: passes of other processes, as their checkpoints and locks tell.

use super::again::Again;
use super::lines::{Lines, stop_reason};
use super::plan;
use super::sitting::state_error;
use super::waiting::is_waiting;
use super::words::{Page, long, percent, rate};
use super::{forecast, options};
use crate::cli::TrimFormat;
use crate::error::{CommandError, Kind};
use crate::output;
use facts::Host;
use jiff::Timestamp;
use report::{count, escape, human_bytes, human_duration};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use trim::state::{Checkpoint, Phase, State, StateError};

/// The state, without making its directories.
pub fn state_at(state_dir: PathBuf) -> State {
    State {
        state_dir,
        run_dir: PathBuf::from(options::RUN_DIR),
    }
}

/// Lists passes: all, or those with some [`keys`].
///
/// # Errors
/// Where the state directory, or a checkpoint in it, cannot be read.
pub fn show(
    state: &State,
    meant: Option<&[String]>,
    again: &Again,
    format: TrimFormat,
) -> Result<ExitCode, CommandError> {
    let mut page = Page::new(usize::from(output::terminal_columns()));
    let mut lines = Lines::default();
    let mut first_error = None;
    let mut shown = 0;
    for checkpoint in state.checkpoints() {
        let checkpoint = match checkpoint {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                first_error.get_or_insert_with(|| unreadable(&error));
                continue;
            }
        };
        let key = checkpoint.identity.key();
        if meant.is_some_and(|keys| !keys.contains(&key)) {
            continue;
        }
        shown += 1;
        let holder = state.holder(&key).map_err(|error| unreadable(&error))?;
        match format {
            TrimFormat::Text => {
                page.blank();
                describe(&mut page, &checkpoint, holder, again, Timestamp::now());
            }
            TrimFormat::Json => lines.emit("pass", fields(&checkpoint, holder))?,
        }
    }
    if shown == 0 && first_error.is_none() && format == TrimFormat::Text {
        page.head("no pass is running, and none can be resumed");
    }
    // One that cannot be read does not hide the others.
    output::print(&page.finish())?;
    first_error.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn unreadable(error: &StateError) -> CommandError {
    let is_denied = matches!(error, StateError::Io { source, .. }
        if source.kind() == std::io::ErrorKind::PermissionDenied);
    let text = error.to_string();
    let shown = CommandError::new(Kind::Environment, escape(&text));
    if is_denied {
        shown.hint("run it as root: sudo trimtab trim --status")
    } else {
        shown
    }
}

fn describe(
    page: &mut Page,
    checkpoint: &Checkpoint,
    holder: Option<u32>,
    again: &Again,
    now: Timestamp,
) {
    let point = escape(&checkpoint.mount_point);
    let ago = |at: Timestamp| {
        let seconds = now.duration_since(at).as_secs().max(0).unsigned_abs();
        format!("{} ago", human_duration(seconds))
    };
    let state = match (holder, &checkpoint.phase) {
        (Some(pid), _) if is_waiting(checkpoint) => {
            format!("running, process {pid}, which waits for its window")
        }
        (Some(pid), _) => format!("running, process {pid}"),
        (None, Phase::Stopped { reason }) => format!(
            "stopped {}: {}",
            ago(checkpoint.updated_at),
            stop_reason(reason)
        ),
        (None, Phase::Running) => format!(
            "interrupted {} (killed, or the host went down)",
            ago(checkpoint.updated_at)
        ),
    };
    page.head(&format!("{point}: {state}"));
    let is_untouched = checkpoint.steps == 0 && checkpoint.free_bytes == 0;
    page.row(
        "visited",
        &if is_untouched {
            "nothing yet".to_owned()
        } else {
            format!(
                "{} %, {} of {} free, in {}",
                // It is not complete, or there would be no checkpoint.
                percent(checkpoint.visited_bytes, checkpoint.free_bytes).min(99),
                human_bytes(checkpoint.visited_bytes),
                human_bytes(checkpoint.free_bytes),
                count(checkpoint.steps, "step")
            )
        },
    );
    let active = Duration::try_from_secs_f64(checkpoint.active_s).unwrap_or_default();
    let mut time = format!(
        "began {}, {} of work",
        ago(checkpoint.started_at),
        long(active)
    );
    if let Some(per_s) = mean_rate(checkpoint) {
        let _ = write!(time, ", {}", rate(per_s));
    }
    page.row("time", &time);
    if holder.is_some() {
        let left = checkpoint
            .left_s
            .and_then(|left| Duration::try_from_secs_f64(left).ok());
        if let Some(left) = left {
            page.row("left", &long(left));
        }
        if let Some(remark) = &checkpoint.remark {
            page.row("now", remark);
        }
        page.row("to end it", &again.cancel(&checkpoint.mount_point));
    } else {
        page.row("to go on", &again.resume_somehow(&checkpoint.mount_point));
        page.row("to forget", &again.cancel(&checkpoint.mount_point));
    }
}

#[allow(clippy::cast_precision_loss)] // a rate for people
fn mean_rate(checkpoint: &Checkpoint) -> Option<f64> {
    (checkpoint.active_s > 0.0).then(|| checkpoint.visited_bytes as f64 / checkpoint.active_s)
}

fn fields(checkpoint: &Checkpoint, holder: Option<u32>) -> Value {
    let (state, reason) = match (holder, &checkpoint.phase) {
        (Some(_), _) => ("running", None),
        (None, Phase::Stopped { reason }) => ("stopped", Some(stop_reason(reason))),
        (None, Phase::Running) => ("interrupted", None),
    };
    json!({
        "mount_point": checkpoint.mount_point,
        "uuid": checkpoint.identity.uuid,
        "state": state,
        "reason": reason,
        "pid": holder,
        "waits_for_window": holder.is_some() && is_waiting(checkpoint),
        "started_at": checkpoint.started_at,
        "updated_at": checkpoint.updated_at,
        "steps": checkpoint.steps,
        "free_bytes": checkpoint.free_bytes,
        "visited_bytes": checkpoint.visited_bytes,
        "discarded_bytes": checkpoint.discarded_bytes,
        "active_s": checkpoint.active_s,
        "rate_bytes_per_s": mean_rate(checkpoint),
        "left_s": checkpoint.left_s,
        "remark": checkpoint.remark,
    })
}

/// Ends passes and forgets their checkpoints.
///
/// # Errors
/// Where a path is neither a mount point nor that of a pass, or a request cannot be left.
pub fn cancel(state: &State, host: &Host, mounts: &[PathBuf]) -> Result<ExitCode, CommandError> {
    let mut text = String::new();
    let mut missed = false;
    let mut meant: Vec<(&Path, String)> = Vec::new();
    for path in mounts {
        for key in keys_of(state, host, path)? {
            if !meant.iter().any(|(_, known)| *known == key) {
                meant.push((path, key));
            }
        }
    }
    for (path, key) in meant {
        let known = state.checkpoint(&key).ok().flatten().is_some();
        let holder = state.holder(&key).map_err(|error| state_error(&error))?;
        let asked = state.cancel(&key).map_err(|error| state_error(&error))?;
        let point = escape(&path.display().to_string()).into_owned();
        let told = match (asked, known) {
            (true, _) => format!(
                "process {} was asked to end",
                holder.map_or("?".to_owned(), |pid| pid.to_string())
            ),
            (false, true) => "no pass was running; its checkpoint is forgotten".to_owned(),
            (false, false) => {
                missed = true;
                "no pass is running, and there is no checkpoint".to_owned()
            }
        };
        let _ = writeln!(text, "{point}: {told}");
    }
    output::print(&text)?;
    Ok(ExitCode::from(u8::from(missed)))
}

/// Keys of the passes that some paths mean.
///
/// # Errors
/// Where a path is neither a mount point nor that of a pass.
pub fn keys(state: &State, host: &Host, paths: &[PathBuf]) -> Result<Vec<String>, CommandError> {
    let mut keys = Vec::new();
    for path in paths {
        keys.extend(keys_of(state, host, path)?);
    }
    Ok(keys)
}

/// A path means the pass of the filesystem that is mounted there, through whichever of its mounts.
/// Where there is none, it means the passes that were made at this path: their filesystems may have
/// been unmounted, or have another mounted over them.
fn keys_of(state: &State, host: &Host, path: &Path) -> Result<Vec<String>, CommandError> {
    let mounted = key_at(host, path);
    if let Ok(key) = &mounted {
        // One that cannot be read is there, too.
        let has_checkpoint = !matches!(state.checkpoint(key), Ok(None));
        if has_checkpoint || state.holder(key).ok().flatten().is_some() {
            return Ok(vec![key.clone()]);
        }
    }
    let names = names_of(path);
    let recorded: Vec<String> = state
        .checkpoints()
        .into_iter()
        .flatten()
        .filter(|checkpoint| {
            let point = Path::new(&checkpoint.mount_point);
            names.iter().any(|name| name == point)
        })
        .map(|checkpoint| checkpoint.identity.key())
        .collect();
    if recorded.is_empty() {
        mounted.map(|key| vec![key])
    } else {
        Ok(recorded)
    }
}

/// The key of what is mounted at a path.
fn key_at(host: &Host, path: &Path) -> Result<String, CommandError> {
    let plans = plan::named(host, &[path.to_path_buf()], false)?;
    match plans.first().map(forecast::identify) {
        Some(Ok(target)) => Ok(target.identity.key()),
        Some(Err(reason)) => Err(CommandError::new(Kind::Environment, escape(&reason))),
        None => Err(CommandError::new(Kind::Usage, "no mount was named")),
    }
}

/// What a pass over this path would have recorded as its mount point, whether or not the directory
/// is still there.
fn names_of(path: &Path) -> Vec<PathBuf> {
    let below_parent = || {
        let absolute = std::path::absolute(path).ok()?;
        let parent = absolute.parent()?.canonicalize().ok()?;
        Some(parent.join(absolute.file_name()?))
    };
    [
        std::path::absolute(path).ok(),
        path.canonicalize().ok(),
        below_parent(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::DeviceNumber;
    use std::collections::BTreeMap;
    use trim::Cursor;
    use trim::target::Identity;

    fn checkpoint(phase: Phase) -> Checkpoint {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        Checkpoint {
            schema: "trimtab.trim-checkpoint/1".to_owned(),
            identity: Identity {
                device: DeviceNumber { major: 7, minor: 1 },
                uuid: Some("0f0f".to_owned()),
                fs_type: "xfs".to_owned(),
            },
            mount_point: "/data".to_owned(),
            started_at: at("2026-03-02T01:00:00Z"),
            updated_at: at("2026-03-02T02:00:00Z"),
            cursor: Cursor::default(),
            steps: 1234,
            free_bytes: 4 << 30,
            visited_bytes: 1 << 30,
            discarded_bytes: BTreeMap::new(),
            active_s: 1024.0,
            phase,
            remark: Some("4 KiB reads: mean 0.4 ms".to_owned()),
            left_s: Some(3072.0),
            boot_id: None,
        }
    }

    fn text(checkpoint: &Checkpoint, holder: Option<u32>) -> String {
        let mut page = Page::new(80);
        let now = "2026-03-02T03:00:00Z".parse().unwrap();
        describe(&mut page, checkpoint, holder, &Again::default(), now);
        page.finish()
    }

    #[test]
    fn a_path_is_known_by_all_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/mount")).unwrap();
        std::os::unix::fs::symlink(real.join("a"), real.join("link")).unwrap();
        let knows = |path: &str| names_of(&real.join(path)).contains(&real.join("a/mount"));
        for path in [
            "a/mount",
            "a/mount/",
            "a/./mount",
            "link/mount",
            "a/../a/mount",
        ] {
            assert!(knows(path), "{path}");
        }
        assert!(!knows("a") && !knows("a/mount/x"));
        std::fs::remove_dir(real.join("a/mount")).unwrap();
        for path in ["a/mount", "a/mount/", "link/mount", "a/../a/mount"] {
            assert!(knows(path), "{path}, which is gone");
        }
        assert!(!names_of(Path::new("mount")).contains(&PathBuf::from("mount")));
        assert!(names_of(Path::new("")).is_empty());
    }

    #[test]
    fn a_running_pass() {
        insta::assert_snapshot!(text(&checkpoint(Phase::Running), Some(4711)));
    }

    #[test]
    fn a_pass_that_waits_says_so_and_one_that_was_stopped_is_never_at_its_end() {
        let mut waiting = checkpoint(Phase::Running);
        waiting.remark = Some("waiting, outside of --window 01:00-05:00, UTC".to_owned());
        let shown = text(&waiting, Some(4711));
        assert!(
            shown.contains("running, process 4711, which waits for its window"),
            "{shown}"
        );
        assert!(
            shown.contains("now         waiting, outside of --window"),
            "{shown}"
        );
        assert_eq!(fields(&waiting, Some(4711))["waits_for_window"], true);
        // It was killed while it waited.
        assert_eq!(fields(&waiting, None)["waits_for_window"], false);
        let mut twice = checkpoint(Phase::Running);
        twice.visited_bytes = 5 << 30;
        let shown = text(&twice, None);
        assert!(shown.contains("visited     99 %"), "{shown}");
        twice.steps = 0;
        twice.free_bytes = 0;
        let shown = text(&twice, None);
        assert!(shown.contains("visited     nothing yet"), "{shown}");
    }

    #[test]
    fn passes_that_can_go_on_say_why_they_ended() {
        let killed = text(&checkpoint(Phase::Running), None);
        assert!(killed.contains("interrupted 1 h ago"), "{killed}");
        assert!(killed.contains("`trimtab trim /data`"), "{killed}");
        let stopped = text(
            &checkpoint(Phase::Stopped {
                reason: "the deadline has passed".to_owned(),
            }),
            None,
        );
        assert!(stopped.contains("the deadline has passed"), "{stopped}");
        assert!(
            stopped.contains("to go on    `trimtab trim /data`, with the options"),
            "{stopped}"
        );
        let signal = Phase::Stopped {
            reason: "signal 15".to_owned(),
        };
        let ended = text(&checkpoint(signal.clone()), None);
        assert!(
            ended.contains("stopped 1 h ago: ended by SIGTERM"),
            "{ended}"
        );
        assert_eq!(
            fields(&checkpoint(signal), None)["reason"],
            "ended by SIGTERM"
        );
        assert_eq!(
            fields(&checkpoint(Phase::Running), None)["state"],
            "interrupted"
        );
        assert_eq!(
            fields(&checkpoint(Phase::Running), Some(1))["state"],
            "running"
        );
    }
}
