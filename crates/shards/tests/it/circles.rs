//! Balancing that never ends, although nothing changes: each round moves shards that improve the weights
//! of their own index and spoil those of another one, until an earlier assignment comes back.
//!
//! A property test of the balancer found such a cluster. In this one, the same with its indices in another
//! order, the server goes round as well, so the circle is 7.4.0's and not a fault of the model.

use crate::driver::{Driver, Server};
use crate::joins::{End, both};
use crate::spec::{ClusterSpec, IndexSpec, NodeSpec, Settings};

/// The nodes of each index's primaries, in the order of the shards.
const PRIMARIES: [&str; 15] = [
    "a", "babcab", "cc", "ca", "cca", "ab", "bbcbcc", "bbc", "cc", "cca", "cbacbc", "acccac",
    "aca", "baacba", "ccacc",
];

fn cluster() -> ClusterSpec {
    let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let index = |(number, nodes): (usize, &&str)| {
        let primary = |node: char| vec![Some(node.to_string())];
        let shards: Vec<_> = nodes.chars().map(primary).collect();
        IndexSpec {
            name: format!("i{number}"),
            uuid: format!("uuid-{number}"),
            settings: Settings::from([
                setting("index.number_of_shards", &shards.len().to_string()),
                setting("index.number_of_replicas", "0"),
            ]),
            shards: Some(shards),
        }
    };
    let node = |(number, id): (usize, &str)| NodeSpec {
        id: id.to_owned(),
        name: id.to_owned(),
        address: format!("10.0.0.{}", number + 1),
        port: 9300,
    };
    ClusterSpec {
        settings: Settings::from([setting(
            "cluster.routing.allocation.cluster_concurrent_rebalance",
            "-1",
        )]),
        nodes: ["a", "b", "c"].into_iter().enumerate().map(node).collect(),
        indices: PRIMARIES.iter().enumerate().map(index).collect(),
    }
}

#[test]
fn balancing_can_go_round_in_a_circle() {
    let server = Server::of("7.4.0");
    let mut driver = Driver::start(server).expect("any JDK runs 7.4.0");
    let [theirs, ours] = both(&mut driver, server, &cluster(), "c", 100);
    assert_eq!(theirs.end, End::Circle, "{theirs}");
    assert_eq!(theirs, ours);
}
