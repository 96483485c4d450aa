//! Results of a session for one filesystem: the figures behind the summary, the event stream and
//! the audit log.

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
    /// The mount point.
    pub mount_point: String,
    /// The trimmed filesystem.
    pub target: Target,
    /// When this session began to work on it.
    pub began_at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it was resumed from a checkpoint.
    pub is_resumed: bool,
    /// Totals of earlier sessions.
    pub earlier: EarlierSessions,
    /// Discards at each layer in all sessions, from the mount down.
    pub layers: Vec<LayerCount>,
    /// The mounted devices: one, or several for a Btrfs.
    pub top_devices: Vec<String>,
    /// Whether this kernel counts discards: if so, it is the devices that make them unmeasurable.
    pub kernel_counts: bool,
    /// How long the quiet level was measured.
    pub measuring: Duration,
    /// Warnings issued.
    pub warnings: Vec<String>,
    /// Findings that explain why discards are swallowed.
    pub findings: Vec<Finding>,
}

/// Totals of the earlier sessions of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EarlierSessions {
    /// Steps made.
    pub steps: u64,
    /// Free bytes visited.
    pub visited_bytes: u64,
    /// Time spent, including pauses.
    pub active: Duration,
}

impl EarlierSessions {
    /// Takes the totals from a checkpoint.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            steps: checkpoint.steps,
            visited_bytes: checkpoint.visited_bytes,
            active: Duration::try_from_secs_f64(checkpoint.active_s).unwrap_or_default(),
        }
    }
}

/// Returns the discards at each layer; unknown for all layers if nothing could be measured.
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
    /// Returns whether the pass got to work at all.
    pub fn has_figures(&self) -> bool {
        self.outcome.survey.is_some() || self.outcome.progress.steps > 0
    }

    /// Returns the progress over all sessions; its time covers this session alone.
    pub fn progress(&self) -> &Progressed {
        &self.outcome.progress
    }

    /// Returns the number of steps of this session.
    pub fn session_steps(&self) -> u64 {
        self.progress().steps.saturating_sub(self.earlier.steps)
    }

    /// Returns the free bytes that this session visited.
    pub fn session_visited_bytes(&self) -> u64 {
        let visited = self.progress().visited_bytes;
        visited.saturating_sub(self.earlier.visited_bytes)
    }

    /// Returns how long this session measured the quiet level.
    pub fn session_measuring(&self) -> Duration {
        self.measuring.min(self.progress().active)
    }

    /// Returns the bytes visited per second in this session, including pauses but not measuring.
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

    /// Returns the time spent in all sessions.
    pub fn active_in_all(&self) -> Duration {
        self.earlier.active.saturating_add(self.progress().active)
    }

    /// Returns whether the kernel skipped block groups of ext4 because nothing was freed in them
    /// since they were last trimmed (`EXT4_MB_GRP_WAS_TRIMMED`, fs/ext4/mballoc.c; forgotten when
    /// the filesystem is unmounted). Assumed if a complete pass discarded less than half of what it
    /// visited.
    pub fn was_trimmed_before(&self) -> bool {
        let is_ext4 = matches!(self.target.identity.fs_type.as_str(), "ext3" | "ext4");
        let tops = self.layers.iter().filter(|layer| layer.depth == 0);
        let discarded: Option<u64> = tops.map(|layer| layer.discarded_bytes).sum();
        is_ext4
            && self.outcome.ended == Ended::Complete
            && discarded.is_some_and(|bytes| bytes < self.progress().visited_bytes / 2)
    }
}
