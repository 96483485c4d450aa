//! What only OpenSearch does: a penalty for nodes that have their share of an index, the average of its
//! model, and shortcuts when copies have to move.
//!
//! Not modelled, because it is chance: the order in which the nodes take turns when copies have to move,
//! which 2.19 shuffles for each round (1.3 does not). Which of several equal nodes a copy goes to depends on it.
//!
//! Not modelled, because they are off by default: `balance.prefer_primary` and `rebalance.primary.*`,
//! `shard_movement_strategy` (`move.primary_first`), `balanced_shards_allocator.allocator_timeout`; nor
//! the second balancer for indices on remote storage (`RemoteShardsBalancer`).

use super::Balancer;
use super::rules::Average;
use super::weight::float;
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::NodeIndex;

/// Weight of a constraint that a node would break (`CONSTRAINT_WEIGHT`).
const CONSTRAINT_WEIGHT: f32 = 1_000_000.0;

impl Balancer<'_, '_> {
    /// What is added to a node's weight for a copy to be placed, because the node has its share of the
    /// selected index (`isIndexShardsPerNodeBreached`).
    pub(super) fn penalty(&self, node: u32) -> f32 {
        if self.rules.open.is_none() {
            return 0.0;
        }
        let allowed = f64::from(self.average_of_index).ceil();
        if f64::from(self.model.count_of_index(node)) >= allowed {
            CONSTRAINT_WEIGHT
        } else {
            0.0
        }
    }

    /// Updates the average of those versions that average the copies of the model.
    pub(super) fn follow_average(&mut self) {
        let nodes = i32::try_from(self.model.node_count()).unwrap_or(i32::MAX);
        match self.rules.open.map(|open| open.average) {
            None | Some(Average::Metadata) => {}
            Some(Average::Model) => self.average = float(self.model.total()) / float(nodes),
            Some(Average::ModelRounded) => {
                self.average = float(self.model.total() / nodes.max(1));
            }
        }
    }
}

/// Which nodes take no copy that has to move, and which copies may leave. Elsewhere, and in explanations,
/// it is open.
#[derive(Debug)]
pub(super) struct Gate {
    /// Whether each node of the model is out of the question.
    shut: Option<Vec<bool>>,
}

impl Gate {
    pub fn open() -> Gate {
        Gate { shut: None }
    }

    pub fn new(balancer: &Balancer<'_, '_>) -> Gate {
        if balancer.rules.open.is_none() || balancer.round.debug {
            return Gate::open();
        }
        let shut = |&node: &NodeIndex| !balancer.round.may_take_any(node);
        Gate {
            shut: Some(balancer.model.order().iter().map(shut).collect()),
        }
    }

    /// Whether no node is left.
    pub fn is_shut(&self) -> bool {
        self.shut
            .as_ref()
            .is_some_and(|shut| shut.iter().all(|shut| *shut))
    }

    /// Whether the copy may leave its node now (`canMoveAway`).
    pub fn lets_go(&self, round: &Allocation<'_>, copy: &ShardCopy) -> bool {
        self.shut.is_none() || round.may_leave(copy)
    }

    /// Whether the node is out of the question for the rest of the round.
    pub fn keeps_out(&mut self, round: &Allocation<'_>, node: NodeIndex, place: u32) -> bool {
        self.look_at(round, node, place);
        self.shut.as_ref().is_some_and(|shut| shut[place as usize])
    }

    pub fn look_at(&mut self, round: &Allocation<'_>, node: NodeIndex, place: u32) {
        if let Some(shut) = &mut self.shut {
            shut[place as usize] |= !round.may_take_any(node);
        }
    }
}

impl Allocation<'_> {
    /// Whether a node may take any copy that has to move (`canAllocateAnyShardToNode`).
    fn may_take_any(&self, node: NodeIndex) -> bool {
        let limit = self.cluster.settings.node_concurrent_incoming_recoveries;
        self.deciders.cluster_fault(node).is_none() && self.nodes.incoming_recoveries(node) < limit
    }

    /// Whether the node that feeds a copy's recovery has an outgoing one to spare.
    fn may_leave(&self, copy: &ShardCopy) -> bool {
        let source = if copy.primary {
            copy.node
        } else {
            let primary = self.nodes.active_primary(copy.shard);
            primary.and_then(|primary| self.nodes.copy(primary).node)
        };
        let limit = self.cluster.settings.node_concurrent_outgoing_recoveries;
        source.is_some_and(|source| self.nodes.outgoing_recoveries(source) < limit)
    }
}
