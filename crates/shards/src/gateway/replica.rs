//! Replicas with existing data, or waiting for it (`ReplicaShardAllocator`).

use super::{Fetch, FileStore, Placement};
use crate::allocation::Allocation;
use crate::copy::{AllocationStatus, Reason, ShardCopy, UnassignedInfo};
use crate::deciders::{NoReasons, Verdict};
use crate::model::NodeIndex;
use crate::nodes::CopyIndex;

/// Score of a complete match: the same sync id.
const COMPLETE_MATCH: u64 = i64::MAX.cast_unsigned();

/// Places an unassigned replica on the node with most of its data. If its node has left and no other node
/// has any data, the replica waits for that node until the delay expires. Replicas of a new index have no
/// data anywhere.
pub(super) fn place(
    allocation: &mut Allocation<'_>,
    fetch: &dyn Fetch,
    copy: &ShardCopy,
) -> Placement {
    let Some(info) = copy.unassigned else {
        return Placement::NotTaken;
    };
    if copy.primary || info.reason == Reason::IndexCreated {
        return Placement::NotTaken;
    }
    let best = best_verdict(allocation, copy);
    let no = Placement::No(match best {
        Verdict::Throttle => AllocationStatus::DecidersThrottled,
        _ => AllocationStatus::DecidersNo,
    });
    let asked_before = allocation.debug && fetch.has_asked_for_files(copy.shard);
    if best != Verdict::Yes && !asked_before {
        return no;
    }
    let Some(stores) = fetch.files(copy.shard) else {
        allocation.has_pending_fetch = true;
        return Placement::No(AllocationStatus::FetchingShardData);
    };
    let Some(primary) = allocation.nodes.active_primary(copy.shard) else {
        return no;
    };
    let Some(primary) = store_of(allocation, primary, &stores) else {
        return Placement::NotTaken;
    };
    let matches = Matches::of(allocation, copy, &primary, &stores);
    if best != Verdict::Yes {
        return no;
    }
    if let Some((node, _)) = matches.best {
        return match allocation.can_allocate(copy, node, &mut NoReasons) {
            Verdict::Throttle => Placement::No(AllocationStatus::DecidersThrottled),
            _ => Placement::Yes(node, None),
        };
    }
    if !matches.any && info.delayed {
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

/// The file report for an assigned copy (`findStore`).
fn store_of(
    allocation: &Allocation<'_>,
    copy: CopyIndex,
    stores: &[FileStore],
) -> Option<FileStore> {
    let node = allocation.nodes.copy(copy).node?;
    stores.iter().find(|store| store.node == node).copied()
}

/// How well the nodes' files match the primary's (`MatchingNodes`).
struct Matches {
    /// The node with the most matching bytes and their number; `None` if no node has any.
    best: Option<(NodeIndex, u64)>,
    /// Whether any node that can take the copy has files, matching or not.
    any: bool,
}

impl Matches {
    fn of(
        allocation: &Allocation<'_>,
        copy: &ShardCopy,
        primary: &FileStore,
        stores: &[FileStore],
    ) -> Self {
        let mut matches = Self {
            best: None,
            any: false,
        };
        for store in stores {
            if store.is_empty
                || !allocation.nodes.is_routed(store.node)
                || allocation.can_allocate(copy, store.node, &mut NoReasons) == Verdict::No
            {
                continue;
            }
            matches.any = true;
            let same = store.sync_id.is_some() && store.sync_id == primary.sync_id;
            let bytes = if same {
                COMPLETE_MATCH
            } else {
                store.matching_bytes
            };
            if bytes > matches.best.map_or(0, |(_, most)| most) {
                matches.best = Some((store.node, bytes));
            }
        }
        matches
    }
}

/// Cancels recoveries of replicas if another node turns out to have all of the data
/// (`processExistingRecoveries`).
pub(super) fn cancel_worse_recoveries(allocation: &mut Allocation<'_>, fetch: &dyn Fetch) {
    if !allocation.nodes.has_inactive_replicas() {
        return;
    }
    let cluster = allocation.cluster;
    allocation.nodes.put_in_order(cluster);
    let mut worse = Vec::new();
    for &node in allocation.nodes.order() {
        for (handle, copy) in allocation.nodes.copies_on(node) {
            let recovers = copy.is_initializing() && !copy.primary && copy.relocating.is_none();
            let is_new = copy
                .unassigned
                .is_some_and(|info| info.reason == Reason::IndexCreated);
            if recovers && !is_new && is_worse(allocation, fetch, node, copy) {
                worse.push(handle);
            }
        }
    }
    let info = UnassignedInfo::new(Reason::ReallocatedReplica, allocation.now_nanos);
    for handle in worse {
        allocation.nodes.fail(handle, info);
    }
}

fn is_worse(
    allocation: &Allocation<'_>,
    fetch: &dyn Fetch,
    node: NodeIndex,
    copy: &ShardCopy,
) -> bool {
    let Some(stores) = fetch.files(copy.shard) else {
        return false;
    };
    let Some(primary) = allocation
        .nodes
        .active_primary(copy.shard)
        .and_then(|primary| store_of(allocation, primary, &stores))
    else {
        return false;
    };
    let Some((best, bytes)) = Matches::of(allocation, copy, &primary, &stores).best else {
        return false;
    };
    let here = stores
        .iter()
        .find(|store| store.node == node)
        .and_then(|store| store.sync_id);
    best != node && here != primary.sync_id && bytes == COMPLETE_MATCH
}
