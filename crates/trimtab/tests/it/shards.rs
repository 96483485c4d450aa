//! `trimtab shards`: costs, the next reroute, and what a change would bring.

use crate::support::{run, stderr, stdout, trimtab};
use http::testing::{Answer, Server};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn shards(words: &[&str]) -> Output {
    let mut all = vec!["shards"];
    all.extend(words);
    run(&all)
}

/// The document of a call that ended with this code.
fn document(words: &[&str], code: i32) -> Value {
    let mut all = words.to_vec();
    all.extend(["--format", "json"]);
    let output = shards(&all);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn file(directory: &Path, name: &str, value: &Value) -> String {
    let path: PathBuf = directory.join(name);
    std::fs::write(&path, value.to_string()).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

fn started(index: &str, shard: u32, primary: bool, node: &str) -> Value {
    json!({"state": "STARTED", "primary": primary, "node": node, "relocating_node": null, "shard": shard,
        "index": index, "allocation_id": {"id": format!("{index}-{shard}-{primary}")}})
}

/// Three nodes. `logs` has three primaries with a replica each, two copies on every node; the replica of
/// shard 2 is missing. `new` has just been created, and its primary is on no node.
fn state() -> Value {
    let unassigned = |index: &str, shard: u32, primary: bool, source: &str, reason: &str| {
        json!({"state": "UNASSIGNED", "primary": primary, "node": null, "relocating_node": null,
            "shard": shard, "index": index, "recovery_source": {"type": source},
            "unassigned_info": {"reason": reason, "at": "2026-11-20T00:00:00.000Z", "delayed": false,
                "allocation_status": "no_attempt"}})
    };
    let index = |shards: u32, replicas: u32, in_sync: Value| {
        json!({"state": "open", "settings": {"index": {"number_of_shards": shards.to_string(),
            "number_of_replicas": replicas.to_string(), "creation_date": "1"}}, "in_sync_allocations": in_sync})
    };
    json!({
        "cluster_name": "small", "master_node": "a",
        "nodes": {
            "a": {"name": "node-a", "transport_address": "10.0.0.1:9300", "attributes": {}},
            "b": {"name": "node-b", "transport_address": "10.0.0.2:9300", "attributes": {}},
            "c": {"name": "node-c", "transport_address": "10.0.0.3:9300", "attributes": {}},
        },
        "metadata": {"indices": {
            "logs": index(3, 1, json!({"0": ["logs-0-true", "logs-0-false"], "1": ["logs-1-true", "logs-1-false"],
                "2": ["logs-2-true"]})),
            "new": index(1, 0, json!({})),
        }},
        "routing_table": {"indices": {
            "logs": {"shards": {
                "0": [started("logs", 0, true, "a"), started("logs", 0, false, "b")],
                "1": [started("logs", 1, true, "b"), started("logs", 1, false, "c")],
                "2": [started("logs", 2, true, "c"), unassigned("logs", 2, false, "PEER", "REPLICA_ADDED")],
            }},
            "new": {"shards": {"0": [unassigned("new", 0, true, "EMPTY_STORE", "INDEX_CREATED")]}},
        }},
    })
}

/// Disks of 100 GB; of node b the given share is used.
fn nodes(used_on_b: i64) -> Value {
    let node = |used: i64| {
        json!({"roles": ["data", "master"], "version": "7.4.0", "fs": {"data": [{"path": "/d",
            "total_in_bytes": 100_000_000_000_i64, "available_in_bytes": (100 - used) * 1_000_000_000}]}})
    };
    json!({"nodes": {"a": node(40), "b": node(used_on_b), "c": node(40)}})
}

/// Every copy has 10 GB.
fn sizes() -> Value {
    let rows = (0..3).flat_map(|shard: u32| {
        ["p", "r"].map(|kind| {
            json!({"index": "logs", "shard": shard.to_string(), "prirep": kind, "store": "10000000000"})
        })
    });
    Value::from(rows.collect::<Vec<Value>>())
}

struct Files {
    _directory: tempfile::TempDir,
    state: String,
    nodes: String,
    sizes: String,
}

fn files(state: &Value, used_on_b: i64) -> Files {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    Files {
        state: file(path, "state.json", state),
        nodes: file(path, "nodes.json", &nodes(used_on_b)),
        sizes: file(path, "sizes.json", &sizes()),
        _directory: directory,
    }
}

fn on<'f>(files: &'f Files, command: &'f str, more: &[&'f str]) -> Vec<&'f str> {
    let mut words = vec![
        command,
        "--state",
        &files.state,
        "--nodes",
        &files.nodes,
        "--sizes",
        &files.sizes,
        "--version",
        "7.4.0",
    ];
    words.extend(more);
    words
}

/// Without line breaks and indentation.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{line:?} is wider than 80 columns"
        );
    }
}

#[test]
fn cost_tells_reroutes_and_times() {
    let words = [
        "cost",
        "--shards",
        "50000",
        "--nodes",
        "12",
        "--closed",
        "90%",
        "--version",
        "7.4.0",
    ];
    let answer = document(&words, 0);
    assert_eq!(answer["schema"], "trimtab.shards/1");
    let result = &answer["result"];
    assert_eq!(result["kind"], "cost");
    assert_eq!(
        (&result["closed_shards"], &result["routed_shards"]),
        (&json!(45_000), &json!(50_000))
    );
    // 5 primaries and 5 replicas on 12 nodes: a reroute in the task, one after all primaries have
    // started, one after all replicas have; or one for each of the ten.
    let create = &result["operations"][0];
    assert_eq!(create["operation"], "create");
    assert_eq!(
        (&create["least"]["reroutes"], &create["most"]["reroutes"]),
        (&json!(3), &json!(11))
    );
    assert!(create["least"]["ms"].as_f64() < create["most"]["ms"].as_f64());
    // Before 7.2 nine tenths of the shards are not in the table; from 7.6 on nothing is scanned.
    let versions = result["versions"].as_array().unwrap();
    let ms = |versions: &[Value], name: &str| {
        let row = versions.iter().find(|row| row["versions"] == name);
        row.unwrap_or_else(|| panic!("{name}"))["reroute_ms"]
            .as_f64()
            .unwrap()
    };
    assert!(ms(versions, "7.0 to 7.1") < ms(versions, "7.4 to 7.5") / 3.0);
    assert!(ms(versions, "7.17 and later") < ms(versions, "7.4 to 7.5") / 3.0);
    // One of them is the version that was asked for, and its time the answer.
    let asked: Vec<&Value> = versions.iter().filter(|row| row["asked"] == true).collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["reroute_ms"], result["reroute"]["ms"]);

    let output = shards(&words);
    let text = stdout(&output);
    fits(&text);
    for part in [
        "Elasticsearch 7.4.0: 50,000 shards, 45,000 of them of closed indices",
        "Closed indices stay in the routing table",
        "create an index",
        "3 to 11",
        "7.4 to 7.5 (this)",
    ] {
        assert!(flat(&text).contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn cost_refuses_what_it_does_not_know() {
    for (words, expected) in [
        (
            &["--shards", "5", "--nodes", "2", "--version", "5.6.16"][..],
            "5.6.16 is not modelled",
        ),
        (
            &["--shards", "5", "--nodes", "2", "--version", "seven"],
            "expected a version",
        ),
        (
            &["--shards", "5", "--nodes", "2", "--closed", "90"],
            "a share from 0 to 1",
        ),
        (&["--shards", "0", "--nodes", "2"], "--shards"),
        (&["--shards", "5", "--nodes", "0"], "--nodes"),
    ] {
        let mut all = vec!["cost"];
        all.extend(words);
        let output = shards(&all);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains(expected),
            "{expected:?}: {}",
            stderr(&output)
        );
    }
    // What is taken for another version is told.
    let taken = document(
        &[
            "cost",
            "--shards",
            "5000",
            "--nodes",
            "3",
            "--version",
            "opensearch-2.19.1",
        ],
        0,
    );
    let warnings = taken["warnings"].to_string();
    assert!(
        warnings.contains("OpenSearch 2.19.1 was not measured"),
        "{warnings}"
    );
    let desired = document(
        &[
            "cost",
            "--shards",
            "5000",
            "--nodes",
            "3",
            "--version",
            "8.11.0",
        ],
        0,
    );
    assert!(desired["warnings"].to_string().contains("desired balance"));
}

#[test]
fn reroute_explains_where_shards_go() {
    let files = files(&state(), 40);
    let answer = document(&on(&files, "reroute", &[]), 0);
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
    // The primary comes first. Node a has one copy, b and c have two: `new` goes to a, and then the
    // replica of logs[2] can go to a or b (c has the primary). For `logs` a weighs less than b: as many
    // copies (two), but fewer of the index (one against two).
    let decisions = result["decisions"].as_array().unwrap();
    let told: Vec<String> = decisions
        .iter()
        .map(|row| {
            format!(
                "{} {} {} {}",
                row["decision"], row["index"], row["shard"], row["to"]
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            r#""allocate" "new" 0 "node-a""#,
            r#""allocate" "logs" 2 "node-a""#
        ]
    );
    // The node with the primary says no, and why.
    let nodes = decisions[1]["nodes"].as_array().unwrap();
    let c = nodes.iter().find(|node| node["node"] == "node-c").unwrap();
    assert_eq!(c["outcome"], "no");
    let same = c["deciders"]
        .as_array()
        .unwrap()
        .iter()
        .find(|decider| decider["decision"] == "NO");
    assert_eq!(same.unwrap()["decider"], "same_shard");

    let output = shards(&on(&files, "reroute", &[]));
    let text = stdout(&output);
    fits(&text);
    for part in [
        "Elasticsearch 7.4.0: 7 shards on 3 data nodes",
        "The next reroute puts 2 shards on a node, moves 0 that cannot stay and 0 for balance; 0 stay unassigned.",
        "[new][0] primary goes to node-a: new and empty",
        "[logs][2] replica goes to node-a: from its primary",
        "NO same_shard:",
    ] {
        assert!(flat(&text).contains(part), "{part:?} is not in:\n{text}");
    }
    // Only so many as asked for; all are counted.
    let output = stdout(&shards(&on(&files, "reroute", &["--limit", "1"])));
    assert!(output.contains("1 more, not told"), "{output}");
}

#[test]
fn reroute_explains_what_has_to_move_and_what_cannot() {
    // Node b is 92 % full, above the high watermark: its started copies cannot remain. One at a time:
    // with it gone, what is on its way away counts as free.
    let files = files(&state(), 92);
    let answer = document(&on(&files, "reroute", &[]), 0);
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

    // A filter that no node passes: nothing can be allocated, and the filter says so.
    let settings =
        json!({"persistent": {"cluster.routing.allocation.require.box": "hot"}, "transient": {}});
    let directory = tempfile::tempdir().unwrap();
    let settings = file(directory.path(), "settings.json", &settings);
    let mut calm = state();
    calm["routing_table"]["indices"]["logs"]["shards"]["2"][1] = started("logs", 2, false, "a");
    calm["metadata"]["indices"]["logs"]["in_sync_allocations"]["2"] =
        json!(["logs-2-true", "logs-2-false"]);
    let files = self::files(&calm, 40);
    let answer = document(&on(&files, "reroute", &["--settings", &settings]), 0);
    let result = &answer["result"];
    assert_eq!(
        (&result["allocated"], &result["unassigned"]),
        (&json!(0), &json!(1))
    );
    let stays = result["decisions"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&stays["decision"], &stays["index"]),
        (&json!("unassigned"), &json!("new"))
    );
    assert!(stays["nodes"].to_string().contains("\"filter\""), "{stays}");
}

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
        "- node node-b is taken away",
        "1 replica promoted to primary",
        "3 replicas recover from their primaries (30 GB)",
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
    // A round is not enough to empty a node.
    let words = on(
        &files,
        "what-if",
        &[
            "--set",
            "cluster.routing.allocation.exclude._name=node-a",
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
fn what_is_missing_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let state = file(directory.path(), "state.json", &state());
    let warnings = document(&["reroute", "--state", &state], 0)["warnings"].to_string();
    for part in [
        "taken for 7.4.0",
        "roles of 3 nodes",
        "Disks were not told",
        "Sizes of shards were not told",
    ] {
        assert!(warnings.contains(part), "{part:?} is not in {warnings}");
    }
}

#[test]
fn bad_input_is_named_and_placed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = shards(&["reroute", "--state", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let error = refused("{\"nodes\": {},\n \"metadata\": ]}");
    assert!(
        error.contains("state.json") && error.contains("line 2, column 14"),
        "{error}"
    );
    let mut broken = state();
    broken["routing_table"]["indices"]["logs"]["shards"]["0"][0]["node"] = json!("z");
    let error = refused(&broken.to_string());
    assert!(
        error.contains("[logs][0]") && error.contains("node z"),
        "{error}"
    );
    let output = shards(&["reroute", "--state", "/nonexistent/state.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent/state.json"));
}

#[test]
fn a_state_comes_from_standard_input_too() {
    let mut child = trimtab()
        .args(["shards", "reroute", "--state", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(state().to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["source"], &answer["result"]["allocated"]),
        (&json!("standard input"), &json!(2))
    );
}

#[test]
fn answers_fit_the_schema_and_damaged_ones_do_not() {
    let schema: Value = serde_json::from_str(&stdout(&shards(&["--schema"]))).unwrap();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    let files = files(&state(), 92);
    for (words, pointer, field) in [
        (
            vec!["cost", "--shards", "1000", "--nodes", "3"],
            "/result/operations/0/least",
            "ms",
        ),
        (on(&files, "reroute", &[]), "/result/decisions/0", "why"),
        (
            on(&files, "what-if", &["--add-node", "d"]),
            "/result/after",
            "reroute_ms",
        ),
    ] {
        let mut all = words.clone();
        all.extend(["--format", "json"]);
        let output = shards(&all);
        let mut answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let errors: Vec<String> = validator
            .iter_errors(&answer)
            .map(|error| format!("{error}"))
            .collect();
        assert!(errors.is_empty(), "{words:?}: {errors:?}");
        answer
            .pointer_mut(pointer)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(field)
            .expect(field);
        assert!(!validator.is_valid(&answer), "{words:?} without {field}");
    }
}

#[test]
fn a_cluster_is_asked_for_everything() {
    let server = Server::start(|head| {
        // GET /path?query HTTP/1.1
        let path = head.split(' ').nth(1).unwrap_or_default();
        let body = match path.split('?').next().unwrap_or_default() {
            "/" => json!({"version": {"number": "7.4.0"}}),
            "/_cluster/state" => state(),
            "/_nodes" | "/_nodes/stats/fs" => nodes(40),
            "/_stats/store" => json!({"indices": {}}),
            _ => return Answer::Body(500, b"no settings today".to_vec()),
        };
        Answer::ok(&body.to_string())
    });
    let url = server.url("/");
    let answer = document(&["reroute", "--state", &url], 0);
    assert_eq!(answer["result"]["allocated"], 2);
    assert_eq!(answer["result"]["server"], "Elasticsearch 7.4.0");
    // What did not come is told, not guessed.
    assert!(
        answer["warnings"].to_string().contains("_cluster/settings"),
        "{}",
        answer["warnings"]
    );
}
