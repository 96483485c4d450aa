//! How many copies move when an empty node joins, on the real server and here: what a raised
//! `cluster_concurrent_rebalance` costs in each generation of the balancer.

use std::collections::HashSet;

use serde_json::json;

use crate::answer::{Answer, Order};
use crate::driver::{Driver, Server};
use crate::ours::Ours;
use crate::rng::Rng;
use crate::spec::{ClusterSpec, IndexSpec, NodeSpec, Settings, Step};

/// A cluster whose last node is empty; the copies are dealt to the others in turn.
#[derive(Clone, Copy)]
struct Shape {
    nodes: usize,
    indices: usize,
    shards: usize,
}

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub struct Tally {
    moved: usize,
    rounds: usize,
    /// Copies on the new node at the end.
    arrived: usize,
    pub end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Rest,
    /// An assignment of copies to nodes has come back, so it never ends.
    Circle,
    /// It went on for longer than was watched.
    Watched,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = match self.end {
            End::Rest => "at rest",
            End::Circle => "never ends",
            End::Watched => "goes on",
        };
        let Self {
            moved,
            rounds,
            arrived,
            ..
        } = self;
        write!(
            f,
            "{moved:>5} moves {rounds:>4} rounds {arrived:>4} on the new node, {end}"
        )
    }
}

impl Shape {
    fn spec(self, rebalance: &str) -> ClusterSpec {
        let node = |number: usize| NodeSpec {
            id: format!("node-{number}"),
            name: format!("node-{number}"),
            address: format!("10.0.0.{}", number + 1),
            port: 9300,
        };
        let mut next = 0;
        let mut copy = || {
            next += 1;
            Some(format!("node-{}", (next - 1) % (self.nodes - 1)))
        };
        let indices = (0..self.indices).map(|number| IndexSpec {
            name: format!("index-{number:06}"),
            uuid: format!("uuid-{number:06}"),
            settings: Settings::from([
                ("index.number_of_shards".to_owned(), self.shards.to_string()),
                ("index.number_of_replicas".to_owned(), "0".to_owned()),
            ]),
            shards: Some((0..self.shards).map(|_| vec![copy()]).collect()),
        });
        let set = |key: &str, value: &str| {
            let key = format!("cluster.routing.allocation.{key}");
            (key, value.to_owned())
        };
        ClusterSpec {
            settings: Settings::from([
                set("cluster_concurrent_rebalance", rebalance),
                set("allow_rebalance", "indices_all_active"),
            ]),
            nodes: (0..self.nodes).map(node).collect(),
            indices: indices.collect(),
        }
    }
}

/// Reroutes until nothing moves; each round, every running relocation ends with a probability.
fn tally(
    percent: usize,
    watched: usize,
    new: &str,
    mut step: impl FnMut(&Step) -> Answer,
) -> Tally {
    let mut rng = Rng::new(1);
    let mut seen: HashSet<Vec<(String, u32, String)>> = HashSet::new();
    let (mut moved, mut rounds, mut left) = (0, 0, 0);
    let (arrived, end) = loop {
        let answer = step(&Step::Reroute);
        let mut moving: Vec<_> = answer
            .copies()
            .filter(|copy| !copy.is_active())
            .map(|copy| (copy.index, copy.shard, copy.node))
            .collect();
        let arrived = answer.copies().filter(|copy| copy.node == new).count();
        moved += moving.len() - left;
        if moving.is_empty() {
            break (arrived, End::Rest);
        }
        rounds += 1;
        moving.sort();
        let (ended, on): (Vec<_>, Vec<_>) = moving.into_iter().partition(|_| rng.chance(percent));
        left = on.len();
        if !ended.is_empty() {
            let answer = step(&Step::Start { copies: ended });
            let placed = answer
                .copies()
                .map(|copy| (copy.index, copy.shard, copy.node));
            let mut placed: Vec<_> = placed.collect();
            placed.sort();
            let arrived = placed.iter().filter(|(_, _, node)| node == new).count();
            // With all ended, the next round depends on the assignment alone.
            if percent == 100 && !seen.insert(placed) {
                break (arrived, End::Circle);
            }
        }
        if rounds > watched {
            break (arrived, End::Watched);
        }
    };
    Tally {
        moved,
        rounds,
        arrived,
        end,
    }
}

/// The same on the server and here, each with the copies that it has on the way itself. `new` is the node
/// whose copies are counted.
pub fn both(
    driver: &mut Driver,
    server: Server,
    spec: &ClusterSpec,
    new: &str,
    percent: usize,
) -> [Tally; 2] {
    const WATCHED: usize = 600;
    let first = driver
        .ask(&json!({ "cluster": spec }))
        .expect("the server takes it");
    let mut ours = Ours::new(server, spec, &first.order);
    // Ties are broken by the order of the server's maps, which is salted: ours follow it.
    let mut orders = vec![first.order];
    let theirs = tally(percent, WATCHED, new, |step| {
        let answer = driver.ask(&json!(step)).expect("the server goes on");
        orders.push(answer.order.clone());
        answer
    });
    let mut orders = orders.iter().skip(1);
    let ours = tally(percent, WATCHED, new, |step| {
        ours.step(step, &Order::default()).expect("so do we");
        if let Some(order) = orders.next() {
            ours.adopt(order);
        }
        ours.answer().expect("a valid table")
    });
    [theirs, ours]
}

fn compare(servers: &[&'static str], shape: Shape, courses: &[(&str, usize)]) {
    let mut apart = Vec::new();
    for name in servers {
        let server = Server::of(name);
        let Some(mut driver) = Driver::start(server) else {
            continue;
        };
        let new = format!("node-{}", shape.nodes - 1);
        for (rebalance, percent) in courses {
            let spec = shape.spec(rebalance);
            let [theirs, ours] = both(&mut driver, server, &spec, &new, *percent);
            println!(
                "{name:<18} rebalance {rebalance}, {percent:>3} % end | {theirs} | ours: {ours}"
            );
            let far = ours.moved.abs_diff(theirs.moved) * 10 > theirs.moved;
            if far || ours.end != theirs.end {
                apart.push(format!("{name}, rebalance {rebalance}, {percent} %"));
            }
        }
    }
    assert!(
        apart.is_empty(),
        "more than 10 % apart: {}",
        apart.join("; ")
    );
}

#[test]
#[ignore = "minutes: make test-versions"]
fn a_node_that_joins_gets_as_many_copies_as_on_every_version() {
    let servers = [
        "7.4.0",
        "7.6.2",
        "7.7.1",
        "7.17.28",
        "8.3.3",
        "8.4.3",
        "8.5.3",
        "opensearch-1.3.20",
        "opensearch-2.19.1",
        "opensearch-3.0.0",
    ];
    let shape = Shape {
        nodes: 13,
        indices: 30,
        shards: 12,
    };
    let mut courses = Vec::new();
    for rebalance in ["1", "2", "3", "4"] {
        courses.extend([(rebalance, 30), (rebalance, 100)]);
    }
    compare(&servers, shape, &courses);
}

/// 121 nodes and 30,000 copies. The optimising compiler pays off here: `TIER=4`.
#[test]
#[ignore = "half an hour: make test-versions"]
fn a_large_cluster_moves_as_many_copies_too() {
    let shape = Shape {
        nodes: 121,
        indices: 300,
        shards: 100,
    };
    let servers = ["7.17.28", "8.4.3", "opensearch-2.19.1"];
    compare(&servers, shape, &[("4", 100)]);
}
