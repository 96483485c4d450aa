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
