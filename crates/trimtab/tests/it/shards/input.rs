//! Input sources and output formats of `trimtab shards`.

use super::{document, file, files, nodes, shards, state, with_files};
use crate::support::{stderr, stdout, trimtab};
use bounded_http::testing::{Answer, Server};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn missing_input_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let state = file(directory.path(), "state.json", &state());
    let warnings = document(&["reroute", "--state", &state], 0)["warnings"].to_string();
    for part in [
        "assuming 7.4.0",
        "roles of 3 nodes",
        "Disk usage is unknown",
        "Shard sizes are unknown",
    ] {
        assert!(warnings.contains(part), "{part:?} is not in {warnings}");
    }
}

#[test]
fn bad_input_is_reported_with_its_position() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.json");
    let refusal = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = shards(&["reroute", "--state", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let error = refusal("{\"nodes\": {},\n \"metadata\": ]}");
    assert!(
        error.contains("state.json") && error.contains("line 2, column 14"),
        "{error}"
    );
    let mut broken = state();
    broken["routing_table"]["indices"]["logs"]["shards"]["0"][0]["node"] = json!("z");
    let error = refusal(&broken.to_string());
    assert!(
        error.contains("[logs][0]") && error.contains("node z"),
        "{error}"
    );
    let output = shards(&["reroute", "--state", "/nonexistent/state.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent/state.json"));
}

#[test]
fn the_state_is_read_from_standard_input() {
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
fn answers_match_the_schema_and_damaged_ones_do_not() {
    let schema: Value = serde_json::from_str(&stdout(&shards(&["--schema"]))).unwrap();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    let files = files(&state(), 92);
    for (args, pointer, field) in [
        (
            vec![
                "cost",
                "--shards",
                "1000",
                "--nodes",
                "3",
                "--version",
                "7.4.0",
            ],
            "/result/operations/0/least",
            "ms",
        ),
        (
            with_files(&files, "reroute", &[]),
            "/result/decisions/0",
            "why",
        ),
        (
            with_files(&files, "what-if", &["--add-node", "d"]),
            "/result/after",
            "reroute_ms",
        ),
    ] {
        let mut all = args.clone();
        all.extend(["--format", "json"]);
        let output = shards(&all);
        let mut answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let errors: Vec<String> = validator
            .iter_errors(&answer)
            .map(|error| format!("{error}"))
            .collect();
        assert!(errors.is_empty(), "{args:?}: {errors:?}");
        answer
            .pointer_mut(pointer)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(field)
            .expect(field);
        assert!(!validator.is_valid(&answer), "{args:?} without {field}");
    }
}

#[test]
fn a_url_supplies_all_inputs() {
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
    // Missing data is reported, not guessed.
    assert!(
        answer["warnings"].to_string().contains("_cluster/settings"),
        "{}",
        answer["warnings"]
    );
}
