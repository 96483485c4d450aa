//! A mock cluster: canned responses by page, and failures on demand.

use bounded_http::testing::{Answer, Authority, Server};
use bounded_http::{Client, Endpoint, Options};
use cluster::{Answers, AskError, Part};
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns the page that a request asks for, without ids and lists of keys.
pub fn page(head: &str) -> &'static str {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        "/" => "root",
        "/_cluster/health" => "health",
        "/_cluster/pending_tasks" => "pending_tasks",
        "/_cluster/settings" => "settings",
        "/_internal/desired_balance" => "desired_balance",
        path if path.starts_with("/_cluster/state/") => "state",
        path if path.starts_with("/_nodes/stats/") => "node_stats",
        path if path.ends_with("/hot_threads") => "hot_threads",
        path if path.starts_with("/_nodes/") => "nodes",
        path if path.starts_with("/_all/_settings/") => {
            if query.contains("expand_wildcards=closed") {
                "closed"
            } else {
                "open"
            }
        }
        path => panic!("a page that nobody knows: {path}"),
    }
}

/// Every page that each version is asked for, in request order.
pub const PAGES: [&str; 10] = [
    "root",
    "nodes",
    "node_stats",
    "closed",
    "open",
    "state",
    "health",
    "pending_tasks",
    "settings",
    "hot_threads",
];

/// Responses of a healthy cluster of two nodes with one open and one closed index.
pub fn healthy() -> BTreeMap<&'static str, Answer> {
    let text = |page| match page {
        "root" => r#"{"name":"n1","cluster_name":"made-up","version":{"number":"7.4.2"}}"#,
        "nodes" => {
            r#"{"_nodes":{"total":2,"successful":2,"failed":0},"cluster_name":"made-up",
            "nodes":{"A":{"name":"n1","host":"10.0.0.1","ip":"10.0.0.1","version":"7.4.2",
                "roles":["master","data"],"attributes":{"rack":"r1"},
                "settings":{"cluster.routing.allocation.node_concurrent_recoveries":"4"},
                "jvm":{"version":"11","mem":{"heap_max_in_bytes":1000}}},
            "B":{"name":"n2","host":"10.0.0.2","ip":"10.0.0.2","version":"7.4.2",
                "roles":["data"]}}}"#
        }
        "node_stats" => {
            r#"{"_nodes":{"total":2,"successful":2,"failed":0},"nodes":{
            "A":{"jvm":{"mem":{"heap_used_in_bytes":500}},
                "fs":{"total":{"total_in_bytes":100,"available_in_bytes":40},"data":[
                    {"path":"/data","mount":"/ (/dev/sda)","type":"xfs","total_in_bytes":100,
                    "available_in_bytes":40}]}},
            "B":{"fs":{"total":{"total_in_bytes":-1,"available_in_bytes":-1}}}}}"#
        }
        "closed" => {
            r#"{"old":{"settings":{"index.number_of_shards":"1",
            "index.number_of_replicas":"1"}}}"#
        }
        "open" => r#"{"new":{"settings":{"index.refresh_interval":"30s"}}}"#,
        "state" => {
            r#"{"master_node":"A","routing_table":{"indices":{
            "new":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"A"},
                {"state":"STARTED","primary":false,"node":"B"}]}},
            "old":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"A"}]}}}}}"#
        }
        "health" => {
            r#"{"status":"green","number_of_in_flight_fetch":0,
            "task_max_waiting_in_queue_millis":0}"#
        }
        "pending_tasks" => r#"{"tasks":[]}"#,
        "settings" => {
            r#"{"persistent":{},"transient":{"cluster.routing.allocation.enable":"all"},
            "defaults":{"cluster.routing.allocation.node_concurrent_recoveries":"2",
            "cluster.routing.rebalance.enable":"all"}}"#
        }
        "hot_threads" => {
            "::: {n1}{A}\n   Hot threads at 2026-11-21T19:00:00.000Z, \
            interval=500ms, busiestThreads=10, ignoreIdleThreads=true:\n"
        }
        page => panic!("{page}"),
    };
    PAGES
        .into_iter()
        .map(|page| (page, Answer::ok(text(page))))
        .collect()
}

/// Starts a server with these responses.
pub fn play(answers: BTreeMap<&'static str, Answer>) -> Server {
    Server::start(move |head| answers[page(head)].clone())
}

/// Starts a healthy server with another response for one page.
pub fn play_with(page: &'static str, answer: Answer) -> Server {
    let mut answers = healthy();
    answers.insert(page, answer);
    play(answers)
}

/// Starts a TLS server with these responses.
pub fn play_tls(authority: &Authority, answers: BTreeMap<&'static str, Answer>) -> Server {
    Server::start_tls(authority, &["127.0.0.1"], move |head| {
        answers[page(head)].clone()
    })
}

/// Timeouts short enough for tests.
pub fn limits() -> Options {
    Options {
        deadline: Duration::from_secs(5),
        body_bytes_max: 1 << 20,
        ..Options::default()
    }
}

/// Queries an endpoint with these options.
pub fn ask_with(options: Options, endpoint: &Endpoint) -> Result<Answers, AskError> {
    let client = Client::new(options).expect("a client");
    cluster::ask(&client, endpoint, jiff::Timestamp::UNIX_EPOCH)
}

/// Queries a server within [`limits`].
pub fn ask(server: &Server) -> Result<Answers, AskError> {
    ask_with(limits(), &server.endpoint())
}

/// Returns the reason for each missing part.
pub fn missing(answers: &Answers) -> Vec<(&'static str, String)> {
    fn of<T>(name: &'static str, part: &Part<T>) -> Option<(&'static str, String)> {
        Some((name, part.unanswered()?.why.clone()))
    }
    [
        of("root", &answers.root),
        of("nodes", &answers.nodes),
        of("node_stats", &answers.node_stats),
        of("indices", &answers.indices),
        of("state", &answers.routing),
        of("health", &answers.health),
        of("pending_tasks", &answers.pending_tasks),
        of("settings", &answers.settings),
        of("hot_threads", &answers.hot_threads),
        answers
            .desired_balance
            .as_ref()
            .and_then(|part| of("desired_balance", part)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
