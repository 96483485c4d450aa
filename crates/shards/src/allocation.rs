//! The state of one round of allocation.

use std::collections::HashMap;

use crate::deciders::Deciders;
use crate::model::{Cluster, NodeIndex, ShardId};
use crate::nodes::RoutingNodes;

/// One round of allocation (`RoutingAllocation`).
#[derive(Debug)]
pub struct Allocation<'a> {
    /// Metadata, table, disks and settings as they were when the round began.
    pub cluster: &'a Cluster,
    /// The nodes; the round changes them.
    pub nodes: &'a mut RoutingNodes,
    /// The deciders.
    pub deciders: &'a Deciders,
    /// Whether nodes have yet to answer what they hold of some copy; the round then does not rebalance.
    pub has_pending_fetch: bool,
    /// Whether to ignore `allocation.enable` and `rebalance.enable`, as while commands run.
    pub ignore_disable: bool,
    /// Whether the round follows commands, which the server explains: it then also looks up a replica
    /// that no node may take, if nodes have been asked for its files.
    pub debug: bool,
    /// The current time on the clock that delays are measured with, nanoseconds.
    pub now_nanos: i64,
    ignored: HashMap<ShardId, Vec<NodeIndex>>,
}

impl<'a> Allocation<'a> {
    /// A round that has not changed anything yet.
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

    /// Excludes a node for a shard in this round, because a copy has just failed there
    /// (`addIgnoreShardForNode`).
    pub(crate) fn ignore_node(&mut self, shard: ShardId, node: NodeIndex) {
        let nodes = self.ignored.entry(shard).or_default();
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }

    /// Whether the node is excluded for the shard (`shouldIgnoreShardForNode`).
    pub(crate) fn is_node_ignored(&self, shard: ShardId, node: NodeIndex) -> bool {
        self.ignored_nodes(shard).contains(&node)
    }

    /// Whether no node is excluded for any shard.
    pub(crate) fn ignores_nothing(&self) -> bool {
        self.ignored.is_empty()
    }

    /// The nodes that are excluded for the shard (`getIgnoreNodes`).
    pub(crate) fn ignored_nodes(&self, shard: ShardId) -> &[NodeIndex] {
        // Almost always empty: skip the hashing.
        if self.ignores_nothing() {
            return &[];
        }
        self.ignored.get(&shard).map_or(&[], Vec::as_slice)
    }
}
