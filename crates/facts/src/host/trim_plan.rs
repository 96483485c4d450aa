use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What `trimtab plan --apply` has written on a host, compared with what is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrimPlan {
    /// The filesystems that it trims; none without a plan.
    pub mount_points: Vec<String>,
    /// Where reality differs from it, a sentence each: timers that are off, files that were changed, passes that never
    /// finish. Other trims of the filesystems are not among it: they are jobs.
    pub drift: Vec<String>,
    /// The calls that write it again.
    pub commands: Vec<String>,
}

/// The last passes of `trimtab trim` over a filesystem, from its audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrimPasses {
    /// Where it was mounted.
    pub mount_point: String,
    /// When the last pass ended, however it did.
    pub ended_at: Timestamp,
    /// How long it ran, with its pauses, in seconds.
    pub active_s: f64,
    /// Bytes that it discarded on the drives; `None` if they do not count them.
    pub discarded_bytes: Option<u64>,
    /// When the last complete pass ended: the same time if that was the last one.
    pub completed_at: Option<Timestamp>,
}
