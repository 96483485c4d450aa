//! Recorded responses of real servers. The setup of each is described at the top of
//! lab/servers/test-cluster.sh: one node `n1`; `plain`, `dense` (`best_compression`) and `risky`
//! (`async`), open, with one primary each; `old-1` and `old-2`, closed, with 60 primaries each.

use crate::play::{PAGES, ask, missing, play};
use bounded_http::testing::Answer;
use cluster::Answers;
use facts::Cluster;
use facts::cluster::{Flavour, HealthStatus, SettingOrigin, Watermark, WatermarkLevel};
use std::path::Path;

const SERVERS: [(&str, Flavour, &str); 4] = [
    ("elasticsearch-6.8.23", Flavour::Elasticsearch, "6.8.23"),
    ("elasticsearch-7.4.2", Flavour::Elasticsearch, "7.4.2"),
    ("elasticsearch-7.17.28", Flavour::Elasticsearch, "7.17.28"),
    ("opensearch-2.19.1", Flavour::Opensearch, "2.19.1"),
];

fn recorded(server: &str) -> Answers {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).join(server);
    let answers = PAGES.into_iter().map(|page| {
        let body = std::fs::read(directory.join(page)).expect(page);
        (page, Answer::Body(200, body))
    });
    ask(&play(answers.collect())).expect(server)
}

fn each(check: impl Fn(&str, &Cluster)) {
    for (server, flavour, version) in SERVERS {
        let answers = recorded(server);
        assert_eq!(missing(&answers), [], "{server}");
        let cluster = answers.facts().expect(server);
        assert_eq!(cluster.skipped, [], "{server}");
        assert_eq!(cluster.flavour, flavour);
        assert_eq!(cluster.version.to_string(), version);
        assert_eq!(cluster.name, Some(format!("lab-{server}")));
        check(server, &cluster);
    }
}

#[test]
fn the_node_is_known() {
    each(|server, cluster| {
        let nodes = cluster.nodes.as_deref().expect("nodes");
        assert_eq!(nodes.len(), 1, "{server}");
        let node = cluster.master_node().expect("the master");
        assert_eq!(node.name, "n1");
        assert!(
            node.master_eligible && node.data && !node.voting_only,
            "{server}"
        );
        // -Xmx512m
        assert_eq!(node.heap_max_bytes, Some(512 << 20));
        assert_eq!(node.ip.as_deref(), Some("127.0.0.1"));
        // Attributes set by the server itself do not describe a location.
        assert!(node.attributes.is_empty(), "{:?}", node.attributes);
        assert_eq!(node.data_paths.len(), 1);
        let path = &node.data_paths[0];
        assert_eq!(Some(path.total_bytes), node.disk_total_bytes);
        assert!(path.available_bytes < path.total_bytes);
        assert!(node.heap_used_bytes < node.heap_max_bytes);
    });
}

#[test]
fn closed_indices_leave_the_routing_table_before_7_2_only() {
    each(|server, cluster| {
        let indices = cluster.indices.as_ref().expect("indices");
        assert_eq!((indices.open, indices.closed), (3, 2), "{server}");
        assert_eq!(indices.closed_shards_configured, 120);
        let shards = cluster.shards.as_ref().expect("shards");
        let (in_table, copies) = if server == "elasticsearch-6.8.23" {
            (0, 0)
        } else {
            (2, 120)
        };
        assert_eq!(indices.closed_in_routing_table, Some(in_table), "{server}");
        assert_eq!(shards.of_closed_indices, Some(copies), "{server}");
        assert_eq!(shards.total, 3 + copies);
        // No replicas.
        assert_eq!(shards.primaries, shards.total);
        // Recorded right after closing, while the shards of closed indices are being recovered for
        // replication: those not active yet make the cluster red.
        assert_eq!(shards.relocating, 0);
        assert_eq!(
            shards.started + shards.initializing + shards.unassigned,
            shards.total
        );
        let reasons: Vec<(&str, u64)> = shards
            .unassigned_reasons
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect();
        let waiting = shards.unassigned + shards.initializing;
        if shards.unassigned > 0 {
            assert_eq!(reasons, [("INDEX_CLOSED", shards.unassigned)], "{server}");
        }
        let health = cluster.health.as_ref().expect("health");
        let is_green = health.status == HealthStatus::Green;
        assert_eq!(is_green, waiting == 0, "{server}");
        // There is one node, so it has all assigned copies.
        let on_node = cluster.master_node().expect("it").shards;
        assert_eq!(on_node, Some(shards.started + shards.initializing));
    });
}

#[test]
fn settings_are_effective_and_their_origin_is_known() {
    each(|server, cluster| {
        let settings = cluster.settings.as_ref().expect("settings");
        let origin = |key: &str| settings.get(key).map(|setting| setting.origin);
        assert!(!settings.include_relocations(), "{server}");
        assert_eq!(
            origin("cluster.routing.allocation.disk.include_relocations"),
            Some(SettingOrigin::Transient)
        );
        // The file says false, the persistent setting true.
        assert!(settings.disk_threshold_enabled(), "{server}");
        assert_eq!(
            origin("cluster.routing.allocation.disk.threshold_enabled"),
            Some(SettingOrigin::Persistent)
        );
        assert_eq!(
            settings.watermark(WatermarkLevel::Low),
            Some(Watermark::FreeBytes(1 << 50))
        );
        assert_eq!(
            settings.watermark(WatermarkLevel::FloodStage),
            Some(Watermark::FreeBytes(1))
        );
        assert_eq!(
            settings.text("cluster.routing.allocation.node_concurrent_recoveries"),
            Some("2".to_owned())
        );
        assert_eq!(
            origin("cluster.routing.allocation.node_concurrent_recoveries"),
            Some(SettingOrigin::Default)
        );
        // Neither names nor anything that may contain a secret.
        for key in settings.values.keys() {
            assert!(
                !key.starts_with("cluster.remote.") && !key.starts_with("xpack"),
                "{key}"
            );
        }
    });
}

#[test]
fn index_settings_are_counted() {
    each(|server, cluster| {
        let settings = cluster.index_settings.as_ref().expect("settings");
        assert_eq!(settings.indices, 5, "{server}");
        let of = |key: &str| -> Vec<(String, u64, u64, String)> {
            settings
                .of(key)
                .map(|s| (s.value.clone(), s.open, s.closed, s.example.clone()))
                .collect()
        };
        let row = |value: &str, open, closed, example: &str| {
            (value.to_owned(), open, closed, example.to_owned())
        };
        assert_eq!(
            of("index.translog.durability"),
            [row("async", 1, 0, "risky")],
            "{server}"
        );
        assert_eq!(settings.at_default("index.translog.durability"), 4);
        assert_eq!(
            of("index.number_of_shards"),
            [row("1", 3, 0, "dense"), row("60", 0, 2, "old-1")]
        );
        assert_eq!(of("index.number_of_replicas"), [row("0", 3, 2, "dense")]);
        assert!(settings.values.iter().all(|s| s.key.starts_with("index.")));
    });
}

#[test]
fn threads_have_pools_and_frames_but_no_names() {
    each(|server, cluster| {
        let found = cluster.master_threads.as_ref().expect("threads");
        assert_eq!(found.interval_ms, Some(500), "{server}");
        // The node had just closed 120 shards.
        assert!(!found.threads.is_empty(), "{server}");
        for thread in &found.threads {
            assert!(!thread.pool.contains("n1"), "{}", thread.pool);
            assert!(thread.cpu_percent.is_some_and(|percent| percent >= 0.0));
            assert!(!thread.stacks.is_empty(), "{server}: {}", thread.pool);
            for frame in thread.stacks.iter().flat_map(|stack| &stack.frames) {
                assert!(!frame.contains('@') && !frame.contains("//"), "{frame}");
                assert!(!frame.contains("java:"), "{frame}");
            }
        }
    });
}

#[test]
fn saved_answers_round_trip() {
    for (server, ..) in SERVERS {
        let answers = recorded(server);
        let bytes = answers.to_json().expect("JSON");
        let again = Answers::from_json(&bytes, "cluster.json").expect("the same form");
        assert_eq!(again, answers, "{server}");
        assert_eq!(again.facts(), answers.facts());
        // Truncated anywhere, it is an error with a position, never a panic.
        for end in (0..bytes.len() - 1).step_by(97) {
            let error = Answers::from_json(&bytes[..end], "cluster.json").expect_err("cut");
            assert!(error.line.is_some(), "{error}");
        }
    }
    let later = br#"{"schema":"trimtab.cluster/2"}"#;
    let error = Answers::from_json(later, "cluster.json").expect_err("a later form");
    assert!(error.expected.contains("trimtab.cluster/1"), "{error}");
}
