//! The balancer (`BalancedShardsAllocator`): places unassigned copies, moves copies that cannot remain,
//! and rebalances.
//!
//! It works on a model of the cluster that runs ahead of the real one: throttled copies count on the node
//! they would go to, so that later decisions see the weight it will have. All weights are single
//! precision, computed in the server's order of operations. What differs between the generations of the
//! balancer is data: [`rules::Rules`].

mod balance;
mod explain;
mod loads;
mod model;
mod moves;
mod opensearch;
mod proof;
mod rules;
mod sorter;
mod spread;
mod unassigned;
mod weight;

pub use explain::{AllocateDecision, CopyDecision, MoveDecision, NodeResult, Outcome, explain};

use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::java::{DEFAULT_BINS, Filled, bins_after, bins_for, by_hash, string_hash};
use crate::model::{Cluster, IndexIndex, NodeIndex};
use crate::nodes::RoutingNodes;
use loads::Loads;
use model::Model;
use rules::Rules;
use sorter::NodeSorter;
use spread::SpreadBounds;
use weight::{NodeTerms, WeightFunction, average, float};

/// Allocates unassigned copies, moves copies that cannot remain, then rebalances (`allocate`).
pub fn allocate(allocation: &mut Allocation<'_>) {
    let state = BalancerState::new(allocation);
    allocate_with(allocation, state);
}

/// Like [`allocate`], but takes the balancer's state from the previous round and returns it for the next.
pub(crate) fn allocate_with(
    allocation: &mut Allocation<'_>,
    state: BalancerState,
) -> BalancerState {
    if allocation.nodes.order().is_empty() {
        return state;
    }
    let mut balancer = Balancer::with(allocation, state);
    let ends_early = balancer.rules.one_at_a_time;
    let placed = balancer.allocate_unassigned();
    if !(placed && ends_early) {
        let moved = balancer.move_copies();
        if !(moved && ends_early) {
            balancer.balance();
        }
    }
    BalancerState {
        model: balancer.model,
        loads: balancer.loads,
        spreads: balancer.spreads,
        copies: balancer.copies,
    }
}

/// Balancer state kept from round to round.
#[derive(Debug)]
pub(crate) struct BalancerState {
    model: Model,
    /// Kept between the runs of a simulation only.
    loads: Option<Loads>,
    spreads: SpreadBounds,
    /// Total copies that the metadata asks for.
    copies: u64,
}

impl BalancerState {
    /// Builds the state for a cluster from scratch.
    pub fn new(allocation: &Allocation<'_>) -> BalancerState {
        let (cluster, nodes) = (allocation.cluster, &*allocation.nodes);
        // The routing nodes come from one hash map; the server fills a second one from it.
        let count = nodes.order().len();
        let bins = if Rules::of(cluster).has_sized_map {
            bins_for(count)
        } else {
            DEFAULT_BINS
        };
        let hash = |node: &NodeIndex| string_hash(&cluster.node(*node).id);
        let order = by_hash(
            nodes.order().to_vec(),
            Filled::Put,
            bins_after(bins, count),
            hash,
        );
        BalancerState {
            model: Model::new(cluster, nodes, order),
            loads: None,
            spreads: SpreadBounds::default(),
            copies: cluster.total_copies(),
        }
    }

    /// Updates the model for the indices that a round changed. Discards the placements of throttled copies.
    pub fn follow(&mut self, nodes: &RoutingNodes, cluster: &Cluster, changed: &[IndexIndex]) {
        self.model.follow(cluster, nodes, changed);
        self.loads = None;
    }

    /// Updates the state after the round's recovering copies have started: those given, as they were before.
    pub fn follow_starts(
        &mut self,
        nodes: &RoutingNodes,
        cluster: &Cluster,
        started: &[ShardCopy],
    ) {
        let indices: Vec<IndexIndex> = started.iter().map(|copy| copy.shard.index).collect();
        self.model.follow(cluster, nodes, &indices);
        let Some(loads) = &mut self.loads else { return };
        for copy in started {
            let mut changed = |node: NodeIndex| loads.node_changed(self.model.place(node));
            copy.node
                .into_iter()
                .chain(copy.relocating)
                .for_each(&mut changed);
            // Recovering replicas of a primary that moves begin again; and the size of a new copy is that of
            // the shard's others of its kind too.
            if copy.primary || copy.relocating.is_none() {
                let others = nodes.assigned_copies(copy.shard);
                others.filter_map(|copy| copy.node).for_each(&mut changed);
            }
            if copy.relocating.is_none() {
                loads.size_changed(copy.shard);
            }
        }
    }
}

struct Balancer<'r, 'a> {
    round: &'r mut Allocation<'a>,
    rules: Rules,
    model: Model,
    loads: Option<Loads>,
    sorter: NodeSorter,
    weights: WeightFunction,
    threshold: f32,
    spreads: SpreadBounds,
    /// Total copies that the metadata asks for, and their average per node.
    copies: u64,
    average: f32,
    /// Average copies per node of the index selected in the model.
    average_of_index: f32,
}

impl<'r, 'a> Balancer<'r, 'a> {
    fn new(round: &'r mut Allocation<'a>) -> Self {
        let state = BalancerState::new(round);
        Self::with(round, state)
    }

    fn with(round: &'r mut Allocation<'a>, state: BalancerState) -> Self {
        let cluster = round.cluster;
        let rules = Rules::of(cluster);
        let settings = &cluster.settings;
        let count = state.model.node_count();
        let loads = rules.loads.map(|rules| match state.loads {
            None => Loads::new(rules, round, state.model.order()),
            Some(mut loads) => {
                loads.refresh(round, state.model.order());
                loads
            }
        });
        let mut balancer = Balancer {
            weights: WeightFunction::new(settings, loads.is_some()),
            threshold: if loads.is_some() {
                settings.balance_threshold.max(1.0)
            } else {
                settings.balance_threshold
            },
            average: average(state.copies, count),
            average_of_index: 0.0,
            sorter: NodeSorter::new(count, rules.partition),
            rules,
            loads,
            model: state.model,
            spreads: state.spreads,
            copies: state.copies,
            round,
        };
        balancer.follow_average();
        balancer
    }

    /// Adds a copy to a node of the model.
    fn put(&mut self, node: u32, copy: &ShardCopy) {
        self.model.add(node, copy);
        if let Some(loads) = &mut self.loads {
            loads.add(node, copy);
        }
        self.follow_average();
    }

    /// Removes a started copy from its node in the model.
    fn take_started(&mut self, node: u32, copy: &ShardCopy) {
        self.model.remove_started(node, copy);
        if let Some(loads) = &mut self.loads {
            loads.remove(node, copy);
        }
    }

    /// Selects the index that weights refer to.
    fn select(&mut self, index: IndexIndex) {
        if self.model.select(index) {
            let copies = self.round.cluster.index(index).total_copies();
            self.average_of_index = average(copies, self.model.node_count());
        }
    }

    /// Weight of a node for the selected index if it had `more` additional copies of it.
    fn weight(&self, node: u32, more: i32) -> f32 {
        let (all, of_index) = (self.model.count(node), self.model.count_of_index(node));
        let Some(loads) = &self.loads else {
            return self.weights.weight(
                all + more,
                of_index + more,
                self.average,
                self.average_of_index,
            );
        };
        let above = (
            float(all + more) - self.average,
            float(of_index + more) - self.average_of_index,
        );
        self.weights
            .weight_with_loads(above, loads.excess(node), loads.rules().index_last)
    }

    /// The parts of the nodes' weights that are the same for all indices.
    fn node_terms(&self) -> NodeTerms {
        let mut terms = NodeTerms::default();
        for node in self.model.nodes() {
            let above = float(self.model.count(node)) - self.average;
            let (excess, index_last) = match &self.loads {
                None => ((0.0, 0.0), false),
                Some(loads) => (loads.excess(node), loads.rules().index_last),
            };
            self.weights.add_node(&mut terms, above, excess, index_last);
        }
        terms
    }

    /// The difference of two nodes' weights that is worth the move of a copy of the index.
    fn threshold_of(&self, index: IndexIndex) -> f32 {
        match &self.loads {
            None => self.threshold,
            Some(loads) => {
                let of_move = loads::of_move(loads.rules(), self.round.cluster, index);
                self.weights.of_one(of_move) * self.threshold
            }
        }
    }

    /// Computes the weights of a range of the sorter's nodes for an index and sorts them, lightest first.
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
