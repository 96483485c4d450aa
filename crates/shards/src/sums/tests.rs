//! Kept sums are those of all copies of a node, whatever happens to copies.

use proptest::prelude::*;

use super::transit::{arriving_bytes, leaving_path};
use super::{Disk, Sums};
use crate::copy::{Reason, RecoverySource, ShardCopy, UnassignedInfo};
use crate::deciders::fixture::{Builder, decision_with_reasons, node};
use crate::deciders::{Deciders, NoReasons, Rules, expected_size_bytes};
use crate::model::{Cluster, IndexIndex, NodeIndex, PathIndex};
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

/// Lets every node hold anything, as far as disks, awareness and limits of shards go.
pub(crate) fn make_room(builder: &mut Builder) {
    builder.disks(&[Some(500); 6]);
    builder.cluster.settings.awareness_attributes.clear();
    builder.cluster.settings.total_shards_per_node = -1;
    for index in &mut builder.cluster.indices {
        index.settings.total_shards_per_node = -1;
    }
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

/// Walks all copies of a node, as 6.8 to 7.5 do (`RoutingNode.shardsWithState`).
fn count_on(nodes: &RoutingNodes, node: NodeIndex, which: impl Fn(&ShardCopy) -> bool) -> u32 {
    let counted = nodes.copies_on(node).filter(|(_, copy)| which(copy));
    u32::try_from(counted.count()).unwrap()
}

/// The same for the bytes that relocations take from a disk.
fn bytes_on(
    cluster: &Cluster,
    nodes: &RoutingNodes,
    node: NodeIndex,
    disk: Disk,
    path: Option<PathIndex>,
) -> i64 {
    let Some(info) = &cluster.info else { return 0 };
    let rules = Rules::of(cluster);
    let mut bytes = 0_i64;
    for (handle, copy) in nodes.copies_on(node) {
        if copy.is_initializing() {
            bytes = bytes.wrapping_add(arriving_bytes(rules, cluster, info, copy, path));
        }
        if disk == Disk::Least && copy.is_relocating() {
            let on = leaving_path(info, nodes, handle);
            if on.is_some() && on == path {
                bytes = bytes.wrapping_sub(expected_size_bytes(cluster, copy, 0));
            }
        }
    }
    bytes
}

fn agree(cluster: &Cluster, nodes: &RoutingNodes, sums: &Sums) {
    for at in 0..6 {
        let node = node(at);
        for disk in [Disk::Least, Disk::Most] {
            let known = cluster.info.as_ref().and_then(|info| info.least.get(&node));
            let path = known.and_then(|usage| usage.path);
            assert_eq!(
                sums.relocating_bytes(cluster, nodes, node, disk, path),
                bytes_on(cluster, nodes, node, disk, path),
                "{node:?} {disk:?}"
            );
        }
        let stays = |copy: &ShardCopy| !copy.is_relocating();
        assert_eq!(sums.owned(nodes, node), count_on(nodes, node, stays));
        let is_initial =
            |copy: &ShardCopy| copy.primary && copy.is_initializing() && copy.relocating.is_none();
        let initial = sums.initial_primaries(nodes, node);
        assert_eq!(initial, count_on(nodes, node, is_initial));
        for index in (0..).map(IndexIndex).take(cluster.indices.len()) {
            let of_index = |copy: &ShardCopy| copy.shard.index == index && stays(copy);
            let owned = Sums::owned_of_index(cluster, nodes, node, index);
            assert_eq!(owned, count_on(nodes, node, of_index));
        }
    }
}

fn handles(nodes: &RoutingNodes, which: impl Fn(&ShardCopy) -> bool) -> Vec<CopyIndex> {
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

    /// Copies start, fail, move and are allocated; the sums are asked for after one or several changes.
    #[test]
    fn sums_are_the_same(
        builder in clusters(),
        steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>(), 0..6_u32, any::<bool>()), 0..25),
    ) {
        let cluster = builder.build();
        let mut nodes = RoutingNodes::new(&cluster).unwrap();
        let deciders = Deciders::new(&cluster, &nodes);
        agree(&cluster, &nodes, &deciders.sums);
        for (step, which, to, ask) in steps {
            let candidates = match step {
                0 => handles(&nodes, ShardCopy::is_started),
                1 => handles(&nodes, ShardCopy::is_initializing),
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
                agree(&cluster, &nodes, &deciders.sums);
            }
        }
        agree(&cluster, &nodes, &deciders.sums);
    }

    /// The verdict on any copy is the same with or without recorded reasons.
    #[test]
    fn reasons_change_no_verdict(builder in clusters()) {
        builder.ask(|round| {
            for copy in round.cluster.routing.copies() {
                for at in 0..6 {
                    let decision = decision_with_reasons(|why| round.can_allocate(copy, node(at), why));
                    assert_eq!(round.can_allocate(copy, node(at), &mut NoReasons), decision.verdict);
                    let reasons = decision.reasons.iter().map(|reason| reason.verdict);
                    assert_eq!(reasons.min(), Some(decision.verdict));
                }
                if let (true, Some(at)) = (copy.is_started(), copy.node) {
                    let decision = decision_with_reasons(|why| round.can_remain(copy, at, why));
                    assert_eq!(round.can_remain(copy, at, &mut NoReasons), decision.verdict);
                }
            }
        });
    }

    /// If all copies are proven to be able to remain, each of them can.
    #[test]
    fn the_proof_that_all_can_remain_is_sound(builder in clusters(), room in any::<bool>()) {
        let mut builder = builder;
        if room {
            // Otherwise hardly any cluster would pass the proof.
            make_room(&mut builder);
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
