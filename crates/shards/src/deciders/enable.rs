//! `EnableAllocationDecider`: which copies may be allocated or rebalanced at all. An index's setting
//! overrides the cluster's.

use super::decision::answer;
use super::{ReasonSink, Verdict};
use crate::allocation::Allocation;
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::{AllocationEnable, RebalanceEnable};

const NAME: &str = "enable";

const fn allocation_word(enable: AllocationEnable) -> &'static str {
    match enable {
        AllocationEnable::None => "none",
        AllocationEnable::NewPrimaries => "new_primaries",
        AllocationEnable::Primaries => "primaries",
        AllocationEnable::All => "all",
    }
}

const fn rebalance_word(enable: RebalanceEnable) -> &'static str {
    match enable {
        RebalanceEnable::None => "none",
        RebalanceEnable::Primaries => "primaries",
        RebalanceEnable::Replicas => "replicas",
        RebalanceEnable::All => "all",
    }
}

/// `allocation.enable`.
pub(super) fn allocate<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    if round.simulating {
        return answer!(why, Yes, "does not matter in the simulation");
    }
    let own = round.index(copy.shard.index).settings.allocation_enable;
    let enable = own.unwrap_or(round.cluster.settings.allocation_enable);
    let (allowed, what) = match enable {
        AllocationEnable::All => (true, "any copy"),
        AllocationEnable::None => (false, "any copy"),
        AllocationEnable::NewPrimaries => {
            let new = copy.primary
                && !copy.is_active()
                && !copy.recovery.is_some_and(RecoverySource::is_existing_store);
            (
                new,
                if new {
                    "a new primary"
                } else {
                    "all but new primaries"
                },
            )
        }
        AllocationEnable::Primaries => (
            copy.primary,
            if copy.primary {
                "a primary"
            } else {
                "a replica"
            },
        ),
    };
    let setting = if own.is_some() {
        "index setting [index.routing.allocation.enable"
    } else {
        "cluster setting [cluster.routing.allocation.enable"
    };
    let value = allocation_word(enable);
    if allowed {
        return answer!(why, Yes, "{what} may be allocated; {setting}={value}]");
    }
    answer!(
        why,
        No,
        "allocating {what} is forbidden; {setting}={value}]"
    )
}

/// `rebalance.enable` for one copy.
pub(super) fn rebalance<W: ReasonSink>(
    round: &Allocation<'_>,
    copy: &ShardCopy,
    why: &mut W,
) -> Verdict {
    let own = round.index(copy.shard.index).settings.rebalance_enable;
    let enable = own.unwrap_or(round.cluster.settings.rebalance_enable);
    let allowed = match enable {
        RebalanceEnable::All => true,
        RebalanceEnable::None => false,
        RebalanceEnable::Primaries => copy.primary,
        RebalanceEnable::Replicas => !copy.primary,
    };
    let setting = if own.is_some() {
        "index setting [index.routing.rebalance.enable"
    } else {
        "cluster setting [cluster.routing.rebalance.enable"
    };
    let what = if copy.primary {
        "a primary"
    } else {
        "a replica"
    };
    let value = rebalance_word(enable);
    if allowed {
        return answer!(
            why,
            Yes,
            "{what} may be moved for balance; {setting}={value}]"
        );
    }
    answer!(
        why,
        No,
        "moving {what} for balance is forbidden; {setting}={value}]"
    )
}

/// `rebalance.enable` for the cluster: if it is `none`, one index that overrides it is enough.
pub(super) fn rebalance_cluster<W: ReasonSink>(round: &Allocation<'_>, why: &mut W) -> Verdict {
    if round.simulating {
        return answer!(why, Yes, "does not matter in the simulation");
    }
    if round.cluster.settings.rebalance_enable != RebalanceEnable::None {
        return answer!(why, Yes, "moving for balance is not forbidden everywhere");
    }
    let allows = |own: Option<RebalanceEnable>| own.is_some_and(|own| own != RebalanceEnable::None);
    let mut indices = round.cluster.indices.iter();
    if indices.any(|index| allows(index.settings.rebalance_enable)) {
        return answer!(
            why,
            Yes,
            "moving for balance is allowed for at least one index"
        );
    }
    answer!(
        why,
        No,
        "moving for balance is forbidden; cluster setting [cluster.routing.rebalance.enable=none]"
    )
}
