use super::*;
use crate::deciders::fixture::Builder;
use crate::model::{AllocationEnable, RebalanceEnable, Version};
use crate::small_cluster;
use crate::state::State;

fn explain(state: &mut State, detail: Detail) -> RerouteExplanation {
    let server = Server::default();
    RerouteExplanation::of(&mut state.cluster, None, &server, 0, detail).unwrap()
}

const SHORT: Detail = Detail {
    decisions_max: 20,
    all_deciders: false,
};

#[test]
fn shards_are_allocated_for_a_reason() {
    // Node a has one copy, b and c have two: `new` goes to a. The replica of logs[2] goes to a as well: a
    // has as many copies as b but fewer of the index, and c has the primary.
    let answer = explain(&mut small_cluster::full(40), SHORT);
    let told: Vec<(&str, &str, Option<&str>)> = answer
        .decisions
        .iter()
        .map(|row| (row.decision, row.index.as_str(), row.to.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("allocate", "new", Some("node-a")),
            ("allocate", "logs", Some("node-a"))
        ]
    );
    assert_eq!(
        (answer.allocated, answer.moved, answer.unassigned),
        (2, 0, 0)
    );
    assert_eq!((answer.routed_shards, answer.data_nodes), (7, 3));
    let refused = answer.decisions[1]
        .nodes
        .iter()
        .find(|row| row.node == "node-c")
        .unwrap();
    assert_eq!(refused.outcome, "no");
    assert_eq!(refused.deciders.len(), 1);
    assert_eq!(refused.deciders[0].decider, Some("same_shard"));
}

#[test]
fn omitted_decisions_are_counted() {
    for (decisions_max, told, left_out) in [(0, 0, 2), (1, 1, 1), (2, 2, 0)] {
        let detail = Detail {
            decisions_max,
            ..SHORT
        };
        let answer = explain(&mut small_cluster::full(40), detail);
        assert_eq!(
            (answer.allocated, answer.decisions.len(), answer.left_out),
            (2, told, left_out)
        );
    }
}

#[test]
fn yes_deciders_are_listed_on_request() {
    let deciders = |all_deciders| {
        let detail = Detail {
            all_deciders,
            ..SHORT
        };
        let answer = explain(&mut small_cluster::full(40), detail);
        answer.decisions[0].nodes[0].deciders.len()
    };
    assert_eq!(deciders(false), 0);
    assert!(deciders(true) > 5);
}

#[test]
fn a_full_disk_makes_a_shard_move() {
    let answer = explain(&mut small_cluster::full(92), SHORT);
    let row = answer.decisions.iter().find(|row| row.decision == "move");
    let row = row.expect("a move");
    assert_eq!((answer.moved, row.from.as_deref()), (1, Some("node-b")));
    assert_eq!(row.nodes[0].outcome, "cannot_remain");
    assert_eq!(row.nodes[0].deciders[0].decider, Some("disk_threshold"));
}

#[test]
fn stuck_shards_are_reported() {
    let mut state = small_cluster::full(40);
    let key = |rest: &str| format!("cluster.routing.allocation.{rest}");
    state.set(&key("exclude._name"), "node-b").unwrap();
    state.set(&key("enable"), "none").unwrap();
    let answer = explain(&mut state, SHORT);
    assert_eq!((answer.stuck, answer.moved, answer.unassigned), (2, 0, 2));
    let rows = answer
        .decisions
        .iter()
        .filter(|row| row.decision == "stuck");
    for row in rows {
        assert_eq!(
            (row.from.as_deref(), row.to.as_deref()),
            (Some("node-b"), None)
        );
        assert_eq!(
            row.why,
            "it cannot stay there, and no other node may take it"
        );
    }
}

/// Node b has two shards on a disk that is 87 % full, the others have 100 more and room. `new` has 20
/// primaries, all unassigned.
fn crowded() -> State {
    let mut value = small_cluster::state();
    let fresh = value["routing_table"]["indices"]["new"]["shards"]["0"][0].clone();
    let shards: serde_json::Map<String, serde_json::Value> = (0..20)
        .map(|shard| {
            let mut copy = fresh.clone();
            copy["shard"] = shard.into();
            (shard.to_string(), serde_json::json!([copy]))
        })
        .collect();
    value["routing_table"]["indices"]["new"]["shards"] = shards.into();
    value["metadata"]["indices"]["new"]["settings"]["index"]["number_of_shards"] = "20".into();
    small_cluster::with_disks(&small_cluster::with_many(value, 100, &["a", "c"]), 87)
}

#[test]
fn a_node_above_the_low_watermark_gets_all_new_primaries() {
    let answer = explain(&mut crowded(), SHORT);
    let of = |name: &str| {
        let node = answer.nodes.iter().find(|node| node.node == name);
        node.expect("a node").clone()
    };
    let b = of("node-b");
    assert_eq!(answer.new_primaries, 20);
    assert_eq!((b.shards, b.watermark), (2, Some("low")));
    // Four at a time (node_initial_primaries_recoveries); the others wait for it although other nodes
    // would take them: 100 shards more weigh 45, and each new primary adds 1 to the weight.
    assert_eq!((b.gets, b.new_primaries), (4, 20));
    assert_eq!(of("node-a").new_primaries + of("node-c").new_primaries, 0);
    assert_eq!(of("node-a").watermark, None);
    // What is listed is the moment of each decision: where it goes is the lightest of those that say
    // yes.
    let mut weights = Vec::new();
    let rows = answer.decisions.iter().filter(|row| row.index == "new");
    for row in rows.clone().filter(|row| row.decision == "allocate") {
        let yes = row.nodes.iter().find(|node| node.outcome == "yes");
        assert_eq!(yes.map(|node| &node.node), row.to.as_ref());
        weights.extend(yes.and_then(|node| node.weight));
    }
    assert_eq!(weights.len(), 4);
    assert!(weights.is_sorted_by(|one, next| one < next), "{weights:?}");
    let waiting: Vec<&DecisionRow> = rows.filter(|row| row.decision == "unassigned").collect();
    assert!(!waiting.is_empty());
    for row in waiting {
        assert_eq!(
            row.why,
            "it waits for node-b, the lightest, where too many recoveries are running already"
        );
    }
}

#[test]
fn nothing_new_means_no_new_primaries() {
    let answer = explain(&mut small_cluster::full(92), SHORT);
    let new: u64 = answer.nodes.iter().map(|node| node.new_primaries).sum();
    assert_eq!((answer.new_primaries, new), (1, 1));
    let gets: u64 = answer.nodes.iter().map(|node| node.gets).sum();
    assert_eq!(gets, answer.allocated + answer.moved + answer.rebalanced);
    assert_eq!(answer.nodes[1].watermark, Some("high"));
}

/// Two nodes of 9.2 with all four shards of an index on the first.
fn uneven() -> Builder {
    let mut builder = Builder::new(2);
    builder.cluster.version = Version::release(9, 2, 0);
    let index = builder.index("i", 4, 0);
    for shard in 0..4 {
        builder.started(index, shard, true, 0);
    }
    builder
}

fn wanted(builder: &Builder, told: Option<&DesiredBalance>) -> DesiredExplanation {
    let (mut cluster, server) = (builder.build(), Server::default());
    let answer = RerouteExplanation::of(&mut cluster, told, &server, 0, SHORT).unwrap();
    answer.desired.expect("a version with a desired balance")
}

#[test]
fn shards_that_are_wanted_elsewhere_are_told() {
    let told = wanted(&uneven(), None);
    // Two of the four, both at once (cluster_concurrent_rebalance).
    assert_eq!((told.assigned, told.elsewhere), (4, 2));
    assert_eq!((told.moving, told.next, told.rounds), (0, 2, 1));
    assert_eq!((told.held.len(), told.elsewhere_in_the_end), (0, 0));
    assert!(told.converges && !told.told_by_server && told.agrees.is_none());
    let mut older = uneven();
    older.cluster.version = Version::release(8, 5, 3);
    let (mut cluster, server) = (older.build(), Server::default());
    let answer = RerouteExplanation::of(&mut cluster, None, &server, 0, SHORT).unwrap();
    assert_eq!((answer.desired, answer.rebalanced), (None, 2));
}

#[test]
fn what_holds_shards_is_told() {
    let mut builder = uneven();
    // The computation does not mind that allocation is switched off; the next step does.
    builder.cluster.settings.allocation_enable = AllocationEnable::None;
    let told = wanted(&builder, None);
    assert_eq!(
        (told.elsewhere, told.next, told.elsewhere_in_the_end),
        (2, 0, 2)
    );
    let held = &told.held[0];
    assert_eq!(
        (held.decider, held.decision, held.shards),
        (Some("enable"), "NO", 2)
    );
    // It does mind that nothing is rebalanced.
    let mut builder = uneven();
    builder.cluster.settings.rebalance_enable = RebalanceEnable::None;
    assert_eq!(wanted(&builder, None).elsewhere, 0);
    // One of the two at a time: the other one waits.
    let mut builder = uneven();
    builder.cluster.settings.cluster_concurrent_rebalance = 1;
    let told = wanted(&builder, None);
    assert_eq!(
        (told.next, told.rounds, told.elsewhere_in_the_end),
        (1, 2, 0)
    );
    let held = &told.held[0];
    assert_eq!(
        (held.decider, held.decision),
        (Some("concurrent_rebalance"), "THROTTLE")
    );
}

#[test]
fn a_shard_on_its_way_is_not_where_it_is_wanted_yet() {
    let mut builder = Builder::new(2);
    builder.cluster.version = Version::release(9, 2, 0);
    let index = builder.index("i", 4, 0);
    builder.relocating(index, 0, true, (0, 1));
    for shard in 1..4 {
        builder.started(index, shard, true, 0);
    }
    // The server wants the first one on the second node, and has not thought of another one yet.
    let server = DesiredBalance::of_placement(&builder.build());
    let told = wanted(&builder, Some(&server));
    assert_eq!((told.elsewhere, told.moving, told.next), (2, 1, 1));
    assert_eq!((told.told_by_server, told.agrees), (true, Some([3, 4])));
}
