//! Rounds of allocation (`AllocationService`): what is done to the cluster as a whole.

mod commands;
mod indices;
mod live;
mod metadata;
mod rounds;

pub use crate::allocation::Allocation;
pub use commands::{move_copy, retry_failed};
pub use indices::{close_index, create_index, delete_index, open_index, set_replicas};
pub use live::Live;
pub use rounds::{cannot_remain, fail, nodes_changed, reroute, start};

use crate::copy::AllocationIndex;
use crate::engine::Engine;
use crate::gateway::Fetch;
use crate::model::ShardId;
use crate::nodes::Change;

/// What a round is given besides the cluster.
pub struct Round<'a> {
    /// What nodes hold of copies that once were on them.
    pub fetch: &'a dyn Fetch,
    /// Now, on the clock that delays are measured with, nanoseconds; never runs backwards.
    pub now_nanos: i64,
    /// Makes the engine that answers for a node's copies.
    pub engine: fn() -> Engine,
}

impl<'a> Round<'a> {
    /// A round with the engine that is the default.
    pub fn new(fetch: &'a dyn Fetch, now_nanos: i64) -> Self {
        Self {
            fetch,
            now_nanos,
            engine: Engine::default,
        }
    }
}

/// What a round did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Every change, in order. Empty: the cluster is as it was.
    pub changes: Vec<Change>,
    /// Whether data of some copy is still being asked for.
    pub pending_fetch: bool,
}

/// A copy on a node, as the server tells copies apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopyId {
    /// The shard.
    pub shard: ShardId,
    /// Its allocation id.
    pub allocation: AllocationIndex,
}

/// A copy that failed (`FailedShard`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedCopy {
    /// Which.
    pub copy: CopyId,
    /// Whether it leaves the in-sync set, too.
    pub mark_stale: bool,
}

#[cfg(test)]
mod tests;
