//! Replicas with existing data, or waiting for it (`ReplicaShardAllocator`).

use super::Stores;
use super::placement::Placement;
use crate::allocation::Allocation;
use crate::copy::{AllocationStatus, Reason, ShardCopy};
use crate::deciders::{NoReasons, Verdict};

/// Places an unassigned replica on the first node that has its data: any data counts as identical to the
/// primary's. If its node has left and no other node has any, the replica waits for that node until the
/// delay expires. Replicas of a new index have no data anywhere.
pub(super) fn place(allocation: &Allocation<'_>, stores: &Stores, copy: &ShardCopy) -> Placement {
    let Some(info) = copy.unassigned else {
        return Placement::NotTaken;
    };
    if copy.primary || info.reason == Reason::IndexCreated {
        return Placement::NotTaken;
    }
    match best_verdict(allocation, copy) {
        Verdict::Yes => {}
        Verdict::Throttle => return Placement::No(AllocationStatus::DecidersThrottled),
        Verdict::No => return Placement::No(AllocationStatus::DecidersNo),
    }
    let Some(primary) = allocation.nodes.active_primary(copy.shard) else {
        return Placement::No(AllocationStatus::DecidersNo);
    };
    let primary = allocation.nodes.copy(primary).node;
    if primary.is_none_or(|node| !stores.holds(copy.shard, node)) {
        return Placement::NotTaken;
    }
    for known in stores.on_disk(copy.shard) {
        if !allocation.nodes.is_routed(known.node) {
            continue;
        }
        match allocation.can_allocate(copy, known.node, &mut NoReasons) {
            Verdict::Yes => return Placement::Yes(known.node, None),
            Verdict::Throttle => return Placement::No(AllocationStatus::DecidersThrottled),
            Verdict::No => {}
        }
    }
    if info.delayed {
        return Placement::No(AllocationStatus::DelayedAllocation);
    }
    Placement::NotTaken
}

/// Best verdict of any node (`canBeAllocatedToAtLeastOneNode`).
fn best_verdict(allocation: &Allocation<'_>, copy: &ShardCopy) -> Verdict {
    let mut best = Verdict::No;
    for &node in &allocation.cluster.data_nodes {
        if !allocation.nodes.is_routed(node) {
            continue;
        }
        match allocation.can_allocate(copy, node, &mut NoReasons) {
            Verdict::Yes => return Verdict::Yes,
            Verdict::Throttle => best = Verdict::Throttle,
            Verdict::No => {}
        }
    }
    best
}
