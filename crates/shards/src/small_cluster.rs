//! A small cluster for tests.

use crate::model::{Cluster, NodeIndex, Version};
use crate::state::{Source, State};
use serde_json::{Value, json};

fn started(shard: u32, primary: bool, node: &str) -> Value {
    json!({"state": "STARTED", "primary": primary, "node": node, "relocating_node": null, "shard": shard,
        "index": "logs", "allocation_id": {"id": format!("logs-{shard}-{primary}")}})
}

fn unassigned(index: &str, shard: u32, primary: bool, source: &str, reason: &str) -> Value {
    json!({"state": "UNASSIGNED", "primary": primary, "node": null, "relocating_node": null,
        "shard": shard, "index": index, "recovery_source": {"type": source},
        "unassigned_info": {"reason": reason, "at": "2026-11-20T00:00:00.000Z", "delayed": false,
            "allocation_status": "no_attempt"}})
}

/// Three nodes. `logs` has three primaries with a replica each, two copies per node; the replica of shard
/// 2 is missing. `new` has just been created, and its primary is unassigned.
pub fn state() -> Value {
    let node = |name: &str| {
        json!({"name": format!("node-{name}"), "attributes": {},
        "transport_address": format!("{name}:9300")})
    };
    let index = |shards: &str, replicas: &str, in_sync: Value| {
        json!({"state": "open", "in_sync_allocations": in_sync, "settings": {"index": {
            "number_of_shards": shards, "number_of_replicas": replicas, "creation_date": "1"}}})
    };
    json!({
        "cluster_name": "small", "master_node": "a",
        "nodes": {"a": node("a"), "b": node("b"), "c": node("c")},
        "metadata": {"indices": {
            "logs": index("3", "1", json!({"0": ["logs-0-true", "logs-0-false"],
                "1": ["logs-1-true", "logs-1-false"], "2": ["logs-2-true"]})),
            "new": index("1", "0", json!({})),
        }},
        "routing_table": {"indices": {
            "logs": {"shards": {
                "0": [started(0, true, "a"), started(0, false, "b")],
                "1": [started(1, true, "b"), started(1, false, "c")],
                "2": [started(2, true, "c"), unassigned("logs", 2, false, "PEER", "REPLICA_ADDED")],
            }},
            "new": {"shards": {"0": [unassigned("new", 0, true, "EMPTY_STORE", "INDEX_CREATED")]}},
        }},
    })
}

/// Reads a state, assuming version 7.4.0.
pub fn read(state: &Value) -> State {
    State::read(bytes(&state.to_string()), Version::release(7, 4, 0)).expect("a state")
}

fn bytes(text: &str) -> Source<'_> {
    Source::Bytes(text.as_bytes())
}

/// The node with this id.
pub fn node(cluster: &Cluster, id: &str) -> NodeIndex {
    let mut nodes = (0..).map(NodeIndex).zip(&cluster.nodes);
    nodes.find(|(_, node)| node.id == id).expect("a node").0
}

/// The state with another index of this many primaries on each of these nodes, all started.
pub fn with_many(mut state: Value, number: u32, nodes: &[&str]) -> Value {
    let mut shards = serde_json::Map::new();
    let mut in_sync = serde_json::Map::new();
    let places = nodes
        .iter()
        .flat_map(|node| (0..number).map(move |_| *node));
    for (shard, node) in (0..).zip(places) {
        let mut copy = started(shard, true, node);
        copy["index"] = "many".into();
        copy["allocation_id"]["id"] = format!("many-{shard}").into();
        shards.insert(shard.to_string(), json!([copy]));
        in_sync.insert(shard.to_string(), json!([format!("many-{shard}")]));
    }
    state["metadata"]["indices"]["many"] = json!({"state": "open", "in_sync_allocations": in_sync,
        "settings": {"index": {"number_of_shards": shards.len().to_string(),
            "number_of_replicas": "0", "creation_date": "1"}}});
    state["routing_table"]["indices"]["many"] = json!({"shards": shards});
    state
}

/// [`state`] with 100 GB disks; the given percentage of node b's disk is used, and every copy of `logs`
/// has 10 GB.
pub fn full(used_on_b_percent: i64) -> State {
    with_disks(&state(), used_on_b_percent)
}

/// Like [`full`], of another state.
pub fn with_disks(state: &Value, used_on_b_percent: i64) -> State {
    let node = |used: i64| {
        json!({"roles": ["data", "master"], "version": "7.4.0", "fs": {"data": [{"path": "/d",
            "total_in_bytes": 100_000_000_000_i64, "available_in_bytes": (100 - used) * 1_000_000_000}]}})
    };
    let nodes = json!({"nodes": {"a": node(40), "b": node(used_on_b_percent), "c": node(40)}});
    let rows: Vec<Value> = (0..3)
        .flat_map(|shard: u32| {
            ["p", "r"].map(|kind| {
                json!({"index": "logs", "shard": shard.to_string(), "prirep": kind, "store": "10000000000"})
            })
        })
        .collect();
    let mut read = read(state);
    read.read_nodes(bytes(&nodes.to_string())).expect("nodes");
    read.read_sizes(bytes(&Value::from(rows).to_string()))
        .expect("sizes");
    read.complete_paths();
    read
}
