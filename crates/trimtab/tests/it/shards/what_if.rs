//! `trimtab shards what-if`.

use super::{assert_fits_80_columns, document, files, shards, single_line, state, with_files};
use crate::support::{stderr, stdout};
use serde_json::json;

#[test]
fn what_if_reports_the_effect_of_losing_a_node() {
    let files = files(&state(), 40);
    // Node b has the primary of logs[1] and the replica of logs[0]. The replica of logs[1] on c is
    // promoted. Both replicas are recovered on the other two nodes, as is the replica of logs[2],
    // and `new` is allocated: seven copies on two nodes.
    let args = with_files(&files, "what-if", &["--remove-node", "node-b"]);
    let answer = document(&args, 0);
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
    let text = stdout(&shards(&args));
    assert_fits_80_columns(&text);
    for part in [
        "- node node-b removed",
        "1 replica is promoted to primary",
        "3 replicas recover from their primaries (27.9 GiB), in about",
        "rounds)",
    ] {
        assert!(
            single_line(&text).contains(part),
            "{part:?} is not in:\n{text}"
        );
    }
}

#[test]
fn what_if_exits_with_1_if_the_cluster_is_worse_off() {
    let files = files(&state(), 40);
    // Two of three nodes are removed: replicas cannot be allocated.
    let args = with_files(
        &files,
        "what-if",
        &["--remove-node", "node-b", "--remove-node", "a"],
    );
    let result = document(&args, 1)["result"].take();
    assert_eq!(result["worse"], true);
    // No copy of logs[0] is left.
    assert_eq!(result["after"]["unassigned_primaries"], 1);
    let text = stdout(&shards(&args));
    assert!(text.starts_with("Red: 1 primary lost, "), "{text}");
    // One round does not empty node c: the replica of its primary has to be recovered and the
    // primary has to move, but a node sends only one copy at a time.
    let args = with_files(
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
    assert_eq!(document(&args, 1)["result"]["quiet"], false);
}

#[test]
fn what_if_adds_closes_and_upgrades() {
    let files = files(&state(), 40);
    let args = with_files(
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
    let answer = document(&args, 0);
    let result = &answer["result"];
    assert_eq!(result["after"]["data_nodes"], 4);
    assert_eq!(result["after"]["server"], "Elasticsearch 7.17.28");
    assert_eq!(result["changes"].as_array().unwrap().len(), 3);
    // Closing reallocates all copies of the index: from 7.2 on they stay in the routing table.
    assert_eq!(
        (
            &result["primaries_recovered"],
            &result["after"]["routed_shards"]
        ),
        (&json!(4), &json!(7))
    );
    for (args, expected) in [
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
        let output = shards(&with_files(&files, "what-if", args));
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
    // These values are valid only when set together.
    let files = files(&state(), 40);
    let key = |level: &str, value: &str| {
        format!("cluster.routing.allocation.disk.watermark.{level}={value}")
    };
    let [low, high, flood] = [
        key("low", "92%"),
        key("high", "95%"),
        key("flood_stage", "97%"),
    ];
    let args = with_files(
        &files,
        "what-if",
        &["--set", &low, "--set", &high, "--set", &flood],
    );
    let answer = document(&args, 0);
    assert_eq!(answer["result"]["changes"].as_array().unwrap().len(), 3);
}

#[test]
fn shards_that_cannot_leave_a_node_are_reported() {
    let files = files(&state(), 40);
    // Seven copies, at most three per node on a and c: one stays on the excluded node b.
    let args = with_files(
        &files,
        "what-if",
        &[
            "--set",
            "cluster.routing.allocation.exclude._name=node-b",
            "--set",
            "cluster.routing.allocation.total_shards_per_node=3",
        ],
    );
    let result = document(&args, 1)["result"].take();
    assert_eq!(
        (&result["quiet"], &result["worse"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(result["before"]["cannot_stay"], 0);
    assert_eq!(result["after"]["cannot_stay"], 1);
    let text = stdout(&shards(&args));
    assert_fits_80_columns(&text);
    assert!(text.contains("that cannot stay where they are"), "{text}");
}

/// The state with a filter that every index includes.
fn state_with_filter(attribute: &str, value: &str) -> serde_json::Value {
    let mut state = state();
    for index in ["logs", "new"] {
        state["metadata"]["indices"][index]["settings"]["index"]["routing"] =
            json!({"allocation": {"include": {attribute: value}}});
    }
    state
}

#[test]
fn the_tier_preference_that_servers_set_does_not_hold_shards_back() {
    let plain = files(&state(), 40);
    let tiered = files(&state_with_filter("_tier_preference", "data_content"), 40);
    let lost = ["--remove-node", "node-b"];
    let answer = |files| document(&with_files(files, "what-if", &lost), 0)["result"].take();
    assert_eq!(answer(&tiered), answer(&plain));
    assert_eq!(answer(&tiered)["before"]["cannot_stay"], 0);
}

#[test]
fn a_state_that_was_misread_is_not_called_at_rest() {
    let files = files(&state_with_filter("_of_a_later_version", "x"), 40);
    for command in ["what-if", "reroute"] {
        let args = with_files(&files, command, &[]);
        let output = shards(&args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let text = single_line(&stdout(&output));
        assert!(
            text.starts_with("Not understood: 5 of 5 shards may not stay where they are"),
            "{text}"
        );
        assert!(text.contains("_of_a_later_version"), "{text}");
        let result = document(&args, 2)["result"].take();
        assert!(result["not_understood"].is_string(), "{result}");
    }
}
