use super::*;
use crate::profile::{PROFILES, V6_8, V7_0, V7_2, V7_4, V7_17};

const TWO_NODES: Shape = Shape {
    data_nodes: 2,
    copies: 2000,
    closed_copies: 0,
    shards: 2000,
    indices: 400,
    disk_scan: true,
    uneven_permille: EVEN,
};
const FIVE_PRIMARIES: IndexShape = IndexShape {
    primaries: 5,
    replicas: 0,
};

#[test]
fn every_step_of_every_profile_can_be_predicted() {
    for profile in PROFILES {
        for step in Step::ALL {
            assert!(predict(profile, step, &TWO_NODES).ms > 0.0);
        }
    }
}

#[test]
fn scanning_is_quadratic_and_kept_sets_are_linear() {
    let at = |profile, copies| {
        let shape = Shape {
            copies,
            ..TWO_NODES
        };
        predict(profile, Step::Reroute, &shape).ms
    };
    // Between 100,000 and 200,000 copies only the leading term matters.
    for profile in [&V6_8, &V7_0, &V7_4] {
        let ratio = at(profile, 200_000) / at(profile, 100_000);
        assert!(
            (3.8..=4.0).contains(&ratio),
            "{}: {ratio}",
            profile.versions
        );
    }
    let ratio = at(&V7_17, 200_000) / at(&V7_17, 100_000);
    assert!((1.9..=2.1).contains(&ratio), "{ratio}");
}

#[test]
fn nothing_is_scanned_if_the_disk_decider_does_not_ask() {
    let shape = Shape {
        copies: 100_000,
        ..TWO_NODES
    };
    let asked = predict(&V7_4, Step::Reroute, &shape).ms;
    let unasked = predict(
        &V7_4,
        Step::Reroute,
        &Shape {
            disk_scan: false,
            ..shape
        },
    )
    .ms;
    assert!(unasked < asked / 10.0, "{unasked} {asked}");
    // With a single data node nothing is scanned either, but only one node is queried per index instead
    // of two.
    let single = predict(
        &V7_4,
        Step::Reroute,
        &Shape {
            data_nodes: 1,
            ..shape
        },
    )
    .ms;
    assert!(
        (0.9..1.0).contains(&(single / unasked)),
        "{single} {unasked}"
    );
}

#[test]
fn closed_indices_count_since_7_2() {
    let shape = Shape {
        copies: 50_000,
        closed_copies: 45_000,
        ..TWO_NODES
    };
    assert_eq!(shape.routed(&V7_0), 5000);
    assert_eq!(shape.routed(&V7_2), 50_000);
}

#[test]
fn extrapolation_is_flagged() {
    let MeasuredRange {
        copies_max: most,
        nodes_max: most_nodes,
        ..
    } = measured_range();
    let at = |copies, data_nodes| {
        let shape = Shape {
            data_nodes,
            copies,
            ..TWO_NODES
        };
        predict(&V7_4, Step::Reroute, &shape).extrapolated
    };
    assert!(!at(most, 2));
    assert!(at(most + 1, 2));
    assert!(at(most, most_nodes + 1));
    assert!(at(0, 2));
}

#[test]
fn reroutes_of_a_creation() {
    // Five primaries on two nodes recover concurrently (up to four per node are allowed): the task's
    // reroute, then one after the batch of starts. If each is reported separately: five more.
    let cost = operation(&V7_4, &TWO_NODES, FIVE_PRIMARIES, Operation::Create);
    assert_eq!((cost.least.reroutes, cost.least.start_batches), (2, 1));
    assert_eq!((cost.most.reroutes, cost.most.start_batches), (6, 5));
    // With one replica each, the replicas follow, two at a time on each of two nodes: two more waves.
    let replicated = IndexShape {
        replicas: 1,
        ..FIVE_PRIMARIES
    };
    let cost = operation(&V7_4, &TWO_NODES, replicated, Operation::Create);
    assert_eq!(cost.least.reroutes, 1 + 1 + 2);
    assert_eq!(cost.most.reroutes, 1 + 10);
    // A second replica does not find a node.
    let twice = IndexShape {
        replicas: 2,
        ..FIVE_PRIMARIES
    };
    assert_eq!(
        operation(&V7_4, &TWO_NODES, twice, Operation::Create)
            .most
            .reroutes,
        11
    );
    // Twenty primaries on two nodes: eight at a time.
    let many = IndexShape {
        primaries: 20,
        replicas: 0,
    };
    assert_eq!(
        operation(&V7_4, &TWO_NODES, many, Operation::Create)
            .least
            .reroutes,
        1 + 3
    );
}

#[test]
fn reroutes_of_the_other_operations() {
    let reroutes = |profile, which| {
        let index = IndexShape {
            primaries: 5,
            replicas: 1,
        };
        let cost = operation(profile, &TWO_NODES, index, which);
        (cost.least.reroutes, cost.most.reroutes)
    };
    assert_eq!(reroutes(&V7_4, Operation::Delete), (1, 1));
    // The task's reroute, two after the nodes' responses (primaries, replicas) and three waves of starts;
    // or one for each of five plus five responses and ten starts.
    assert_eq!(reroutes(&V7_4, Operation::Open), (1 + 2 + 3, 1 + 10 + 10));
    assert_eq!(
        reroutes(&V7_4, Operation::Close),
        reroutes(&V7_4, Operation::Open)
    );
    // Before 7.2, closing an index removes it from the routing table.
    assert_eq!(reroutes(&V7_0, Operation::Close), (1, 1));
    assert_eq!(reroutes(&V7_0, Operation::Open), (6, 21));
}

#[test]
fn the_reroute_is_part_of_starting_only_before_7_4() {
    // Both use the same measurements, so the whole creation takes equally long.
    let index = IndexShape {
        primaries: 5,
        replicas: 1,
    };
    let before = operation(&V7_2, &TWO_NODES, index, Operation::Create);
    let after = operation(&V7_4, &TWO_NODES, index, Operation::Create);
    assert!((before.least.ms - after.least.ms).abs() < 1e-9);
    assert!((before.most.ms - after.most.ms).abs() < 1e-9);
    let start = |profile| predict(profile, Step::Start, &TWO_NODES).ms;
    let reroute = predict(&V7_4, Step::Reroute, &TWO_NODES).ms;
    assert!((start(&V7_2) - start(&V7_4) - reroute).abs() < 1e-9);
}
