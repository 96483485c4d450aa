//! Responses of clusters: states, nodes, sizes, settings.

use shards::explanation::{Detail, RerouteExplanation};
use shards::gateway::Stores;
use shards::model::Version;
use shards::nodes::RoutingNodes;
use shards::profile::Server;
use shards::service::reroute;
use shards::state::{ClusterSettings, Source, State};
use shards::what_if;
use std::collections::HashMap;
use std::io::BufReader;

const VERSION: Version = Version::release(7, 4, 0);
const NOW_NANOS: i64 = 1_600_000_000_000_000_000;

/// Two nodes, one index with an unassigned replica; a relocating copy. Kept short, because inputs
/// are truncated.
pub const STATES: &[&str] = &[
    r#"{"nodes":{"a":{},"b":{}},"metadata":{"indices":{"i":{"state":"open","settings":{"index":{"number_of_shards":1}},"in_sync_allocations":{"0":["x"]}}}},"routing_table":{"indices":{"i":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"a","shard":0,"index":"i","allocation_id":{"id":"x"}},{"state":"UNASSIGNED","primary":false,"shard":0,"index":"i","recovery_source":{"type":"PEER"},"unassigned_info":{"reason":"NODE_LEFT","at":"2019-10-01T12:34:56Z","delayed":true}}]}}}}}"#,
    r#"{"nodes":{"a":{"roles":["data"]},"b":{}},"metadata":{"indices":{"i":{"state":"close","settings":{"index.number_of_shards":1,"index.number_of_replicas":0}}}},"routing_table":{"indices":{"i":{"shards":{"0":[{"state":"RELOCATING","primary":true,"node":"a","relocating_node":"b","shard":0,"index":"i","expected_shard_size_in_bytes":5,"allocation_id":{"id":"x","relocation_id":"y"}}]}}}}}"#,
];

/// Reading at once and as a stream agree; whatever is read can be rerouted.
pub fn state(bytes: &[u8]) {
    let whole = State::read(Source::Bytes(bytes), VERSION);
    let mut stream = BufReader::with_capacity(16, bytes);
    let streamed = State::read(Source::Stream(&mut stream), VERSION);
    assert_eq!(whole.is_ok(), streamed.is_ok(), "{whole:?} {streamed:?}");
    let Ok(mut state) = whole else { return };
    let copies = state.cluster.routing.copies().count();
    if RoutingNodes::new(&state.cluster).is_ok() {
        // Each decision is explained at its own moment.
        let detail = Detail {
            decisions_max: 5,
            all_deciders: false,
        };
        // Masters that decide themselves, and those with a desired balance.
        for version in [VERSION, Version::release(9, 2, 0)] {
            let mut copy = state.cluster.clone();
            copy.version = version;
            let explained = RerouteExplanation::of(&mut copy, None, &Server::default(), 0, detail);
            if let Ok(explained) = explained {
                let gets: u64 = explained.nodes.iter().map(|node| node.gets).sum();
                assert!(gets <= explained.allocated + explained.moved + explained.rebalanced);
            }
        }
        let stores = Stores::of(&state.cluster);
        // Copies on a node that no longer holds data are reported as an error.
        let all_hold_data = state
            .cluster
            .nodes
            .iter()
            .all(shards::model::Node::is_live_data);
        match reroute(&mut state.cluster, &stores, NOW_NANOS) {
            Ok(_) => {}
            Err(error) if all_hold_data => panic!("a table that was accepted: {error}"),
            Err(_) => return,
        }
        // A round moves copies but keeps their number, except for indices with auto-expand.
        let expands = |index: &shards::model::Index| index.settings.auto_expand_replicas.is_some();
        if !state.cluster.indices.iter().any(expands) {
            assert_eq!(state.cluster.routing.copies().count(), copies);
        }
    }
}

/// Hot threads of two nodes, pasted ones, and thread dumps.
pub const THREADS: &[&str] = &[
    "::: {a}{x}\n   Hot threads at 2026-11-21T19:02:46Z, interval=500ms, busiestThreads=3:\n\n  0.4% [cpu=0.1%, other=0.3%] (2ms out of 500ms) cpu usage by thread 'opensearch[a][clusterManagerService#updateTask][T#1]'\n  9/10 snapshots sharing following 1 elements\n  java.base@17.0.9/sun.nio.ch.FileDispatcherImpl.force0(Native Method)\n  unique snapshot\n  a.B$$Lambda$1/0x1.c(d)\n\n::: {b}{y}\n",
    "98.9% (494ms out of 500ms) block usage by thread '[write]'\n  7/10 snapshots sharing following 1 elements\n  app//a.B.c(B.java:1)\n",
    "\"elasticsearch[a][generic][T#1]\" #1 daemon\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat a.B.c(B.java:1)\n\t- locked <0x1> (a.B)\n",
    "> 1.2mb memory allocated by thread 'it's' 2/3 snapshots sharing following\n> 1 elements a.B.c(B.java:1) unique snapshot a.B.d(B.java:2)\n",
    "Full thread dump\n\"a\" #1\n\tat a.B.c(B.java:1)\n\t- waiting to lock <0x1> (a.B)\n\n\"b\" #2\n\tat a.B.d(B.java:2)\n\t- locked <0x1> (a.B)\n\nFull thread dump\n\"a\" #1\n\tat a.B.c(B.java:1)\n",
];

/// Whatever is read is bounded.
pub fn threads(bytes: &[u8]) {
    match ::cluster::threads::from_file(bytes, "hot.txt") {
        Ok(found) => {
            for thread in &found.threads {
                assert!(thread.pool.chars().count() <= 300);
                assert!(thread.cpu_percent.is_none_or(f64::is_finite));
                assert!(thread.stacks.len() <= 100);
                for stack in &thread.stacks {
                    assert!(stack.seen <= stack.snapshots && stack.frames.len() <= 1024);
                }
            }
        }
        // The length of an error does not depend on that of the input.
        Err(error) => assert!(error.to_string().len() < 2000),
    }
}

/// Whether a seed is read into threads with frames.
#[cfg(test)]
pub fn reaches_threads(seed: &[u8]) -> bool {
    ::cluster::threads::from_file(seed, "hot.txt").is_ok_and(|found| {
        let stacks = found.threads.iter().flat_map(|thread| &thread.stacks);
        !found.threads.is_empty() && stacks.into_iter().all(|stack| !stack.frames.is_empty())
    })
}

/// Disks, sizes and settings of a cluster.
pub const ANSWERS: &[&str] = &[
    r#"{"nodes":{"a":{"host":"h","ip":"10.0.0.1:9300","version":"7.4.2","roles":["data"],"attributes":{"k":"v"},"fs":{"data":[{"path":"/d","total_in_bytes":1000,"available_in_bytes":90}]}}}}"#,
    r#"{"indices":{"i":{"shards":{"0":[{"routing":{"state":"STARTED","primary":true,"node":"a"},"store":{"size_in_bytes":77},"shard_path":{"data_path":"/d"}}]}}}}"#,
    r#"[{"index":"i","shard":"0","prirep":"p","store":"77"}]"#,
    r#"{"stats":{"computation_active":false},"routing_table":{"i":{"0":{"current":[{"forecast_write_load":0.5}],"desired":{"node_ids":["b"],"total":1,"unassigned":0,"ignored":0}}}}}"#,
    r#"{"persistent":{"cluster":{"routing":{"allocation":{"enable":"all","exclude":{"_name":"n2"}}}}},"transient":{"cluster.routing.allocation.disk.watermark.low":"85%"}}"#,
];

/// Files of an archive of support-diagnostics, each behind a line with its name. Kept short, as above.
pub const DIAGNOSTICS: &[&str] = &[
    "== version.json\n{\"name\":\"n\",\"version\":{\"number\":\"7.4.2\"}}\n== nodes.json\n{\"nodes\":{\"a\":{\"name\":\"n\",\"version\":\"7.4.2\"}}}\n== settings.json\n{\"i\":{\"settings\":{\"index\":{\"number_of_shards\":\"1\"}}}}\n== cluster_state.json\n{\"master_node\":\"a\",\"metadata\":{\"indices\":{\"i\":{\"state\":\"close\"}}},\"routing_table\":{\"indices\":{\"i\":{\"shards\":{\"0\":[{\"state\":\"STARTED\",\"primary\":true,\"node\":\"a\"}]}}}}}\n",
    "== version.json\n{\"version\":{\"number\":\"8.11.0\"}}\n== internal_desired_balance.json\n{\"stats\":{\"computation_active\":true,\"computation_submitted\":1,\"computation_executed\":1,\"computation_converged\":0},\"routing_table\":{\"i\":{\"0\":{\"current\":[{\"state\":\"STARTED\",\"node_is_desired\":false}]}}}}\n",
    "== version.json\n{\"version\":{\"number\":\"2.19.1\",\"distribution\":\"opensearch\"}}\n== cluster_pending_tasks.json\n{\"tasks\":[]}\n== cluster_settings.json\n{\"persistent\":{\"a.b\":\"1\"},\"transient\":{}}\n== nodes_hot_threads.txt\n::: {n}{a}\n   Hot threads at 2026-11-21T19:02:46Z\n",
];

/// Whatever an archive holds, each answer is read or says why not.
pub fn diagnostics(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let pieces = text.split("== ").filter_map(|piece| piece.split_once('\n'));
    let saved: HashMap<&str, &str> = pieces.collect();
    let files = |name: &str| {
        let body = saved.get(name).map(|body| body.as_bytes().to_vec());
        body.ok_or_else(|| "it is not in the archive".to_owned())
    };
    match ::cluster::diagnostics::from_diagnostics(&files, "archive") {
        Ok(answers) => {
            let unanswered = [
                answers.root.unanswered(),
                answers.health.unanswered(),
                answers.settings.unanswered(),
                answers.routing.unanswered(),
            ];
            for gap in unanswered.into_iter().flatten() {
                assert!(!gap.why.is_empty() && gap.why.len() < 2_000, "{}", gap.why);
            }
        }
        Err(error) => assert!(error.to_string().len() < 2_000, "{error}"),
    }
}

/// Reads input into a valid state; a reroute afterwards terminates.
pub fn answers(bytes: &[u8]) {
    for seed in STATES {
        let mut state =
            State::read(Source::Bytes(seed.as_bytes()), VERSION).expect("a sound state");
        let read = [
            state.read_nodes(Source::Bytes(bytes)).is_ok(),
            state.read_sizes(Source::Bytes(bytes)).is_ok(),
            state.read_settings(Source::Bytes(bytes)).is_ok(),
        ];
        if let Ok(settings) = ClusterSettings::read(Source::Bytes(bytes)) {
            assert_eq!(settings.settings().is_ok(), read[2]);
        }
        if state.read_desired(Source::Bytes(bytes)).is_ok() {
            // Whatever is wanted, walking there ends, or is noticed to go round in a circle.
            let mut cluster = state.cluster.clone();
            cluster.version = Version::release(9, 2, 0);
            let mut stores = Stores::of(&cluster);
            let desired = state.desired.as_ref();
            let _ = what_if::run(&mut cluster, desired, &mut stores, 0, 100, &mut |_| ());
        }
        if read.contains(&true) {
            let stores = Stores::of(&state.cluster);
            // A node with copies may turn out to hold no data, which is reported as an error.
            let _ = reroute(&mut state.cluster, &stores, NOW_NANOS);
        }
    }
}

/// Whether a seed of either target can be read.
#[cfg(test)]
pub fn reaches(seed: &[u8]) -> bool {
    let source = || Source::Bytes(seed);
    let mut state =
        State::read(Source::Bytes(STATES[0].as_bytes()), VERSION).expect("a sound state");
    State::read(source(), VERSION).is_ok()
        || state.read_nodes(source()).is_ok()
        || state.read_sizes(source()).is_ok()
        || state.read_settings(source()).is_ok()
        || state.read_desired(source()).is_ok()
}
