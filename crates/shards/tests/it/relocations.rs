//! What `include_relocations: false` risks: the disk decider does not see bytes that are on their way,
//! so it sends more to a node than the node may keep, and takes it away again once it is there.
//!
//! Two data nodes, one index of two primaries, all settings but that one at their defaults:
//!
//! | node | other files | shards | used | high watermark |
//! |---|---|---|---|---|
//! | a | 770 GB | two of 80 GB | 930 GB of 1,000 | 900 GB |
//! | b | 770 GB | none | 770 GB of 1,000 | 900 GB |
//!
//! There is room: with one shard on each node both are at 850 GB, below the high watermark.
//!
//! Blind, the first round moves *both*. Neither may remain, since 70 GB are free on a and 100 have to
//! be; for each of them b has 230 GB free and 150 after it, as long as the other's bytes are not
//! counted; and two recoveries at once are what a node may have. When they have arrived, b is where a
//! was, with 930 GB, and a is where b was. So each round moves both shards, for ever.
//!
//! Seeing, the first round moves *one*. Once it is leaving a, what it frees counts: 150 GB, and the
//! other may remain. Then nothing moves any more.

use std::collections::BTreeMap;

use shards::engine::Engine;

use crate::answer::{Answer, Copy, differences};
use crate::driver::Driver;
use crate::ours::Ours;
use crate::spec::{
    At, Attached, ClusterSpec, CopySpec, Given, IndexSpec, InfoSpec, NodeSpec, Settings, Step,
};

const GB: i64 = 1 << 30;
const TOTAL: i64 = 1000 * GB;
const OTHER_FILES: i64 = 770 * GB;
const SHARD: i64 = 80 * GB;
const HIGH_WATERMARK_FREE: i64 = 100 * GB;
/// Rounds that are looked at; nothing in the argument depends on how many there are.
const ROUNDS: usize = 8;
const PATH: &str = "/data";
const INDEX: &str = "logs";

fn node(id: &str, number: usize) -> NodeSpec {
    NodeSpec {
        id: id.to_owned(),
        name: id.to_owned(),
        host: format!("{id}.example"),
        address: format!("10.0.0.{number}"),
        port: 9300,
        attributes: BTreeMap::new(),
        data: true,
        master: true,
        version: "7.4.0".to_owned(),
    }
}

fn started(node: &str, id: u64) -> CopySpec {
    CopySpec {
        state: Given::Started,
        node: Some(node.to_owned()),
        to: None,
        id: Some(id),
        reason: "INDEX_CREATED",
        failures: 0,
        delayed: false,
    }
}

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

/// Free bytes of a node. A copy that moves is still on the node it leaves; the node it goes to has
/// nothing of it before it has started there.
fn free(answer: &Answer, node: &str) -> i64 {
    let copies = answer.copies();
    let there = copies.filter(|copy| copy.node == node && copy.is_active());
    there.fold(TOTAL - OTHER_FILES, |free, _| free - SHARD)
}

/// The disks as the master reads them while the cluster is like that.
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

/// The server and both engines, which are given the same and have to decide the same.
struct Sides<'a> {
    driver: &'a mut Driver,
    ours: [(&'static str, Ours); 2],
    answer: Answer,
    clock: i64,
}

impl<'a> Sides<'a> {
    fn new(driver: &'a mut Driver, spec: &ClusterSpec) -> Self {
        let first = Attached::default();
        let answer = driver.cluster(spec, &first).expect("the server takes it");
        let ours = [
            ("scan", Engine::scan as fn() -> Engine),
            ("incremental", Engine::incremental),
        ]
        .map(|(name, engine)| (name, Ours::new(spec, &answer.order, &first, engine)));
        let mut sides = Self {
            driver,
            ours,
            answer,
            clock: 0,
        };
        sides.compare("as given");
        sides
    }

    fn compare(&mut self, when: &str) {
        for (engine, ours) in &mut self.ours {
            let found = differences(&self.answer, &ours.answer().expect("a table that holds"));
            assert!(found.is_empty(), "{engine} differs {when}: {found:#?}");
        }
    }

    /// A step, with the disks read just before it.
    fn step(&mut self, step: &Step) {
        self.clock += 1_000_000_000;
        let with = Attached {
            info: Some(disks(&self.answer)),
            clock: self.clock,
            ..Attached::default()
        };
        self.answer = self
            .driver
            .step(step, &with)
            .unwrap_or_else(|thrown| panic!("the server threw {}: {step:?}", thrown.error));
        for (engine, ours) in &mut self.ours {
            ours.step(step, &with, &self.answer.order)
                .unwrap_or_else(|error| panic!("{engine} refuses {step:?}: {error}"));
        }
        self.compare(&format!("after {step:?}"));
    }

    /// A reroute: the shards that it moves.
    fn reroute(&mut self) -> Vec<u32> {
        self.step(&Step::Reroute {
            retry_failed: false,
        });
        let copies = self.answer.copies();
        copies
            .filter(|copy| copy.state == "RELOCATING")
            .map(|copy| copy.shard)
            .collect()
    }

    /// All that moves has arrived.
    fn arrive(&mut self) {
        let copies: Vec<At> = self
            .answer
            .copies()
            .filter(|copy| !copy.is_active())
            .map(|copy| (copy.index, copy.shard, copy.node))
            .collect();
        self.step(&Step::Start { copies });
    }

    fn nodes_above_high_watermark(&self) -> Vec<&'static str> {
        let mut nodes = vec!["a", "b"];
        nodes.retain(|node| free(&self.answer, node) < HIGH_WATERMARK_FREE);
        nodes
    }
}

/// What came of one round.
struct Round {
    moved: Vec<u32>,
    /// Nodes above the high watermark once all has arrived.
    above: Vec<&'static str>,
}

fn rounds(driver: &mut Driver, include_relocations: bool) -> Vec<Round> {
    let mut sides = Sides::new(driver, &cluster(include_relocations));
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

/// How often a shard was moved.
fn moves(rounds: &[Round], shard: u32) -> usize {
    let moved = rounds.iter().flat_map(|round| &round.moved);
    moved.filter(|&&other| other == shard).count()
}

#[test]
fn blind_to_what_is_on_its_way_the_disk_decider_moves_shards_to_and_fro() {
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

    // Both shards in every round, first to b, then to a, ...
    for (number, round) in blind.iter().enumerate() {
        assert_eq!(round.moved, [0, 1], "in round {number}");
        let there = ["b", "a"][number % 2];
        assert_eq!(round.above, [there], "after round {number}");
    }
    // One of them, in the first round, and nobody is above the watermark from then on.
    let seen_moves = [moves(&seeing, 0), moves(&seeing, 1)];
    assert_eq!(seeing[0].moved.len(), 1, "{:?}", seeing[0].moved);
    assert_eq!(seen_moves.iter().sum::<usize>(), 1, "{seen_moves:?}");
    assert!(seeing.iter().all(|round| round.above.is_empty()));
    // So of the same shard more moves than where relocations are counted.
    for shard in 0..2 {
        assert!(moves(&blind, shard) > moves(&seeing, shard));
    }
}
