//! `trimtab shards what-if`.

use super::{document, files, fits, flat, on, shards, state};
use crate::support::{stderr, stdout};
use serde_json::json;

#[test]
fn what_if_tells_what_a_dead_node_costs() {
    let files = files(&state(), 40);
    // Node b has the primary of logs[1] and the replica of logs[0]. The replica of logs[1] on c is
    // promoted; both are made anew on the two nodes left, beside the replica of logs[2]; `new` is
    // allocated: seven copies on two nodes.
    let words = on(&files, "what-if", &["--remove-node", "node-b"]);
    let answer = document(&words, 0);
    let result = &answer["result"];
    assert_eq!(
        (&result["kind"], &result["quiet"], &result["worse"]),
        (&json!("what-if"), &json!(true), &json!(false))
    );
    assert_eq!(
        (&result["promoted"], &result["replicas_recovered"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(result["replica_bytes"], 30_000_000_000_u64);
    assert_eq!(
        (
            &result["before"]["data_nodes"],
            &result["after"]["data_nodes"]
        ),
        (&json!(3), &json!(2))
    );
    assert_eq!(result["after"]["shards_per_node"], json!([3, 4]));
    assert_eq!(
        (
            &result["after"]["unassigned_primaries"],
            &result["after"]["unassigned_replicas"]
        ),
        (&json!(0), &json!(0))
    );
    let text = stdout(&shards(&words));
    fits(&text);
    for part in [
        "- node node-b removed",
        "1 replica is promoted to primary",
        "3 replicas recover from their primaries (27.9 GiB)",
        "then the cluster is at rest",
    ] {
        assert!(flat(&text).contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn what_if_is_negative_where_the_cluster_is_worse_off() {
    let files = files(&state(), 40);
    // Two of three nodes: replicas have nowhere to go.
    let words = on(
        &files,
        "what-if",
        &["--remove-node", "node-b", "--remove-node", "a"],
    );
    let result = document(&words, 1)["result"].take();
    assert_eq!(result["worse"], true);
    // Of logs[0] no copy is left.
    assert_eq!(result["after"]["unassigned_primaries"], 1);
    let text = stdout(&shards(&words));
    assert!(
        text.starts_with("Worse off: the cluster stays red; 1 primary and"),
        "{text}"
    );
    // A round is not enough to empty a node: of its primary a replica is made, and the primary itself is
    // to move, and it sends one at a time.
    let words = on(
        &files,
        "what-if",
        &[
            "--set",
            "cluster.routing.allocation.exclude._name=node-c",
            "--set",
            "cluster.routing.allocation.node_concurrent_recoveries=1",
            "--rounds",
            "1",
        ],
    );
    assert_eq!(document(&words, 1)["result"]["quiet"], false);
}

#[test]
fn what_if_adds_closes_and_upgrades() {
    let files = files(&state(), 40);
    let words = on(
        &files,
        "what-if",
        &[
            "--add-node",
            "node-d:disk=200GB",
            "--close",
            "log*",
            "--to-version",
            "7.17.28",
        ],
    );
    let answer = document(&words, 0);
    let result = &answer["result"];
    assert_eq!(result["after"]["data_nodes"], 4);
    assert_eq!(result["after"]["server"], "Elasticsearch 7.17.28");
    assert_eq!(result["changes"].as_array().unwrap().len(), 3);
    // Closing allocates all copies of the index anew: from 7.2 on they stay in the table.
    assert_eq!(
        (
            &result["primaries_recovered"],
            &result["after"]["routed_shards"]
        ),
        (&json!(4), &json!(7))
    );
    for (words, expected) in [
        (
            &["--remove-node", "node-x"][..],
            "nodes are node-a, node-b, node-c",
        ),
        (&["--add-node", "node-a"], "there already"),
        (&["--close", "nothing*"], "no open index matches"),
        (
            &["--set", "cluster.routing.allocation.enable=maybe"],
            "all, primaries, new_primaries or none",
        ),
        (&["--set", "index.priority=1"], "a setting of the cluster"),
        (
            &["--set", "cluster.routing.allocation.disk.watermark.low=92%"],
            "expected low to be reached before high, or with it; found low 92%, high 90%, \
             flood_stage 95%",
        ),
    ] {
        let output = shards(&on(&files, "what-if", words));
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(expected),
            "{expected:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn what_if_sets_watermarks_together() {
    // Only the three together are in order.
    let files = files(&state(), 40);
    let key = |level: &str, value: &str| {
        format!("cluster.routing.allocation.disk.watermark.{level}={value}")
    };
    let [low, high, flood] = [
        key("low", "92%"),
        key("high", "95%"),
        key("flood_stage", "97%"),
    ];
    let words = on(
        &files,
        "what-if",
        &["--set", &low, "--set", &high, "--set", &flood],
    );
    let answer = document(&words, 0);
    assert_eq!(answer["result"]["changes"].as_array().unwrap().len(), 3);
}

#[test]
fn what_cannot_leave_a_node_is_told() {
    let files = files(&state(), 40);
    // Seven copies, three each at most on a and c: one stays on b, which was to be emptied.
    let words = on(
        &files,
        "what-if",
        &[
            "--set",
            "cluster.routing.allocation.exclude._name=node-b",
            "--set",
            "cluster.routing.allocation.total_shards_per_node=3",
        ],
    );
    let result = document(&words, 1)["result"].take();
    assert_eq!(
        (&result["quiet"], &result["worse"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(result["before"]["cannot_stay"], 0);
    assert_eq!(result["after"]["cannot_stay"], 1);
    let text = stdout(&shards(&words));
    fits(&text);
    assert!(text.contains("that cannot stay where they are"), "{text}");
}
