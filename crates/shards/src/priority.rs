//! Which index is allocated first (`PriorityComparator`).

use std::cmp::Reverse;

use crate::java::string_compare;
use crate::model::{Cluster, IndexIndex, NumberMap};

/// The rank of each of these indices: those of the system first, then those of higher priority, then the
/// newer ones, then the names that sort last.
pub(crate) fn ranks(
    cluster: &Cluster,
    indices: impl Iterator<Item = IndexIndex>,
) -> NumberMap<IndexIndex, u32> {
    let mut indices: Vec<IndexIndex> = indices.collect();
    indices.sort_unstable();
    indices.dedup();
    indices.sort_by(|a, b| {
        let (a, b) = (cluster.index(*a), cluster.index(*b));
        let key = |index: &crate::model::Index| {
            let settings = &index.settings;
            (
                Reverse(index.forecast.system),
                Reverse(settings.priority),
                Reverse(settings.creation_date),
            )
        };
        key(a)
            .cmp(&key(b))
            .then_with(|| string_compare(&b.name, &a.name))
    });
    indices.into_iter().zip(0..).collect()
}
