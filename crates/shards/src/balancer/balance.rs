//! Rebalancing (`balance`, `balanceByWeights`, `tryRelocateShard`).

use super::Balancer;
use super::rules::Relocation;
use super::sorter::BySpread;
use super::weight::{NodeTerms, within};
use crate::copy::CopyState;
use crate::deciders::{NoReasons, Verdict};
use crate::model::{IndexIndex, ShardId};
use crate::nodes::CopyIndex;

/// After so many indices with nodes of equal weight, it is assumed that all indices have some.
const MOST_TIES: usize = 8;

impl Balancer<'_, '_> {
    /// Evens out the weights, index by index, if any copy may move at all.
    pub(super) fn balance(&mut self) {
        if self.round.can_rebalance_cluster(&mut NoReasons) != Verdict::Yes
            || self.model.node_count() < 2
            || (self.loads.is_none() && self.is_balanced())
        {
            return;
        }
        for index in self.by_spread() {
            if self.balance_index(index) {
                return;
            }
        }
    }

    pub(super) fn routed(&self) -> impl Iterator<Item = IndexIndex> + use<'_> {
        self.round
            .cluster
            .routing
            .tables()
            .iter()
            .map(|table| table.index)
    }

    /// All routed indices, most unbalanced first.
    ///
    /// The sorter ends as if it had sorted the nodes for each index in turn.
    pub(super) fn by_spread(&mut self) -> Vec<IndexIndex> {
        let indices: Vec<IndexIndex> = self.routed().collect();
        let all = self.sorter.len();
        // Where no two nodes weigh the same, their order does not depend on the one before: the spreads of
        // the indices up to there need no sorting.
        let before = self.sorter.nodes.clone();
        let mut rest = None;
        for (at, index) in indices.iter().enumerate().rev().take(MOST_TIES) {
            self.reset(*index, 0, all);
            if self.sorter.has_distinct_weights() {
                rest = Some(at);
                break;
            }
        }
        let mut deltas = Vec::with_capacity(indices.len());
        let rest = rest.unwrap_or_else(|| {
            self.sorter.nodes = before;
            0
        });
        let terms = self.node_terms();
        for index in &indices[..rest] {
            deltas.push(self.spread_over(&terms, *index));
        }
        for index in &indices[rest..] {
            self.reset(*index, 0, all);
            deltas.push(self.sorter.delta());
        }
        BySpread::sorted(self.rules.partition, indices, deltas)
    }

    /// Weight difference between the heaviest node and the lightest, as the sorter tells it.
    fn spread_over(&mut self, terms: &NodeTerms, index: IndexIndex) -> f32 {
        self.select(index);
        self.weights
            .spread(terms, self.model.counts_of_index(), self.average_of_index)
    }

    /// Moves the nodes that hold the index, or may hold it, to the front of the sorter.
    fn relevant(&mut self, index: IndexIndex) -> usize {
        self.select(index);
        let mut count = 0;
        for at in 0..self.sorter.len() {
            let node = self.sorter.nodes[at];
            if self.model.count_of_index(node) > 0 || {
                let node = self.model.node(node);
                self.round.can_allocate_index(index, node, &mut NoReasons) != Verdict::No
            } {
                self.sorter.nodes.swap(at, count);
                count += 1;
            }
        }
        count
    }

    /// Moves copies of an index from the heaviest nodes to the lightest. If the lightest node takes none,
    /// the next one is tried, up to the heaviest; then the next heaviest node becomes the source, and so
    /// on. Returns whether that ends the round.
    pub(super) fn balance_index(&mut self, index: IndexIndex) -> bool {
        let relevant = self.relevant(index);
        if relevant < 2 {
            return false;
        }
        self.reset(index, 0, relevant);
        let (mut low, mut high) = (0, relevant - 1);
        let threshold = self.threshold_of(index);
        loop {
            let (light, heavy) = (self.sorter.nodes[low], self.sorter.nodes[high]);
            if self.model.count_of_index(heavy) > 0 {
                let weights = &self.sorter.weights;
                let delta = (weights[high] - weights[low]).abs();
                if within(delta, threshold) {
                    // Deciders may prevent the lightest nodes from taking anything; the others can still
                    // be far apart.
                    let more =
                        low > 0 && high > 1 && (weights[high - 1] - weights[0]).abs() > threshold;
                    if !more {
                        return false;
                    }
                } else if self.try_relocate(light, heavy, index, delta) {
                    self.sorter.weights[low] = self.weight(light, 0);
                    self.sorter.weights[high] = self.weight(heavy, 0);
                    self.sorter.sort(0, relevant);
                    if self.rules.one_at_a_time && self.round.nodes.relocating_count() > 0
                        || self.round.simulates_enough()
                    {
                        return true;
                    }
                    (low, high) = (0, relevant - 1);
                    continue;
                }
            }
            if low + 1 < high {
                low += 1;
            } else if low > 0 {
                low = 0;
                high -= 1;
            } else {
                return false;
            }
        }
    }

    /// Moves the first movable copy of the index from the heavy node to the light one, and returns whether
    /// the caller is to take their weights for changed. A throttled copy moves in the model only.
    fn try_relocate(&mut self, light: u32, heavy: u32, index: IndexIndex, delta: f32) -> bool {
        let is_worth_it = match self.rules.relocation {
            // The cost is the same for every copy of the index between these two nodes.
            Relocation::Weighed => self.weight(light, 1) - self.weight(heavy, -1) < delta,
            // With loads, the threshold says as much.
            Relocation::Stale | Relocation::Followed => delta > 1.0 || self.loads.is_some(),
        };
        if !is_worth_it {
            return false;
        }
        let (to, from) = (self.model.node(light), self.model.node(heavy));
        let mut shards = self.model.started(heavy, index);
        if self.rules.relocation != Relocation::Weighed {
            shards.reverse();
        }
        for shard in shards {
            let Some(handle) = self.round.nodes.on_node(from, ShardId { index, shard }) else {
                continue;
            };
            let copy = *self.round.nodes.copy(handle);
            let allocate = self.round.can_allocate(&copy, to, &mut NoReasons);
            if allocate == Verdict::No {
                continue;
            }
            let rebalance = self.round.can_rebalance(&copy, &mut NoReasons);
            if rebalance == Verdict::No {
                continue;
            }
            let moves = allocate.and(rebalance) == Verdict::Yes;
            self.relocate(light, heavy, handle, moves);
            return moves || self.rules.relocation == Relocation::Followed;
        }
        false
    }

    /// Moves the copy in the model, and in the cluster too if `moves`.
    fn relocate(&mut self, light: u32, heavy: u32, handle: CopyIndex, moves: bool) {
        let mut copy = *self.round.nodes.copy(handle);
        self.take_started(heavy, &copy);
        if moves {
            let bytes = self.size_bytes(&copy);
            let to = self.model.node(light);
            self.round.nodes.relocate(handle, to, bytes);
        }
        copy.state = CopyState::Relocating;
        self.put(light, &copy);
    }
}
