//! Each decider's rule, including edge cases.

mod disks;
mod places;

use super::fixture::{Builder, decision_with_reasons, node};
use super::{NoReasons, Verdict};
use crate::copy::{Reason, RecoverySource, UnassignedInfo};
use crate::model::{
    AllocationEnable, AllowRebalance, RebalanceEnable, RestoreShard, SnapshotShard, Version,
};
use Verdict::{No, Throttle, Yes};

#[test]
fn max_retries_failures_are_too_many() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 0);
    let copy = builder.unassigned(index, 0, true, RecoverySource::EmptyStore);
    let failed = |failed_allocations| {
        let mut copy = copy;
        let info = UnassignedInfo::new(Reason::AllocationFailed, 0);
        copy.unassigned = Some(UnassignedInfo {
            failed_allocations,
            ..info
        });
        copy
    };
    for (failures, retries, expected) in
        [(0, 0, Yes), (4, 5, Yes), (5, 5, No), (6, 5, No), (1, 1, No)]
    {
        builder.settings(index).max_retries = retries;
        let verdict = builder.allocate("max_retry", &failed(failures), 0);
        assert_eq!(verdict, expected, "{failures} of {retries}");
    }
    // Force does not override this.
    let forced =
        builder.ask(|round| round.can_force_allocate_primary(&failed(9), node(0), &mut NoReasons));
    assert_eq!(forced, No);
}

#[test]
fn replicas_wait_for_their_primary() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 2, 1);
    builder.initializing(index, 0, true, 0, RecoverySource::EmptyStore);
    let waiting = builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder.relocating(index, 1, true, (0, 1));
    let served = builder.unassigned(index, 1, false, RecoverySource::Peer);
    assert_eq!(
        builder.allocate("replica_after_primary_active", &waiting, 2),
        No
    );
    assert_eq!(
        builder.allocate("replica_after_primary_active", &served, 2),
        Yes
    );
}

#[test]
fn rebalancing_waits_for_all_copies_of_a_shard() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 3, 1);
    let recovering = builder.started(index, 0, true, 0);
    builder.initializing(index, 0, false, 1, RecoverySource::Peer);
    let whole = builder.started(index, 1, true, 0);
    builder.started(index, 1, false, 1);
    let lacking = builder.started(index, 2, true, 0);
    builder.unassigned(index, 2, false, RecoverySource::Peer);
    let verdict = |copy| builder.rebalance("rebalance_only_when_active", copy);
    assert_eq!(verdict(&recovering), No);
    assert_eq!(verdict(&whole), Yes);
    assert_eq!(verdict(&lacking), No);
}

#[test]
fn allow_rebalance_checks_primaries_or_all_copies() {
    use AllowRebalance::{Always, IndicesAllActive, IndicesPrimariesActive};
    type Put = fn(&mut Builder, crate::model::IndexIndex);
    let states: [(&str, Put, [Verdict; 2]); 5] = [
        ("all active", |_, _| {}, [Yes, Yes]),
        (
            "replica unassigned",
            |b, i| {
                b.started(i, 1, true, 0);
                b.unassigned(i, 1, false, RecoverySource::Peer);
            },
            [Yes, No],
        ),
        (
            "replica recovers",
            |b, i| {
                b.started(i, 1, true, 0);
                b.initializing(i, 1, false, 1, RecoverySource::Peer);
            },
            [Yes, No],
        ),
        (
            "primary recovers",
            |b, i| {
                b.initializing(i, 1, true, 1, RecoverySource::ExistingStore);
            },
            [No, No],
        ),
        (
            "primary unassigned",
            |b, i| {
                b.unassigned(i, 1, true, RecoverySource::ExistingStore);
            },
            [No, No],
        ),
    ];
    for (name, put, [primaries, all]) in states {
        let mut builder = Builder::new(2);
        let index = builder.index("i", 2, 1);
        let copy = builder.started(index, 0, true, 0);
        builder.started(index, 0, false, 1);
        put(&mut builder, index);
        for (setting, expected) in [
            (Always, Yes),
            (IndicesPrimariesActive, primaries),
            (IndicesAllActive, all),
        ] {
            builder.cluster.settings.allow_rebalance = setting;
            let verdict = builder.rebalance("cluster_rebalance", &copy);
            assert_eq!(verdict, expected, "{name}, {setting:?}");
            let cluster = builder.ask(|round| round.can_rebalance_cluster(&mut NoReasons));
            assert_eq!(cluster, expected, "{name}, {setting:?}");
        }
    }
}

#[test]
fn concurrent_rebalances_are_limited() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 3, 0);
    let copy = builder.started(index, 0, true, 0);
    builder.relocating(index, 1, true, (0, 1));
    builder.relocating(index, 2, true, (0, 2));
    for (limit, expected) in [(-1, Yes), (0, Throttle), (2, Throttle), (3, Yes)] {
        builder.cluster.settings.cluster_concurrent_rebalance = limit;
        assert_eq!(
            builder.rebalance("concurrent_rebalance", &copy),
            expected,
            "{limit}"
        );
    }
}

#[test]
fn allocation_enable_of_the_index_overrides_the_clusters() {
    use AllocationEnable::{All, NewPrimaries, None, Primaries};
    let mut builder = Builder::new(3);
    let index = builder.index("i", 3, 1);
    let fresh = builder.unassigned(index, 0, true, RecoverySource::EmptyStore);
    builder.unassigned(index, 0, false, RecoverySource::Peer);
    let old = builder.unassigned(index, 1, true, RecoverySource::ExistingStore);
    builder.unassigned(index, 1, false, RecoverySource::Peer);
    let moving = builder.started(index, 2, true, 0);
    let replica = builder.unassigned(index, 2, false, RecoverySource::Peer);
    let copies = [fresh, old, moving, replica];
    for (enable, expected) in [
        (All, [Yes, Yes, Yes, Yes]),
        (Primaries, [Yes, Yes, Yes, No]),
        (NewPrimaries, [Yes, No, No, No]),
        (None, [No, No, No, No]),
    ] {
        for by_index in [false, true] {
            let other = if enable == All { None } else { All };
            builder.cluster.settings.allocation_enable = if by_index { other } else { enable };
            builder.settings(index).allocation_enable = by_index.then_some(enable);
            let verdicts = copies.map(|copy| builder.allocate("enable", &copy, 2));
            assert_eq!(verdicts, expected, "{enable:?} {by_index}");
        }
    }
}

#[test]
fn rebalance_enable_of_the_index_overrides_the_clusters() {
    use RebalanceEnable::{All, None, Primaries, Replicas};
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 1);
    let primary = builder.started(index, 0, true, 0);
    let replica = builder.started(index, 0, false, 1);
    for (cluster, own, expected) in [
        (All, Option::None, [Yes, Yes]),
        (Primaries, Option::None, [Yes, No]),
        (Replicas, Option::None, [No, Yes]),
        (None, Option::None, [No, No]),
        (None, Some(Replicas), [No, Yes]),
        (All, Some(None), [No, No]),
    ] {
        builder.cluster.settings.rebalance_enable = cluster;
        builder.settings(index).rebalance_enable = own;
        let verdicts = [primary, replica].map(|copy| builder.rebalance("enable", &copy));
        assert_eq!(verdicts, expected, "{cluster:?} {own:?}");
        let anywhere = builder.ask(|round| round.can_rebalance_cluster(&mut NoReasons));
        // Only a cluster-wide `none` that no index overrides stops all rebalancing.
        let stopped = cluster == None && own.is_none_or(|own| own == None);
        assert_eq!(
            anywhere,
            if stopped { No } else { Yes },
            "{cluster:?} {own:?}"
        );
    }
}

#[test]
fn copies_only_go_to_equal_or_newer_versions() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 1, 1);
    let primary = builder.started(index, 0, true, 1);
    let replica = builder.unassigned(index, 0, false, RecoverySource::Peer);
    let other = builder.index("j", 1, 0);
    let fresh = builder.unassigned(other, 0, true, RecoverySource::EmptyStore);
    for (at, version) in [(6, 8, 23), (7, 4, 0), (7, 5, 0)].into_iter().enumerate() {
        builder.cluster.nodes[at].version = Version::release(version.0, version.1, version.2);
    }
    let verdicts = |copy| [0, 1, 2].map(|at| builder.allocate("node_version", copy, at));
    assert_eq!(verdicts(&primary), [No, Yes, Yes]);
    assert_eq!(verdicts(&replica), [No, Yes, Yes]);
    assert_eq!(verdicts(&fresh), [Yes, Yes, Yes]);
}

#[test]
fn a_primary_being_snapshotted_waits() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 1, 1);
    let primary = builder.started(index, 0, true, 0);
    let replica = builder.started(index, 0, false, 1);
    for (at, expected) in [(0, Throttle), (1, Yes)] {
        builder.cluster.snapshots = vec![SnapshotShard {
            shard: primary.shard,
            node: node(at),
        }];
        assert_eq!(
            builder.allocate("snapshot_in_progress", &primary, 2),
            expected
        );
        assert_eq!(
            builder.rebalance("snapshot_in_progress", &primary),
            expected
        );
        assert_eq!(builder.rebalance("snapshot_in_progress", &replica), Yes);
    }
}

#[test]
fn a_restore_needs_its_entry() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 0);
    let copy = builder.unassigned(index, 0, true, RecoverySource::Snapshot(7));
    let entry = |restore, completed| RestoreShard {
        restore,
        shard: copy.shard,
        completed,
    };
    for (entries, expected) in [
        (vec![], No),
        (vec![entry(7, false)], Yes),
        (vec![entry(7, true)], No),
        (vec![entry(8, false)], No),
    ] {
        builder.cluster.restores = entries;
        assert_eq!(builder.allocate("restore_in_progress", &copy, 0), expected);
    }
}

#[test]
fn a_split_goes_to_its_source_node() {
    let mut builder = Builder::new(3);
    let source = builder.index("source", 2, 0);
    builder.started(source, 0, true, 0);
    builder.started(source, 1, true, 1);
    let index = builder.index("split", 4, 0);
    builder.cluster.indices[index.at()].resize_source = Some(source);
    let copies = [0, 1, 2, 3]
        .map(|shard| builder.unassigned(index, shard, true, RecoverySource::LocalShards));
    let verdicts = copies.map(|copy| [0, 1, 2].map(|at| builder.allocate("resize", &copy, at)));
    assert_eq!(
        verdicts,
        [[Yes, No, No], [Yes, No, No], [No, Yes, No], [No, Yes, No]]
    );

    builder.cluster.nodes[0].version = Version::release(6, 0, 1);
    assert_eq!(builder.allocate("resize", &copies[0], 0), No);
    builder.cluster.indices[index.at()].resize_source = None;
    let gone = builder.ask(|round| {
        assert_eq!(
            round.can_force_allocate_primary(&copies[2], node(1), &mut NoReasons),
            No
        );
        round.can_allocate_anywhere(&copies[2], &mut NoReasons)
    });
    assert_eq!(gone, No);
}

#[test]
fn recoveries_are_limited_on_both_ends() {
    let mut builder = Builder::new(4);
    let index = builder.index("i", 3, 1);
    builder.started(index, 0, true, 0);
    builder.initializing(index, 0, false, 1, RecoverySource::Peer);
    builder.started(index, 1, true, 0);
    let replica = builder.unassigned(index, 1, false, RecoverySource::Peer);
    builder.started(index, 2, true, 2);
    let free = builder.unassigned(index, 2, false, RecoverySource::Peer);
    let settings = &mut builder.cluster.settings;
    settings.node_concurrent_incoming_recoveries = 1;
    settings.node_concurrent_outgoing_recoveries = 1;
    // Node 1 already has an incoming recovery, node 0 an outgoing one.
    assert_eq!(builder.allocate("throttling", &free, 1), Throttle);
    assert_eq!(builder.allocate("throttling", &free, 3), Yes);
    assert_eq!(builder.allocate("throttling", &replica, 3), Throttle);
    builder.cluster.settings.node_concurrent_outgoing_recoveries = 2;
    assert_eq!(builder.allocate("throttling", &replica, 3), Yes);
}

#[test]
fn initial_primary_recoveries_have_their_own_limit() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 4, 0);
    builder.initializing(index, 0, true, 0, RecoverySource::EmptyStore);
    builder.initializing(index, 1, true, 0, RecoverySource::ExistingStore);
    // It is relocating to node 0, so this is not an initial recovery.
    builder.relocating(index, 2, true, (1, 0));
    let copy = builder.unassigned(index, 3, true, RecoverySource::EmptyStore);
    builder.cluster.settings.node_concurrent_incoming_recoveries = 0;
    for (limit, expected) in [(2, Throttle), (3, Yes)] {
        builder.cluster.settings.node_initial_primaries_recoveries = limit;
        assert_eq!(
            builder.allocate("throttling", &copy, 0),
            expected,
            "{limit}"
        );
    }
}

#[test]
fn deciders_are_consulted_in_the_servers_order() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 0);
    let unassigned = builder.unassigned(index, 0, true, RecoverySource::EmptyStore);
    let names = |decision: &super::Decision| {
        let names = decision.reasons.iter().filter_map(|reason| reason.decider);
        names.collect::<Vec<_>>().join(" ")
    };
    builder.ask(|round| {
        let decision = decision_with_reasons(|why| round.can_allocate(&unassigned, node(0), why));
        assert_eq!(
            names(&decision),
            "max_retry replica_after_primary_active enable node_version snapshot_in_progress \
             restore_in_progress filter same_shard disk_threshold throttling shards_limit awareness"
        );
        let decision = decision_with_reasons(|why| round.can_rebalance(&unassigned, why));
        assert_eq!(
            names(&decision),
            "rebalance_only_when_active cluster_rebalance concurrent_rebalance enable \
             snapshot_in_progress"
        );
        let decision = decision_with_reasons(|why| round.can_rebalance_cluster(why));
        assert_eq!(
            names(&decision),
            "cluster_rebalance concurrent_rebalance enable"
        );
        let decision = decision_with_reasons(|why| round.can_allocate_anywhere(&unassigned, why));
        assert_eq!(
            names(&decision),
            "max_retry replica_after_primary_active enable restore_in_progress"
        );
    });
}
