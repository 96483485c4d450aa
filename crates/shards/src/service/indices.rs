//! Routing changes for creating and closing an index, and for its replicas (`IndexRoutingTable.Builder`).
//!
//! The caller must follow each with a reroute.

use crate::copy::{Reason, RecoverySource, ShardCopy, UnassignedInfo};
use crate::deciders::nodes_of_tier;
use crate::model::{Cluster, Index, IndexIndex, IndexState, IndexTable, ShardId, Version};

/// First version that keeps closed indices in the routing table.
const REPLICATES_CLOSED: Version = Version::release(7, 2, 0);

/// Adds an index with all its copies unassigned (`initializeAsNew`). If it has in-sync copies, its
/// primaries recover from them; if it is resized from another index, they recover from that index's
/// shards.
///
/// The index is set to open. The in-sync sets are resized to one per shard.
///
/// # Panics
/// With more than 2^32 indices
pub fn create_index(cluster: &mut Cluster, mut index: Index, now_nanos: i64) -> IndexIndex {
    let number = IndexIndex(u32::try_from(cluster.indices.len()).expect("fewer than 2^32 indices"));
    index.state = IndexState::Open;
    index.in_sync.resize(index.shards as usize, Vec::new());
    cluster.indices.push(index);
    let table = fresh_table(cluster, number, Reason::IndexCreated, now_nanos);
    edit(cluster, vec![(number, Some(table))]);
    number
}

/// Closes an open index. From 7.2 on, all its copies become unassigned and are reallocated
/// (`initializeAsFromOpenToClose`); if the cluster has an older node, the index leaves the routing table.
/// Does nothing if the index is not open.
pub fn close_index(cluster: &mut Cluster, index: IndexIndex, now_nanos: i64) {
    if cluster.index(index).state != IndexState::Open {
        return;
    }
    cluster.indices[index.at()].state = IndexState::Closed;
    let replicated = cluster
        .nodes
        .iter()
        .all(|node| !node.present || node.version >= REPLICATES_CLOSED);
    let table = replicated.then(|| fresh_table(cluster, index, Reason::IndexClosed, now_nanos));
    edit(cluster, vec![(index, table)]);
}

/// Sets the number of replicas (`updateNumberOfReplicas`). New replicas are unassigned; unassigned
/// replicas are removed first.
pub fn set_replicas(cluster: &mut Cluster, index: IndexIndex, replicas: u32, now_nanos: i64) {
    set_replicas_of(cluster, &[(index, replicas)], now_nanos);
}

/// Adapts indices with auto-expand to the number of data nodes
/// (`AutoExpandReplicas.getAutoExpandReplicaChanges`), except closed ones. Returns whether any changed.
pub(super) fn expand_replicas(cluster: &mut Cluster, now_nanos: i64) -> bool {
    let changed: Vec<(IndexIndex, u32)> = (0..)
        .map(IndexIndex)
        .zip(&cluster.indices)
        .filter(|(_, index)| index.state == IndexState::Open)
        .filter_map(|(number, index)| {
            let (least, most) = index.settings.auto_expand_replicas?;
            let nodes = nodes_of_tier(cluster, &index.settings);
            // Without a data node nothing changes, as with fewer nodes than the minimum requires.
            let others = u32::try_from(nodes).unwrap_or(u32::MAX).checked_sub(1)?;
            let wanted = others.max(least).min(most);
            (wanted <= most.min(others) && wanted != index.replicas).then_some((number, wanted))
        })
        .collect();
    set_replicas_of(cluster, &changed, now_nanos);
    !changed.is_empty()
}

fn set_replicas_of(cluster: &mut Cluster, changes: &[(IndexIndex, u32)], now_nanos: i64) {
    let mut edits = Vec::with_capacity(changes.len());
    for &(index, replicas) in changes {
        cluster.indices[index.at()].replicas = replicas;
        let Some(before) = cluster.routing.table(index) else {
            continue;
        };
        let mut copies = Vec::with_capacity(before.copies.len());
        for group in before.groups() {
            copies.extend(resized(group, replicas as usize + 1, now_nanos));
        }
        edits.push((index, Some(IndexTable { index, copies })));
    }
    if !edits.is_empty() {
        edit(cluster, edits);
    }
}

/// The copies of a shard, extended or reduced to the wanted number (`addReplica`, `removeReplica`).
fn resized(group: &[ShardCopy], wanted: usize, now_nanos: i64) -> Vec<ShardCopy> {
    let mut copies = group.to_vec();
    while copies.len() < wanted {
        copies.push(ShardCopy::new_unassigned(
            group[0].shard,
            false,
            RecoverySource::Peer,
            UnassignedInfo::new(Reason::ReplicaAdded, now_nanos),
        ));
    }
    while copies.len() > wanted {
        let spare = copies
            .iter()
            .position(|copy| !copy.primary && copy.is_unassigned())
            .or_else(|| copies.iter().position(|copy| !copy.primary));
        let Some(spare) = spare else { break };
        copies.remove(spare);
    }
    copies
}

/// A table with all copies of an index unassigned (`initializeEmpty`).
fn fresh_table(cluster: &Cluster, number: IndexIndex, why: Reason, now_nanos: i64) -> IndexTable {
    let index = cluster.index(number);
    let info = UnassignedInfo::new(why, now_nanos);
    let mut copies = Vec::new();
    for shard in 0..index.shards {
        let known = index
            .in_sync
            .get(shard as usize)
            .is_some_and(|ids| !ids.is_empty());
        let source = if known {
            RecoverySource::ExistingStore
        } else if index.resize_source.is_some() {
            RecoverySource::LocalShards
        } else {
            RecoverySource::EmptyStore
        };
        let id = ShardId {
            index: number,
            shard,
        };
        copies.push(ShardCopy::new_unassigned(id, true, source, info));
        for _ in 0..index.replicas {
            let source = RecoverySource::Peer;
            copies.push(ShardCopy::new_unassigned(id, false, source, info));
        }
    }
    IndexTable {
        index: number,
        copies,
    }
}

fn edit(cluster: &mut Cluster, edits: Vec<(IndexIndex, Option<IndexTable>)>) {
    cluster.routing = std::mem::take(&mut cluster.routing).edited(edits);
}
