use super::{DesiredBalance, End, Reconciler, compute};
use crate::allocation::Allocation;
use crate::copy::{Reason, RecoverySource, UnassignedInfo};
use crate::deciders::Deciders;
use crate::deciders::fixture::{Builder, node};
use crate::model::{
    Cluster, IndexIndex, NodeIndex, ShardId, Shutdown, ShutdownKind, Stream, Version,
};
use crate::nodes::{Change, RoutingNodes};
use proptest::prelude::*;

const VERSIONS: [Version; 5] = [
    Version::release(8, 6, 2),
    Version::release(8, 11, 0),
    Version::release(8, 15, 5),
    Version::release(8, 19, 12),
    Version::release(9, 2, 0),
];

fn shard(index: IndexIndex, shard: u32) -> ShardId {
    ShardId { index, shard }
}

fn compute_from(cluster: &Cluster, previous: &DesiredBalance) -> super::Computed {
    let nodes = RoutingNodes::new(cluster).expect("a sound table");
    compute(cluster, &nodes, &[], previous, 0)
}

/// The nodes that should have a copy of a shard, in ascending order.
fn wanted(balance: &DesiredBalance, of: ShardId) -> Vec<u32> {
    let nodes = &balance.assignment(of).expect("computed").nodes;
    let mut nodes: Vec<u32> = nodes.iter().map(|node| node.0).collect();
    nodes.sort_unstable();
    nodes
}

/// Moves that a step towards a balance begins: shard number, from and to.
fn step(
    reconciler: &mut Reconciler,
    cluster: &Cluster,
    balance: &DesiredBalance,
) -> Vec<(u32, u32, u32)> {
    let mut nodes = RoutingNodes::new(cluster).expect("a sound table");
    let deciders = Deciders::new(cluster, &nodes);
    let mut round = Allocation::new(cluster, &mut nodes, &deciders, 0);
    reconciler.reconcile(&mut round, balance);
    let moves = nodes
        .changes()
        .log()
        .iter()
        .filter_map(|change| match change {
            Change::RelocationStarted { started, target } => {
                let (from, to) = (started.node.unwrap(), target.node.unwrap());
                Some((started.shard.shard, from.0, to.0))
            }
            _ => None,
        });
    moves.collect()
}

fn leave(cluster: &mut Cluster, at: u32, kind: ShutdownKind, target: Option<&str>) {
    cluster.shutdowns.push(Shutdown {
        node: node(at),
        kind,
        target: target.map(str::to_owned),
        delay_nanos: None,
    });
}

/// Four primaries on the first of two nodes: two of them belong on the other, and the balancer moves the
/// highest numbers first.
#[test]
fn an_empty_node_is_to_have_half_of_the_copies() {
    for version in VERSIONS {
        let mut builder = Builder::new(2);
        let index = builder.index("i", 4, 0);
        for at in 0..4 {
            builder.started(index, at, true, 0);
        }
        builder.cluster.version = version;
        let cluster = builder.build();
        let previous = DesiredBalance::of_placement(&cluster);
        let computed = compute_from(&cluster, &previous);
        assert_eq!(computed.end, End::Rest, "{version}");
        assert!(computed.balance.converged);
        let places: Vec<_> = (0..4)
            .map(|at| wanted(&computed.balance, shard(index, at)))
            .collect();
        assert_eq!(places, [[0], [0], [1], [1]], "{version}");
        let moves = step(&mut Reconciler::new(), &cluster, &computed.balance);
        assert_eq!(moves, [(2, 0, 1), (3, 0, 1)], "{version}");
    }
}

/// The previous balance is where the computation begins, so what is balanced either way stays as it was
/// wanted, not as it is.
#[test]
fn what_was_wanted_before_is_wanted_still() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 2, 0);
    builder.started(index, 0, true, 0);
    builder.started(index, 1, true, 1);
    builder.cluster.version = Version::release(9, 2, 0);
    let cluster = builder.build();
    let mut previous = DesiredBalance::of_placement(&cluster);
    for assignment in previous.assignments.values_mut() {
        assignment.nodes = vec![NodeIndex(1 - assignment.nodes[0].0)];
    }
    let computed = compute_from(&cluster, &previous);
    assert_eq!(wanted(&computed.balance, shard(index, 0)), [1]);
    assert_eq!(wanted(&computed.balance, shard(index, 1)), [0]);
}

/// A node that leaves is emptied, one that restarts is not, and what a replaced one has goes to its
/// replacement, although the third node is as empty.
#[test]
fn a_node_that_leaves_keeps_nothing() {
    for (kind, target, expected) in [
        (ShutdownKind::Remove, None, None),
        (ShutdownKind::Sigterm, None, None),
        (ShutdownKind::Restart, None, Some(0)),
        (ShutdownKind::Replace, Some("name-2"), Some(2)),
    ] {
        let mut builder = Builder::new(3);
        let index = builder.index("i", 1, 0);
        builder.started(index, 0, true, 0);
        builder.cluster.version = Version::release(8, 19, 12);
        leave(&mut builder.cluster, 0, kind, target);
        let cluster = builder.build();
        let computed = compute_from(&cluster, &DesiredBalance::of_placement(&cluster));
        let places = wanted(&computed.balance, shard(index, 0));
        match expected {
            Some(at) => assert_eq!(places, [at], "{kind:?}"),
            None => assert!(places == [1] || places == [2], "{kind:?}: {places:?}"),
        }
    }
}

/// A replacement above the low watermark is filled by force; a node chosen freely is not.
#[test]
fn a_replacement_is_filled_above_the_watermark() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 0);
    builder.started(index, 0, true, 0);
    builder
        .disks(&[Some(500), Some(100)])
        .set_size_bytes(shard(index, 0), true, 50);
    builder.cluster.version = Version::release(9, 2, 0);
    let mut removed = builder.clone();
    leave(&mut removed.cluster, 0, ShutdownKind::Remove, None);
    leave(
        &mut builder.cluster,
        0,
        ShutdownKind::Replace,
        Some("name-1"),
    );
    for (builder, expected) in [(builder, 1), (removed, 0)] {
        let cluster = builder.build();
        let computed = compute_from(&cluster, &DesiredBalance::of_placement(&cluster));
        assert_eq!(wanted(&computed.balance, shard(index, 0)), [expected]);
    }
}

/// An unassigned replica starts again where it was, although another node is emptier.
#[test]
fn an_unassigned_copy_goes_back_to_its_last_node() {
    let mut builder = Builder::new(3);
    let other = builder.index("other", 1, 0);
    builder.started(other, 0, true, 1);
    let index = builder.index("i", 1, 1);
    builder.started(index, 0, true, 0);
    builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder.cluster.version = Version::release(8, 19, 12);
    let mut cluster = builder.build();
    let mut tables = cluster.routing.tables().to_vec();
    tables[1].copies[1].unassigned = Some(UnassignedInfo {
        last_node: Some(node(1)),
        ..UnassignedInfo::new(Reason::NodeLeft, 0)
    });
    cluster.routing = crate::model::RoutingTable::new(tables);
    let computed = compute_from(&cluster, &DesiredBalance::default());
    assert_eq!(wanted(&computed.balance, shard(index, 0)), [0, 1]);
}

/// Copies that the gateway allocator keeps to itself are counted as ignored and left alone.
#[test]
fn claimed_copies_are_left_alone() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 1);
    builder.started(index, 0, true, 0);
    let replica = builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder.cluster.version = Version::release(8, 19, 12);
    let cluster = builder.build();
    let nodes = RoutingNodes::new(&cluster).unwrap();
    let computed = compute(&cluster, &nodes, &[replica], &DesiredBalance::default(), 0);
    let assignment = computed.balance.assignment(shard(index, 0)).unwrap();
    assert_eq!(
        (assignment.total, assignment.unassigned, assignment.ignored),
        (2, 1, 1)
    );
    assert_eq!(assignment.nodes, [node(0)]);
}

/// With one move at a time, the index that a stream writes to leaves a filtered node first; for balance
/// alone it goes last.
#[test]
fn written_indices_leave_first_and_rebalance_last() {
    let cluster = |filtered: bool| {
        let mut builder = Builder::new(2);
        let indices = ["old", "plain", "written"].map(|name| builder.index(name, 1, 0));
        for index in indices {
            builder.started(index, 0, true, 0);
        }
        for (index, stream) in
            indices
                .into_iter()
                .zip([Stream::Backing, Stream::None, Stream::WriteIndex])
        {
            builder.cluster.indices[index.at()].forecast.stream = stream;
        }
        builder.cluster.version = Version::release(8, 19, 12);
        builder.cluster.settings.node_concurrent_outgoing_recoveries = 1;
        if filtered {
            builder.cluster.settings.exclude.add("_name", "name-0");
        }
        builder.build()
    };
    for (filtered, first) in [(true, 2), (false, 0)] {
        let cluster = cluster(filtered);
        let mut desired = DesiredBalance::of_placement(&cluster);
        for assignment in desired.assignments.values_mut() {
            assignment.nodes = vec![node(1)];
        }
        let mut nodes = RoutingNodes::new(&cluster).unwrap();
        let deciders = Deciders::new(&cluster, &nodes);
        let mut round = Allocation::new(&cluster, &mut nodes, &deciders, 0);
        Reconciler::new().reconcile(&mut round, &desired);
        let moved: Vec<u32> = nodes
            .changes()
            .log()
            .iter()
            .map(|change| change.shard().index.0)
            .collect();
        assert_eq!(moved, [first], "filtered: {filtered}");
    }
}

/// A cluster of random placements on up to five nodes, without limits that could block a move.
fn clusters() -> impl Strategy<Value = Cluster> {
    let index = (1..5_u32, 0..3_u32, any::<u64>());
    let indices = proptest::collection::vec(index, 1..8);
    (2..6_u32, indices, 0..VERSIONS.len()).prop_map(|(count, indices, version)| {
        let mut builder = Builder::new(count);
        for (number, (shards, replicas, seed)) in indices.into_iter().enumerate() {
            let replicas = replicas.min(count - 1);
            let index = builder.index(&format!("i{number}"), shards, replicas);
            for shard in 0..shards {
                let start = u32::try_from((seed >> (shard * 7)) & 0x7F).unwrap();
                for copy in 0..=replicas {
                    builder.started(index, shard, copy == 0, (start + copy) % count);
                }
            }
        }
        builder.cluster.version = VERSIONS[version];
        builder.build()
    })
}

proptest! {
    #[test]
    fn computing_again_changes_nothing(cluster in clusters()) {
        let first = compute_from(&cluster, &DesiredBalance::of_placement(&cluster));
        prop_assert_eq!(first.end, End::Rest);
        let again = compute_from(&cluster, &first.balance);
        prop_assert_eq!(again.iterations, 1);
        for (shard, assignment) in &first.balance.assignments {
            prop_assert_eq!(wanted(&again.balance, *shard), wanted(&first.balance, *shard));
            prop_assert_eq!(assignment.unassigned, 0);
        }
    }

    #[test]
    fn steps_end_where_they_are_to_lead(cluster in clusters()) {
        let desired = compute_from(&cluster, &DesiredBalance::of_placement(&cluster)).balance;
        let mut nodes = RoutingNodes::new(&cluster).unwrap();
        let deciders = Deciders::new(&cluster, &nodes);
        let mut reconciler = Reconciler::new();
        let copies = cluster.routing.copies().count();
        for _ in 0..=copies {
            let mut round = Allocation::new(&cluster, &mut nodes, &deciders, 0);
            reconciler.reconcile(&mut round, &desired);
            let mut arriving: Vec<_> = nodes
                .order()
                .iter()
                .flat_map(|node| nodes.copies_on(*node))
                .filter(|(_, copy)| copy.is_initializing())
                .map(|(handle, _)| handle)
                .collect();
            // A primary that arrives restarts its recovering replicas, so the server starts those first.
            arriving.sort_by_key(|handle| nodes.copy(*handle).primary);
            for handle in arriving {
                nodes.start(handle);
            }
        }
        for (shard, assignment) in &desired.assignments {
            let mut on: Vec<u32> = nodes
                .assigned_copies(*shard)
                .filter_map(|copy| copy.node.map(|node| node.0))
                .collect();
            on.sort_unstable();
            let mut to: Vec<u32> = assignment.nodes.iter().map(|node| node.0).collect();
            to.sort_unstable();
            prop_assert_eq!(on, to);
        }
    }
}
