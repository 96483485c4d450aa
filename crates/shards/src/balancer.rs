//! The balancer (`BalancedShardsAllocator`): where unassigned copies go, which copies have to move, and
//! which do for balance.
//!
//! It works on a model of the cluster that runs ahead of it: copies that are throttled are put where they
//! would go, so that later ones see the weight they will have. All weights are single precision, in the
//! server's order of operations.

mod balance;
mod explain;
mod model;
mod moves;
mod proof;
mod sorter;
mod spread;
mod unassigned;
mod weight;

pub use explain::{AllocateDecision, CopyDecision, MoveDecision, NodeResult, Outcome, explain};

use crate::allocation::Allocation;
use crate::java::HashOrder;
use crate::model::{Cluster, IndexIndex, NodeIndex};
use crate::nodes::RoutingNodes;
use model::Model;
use sorter::NodeSorter;
use spread::Spreads;
use weight::{WeightFunction, average};

/// Allocates what is unassigned, moves what cannot stay, balances the rest (`allocate`).
pub fn allocate(allocation: &mut Allocation<'_>) {
    let kept = Kept::new(allocation);
    allocate_with(allocation, kept);
}

/// As [`allocate`], with what the balancer knew after the round before; what it knows after this one.
pub(crate) fn allocate_with(allocation: &mut Allocation<'_>, kept: Kept) -> Kept {
    if allocation.nodes.order().is_empty() {
        return kept;
    }
    let mut balancer = Balancer::with(allocation, kept);
    balancer.allocate_unassigned();
    balancer.move_copies();
    balancer.balance();
    Kept {
        model: balancer.model,
        spreads: balancer.spreads,
        copies: balancer.copies,
    }
}

/// What the balancer knows of the cluster, from round to round.
#[derive(Debug)]
pub(crate) struct Kept {
    model: Model,
    spreads: Spreads,
    /// Copies that the metadata ask for.
    copies: u64,
}

impl Kept {
    /// What there is to know of a cluster.
    pub fn new(allocation: &Allocation<'_>) -> Kept {
        let (cluster, nodes) = (allocation.cluster, &*allocation.nodes);
        // The routing nodes are one hash map; the server fills another from it.
        let order = HashOrder::of(nodes.order(), |node: NodeIndex| {
            cluster.node(node).id.as_str()
        });
        Kept {
            model: Model::new(cluster, nodes, order),
            spreads: Spreads::default(),
            copies: cluster.total_copies(),
        }
    }

    /// Brings the picture of some indices in line with the nodes: those that a round changed, or that were
    /// created or deleted. What was put where it would go later is forgotten.
    pub fn follow(&mut self, nodes: &RoutingNodes, cluster: &Cluster, changed: &[IndexIndex]) {
        self.model.follow(cluster, nodes, changed);
    }

    /// The metadata ask for that many copies now.
    pub(crate) fn set_copies(&mut self, copies: u64) {
        self.copies = copies;
    }

    /// Copies that the metadata ask for.
    pub fn copies(&self) -> u64 {
        self.copies
    }
}

struct Balancer<'r, 'a> {
    round: &'r mut Allocation<'a>,
    model: Model,
    sorter: NodeSorter,
    weights: WeightFunction,
    threshold: f32,
    spreads: Spreads,
    /// Copies that the metadata ask for, and how many that is per node on average.
    copies: u64,
    average: f32,
    /// The same of the index that is selected in the model.
    average_of_index: f32,
}

impl<'r, 'a> Balancer<'r, 'a> {
    fn new(round: &'r mut Allocation<'a>) -> Self {
        let kept = Kept::new(round);
        Self::with(round, kept)
    }

    fn with(round: &'r mut Allocation<'a>, kept: Kept) -> Self {
        let settings = &round.cluster.settings;
        let count = kept.model.node_count();
        Balancer {
            weights: WeightFunction::new(settings.balance_index, settings.balance_shard),
            threshold: settings.balance_threshold,
            average: average(kept.copies, count),
            average_of_index: 0.0,
            sorter: NodeSorter::new(count),
            model: kept.model,
            spreads: kept.spreads,
            copies: kept.copies,
            round,
        }
    }

    /// Makes an index the one that weights are for.
    fn select(&mut self, index: IndexIndex) {
        if self.model.select(index) {
            let copies = self.round.cluster.index(index).total_copies();
            self.average_of_index = average(copies, self.model.node_count());
        }
    }

    /// The weight of a node for the selected index if it had that many more copies of it.
    fn weight(&self, node: u32, more: i32) -> f32 {
        let (all, of_index) = (self.model.count(node), self.model.count_of_index(node));
        self.weights.weight(
            all + more,
            of_index + more,
            self.average,
            self.average_of_index,
        )
    }

    /// Weighs the sorter's nodes in a range for an index, and sorts them, the lightest first.
    fn reset(&mut self, index: IndexIndex, from: usize, to: usize) {
        self.select(index);
        for at in from..to {
            self.sorter.weights[at] = self.weight(self.sorter.nodes[at], 0);
        }
        self.sorter.sort(from, to);
    }
}

#[cfg(test)]
mod tests;
