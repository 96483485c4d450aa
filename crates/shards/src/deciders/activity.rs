//! Deciders that depend on the state of other copies: `ReplicaAfterPrimaryActive`,
//! `RebalanceOnlyWhenActive`, `ClusterRebalance`, `ConcurrentRebalance`.

use super::decision::answer;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::model::AllowRebalance;

/// A replica needs an active primary from which to recover.
pub(super) fn replica_after_primary<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "replica_after_primary_active";
    if copy.primary {
        return answer!(why, Yes, "this is a primary");
    }
    if round.nodes.active_primary(copy.shard).is_none() {
        return answer!(
            why,
            No,
            "the primary that this replica needs is not active yet"
        );
    }
    answer!(why, Yes, "the primary of this replica is active")
}

/// All copies of a shard must be active before one of them may be rebalanced.
pub(super) fn rebalance_only_when_active<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    const NAME: &str = "rebalance_only_when_active";
    let replicas = round.index(copy.shard.index).replicas;
    let active = if round.deciders.rules.active_is_enough {
        round.nodes.all_shards_active(copy.shard, replicas)
    } else {
        round.nodes.all_replicas_active(copy.shard, replicas)
    };
    if active {
        return answer!(why, Yes, "all copies of this shard are active");
    }
    answer!(
        why,
        No,
        "not all of the {} copies of this shard are active",
        u64::from(replicas) + 1
    )
}

/// `cluster.routing.allocation.allow_rebalance`.
pub(super) fn cluster_rebalance<W: ReasonSink>(round: &Allocation<'_>, why: &mut W) -> Verdict {
    const NAME: &str = "cluster_rebalance";
    const SETTING: &str = "cluster.routing.allocation.allow_rebalance";
    let nodes = &round.nodes;
    let (what, all, value, unassigned, inactive) = match round.cluster.settings.allow_rebalance {
        AllowRebalance::IndicesPrimariesActive => (
            "a primary",
            "all primaries",
            "indices_primaries_active",
            nodes.has_unassigned_primaries(),
            nodes.has_inactive_primaries(),
        ),
        AllowRebalance::IndicesAllActive => (
            "a copy",
            "all copies",
            "indices_all_active",
            nodes.has_unassigned_copies(),
            nodes.has_inactive_copies(),
        ),
        AllowRebalance::Always => {
            return answer!(
                why,
                Yes,
                "allowed at any time; cluster setting [{SETTING}=always]"
            );
        }
    };
    if unassigned {
        return answer!(
            why,
            No,
            "{what} is unassigned; cluster setting [{SETTING}={value}]"
        );
    }
    if inactive {
        return answer!(
            why,
            No,
            "{what} is not active; cluster setting [{SETTING}={value}]"
        );
    }
    answer!(why, Yes, "{all} are active")
}

impl Allocation<'_> {
    /// Whether a simulation moves as many copies at a time as it may. Nothing else is relocated for balance
    /// in this round then, since every other copy is throttled.
    pub(crate) fn simulates_enough(&self) -> bool {
        self.simulating && self.deciders.rules.simulates_few && self.nodes.relocating_count() >= 2
    }
}

/// `cluster.routing.allocation.cluster_concurrent_rebalance`: number of copies that may move
/// concurrently.
pub(super) fn concurrent_rebalance<W: ReasonSink>(round: &Allocation<'_>, why: &mut W) -> Verdict {
    const NAME: &str = "concurrent_rebalance";
    const SETTING: &str = "cluster.routing.allocation.cluster_concurrent_rebalance";
    let limit = round.cluster.settings.cluster_concurrent_rebalance;
    if round.simulates_enough() {
        return answer!(why, Throttle, "the simulation moves two copies at a time");
    }
    if limit == -1 {
        return answer!(
            why,
            Yes,
            "any number of copies may move; cluster setting [{SETTING}=-1]"
        );
    }
    let moving = round.nodes.relocating_count();
    if i64::from(moving) >= i64::from(limit) {
        return answer!(
            why,
            Throttle,
            "[{moving}] copies are moving, which is the most at a time; cluster setting [{SETTING}={limit}]"
        );
    }
    answer!(
        why,
        Yes,
        "[{moving}] copies are moving; cluster setting [{SETTING}={limit}]"
    )
}
