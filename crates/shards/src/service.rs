//! Allocation rounds and operations on the whole cluster (`AllocationService`).

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

/// Inputs of a round other than the cluster.
pub struct Round<'a> {
    /// Source of the nodes' store information.
    pub fetch: &'a dyn Fetch,
    /// Current time in nanoseconds, on the clock that measures allocation delays; never runs backwards.
    pub now_nanos: i64,
    /// Creates the engine for queries about the nodes' copies.
    pub engine: fn() -> Engine,
}

impl<'a> Round<'a> {
    /// Creates a round with the default engine.
    pub fn new(fetch: &'a dyn Fetch, now_nanos: i64) -> Self {
        Self {
            fetch,
            now_nanos,
            engine: Engine::default,
        }
    }
}

/// Result of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// All changes, in order. If empty, the cluster is unchanged.
    pub changes: Vec<Change>,
    /// Whether store information is still being fetched for some copy.
    pub pending_fetch: bool,
}

/// Identifies a copy on a node, as the server does.
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
    /// The copy.
    pub copy: CopyId,
    /// Whether it is also removed from the in-sync set.
    pub mark_stale: bool,
}

#[cfg(test)]
mod tests;
