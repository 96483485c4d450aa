//! Primaries with existing data (`PrimaryShardAllocator`).

use super::Stores;
use super::placement::Placement;
use super::stores::OnDisk;
use crate::allocation::Allocation;
use crate::copy::{AllocationIndex, AllocationStatus, RecoverySource, ShardCopy};
use crate::deciders::{NoReasons, Verdict};
use crate::model::NodeIndex;

/// Places an unassigned primary whose data exists on a node or in a snapshot. It goes to a node with an
/// in-sync copy, by force if the deciders reject all such nodes.
pub(super) fn place(allocation: &Allocation<'_>, stores: &Stores, copy: &ShardCopy) -> Placement {
    let restored = match copy.recovery {
        Some(RecoverySource::Snapshot(_)) => true,
        Some(source) if source.is_existing_store() => false,
        _ => return Placement::NotTaken,
    };
    if !copy.primary {
        return Placement::NotTaken;
    }
    let candidates = candidates(allocation, copy, restored, stores);
    if candidates.is_empty() {
        return if restored {
            Placement::NotTaken
        } else {
            Placement::No(AllocationStatus::NoValidShardCopy)
        };
    }
    let mut verdicts = ask(allocation, copy, &candidates, false);
    let mut throttled = true;
    if verdicts.yes.is_none() && verdicts.throttled == 0 && verdicts.no > 0 {
        verdicts = ask(allocation, copy, &candidates, true);
        throttled = verdicts.throttled > 0;
    }
    if let Some((node, existing)) = verdicts.yes {
        Placement::Yes(node, Some(existing))
    } else if throttled {
        Placement::No(AllocationStatus::DecidersThrottled)
    } else {
        Placement::No(AllocationStatus::DecidersNo)
    }
}

/// Copies on disk that can become the primary, best first (`buildNodeShardsResult`).
fn candidates(
    allocation: &Allocation<'_>,
    copy: &ShardCopy,
    any: bool,
    stores: &Stores,
) -> Vec<OnDisk> {
    let index = allocation.cluster.index(copy.shard.index);
    let in_sync = index
        .in_sync
        .get(copy.shard.shard as usize)
        .map_or(&[][..], Vec::as_slice);
    let is_in_sync = |known: &OnDisk| in_sync.contains(&known.allocation);
    let on_disk = stores.on_disk(copy.shard).copied();
    let mut found: Vec<OnDisk> = on_disk.filter(|known| any || is_in_sync(known)).collect();
    found.sort_by_key(|known| {
        let matching = !any || is_in_sync(known);
        (!matching, !known.primary)
    });
    found
}

/// Verdicts of the deciders on all candidates.
struct CandidateVerdicts {
    /// The first candidate with a YES.
    yes: Option<(NodeIndex, AllocationIndex)>,
    throttled: usize,
    no: usize,
}

fn ask(
    allocation: &Allocation<'_>,
    copy: &ShardCopy,
    candidates: &[OnDisk],
    force: bool,
) -> CandidateVerdicts {
    let mut verdicts = CandidateVerdicts {
        yes: None,
        throttled: 0,
        no: 0,
    };
    for known in candidates {
        if !allocation.nodes.is_routed(known.node) {
            continue;
        }
        let verdict = if force {
            allocation.can_force_allocate_primary(copy, known.node, &mut NoReasons)
        } else {
            allocation.can_allocate(copy, known.node, &mut NoReasons)
        };
        match verdict {
            Verdict::Yes => {
                verdicts.yes.get_or_insert((known.node, known.allocation));
            }
            Verdict::Throttle => verdicts.throttled += 1,
            Verdict::No => verdicts.no += 1,
        }
    }
    verdicts
}
