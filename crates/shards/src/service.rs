//! Allocation rounds and operations on the whole cluster (`AllocationService`).

mod indices;
mod live;
mod metadata;
mod rounds;

pub use crate::allocation::Allocation;
pub use indices::{close_index, create_index, set_replicas};
pub use live::Live;
pub use rounds::{cannot_remain, nodes_changed, reroute};

use crate::copy::AllocationIndex;
use crate::model::ShardId;

/// Identifies a copy on a node, as the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopyId {
    /// The shard.
    pub shard: ShardId,
    /// Its allocation id.
    pub allocation: AllocationIndex,
}

#[cfg(test)]
mod tests;
