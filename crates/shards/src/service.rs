//! Rounds of allocation (`AllocationService`): what is done to the cluster as a whole.

mod commands;
mod indices;
mod live;
mod metadata;
mod rounds;

pub use commands::{move_copy, retry_failed};
pub use indices::{close_index, create_index, delete_index, open_index, set_replicas};
pub use live::Live;
pub use rounds::{cannot_remain, fail, nodes_changed, reroute, start};

use std::collections::HashMap;

use crate::copy::AllocationIndex;
use crate::deciders::Deciders;
use crate::engine::Engine;
use crate::gateway::Fetch;
use crate::model::{Cluster, NodeIndex, ShardId};
use crate::nodes::{Change, RoutingNodes};

/// A round under way (`RoutingAllocation`).
#[derive(Debug)]
pub struct Allocation<'a> {
    /// Metadata, table, disks and settings as they were when the round began.
    pub cluster: &'a Cluster,
    /// The nodes, as they become.
    pub nodes: &'a mut RoutingNodes,
    /// Who decides.
    pub deciders: &'a Deciders,
    /// Whether data of some copy is still being asked for; no rebalancing then.
    pub has_pending_fetch: bool,
    /// Whether `allocation.enable` and `rebalance.enable` are to be ignored: while commands run.
    pub ignore_disable: bool,
    /// Whether the round follows commands, which the server explains: a replica that no node may take
    /// is then looked up all the same if nodes have been asked for its files.
    pub debug: bool,
    /// Now, on the clock that delays are measured with.
    pub now_nanos: i64,
    ignored: HashMap<ShardId, Vec<NodeIndex>>,
}

impl<'a> Allocation<'a> {
    /// A round that has changed nothing yet.
    pub fn new(
        cluster: &'a Cluster,
        nodes: &'a mut RoutingNodes,
        deciders: &'a Deciders,
        now_nanos: i64,
    ) -> Self {
        Self {
            cluster,
            nodes,
            deciders,
            has_pending_fetch: false,
            ignore_disable: false,
            debug: false,
            now_nanos,
            ignored: HashMap::new(),
        }
    }

    /// Keeps a shard off a node for this round: it has just failed there (`addIgnoreShardForNode`).
    pub fn ignore_node(&mut self, shard: ShardId, node: NodeIndex) {
        let nodes = self.ignored.entry(shard).or_default();
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }

    /// Whether the shard is kept off the node (`shouldIgnoreShardForNode`).
    pub fn is_node_ignored(&self, shard: ShardId, node: NodeIndex) -> bool {
        self.ignored_nodes(shard).contains(&node)
    }

    /// Whether no shard is kept off any node.
    pub fn ignores_nothing(&self) -> bool {
        self.ignored.is_empty()
    }

    /// The nodes the shard is kept off (`getIgnoreNodes`).
    pub fn ignored_nodes(&self, shard: ShardId) -> &[NodeIndex] {
        // Almost always empty: no hashing then.
        if self.ignores_nothing() {
            return &[];
        }
        self.ignored.get(&shard).map_or(&[], Vec::as_slice)
    }
}

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
