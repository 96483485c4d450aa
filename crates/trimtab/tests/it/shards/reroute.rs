//! `trimtab shards reroute`.

use super::{
    assert_fits_80_columns, document, file, files, shards, single_line, started, state, with_files,
};
use crate::support::stdout;
use serde_json::{Value, json};

#[test]
fn reroute_explains_where_shards_go() {
    let files = files(&state(), 40);
    let answer = document(&with_files(&files, "reroute", &[]), 0);
    let result = &answer["result"];
    assert_eq!(
        (&result["kind"], &result["routed_shards"]),
        (&json!("reroute"), &json!(7))
    );
    assert_eq!(
        (
            &result["allocated"],
            &result["moved"],
            &result["rebalanced"],
            &result["unassigned"]
        ),
        (&json!(2), &json!(0), &json!(0), &json!(0))
    );
    // The primary comes first. Node a has one copy, b and c have two, so `new` goes to a. Then the
    // replica of logs[2] can go to a or b (c has the primary). For `logs`, a weighs less than b:
    // the same number of copies (two), but fewer of this index (one against two).
    let decisions = result["decisions"].as_array().unwrap();
    let actual: Vec<String> = decisions
        .iter()
        .map(|row| {
            format!(
                "{} {} {} {}",
                row["decision"], row["index"], row["shard"], row["to"]
            )
        })
        .collect();
    assert_eq!(
        actual,
        [
            r#""allocate" "new" 0 "node-a""#,
            r#""allocate" "logs" 2 "node-a""#
        ]
    );
    // The node with the primary refuses, with a reason.
    let nodes = decisions[1]["nodes"].as_array().unwrap();
    let c = nodes.iter().find(|node| node["node"] == "node-c").unwrap();
    assert_eq!(c["outcome"], "no");
    let same = c["deciders"]
        .as_array()
        .unwrap()
        .iter()
        .find(|decider| decider["decision"] == "NO");
    assert_eq!(same.unwrap()["decider"], "same_shard");

    let output = shards(&with_files(&files, "reroute", &[]));
    let text = stdout(&output);
    assert_fits_80_columns(&text);
    for part in [
        "Elasticsearch 7.4.0: 7 shards on 3 data nodes",
        "The next reroute puts 2 shards on a node.",
        "[new][0] primary goes to node-a: new and empty",
        "[logs][2] replica goes to node-a: from its primary",
        "NO same_shard:",
    ] {
        assert!(
            single_line(&text).contains(part),
            "{part:?} is not in:\n{text}"
        );
    }
    // The limit applies to the list; all decisions are counted.
    let output = stdout(&shards(&with_files(&files, "reroute", &["--limit", "1"])));
    assert!(
        output.contains("1 more decision not shown (--limit)"),
        "{output}"
    );
}

#[test]
fn reroute_explains_moves_and_unassigned_shards() {
    // Node b is 92 % full, above the high watermark: its started copies cannot remain. Only one
    // moves: once it is leaving, its size counts as free.
    let files = files(&state(), 92);
    let answer = document(&with_files(&files, "reroute", &[]), 0);
    let decisions = answer["result"]["decisions"].as_array().unwrap();
    let moves: Vec<&Value> = decisions
        .iter()
        .filter(|row| row["decision"] == "move")
        .collect();
    assert_eq!(moves.len(), 1, "{decisions:?}");
    assert_eq!(
        (&answer["result"]["moved"], &moves[0]["from"]),
        (&json!(1), &json!("node-b"))
    );
    let own = &moves[0]["nodes"][0];
    assert_eq!(
        (&own["node"], &own["outcome"]),
        (&json!("node-b"), &json!("cannot_remain"))
    );
    assert_eq!(own["deciders"][0]["decider"], "disk_threshold");

    // No node matches the filter: nothing can be allocated, and the filter is named.
    let settings =
        json!({"persistent": {"cluster.routing.allocation.require.box": "hot"}, "transient": {}});
    let directory = tempfile::tempdir().unwrap();
    let settings = file(directory.path(), "settings.json", &settings);
    let mut calm = state();
    calm["routing_table"]["indices"]["logs"]["shards"]["2"][1] = started("logs", 2, false, "a");
    calm["metadata"]["indices"]["logs"]["in_sync_allocations"]["2"] =
        json!(["logs-2-true", "logs-2-false"]);
    let files = super::files(&calm, 40);
    let answer = document(
        &with_files(&files, "reroute", &["--settings", &settings]),
        0,
    );
    let result = &answer["result"];
    assert_eq!(
        (&result["allocated"], &result["unassigned"]),
        (&json!(0), &json!(1))
    );
    // None of the six started copies may remain either.
    assert_eq!(result["stuck"], 6);
    let mut decisions = result["decisions"].as_array().unwrap().iter();
    let unassigned = decisions
        .find(|row| row["decision"] == "unassigned")
        .unwrap();
    assert_eq!(unassigned["index"], "new");
    assert!(
        unassigned["nodes"].to_string().contains("\"filter\""),
        "{unassigned}"
    );
}

#[test]
fn stuck_shards_are_reported() {
    let files = files(&state(), 40);
    let directory = tempfile::tempdir().unwrap();
    // Node b is excluded, but allocation is disabled: its two copies stay.
    let settings = json!({"persistent": {"cluster.routing.allocation.exclude._name": "node-b",
        "cluster.routing.allocation.enable": "none"}, "transient": {}});
    let settings = file(directory.path(), "settings.json", &settings);
    let args = with_files(&files, "reroute", &["--settings", &settings]);
    let result = document(&args, 0)["result"].take();
    assert_eq!((&result["stuck"], &result["moved"]), (&json!(2), &json!(0)));
    let stuck = |row: &&Value| row["decision"] == "stuck";
    let rows: Vec<&Value> = result["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(stuck)
        .collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!((&row["from"], &row["to"]), (&json!("node-b"), &Value::Null));
        assert_eq!(row["nodes"][0]["outcome"], "cannot_remain");
    }
    let text = stdout(&shards(&args));
    assert_fits_80_columns(&text);
    for part in [
        "2 shards must leave their nodes, but no other node can take them now",
        "[logs][1] primary stays on node-b: it cannot stay there, and no other node may take it",
        "NO enable",
    ] {
        assert!(
            single_line(&text).contains(part),
            "{part:?} is not in:\n{text}"
        );
    }
}
