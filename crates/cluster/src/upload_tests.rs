use crate::{Upload, UploadError, UploadIndices, Uploaded};
use bounded_http::testing::{Answer, Server};
use bounded_http::{Client, Options};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What a cluster says of its health.
macro_rules! health {
    ($status:literal, $tasks:literal, $timed_out:literal) => {
        concat!(
            r#"{"cluster_name":"logs","status":""#,
            $status,
            r#"","timed_out":"#,
            $timed_out,
            r#","number_of_nodes":3,"number_of_pending_tasks":"#,
            $tasks,
            r#","initializing_shards":0,"relocating_shards":0,"unassigned_shards":0}"#
        )
    };
}

const TEMPLATE: &str = r#"{"template":{"settings":{"index":{"number_of_shards":1}},
    "mappings":{"_meta":{"trimtab_version":2},"properties":{"a":{"type":"keyword"}}}}}"#;
const ROOT: &str = r#"{"cluster_name":"logs","version":{"number":"8.19.1"}}"#;
const GREEN: &str = health!("green", 0, false);

/// Starts a server; `bulk` answers the documents, `mapping` and `health` the questions before.
fn server(
    mapping: (u16, &'static str),
    health: &'static str,
    bulk: impl Fn(&str) -> Answer + Send + Sync + 'static,
) -> Server {
    Server::start(move |request| match request.split(' ').nth(1) {
        Some("/") => Answer::ok(ROOT),
        Some(path) if path.starts_with("/_cluster/health") => Answer::ok(health),
        Some(path) if path.starts_with("/_bulk") => bulk(request),
        Some(_) if request.starts_with("GET") => {
            Answer::Body(mapping.0, mapping.1.as_bytes().to_vec())
        }
        _ => Answer::ok(r#"{"acknowledged":true}"#),
    })
}

fn upload(server: &Server, actions: &[&str]) -> Result<Uploaded, UploadError> {
    let client = Client::new(Options::default()).unwrap();
    let endpoint = server.endpoint();
    let indices = UploadIndices {
        names: &["trimtab-findings"],
        template: TEMPLATE,
    };
    let pause = |_: Duration| ();
    let mut upload = Upload::begin(&client, &endpoint, indices, &pause)?;
    for action in actions {
        upload.push(action)?;
    }
    upload.finish()
}

fn requests(server: &Server) -> Vec<String> {
    let first_line = |request: &String| {
        let mut words = request.split([' ', '?']);
        format!(
            "{} {}",
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default()
        )
    };
    server.requests().iter().map(first_line).collect()
}

#[test]
fn a_missing_index_is_made_as_the_template_says_and_documents_are_counted() {
    let server = server((404, "{}"), GREEN, |_| {
        Answer::ok(
            r#"{"errors":false,"items":[{"index":{"_id":"a","status":201,"result":"created"}},
            {"update":{"_id":"b","status":200,"result":"noop"}},
            {"update":{"_id":"c","status":200,"result":"updated"}},
            {"delete":{"_id":"d","status":404,"result":"not_found"}},
            {"delete":{"_id":"e","status":200,"result":"deleted"}}]}"#,
        )
    });
    let uploaded = upload(&server, &["{\"index\":{}}\n{}\n", "{\"delete\":{}}\n"]).unwrap();
    let expected = Uploaded {
        created: 1,
        updated: 1,
        deleted: 1,
        unchanged: 2,
    };
    assert_eq!(uploaded, expected);
    assert_eq!(
        requests(&server),
        [
            "GET /",
            "GET /trimtab-findings/_mapping",
            "GET /_cluster/health",
            "PUT /trimtab-findings",
            "POST /_bulk"
        ]
    );
    let all = server.requests();
    assert!(all[3].contains("\"number_of_shards\":1") && all[3].contains("\"trimtab_version\":2"));
    assert!(all[4].ends_with("{\"index\":{}}\n{}\n{\"delete\":{}}\n"));
    let head = all[4].to_ascii_lowercase();
    assert!(head.contains("content-type: application/x-ndjson"));
}

#[test]
fn no_index_is_made_in_a_cluster_that_is_red_or_has_tasks_waiting() {
    let red = health!("red", 0, false);
    let busy = health!("yellow", 12, false);
    let headless = health!("green", 0, true);
    let silent = health!("green", "null", false);
    for (health, words) in [
        (red, "is red"),
        (busy, "12 tasks waiting"),
        (silent, "does not say how many tasks wait"),
        (headless, "no master"),
    ] {
        let server = server((404, "{}"), health, |_| panic!("nothing may be sent"));
        let error = upload(&server, &["{}\n"]).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!requests(&server).iter().any(|line| line.starts_with('P')));
        let old = r#"{"trimtab-findings":{"mappings":{}}}"#;
        let server = self::server((200, old), health, |_| panic!("nothing may be sent"));
        assert!(upload(&server, &["{}\n"]).is_err());
    }
    // What is there is written to.
    let there = r#"{"trimtab-findings":{"mappings":{"_meta":{"trimtab_version":2}}}}"#;
    let server = server((200, there), red, |_| Answer::ok(r#"{"items":[]}"#));
    upload(&server, &["{}\n"]).unwrap();
}

#[test]
fn an_older_mapping_is_extended_and_a_newer_one_left_alone() {
    for (version, is_put) in [(1, true), (2, false), (3, false)] {
        let mapping = format!(
            r#"{{"trimtab-findings":{{"mappings":{{"_meta":{{"trimtab_version":{version}}}}}}}}}"#
        );
        let server = server((200, mapping.leak()), GREEN, |_| {
            Answer::ok(r#"{"items":[]}"#)
        });
        upload(&server, &["{}\n"]).unwrap();
        let put = "PUT /trimtab-findings/_mapping".to_owned();
        assert_eq!(requests(&server).contains(&put), is_put, "{version}");
    }
}

#[test]
fn many_actions_are_sent_in_several_requests_and_none_is_split() {
    let there = r#"{"trimtab-findings":{"mappings":{"_meta":{"trimtab_version":2}}}}"#;
    let server = server((200, there), GREEN, |_| Answer::ok(r#"{"items":[]}"#));
    let action = format!("{{\"index\":{{}}}}\n\"{}\"\n", "x".repeat(1 << 20));
    upload(&server, &[&*action; 9]).unwrap();
    let sent: Vec<usize> = server
        .requests()
        .iter()
        .filter(|request| request.starts_with("POST"))
        .map(|request| request.matches("{\"index\":{}}\n").count())
        .collect();
    assert_eq!(sent, [3, 3, 3]);
}

#[test]
fn refusals_are_told_and_a_busy_server_is_asked_again() {
    let there = r#"{"trimtab-findings":{"mappings":{"_meta":{"trimtab_version":2}}}}"#;
    let refusing = server((200, there), GREEN, |_| {
        Answer::ok(
            r#"{"errors":true,"items":[{"update":{"_id":"host:db1/TRIM001","status":400,
            "error":{"type":"mapper_parsing_exception","reason":"no"}}},
            {"index":{"_id":"b","status":201,"result":"created"}}]}"#,
        )
    });
    let error = upload(&refusing, &["{}\n"]).unwrap_err().to_string();
    assert!(error.contains("1 of 2 documents refused"), "{error}");
    assert!(error.contains("host:db1/TRIM001") && error.contains("mapper_parsing_exception: no"));

    let asked = AtomicU32::new(0);
    let busy = server((200, there), GREEN, move |_| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Answer::Body(429, b"{}".to_vec()),
            1 => Answer::ok(
                r#"{"errors":true,"items":[{"index":{"_id":"b","status":429,
                "error":{"type":"es_rejected_execution_exception","reason":"full"}}}]}"#,
            ),
            _ => Answer::ok(r#"{"items":[{"index":{"_id":"b","status":201,"result":"created"}}]}"#),
        }
    });
    assert_eq!(upload(&busy, &["{}\n"]).unwrap().created, 1);

    let full = server((200, there), GREEN, |_| Answer::Body(429, b"{}".to_vec()));
    let error = upload(&full, &["{}\n"]).unwrap_err();
    assert!(matches!(error, UploadError::Busy { .. }), "{error}");
}

#[test]
fn servers_that_take_no_such_documents_are_refused() {
    let old = Server::start(|_| Answer::ok(r#"{"version":{"number":"6.8.23"}}"#));
    let error = upload(&old, &["{}\n"]).unwrap_err().to_string();
    assert!(error.contains("Elasticsearch 6.8.23"), "{error}");
    let denied = server((403, "{}"), GREEN, |_| Answer::ok("{}"));
    let error = upload(&denied, &["{}\n"]).unwrap_err();
    assert!(error.hint().contains("view_index_metadata"), "{error}");
    let other = Server::start(|_| Answer::ok("<html>"));
    assert!(upload(&other, &["{}\n"]).is_err());
}
