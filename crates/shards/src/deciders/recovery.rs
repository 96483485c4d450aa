//! Deciders that depend on the recovery source of a copy: `MaxRetry`, `Resize`, `NodeVersion`,
//! `SnapshotInProgress`, `RestoreInProgress`.

use super::decision::answer;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::{Index, IndexIndex, NodeIndex, ShardId, Version};

/// The oldest version that can split a shard (`ResizeAction.COMPATIBILITY_VERSION`).
const SPLITS_FROM: Version = Version::release(6, 1, 0);

/// `index.allocation.max_retries`: limit on failed allocations.
pub(super) fn max_retry<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "max_retry";
    if round.simulating {
        return answer!(why, Yes, "failures do not matter in the simulation");
    }
    let failed = copy.unassigned.map_or(0, |info| info.failed_allocations);
    let failed = if failed == 0 && round.deciders.rules.counts_relocations {
        copy.failed_relocations
    } else {
        failed
    };
    if failed == 0 {
        return answer!(why, Yes, "no allocation of this copy has failed");
    }
    let most = round.index(copy.shard.index).settings.max_retries;
    if failed >= most {
        return answer!(
            why,
            No,
            "[{failed}] allocations have failed, index setting [index.allocation.max_retries={most}]; \
             retry with [/_cluster/reroute?retry_failed=true]"
        );
    }
    answer!(
        why,
        Yes,
        "[{failed}] allocations have failed, index setting [index.allocation.max_retries={most}]"
    )
}

/// A copy created by a split or clone must be allocated where its source's primary is.
///
/// Without a node, only checks that this primary is active.
pub(super) fn resize<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: Option<NodeIndex>,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "resize";
    if copy.unassigned.is_none() || copy.recovery != Some(RecoverySource::LocalShards) {
        return Verdict::Yes;
    }
    let (shard, from) = match source_shard(round, copy) {
        Source::Missing => {
            return answer!(
                why,
                No,
                "the index that this one is made from does not exist"
            );
        }
        // Shrinking is handled by the filter decider.
        Source::Several => return Verdict::Yes,
        Source::One(shard, from) => (shard, from),
    };
    let primary = (shard.shard < from.shards)
        .then(|| round.nodes.active_primary(shard))
        .flatten();
    let Some(primary) = primary else {
        return answer!(
            why,
            No,
            "the source primary {} is not active",
            round.shown(shard)
        );
    };
    let Some(node) = node else {
        return answer!(why, Yes, "the source primary is active");
    };
    let found = round.node(node);
    if found.version < SPLITS_FROM {
        return answer!(
            why,
            No,
            "node [{}] has version [{}]; splitting needs [{SPLITS_FROM}]",
            found.id,
            found.version
        );
    }
    if round.nodes.copy(primary).node == Some(node) {
        answer!(why, Yes, "the source primary is on this node")
    } else {
        answer!(why, No, "the source primary is on another node")
    }
}

/// What a copy created from local shards is made from.
enum Source<'a> {
    /// An index that does not exist.
    Missing,
    /// Several shards: it is shrunk.
    Several,
    /// One shard, of this index.
    One(ShardId, &'a Index),
}

fn source_shard<'a>(round: &Allocation<'a>, copy: &ShardCopy) -> Source<'a> {
    let index = round.index(copy.shard.index);
    let known = |source: &IndexIndex| source.at() < round.cluster.indices.len();
    let Some(source) = index.resize_source.filter(known) else {
        return Source::Missing;
    };
    let from = round.index(source);
    if index.shards < from.shards {
        return Source::Several;
    }
    // The server rejects shard counts that do not divide, so such a state cannot come from it.
    let factor = (index.shards / from.shards.max(1)).max(1);
    let shard = copy.shard.shard / factor;
    let shard = ShardId {
        index: source,
        shard,
    };
    Source::One(shard, from)
}

/// The nodes on which a copy created by a split or clone has to begin; `None` if that is no matter of its
/// source.
pub(crate) fn source_nodes(round: &Allocation<'_>, copy: &ShardCopy) -> Option<Vec<NodeIndex>> {
    if copy.unassigned.is_none() || copy.recovery != Some(RecoverySource::LocalShards) {
        return None;
    }
    match source_shard(round, copy) {
        Source::Missing => Some(Vec::new()),
        Source::Several => None,
        Source::One(shard, _) => {
            let primary = round.nodes.active_primary(shard);
            let node = primary.and_then(|primary| round.nodes.copy(primary).node);
            Some(node.into_iter().collect())
        }
    }
}

/// A copy can only recover from a node of the same or an older version.
pub(super) fn node_version<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    node: NodeIndex,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "node_version";
    let source = if copy.primary {
        let Some(source) = copy.node else {
            return answer!(why, Yes, "a primary that recovers from no other node");
        };
        source
    } else {
        let primary = round.nodes.active_primary(copy.shard);
        let Some(source) = primary.and_then(|primary| round.nodes.copy(primary).node) else {
            return answer!(why, Yes, "no primary is active to recover from");
        };
        source
    };
    let (from, to) = (round.node(source).version, round.node(node).version);
    let what = if copy.primary { "primary" } else { "replica" };
    if to >= from {
        return answer!(
            why,
            Yes,
            "a {what} may go from version [{from}] to version [{to}]"
        );
    }
    answer!(
        why,
        No,
        "a {what} cannot go from version [{from}] to the older version [{to}]"
    )
}

/// Throttles a primary that a snapshot is reading.
pub(super) fn snapshot_in_progress<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "snapshot_in_progress";
    if round.simulating || !copy.primary || round.cluster.snapshots.is_empty() {
        return answer!(why, Yes, "no snapshot is reading this copy");
    }
    if let Some(node) = copy.node
        && round.deciders.is_snapshotted(copy.shard, node)
    {
        return answer!(
            why,
            Throttle,
            "a snapshot is reading {} on its node [{}]",
            round.shown(copy.shard),
            round.node(node).id
        );
    }
    answer!(why, Yes, "no snapshot is reading this copy")
}

/// A copy restored from a snapshot needs a running restore.
pub(super) fn restore_in_progress<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "restore_in_progress";
    let Some(RecoverySource::Snapshot(restore)) = copy.recovery else {
        return answer!(why, Yes, "this copy does not come from a snapshot");
    };
    if round.deciders.is_restoring(restore, copy.shard) {
        return answer!(why, Yes, "this copy is being restored");
    }
    answer!(
        why,
        No,
        "restoring {} from its snapshot has failed; close or delete index [{}] and restore it again, \
         or allocate an empty primary by a reroute command",
        round.shown(copy.shard),
        round.index(copy.shard.index).name
    )
}
