//! The risk of `include_relocations: false`: the disk decider ignores bytes in transit, so it sends more
//! to a node than the node may keep, and moves it away again after it has arrived.
//!
//! Two data nodes, one index with two primaries, all other settings at their defaults:
//!
//! | node | other files | shards | used | high watermark |
//! |---|---|---|---|---|
//! | a | 770 GB | two of 80 GB | 930 GB of 1,000 | 900 GB |
//! | b | 770 GB | none | 770 GB of 1,000 | 900 GB |
//!
//! There is enough space: with one shard on each node both are at 850 GB, below the high watermark.
//!
//! With `include_relocations: false`, the first round moves *both* shards. Neither may remain on a, which
//! has 70 GB free and needs 100. For each of them b has 230 GB free and would have 150 left, as long as
//! the other's bytes are not counted, and a node may have two recoveries at once. After they have
//! arrived, b has 930 GB used, as a had before, and a is where b was. So each round moves both shards,
//! indefinitely.
//!
//! With relocations included, the first round moves *one* shard. Once it is leaving a, the space it frees
//! counts: 150 GB are free, and the other may remain. After that nothing moves.

use shards::copy::{AllocationIndex, ShardCopy};
use shards::gateway::Stores;
use shards::model::{
    Cluster, ClusterInfo, DiskUsage, Index, IndexIndex, IndexTable, Node, NodeIndex, RoutingTable,
    ShardId, Version,
};
use shards::nodes::Change;
use shards::service::{self, CopyId, Live};

const GB: i64 = 1 << 30;
const TOTAL: i64 = 1000 * GB;
const OTHER_FILES: i64 = 770 * GB;
const SHARD: i64 = 80 * GB;
const HIGH_WATERMARK_FREE: i64 = 100 * GB;
/// Number of rounds to run; the argument does not depend on it.
const ROUNDS: usize = 8;

fn node(id: &str) -> Node {
    Node::new(id.to_owned(), Version::release(7, 4, 0))
}

fn cluster(include_relocations: bool) -> Cluster {
    let index = IndexIndex(0);
    let started = |shard: u32| {
        let id = AllocationIndex(u64::from(shard) + 1);
        ShardCopy::started(ShardId { index, shard }, true, NodeIndex(0), id)
    };
    let copies = vec![started(0), started(1)];
    let mut cluster = Cluster {
        nodes: vec![node("a"), node("b")],
        data_nodes: vec![NodeIndex(0), NodeIndex(1)],
        indices: vec![Index {
            in_sync: vec![vec![AllocationIndex(1)], vec![AllocationIndex(2)]],
            ..Index::new("logs".to_owned(), 2, 0)
        }],
        routing: RoutingTable::new(vec![IndexTable { index, copies }]),
        next_allocation: 3,
        ..Cluster::default()
    };
    cluster.settings.include_relocations = include_relocations;
    cluster
}

/// Free bytes of a node. A relocating copy is still on its source node; the target has none of its data
/// before it has started there.
fn free_bytes(cluster: &Cluster, node: NodeIndex) -> i64 {
    let copies = cluster.routing.copies();
    let there = copies.filter(|copy| copy.node == Some(node) && copy.is_active());
    there.fold(TOTAL - OTHER_FILES, |free, _| free - SHARD)
}

/// Disk usage as the master would read it in this state.
fn disks(cluster: &Cluster) -> ClusterInfo {
    let mut info = ClusterInfo::default();
    let path = info.path("/data");
    for node in [NodeIndex(0), NodeIndex(1)] {
        let usage = DiskUsage {
            path: Some(path),
            total_bytes: TOTAL,
            free_bytes: free_bytes(cluster, node),
        };
        info.least.insert(node, usage);
        info.most.insert(node, usage);
    }
    for copy in cluster.routing.copies() {
        info.set_size_bytes(copy.shard, true, SHARD);
        info.set_data_path(copy, path);
    }
    info
}

/// Result of one round.
struct Round {
    /// The shards that move.
    moved: Vec<u32>,
    /// Nodes above the high watermark after all relocations have completed.
    above: Vec<String>,
}

fn round(cluster: &mut Cluster) -> Round {
    cluster.info = Some(disks(cluster));
    let changes = service::reroute(cluster, &Stores::default(), 0).expect("a sound table");
    let arriving = changes.iter().filter_map(|change| match change {
        Change::RelocationStarted { target, .. } => Some(CopyId {
            shard: target.shard,
            allocation: target.allocation.expect("on a node"),
        }),
        _ => None,
    });
    let arriving: Vec<CopyId> = arriving.collect();
    let mut live = Live::new(std::mem::take(cluster)).expect("a sound table");
    live.start(&arriving).expect("they recover");
    *cluster = live.into_cluster();
    let mut moved: Vec<u32> = arriving.iter().map(|copy| copy.shard.shard).collect();
    moved.sort_unstable();
    let nodes = cluster.data_nodes.iter();
    let above = nodes.filter(|node| free_bytes(cluster, **node) < HIGH_WATERMARK_FREE);
    Round {
        moved,
        above: above.map(|node| cluster.node(*node).id.clone()).collect(),
    }
}

fn rounds(include_relocations: bool) -> Vec<Round> {
    let mut cluster = cluster(include_relocations);
    (0..ROUNDS).map(|_| round(&mut cluster)).collect()
}

/// Number of times a shard was moved.
fn moves(rounds: &[Round], shard: u32) -> usize {
    let moved = rounds.iter().flat_map(|round| &round.moved);
    moved.filter(|&&other| other == shard).count()
}

#[test]
fn without_include_relocations_shards_move_back_and_forth() {
    let blind = rounds(false);
    let seeing = rounds(true);
    println!("| round | false: moved | above 90 % then | true: moved | above 90 % then |");
    println!("|---|---|---|---|---|");
    for (number, (blind, seeing)) in (1..).zip(blind.iter().zip(&seeing)) {
        println!(
            "| {number} | {:?} | {:?} | {:?} | {:?} |",
            blind.moved, blind.above, seeing.moved, seeing.above
        );
    }

    // Both shards move in every round, first to b, then to a, ...
    for (number, round) in blind.iter().enumerate() {
        assert_eq!(round.moved, [0, 1], "in round {number}");
        let there = ["b", "a"][number % 2];
        assert_eq!(round.above, [there], "after round {number}");
    }
    // One of them moves, in the first round, and no node is above the watermark afterwards.
    let seen_moves = [moves(&seeing, 0), moves(&seeing, 1)];
    assert_eq!(seeing[0].moved.len(), 1, "{:?}", seeing[0].moved);
    assert_eq!(seen_moves.iter().sum::<usize>(), 1, "{seen_moves:?}");
    assert!(seeing.iter().all(|round| round.above.is_empty()));
    // So each shard moves more often than when relocations are included.
    for shard in 0..2 {
        assert!(moves(&blind, shard) > moves(&seeing, shard));
    }
}
