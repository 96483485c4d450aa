//! The proof that no index is out of balance, kept from round to round.

use std::collections::BTreeSet;

use super::{Balancer, within};
use crate::model::IndexIndex;

/// What is known of the spread of weights since all indices were last looked at.
///
/// The weight of a node for an index is `theta0 * (copies on it) + theta1 * (copies of the index on it)`,
/// less what is the same for all nodes. So an index whose copies stay where they are changes its spread
/// by no more than theta0 times what the nodes' counts changed by, at most less at least.
#[derive(Debug, Default)]
pub(super) struct Spreads {
    /// Per node its copies when all were looked at; `None` if that proved nothing.
    counts: Option<Vec<i32>>,
    /// The widest spread there was then of any index.
    widest: f32,
}

/// For rounding: weights are sums of a few numbers far below 2^24, of which single precision loses parts
/// in ten million.
const SLACK: f32 = 1e-2;

impl Balancer<'_, '_> {
    /// Whether no two nodes differ in weight by more than the threshold, for any index: then nothing
    /// moves, in whatever order nodes and indices come.
    pub(super) fn is_balanced(&mut self) -> bool {
        let changed = self.model.take_unproven();
        let is_proven = self.is_still_balanced(&changed) || self.looks_balanced();
        if !is_proven {
            self.spreads.counts = None;
        }
        is_proven
    }

    /// By what was found before, and a look at the indices whose copies have changed since.
    fn is_still_balanced(&mut self, changed: &BTreeSet<IndexIndex>) -> bool {
        let Some(counts) = &self.spreads.counts else {
            return false;
        };
        let (mut least, mut most) = (0, 0);
        for (node, before) in self.model.nodes().zip(counts) {
            let change = self.model.count(node) - before;
            (least, most) = (change.min(least), change.max(most));
        }
        let drift = self.weights.of_copies(most - least) + SLACK;
        let mut by_count = None;
        for &index in changed {
            if self.round.cluster.routing.table(index).is_none() {
                continue;
            }
            let by_count = by_count.get_or_insert_with(|| self.model.by_count());
            let spread = self.spread(index, by_count);
            if !within(spread, self.threshold) {
                return false;
            }
            // As wide as it may have been when all were looked at.
            self.spreads.widest = self.spreads.widest.max(spread + drift);
        }
        within(self.spreads.widest + drift, self.threshold)
    }

    /// By a look at all indices.
    fn looks_balanced(&mut self) -> bool {
        let by_count = self.model.by_count();
        let indices: Vec<IndexIndex> = self.routed().collect();
        let mut widest = 0.0_f32;
        for index in indices {
            let spread = self.spread(index, &by_count);
            if !within(spread, self.threshold) {
                return false;
            }
            widest = widest.max(spread);
        }
        self.spreads.widest = widest;
        self.spreads.counts = Some(self.model.nodes().map(|node| self.model.count(node)).collect());
        true
    }

    /// The difference between the heaviest node and the lightest for an index.
    ///
    /// Among nodes without a copy of the index the weight rises with the number of all copies, rounding
    /// included. So the lightest and the heaviest are either among its holders or among the emptiest and
    /// the fullest of the others, and an index costs time in its copies, not in the nodes.
    fn spread(&mut self, index: IndexIndex, by_count: &[u32]) -> f32 {
        self.select(index);
        let holders = self.model.holders(index);
        let free = |node: &&u32| self.model.count_of_index(**node) == 0;
        let ends = [by_count.iter().find(free), by_count.iter().rev().find(free)];
        let nodes = holders.chain(ends.into_iter().flatten().copied());
        let (lightest, heaviest) = nodes
            .map(|node| self.weight(node, 0))
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), weight| {
                (low.min(weight), high.max(weight))
            });
        heaviest - lightest
    }
}
