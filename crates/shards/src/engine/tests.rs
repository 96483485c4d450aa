//! Both engines give the same results, whatever happens to copies.

use proptest::prelude::*;

use super::{Disk, Engine, Sums};
use crate::allocation::Allocation;
use crate::balancer;
use crate::copy::{Reason, RecoverySource, UnassignedInfo};
use crate::deciders::fixture::{Builder, decision_with_reasons, node};
use crate::deciders::{Deciders, NoReasons};
use crate::model::{Cluster, IndexIndex};
use crate::nodes::{CopyIndex, RoutingNodes};

/// A random cluster: per shard the node of its primary (or none), the node of a replica, and their
/// states.
pub(crate) fn clusters() -> impl Strategy<Value = Builder> {
    let shard = (0..6_u32, 0..6_u32, 0..8_u8, 0..300_i64, any::<[bool; 2]>());
    let index = prop::collection::vec(shard, 1..5);
    let disks = prop::collection::vec(prop::option::of(0..1000_i64), 6);
    let limits = (any::<bool>(), -1..4_i32, any::<bool>(), 1..5_i32);
    (prop::collection::vec(index, 1..12), disks, limits).prop_map(|(indices, disks, limits)| {
        let mut builder = Builder::new(6);
        for (at, zone) in ["a", "b", "a", "c", "b", "c"].iter().enumerate() {
            builder.cluster.nodes[at]
                .attributes
                .insert("zone".into(), (*zone).into());
        }
        builder.disks(&disks);
        for (at, shards) in indices.iter().enumerate() {
            let index = builder.index(&format!("i{at}"), u32::try_from(shards.len()).unwrap(), 1);
            builder.settings(index).total_shards_per_node = limits.1;
            for (shard, (one, other, kind, size, known)) in (0..).zip(shards) {
                put(&mut builder, index, shard, (*one, *other, *kind));
                let info = builder.cluster.info.as_mut().unwrap();
                let id = crate::model::ShardId { index, shard };
                for (primary, known) in [true, false].into_iter().zip(known) {
                    if *known {
                        info.set_size_bytes(id, primary, *size);
                    }
                }
            }
        }
        let settings = &mut builder.cluster.settings;
        settings.include_relocations = limits.0;
        if limits.2 {
            settings.awareness_attributes.push("zone".into());
        }
        settings.node_concurrent_incoming_recoveries = limits.3;
        settings.node_initial_primaries_recoveries = limits.3;
        settings.total_shards_per_node = if limits.3 == 4 { 9 } else { -1 };
        builder
    })
}

fn put(builder: &mut Builder, index: IndexIndex, shard: u32, (one, other, kind): (u32, u32, u8)) {
    let third = (0..6).find(|at| *at != one && *at != other).unwrap();
    let other = if one == other { third } else { other };
    let third = (0..6).rev().find(|at| *at != one && *at != other).unwrap();
    let mut read = Vec::new();
    match kind {
        0 => {
            builder.unassigned(index, shard, true, RecoverySource::EmptyStore);
            builder.unassigned(index, shard, false, RecoverySource::Peer);
        }
        1 => {
            builder.initializing(index, shard, true, one, RecoverySource::ExistingStore);
            builder.unassigned(index, shard, false, RecoverySource::Peer);
        }
        2 => {
            read.push(builder.started(index, shard, true, one));
            builder.initializing(index, shard, false, other, RecoverySource::Peer);
        }
        3 => {
            read.push(builder.relocating(index, shard, true, (one, third)));
            read.push(builder.started(index, shard, false, other));
        }
        4 => {
            read.push(builder.started(index, shard, true, one));
            read.push(builder.relocating(index, shard, false, (other, third)));
        }
        5 => {
            builder.started(index, shard, true, one);
            builder.unassigned(index, shard, false, RecoverySource::Peer);
        }
        _ => {
            read.push(builder.started(index, shard, true, one));
            read.push(builder.started(index, shard, false, other));
        }
    }
    let info = builder.cluster.info.as_mut().unwrap();
    let path = info.path(if shard == 0 { "/other" } else { "/d" });
    for (at, copy) in read.into_iter().enumerate() {
        // The path may have been read before the copy began to move, or since.
        let copy = if copy.is_relocating() && kind == 3 {
            copy.cancel_relocation()
        } else {
            copy
        };
        if at == 0 || shard.is_multiple_of(2) {
            info.set_data_path(&copy, path);
        }
    }
}

fn agree(cluster: &Cluster, nodes: &mut RoutingNodes, deciders: &Deciders) {
    let round = Allocation::new(cluster, nodes, deciders, 0);
    let scan = Engine::scan();
    for at in 0..6 {
        let node = node(at);
        for disk in [Disk::Least, Disk::Most] {
            let known = cluster.info.as_ref().and_then(|info| info.least.get(&node));
            let path = known.and_then(|usage| usage.path);
            let kept = deciders
                .engine
                .relocating_bytes(cluster, round.nodes, node, disk, path);
            assert_eq!(
                kept,
                scan.relocating_bytes(cluster, round.nodes, node, disk, path),
                "{node:?} {disk:?}"
            );
        }
        let engine = &deciders.engine;
        assert_eq!(
            engine.owned(round.nodes, node),
            scan.owned(round.nodes, node)
        );
        let initial = |engine: &Engine| engine.initial_primaries(round.nodes, node);
        assert_eq!(initial(engine), initial(&scan));
        for index in (0..).map(IndexIndex).take(cluster.indices.len()) {
            let of_index =
                |engine: &Engine| engine.owned_of_index(cluster, round.nodes, node, index);
            assert_eq!(of_index(engine), of_index(&scan));
        }
    }
}

fn handles(
    nodes: &RoutingNodes,
    which: impl Fn(&crate::copy::ShardCopy) -> bool,
) -> Vec<CopyIndex> {
    let on_nodes = nodes
        .order()
        .iter()
        .flat_map(|node| nodes.handles_on(*node));
    on_nodes
        .filter(|handle| which(nodes.copy(*handle)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Copies start, fail, move and are allocated; both engines are queried after one or several changes.
    #[test]
    fn sums_are_the_same(
        builder in clusters(),
        steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>(), 0..6_u32, any::<bool>()), 0..25),
    ) {
        let cluster = builder.build();
        let mut nodes = RoutingNodes::new(&cluster).unwrap();
        let deciders = Deciders::new(&cluster, &nodes, Engine::incremental());
        agree(&cluster, &mut nodes, &deciders);
        for (step, which, to, ask) in steps {
            let candidates = match step {
                0 => handles(&nodes, crate::copy::ShardCopy::is_started),
                1 => handles(&nodes, crate::copy::ShardCopy::is_initializing),
                2 => handles(&nodes, |copy| copy.is_active() || copy.is_initializing()),
                _ => nodes.unassigned().list().to_vec(),
            };
            if candidates.is_empty() {
                continue;
            }
            let handle = *which.get(&candidates);
            let copy = *nodes.copy(handle);
            let free = nodes.on_node(node(to), copy.shard).is_none();
            match step {
                0 if free => {
                    nodes.relocate(handle, node(to), 5);
                }
                1 => nodes.start(handle),
                2 => nodes.fail(handle, UnassignedInfo::new(Reason::NodeLeft, 0)),
                3 | 4 if free && (copy.primary || nodes.active_primary(copy.shard).is_some()) => {
                    for drained in nodes.drain_unassigned() {
                        if drained == handle {
                            nodes.initialize(drained, node(to), None, 5);
                        } else {
                            nodes.keep(drained);
                        }
                    }
                }
                _ => {}
            }
            if ask {
                agree(&cluster, &mut nodes, &deciders);
            }
        }
        agree(&cluster, &mut nodes, &deciders);
    }

    /// A whole round is the same with either engine, and so is the verdict on any copy, with or without
    /// recorded reasons.
    #[test]
    fn rounds_are_the_same(builder in clusters()) {
        let round = |engine: Engine| builder.ask_with(engine, |round| {
            balancer::allocate(round);
            round.nodes.changes().log().to_vec()
        });
        prop_assert_eq!(round(Engine::scan()), round(Engine::incremental()));

        builder.ask_with(Engine::scan(), |scan| builder.ask(|kept| {
            for copy in scan.cluster.routing.copies() {
                for at in 0..6 {
                    let decision = decision_with_reasons(|why| scan.can_allocate(copy, node(at), why));
                    assert_eq!(kept.can_allocate(copy, node(at), &mut NoReasons), decision.verdict);
                    let reasons = decision.reasons.iter().map(|reason| reason.verdict);
                    assert_eq!(reasons.min(), Some(decision.verdict));
                }
                if let (true, Some(at)) = (copy.is_started(), copy.node) {
                    let decision = decision_with_reasons(|why| scan.can_remain(copy, at, why));
                    assert_eq!(kept.can_remain(copy, at, &mut NoReasons), decision.verdict);
                }
            }
        }));
    }

    /// If all copies are proven to be able to remain, each of them can.
    #[test]
    fn the_proof_that_all_can_remain_is_sound(builder in clusters(), room in any::<bool>()) {
        let mut builder = builder;
        if room {
            // Otherwise hardly any cluster would pass the proof.
            builder.disks(&[Some(500); 6]);
            builder.cluster.settings.awareness_attributes.clear();
            builder.cluster.settings.total_shards_per_node = -1;
            for index in &mut builder.cluster.indices {
                index.settings.total_shards_per_node = -1;
            }
        }
        builder.ask(|round| {
            if !round.all_can_remain() {
                assert!(!room || round.cluster.settings.include_relocations);
                return;
            }
            for (_, copy) in round.nodes.order().iter().flat_map(|node| round.nodes.copies_on(*node)) {
                if let (true, Some(at)) = (copy.is_started(), copy.node) {
                    assert_ne!(round.can_remain(copy, at, &mut NoReasons), crate::deciders::Verdict::No);
                }
            }
        });
    }
}
