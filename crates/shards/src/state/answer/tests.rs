use crate::model::{Cluster, Version};
use crate::small_cluster::node;
use crate::state::{Source, State, StateError};
use serde_json::{Value, json};
use std::io::BufReader;

const VERSION: Version = Version::release(7, 4, 0);

/// Two nodes, one on 7.6.1; an index with a copy on the other.
fn state() -> Value {
    json!({
        "nodes": {"a": {"name": "alpha"}, "b": {"name": "beta", "version": "7.6.1"}},
        "metadata": {"indices": {"logs": {"state": "open", "settings": {"index": {
            "number_of_shards": "1", "number_of_replicas": "0"}}, "in_sync_allocations": {"0": ["p"]}}}},
        "routing_table": {"indices": {"logs": {"shards": {"0": [{"state": "STARTED", "primary": true,
            "node": "a", "relocating_node": null, "shard": 0, "index": "logs",
            "allocation_id": {"id": "p"}}]}}}},
    })
}

fn read(value: &Value) -> State {
    State::read(Source::Bytes(value.to_string().as_bytes()), VERSION).expect("a state")
}

/// The error, which must be the same from memory and from a stream, except for the column: the parser
/// looks ahead.
fn refused(bytes: &[u8]) -> StateError {
    let error = State::read(Source::Bytes(bytes), VERSION).expect_err("no state");
    let mut stream = BufReader::new(bytes);
    let streamed = State::read(Source::Stream(&mut stream), VERSION).expect_err("no state");
    let without_place = |error: &StateError| match error {
        StateError::Json { problem, .. } => problem.clone(),
        other => other.to_string(),
    };
    assert_eq!(without_place(&error), without_place(&streamed));
    error
}

#[test]
fn what_is_saved_by_mistake_is_named() {
    for (bytes, expected) in [
        (&b"\x1f\x8b\x08\0rest"[..], "gzip data"),
        (b"\n <!DOCTYPE html><html>", "HTML or XML"),
    ] {
        let StateError::NotJson { found, .. } = refused(bytes) else {
            panic!("{expected} was not seen");
        };
        assert_eq!(found, expected);
    }
    for bytes in [&b""[..], b"\xef\xbb\xbf{}", b"--- a: b"] {
        assert!(matches!(refused(bytes), StateError::Json { .. }));
    }
}

#[test]
fn a_stream_is_read_from_its_first_byte() {
    let text = state().to_string();
    let mut stream = BufReader::with_capacity(1, text.as_bytes());
    let streamed = State::read(Source::Stream(&mut stream), VERSION).expect("a state");
    let copies = |cluster: &Cluster| cluster.routing.copies().count();
    assert_eq!(copies(&streamed.cluster), copies(&read(&state()).cluster));
    let broken = format!("{}]", " ".repeat(100));
    let mut stream = BufReader::with_capacity(1, broken.as_bytes());
    let error = State::read(Source::Stream(&mut stream), VERSION).expect_err("no state");
    let is_located = matches!(error, StateError::Json { column: 101, .. });
    assert!(is_located, "{error}");
}

#[test]
fn server_errors_are_reported_as_such() {
    let body = json!({"error": {"root_cause": [{"type": "x"}], "type": "security_exception",
        "reason": "missing\u{1b} authentication\u{202e} credentials", "header": {"a": ["b"]}}, "status": 401});
    let bytes = body.to_string();
    let text = refused(bytes.as_bytes()).to_string();
    for part in [
        "status 401",
        "security_exception",
        "missing\\u{1b} authentication\\u{202e} cred",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    for body in [
        r#"{"error": "no handler found"}"#,
        r#"{"status": 500, "error": "no handler found"}"#,
    ] {
        assert!(
            refused(body.as_bytes())
                .to_string()
                .contains("no handler found")
        );
    }
    let long = json!({"error": {"type": "t", "reason": "x".repeat(100_000)}}).to_string();
    assert!(refused(long.as_bytes()).to_string().len() < 500);
    let mut read = read(&state());
    for error in [
        read.read_nodes(Source::Bytes(bytes.as_bytes())),
        read.read_sizes(Source::Bytes(bytes.as_bytes())),
        read.read_settings(Source::Bytes(bytes.as_bytes())),
    ] {
        let error = error.expect_err("an error of the server");
        assert!(matches!(error, StateError::ErrorAnswer { .. }), "{error}");
    }
}

#[test]
fn duplicate_parts_are_rejected() {
    for part in ["nodes", "metadata", "routing_table"] {
        let text = state().to_string();
        let value = state()[part].to_string();
        let twice = format!("{},\"{part}\":{value}}}", &text[..text.len() - 1]);
        let error = refused(twice.as_bytes()).to_string();
        assert!(error.contains(&format!("{part} is there twice")), "{error}");
    }
    let mut read = read(&state());
    let nodes = br#"{"nodes": {}, "nodes": {}}"#;
    let error = read.read_nodes(Source::Bytes(nodes)).expect_err("twice");
    assert!(
        error.to_string().contains("nodes is there twice"),
        "{error}"
    );
    let sizes = br#"{"indices": {}, "indices": {}}"#;
    let error = read.read_sizes(Source::Bytes(sizes)).expect_err("twice");
    assert!(
        error.to_string().contains("indices is there twice"),
        "{error}"
    );
    let settings = br#"{"persistent": {}, "transient": {}, "persistent": {}}"#;
    let error = read
        .read_settings(Source::Bytes(settings))
        .expect_err("twice");
    assert!(
        error.to_string().contains("persistent is there twice"),
        "{error}"
    );
}

#[test]
fn settings_are_an_object() {
    let mut read = read(&state());
    for value in ["5", "-5", "0.5", "true", "\"x\"", "[]"] {
        let text = format!("{{\"persistent\": {value}}}");
        let error = read
            .read_settings(Source::Bytes(text.as_bytes()))
            .expect_err(value);
        assert!(
            error.to_string().contains("an object, flat or nested"),
            "{error}"
        );
    }
    let null = br#"{"persistent": null, "transient": {}}"#;
    read.read_settings(Source::Bytes(null))
        .expect("nothing set");
}

#[test]
fn problems_are_described_in_terms_of_json() {
    let copy = "/routing_table/indices/logs/shards/0/0";
    for (pointer, value, expected) in [
        (
            "/allocation_id",
            json!(5),
            "expected an allocation id: an object with id, found 5",
        ),
        (
            "/shard",
            json!("x"),
            "expected a whole number from 0 to 4294967295, found string \"x\"",
        ),
        (
            "/shard",
            json!(-1),
            "expected a whole number from 0 to 4294967295, found -1",
        ),
        (
            "/primary",
            json!({}),
            "expected true or false, found an object",
        ),
        (
            "/primary",
            json!(", expected u32"),
            "found string \", expected u32\"",
        ),
        ("/state", json!([]), "expected a string, found an array"),
    ] {
        let mut broken = state();
        *broken.pointer_mut(&format!("{copy}{pointer}")).unwrap() = value;
        let error = refused(broken.to_string().as_bytes()).to_string();
        assert!(error.contains(expected), "{expected:?} is not in {error}");
    }
}

fn disk(total: i64, available: i64) -> String {
    json!({"nodes": {"a": {"fs": {"data": [{"path": "/d\u{1b}", "total_in_bytes": total,
        "available_in_bytes": available}]}}}})
    .to_string()
}

#[test]
fn invalid_disks_are_rejected_and_unknown_ones_noted() {
    for (total, available) in [(100, 101), (0, 5), (-1, 5)] {
        let text = disk(total, available);
        let error = read(&state()).read_nodes(Source::Bytes(text.as_bytes()));
        let error = error.expect_err("a disk that cannot be").to_string();
        let expected = format!("disk /d\\u{{1b}} has {available} bytes available of {total}");
        assert!(error.contains(&expected), "{error}");
    }
    for (total, known) in [(0, true), (-1, false)] {
        let mut state = read(&state());
        state
            .read_nodes(Source::Bytes(disk(total, total).as_bytes()))
            .expect("nodes");
        let warnings = state.warnings.join("\n");
        assert!(
            warnings.contains(&format!("node alpha has {total} bytes")),
            "{warnings}"
        );
        let info = state.cluster.info.expect("disks");
        assert_eq!(!info.least.is_empty(), known);
    }
}

#[test]
fn known_versions_are_those_reported() {
    let mut state = read(&state());
    let seven_six = Version::release(7, 6, 1);
    assert_eq!(state.known_versions(), Some((seven_six, seven_six)));
    state.assume_version(Version::release(6, 8, 0));
    let version = |state: &State, id| {
        let cluster = &state.cluster;
        cluster.node(node(cluster, id)).version
    };
    assert_eq!(version(&state, "a"), Version::release(6, 8, 0));
    assert_eq!(version(&state, "b"), seven_six);
    let nodes = br#"{"nodes": {"a": {"version": "7.17.28"}}}"#;
    state.read_nodes(Source::Bytes(nodes)).expect("nodes");
    state.assume_version(VERSION);
    assert_eq!(
        state.known_versions(),
        Some((seven_six, Version::release(7, 17, 28)))
    );
}
