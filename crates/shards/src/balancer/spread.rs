//! What is known of the spread of weights, kept from round to round.

use std::collections::BTreeMap;

use crate::model::IndexIndex;

/// What is known of the spread of weights since all indices were last looked at.
///
/// The weight of a node for an index is `theta0 * (copies on it) + theta1 * (copies of the index on it)`,
/// less what is the same for all nodes. So the spread of an index is at most
///
/// - theta0 times the range of the nodes' counts plus theta1 times the range of their counts of the index,
/// - and, while its copies stay where they are, what it was plus theta0 times the range of what the nodes'
///   counts have changed by.
///
/// Either proves a round without work in time for the nodes and the indices that have changed. Where
/// neither does, all indices are looked at.
#[derive(Debug, Default)]
pub(super) struct Spreads {
    /// The state at the last look at all indices; `None` if that proved nothing.
    pub(super) look: Option<Look>,
}

#[derive(Debug)]
pub(super) struct Look {
    /// Per node its copies then.
    pub(super) counts: Vec<i32>,
    /// The widest spread of any index then, or since.
    pub(super) widest: f32,
    /// Per index the range of its counts, now.
    pub(super) ranges: Vec<Option<i32>>,
    /// How many indices have each range.
    pub(super) of_range: BTreeMap<i32, u32>,
    /// The most copies of an index that a node has had, or would have on average.
    pub(super) most_of_index: f32,
    /// By how much rounding may have made any of this too small.
    pub(super) slack: f32,
}

impl Look {
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
