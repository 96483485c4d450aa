//! Failing servers, each with its outcome: an error if nothing can be learned, otherwise facts with
//! a gap and a reason.

use crate::play::{PAGES, ask, ask_with, healthy, limits, missing, play, play_tls, play_with};
use bounded_http::testing::{Answer, Authority, Server};
use bounded_http::{Credentials, Endpoint, ErrorKind, Secret, TlsFault};
use cluster::{AskError, Part};
use facts::cluster::{SettingOrigin, SettingValue};
use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

/// An error response in the format of both products.
fn exception(status: u16, kind: &str) -> Answer {
    let body = format!(
        r#"{{"error":{{"root_cause":[],"type":"{kind}",
        "reason":"action is unauthorized for user [hunter2]"}},"status":{status}}}"#
    );
    Answer::Body(status, body.into_bytes())
}

fn http_kind(error: AskError) -> ErrorKind {
    match error {
        AskError::Http(error) => error.kind,
        other @ AskError::OtherServer { .. } => panic!("{other}"),
    }
}

#[test]
fn a_healthy_cluster_has_no_gap() {
    let server = play(healthy());
    let answers = ask(&server).expect("answers");
    assert_eq!(missing(&answers), []);
    let cluster = answers.facts().expect("facts");
    assert_eq!(cluster.skipped, []);
    assert_eq!(cluster.version.to_string(), "7.4.2");
    assert_eq!(cluster.master_node().expect("a master").name, "n1");
    let indices = cluster.indices.clone().expect("indices");
    assert_eq!((indices.open, indices.closed), (1, 1));
    assert_eq!(indices.closed_in_routing_table, Some(1));
    assert_eq!(indices.closed_shards_configured, 2);
    let nodes = cluster.nodes.as_deref().expect("nodes");
    assert_eq!(nodes[0].shards, Some(2));
    assert_eq!(nodes[0].disk_available_bytes, Some(40));
    assert!(nodes[0].master_eligible && !nodes[1].master_eligible);
    // A filesystem that the JVM could not read.
    assert_eq!(nodes[1].disk_total_bytes, None);
    assert_eq!(cluster.master_threads.expect("threads").threads, []);
}

#[test]
fn only_gets_are_sent() {
    let server = play(healthy());
    ask(&server).expect("answers");
    let requests = server.requests();
    assert_eq!(requests.len(), PAGES.len());
    for head in &requests {
        assert!(head.starts_with("GET /"), "{head}");
        let target = head.split(' ').nth(1).expect("a target");
        assert!(
            !target.contains("mapping") && !target.contains("metadata"),
            "{target}"
        );
    }
}

#[test]
fn settings_have_their_origin() {
    let server = play(healthy());
    let cluster = ask(&server).expect("answers").facts().expect("facts");
    let settings = cluster.settings.expect("settings");
    let found = |key: &str| {
        let setting = settings.get(key).expect(key);
        (setting.value.clone(), setting.origin)
    };
    let one = |text: &str| SettingValue::One(text.to_owned());
    assert_eq!(
        found("cluster.routing.allocation.enable"),
        (one("all"), SettingOrigin::Transient)
    );
    assert_eq!(
        found("cluster.routing.allocation.node_concurrent_recoveries"),
        (one("4"), SettingOrigin::NodeFile)
    );
    assert_eq!(
        found("cluster.routing.rebalance.enable"),
        (one("all"), SettingOrigin::Default)
    );
}

#[test]
fn each_forbidden_part_is_a_gap() {
    for page in PAGES {
        let server = play_with(page, exception(403, "security_exception"));
        let answers = ask(&server).unwrap_or_else(|error| panic!("{page}: {error}"));
        let missing = missing(&answers);
        assert_eq!(missing.len(), 1, "{page}: {missing:?}");
        let (part, why) = &missing[0];
        let expected = if ["open", "closed"].contains(&page) {
            "indices"
        } else {
            page
        };
        assert_eq!(*part, expected);
        assert!(why.ends_with("status 403 (security_exception)"), "{why}");
        assert!(!why.contains("hunter2"), "{why}");
        let cluster = answers.facts().expect("facts");
        assert_eq!(cluster.skipped.len(), 1, "{page}");
        let needs = cluster.skipped[0].needs.as_deref().expect("a way out");
        assert!(needs.contains("monitor"), "{needs}");
        assert_eq!(cluster.version.to_string(), "7.4.2");
    }
}

#[test]
fn rejected_credentials_are_an_error() {
    let server = play_with("root", exception(401, "security_exception"));
    let error = ask(&server).expect_err("no answers");
    assert!(error.hint().contains("TRIMTAB_USER"), "{}", error.hint());
    let message = error.to_string();
    assert!(
        message.ends_with("status 401: security_exception"),
        "{message}"
    );
    assert!(
        matches!(http_kind(error), ErrorKind::Status { code: 401, .. }),
        "status 401"
    );
    assert_eq!(server.requests().len(), 1);

    // Servers other than Elasticsearch may echo what was sent.
    for status in [401, 400, 502] {
        let echo = Answer::Body(status, b"Authorization: ApiKey hunter2".to_vec());
        let server = Server::start(move |_| echo.clone());
        let error = ask(&server).expect_err("no answers");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn credentials_are_sent_but_never_saved() {
    let server = play(healthy());
    let options = bounded_http::Options {
        credentials: Credentials::ApiKey(Secret::new("hunter2".to_owned())),
        ..limits()
    };
    let answers = ask_with(options, &server.endpoint()).expect("answers");
    for head in server.requests() {
        assert!(
            head.to_lowercase().contains("\r\nauthorization: apikey "),
            "{head}"
        );
    }
    let json = String::from_utf8(answers.to_json().expect("JSON")).expect("text");
    assert!(!json.contains("hunter2") && !format!("{answers:?}").contains("hunter2"));
}

#[test]
fn without_a_usable_response_there_is_an_error() {
    let html = "<!DOCTYPE html><html><body>Welcome</body></html>";
    for (answer, found) in [
        (Answer::ok(html), "HTML or XML"),
        (Answer::ok(""), "an empty answer"),
        (Answer::ok(r#"{"hello":"world"}"#), "unexpected JSON"),
        (Answer::ok("[1, 2]"), "unexpected JSON"),
        (Answer::ok("{\"version\":{"), "half an answer"),
        (Answer::Body(502, html.into()), "status 502"),
        (Answer::Body(404, Vec::new()), "status 404"),
        (
            Answer::Redirect("/login?next=secret".to_owned()),
            "points to /login",
        ),
        (Answer::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), "not HTTP"),
        (
            Answer::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"ver".to_vec()),
            "closed the connection before",
        ),
        (Answer::Endless, "longer than 1048576 bytes"),
    ] {
        let all = PAGES
            .into_iter()
            .map(|page| (page, answer.clone()))
            .collect();
        let server = play(all);
        let error = ask(&server).expect_err(found);
        assert!(error.to_string().contains(found), "{error}");
        assert!(!error.hint().is_empty());
        // It gave up at once, or after the one other page that may contain a version.
        assert!(server.requests().len() <= 2, "{found}");
    }
}

#[test]
fn a_refused_connection_is_an_error() {
    // Not a port that was free a moment ago: another test's server may have it by now. Port 1 is
    // never assigned to a server that asks for any free port.
    let endpoint = Endpoint::parse("http://127.0.0.1:1").expect("a URL");
    let error = ask_with(limits(), &endpoint).expect_err("nobody");
    assert!(error.hint().contains("listens"), "{}", error.hint());
    assert!(matches!(http_kind(error), ErrorKind::Refused), "refused");
}

#[test]
fn without_a_root_page_the_version_comes_from_the_nodes() {
    // Like Elasticsearch 8.11 test builds: 405 at `/`.
    let server = play_with("root", Answer::Body(405, Vec::new()));
    let cluster = ask(&server).expect("answers").facts().expect("facts");
    assert_eq!(cluster.version.to_string(), "7.4.2");
    assert_eq!(cluster.name.as_deref(), Some("made-up"));
    assert_eq!(cluster.skipped.len(), 1);
}

#[test]
fn truncated_responses_html_and_partial_failures_are_gaps() {
    for (answer, found) in [
        (Answer::ok("{\"nodes\":{\"A\":{\"na"), "half an answer"),
        (Answer::ok("<html>"), "HTML or XML"),
        (Answer::ok("\"text\""), "unexpected JSON at line 1 column 6"),
        (Answer::ok(""), "an empty answer"),
        (Answer::Body(503, b"x".to_vec()), "status 503"),
        (Answer::Body(429, Vec::new()), "status 429"),
        (Answer::Endless, "longer than 1048576 bytes"),
        (
            Answer::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{".to_vec()),
            "closed the connection before",
        ),
        (Answer::Raw(b"\x16\x03\x01\x00\xa5".to_vec()), "not HTTP"),
    ] {
        for page in [
            "nodes",
            "node_stats",
            "open",
            "state",
            "health",
            "pending_tasks",
            "settings",
        ] {
            let server = play_with(page, answer.clone());
            let answers = ask(&server).unwrap_or_else(|error| panic!("{page}: {error}"));
            let missing = missing(&answers);
            assert_eq!(missing.len(), 1, "{page}: {missing:?}");
            assert!(missing[0].1.contains(found), "{page}: {missing:?}");
            assert_eq!(answers.facts().expect("facts").skipped.len(), 1);
        }
    }
}

#[test]
fn closed_indices_are_known_without_open_ones() {
    let server = play_with("open", exception(503, "circuit_breaking_exception"));
    let cluster = ask(&server).expect("answers").facts().expect("facts");
    assert_eq!(cluster.indices, None);
    assert_eq!(cluster.shards.expect("shards").of_closed_indices, Some(1));

    let server = play_with("closed", exception(503, "circuit_breaking_exception"));
    let cluster = ask(&server).expect("answers").facts().expect("facts");
    let shards = cluster.shards.expect("shards");
    assert_eq!((shards.total, shards.of_closed_indices), (3, None));
}

#[test]
fn an_endless_body_is_a_gap() {
    let mut answers = healthy();
    // The body never ends.
    answers.insert("state", Answer::Endless);
    let server = play(answers);
    let answers = ask(&server).expect("answers");
    let missing = missing(&answers);
    assert_eq!(missing.len(), 1);
    assert_eq!(
        missing[0].1,
        "GET /_cluster/state/master_node,routing_table: the answer is longer than 1048576 bytes"
    );
}

#[test]
fn a_slow_server_is_awaited_but_not_forever() {
    let quick = bounded_http::Options {
        deadline: Duration::from_millis(400),
        ..limits()
    };
    // Slow, but within the deadline.
    let mut answers = healthy();
    let slow = Answer::Slow(
        Duration::from_millis(20),
        Box::new(answers["state"].clone()),
    );
    answers.insert("state", slow);
    let server = play(answers);
    assert_eq!(missing(&ask(&server).expect("answers")), []);

    // One page never completes: a gap.
    for answer in [Answer::Silence, Answer::Drip(Duration::from_millis(10))] {
        let server = play_with("pending_tasks", answer);
        let answers = ask_with(quick.clone(), &server.endpoint()).expect("answers");
        let missing = missing(&answers);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(
            missing[0].1.contains("not done within 400ms"),
            "{missing:?}"
        );
    }

    // No response after the first two: two timeouts, not ten.
    let mut answers = healthy();
    for page in &PAGES[2..] {
        answers.insert(page, Answer::Silence);
    }
    let server = play(answers);
    let answers = ask_with(quick.clone(), &server.endpoint()).expect("answers");
    let missing = missing(&answers);
    assert_eq!(missing.len(), 7, "{missing:?}");
    assert_eq!(
        missing
            .iter()
            .filter(|(_, why)| why.contains("not asked"))
            .count(),
        5,
        "{missing:?}"
    );
    assert_eq!(server.requests().len(), 4);

    // No response at all.
    let silent = Server::start(|_| Answer::Silence);
    let error = ask_with(quick, &silent.endpoint()).expect_err("nothing");
    assert!(
        matches!(http_kind(error), ErrorKind::Timeout { .. }),
        "timeout"
    );
}

#[test]
fn without_a_master_its_pages_are_not_requested() {
    for kind in [
        "master_not_discovered_exception",
        "cluster_manager_not_discovered_exception",
    ] {
        let mut answers = healthy();
        for page in [
            "closed",
            "open",
            "state",
            "health",
            "pending_tasks",
            "settings",
        ] {
            answers.insert(page, exception(503, kind));
        }
        let server = play(answers);
        let answers = ask(&server).expect("answers");
        assert!(matches!(answers.node_stats, Part::Answer(_)));
        assert_eq!(server.requests().len(), 4, "root, nodes, stats, closed");
        for (_, why) in missing(&answers) {
            assert!(why.contains("no master is elected"), "{why}");
        }
        let cluster = answers.facts().expect("facts");
        assert_eq!(cluster.master, None);
        assert_eq!(cluster.nodes.expect("nodes").len(), 2);
    }
}

#[test]
fn nodes_that_fail_to_respond_are_counted() {
    let mut answers = healthy();
    let stats = r#"{"_nodes":{"total":3,"successful":1,"failed":2},"nodes":{}}"#;
    answers.insert("node_stats", Answer::ok(stats));
    let server = play(answers);
    let cluster = ask(&server).expect("answers").facts().expect("facts");
    assert_eq!(
        cluster.skipped[0].what,
        "cluster: disks and heaps of nodes, 2 of 3"
    );
}

#[test]
fn a_hostile_masters_id_stays_out_of_the_path() {
    for id in [
        "_all",
        "A/../../_shutdown",
        "A,B",
        "A?x",
        "",
        "a b",
        "\u{202e}",
    ] {
        let mut answers = healthy();
        let state = format!(r#"{{"master_node":"{id}"}}"#);
        answers.insert("state", Answer::ok(&state));
        let server = play(answers);
        ask(&server).expect("answers");
        let requests = server.requests();
        let last = requests.last().expect("requests");
        assert!(
            last.starts_with("GET /_nodes/_master/hot_threads?"),
            "{last}"
        );
    }
}

#[test]
fn request_parameters_depend_on_the_version() {
    for (number, distribution, hidden, timeout) in [
        ("6.8.23", "", false, "master_timeout="),
        ("7.4.2", "", false, "master_timeout="),
        ("7.17.28", "", true, "master_timeout="),
        ("8.11.0", "", true, "master_timeout="),
        ("1.3.20", "opensearch", true, "master_timeout="),
        ("2.19.1", "opensearch", true, "cluster_manager_timeout="),
    ] {
        let mut answers = healthy();
        let root =
            format!(r#"{{"version":{{"number":"{number}","distribution":"{distribution}"}}}}"#);
        answers.insert("root", Answer::ok(&root));
        let server = play(answers);
        ask(&server).expect("answers");
        let requests = server.requests();
        let settings: Vec<&String> = requests
            .iter()
            .filter(|head| head.starts_with("GET /_all/_settings/"))
            .collect();
        assert_eq!(settings.len(), 2);
        for head in settings {
            assert_eq!(head.contains(",hidden"), hidden, "{number}: {head}");
        }
        let state = requests
            .iter()
            .find(|head| head.starts_with("GET /_cluster/state/"))
            .expect("state");
        assert!(
            state.contains(&format!("?{timeout}")) || state.contains(&format!("&{timeout}")),
            "{number}: {state}"
        );
    }
}

#[test]
fn a_desired_balance_is_asked_for_where_there_is_one() {
    let balance = r#"{"stats":{"computation_active":true,"computation_submitted":9,
        "computation_executed":7,"computation_converged":0,"computation_time_in_millis":90000},
        "routing_table":{"new":{"0":{"current":[{"state":"STARTED","node_is_desired":true},
        {"state":"STARTED","node_is_desired":false}]}}}}"#;
    let of_version = |version: &str, answer: Answer| {
        let mut answers = healthy();
        let root = format!(r#"{{"name":"n1","version":{version}}}"#);
        answers.insert("root", Answer::ok(root.as_str()));
        answers.insert("desired_balance", answer);
        let server = play(answers);
        let answers = ask(&server).expect("answers");
        let requests = server.requests();
        let asked = requests.iter().find(|head| head.contains("/_internal/"));
        let fields = asked.and_then(|head| head.split(' ').nth(1)?.split_once("filter_path="));
        (answers, fields.map(|(_, fields)| fields.to_owned()))
    };
    for (version, expected) in [
        (r#"{"number":"8.5.3"}"#, None),
        (r#"{"number":"2.19.1","distribution":"opensearch"}"#, None),
        (
            r#"{"number":"8.6.0"}"#,
            Some("stats,routing_table.*.*.current.state,routing_table.*.*.current.node_is_desired"),
        ),
        // From 8.12 on it counts copies itself.
        (r#"{"number":"8.12.0"}"#, Some("stats")),
        (r#"{"number":"9.2.0"}"#, Some("stats")),
    ] {
        let (answers, fields) = of_version(version, Answer::ok(balance));
        assert_eq!(fields.as_deref(), expected, "{version}");
        let found = answers.facts().expect("facts").desired_balance;
        assert_eq!(found.is_some(), expected.is_some(), "{version}");
        if let Some(found) = found {
            assert_eq!((found.executed, found.converged), (7, 0));
            assert_eq!(found.copies.map(|copies| copies.undesired), Some(1));
        }
    }
    // What is refused, or not there, is a gap.
    for (answer, why, needs) in [
        (
            exception(403, "security_exception"),
            "status 403 (security_exception)",
            Some("the cluster privilege manage"),
        ),
        (
            exception(404, "resource_not_found_exception"),
            "status 404 (resource_not_found_exception)",
            None,
        ),
    ] {
        let (answers, _) = of_version(r#"{"number":"9.2.0"}"#, answer);
        let missing = missing(&answers);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert_eq!(missing[0].0, "desired_balance");
        assert!(missing[0].1.ends_with(why), "{missing:?}");
        let part = answers.desired_balance.as_ref().expect("asked for");
        let part = part.unanswered().expect("a gap");
        assert_eq!(part.needs.as_deref(), needs);
        let skipped = answers.facts().expect("facts").skipped;
        assert_eq!(skipped[0].what, "cluster: desired balance");
    }
}

#[test]
fn opensearch_uses_its_own_names() {
    let mut answers = healthy();
    for (page, text) in [
        (
            "root",
            r#"{"version":{"number":"7.10.2"},"tagline":"The OpenSearch Project: x"}"#,
        ),
        (
            "nodes",
            r#"{"nodes":{"A":{"name":"n1","version":"2.19.1",
                "roles":["cluster_manager","search"]}}}"#,
        ),
        ("state", r#"{"cluster_manager_node":"A"}"#),
    ] {
        answers.insert(page, Answer::ok(text));
    }
    let server = play(answers);
    let cluster = ask(&server).expect("answers").facts().expect("facts");
    // Its nodes report the version that it disguises at `/`.
    assert_eq!(cluster.flavour.label(), "OpenSearch");
    assert_eq!(cluster.version.to_string(), "2.19.1");
    let master = cluster.master_node().expect("a master");
    assert!(master.master_eligible && master.data);
}

#[test]
fn tls_is_verified() {
    let authority = Authority::new();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(authority.pem().as_bytes()).expect("written");
    let trusting = bounded_http::Options {
        ca_file: Some(file.path().to_owned()),
        ..limits()
    };
    let server = play_tls(&authority, healthy());
    let answers = ask_with(trusting.clone(), &server.endpoint()).expect("answers");
    assert_eq!(missing(&answers), []);
    assert!(answers.endpoint.starts_with("https://"));

    let fault = |error: AskError| match http_kind(error) {
        ErrorKind::Tls(fault) => fault,
        other => panic!("{other}"),
    };
    let error = ask(&server).expect_err("an unknown authority");
    assert!(error.hint().contains("certificate"), "{}", error.hint());
    assert_eq!(fault(error), TlsFault::UnknownIssuer);

    let by_name = Endpoint::parse(&server.url_by_name()).expect("a URL");
    let error = ask_with(trusting.clone(), &by_name).expect_err("another name");
    assert_eq!(fault(error), TlsFault::WrongName);

    let expired = Server::start_expired(&authority, &["127.0.0.1"]);
    let error = ask_with(trusting.clone(), &expired.endpoint()).expect_err("too old");
    assert_eq!(fault(error), TlsFault::Expired);

    // A real server rejects the handshake's bytes; the mock one waits for a line ending.
    let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", plain.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().expect("a client");
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .expect("written");
        // Until the client disconnects.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let error = ask_with(trusting, &Endpoint::parse(&url).expect("a URL")).expect_err("no TLS");
    assert_eq!(fault(error), TlsFault::NotTls);
}

#[test]
fn failures_over_tls_are_the_same() {
    let authority = Authority::new();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(authority.pem().as_bytes()).expect("written");
    let trusting = bounded_http::Options {
        ca_file: Some(file.path().to_owned()),
        deadline: Duration::from_secs(4),
        ..limits()
    };
    for (answer, found) in [
        (Answer::Endless, "longer than"),
        (Answer::Silence, "not done within"),
        (exception(403, "security_exception"), "status 403"),
        (Answer::ok("{\"tasks\":["), "half an answer"),
    ] {
        let mut answers = healthy();
        answers.insert("pending_tasks", answer);
        let server = play_tls(&authority, answers);
        let answers = ask_with(trusting.clone(), &server.endpoint()).expect("answers");
        let missing = missing(&answers);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].1.contains(found), "{missing:?}");
    }
}
