//! Proves that no index is out of balance, without evaluating the balancer's main loop.

use std::collections::{BTreeMap, BTreeSet};

use super::Balancer;
use super::spread::FullLook;
use super::weight::{float, within};
use crate::model::IndexIndex;

/// Spread of one index over the nodes.
struct Spread {
    /// Weight difference between the heaviest node and the lightest.
    weight: f32,
    /// Range of the nodes' copy counts of the index.
    range: i32,
    /// Most copies of the index on a node, or the average if higher.
    most: f32,
}

impl Balancer<'_, '_> {
    /// Returns whether no two nodes differ in weight by more than the threshold for any index. If so, no
    /// copy moves, whatever the order of nodes and indices.
    pub(super) fn is_balanced(&mut self) -> bool {
        let changed = self.model.take_unproven();
        if let Some(mut look) = self.spreads.look.take()
            && self.is_still_balanced(&mut look, &changed)
        {
            self.spreads.look = Some(look);
            return true;
        }
        self.spreads.look = self.prove_balanced();
        self.spreads.look.is_some()
    }

    /// Proves balance from the last full look, checking only the indices whose copies have changed since.
    fn is_still_balanced(&mut self, look: &mut FullLook, changed: &BTreeSet<IndexIndex>) -> bool {
        let (fewest, most) = range(self.model.nodes().map(|node| self.model.count(node)));
        let nodes = self.model.nodes().zip(&look.counts);
        let (fell, rose) = range(nodes.map(|(node, before)| self.model.count(node) - before));
        let by_count = self.model.by_count();
        let drift = self.weights.of_copies(rose - fell);
        for &index in changed {
            if self.round.cluster.routing.table(index).is_none() {
                look.set_range(index, None);
                continue;
            }
            let spread = self.spread(index, &by_count);
            if !within(spread.weight, self.threshold) {
                return false;
            }
            look.set_range(index, Some(spread.range));
            look.most_of_index = look.most_of_index.max(spread.most);
            // The spread it may have had at the time of the full look.
            look.widest = look.widest.max(spread.weight + drift);
        }
        let widest_range = look
            .of_range
            .last_key_value()
            .map_or(0, |(range, _)| *range);
        let by_ranges = self.weights.of_copies(most - fewest) + self.weights.of_index(widest_range);
        look.slack = look.slack.max(self.slack(fewest, most, look.most_of_index));
        let widest = by_ranges.min(look.widest + drift);
        within(widest + look.slack, self.threshold)
    }

    /// Upper bound on the rounding error of a spread: weights, and the bounds on their differences, are
    /// sums of a few products in single precision whose intermediate values do not exceed the values used
    /// here.
    fn slack(&self, fewest: i32, most: i32, most_of_index: f32) -> f32 {
        let far = |count: i32| (float(count) - self.average).abs();
        let largest = far(fewest).max(far(most)) + most_of_index + self.threshold;
        largest * (16.0 * f32::EPSILON)
    }

    /// Proves balance by looking at all indices.
    fn prove_balanced(&mut self) -> Option<FullLook> {
        let by_count = self.model.by_count();
        let mut look = FullLook {
            counts: self
                .model
                .nodes()
                .map(|node| self.model.count(node))
                .collect(),
            widest: 0.0,
            ranges: vec![None; self.round.cluster.indices.len()],
            of_range: BTreeMap::new(),
            most_of_index: 0.0,
            slack: 0.0,
        };
        let indices: Vec<IndexIndex> = self.routed().collect();
        for index in indices {
            let spread = self.spread(index, &by_count);
            if !within(spread.weight, self.threshold) {
                return None;
            }
            look.widest = look.widest.max(spread.weight);
            look.most_of_index = look.most_of_index.max(spread.most);
            look.set_range(index, Some(spread.range));
        }
        let (fewest, most) = range(look.counts.iter().copied());
        look.slack = self.slack(fewest, most, look.most_of_index);
        Some(look)
    }

    /// Computes the spread of an index.
    ///
    /// Among nodes without a copy of the index the weight increases with the total number of copies,
    /// rounding included. So the lightest and the heaviest node are either among its holders or are the
    /// emptiest and the fullest of the others, and the cost per index depends on its copies, not on the
    /// number of nodes.
    fn spread(&mut self, index: IndexIndex, by_count: &[u32]) -> Spread {
        self.select(index);
        let holders = self.model.holders(index);
        let free = |node: &&u32| self.model.count_of_index(**node) == 0;
        let ends = [by_count.iter().find(free), by_count.iter().rev().find(free)];
        let nodes = holders.chain(ends.into_iter().flatten().copied());
        let (mut lightest, mut heaviest) = (f32::INFINITY, f32::NEG_INFINITY);
        let (mut least, mut most) = (i32::MAX, 0);
        for node in nodes {
            let weight = self.weight(node, 0);
            (lightest, heaviest) = (lightest.min(weight), heaviest.max(weight));
            let count = self.model.count_of_index(node);
            (least, most) = (least.min(count), most.max(count));
        }
        Spread {
            weight: heaviest - lightest,
            range: most - least.min(most),
            most: float(most).max(self.average_of_index),
        }
    }
}

/// Minimum and maximum.
fn range(values: impl Iterator<Item = i32>) -> (i32, i32) {
    values.fold((i32::MAX, i32::MIN), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}
