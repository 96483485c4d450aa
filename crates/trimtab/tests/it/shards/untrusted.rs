//! Invalid or contradictory input, and how it is reported.

use super::{document, file, files, nodes, shards, single_line, state, with_files};
use crate::support::{stderr, stdout};
use bounded_http::testing::{Answer, Server};
use serde_json::{Value, json};
use std::process::{Command, Output};

fn refusal(args: &[&str]) -> String {
    let output = shards(args);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    stderr(&output)
}

fn warnings(document: &Value) -> String {
    document["warnings"].to_string()
}

/// Returns node stats with these versions.
fn nodes_with_versions(versions: [&str; 3]) -> Value {
    let mut nodes = nodes(40);
    for (id, version) in ["a", "b", "c"].into_iter().zip(versions) {
        nodes["nodes"][id]["version"] = json!(version);
    }
    nodes
}

#[test]
fn the_version_is_taken_from_the_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let state = file(directory.path(), "state.json", &state());
    let answer = |versions, more: &[&str]| {
        let nodes = file(
            directory.path(),
            "nodes.json",
            &nodes_with_versions(versions),
        );
        let mut args = vec!["reroute", "--state", &state, "--nodes", &nodes];
        args.extend(more);
        document(&args, 0)
    };
    let one = answer(["7.17.28"; 3], &[]);
    assert_eq!(one["result"]["server"], "Elasticsearch 7.17.28");
    let text = warnings(&one);
    assert!(
        !text.contains("was not measured") && !text.contains("may decide otherwise"),
        "{text}"
    );
    let given = answer(["7.17.28"; 3], &["--version", "7.17.28"]);
    assert_eq!(one["result"]["reroute_ms"], given["result"]["reroute_ms"]);
    assert!(
        !warnings(&given).contains("--version is"),
        "{}",
        warnings(&given)
    );

    let mixed = answer(["7.6.1", "7.4.2", "7.17.28"], &[]);
    assert_eq!(mixed["result"]["server"], "Elasticsearch 7.4.2");
    let text = warnings(&mixed);
    assert!(text.contains("The nodes run 7.4.2 to 7.17.28"), "{text}");
    assert!(!text.contains("may decide otherwise"), "{text}");

    let contradicted = answer(["7.4.0"; 3], &["--version", "7.17.28"]);
    assert_eq!(contradicted["result"]["server"], "Elasticsearch 7.17.28");
    let text = warnings(&contradicted);
    assert!(
        text.contains("--version is Elasticsearch 7.17.28, but the nodes run 7.4.0"),
        "{text}"
    );

    let open = answer(["2.19.1"; 3], &[]);
    assert_eq!(open["result"]["server"], "OpenSearch 2.19.1");

    let nodes = file(
        directory.path(),
        "nodes.json",
        &nodes_with_versions(["5.6.16"; 3]),
    );
    let error = refusal(&["reroute", "--state", &state, "--nodes", &nodes]);
    assert!(
        error.contains("5.6.16 is not modelled") && error.contains("--version"),
        "{error}"
    );
}

#[test]
fn the_version_can_come_from_the_state() {
    let mut state = state();
    for id in ["a", "b", "c"] {
        state["nodes"][id]["version"] = json!("7.6.0");
    }
    let directory = tempfile::tempdir().unwrap();
    let state = file(directory.path(), "state.json", &state);
    let answer = document(&["what-if", "--state", &state], 0);
    assert_eq!(answer["result"]["before"]["server"], "Elasticsearch 7.6.0");
    let text = warnings(&answer);
    assert!(
        !text.contains("may decide otherwise") && !text.contains("assuming 7.4.0"),
        "{text}"
    );
}

#[test]
fn opensearch_with_a_compatibility_version_is_recognised_by_its_nodes() {
    let server = Server::start(|head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let body = match path.split('?').next().unwrap_or_default() {
            "/" => json!({"version": {"number": "7.10.2"}}),
            "/_cluster/state" => state(),
            "/_nodes" | "/_nodes/stats/fs" => nodes_with_versions(["2.19.1"; 3]),
            "/_stats/store" => json!({"indices": {}}),
            _ => json!({"persistent": {}}),
        };
        Answer::ok(&body.to_string())
    });
    let answer = document(&["reroute", "--state", &server.url("/")], 0);
    assert_eq!(answer["result"]["server"], "OpenSearch 2.19.1");
}

#[test]
fn closed_indices_outside_the_routing_table_cost_nothing() {
    let mut with_closed = state();
    with_closed["metadata"]["indices"]["old"] = json!({"state": "close", "settings": {"index": {
        "number_of_shards": "1", "number_of_replicas": "2147483647"}}, "in_sync_allocations": {}});
    let plain = files(&state(), 40);
    let closed = files(&with_closed, 40);
    for (command, pointer) in [
        ("reroute", "/result/reroute_ms"),
        ("what-if", "/result/before/reroute_ms"),
    ] {
        let ms = |files| {
            let answer = document(&with_files(files, command, &[]), 0);
            answer
                .pointer(pointer)
                .and_then(Value::as_f64)
                .expect("milliseconds")
        };
        // One more index name, but no more shards.
        let (without, with) = (ms(&plain), ms(&closed));
        assert!(
            (without - with).abs() <= 1e-9,
            "{command}: {without} and {with} ms"
        );
    }
}

#[test]
fn endless_devices_are_read_as_streams() {
    let directory = tempfile::tempdir().unwrap();
    let state = file(directory.path(), "state.json", &state());
    for args in [
        vec!["--state", "/dev/zero"],
        vec!["--state", &state, "--nodes", "/dev/zero"],
        vec!["--state", &state, "--sizes", "/dev/zero"],
        vec!["--state", &state, "--settings", "/dev/zero"],
    ] {
        let output: Output = Command::new("sh")
            .args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_trimtab"))
            .args(["shards", "reroute"])
            .args(&args)
            .output()
            .unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(
            error.contains("/dev/zero: ") && error.contains("line 1"),
            "{error}"
        );
    }
}

#[test]
fn settings_without_effect_are_reported() {
    let files = files(&state(), 40);
    let key = |rest: &str| format!("cluster.routing.allocation.{rest}");
    let warnings_for = |setting: &str| {
        warnings(&document(
            &with_files(&files, "what-if", &["--set", setting]),
            0,
        ))
    };
    let unknown = key("exclud._name");
    let text = warnings_for(&format!("{unknown}=node-a"));
    assert!(
        text.contains(&unknown) && text.contains("which the model does not know"),
        "{text}"
    );
    for group in ["exclude", "include", "require"] {
        let filter = key(&format!("{group}._name"));
        let output = shards(&with_files(
            &files,
            "what-if",
            &["--set", &format!("{filter}=node-z")],
        ));
        let text = single_line(&stdout(&output));
        assert!(
            text.contains(&format!(
                "caution {filter} = node-z matches none of the data nodes"
            )),
            "{text}"
        );
    }
    let matching = warnings_for(&format!("{}=node-z,node-a", key("exclude._name")));
    assert!(!matching.contains("matches none"), "{matching}");
    let taken_back = warnings_for(&format!("{}=", key("exclude._name")));
    assert!(!taken_back.contains("matches none"), "{taken_back}");
    let args = [
        "--add-node",
        "d:zone=z",
        "--set",
        "cluster.routing.allocation.exclude.zone=z",
    ];
    let added = warnings(&document(&with_files(&files, "what-if", &args), 0));
    assert!(!added.contains("matches none"), "{added}");
}

#[test]
fn errors_name_the_request_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let state = file(path, "state.json", &state());
    let error = json!({"error": {"type": "security_exception", "reason": "missing credentials"}, "status": 401});
    let error = file(path, "error.json", &error);
    let broken = path.join("broken.json");
    std::fs::write(&broken, "{\"nodes\": ]").unwrap();
    let broken = broken.to_str().unwrap();
    for (option, request) in [
        ("--state", "GET _cluster/state"),
        ("--nodes", "GET _nodes/stats"),
        ("--sizes", "GET _stats?level=shards"),
        ("--settings", "GET _cluster/settings"),
    ] {
        let args = |input| match option {
            "--state" => vec!["reroute", option, input],
            _ => vec!["reroute", "--state", &state, option, input],
        };
        let answered = refusal(&args(&error));
        for part in [
            "error.json",
            "status 401",
            "security_exception: missing credentials",
            request,
        ] {
            assert!(
                answered.contains(part),
                "{option}: {part:?} is not in {answered}"
            );
        }
        // The settings parser ignores unknown keys, but not broken JSON.
        let text = refusal(&args(broken));
        assert!(
            text.contains("broken.json") && text.contains(request),
            "{option}: {text}"
        );
        let zipped = path.join("zipped.gz");
        std::fs::write(&zipped, b"\x1f\x8b\x08\0").unwrap();
        let text = refusal(&args(zipped.to_str().unwrap()));
        assert!(
            text.contains("gzip") && text.contains("gunzip") && text.contains(request),
            "{text}"
        );
    }
}

#[test]
fn inconsistent_copies_are_reported_with_their_file() {
    // An unassigned copy without a reason: detected when nodes are filled.
    let mut broken = state();
    let copy = &mut broken["routing_table"]["indices"]["new"]["shards"]["0"][0];
    copy.as_object_mut().unwrap().remove("unassigned_info");
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "state.json", &broken);
    for command in ["reroute", "what-if"] {
        let error = refusal(&[command, "--state", &path]);
        for part in ["state.json: ", "[new][0]", "GET _cluster/state"] {
            assert!(
                error.contains(part),
                "{command}: {part:?} is not in {error}"
            );
        }
    }
}

#[test]
fn control_characters_in_names_are_escaped() {
    let error = refusal(&["reroute", "--state", "/nonexistent/\u{1b}[31m\u{202e}"]);
    assert!(
        error.contains("/nonexistent/\\u{1b}[31m\\u{202e}"),
        "{error}"
    );
    let text = state().to_string().replace("\"new\"", "\"n\u{202e}ew\"");
    let files = files(&serde_json::from_str(&text).unwrap(), 40);
    let text = stdout(&shards(&with_files(&files, "reroute", &[])));
    assert!(
        text.contains("[n\\u{202e}ew][0]") && !text.contains('\u{202e}'),
        "{text}"
    );
}

#[test]
fn duplicate_node_attributes_are_refused() {
    let files = files(&state(), 40);
    for (node, key) in [
        ("n5:zone=b,zone=c", "zone"),
        ("n5:disk=1TB,disk=2TB", "disk"),
    ] {
        let error = refusal(&with_files(&files, "what-if", &["--add-node", node]));
        assert!(error.contains(&format!("{key} is given twice")), "{error}");
    }
}
