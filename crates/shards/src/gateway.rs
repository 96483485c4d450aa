//! The gateway allocator: places unassigned copies where their data is (`GatewayAllocator`,
//! `PrimaryShardAllocator`, `ReplicaShardAllocator`).

mod placement;
mod primary;
mod replica;
mod stores;

pub use stores::{OnDiskChange, Stores};

use crate::allocation::Allocation;
use crate::copy::{ShardCopy, UNKNOWN_SIZE};
use crate::java::string_compare;
use crate::nodes::CopyIndex;
use placement::Placement;

/// Places unassigned copies where their data is (`innerAllocatedUnassigned`): indices of higher priority
/// first, then newer ones; all primaries before the replicas.
pub(crate) fn allocate_unassigned(allocation: &mut Allocation<'_>, stores: &Stores) {
    let cluster = allocation.cluster;
    allocation.nodes.sort_unassigned(|a, b| {
        let (a, b) = (a.shard.index, b.shard.index);
        if a == b {
            return std::cmp::Ordering::Equal;
        }
        let (a, b) = (cluster.index(a), cluster.index(b));
        (b.settings.priority.cmp(&a.settings.priority))
            .then_with(|| b.settings.creation_date.cmp(&a.settings.creation_date))
            .then_with(|| string_compare(&b.name, &a.name))
    });
    place_each(allocation, |allocation, copy| {
        primary::place(allocation, stores, copy)
    });
    place_each(allocation, |allocation, copy| {
        replica::place(allocation, stores, copy)
    });
}

/// Decides on each unassigned copy in turn (`BaseGatewayShardAllocator.allocateUnassigned`).
fn place_each(
    allocation: &mut Allocation<'_>,
    decide: impl Fn(&Allocation<'_>, &ShardCopy) -> Placement,
) {
    let unassigned: Vec<CopyIndex> = allocation.nodes.drain_unassigned();
    for handle in unassigned {
        let copy = *allocation.nodes.copy(handle);
        match decide(allocation, &copy) {
            Placement::NotTaken => allocation.nodes.keep(handle),
            Placement::Yes(node, existing) => {
                let size = allocation
                    .cluster
                    .info
                    .as_ref()
                    .filter(|_| !copy.primary)
                    .and_then(|info| info.size_bytes(copy.shard, false))
                    .unwrap_or(UNKNOWN_SIZE);
                allocation.nodes.initialize(handle, node, existing, size);
            }
            Placement::No(status) => allocation.nodes.ignore(handle, status),
        }
    }
}

#[cfg(test)]
mod tests;
