//! Bounds on the weight spread of each index, kept from round to round.

use std::collections::BTreeMap;

use crate::model::IndexIndex;

/// Bounds on the spread of weights since all indices were last examined.
///
/// The weight of a node for an index is `theta0 * (copies on it) + theta1 * (copies of the index on it)`,
/// minus a term that is the same for all nodes. So the spread of an index is at most
///
/// - theta0 times the range of the nodes' copy counts plus theta1 times the range of their counts of the
///   index,
/// - and, while its copies stay where they are, its earlier spread plus theta0 times the range of the
///   changes in the nodes' copy counts.
///
/// Either bound can prove that a round has no work, in time proportional to the nodes and the changed
/// indices. When neither does, all indices are examined.
#[derive(Debug, Default)]
pub(super) struct SpreadBounds {
    /// State at the last full look at all indices; `None` if that did not prove balance.
    pub(super) look: Option<FullLook>,
}

#[derive(Debug)]
pub(super) struct FullLook {
    /// Copies per node at that time.
    pub(super) counts: Vec<i32>,
    /// The widest spread of any index at that time or since.
    pub(super) widest: f32,
    /// Current range of counts per index.
    pub(super) ranges: Vec<Option<i32>>,
    /// Number of indices with each range.
    pub(super) of_range: BTreeMap<i32, u32>,
    /// The most copies of one index that any node has had, or the highest average.
    pub(super) most_of_index: f32,
    /// Upper bound on the rounding error in the values above.
    pub(super) slack: f32,
}

impl FullLook {
    pub(super) fn set_range(&mut self, index: IndexIndex, range: Option<i32>) {
        if self.ranges.len() <= index.at() {
            self.ranges.resize(index.at() + 1, None);
        }
        let before = std::mem::replace(&mut self.ranges[index.at()], range);
        if let Some(count) = before.and_then(|before| self.of_range.get_mut(&before)) {
            *count -= 1;
            if *count == 0 {
                self.of_range.retain(|_, count| *count > 0);
            }
        }
        if let Some(range) = range {
            *self.of_range.entry(range).or_default() += 1;
        }
    }
}
