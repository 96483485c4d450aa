//! `--status` and `--cancel`: passes of other processes, according to their checkpoints and locks.

use crate::filesystem::{self, MountPathError};
use crate::pass::describe_stop;
use crate::state::{Checkpoint, Phase, State, StateError};
use crate::target::TargetError;
use crate::waiting::is_waiting;
use facts::Host;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Passes that are running or can be resumed.
#[derive(Debug, Default)]
pub struct Status {
    /// Passes whose checkpoints can be read.
    pub passes: Vec<PassStatus>,
    /// Checkpoints and locks that cannot be read; they do not hide the others.
    pub unreadable: Vec<StateError>,
}

/// Progress of a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct PassStatus {
    /// Mount point of its filesystem.
    pub mount_point: String,
    /// UUID of the filesystem.
    pub uuid: Option<String>,
    /// Whether it is running.
    pub state: PassState,
    /// When the pass began.
    pub started_at: Timestamp,
    /// When its checkpoint was last written.
    pub updated_at: Timestamp,
    /// Steps made.
    pub steps: u64,
    /// Free bytes at its start.
    pub free_bytes: u64,
    /// Free bytes visited.
    pub visited_bytes: u64,
    /// Bytes discarded by device; absent if not measurable.
    pub discarded_bytes: BTreeMap<String, u64>,
    /// Time spent in all sessions, including pauses.
    pub active_s: f64,
    /// Estimated time left.
    pub left_s: Option<f64>,
    /// What it is doing or waiting for.
    pub remark: Option<String>,
}

/// Whether a pass is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassState {
    /// A process is working on it.
    Running {
        /// Process ID.
        pid: u32,
        /// Whether it is waiting for its window.
        waits_for_window: bool,
    },
    /// It was stopped.
    Stopped {
        /// Why.
        reason: String,
    },
    /// It was killed, or the host went down.
    Interrupted,
    /// Its lock cannot be read, so a process may be working on it.
    Unknown,
}

/// Result of a request to cancel a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// The path that was given.
    pub path: PathBuf,
    /// What was done.
    pub outcome: CancelOutcome,
}

/// What a request to cancel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The process that runs the pass was asked to end.
    Asked {
        /// Process ID; `None` if it ended meanwhile.
        pid: Option<u32>,
    },
    /// No pass was running; its checkpoint was removed.
    Forgotten,
    /// No pass was running, and there was no checkpoint.
    NothingThere,
}

/// Why passes could not be listed or cancelled.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// A path matches neither a filesystem nor a pass.
    #[error(transparent)]
    Path(#[from] MountPathError),
    /// The mounted filesystem could not be identified.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The state directory or the lock directory failed.
    #[error(transparent)]
    State(#[from] StateError),
}

impl PassStatus {
    /// Builds the status from a checkpoint and the process that holds its filesystem's lock.
    pub fn of(checkpoint: &Checkpoint, holder: Option<u32>) -> Self {
        let state = match (holder, &checkpoint.phase) {
            (Some(pid), _) => PassState::Running {
                pid,
                waits_for_window: is_waiting(checkpoint),
            },
            (None, Phase::Stopped { reason }) => PassState::Stopped {
                reason: describe_stop(reason),
            },
            (None, Phase::Running) => PassState::Interrupted,
        };
        Self::in_state(checkpoint, state)
    }

    fn in_state(checkpoint: &Checkpoint, state: PassState) -> Self {
        Self {
            mount_point: checkpoint.mount_point.clone(),
            uuid: checkpoint.identity.uuid.clone(),
            state,
            started_at: checkpoint.started_at,
            updated_at: checkpoint.updated_at,
            steps: checkpoint.steps,
            free_bytes: checkpoint.free_bytes,
            visited_bytes: checkpoint.visited_bytes,
            discarded_bytes: checkpoint.discarded_bytes.clone(),
            active_s: checkpoint.active_s,
            left_s: checkpoint.left_s,
            remark: checkpoint.remark.clone(),
        }
    }

    /// Returns whether a process is working on it.
    pub fn is_running(&self) -> bool {
        matches!(self.state, PassState::Running { .. })
    }

    /// Returns whether it has not begun to work.
    pub fn is_untouched(&self) -> bool {
        self.steps == 0 && self.free_bytes == 0
    }

    /// Returns the time spent in all sessions.
    pub fn active(&self) -> Duration {
        Duration::try_from_secs_f64(self.active_s).unwrap_or_default()
    }

    /// Returns the estimated time left.
    pub fn left(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.left_s?).ok()
    }

    /// Returns the bytes visited per second, including pauses.
    #[allow(clippy::cast_precision_loss)] // a rate for people
    pub fn visited_bytes_per_s(&self) -> Option<f64> {
        (self.active_s > 0.0).then(|| self.visited_bytes as f64 / self.active_s)
    }
}

/// Returns passes that are running or can be resumed: all, or those with the given [`keys`].
pub fn status(state: &State, meant: Option<&[String]>) -> Status {
    let mut status = Status::default();
    for checkpoint in state.checkpoints() {
        let checkpoint = match checkpoint {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                status.unreadable.push(error);
                continue;
            }
        };
        let key = checkpoint.identity.key();
        if meant.is_some_and(|keys| !keys.contains(&key)) {
            continue;
        }
        status.passes.push(match state.holder(&key) {
            Ok(holder) => PassStatus::of(&checkpoint, holder),
            Err(error) => {
                status.unreadable.push(error);
                PassStatus::in_state(&checkpoint, PassState::Unknown)
            }
        });
    }
    status
}

/// Ends passes and removes their checkpoints.
///
/// # Errors
/// If a path is neither a mount point nor that of a pass, or a request cannot be written.
pub fn cancel(
    state: &State,
    host: &Host,
    mounts: &[PathBuf],
) -> Result<Vec<Cancelled>, StatusError> {
    let mut meant: Vec<(&Path, String)> = Vec::new();
    for path in mounts {
        for key in keys_of(state, host, path)? {
            if !meant.iter().any(|(_, known)| *known == key) {
                meant.push((path, key));
            }
        }
    }
    let mut cancelled = Vec::new();
    for (path, key) in meant {
        let known = state.checkpoint(&key).ok().flatten().is_some();
        let pid = state.holder(&key)?;
        let outcome = match (state.cancel(&key)?, known) {
            (true, _) => CancelOutcome::Asked { pid },
            (false, true) => CancelOutcome::Forgotten,
            (false, false) => CancelOutcome::NothingThere,
        };
        cancelled.push(Cancelled {
            path: path.to_owned(),
            outcome,
        });
    }
    Ok(cancelled)
}

/// Returns the keys of the passes that paths refer to.
///
/// # Errors
/// If a path is neither a mount point nor that of a pass.
pub fn keys(state: &State, host: &Host, paths: &[PathBuf]) -> Result<Vec<String>, StatusError> {
    let mut keys = Vec::new();
    for path in paths {
        keys.extend(keys_of(state, host, path)?);
    }
    Ok(keys)
}

/// Returns the keys of the passes that a path refers to: the pass of the filesystem that is mounted
/// there, whichever of its mounts the path is. If there is none, the passes that were made at this
/// path: their filesystems may have been unmounted, or have another mounted over them.
fn keys_of(state: &State, host: &Host, path: &Path) -> Result<Vec<String>, StatusError> {
    let mounted = key_at(host, path);
    if let Ok(Some(key)) = &mounted {
        // An unreadable checkpoint counts as well.
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
        mounted.map(|key| key.into_iter().collect())
    } else {
        Ok(recorded)
    }
}

/// Returns the key of the filesystem mounted at a path.
fn key_at(host: &Host, path: &Path) -> Result<Option<String>, StatusError> {
    let named = filesystem::named(host, &[path.to_path_buf()])?;
    let Some(filesystem) = named.first() else {
        return Ok(None);
    };
    Ok(Some(filesystem.identify()?.identity.key()))
}

/// Returns the mount points that a pass over this path may have recorded, whether or not the
/// directory still exists.
fn names_of(path: &Path) -> Vec<PathBuf> {
    let resolve = |path: &Path| filesystem::resolve(path).ok().map(PathBuf::from);
    let below_parent = || {
        let absolute = std::path::absolute(path).ok()?;
        Some(resolve(absolute.parent()?)?.join(absolute.file_name()?))
    };
    [
        std::path::absolute(path).ok(),
        resolve(path),
        below_parent(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn checkpoint(phase: Phase) -> Checkpoint {
        Checkpoint {
            steps: 1234,
            free_bytes: 4 << 30,
            visited_bytes: 1 << 30,
            active_s: 1024.0,
            phase,
            remark: Some("4 KiB reads: mean 0.4 ms".to_owned()),
            left_s: Some(3072.0),
            ..Checkpoint::begun(&target::sample(), Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn path_is_matched_by_all_its_names() {
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
    fn pass_state_follows_from_lock_and_checkpoint() {
        let state = |phase: Phase, holder| PassStatus::of(&checkpoint(phase), holder).state;
        let running = |waits_for_window| PassState::Running {
            pid: 4711,
            waits_for_window,
        };
        assert_eq!(state(Phase::Running, Some(4711)), running(false));
        assert_eq!(state(Phase::Running, None), PassState::Interrupted);
        let mut waiting = checkpoint(Phase::Running);
        waiting.remark = Some("waiting, outside of --window 01:00-05:00, UTC".to_owned());
        assert_eq!(PassStatus::of(&waiting, Some(4711)).state, running(true));
        // It was killed while it waited.
        assert_eq!(PassStatus::of(&waiting, None).state, PassState::Interrupted);
        let signal = Phase::Stopped {
            reason: "signal 15".to_owned(),
        };
        let stopped = PassState::Stopped {
            reason: "ended by SIGTERM".to_owned(),
        };
        assert_eq!(state(signal, None), stopped);
    }

    #[test]
    fn what_cannot_be_read_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let state = State::open(path("lib"), path("run")).unwrap();
        let mut well = checkpoint(Phase::Running);
        well.identity.uuid = Some("well".to_owned());
        let mut behind = well.clone();
        behind.identity.uuid = Some("behind".to_owned());
        for checkpoint in [&well, &behind] {
            state.save(checkpoint).unwrap();
        }
        for bad in ["one", "two"] {
            std::fs::write(path(&format!("lib/pass-{bad}.json")), "{").unwrap();
        }
        // Whoever holds this lock cannot be told.
        std::os::unix::fs::symlink("elsewhere", path("run/fs-behind.lock")).unwrap();
        let found = status(&state, None);
        let names: Vec<String> = found.unreadable.iter().map(ToString::to_string).collect();
        for wanted in ["pass-one.json", "pass-two.json", "fs-behind.lock"] {
            let count = names.iter().filter(|name| name.contains(wanted)).count();
            assert_eq!(count, 1, "{wanted} in {names:?}");
        }
        let states: Vec<_> = found.passes.iter().map(|pass| &pass.state).collect();
        assert_eq!(states, [&PassState::Unknown, &PassState::Interrupted]);
        let one = status(&state, Some(&["well".to_owned()]));
        assert_eq!(one.passes.len(), 1);
    }

    #[test]
    fn pass_figures() {
        let status = PassStatus::of(&checkpoint(Phase::Running), None);
        assert_eq!(status.visited_bytes_per_s(), Some(1024.0 * 1024.0));
        assert_eq!(status.left(), Some(Duration::from_secs(3072)));
        assert!(!status.is_untouched());
    }
}
