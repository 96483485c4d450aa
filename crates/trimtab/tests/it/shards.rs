//! `trimtab shards`: costs, the next reroute, and the effect of a change.

mod cost;
mod input;
mod reroute;
mod untrusted;
mod what_if;

use crate::support::{run, stderr};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

fn shards(args: &[&str]) -> Output {
    let mut all = vec!["shards"];
    all.extend(args);
    run(&all)
}

/// Runs a command that must end with this exit code, and returns its JSON document.
fn document(args: &[&str], code: i32) -> Value {
    let mut all = args.to_vec();
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

/// Returns a cluster state of three nodes. `logs` has three primaries with one replica each, two
/// copies on every node; the replica of shard 2 is unassigned. `new` was just created: its primary
/// is unassigned.
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

/// Returns node stats with disks of 100 GB; `used_on_b` is the percentage used on node b.
fn nodes(used_on_b: i64) -> Value {
    let node = |used: i64| {
        json!({"roles": ["data", "master"], "version": "7.4.0", "fs": {"data": [{"path": "/d",
            "total_in_bytes": 100_000_000_000_i64, "available_in_bytes": (100 - used) * 1_000_000_000}]}})
    };
    json!({"nodes": {"a": node(40), "b": node(used_on_b), "c": node(40)}})
}

/// Returns shard sizes: 10 GB for every copy.
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

fn with_files<'f>(files: &'f Files, command: &'f str, more: &[&'f str]) -> Vec<&'f str> {
    let mut args = vec![
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
    args.extend(more);
    args
}

/// Joins wrapped lines.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_fits_80_columns(text: &str) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{line:?} is wider than 80 columns"
        );
    }
}
