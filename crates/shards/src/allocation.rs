//! The state of one round of allocation.

use std::collections::HashMap;

use crate::deciders::Deciders;
use crate::model::{Cluster, NodeIndex, ShardId};
use crate::nodes::RoutingNodes;

/// State of one allocation round (`RoutingAllocation`).
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent circumstances of a round"
)]
pub struct Allocation<'a> {
    /// Metadata, routing table, disks and settings at the start of the round.
    pub cluster: &'a Cluster,
    /// The nodes, which the round modifies.
    pub nodes: &'a mut RoutingNodes,
    /// The deciders.
    pub deciders: &'a Deciders,
    /// Whether some nodes have yet to report which copies they hold; if so, the round does not rebalance.
    pub has_pending_fetch: bool,
    /// Whether to ignore `allocation.enable` and `rebalance.enable`, as while commands run.
    pub ignore_disable: bool,
    /// Whether the round follows reroute commands, which the server runs in explain mode: it then also
    /// looks for data of replicas that no node may take, provided their files have been requested from
    /// the nodes before.
    pub debug: bool,
    /// Whether the round simulates the future, as the desired balance is computed: some limits of the
    /// moment then do not count (`isSimulating`).
    pub simulating: bool,
    /// Whether the round makes the next steps towards a desired balance (`isReconciling`).
    pub reconciling: bool,
    /// Current time in nanoseconds, on the clock that measures allocation delays.
    pub now_nanos: i64,
    ignored: HashMap<ShardId, Vec<NodeIndex>>,
}

impl<'a> Allocation<'a> {
    /// Creates a round with no changes yet.
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
            simulating: false,
            reconciling: false,
            now_nanos,
            ignored: HashMap::new(),
        }
    }

    /// Excludes a node for a shard in this round because a copy has just failed there
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

    /// Nodes excluded for the shard (`getIgnoreNodes`).
    pub(crate) fn ignored_nodes(&self, shard: ShardId) -> &[NodeIndex] {
        // Almost always empty, so skip the hashing.
        if self.ignores_nothing() {
            return &[];
        }
        self.ignored.get(&shard).map_or(&[], Vec::as_slice)
    }
}
