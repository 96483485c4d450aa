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

use crate::answer::{Answer, Copy};
use crate::driver::Driver;
use crate::sides::{Sides, node, started};
use crate::spec::{ClusterSpec, IndexSpec, InfoSpec, Settings, Step};

const GB: i64 = 1 << 30;
const TOTAL: i64 = 1000 * GB;
const OTHER_FILES: i64 = 770 * GB;
const SHARD: i64 = 80 * GB;
const HIGH_WATERMARK_FREE: i64 = 100 * GB;
/// Number of rounds to run; the argument does not depend on it.
const ROUNDS: usize = 8;
const PATH: &str = "/data";
const INDEX: &str = "logs";

fn cluster(include_relocations: bool) -> ClusterSpec {
    let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    ClusterSpec {
        settings: Settings::from([setting(
            "cluster.routing.allocation.disk.include_relocations",
            &include_relocations.to_string(),
        )]),
        nodes: vec![node("a", 1), node("b", 2)],
        indices: vec![IndexSpec {
            name: INDEX.to_owned(),
            uuid: "uuid-logs".to_owned(),
            settings: Settings::from([
                setting("index.number_of_shards", "2"),
                setting("index.number_of_replicas", "0"),
            ]),
            closed: false,
            in_sync: vec![Vec::new(), Vec::new()],
            shards: Some(vec![vec![started("a", 1)], vec![started("a", 2)]]),
        }],
        without: Vec::new(),
    }
}

/// Free bytes of a node. A relocating copy is still on its source node; the target has none of its data
/// before it has started there.
fn free(answer: &Answer, node: &str) -> i64 {
    let copies = answer.copies();
    let there = copies.filter(|copy| copy.node == node && copy.is_active());
    there.fold(TOTAL - OTHER_FILES, |free, _| free - SHARD)
}

/// Disk usage as the master would read it in this state.
fn disks(answer: &Answer) -> InfoSpec {
    let usage = |id: &str| (id.to_owned(), PATH.to_owned(), TOTAL, free(answer, id));
    let active = answer.copies().filter(Copy::is_active);
    InfoSpec {
        least: vec![usage("a"), usage("b")],
        most: vec![usage("a"), usage("b")],
        sizes: vec![
            (INDEX.to_owned(), 0, true, SHARD),
            (INDEX.to_owned(), 1, true, SHARD),
        ],
        paths: active
            .map(|copy| (copy.index, copy.shard, copy.node, PATH.to_owned()))
            .collect(),
    }
}

/// The server and both engines, with disk usage read just before each step.
struct Disked<'a>(Sides<'a>);

impl Disked<'_> {
    /// Reroutes and returns the shards that move.
    fn reroute(&mut self) -> Vec<u32> {
        let info = disks(&self.0.answer);
        self.0.step(
            &Step::Reroute {
                retry_failed: false,
            },
            Some(info),
        );
        let copies = self.0.answer.copies();
        copies
            .filter(|copy| copy.state == "RELOCATING")
            .map(|copy| copy.shard)
            .collect()
    }

    /// Completes all relocations.
    fn arrive(&mut self) {
        let info = disks(&self.0.answer);
        self.0.arrive(Some(info));
    }

    fn nodes_above_high_watermark(&self) -> Vec<&'static str> {
        let mut nodes = vec!["a", "b"];
        nodes.retain(|node| free(&self.0.answer, node) < HIGH_WATERMARK_FREE);
        nodes
    }
}

/// Result of one round.
struct Round {
    moved: Vec<u32>,
    /// Nodes above the high watermark after all relocations have completed.
    above: Vec<&'static str>,
}

fn rounds(driver: &mut Driver, include_relocations: bool) -> Vec<Round> {
    let mut sides = Disked(Sides::new(driver, &cluster(include_relocations)));
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let mut moved = sides.reroute();
        moved.sort_unstable();
        if !moved.is_empty() {
            sides.arrive();
        }
        let above = sides.nodes_above_high_watermark();
        rounds.push(Round { moved, above });
    }
    rounds
}

/// Number of times a shard was moved.
fn moves(rounds: &[Round], shard: u32) -> usize {
    let moved = rounds.iter().flat_map(|round| &round.moved);
    moved.filter(|&&other| other == shard).count()
}

#[test]
fn without_include_relocations_shards_move_back_and_forth() {
    let mut driver = Driver::start();
    let blind = rounds(&mut driver, false);
    let seeing = rounds(&mut driver, true);
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
