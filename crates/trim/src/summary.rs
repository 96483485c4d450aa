//! What a session did with one filesystem: the figures behind the summary, the stream and the audit
//! log.

use crate::layers::{LayerCount, LayerCounters};
use crate::pass::{Ended, Outcome, Progressed};
use crate::state::Checkpoint;
use crate::target::Target;
use facts::Finding;
use jiff::Timestamp;
use std::time::Duration;

/// How a pass ended in this session, and what earlier sessions did for it.
#[derive(Debug, Clone)]
pub struct PassSummary {
    /// Where it is mounted.
    pub mount_point: String,
    /// What was trimmed.
    pub target: Target,
    /// When this session began to work on it.
    pub began_at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// It was resumed from a checkpoint.
    pub is_resumed: bool,
    /// What earlier sessions did.
    pub earlier: EarlierSessions,
    /// What each layer saw in all sessions, from the mount down.
    pub layers: Vec<LayerCount>,
    /// What is mounted: one device, or those of a Btrfs.
    pub top_devices: Vec<String>,
    /// This kernel counts discards: what is not measurable is the devices' doing.
    pub kernel_counts: bool,
    /// For how long the quiet level was measured.
    pub measuring: Duration,
    /// What was warned of.
    pub warnings: Vec<String>,
    /// Findings that explain why discards are swallowed.
    pub findings: Vec<Finding>,
}

/// What earlier sessions of a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EarlierSessions {
    /// Steps made.
    pub steps: u64,
    /// Free bytes visited.
    pub visited_bytes: u64,
    /// Time spent, pauses included.
    pub active: Duration,
}

impl EarlierSessions {
    /// As the checkpoint has it.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            steps: checkpoint.steps,
            visited_bytes: checkpoint.visited_bytes,
            active: Duration::try_from_secs_f64(checkpoint.active_s).unwrap_or_default(),
        }
    }
}

/// What each layer saw; unknown everywhere where nothing could be measured.
pub(crate) fn layer_counts(counters: &LayerCounters, outcome: &Outcome) -> Vec<LayerCount> {
    let mut counts = counters.read(&outcome.progress.discarded);
    if !outcome.measurable {
        for layer in &mut counts {
            layer.discarded_bytes = None;
        }
    }
    counts
}

impl PassSummary {
    /// Whether the pass got to work at all.
    pub fn has_figures(&self) -> bool {
        self.outcome.survey.is_some() || self.outcome.progress.steps > 0
    }

    /// How far it came, in all sessions; the time is of this session alone.
    pub fn progress(&self) -> &Progressed {
        &self.outcome.progress
    }

    /// Steps of this session.
    pub fn session_steps(&self) -> u64 {
        self.progress().steps.saturating_sub(self.earlier.steps)
    }

    /// Free bytes that this session visited.
    pub fn session_visited_bytes(&self) -> u64 {
        let visited = self.progress().visited_bytes;
        visited.saturating_sub(self.earlier.visited_bytes)
    }

    /// For how long this session measured the quiet level.
    pub fn session_measuring(&self) -> Duration {
        self.measuring.min(self.progress().active)
    }

    /// Bytes visited a second in this session, pauses included, measuring excluded.
    #[allow(clippy::cast_precision_loss)] // a rate for people
    pub fn visited_bytes_per_s(&self) -> f64 {
        let measuring = self.session_measuring();
        let worked = self.progress().active.saturating_sub(measuring);
        if worked.is_zero() {
            0.0
        } else {
            self.session_visited_bytes() as f64 / worked.as_secs_f64()
        }
    }

    /// Time spent in all sessions.
    pub fn active_in_all(&self) -> Duration {
        self.earlier.active.saturating_add(self.progress().active)
    }

    /// Where a complete pass of ext4 discarded less than half of what it visited, the kernel skipped
    /// block groups: since they were last trimmed nothing was freed in them (`EXT4_MB_GRP_WAS_TRIMMED`,
    /// fs/ext4/mballoc.c; forgotten when the filesystem is unmounted).
    pub fn was_trimmed_before(&self) -> bool {
        let is_ext4 = matches!(self.target.identity.fs_type.as_str(), "ext3" | "ext4");
        let tops = self.layers.iter().filter(|layer| layer.depth == 0);
        let discarded: Option<u64> = tops.map(|layer| layer.discarded_bytes).sum();
        is_ext4
            && self.outcome.ended == Ended::Complete
            && discarded.is_some_and(|bytes| bytes < self.progress().visited_bytes / 2)
    }
}
