//! The state of one round of allocation.

use crate::deciders::Deciders;
use crate::model::Cluster;
use crate::nodes::RoutingNodes;

/// State of one allocation round (`RoutingAllocation`).
#[derive(Debug)]
pub struct Allocation<'a> {
    /// Metadata, routing table, disks and settings at the start of the round.
    pub cluster: &'a Cluster,
    /// The nodes, which the round modifies.
    pub nodes: &'a mut RoutingNodes,
    /// The deciders.
    pub deciders: &'a Deciders,
    /// Whether the round is explained: the balancer then skips no node.
    pub debug: bool,
    /// Whether the round simulates the future, as the desired balance is computed: some limits of the
    /// moment then do not count (`isSimulating`).
    pub simulating: bool,
    /// Whether the round makes the next steps towards a desired balance (`isReconciling`).
    pub reconciling: bool,
    /// Current time in nanoseconds, on the clock that measures allocation delays.
    pub now_nanos: i64,
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
            debug: false,
            simulating: false,
            reconciling: false,
            now_nanos,
        }
    }
}
