use super::*;
use crate::answer::indices::Indices;
use crate::answer::nodes::{Nodes, NodesStats};
use crate::answer::root::Root;
use crate::answer::routing::Routing;
use crate::answer::settings::Settings;
use crate::answers::{SCHEMA, Unanswered};
use crate::threads;
use facts::cluster::{PendingTask, PendingTasks};
use std::collections::BTreeMap;

/// A cluster in which every name contains `secret`.
fn answers() -> Answers {
    let nodes = r#"{"cluster_name":"secret-logs","nodes":{
        "secretid1":{"name":"secret-1","host":"es1.secret.example","ip":"192.0.2.1",
            "version":"7.4.2","attributes":{"rack":"secret-rack"},
            "settings":{"cluster.routing.allocation.awareness.force.rack.values":"secret-rack"}},
        "secretid2":{"name":"secret-2","host":"192.0.2.2","ip":"192.0.2.2"}}}"#;
    let stats = r#"{"nodes":{"secretid1":{"fs":{"data":[{"path":"/data/secret.example",
        "total_in_bytes":1,"available_in_bytes":1}]}}}}"#;
    let routing = r#"{"master_node":"secretid1","routing_table":{"indices":{"secret-index":
        {"shards":{"0":[{"state":"STARTED","primary":true,"node":"secretid2"}]}}}}}"#;
    let settings = r#"{"transient":{"cluster.routing.allocation.exclude._name":"secret-2, secret-3",
        "cluster.routing.allocation.require.rack":"secret-rack",
        "archived.xpack.monitoring.exporters.secret-desk.type":"http",
        "archived.cluster.routing.allocation.enable":"none",
        "cluster.routing.allocation.exclude._ip":"192.0.2.2"}}"#;
    let tally = |example: &str| IndexTally {
        open: 1,
        closed: 0,
        example: example.to_owned(),
    };
    let values = BTreeMap::from([
        (
            "index.refresh_interval".to_owned(),
            BTreeMap::from([("30s".to_owned(), tally("secret-index"))]),
        ),
        (
            "index.routing.allocation.require.rack".to_owned(),
            BTreeMap::from([
                ("secret-rack".to_owned(), tally("secret-index")),
                (OTHER.to_owned(), tally("secret-other")),
            ]),
        ),
        (
            "archived.index.secret-plugin.x".to_owned(),
            BTreeMap::from([(NOT_KEPT.to_owned(), tally("secret-index"))]),
        ),
        (
            "index.routing.allocation.include._tier_preference".to_owned(),
            BTreeMap::from([("data_hot,data_content".to_owned(), tally("secret-index"))]),
        ),
    ]);
    Answers {
        schema: SCHEMA.to_owned(),
        endpoint: "https://es1.secret.example:9200/secret-path".to_owned(),
        read_at: jiff::Timestamp::UNIX_EPOCH,
        root: Part::Answer(
            Root::parse(br#"{"cluster_name":"secret-logs","version":{"number":"7.4.2"}}"#).unwrap(),
        ),
        nodes: Part::Answer(Nodes::parse(nodes.as_bytes()).unwrap()),
        node_stats: Part::Answer(NodesStats::parse(stats.as_bytes()).unwrap()),
        health: Part::Unanswered(Unanswered {
            why: "GET /_cluster/health: status 403 (security_exception)".to_owned(),
            needs: None,
        }),
        indices: Part::Answer(Indices {
            open: 1,
            values,
            ..Indices::default()
        }),
        routing: Part::Answer(Routing::parse(routing.as_bytes(), None).unwrap()),
        pending_tasks: Part::Answer(PendingTasks {
            total: 1,
            tasks: vec![PendingTask {
                source: "create-index [secret-index], cause [api {secret}] x".to_owned(),
                priority: "URGENT".to_owned(),
                in_queue_ms: 1,
                executing: true,
                executing_ms: None,
            }],
            kinds: Vec::new(),
        }),
        settings: Part::Answer(Settings::parse(settings.as_bytes()).unwrap()),
        hot_threads: Part::Answer(
            // As an archive has them, with the nodes' names.
            threads::from_file(
                b"::: {secret-es2}{x}\nHot threads at x, interval=500ms\n\
                1% (1ms out of 500ms) cpu usage by thread 'elasticsearch[secret[-1][write][T#1]'\n",
                "hot.txt",
            )
            .unwrap(),
        ),
        desired_balance: None,
    }
}

/// The replacements of a bundle that knows the host es1, its domain and addresses.
fn bundle(text: &str) -> String {
    text.replace("es1.secret.example", "host1.domain1")
        .replace("secret.example", "domain1")
        .replace("192.0.2.", "10.0.0.")
}

#[test]
fn every_name_is_replaced_consistently() {
    let answers = answers().anonymise(&bundle, &[7; 16]);
    let json = String::from_utf8(answers.to_json().unwrap()).unwrap();
    assert!(!json.contains("secret"), "{json}");
    assert_eq!(answers.endpoint, "https://host1.domain1:9200");
    let nodes = &answers.nodes.answer().unwrap().nodes;
    let first = nodes
        .values()
        .find(|node| node.host.as_deref() == Some("host1.domain1"))
        .expect("the node of the bundle's host");
    assert_eq!(first.ip.as_deref(), Some("10.0.0.1"));
    let second = nodes
        .values()
        .find(|node| node.host.as_deref() == Some("10.0.0.2"))
        .expect("the other one");
    assert!(first.name.starts_with("node") && second.name.starts_with("node"));
    assert_ne!(first.name, second.name);

    let settings = answers.settings.answer().unwrap();
    let transient =
        |key: &str| settings.transient.0[&format!("cluster.routing.allocation.{key}")].text();
    let excluded = transient("exclude._name");
    let (known, unknown) = excluded.split_once(',').unwrap();
    assert_eq!(known, second.name);
    assert!(unknown.starts_with("value"), "{unknown}");
    assert_eq!(transient("exclude._ip"), "10.0.0.2");
    assert_eq!(transient("require.rack"), first.attributes["rack"]);
    // That a setting is archived is kept; its key only if it is a known one.
    let archived: Vec<&str> = settings
        .transient
        .0
        .keys()
        .filter(|key| key.starts_with(ARCHIVED))
        .map(|key| key.trim_end_matches(|c: char| c.is_ascii_digit()))
        .collect();
    assert_eq!(
        archived,
        [
            "archived.cluster.routing.allocation.enable",
            "archived.xpack.setting"
        ]
    );
    let indices = answers.indices.answer().unwrap();
    let racks = &indices.values["index.routing.allocation.require.rack"];
    assert!(racks.contains_key(&first.attributes["rack"]));
    assert!(racks.contains_key(OTHER));
    assert_eq!(
        indices.values["index.refresh_interval"]["30s"].example,
        racks[&first.attributes["rack"]].example
    );
    assert!(
        indices.values["index.routing.allocation.include._tier_preference"]
            .contains_key("data_hot,data_content")
    );
    let of_archived = indices
        .values
        .iter()
        .find(|(key, _)| key.starts_with("archived.index.setting"));
    assert_eq!(of_archived.expect("archived").1[NOT_KEPT].open, 1);
    let routing = answers.routing.answer().unwrap();
    let master = routing.master.as_deref().unwrap();
    assert_eq!(nodes[master].name, first.name);
    let tasks = &answers.pending_tasks.answer().unwrap().tasks;
    assert_eq!(tasks[0].source, "create-index [...], cause [...] x");
}

#[test]
fn anonymising_changes_only_names() {
    let before = answers().facts().unwrap();
    let after = answers().anonymise(&bundle, &[7; 16]).facts().unwrap();
    assert_eq!(before.version, after.version);
    assert_eq!(before.shards, after.shards);
    assert_eq!(before.indices, after.indices);
    assert!(after.master_node().is_some());
    let counts = |cluster: &facts::Cluster| {
        let mut shards: Vec<Option<u64>> = cluster
            .nodes
            .iter()
            .flatten()
            .map(|node| node.shards)
            .collect();
        shards.sort();
        shards
    };
    assert_eq!(counts(&before), counts(&after));
}

#[test]
fn the_salt_determines_the_numbers() {
    let names: BTreeSet<String> = (0..20).map(|n| format!("name{n}")).collect();
    assert_eq!(
        numbered(names.clone(), &[1; 16]),
        numbered(names.clone(), &[1; 16])
    );
    assert_ne!(numbered(names.clone(), &[1; 16]), numbered(names, &[2; 16]));
}

#[test]
fn endpoints_keep_only_scheme_and_port() {
    let answers = answers();
    let replace = |text: &str| text.to_owned();
    let names = Names::of(&answers, &replace, &[0; 16]);
    for (endpoint, expected) in [
        ("http://localhost:9200/a", "http://localhost:9200"),
        ("http://[::1]:9200", "http://[::1]:9200"),
        ("https://es.example", "https://cluster0"),
        ("https://es.example:443/x:y", "https://cluster0:443"),
        ("https://[2001:db8::1]:9200", "https://[2001:db8::1]:9200"),
    ] {
        assert_eq!(names.endpoint(endpoint), expected);
    }
}
