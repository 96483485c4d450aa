//! Primaries with existing data (`PrimaryShardAllocator`).

use super::{Fetch, Placement, StartedStore, StoreError};
use crate::allocation::Allocation;
use crate::copy::{AllocationIndex, AllocationStatus, RecoverySource, ShardCopy};
use crate::deciders::{NoReasons, Verdict};
use crate::model::NodeIndex;

/// Places an unassigned primary whose data exists on a node or in a snapshot. It goes to a node with an
/// in-sync copy, by force if the deciders reject all such nodes.
pub(super) fn place(
    allocation: &mut Allocation<'_>,
    fetch: &dyn Fetch,
    copy: &ShardCopy,
) -> Placement {
    let restored = match copy.recovery {
        Some(RecoverySource::Snapshot(_)) => true,
        Some(source) if source.is_existing_store() => false,
        _ => return Placement::NotTaken,
    };
    if !copy.primary {
        return Placement::NotTaken;
    }
    let Some(stores) = fetch.started(copy.shard) else {
        allocation.has_pending_fetch = true;
        return Placement::No(AllocationStatus::FetchingShardData);
    };
    let candidates = candidates(allocation, copy, restored, stores);
    if candidates.is_empty() {
        return if restored {
            Placement::NotTaken
        } else {
            Placement::No(AllocationStatus::NoValidShardCopy)
        };
    }
    let verdicts = ask(allocation, copy, &candidates, false);
    let (place, throttled) = match verdicts {
        CandidateVerdicts {
            yes: Some(place), ..
        } => (Some(place), false),
        CandidateVerdicts {
            throttled: 0, no, ..
        } if no > 0 => {
            let forced = ask(allocation, copy, &candidates, true);
            (forced.yes, forced.throttled > 0)
        }
        CandidateVerdicts { .. } => (None, true),
    };
    // Once a fetch is pending for one copy, no later primary of the round is placed.
    if allocation.has_pending_fetch {
        Placement::No(AllocationStatus::FetchingShardData)
    } else if let Some((node, existing)) = place {
        Placement::Yes(node, existing)
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
    stores: Vec<StartedStore>,
) -> Vec<StartedStore> {
    let index = allocation.cluster.index(copy.shard.index);
    let in_sync = index
        .in_sync
        .get(copy.shard.shard as usize)
        .map_or(&[][..], Vec::as_slice);
    let is_in_sync =
        |store: &StartedStore| store.allocation.is_some_and(|id| in_sync.contains(&id));
    let ignored = allocation.ignored_nodes(copy.shard);
    let mut found: Vec<StartedStore> = stores
        .into_iter()
        .filter(|store| {
            !ignored.contains(&store.node)
                && store.allocation.is_some()
                && store.error != Some(StoreError::Other)
                && (any || is_in_sync(store))
        })
        .collect();
    found.sort_by_key(|store| {
        let matching = !any || is_in_sync(store);
        (!matching, store.error.is_some(), !store.primary)
    });
    found
}

/// Verdicts of the deciders on all candidates.
struct CandidateVerdicts {
    /// The first candidate with a YES.
    yes: Option<(NodeIndex, Option<AllocationIndex>)>,
    throttled: usize,
    no: usize,
}

fn ask(
    allocation: &Allocation<'_>,
    copy: &ShardCopy,
    candidates: &[StartedStore],
    force: bool,
) -> CandidateVerdicts {
    let mut verdicts = CandidateVerdicts {
        yes: None,
        throttled: 0,
        no: 0,
    };
    for store in candidates {
        if !allocation.nodes.is_routed(store.node) {
            continue;
        }
        let verdict = if force {
            allocation.can_force_allocate_primary(copy, store.node, &mut NoReasons)
        } else {
            allocation.can_allocate(copy, store.node, &mut NoReasons)
        };
        match verdict {
            Verdict::Yes => {
                verdicts.yes.get_or_insert((store.node, store.allocation));
            }
            Verdict::Throttle => verdicts.throttled += 1,
            Verdict::No => verdicts.no += 1,
        }
    }
    verdicts
}
