use super::*;
use crate::copy::{CopyState, FORCED_ALLOCATION, Reason, RecoverySource};
use crate::model::{IndexState, ShardId};
use crate::small_cluster::node;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::BufReader;

#[path = "../../examples/write_state/generate.rs"]
mod generate;
use generate::{Spec, write_state};

const VERSION: Version = Version::release(7, 4, 0);

fn copy(index: &str, shard: u32, primary: bool, node: &str, id: &str) -> Value {
    json!({"state": "STARTED", "primary": primary, "node": node, "relocating_node": null,
        "shard": shard, "index": index, "allocation_id": {"id": id}})
}

/// Two nodes; `logs` with two shards and a replica each: one copy moves from a to b, one is unassigned.
fn small() -> Value {
    let mut moving = copy("logs", 0, true, "a", "p0");
    moving["state"] = json!("RELOCATING");
    moving["relocating_node"] = json!("c");
    moving["allocation_id"]["relocation_id"] = json!("p0-target");
    moving["expected_shard_size_in_bytes"] = json!(1000);
    json!({
        "cluster_name": "small", "version": 7, "master_node": "a",
        "nodes": {
            "b": {"name": "beta", "transport_address": "10.0.0.2:9300", "attributes": {"rack": "r2"}},
            "a": {"name": "alpha", "transport_address": "10.0.0.1:9300", "attributes": {}},
            "c": {"name": "gamma", "transport_address": "[::1]:9300", "attributes": {}},
        },
        "metadata": {"templates": {"x": {"settings": {"index": {"number_of_shards": "0"}}}}, "indices": {
            "logs": {"state": "open", "settings": {"index": {
                    "number_of_shards": "2", "number_of_replicas": "1", "uuid": "u", "creation_date": "5",
                    "analysis": {"filter": {"s": {"synonyms": [{"no": "scalar"}]}}},
                    "routing": {"allocation": {"exclude": {"_name": "x,y"}, "total_shards_per_node": "3"}},
                    "unassigned": {"node_left": {"delayed_timeout": "5m"}}}},
                "mappings": {"_doc": {"properties": {"state": {"type": "keyword"}}}},
                "in_sync_allocations": {"0": ["p0", "r0"], "1": ["p1", "_forced_allocation_"]}},
            "old": {"state": "close", "settings": {"index.number_of_shards": 1, "index.number_of_replicas": 0},
                "in_sync_allocations": {}},
        }},
        "routing_table": {"indices": {"logs": {"shards": {
            "1": [copy("logs", 1, true, "b", "p1"),
                {"state": "UNASSIGNED", "primary": false, "node": null, "relocating_node": null,
                 "shard": 1, "index": "logs", "recovery_source": {"type": "PEER"},
                 "unassigned_info": {"reason": "NODE_LEFT", "at": "1970-01-01T00:00:02.000Z",
                    "failed_attempts": 3, "delayed": true, "details": "node_left [z]",
                    "allocation_status": "no_attempt"}}],
            "0": [moving, copy("logs", 0, false, "b", "r0")],
        }}}},
        "routing_nodes": {"unassigned": [], "nodes": {"a": [{"whatever": 1}]}},
    })
}

fn read(value: &Value) -> Result<State, StateError> {
    State::read(Source::Bytes(value.to_string().as_bytes()), VERSION)
}

fn refused(value: &Value) -> String {
    read(value).expect_err("a contradiction").to_string()
}

/// A description of every copy by names, sorted.
fn describe_copies(state: &State) -> Vec<String> {
    let cluster = &state.cluster;
    let node = |node: Option<crate::model::NodeIndex>| {
        node.map_or("-".to_owned(), |node| cluster.node(node).name.clone())
    };
    let mut lines: Vec<String> = cluster
        .routing
        .copies()
        .map(|copy| {
            let index = cluster.index(copy.shard.index);
            format!(
                "{}/{} {:?} primary={} {}>{} in-sync={} {:?}",
                index.name,
                copy.shard.shard,
                copy.state,
                copy.primary,
                node(copy.node),
                node(copy.relocating),
                copy.allocation
                    .is_some_and(|id| index.in_sync[copy.shard.shard as usize].contains(&id)),
                copy.unassigned.map(|info| info.reason),
            )
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_small_state() {
    let state = read(&small()).unwrap();
    assert_eq!(state.name.as_deref(), Some("small"));
    assert_eq!(state.master.as_deref(), Some("a"));
    assert_eq!(state.nodes_of_unknown_role(), 3);
    let cluster = &state.cluster;
    let c = cluster.node(node(cluster, "c"));
    assert_eq!(
        (c.name.as_str(), c.host.as_str(), c.version),
        ("gamma", "::1", VERSION)
    );
    let b = cluster.node(node(cluster, "b"));
    assert_eq!(b.attribute("rack"), Some("r2"));
    assert_eq!(cluster.data_nodes.len(), 3);
    let index = cluster.index(cluster.index_by_name("logs").unwrap());
    assert_eq!(
        (index.shards, index.replicas, index.state),
        (2, 1, IndexState::Open)
    );
    assert_eq!(index.settings.creation_date, 5);
    assert_eq!(index.settings.delayed_timeout_nanos, 300_000_000_000);
    assert_eq!(index.settings.exclude.0[0].1, ["x", "y"]);
    assert_eq!(index.settings.total_shards_per_node, 3);
    assert_eq!(index.in_sync[1][1], FORCED_ALLOCATION);
    let old = cluster.index_by_name("old").unwrap();
    assert_eq!(cluster.index(old).state, IndexState::Closed);
    assert!(cluster.routing.table(old).is_none());
    assert_eq!(
        describe_copies(&state),
        [
            "logs/0 Relocating primary=true alpha>gamma in-sync=true None",
            "logs/0 Started primary=false beta>- in-sync=true None",
            "logs/1 Started primary=true beta>- in-sync=true None",
            "logs/1 Unassigned primary=false ->- in-sync=false Some(NodeLeft)",
        ]
    );
    let waits = cluster
        .routing
        .copies()
        .find(|copy| copy.is_unassigned())
        .unwrap();
    let info = waits.unassigned.unwrap();
    assert_eq!((info.failed_allocations, info.delayed), (3, true));
    assert_eq!(info.at_nanos, 2_000_000_000);
    assert_eq!(waits.recovery, Some(RecoverySource::Peer));
    let moves = cluster
        .routing
        .copies()
        .find(|copy| copy.is_relocating())
        .unwrap();
    assert_eq!(moves.expected_bytes, 1000);
    assert!(moves.relocation.unwrap().0 < cluster.next_allocation);
}

#[test]
fn formats_of_other_versions() {
    // 8.x and OpenSearch: roles and versions of nodes, a different name for the master, more flags.
    let mut value = small();
    value["nodes"]["a"]["roles"] = json!(["cluster_manager", "ingest"]);
    value["nodes"]["b"]["roles"] = json!(["data_hot", "data_content"]);
    value["nodes"]["c"]["roles"] = json!(["data"]);
    value["nodes"]["b"]["version"] = json!("8.11.0");
    value["routing_table"]["indices"]["logs"]["shards"]["0"][0]["node"] = json!("b");
    value["routing_table"]["indices"]["logs"]["shards"]["0"][1]["node"] = json!("a");
    value["metadata"]["indices"]["logs"]["system"] = json!(true);
    value["metadata"]["indices"]["logs"]["settings"] =
        json!({"index.number_of_shards": "2", "index": {"number_of_replicas": 1}});
    value.as_object_mut().unwrap().remove("master_node");
    value["cluster_manager_node"] = json!("a");
    let state = read(&value).unwrap();
    assert_eq!(state.master.as_deref(), Some("a"));
    assert_eq!(state.nodes_of_unknown_role(), 0);
    let data: Vec<&str> = state
        .cluster
        .data_nodes
        .iter()
        .map(|&node| state.cluster.node(node).name.as_str())
        .collect();
    assert!(data.len() == 2 && !data.contains(&"alpha"), "{data:?}");
    let b = node(&state.cluster, "b");
    assert_eq!(state.cluster.node(b).version, Version::release(8, 11, 0));
    // A node that is expected to return counts as one that left, with a warning.
    let waits = &mut value["routing_table"]["indices"]["logs"]["shards"]["1"][1];
    waits["unassigned_info"]["reason"] = json!("NODE_RESTARTING");
    let state = read(&value).unwrap();
    assert!(
        state.warnings[0].contains("restarts"),
        "{:?}",
        state.warnings
    );
    let waits = state
        .cluster
        .routing
        .copies()
        .find(|copy| copy.is_unassigned())
        .unwrap();
    assert_eq!(waits.unassigned.unwrap().reason, Reason::NodeLeft);
}

#[test]
fn the_node_that_a_copy_was_on() {
    let mut value = small();
    let last = |value: &Value| {
        let cluster = read(value).unwrap().cluster;
        let info = cluster.routing.copies().find_map(|copy| copy.unassigned);
        let node = info.unwrap().last_node?;
        Some((cluster.node(node).id.clone(), cluster.node(node).present))
    };
    assert_eq!(last(&value), Some(("z".to_owned(), false)));
    let info = |value: &mut Value, key: &str, text: &str| {
        let waits = &mut value["routing_table"]["indices"]["logs"]["shards"]["1"][1];
        waits["unassigned_info"][key] = json!(text);
    };
    // Its own field takes precedence.
    info(&mut value, "last_node", "b");
    assert_eq!(last(&value), Some(("b".to_owned(), true)));
    let mut value = small();
    info(&mut value, "details", "failed shard on node [z]: no space");
    assert_eq!(last(&value), None);
}

#[test]
fn snapshots_and_restores() {
    let mut value = small();
    value["snapshots"] = json!({"snapshots": [{"repository": "r", "snapshot": "s", "state": "STARTED", "shards": [
        {"index": {"index_name": "logs", "index_uuid": "u"}, "shard": 1, "state": "INIT", "node": "b"},
        {"index": {"index_name": "logs", "index_uuid": "u"}, "shard": 0, "state": "SUCCESS", "node": "a"},
        {"index": {"index_name": "gone", "index_uuid": "v"}, "shard": 0, "state": "INIT", "node": "a"}]}]});
    value["restore"] = json!({"snapshots": [{"snapshot": "s", "repository": "r", "state": "STARTED", "shards": [
        {"index": {"index_name": "logs", "index_uuid": "u"}, "shard": 1, "state": "INIT"}]}]});
    let primary = &mut value["routing_table"]["indices"]["logs"]["shards"]["1"][0];
    *primary = json!({"state": "INITIALIZING", "primary": true, "node": "b", "relocating_node": null, "shard": 1,
        "index": "logs", "recovery_source": {"type": "SNAPSHOT", "restoreUUID": "x"}, "allocation_id": {"id": "p1"},
        "unassigned_info": {"reason": "NEW_INDEX_RESTORED", "at": "1970-01-01T00:00:00Z", "delayed": false}});
    let cluster = read(&value).unwrap().cluster;
    let shard = ShardId {
        index: cluster.index_by_name("logs").unwrap(),
        shard: 1,
    };
    assert_eq!(cluster.snapshots.len(), 1);
    assert_eq!(cluster.snapshots[0].shard, shard);
    assert_eq!(cluster.snapshots[0].node, node(&cluster, "b"));
    assert_eq!(cluster.restores.len(), 1);
    assert!(!cluster.restores[0].completed && cluster.restores[0].shard == shard);
    let copy = cluster
        .routing
        .table(shard.index)
        .unwrap()
        .primary(1)
        .unwrap();
    assert_eq!(
        copy.recovery,
        Some(RecoverySource::Snapshot(cluster.restores[0].restore))
    );
}

#[test]
fn contradictions_are_described() {
    let shards = |value: &mut Value| value["routing_table"]["indices"]["logs"]["shards"].take();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = small();
        let mut table = shards(&mut value);
        change(&mut table);
        value["routing_table"]["indices"]["logs"]["shards"] = table;
        refused(&value)
    };
    for (found, names) in [
        (
            changed(&|t| t["1"][0]["node"] = json!("zz")),
            ["[logs][1]", "node zz"],
        ),
        (
            changed(&|t| t["0"][1]["node"] = json!("a")),
            ["two copies of [logs][0]", "node a"],
        ),
        (
            changed(&|t| t["0"][1]["node"] = json!("c")),
            ["two copies of [logs][0]", "node c"],
        ),
        (
            changed(&|t| t["1"][0]["primary"] = json!(false)),
            ["[logs][1]", "0 primaries"],
        ),
        (
            changed(&|t| t["1"][1]["primary"] = json!(true)),
            ["[logs][1]", "2 primaries"],
        ),
        (
            changed(&|t| t["1"][0]["allocation_id"]["id"] = json!("r0")),
            ["[logs][", "allocation id"],
        ),
        (
            changed(&|t| t["1"][0]["shard"] = json!(0)),
            ["[logs][1]", "[logs][0]"],
        ),
        (
            changed(&|t| t["1"][0]["index"] = json!("other")),
            ["[logs][1]", "[other][1]"],
        ),
        (
            changed(&|t| t["1"][0]["state"] = json!("LOST")),
            ["[logs][1]", "LOST"],
        ),
        (
            changed(&|t| t["1"][0]["node"] = json!(null)),
            ["[logs][1]", "lacks a node"],
        ),
        (
            changed(&|t| t["1"][1]["node"] = json!("a")),
            ["[logs][1]", "has a node"],
        ),
        (
            changed(&|t| t["0"][0]["relocating_node"] = json!(null)),
            ["[logs][0]", "not to where"],
        ),
        (
            changed(&|t| t["1"].as_array_mut().unwrap().truncate(1)),
            ["1 replicas", "1 copies"],
        ),
        (
            changed(&|t| drop(t.as_object_mut().unwrap().remove("1"))),
            ["logs has 2 shards", "lacks its shard 1"],
        ),
        (changed(&|t| t["1"] = json!([])), ["[logs][1]", "no copy"]),
        (
            changed(&|t| t["x"] = json!([])),
            ["number of a shard", "\"x\""],
        ),
    ] {
        for name in names {
            assert!(found.contains(name), "{found:?} does not name {name:?}");
        }
    }
}

#[test]
fn contradictions_between_parts() {
    let mut value = small();
    value["metadata"]["indices"]["logs"]["settings"]["index"]["number_of_shards"] = json!("1");
    assert!(
        refused(&value).contains("logs has 1 shards"),
        "{}",
        refused(&value)
    );
    let mut value = small();
    value["metadata"]["indices"]
        .as_object_mut()
        .unwrap()
        .remove("logs");
    assert!(refused(&value).contains("logs is in the routing table, but not in the metadata"));
    let mut value = small();
    value["metadata"]["indices"]["old"]["state"] = json!("open");
    assert!(refused(&value).contains("old is open, but not in the routing table"));
    let mut value = small();
    value["metadata"]["indices"]["logs"]["settings"]["index"]["number_of_replicas"] = json!("many");
    let error = refused(&value);
    assert!(error.contains("logs") && error.contains("many"), "{error}");
    for part in ["nodes", "metadata", "routing_table"] {
        let mut value = small();
        value.as_object_mut().unwrap().remove(part);
        assert!(refused(&value).contains(part), "{}", refused(&value));
    }
    // Duplicate names: JSON allows them, a state does not.
    let twice = |text: &str| {
        let error = State::read(Source::Bytes(text.as_bytes()), VERSION).unwrap_err();
        assert!(error.to_string().contains("twice"), "{error}");
    };
    twice(r#"{"nodes": {"a": {}, "a": {}}}"#);
    twice(r#"{"metadata": {"indices": {"a": {}, "a": {}}}}"#);
    twice(r#"{"routing_table": {"indices": {"a": {}, "a": {}}}}"#);
    let shards = r#"[{"state":"STARTED","primary":true,"node":"n","shard":0,"index":"i","allocation_id":{"id":"x"}}]"#;
    twice(&format!(
        r#"{{"routing_table": {{"indices": {{"i": {{"shards": {{"0": {shards}, "0": {shards}}}}}}}}}}}"#
    ));
}

/// A stream that returns an error.
struct Broken;
impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the line is dead"))
    }
}

#[test]
fn malformed_json_is_located() {
    let text = "{\n  \"nodes\": {},\n  \"metadata\": {\"indices\": }\n}";
    let column = text.find(" }\n").unwrap() - text.find("  \"metadata").unwrap() + 2;
    for streamed in [false, true] {
        let mut stream = BufReader::new(text.as_bytes());
        let source = if streamed {
            Source::Stream(&mut stream)
        } else {
            Source::Bytes(text.as_bytes())
        };
        let error = State::read(source, VERSION).unwrap_err();
        let StateError::Json {
            line, column: at, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!((*line, *at), (3, column), "{error} {streamed}");
        assert!(error.to_string().contains("line 3"), "{error}");
    }
    // Well-formed, but with a different structure: the position is where reading stopped.
    let text = "{\n\"metadata\": {\"indices\": [1]}}";
    let error = State::read(Source::Bytes(text.as_bytes()), VERSION).unwrap_err();
    let StateError::Json {
        line: 2, column, ..
    } = error
    else {
        panic!("{error}");
    };
    // After the line break, from 1 on.
    assert!(column.abs_diff(text.find('[').unwrap() - 1) <= 1, "{error}");
    // A failing stream is not reported as malformed JSON.
    let error = State::read(Source::Stream(&mut BufReader::new(Broken)), VERSION).unwrap_err();
    assert!(matches!(error, StateError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains("the line is dead"), "{error}");
}

#[test]
fn nodes_disks_and_sizes() {
    let mut state = read(&small()).unwrap();
    let answer = json!({"_nodes": {"total": 3}, "nodes": {
        "a": {"name": "alpha", "host": "es1", "ip": "10.0.0.1:9300", "roles": ["master"], "version": "7.4.2", "attributes": {}},
        "b": {"roles": ["data"], "fs": {"timestamp": 1, "data": [
            {"path": "/d1", "total_in_bytes": 1000, "free_in_bytes": 500, "available_in_bytes": 400},
            {"path": "/d2", "total_in_bytes": 2000, "available_in_bytes": 300},
            {"path": "/d3", "total_in_bytes": 3000, "available_in_bytes": 900}]}},
        "stranger": {"roles": ["data"]}}});
    state
        .read_nodes(Source::Bytes(answer.to_string().as_bytes()))
        .unwrap();
    assert!(
        state.warnings[0].contains("stranger"),
        "{:?}",
        state.warnings
    );
    assert_eq!(state.nodes_of_unknown_role(), 1);
    let cluster = &state.cluster;
    let (a, b) = (node(cluster, "a"), node(cluster, "b"));
    assert_eq!(cluster.node(a).host, "es1");
    assert_eq!(cluster.node(a).host_address, "10.0.0.1");
    assert_eq!(cluster.node(a).version, Version::release(7, 4, 2));
    assert_eq!(cluster.data_nodes.len(), 2);
    let info = cluster.info.as_ref().unwrap();
    let of = |usage: &crate::model::DiskUsage| {
        (
            info.paths[usage.path.unwrap().0 as usize].clone(),
            usage.total_bytes,
            usage.free_bytes,
        )
    };
    assert_eq!(of(&info.least[&b]), ("/d2".to_owned(), 2000, 300));
    assert_eq!(of(&info.most[&b]), ("/d3".to_owned(), 3000, 900));
    assert!(!info.least.contains_key(&a));

    let answer = json!({"_shards": {}, "_all": {}, "indices": {"gone": {"shards": {"0": []}}, "logs": {"uuid": "u", "shards": {"1": [
        {"routing": {"state": "STARTED", "primary": true, "node": "b"}, "store": {"size_in_bytes": 77},
         "shard_path": {"state_path": "/d2", "data_path": "/d2", "is_custom_data_path": false}}]}}}});
    state
        .read_sizes(Source::Bytes(answer.to_string().as_bytes()))
        .unwrap();
    let cat = json!([{"index": "logs", "shard": "0", "prirep": "p", "state": "RELOCATING", "store": "1000", "node": "alpha -> 10.0.0.3 c gamma"},
        {"index": "logs", "shard": "1", "prirep": "r", "state": "UNASSIGNED", "store": null},
        {"index": "gone", "shard": "0", "prirep": "p", "store": "5"}]);
    state
        .read_sizes(Source::Bytes(cat.to_string().as_bytes()))
        .unwrap();
    let cluster = &state.cluster;
    let info = cluster.info.as_ref().unwrap();
    let index = cluster.index_by_name("logs").unwrap();
    let shard = |shard| ShardId { index, shard };
    assert_eq!(info.size_bytes(shard(1), true), Some(77));
    assert_eq!(info.size_bytes(shard(1), false), None);
    assert_eq!(info.size_bytes(shard(0), true), Some(1000));
    let started = cluster
        .routing
        .copies()
        .find(|copy| copy.shard == shard(1) && copy.state == CopyState::Started);
    let path = info.data_path(started.unwrap()).unwrap();
    assert_eq!(info.paths[path.0 as usize], "/d2");

    let mut fails = |text: &str| {
        state
            .read_sizes(Source::Bytes(text.as_bytes()))
            .unwrap_err()
            .to_string()
    };
    assert!(
        fails(r#"[{"index":"logs","shard":"0","prirep":"p","store":"1kb"}]"#).contains("bytes=b")
    );
    assert!(fails("{}").contains("neither"));
    assert!(fails("7").contains("_cat/shards"));
    assert!(state.read_nodes(Source::Bytes(b"{}")).is_err());
}

#[test]
fn copies_on_a_node_with_one_path_get_that_path() {
    let mut state = read(&small()).unwrap();
    assert_eq!(state.complete_paths(), 0);
    let disk = |path: &str, free: u64| json!({"path": path, "total_in_bytes": 1000, "available_in_bytes": free});
    let answer = json!({"nodes": {"a": {"fs": {"data": [disk("/d1", 500)]}},
        "b": {"fs": {"data": [disk("/d1", 500), disk("/d2", 400)]}}}});
    state
        .read_nodes(Source::Bytes(answer.to_string().as_bytes()))
        .unwrap();
    // The two copies on b are on one of its two paths, the one on a is on its only path.
    assert_eq!(state.complete_paths(), 2);
    let cluster = &state.cluster;
    let info = cluster.info.as_ref().unwrap();
    let on_a = cluster
        .routing
        .copies()
        .find(|copy| copy.node == Some(node(cluster, "a")));
    let path = info.data_path(on_a.unwrap()).unwrap();
    assert_eq!(info.paths[path.0 as usize], "/d1");
}

#[test]
fn settings_are_kept_by_name() {
    let mut state = read(&small()).unwrap();
    let text =
        br#"{"persistent":{"cluster.routing.allocation.enable":"primaries"},"transient":{}}"#;
    state.read_settings(Source::Bytes(text)).unwrap();
    assert_eq!(
        state.cluster.settings.allocation_enable,
        crate::model::AllocationEnable::Primaries
    );
    state
        .set("cluster.routing.allocation.enable", "none")
        .unwrap();
    assert_eq!(
        state.cluster.settings.allocation_enable,
        crate::model::AllocationEnable::None
    );
    assert!(
        state
            .set("cluster.routing.allocation.enable", "maybe")
            .is_err()
    );
}

fn specs() -> impl Strategy<Value = Spec> {
    (1..6_u32, 1..12_u32, 1..4_u32, 0..4_u32, 0..3_u32).prop_map(
        |(nodes, indices, primaries, replicas, mapping_fields)| Spec {
            nodes,
            indices,
            primaries,
            replicas,
            mapping_fields,
        },
    )
}

fn encode(spec: &Spec) -> Vec<u8> {
    let mut text = Vec::new();
    write_state(&mut text, spec).unwrap();
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(spec in specs()) {
        let text = encode(&spec);
        let state = State::read(Source::Bytes(&text), VERSION).unwrap();
        let mut expected = Vec::new();
        for index in 0..spec.indices {
            for shard in 0..spec.primaries {
                for copy in 0..=spec.replicas {
                    let name = generate::name(index);
                    expected.push(match generate::node_of(&spec, index, shard, copy) {
                        Some(node) => format!("{name}/{shard} Started primary={} node-{node}>- in-sync=true None", copy == 0),
                        None => format!("{name}/{shard} Unassigned primary=false ->- in-sync=false Some(IndexCreated)"),
                    });
                }
            }
        }
        expected.sort();
        prop_assert_eq!(describe_copies(&state), expected);
        let closed = state.cluster.indices.iter().filter(|index| index.state == IndexState::Closed).count();
        prop_assert_eq!(closed, (0..spec.indices).filter(|index| index % 10 == 9).count());
        // The same from a stream, and with keys in a different order (serde_json sorts them) and
        // indented.
        let mut stream = BufReader::with_capacity(7, text.as_slice());
        let streamed = State::read(Source::Stream(&mut stream), VERSION).unwrap();
        prop_assert_eq!(describe_copies(&streamed), describe_copies(&state));
        let value: Value = serde_json::from_slice(&text).unwrap();
        let sorted = serde_json::to_string_pretty(&value).unwrap();
        let sorted = State::read(Source::Bytes(sorted.as_bytes()), VERSION).unwrap();
        prop_assert_eq!(describe_copies(&sorted), describe_copies(&state));
    }

    #[test]
    fn a_truncated_state_is_a_located_error(spec in specs(), share in 0.01..1.0f64) {
        let text = encode(&spec);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let length = (text.len() as f64 * share) as usize;
        // The last two bytes are the closing brace and a newline.
        let half = &text[..length.min(text.len() - 2)];
        match State::read(Source::Bytes(half), VERSION) {
            Err(StateError::Json { column, .. }) => prop_assert!(column <= half.len()),
            other => prop_assert!(false, "{:?}", other.map(|state| describe_copies(&state))),
        }
    }
}
