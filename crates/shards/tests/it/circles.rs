//! Balancing that never ends, although nothing changes: each round moves shards that improve the weights
//! of their own index and spoil those of another one, until an earlier assignment comes back.
//!
//! A property test of the balancer found such a cluster. In this one, the same with its indices in another
//! order, the server goes round as well, so the circle is 7.4.0's and not a fault of the model.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::Copy;
use crate::driver::Driver;
use crate::sides::{Sides, node, started};
use crate::spec::{ClusterSpec, IndexSpec, Settings, Step};

/// The nodes of each index's primaries, in the order of the shards.
const PRIMARIES: [&str; 15] = [
    "a", "babcab", "cc", "ca", "cca", "ab", "bbcbcc", "bbc", "cc", "cca", "cbacbc", "acccac",
    "aca", "baacba", "ccacc",
];
/// Number of rounds within which an assignment must come back.
const ROUNDS: usize = 20;

fn cluster() -> ClusterSpec {
    let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut id = 0;
    let mut index = |(number, nodes): (usize, &&str)| {
        let mut primary = |node: char| {
            id += 1;
            vec![started(&node.to_string(), id)]
        };
        let shards: Vec<_> = nodes.chars().map(&mut primary).collect();
        IndexSpec {
            name: format!("i{number}"),
            uuid: format!("uuid-{number}"),
            settings: Settings::from([
                setting("index.number_of_shards", &shards.len().to_string()),
                setting("index.number_of_replicas", "0"),
            ]),
            closed: false,
            in_sync: vec![Vec::new(); shards.len()],
            shards: Some(shards),
        }
    };
    ClusterSpec {
        settings: Settings::from([setting(
            "cluster.routing.allocation.cluster_concurrent_rebalance",
            "-1",
        )]),
        nodes: vec![node("a", 1), node("b", 2), node("c", 3)],
        indices: PRIMARIES.iter().enumerate().map(&mut index).collect(),
        without: Vec::new(),
    }
}

#[test]
fn balancing_can_go_round_in_a_circle() {
    let mut driver = Driver::start();
    let mut sides = Sides::new(&mut driver, &cluster());
    let mut assignments = BTreeSet::new();
    for round in 0..ROUNDS {
        sides.step(
            &Step::Reroute {
                retry_failed: false,
            },
            None,
        );
        let moving = sides.answer.copies().filter(|copy| !copy.is_active());
        let moving: Vec<_> = moving
            .map(|copy| (copy.index, copy.shard, copy.node))
            .collect();
        assert!(!moving.is_empty(), "nothing moves in round {round}");
        println!("round {round}: {moving:?}");
        let active = sides.answer.copies().filter(Copy::is_active);
        let assignment: BTreeMap<_, _> = active
            .map(|copy| ((copy.index, copy.shard), copy.node))
            .collect();
        if !assignments.insert((assignment, moving)) {
            return;
        }
        sides.arrive(None);
    }
    panic!("no assignment came back in {ROUNDS} rounds");
}
