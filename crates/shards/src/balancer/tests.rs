//! Weights, choice of nodes, moves and explanations.

use proptest::prelude::*;

use super::sorter::BySpread;
use super::{Balancer, CopyDecision, Outcome, WeightFunction, allocate, explain};
use crate::allocation::Allocation;
use crate::copy::{AllocationStatus, RecoverySource, ShardCopy};
use crate::deciders::Verdict;
use crate::deciders::fixture::{Builder, node};
use crate::model::{ClusterInfo, IndexIndex, NodeIndex, Product, Settings, ShardId, Version};
use crate::nodes::{Change, CopyIndex, RoutingNodes};

fn order(round: &mut Allocation<'_>) -> Vec<NodeIndex> {
    Balancer::new(round).model.nodes().map(NodeIndex).collect()
}

/// The moves of a round: shard, source, target.
fn moves(builder: &Builder) -> Vec<(ShardId, u32, u32)> {
    builder.ask(|round| {
        allocate(round);
        let log = round.nodes.changes().log();
        let moves = log.iter().filter_map(|change| match change {
            Change::RelocationStarted { started, target } => {
                Some((started.shard, started.node?.0, target.node?.0))
            }
            _ => None,
        });
        moves.collect()
    })
}

/// Placements in order: shard, whether primary, node.
fn placed(round: &Allocation<'_>) -> Vec<(ShardId, bool, u32)> {
    let log = round.nodes.changes().log();
    let placed = log.iter().filter_map(|change| match change {
        Change::Initialized(copy) => Some((copy.shard, copy.primary, copy.node?.0)),
        _ => None,
    });
    placed.collect()
}

fn shard(index: IndexIndex, shard: u32) -> ShardId {
    ShardId { index, shard }
}

#[test]
fn weights_are_single_precision_in_the_servers_order() {
    let mut settings = Settings::default();
    let weights = WeightFunction::new(&settings, false);
    // 0.45 and 0.55 sum to exactly 1 in single precision, so the thetas equal the settings.
    let expected = 0.45_f32 * (7.0_f32 - 4.5) + 0.55_f32 * (2.0_f32 - 1.25);
    assert_eq!(
        weights.weight(7, 2, 4.5, 1.25).to_bits(),
        expected.to_bits()
    );
    (settings.balance_index, settings.balance_shard) = (3.0, 1.0);
    let weights = WeightFunction::new(&settings, false);
    assert_eq!(weights.weight(5, 3, 1.0, 1.0).to_bits(), 2.5_f32.to_bits());
}

#[test]
fn a_copys_write_load_and_bytes_weigh_beside_its_count() {
    let mut settings = Settings::default();
    (settings.balance_index, settings.balance_shard) = (3.0, 1.0);
    (settings.balance_write_load, settings.balance_disk_usage) = (10.0, 2.0);
    let weights = WeightFunction::new(&settings, true);
    // (1 * 4 + 3 * 2 + 10 * 0.5 + 2 * 8) / 16, exact in single precision
    for index_last in [false, true] {
        let weight = weights.weight_with_loads((4.0, 2.0), (0.5, 8.0), index_last);
        assert_eq!(weight.to_bits(), 1.9375_f32.to_bits());
    }
    // (1 + 3 + 10 * 0.5 + 2 * 8) / 16
    assert_eq!(weights.of_one((0.5, 8.0)).to_bits(), 1.5625_f32.to_bits());
}

/// Two nodes with two indices of one copy each; those of the first are written to.
fn written_to(version: Version) -> Builder {
    let mut builder = Builder::new(2);
    builder.cluster.version = version;
    for (name, node) in [("a", 0), ("b", 0), ("c", 1), ("d", 1)] {
        let index = builder.index(name, 1, 0);
        builder.started(index, 0, true, node);
        if node == 0 {
            builder.cluster.indices[index.at()].forecast.write_load = Some(2.0);
        }
    }
    builder
}

#[test]
fn write_load_moves_copies_from_8_6_on() {
    assert!(moves(&written_to(Version::release(8, 5, 3))).is_empty());
    // One of the copies that are written to leaves, and one of the others takes its place; from 9.2 on
    // that is for the next round.
    for (version, count) in [
        (Version::release(8, 6, 0), 2),
        (Version::release(8, 15, 0), 2),
        (Version::release(9, 2, 0), 1),
    ] {
        let moved = moves(&written_to(version));
        let ends: Vec<_> = moved.iter().map(|(_, from, to)| (*from, *to)).collect();
        assert_eq!(ends, [(0, 1), (1, 0)][..count], "{version}");
        assert!(moved[0].0.index.0 < 2, "{version}");
    }
}

#[test]
fn bytes_count_as_forecast_and_later_as_measured() {
    let of = |version| {
        let mut builder = written_to(version);
        let mut info = ClusterInfo::default();
        for index in (0..4).map(IndexIndex) {
            builder.cluster.indices[index.at()].forecast.write_load = None;
            // The copies of one node hold 1 TB, the others nothing.
            let bytes = if index.0 < 2 { 1_000_000_000_000 } else { 0 };
            info.set_size_bytes(shard(index, 0), true, bytes);
        }
        builder.cluster.info = Some(info);
        moves(&builder).len()
    };
    assert_eq!(of(Version::release(8, 6, 2)), 0);
    assert_eq!(of(Version::release(8, 11, 0)), 2);
    assert_eq!(of(Version::release(8, 15, 5)), 2);
}

#[test]
fn from_7_7_on_the_highest_shards_move_first() {
    for (product, version) in [
        (Product::Elasticsearch, Version::release(7, 7, 0)),
        (Product::Elasticsearch, Version::release(8, 4, 0)),
        (Product::OpenSearch, Version::release(2, 19, 1)),
    ] {
        let mut builder = Builder::new(2);
        (builder.cluster.product, builder.cluster.version) = (product, version);
        let index = builder.index("i", 4, 0);
        for number in 0..4 {
            builder.started(index, number, true, 0);
        }
        assert_eq!(
            moves(&builder),
            [(shard(index, 3), 0, 1), (shard(index, 2), 0, 1)],
            "{product} {version}"
        );
    }
}

#[test]
fn two_copies_move_to_an_empty_node_the_lowest_shards_first() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 4, 0);
    for number in 0..4 {
        builder.started(index, number, true, 0);
    }
    assert_eq!(
        moves(&builder),
        [(shard(index, 0), 0, 1), (shard(index, 1), 0, 1)]
    );
    builder.cluster.settings.cluster_concurrent_rebalance = 1;
    // The second is throttled and moves in the model only.
    assert_eq!(moves(&builder), [(shard(index, 0), 0, 1)]);
    builder.cluster.settings.balance_threshold = 5.0;
    assert!(moves(&builder).is_empty());
}

#[test]
fn copies_move_from_an_excluded_node_to_the_lightest() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 2, 0);
    builder.started(index, 0, true, 0);
    builder.started(index, 1, true, 1);
    builder.cluster.settings.exclude.add("_id", "n0");
    // Rule out rebalancing.
    builder.cluster.settings.cluster_concurrent_rebalance = 0;
    assert_eq!(moves(&builder), [(shard(index, 0), 0, 2)]);
    builder.cluster.settings.node_concurrent_incoming_recoveries = 0;
    assert!(moves(&builder).is_empty(), "a throttled move waits");
}

#[test]
fn primaries_come_first_and_replicas_of_a_shard_one_at_a_time() {
    let mut builder = Builder::new(3);
    let old = builder.index("old", 1, 2);
    let new = builder.index("new", 1, 2);
    for (index, date) in [(old, 1), (new, 2)] {
        builder.started(index, 0, true, 0);
        builder.unassigned(index, 0, false, RecoverySource::Peer);
        builder.unassigned(index, 0, false, RecoverySource::Peer);
        builder.settings(index).creation_date = date;
    }
    let third = builder.index("third", 1, 0);
    builder.unassigned(third, 0, true, RecoverySource::EmptyStore);
    builder.settings(third).priority = 0;
    let settings = &mut builder.cluster.settings;
    settings.node_concurrent_incoming_recoveries = 9;
    settings.node_concurrent_outgoing_recoveries = 9;
    builder.ask(|round| {
        allocate(round);
        let order: Vec<(IndexIndex, bool)> = placed(round)
            .into_iter()
            .map(|(shard, primary, _)| (shard.index, primary))
            .collect();
        let expected = [
            (third, true),
            (new, false),
            (old, false),
            (new, false),
            (old, false),
        ];
        assert_eq!(order, expected);
        assert!(!round.nodes.has_unassigned_copies());
    });
}

#[test]
fn a_new_index_spreads_its_primaries() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 6, 0);
    for number in 0..6 {
        builder.unassigned(index, number, true, RecoverySource::EmptyStore);
    }
    builder.ask(|round| {
        allocate(round);
        for at in 0..3 {
            assert_eq!(round.nodes.count_on(node(at)), 2);
        }
        // Among equal nodes, the first in the server's map takes the first shard.
        let first = order(round)[0];
        assert_eq!(placed(round)[0], (shard(index, 0), true, first.0));
    });
}

/// Tie-breaking rule: the node whose highest primary follows the shard in ring order.
#[test]
fn ties_are_broken_in_ring_order() {
    for (number, expected) in [(0, 1), (1, 2), (2, 0)] {
        let mut builder = Builder::new(3);
        let index = builder.index("i", 3, 1);
        for at in 0..3 {
            builder.started(index, at, true, at);
            if at == number {
                builder.unassigned(index, at, false, RecoverySource::Peer);
            }
        }
        let index = shard(index, number);
        builder.ask(|round| {
            allocate(round);
            assert_eq!(placed(round), [(index, false, expected)], "{number}");
        });
    }
}

#[test]
fn a_throttled_copy_waits_but_counts() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 4, 0);
    for number in 0..4 {
        builder.unassigned(index, number, true, RecoverySource::EmptyStore);
    }
    builder.cluster.settings.node_initial_primaries_recoveries = 1;
    builder.ask(|round| {
        allocate(round);
        assert_eq!(placed(round).len(), 2);
        let ignored = round.nodes.unassigned().ignored();
        assert_eq!(ignored.len(), 2);
        for handle in ignored {
            let info = round.nodes.copy(*handle).unassigned.unwrap();
            assert_eq!(info.last_status, AllocationStatus::DecidersThrottled);
        }
    });
}

#[test]
fn an_unplaceable_replica_is_ignored_with_its_duplicates() {
    let mut builder = Builder::new(2);
    let index = builder.index("i", 1, 2);
    builder.unassigned(index, 0, true, RecoverySource::EmptyStore);
    builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder.unassigned(index, 0, false, RecoverySource::Peer);
    builder.settings(index).require.add("rack", "none has it");
    builder.ask(|round| {
        allocate(round);
        assert_eq!(round.nodes.unassigned().ignored().len(), 3);
        let primary = round.nodes.unassigned().ignored()[0];
        let info = round.nodes.copy(primary).unassigned.unwrap();
        assert_eq!(info.last_status, AllocationStatus::DecidersNo);
    });
}

fn handle_of(nodes: &RoutingNodes, copy: &ShardCopy) -> CopyIndex {
    let on_nodes = nodes
        .assigned(copy.shard)
        .iter()
        .chain(nodes.unassigned().list());
    on_nodes
        .copied()
        .find(|handle| nodes.copy(*handle) == copy)
        .expect("a copy of this cluster")
}

#[test]
fn an_unassigned_copy_is_explained_node_by_node() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 2, 0);
    builder.started(index, 0, true, 0);
    let copy = builder.unassigned(index, 1, true, RecoverySource::EmptyStore);
    builder.cluster.settings.exclude.add("_id", "n2");
    builder.ask(|round| {
        let handle = handle_of(round.nodes, &copy);
        let CopyDecision::Allocate(decision) = explain(round, handle, true) else {
            panic!("an unassigned copy")
        };
        assert_eq!(decision.status, None);
        let nodes: Vec<(u32, Outcome)> = decision
            .nodes
            .iter()
            .map(|result| (result.node.0, result.outcome))
            .collect();
        assert_eq!(
            nodes,
            [(1, Outcome::Yes), (0, Outcome::Yes), (2, Outcome::No)]
        );
        // Rank by weight: n1 and n2 are empty, n0 is not.
        let rank = |at: usize| decision.nodes[at].weight_ranking;
        assert_eq!(rank(1), 3);
        assert_eq!(rank(0) + rank(2), 3);
        let reasons = &decision.nodes[2].decision.reasons;
        assert_eq!(reasons.len(), 1, "YES is left out");
        assert_eq!(reasons[0].decider, Some("filter"));
        assert!(!round.nodes.changes().any());
    });
}

#[test]
fn a_copy_that_cannot_remain_is_explained() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 1, 0);
    let copy = builder.started(index, 0, true, 0);
    builder.cluster.settings.exclude.add("_id", "n0,n1");
    builder.ask(|round| {
        let handle = handle_of(round.nodes, &copy);
        let CopyDecision::Move(decision) = explain(round, handle, false) else {
            panic!("a started copy")
        };
        assert_eq!(decision.can_remain.verdict, Verdict::No);
        let nodes: Vec<(u32, Outcome)> = decision
            .nodes
            .iter()
            .map(|result| (result.node.0, result.outcome))
            .collect();
        assert_eq!(nodes, [(2, Outcome::Yes), (1, Outcome::No)]);
    });
}

#[test]
fn a_copy_that_could_improve_the_balance_is_explained() {
    let mut builder = Builder::new(3);
    let index = builder.index("i", 4, 0);
    let copy = builder.started(index, 0, true, 0);
    for (number, at) in [(1, 0), (2, 0), (3, 1)] {
        builder.started(index, number, true, at);
    }
    let explained = |builder: &Builder| {
        builder.ask(|round| {
            let handle = handle_of(round.nodes, &copy);
            match explain(round, handle, false) {
                CopyDecision::Move(decision) => decision,
                other => panic!("{other:?}"),
            }
        })
    };
    // 3 copies against 1 and 0: both other nodes are better.
    let decision = explained(&builder);
    let nodes: Vec<(u32, u32)> = decision
        .nodes
        .iter()
        .map(|result| (result.node.0, result.weight_ranking))
        .collect();
    assert_eq!(nodes, [(2, 1), (1, 2)]);

    // With a threshold of 2, moving to the node with one copy is not worthwhile.
    builder.cluster.settings.balance_threshold = 2.0;
    let decision = explained(&builder);
    let nodes: Vec<(u32, Outcome, u32)> = decision
        .nodes
        .iter()
        .map(|result| (result.node.0, result.outcome, result.weight_ranking))
        .collect();
    assert_eq!(nodes, [(2, Outcome::Yes, 1), (1, Outcome::WorseBalance, 2)]);
}

fn spread_clusters() -> impl Strategy<Value = Builder> {
    let copies = prop::collection::vec((0..25_u32, any::<bool>()), 1..7);
    let threshold = prop_oneof![Just(1.0_f32), 0.0..6.0_f32];
    (prop::collection::vec(copies, 1..25), 2..26_u32, threshold).prop_map(
        |(indices, nodes, threshold)| {
            let mut builder = Builder::new(nodes);
            for (at, copies) in indices.iter().enumerate() {
                let shards = u32::try_from(copies.len()).unwrap();
                let index = builder.index(&format!("i{at}"), shards, 0);
                for (number, (at, moves)) in (0..).zip(copies) {
                    let (from, to) = (at % nodes, (at + 1) % nodes);
                    if *moves && threshold > 3.0 {
                        builder.relocating(index, number, true, (from, to));
                    } else {
                        builder.started(index, number, true, from);
                    }
                }
            }
            builder.cluster.settings.balance_threshold = threshold;
            builder.cluster.settings.cluster_concurrent_rebalance = -1;
            builder
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Where the shortcut proves balance, the full loop moves nothing.
    #[test]
    fn the_balance_proof_is_sound(builder in spread_clusters()) {
        let proven = builder.ask(|round| {
            let mut balancer = Balancer::new(round);
            let proven = balancer.is_balanced();
            for index in balancer.by_spread() {
                balancer.balance_index(index);
            }
            proven && round.nodes.changes().any()
        });
        prop_assert!(!proven);
    }

    /// The shortcut does prove balance where no index has two nodes further apart than the threshold.
    #[test]
    fn the_balance_proof_is_complete(builder in spread_clusters()) {
        builder.ask(|round| {
            let mut balancer = Balancer::new(round);
            let found = balancer.is_balanced();
            let indices: Vec<IndexIndex> = balancer.routed().collect();
            let spread = indices.into_iter().map(|index| {
                balancer.select(index);
                let weights = balancer.model.nodes().map(|node| balancer.weight(node, 0));
                let weights: Vec<f32> = weights.collect();
                let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                most - weights.iter().copied().fold(f32::INFINITY, f32::min)
            });
            let spread: Vec<f32> = spread.collect();
            let threshold = balancer.threshold;
            assert_eq!(found, spread.iter().all(|delta| *delta <= threshold + 0.001));
        });
    }

    /// The order of the indices, and that of the nodes afterwards, are those of sorting the nodes for each index.
    #[test]
    fn indices_are_ordered_as_if_nodes_were_sorted_for_each(
        mut builder in spread_clusters(),
        bytes in prop::collection::vec(0..4_i64, 25 * 7),
        version in prop::sample::select(vec![(8, 5), (8, 15), (9, 2)]),
    ) {
        builder.cluster.version = Version::release(version.0, version.1, 0);
        let mut info = ClusterInfo::default();
        let shards: Vec<ShardId> = builder.build().routing.copies().map(|copy| copy.shard).collect();
        for (shard, bytes) in shards.into_iter().zip(bytes) {
            info.set_size_bytes(shard, true, bytes << 38);
        }
        builder.cluster.info = Some(info);
        let seen = |balancer: Balancer<'_, '_>, order: Vec<IndexIndex>| {
            let weights: Vec<u32> = balancer.sorter.weights.iter().map(|weight| weight.to_bits()).collect();
            (order, balancer.sorter.nodes.clone(), weights)
        };
        let found = builder.ask(|round| {
            let mut balancer = Balancer::new(round);
            let order = balancer.by_spread();
            seen(balancer, order)
        });
        let expected = builder.ask(|round| {
            let mut balancer = Balancer::new(round);
            let indices: Vec<IndexIndex> = balancer.routed().collect();
            let deltas = indices.iter().map(|&index| {
                balancer.reset(index, 0, balancer.sorter.len());
                balancer.sorter.delta()
            });
            let deltas = deltas.collect();
            let order = BySpread::sorted(balancer.rules.partition, indices, deltas);
            seen(balancer, order)
        });
        prop_assert_eq!(found, expected);
    }

    /// Once all relocations have completed repeatedly, nothing moves any more, and no copy appears or
    /// disappears. Rarely, copies go round in a circle: each move improves its own index and spoils the
    /// weights of another one. Then an earlier assignment comes back; 7.4.0 does the same (tests/it/circles.rs).
    #[test]
    fn rebalancing_terminates_or_repeats(builder in spread_clusters()) {
        let cluster = builder.build();
        let mut nodes = RoutingNodes::new(&cluster).unwrap();
        let count = |nodes: &RoutingNodes| -> usize {
            nodes.order().iter().map(|node| nodes.count_on(*node)).sum()
        };
        let copies = cluster.routing.copies().count();
        let mut assignments = std::collections::HashSet::new();
        for turn in 0.. {
            prop_assert!(turn < 1_000, "still moving");
            let on_nodes = nodes.order().iter().flat_map(|node| nodes.handles_on(*node));
            let arriving: Vec<CopyIndex> =
                on_nodes.filter(|handle| nodes.copy(*handle).is_initializing()).collect();
            for handle in arriving {
                nodes.start(handle);
            }
            prop_assert_eq!(count(&nodes), copies);
            let shards_on = |node: &NodeIndex| {
                let handles = nodes.handles_on(*node);
                let mut shards: Vec<_> = handles.map(|handle| nodes.copy(handle).shard).collect();
                shards.sort_unstable();
                shards
            };
            let assignment: Vec<_> = nodes.order().iter().map(shards_on).collect();
            if !assignments.insert(assignment) {
                break;
            }
            let before = nodes.changes().log().len();
            let deciders = crate::deciders::Deciders::new(&cluster, &nodes);
            allocate(&mut Allocation::new(&cluster, &mut nodes, &deciders, 0));
            if nodes.changes().log().len() == before {
                break;
            }
        }
    }
}
