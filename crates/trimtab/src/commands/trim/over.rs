//! A pass that is over, for the summary, the stream and the audit log.

use super::layers::{Seen, Ways};
use jiff::Timestamp;
use std::time::Duration;
use trim::pass::Outcome;
use trim::state::Checkpoint;
use trim::target::Target;

/// One sitting of a pass, and what came before it.
pub struct Over<'a> {
    pub target: &'a Target,
    pub began_at: Timestamp,
    pub outcome: &'a Outcome,
    /// It went on from a checkpoint.
    pub is_resumed: bool,
    pub earlier: Earlier,
    pub ways: &'a Ways,
    /// This kernel counts discards: what is not measurable is the devices' doing.
    pub kernel_counts: bool,
    pub warnings: &'a [String],
}

/// What earlier sittings did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Earlier {
    pub steps: u64,
    pub visited_bytes: u64,
    pub active: Duration,
}

impl Earlier {
    /// As the checkpoint has it.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            steps: checkpoint.steps,
            visited_bytes: checkpoint.visited_bytes,
            active: Duration::try_from_secs_f64(checkpoint.active_s).unwrap_or_default(),
        }
    }
}

impl Over<'_> {
    /// What each layer saw, from the mount down.
    pub fn seen(&self) -> Vec<Seen<'_>> {
        let mut seen = self.ways.seen(&self.outcome.progress.discarded);
        if !self.outcome.measurable {
            for layer in &mut seen {
                layer.discarded_bytes = None;
            }
        }
        seen
    }
}
