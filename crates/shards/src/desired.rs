//! The desired balance of Elasticsearch from 8.6 on: where every copy should be, and the steps towards it.
//!
//! The master computes it beside its queue ([`compute`]): it simulates its balancer until nothing moves
//! any more. In each round it then makes the next steps that the deciders allow ([`Reconciler`]). Both were
//! read in 8.6.2, 8.11.0, 8.15.5, 8.19.16 and 9.2.0; what differs is in `rules`.

mod claimed;
mod compute;
mod disks;
mod ordering;
mod reconcile;
mod rules;
mod targets;

pub use compute::{Computed, End, compute};
pub use reconcile::Reconciler;

use crate::copy::ShardCopy;
use crate::model::{Cluster, NodeIndex, NumberMap, ShardId};

/// Where the copies of one shard should be (`ShardAssignment`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Assignment {
    /// The nodes that should have one, in the server's order.
    pub nodes: Vec<NodeIndex>,
    /// Number of copies; those without a node included.
    pub total: u32,
    /// Number of copies without a node.
    pub unassigned: u32,
    /// How many of those are left to others, to the gateway allocator for example, or wait for something.
    pub ignored: u32,
}

/// Where all copies should be (`DesiredBalance`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DesiredBalance {
    /// Per shard, its nodes.
    pub assignments: NumberMap<ShardId, Assignment>,
    /// Whether the computation came to its end.
    pub converged: bool,
}

impl DesiredBalance {
    /// Takes the present placement as desired; a copy that moves should be where it goes.
    pub fn of_placement(cluster: &Cluster) -> Self {
        let mut assignments: NumberMap<ShardId, Assignment> = NumberMap::default();
        for copy in cluster.routing.copies() {
            assignments.entry(copy.shard).or_default().count(copy);
        }
        Self {
            assignments,
            converged: true,
        }
    }

    /// Where the copies of a shard should be, if that was computed.
    pub fn assignment(&self, shard: ShardId) -> Option<&Assignment> {
        self.assignments.get(&shard)
    }
}

impl Assignment {
    fn count(&mut self, copy: &ShardCopy) {
        self.total += 1;
        match copy.relocating.or(copy.node) {
            Some(node) => self.nodes.push(node),
            None => self.unassigned += 1,
        }
    }
}

#[cfg(test)]
mod tests;
