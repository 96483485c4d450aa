//! Applies a round to the cluster: the routing table (`RoutingTable.Builder.updateNodes`) and the in-sync
//! sets (`IndexMetaDataUpdater`).

use crate::copy::{AllocationIndex, FORCED_ALLOCATION, RecoverySource, ShardCopy};
use crate::model::{Cluster, ShardId};
use crate::nodes::{Changes, RoutingNodes, ShardChanges};

/// Writes the results of the round to the cluster.
pub(super) fn apply(cluster: &mut Cluster, nodes: &RoutingNodes) {
    cluster.routing = nodes.to_table(&cluster.routing);
    apply_in_sync(cluster, nodes, nodes.changes());
}

/// Updates the in-sync sets and the next allocation id after a round with these changes.
pub(super) fn apply_in_sync(cluster: &mut Cluster, nodes: &RoutingNodes, changes: &Changes) {
    cluster.next_allocation = nodes.next_allocation();
    for (&shard, changes) in changes.shards() {
        let index = &mut cluster.indices[shard.index.at()];
        let limit = index.replicas as usize + 1;
        let shards = index.shards as usize;
        if index.in_sync.len() < shards {
            index.in_sync.resize(shards, Vec::new());
        }
        let set = &mut index.in_sync[shard.shard as usize];
        update_in_sync(set, limit, shard, changes, nodes);
    }
}

/// Updates the in-sync set of a shard after a round (`updateInSyncAllocations`).
fn update_in_sync(
    set: &mut Vec<AllocationIndex>,
    limit: usize,
    shard: ShardId,
    changes: &ShardChanges,
    nodes: &RoutingNodes,
) {
    // A primary initialized from a copy that was not in sync was forced or restored.
    if let Some(primary) = changes.initialized_primary
        && let Some(id) = primary.allocation
        && !set.is_empty()
        && !set.contains(&id)
    {
        set.clear();
        match primary.recovery {
            Some(RecoverySource::EmptyStore) => {}
            Some(RecoverySource::ForcedStalePrimary) => set.push(FORCED_ALLOCATION),
            _ => set.push(id),
        }
        return;
    }
    let mut now: Vec<AllocationIndex> = set.clone();
    for id in &changes.added {
        if !now.contains(id) {
            now.push(*id);
        }
    }
    now.retain(|id| !changes.removed.contains(id));
    if now.len() > set.len() && now.len() > limit {
        // Only trimmed when it grows: ids of assigned copies stay, and of the others the earliest ones.
        let on_a_node = |id: &AllocationIndex| {
            nodes
                .assigned_copies(shard)
                .any(|copy| !copy.is_relocation_target() && copy.allocation == Some(*id))
        };
        now.sort_by_key(|id| !on_a_node(id));
        now.truncate(limit);
    }
    if let Some(failed) = changes.first_failed_primary
        && let Some(id) = failed.allocation
        && !nodes.assigned_copies(shard).any(ShardCopy::is_active)
        && !now.contains(&id)
    {
        // Without an active copy this primary's data is all there is: without its id in the set, the next
        // primary would be empty.
        now.push(id);
    }
    if !now.is_empty() {
        *set = now;
    }
}
