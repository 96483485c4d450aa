use proptest::prelude::*;

use super::sample::{cluster, shard, table, word};
use super::{Change, CopyIndex, RoutingError, RoutingNodes};
use crate::copy::{CopyState, Reason, RecoverySource, ShardCopy, UNKNOWN_SIZE, UnassignedInfo};
use crate::model::{Cluster, NodeIndex, RoutingTable, ShardId, Version};

const ONE: ShardId = shard(0, 0);

fn spread(cluster: &Cluster) -> RoutingNodes {
    RoutingNodes::new(cluster).unwrap()
}

fn words<'a>(
    nodes: &'a RoutingNodes,
    handles: impl IntoIterator<Item = &'a CopyIndex>,
) -> Vec<String> {
    handles
        .into_iter()
        .map(|&handle| word(nodes.copy(handle)))
        .collect()
}

fn group(nodes: &RoutingNodes, shard: ShardId) -> Vec<String> {
    words(nodes, nodes.assigned(shard))
}

fn unassigned(nodes: &RoutingNodes) -> Vec<String> {
    words(nodes, nodes.unassigned().list())
}

fn on(nodes: &RoutingNodes, node: u32) -> Vec<ShardId> {
    let copies = nodes.copies_on(NodeIndex(node));
    copies.map(|(_, copy)| copy.shard).collect()
}

fn at(nodes: &RoutingNodes, node: u32, shard: ShardId) -> CopyIndex {
    nodes.on_node(NodeIndex(node), shard).unwrap()
}

fn failed() -> UnassignedInfo {
    UnassignedInfo::new(Reason::AllocationFailed, 7)
}

/// Recomputes all counts and compares them (`assertShardStats`).
fn check(nodes: &RoutingNodes) {
    let mut inactive = 0;
    let mut inactive_primaries = 0;
    let mut relocating = 0;
    for &node in nodes.order() {
        let mut incoming = 0;
        let mut outgoing = 0;
        assert_eq!(nodes.copies_on(node).count(), nodes.count_on(node));
        for (handle, copy) in nodes.copies_on(node) {
            assert_eq!(copy.node, Some(node));
            assert!(nodes.assigned(copy.shard).contains(&handle));
            incoming += i32::from(copy.is_initializing());
            relocating += u32::from(copy.is_relocating());
            if copy.is_initializing() && copy.relocating.is_none() {
                inactive += 1;
                inactive_primaries += u32::from(copy.primary);
            }
            if let Some(other) = copy.relocation {
                let other = nodes.copy(nodes.by_allocation(copy.shard, other).unwrap());
                assert_eq!(other.relocating, Some(node));
                assert_eq!(other.relocation, copy.allocation);
                assert_eq!(other.primary, copy.primary);
            }
            if copy.primary && !copy.is_relocation_target() {
                outgoing += nodes
                    .assigned_copies(copy.shard)
                    .map(|other| i32::from(other.recovery == Some(RecoverySource::Peer)))
                    .sum::<i32>();
            }
        }
        assert_eq!(nodes.incoming_recoveries(node), incoming, "into {node:?}");
        assert_eq!(nodes.outgoing_recoveries(node), outgoing, "out of {node:?}");
    }
    assert_eq!(nodes.relocating_count(), relocating);
    assert_eq!(nodes.inactive_copies, inactive);
    assert_eq!(nodes.inactive_primaries, inactive_primaries);
    assert_eq!(nodes.has_inactive_copies(), inactive > 0);
    assert_eq!(nodes.has_inactive_primaries(), inactive_primaries > 0);
    let primaries = |handles: &[CopyIndex]| {
        let found = handles.iter().filter(|&&handle| nodes.copy(handle).primary);
        u32::try_from(found.count()).unwrap()
    };
    let list = nodes.unassigned();
    assert_eq!(list.primaries(), primaries(list.list()));
    assert_eq!(list.ignored_primaries(), primaries(list.ignored()));
}

#[test]
fn a_table_is_spread_over_the_nodes() {
    let cluster = cluster(3, &["Ps0 Rm12|Pm01 Ru", "Pi2 Ru"]);
    let nodes = spread(&cluster);
    check(&nodes);
    assert_eq!(nodes.order().len(), 3);
    assert_eq!(on(&nodes, 0), [shard(0, 0), shard(0, 1)]);
    assert_eq!(on(&nodes, 1), [shard(0, 0), shard(0, 1)]);
    assert_eq!(on(&nodes, 2), [shard(0, 0), shard(1, 0)]);
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps0", "Rm12", "Rt21"]);
    assert_eq!(group(&nodes, shard(0, 1)), ["Pm01", "Pt10"]);
    assert_eq!(unassigned(&nodes), ["Ru", "Ru"]);
    assert_eq!(nodes.relocating_count(), 2);
    // n0 is the source for the moving replica and for its own moving primary.
    assert_eq!(nodes.outgoing_recoveries(NodeIndex(0)), 2);
    // A primary that recovers from its store has no source node.
    assert_eq!(nodes.incoming_recoveries(NodeIndex(2)), 2);
    assert!(nodes.has_unassigned_copies() && !nodes.has_unassigned_primaries());
    assert!(nodes.has_inactive_primaries() && nodes.has_inactive_copies());
    assert!(!nodes.changes().any());
}

#[test]
fn copies_are_interleaved_by_node() {
    let cluster = cluster(2, &["Ps0", "Ps0", "Ps1", "Ps0"]);
    let nodes = spread(&cluster);
    let walked: Vec<u32> = nodes
        .interleaved(false)
        .into_iter()
        .map(|handle| nodes.copy(handle).shard.index.0)
        .collect();
    // "n0" and "n1" hash to 3458 and 3459, so n0 comes first of 16 bins.
    assert_eq!(nodes.order(), [NodeIndex(0), NodeIndex(1)]);
    assert_eq!(walked, [0, 2, 1, 3]);
}

#[test]
fn invalid_tables_are_rejected() {
    let error = |text: &[&str]| {
        RoutingNodes::new(&cluster(3, text))
            .unwrap_err()
            .to_string()
    };
    assert!(error(&["Ps0 Rs0"]).contains("two copies of [i0][0] on node n0"));
    assert!(error(&["Ps0 Rm10"]).contains("two copies of [i0][0] on node n0"));
    assert!(error(&["Rs0"]).contains("[i0][0] has 0 primaries"));
    assert!(error(&["Ps0|Ps0 Ps1"]).contains("[i0][1] has 2 primaries"));
    assert!(error(&["Pu Ri0"]).contains("which is unassigned"));
    assert!(error(&["Pm00"]).contains("its own node"));
}

type Spoil = fn(&mut ShardCopy);

#[test]
fn inconsistent_copies_are_rejected() {
    let fields: [(&str, Spoil); 7] = [
        ("no node", |copy| copy.node = None),
        ("no allocation id", |copy| copy.allocation = None),
        ("a relocation", |copy| copy.relocating = Some(NodeIndex(1))),
        ("nothing to relocate to", |copy| {
            copy.state = CopyState::Relocating;
        }),
        ("no recovery source", |copy| {
            copy.state = CopyState::Initializing;
        }),
        ("a recovery source", |copy| {
            copy.recovery = Some(RecoverySource::Peer);
        }),
        ("a node", |copy| copy.state = CopyState::Unassigned),
    ];
    for (what, spoil) in fields {
        let mut cluster = cluster(2, &["Ps0"]);
        let mut tables = cluster.routing.tables().to_vec();
        spoil(&mut tables[0].copies[0]);
        cluster.routing = RoutingTable::new(tables);
        match RoutingNodes::new(&cluster) {
            Err(RoutingError::Broken { what: found, .. }) => {
                assert!(found.starts_with(what), "{found}, not {what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn unknown_numbers_are_rejected() {
    let mut few = cluster(2, &["Ps0|Ps1"]);
    few.indices[0].shards = 1;
    assert!(
        RoutingNodes::new(&few)
            .unwrap_err()
            .to_string()
            .contains("shard 1 of index [i0]")
    );
    let mut few = cluster(2, &["Ri0 Ps1"]);
    few.nodes.truncate(1);
    few.data_nodes.truncate(1);
    assert!(
        RoutingNodes::new(&few)
            .unwrap_err()
            .to_string()
            .contains("node number 1")
    );
}

#[test]
fn duplicate_and_distant_shard_numbers_are_rejected() {
    let error = |cluster: &Cluster| RoutingNodes::new(cluster).unwrap_err().to_string();
    let mut cluster = cluster(2, &["Ps0|Ps1|Ps0", "Ps0|Ps1"]);
    let tables = cluster.routing.tables().to_vec();
    let numbered = |shard: u32| {
        let mut tables = tables.clone();
        tables[0].copies[2].shard.shard = shard;
        RoutingTable::new(tables)
    };
    cluster.indices[0].shards = u32::MAX;
    cluster.routing = numbered(u32::MAX - 1);
    assert!(error(&cluster).contains("3 shards of [i0], of which there are 4294967295"));
    // One or a few missing shards are allowed.
    cluster.routing = numbered(3);
    assert_eq!(spread(&cluster).assigned(shard(0, 3)).len(), 1);
    assert!(spread(&cluster).assigned(shard(0, 2)).is_empty());
    assert!(spread(&cluster).assigned(shard(0, 4)).is_empty());
    assert_eq!(spread(&cluster).assigned(shard(1, 0)).len(), 1);
    cluster.routing = numbered(0);
    assert!(error(&cluster).contains("3 shards of [i0]"));
    let doubled = [tables.clone(), tables.clone()].concat();
    cluster.routing = RoutingTable::new(doubled);
    assert!(error(&cluster).contains("3 shards of [i0]"));
    let mut same = cluster_of_one();
    let mut tables = same.routing.tables().to_vec();
    tables[0].copies[1].allocation = tables[0].copies[0].allocation;
    same.routing = RoutingTable::new(tables);
    assert!(error(&same).contains("the allocation id of another copy"));
}

fn cluster_of_one() -> Cluster {
    cluster(2, &["Ps0 Rs1"])
}

#[test]
fn ids_in_use_are_not_reused() {
    let mut cluster = cluster_of_one();
    cluster.next_allocation = 0;
    assert_eq!(spread(&cluster).next_allocation(), 3);
}

#[test]
fn an_index_that_is_not_routed_has_no_copies() {
    let mut cluster = cluster_of_one();
    cluster.routing = RoutingTable::default();
    cluster.indices[0].shards = u32::MAX;
    let nodes = spread(&cluster);
    assert!(nodes.assigned(shard(0, 7)).is_empty());
    assert!(nodes.assigned(shard(9, 0)).is_empty());
    assert_eq!(nodes.active_primary(ONE), None);
}

#[test]
fn a_moving_copy_keeps_its_place_and_a_returning_one_is_last() {
    let cluster = cluster(2, &["Ps0", "Ps0", "Ps0"]);
    let mut nodes = spread(&cluster);
    let first = at(&nodes, 0, shard(0, 0));
    let target = nodes.relocate(first, NodeIndex(1), 5);
    check(&nodes);
    assert_eq!(on(&nodes, 0), [shard(0, 0), shard(1, 0), shard(2, 0)]);
    assert_eq!(on(&nodes, 1), [shard(0, 0)]);
    assert_eq!(nodes.copy(target).expected_bytes, 5);
    nodes.start(target);
    check(&nodes);
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps1"]);
    assert_eq!(on(&nodes, 0), [shard(1, 0), shard(2, 0)]);
    let back = nodes.relocate(target, NodeIndex(0), UNKNOWN_SIZE);
    nodes.start(back);
    check(&nodes);
    assert_eq!(on(&nodes, 0), [shard(1, 0), shard(2, 0), shard(0, 0)]);
    // Both of its earlier ids were removed from the in-sync set.
    let changes = &nodes.changes().shards()[&shard(0, 0)];
    assert_eq!(changes.added.len(), 2);
    assert_eq!(changes.removed.len(), 2);
}

#[test]
fn a_node_list_with_many_gaps_keeps_its_order() {
    let text = vec!["Ps0"; 200];
    let cluster = cluster(2, &text);
    let mut nodes = spread(&cluster);
    for index in (0..200).filter(|index| index % 5 != 0) {
        let target = nodes.relocate(at(&nodes, 0, shard(index, 0)), NodeIndex(1), UNKNOWN_SIZE);
        nodes.start(target);
    }
    check(&nodes);
    let left: Vec<ShardId> = (0..200).step_by(5).map(|index| shard(index, 0)).collect();
    assert_eq!(on(&nodes, 0), left);
    // Handles still find their copies.
    let target = nodes.relocate(at(&nodes, 0, shard(195, 0)), NodeIndex(1), UNKNOWN_SIZE);
    nodes.start(target);
    check(&nodes);
    assert_eq!(on(&nodes, 0), left[..39]);
}

#[test]
fn a_failed_primary_is_replaced_by_the_replica_of_the_highest_version() {
    let mut cluster = cluster(4, &["Ps0 Rs1 Rs2 Rs3"]);
    cluster.nodes[2].version = Version::release(7, 5, 0);
    cluster.nodes[3].version = Version::release(7, 5, 0);
    let mut nodes = spread(&cluster);
    nodes.fail(at(&nodes, 0, shard(0, 0)), failed());
    check(&nodes);
    // The first of the two on 7.5.0; it keeps its position in the list.
    assert_eq!(group(&nodes, shard(0, 0)), ["Rs1", "Ps2", "Rs3"]);
    assert_eq!(unassigned(&nodes), ["Ru"]);
    let copy = nodes.copy(nodes.unassigned().list()[0]);
    assert_eq!(copy.recovery, Some(RecoverySource::Peer));
    assert_eq!(copy.unassigned.unwrap().failed_allocations, 1);
    let kinds: Vec<bool> = nodes
        .changes()
        .log()
        .iter()
        .map(|change| matches!(change, Change::Promoted(_)))
        .collect();
    assert_eq!(kinds, [true, false]);
}

#[test]
fn replicas_on_nodes_that_are_gone_are_promoted_last() {
    let mut cluster = cluster(3, &["Ps0 Rs1 Rs2"]);
    cluster.nodes[1].present = false;
    cluster.data_nodes.remove(1);
    let mut nodes = spread(&cluster);
    assert!(nodes.is_routed(NodeIndex(1)));
    nodes.fail(at(&nodes, 0, shard(0, 0)), failed());
    assert_eq!(group(&nodes, shard(0, 0)), ["Rs1", "Ps2"]);
    nodes.fail(at(&nodes, 2, shard(0, 0)), failed());
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps1"]);
    check(&nodes);
}

#[test]
fn recovering_replicas_fail_with_their_primary_and_come_first() {
    let cluster = cluster(3, &["Ps0 Ri1 Ri2"]);
    let mut nodes = spread(&cluster);
    nodes.fail(at(&nodes, 0, shard(0, 0)), failed());
    check(&nodes);
    assert_eq!(group(&nodes, shard(0, 0)), [""; 0]);
    assert_eq!(unassigned(&nodes), ["Ru", "Ru", "Pu"]);
    let infos: Vec<(Reason, u32)> = nodes
        .unassigned()
        .list()
        .iter()
        .filter_map(|&handle| nodes.copy(handle).unassigned)
        .map(|info| (info.reason, info.failed_allocations))
        .collect();
    assert_eq!(
        infos,
        [
            (Reason::PrimaryFailed, 0),
            (Reason::PrimaryFailed, 0),
            (Reason::AllocationFailed, 1)
        ]
    );
    let primary = nodes.copy(nodes.unassigned().list()[2]);
    assert_eq!(primary.recovery, Some(RecoverySource::ExistingStore));
}

#[test]
fn a_relocation_target_replica_survives_its_source() {
    let cluster = cluster(3, &["Ps0 Rm12"]);
    let mut nodes = spread(&cluster);
    nodes.fail(at(&nodes, 1, shard(0, 0)), failed());
    check(&nodes);
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps0", "Ri2"]);
    assert!(unassigned(&nodes).is_empty());
    assert!(nodes.has_inactive_copies());
}

#[test]
fn a_failing_primary_fails_its_relocation_target() {
    let cluster = cluster(4, &["Pm01 Rm23"]);
    let mut nodes = spread(&cluster);
    nodes.fail(at(&nodes, 0, shard(0, 0)), failed());
    check(&nodes);
    // The replica's relocation is cancelled first, so that it can be promoted.
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps2"]);
    assert_eq!(unassigned(&nodes), ["Ru"]);
}

#[test]
fn a_failing_target_leaves_its_source_unchanged() {
    let cluster = cluster(4, &["Pm01 Rm23", "Ps0 Rm13"]);
    let mut nodes = spread(&cluster);
    nodes.fail(at(&nodes, 3, shard(1, 0)), failed());
    assert_eq!(group(&nodes, shard(1, 0)), ["Ps0", "Rs1"]);
    // The target of a primary counts as a primary: copies that recover from it fail as well.
    nodes.fail(at(&nodes, 1, shard(0, 0)), failed());
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps0", "Rs2"]);
    assert!(unassigned(&nodes).is_empty());
    check(&nodes);
}

#[test]
fn replica_recoveries_restart_when_their_primary_has_moved() {
    let cluster = cluster(5, &["Pm01 Ri2 Rm34"]);
    let mut nodes = spread(&cluster);
    assert_eq!(nodes.outgoing_recoveries(NodeIndex(0)), 3);
    let replica = at(&nodes, 2, shard(0, 0));
    let before = *nodes.copy(replica);
    nodes.start(at(&nodes, 1, shard(0, 0)));
    check(&nodes);
    assert_eq!(group(&nodes, shard(0, 0)), ["Ps1", "Ri2", "Rm34", "Rt43"]);
    assert_eq!(nodes.outgoing_recoveries(NodeIndex(0)), 0);
    assert_eq!(nodes.outgoing_recoveries(NodeIndex(1)), 2);
    let after = nodes.copy(replica);
    assert_ne!(after.allocation, before.allocation);
    assert_eq!(after.unassigned, before.unassigned);
    assert_eq!(on(&nodes, 0), []);
}

#[test]
fn a_primary_that_never_started_keeps_its_recovery_source() {
    let cluster = cluster(1, &["Pi0"]);
    let mut nodes = spread(&cluster);
    let handle = at(&nodes, 0, shard(0, 0));
    nodes.copies[handle.at()].recovery = Some(RecoverySource::EmptyStore);
    nodes.fail(handle, failed());
    assert_eq!(
        nodes.copy(handle).recovery,
        Some(RecoverySource::EmptyStore)
    );
    // It was not active, so none of its ids were in sync.
    assert!(nodes.changes().shards().is_empty());
    check(&nodes);
}

#[test]
fn ignored_primaries_keep_their_status() {
    use crate::copy::AllocationStatus::{DecidersNo, NoAttempt};
    let cluster = cluster(2, &["Pu Ru"]);
    let mut nodes = spread(&cluster);
    let drained = nodes.drain_unassigned();
    assert_eq!(nodes.unassigned().primaries(), 0);
    for &handle in &drained {
        nodes.ignore(handle, DecidersNo);
    }
    check(&nodes);
    let status = |at: usize| nodes.copy(drained[at]).unassigned.unwrap().last_status;
    assert_eq!((status(0), status(1)), (DecidersNo, NoAttempt));
    assert_eq!(nodes.unassigned().ignored(), drained);
    assert!(nodes.has_unassigned_primaries() && nodes.unassigned().list().is_empty());
    assert_eq!(nodes.changes().log().len(), 1);
    // The same status again changes nothing.
    nodes.ignore(drained[0], DecidersNo);
    assert_eq!(nodes.changes().log().len(), 1);
}

#[test]
fn all_replicas_active_requires_enough_replicas() {
    let cluster = cluster(3, &["Ps0 Rs1|Ps0 Ru|Pm01 Rs2|Ps0 Ri1"]);
    let nodes = spread(&cluster);
    let active = |number| nodes.all_replicas_active(shard(0, number), 1);
    assert!(active(0));
    assert!(!active(1));
    // The relocation target is not active.
    assert!(!active(2));
    assert!(!active(3));
    assert!(!nodes.all_replicas_active(shard(0, 0), 2));
    assert_eq!(table(&cluster, 0), "Ps0 Rs1|Ps0 Ru|Pm01 Rs2|Ps0 Ri1");
}

/// Performs one operation; the numbers select among the existing copies and nodes.
fn act(nodes: &mut RoutingNodes, what: u8, which: usize, to: u32) {
    let handles: Vec<CopyIndex> = nodes.interleaved(false);
    let to = NodeIndex(to);
    if what == 0 {
        let drained = nodes.drain_unassigned();
        for handle in drained {
            let copy = *nodes.copy(handle);
            let fed = copy.primary || nodes.active_primary(copy.shard).is_some();
            if fed && nodes.on_node(to, copy.shard).is_none() {
                nodes.initialize(handle, to, None, UNKNOWN_SIZE);
            } else {
                nodes.keep(handle);
            }
        }
        return;
    }
    let Some(&handle) = handles.get(which % handles.len().max(1)) else {
        return;
    };
    let copy = *nodes.copy(handle);
    match what {
        1 if copy.is_started() && nodes.on_node(to, copy.shard).is_none() => {
            nodes.relocate(handle, to, UNKNOWN_SIZE);
        }
        2 if copy.is_initializing() => nodes.start(handle),
        3 => nodes.fail(handle, failed()),
        _ => {}
    }
}

proptest! {
    #[test]
    fn counts_stay_consistent(
        acts in prop::collection::vec((0u8..5, 0usize..1000, 0u32..5), 1..60),
    ) {
        let cluster = cluster(5, &["Ps0 Rs1 Rs2|Ps1 Rs2 Ru", "Ps3 Ri4 Ru|Pm34 Ri0 Rm12", "Pu Ru Ru"]);
        let mut nodes = spread(&cluster);
        for (what, which, to) in acts {
            // Start copies more often than the rest, otherwise everything ends up unassigned.
            act(&mut nodes, what.min(3), which, to);
            if what == 4 {
                act(&mut nodes, 2, which, to);
            }
            check(&nodes);
            for index in 0..3 {
                for number in 0..cluster.indices[index as usize].shards {
                    let id = shard(index, number);
                    let waiting = nodes.unassigned().list();
                    let copies = nodes
                        .assigned_copies(id)
                        .filter(|copy| !copy.is_relocation_target())
                        .chain(waiting.iter().map(|&handle| nodes.copy(handle)))
                        .filter(|copy| copy.shard == id);
                    let (primaries, all) = copies.fold((0, 0), |(primaries, all), copy| {
                        (primaries + usize::from(copy.primary), all + 1)
                    });
                    prop_assert_eq!((primaries, all), (1, 3));
                }
            }
        }
        // Converted to a table and back, the same copies are on the same nodes.
        let after = Cluster {
            routing: nodes.to_table(&cluster.routing),
            ..cluster
        };
        let again = spread(&after);
        check(&again);
        for &node in nodes.order() {
            let sorted = |nodes: &RoutingNodes| {
                let mut copies: Vec<_> = nodes.copies_on(node).map(|(_, copy)| *copy).collect();
                copies.sort_by_key(|copy| copy.shard);
                copies
            };
            prop_assert_eq!(sorted(&nodes), sorted(&again));
        }
    }
}
