//! Property test: whatever a cluster reports, no rule panics, and no control character reaches a
//! title, a command or evidence.

use crate::test_cluster::{TestCluster, node};
use crate::test_host::{TestHost, nvme};
use crate::test_jobs::{fstrim_timer, jobs};
use crate::{Budget, NamedHost, Selection, Subject, run_on};
use facts::cluster::{
    ClusterNode, DesiredBalance, DesiredCopies, Flavour, Health, HealthStatus, HotThread,
    IndexCounts, IndexSetting, MasterThreads, PendingKind, PendingTask, PendingTasks,
    SettingOrigin, ShardCounts, ThreadSource, ThreadStack,
};
use facts::{Cluster, Host};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-d]",
        2 => "[\\x00-\\x7f\u{202e}\u{1b}']{0,8}",
        1 => "[a-z]{300}",
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        0..100_000_u64,
        Just(u64::MAX - 1),
        Just(u64::MAX),
    ]
}

fn maybe() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(number())
}

prop_compose! {
    fn any_node()(
        name in name(),
        roles in proptest::collection::vec(
            prop_oneof![
                Just("master".to_owned()), Just("cluster_manager".to_owned()),
                Just("data".to_owned()), Just("data_frozen".to_owned()),
                Just("voting_only".to_owned()), name(),
            ],
            0..4,
        ),
        numbers in proptest::collection::vec(maybe(), 4),
        path in proptest::option::of((number(), number(), name())),
    ) -> ClusterNode {
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        let mut node = node(&name, &roles);
        node.shards = numbers[0];
        node.heap_max_bytes = numbers[1];
        node.disk_total_bytes = numbers[2];
        node.disk_available_bytes = numbers[3];
        match path {
            Some((total, available, mount)) => {
                node.data_paths[0].total_bytes = total;
                node.data_paths[0].available_bytes = available;
                node.data_paths[0].mount = Some(mount);
            }
            None => node.data_paths.clear(),
        }
        node
    }
}

fn setting() -> impl Strategy<Value = (SettingOrigin, String, String)> {
    let key = prop_oneof![
        Just("cluster.routing.allocation.disk.include_relocations".to_owned()),
        Just("cluster.routing.allocation.disk.threshold_enabled".to_owned()),
        Just("cluster.routing.allocation.disk.watermark.low".to_owned()),
        Just("cluster.routing.allocation.disk.watermark.high.max_headroom".to_owned()),
        Just("cluster.max_shards_per_node".to_owned()),
        Just("discovery.zen.minimum_master_nodes".to_owned()),
        name().prop_map(|name| format!("archived.{name}")),
        name().prop_map(|name| format!("indices.store.throttle.{name}")),
    ];
    let value = prop_oneof![
        Just("false".to_owned()),
        Just("-1".to_owned()),
        Just("99%".to_owned()),
        Just("1pb".to_owned()),
        number().prop_map(|number| number.to_string()),
        name(),
    ];
    let origin = prop_oneof![
        Just(SettingOrigin::Default),
        Just(SettingOrigin::NodeFile),
        Just(SettingOrigin::Persistent),
        Just(SettingOrigin::Transient),
    ];
    (origin, key, value)
}

fn index_setting() -> impl Strategy<Value = IndexSetting> {
    let key = prop_oneof![
        Just("index.refresh_interval".to_owned()),
        Just("index.merge.scheduler.max_thread_count".to_owned()),
        Just("index.merge.scheduler.auto_throttle".to_owned()),
        Just("index.translog.durability".to_owned()),
        name().prop_map(|name| format!("index.store.throttle.{name}")),
    ];
    let value = prop_oneof![
        Just("false".to_owned()),
        Just("async".to_owned()),
        Just("-1".to_owned()),
        Just("1".to_owned()),
        "[0-9]{0,24}(ms|s|d)",
        name(),
    ];
    (key, value, number(), number(), name()).prop_map(|(key, value, open, closed, example)| {
        IndexSetting {
            key,
            value,
            open,
            closed,
            example,
        }
    })
}

fn threads() -> impl Strategy<Value = MasterThreads> {
    let frame = prop_oneof![
        Just("org.elasticsearch.cluster.routing.RoutingNode.shardsWithState".to_owned()),
        Just("org.opensearch.cluster.routing.allocation.allocator.".to_owned()),
        Just("sun.nio.ch.FileDispatcherImpl.force0".to_owned()),
        Just("org.elasticsearch.gateway.PersistedClusterStateService".to_owned()),
        Just("org.opensearch.index.".to_owned()),
        Just("jdk.internal.misc.Unsafe.park".to_owned()),
        Just("org.elasticsearch.cluster.service.MasterService.".to_owned()),
        name().prop_map(|name| format!("org.elasticsearch.gateway.GatewayAllocator{name}")),
        name(),
    ];
    let stack = (0..3_u32, 0..3_u32, proptest::collection::vec(frame, 0..3)).prop_map(
        |(seen, snapshots, frames)| ThreadStack {
            seen,
            snapshots,
            complete: true,
            frames,
            state: None,
            lock_holder: None,
        },
    );
    let pool = prop_oneof![Just("masterService#updateTask".to_owned()), name()];
    let node = proptest::option::of(name());
    let thread = (node, pool, proptest::option::of(any::<f64>()), stack).prop_map(
        |(node, pool, cpu_percent, stack)| HotThread {
            node,
            pool,
            cpu_percent,
            stacks: vec![stack],
        },
    );
    let source = prop_oneof![
        Just(ThreadSource::HotThreads),
        name().prop_map(ThreadSource::ThreadDumpFile)
    ];
    (source, proptest::collection::vec(thread, 0..6)).prop_map(|(source, threads)| MasterThreads {
        source,
        interval_ms: None,
        threads,
    })
}

prop_compose! {
    fn any_cluster()(
        version in prop_oneof![
            Just("1.7.6"), Just("6.2.4"), Just("6.8.23"), Just("7.1.1"), Just("7.4.0"),
            Just("7.17.28"), Just("8.16.0"), Just("4294967295.4294967295.0"),
        ],
        is_opensearch in any::<bool>(),
        names in (name(), proptest::option::of(name())),
        nodes in proptest::option::of(proptest::collection::vec(any_node(), 0..6)),
        counts in proptest::collection::vec(number(), 12),
        known in proptest::collection::vec(any::<bool>(), 6),
        settings in proptest::collection::vec(setting(), 0..6),
        index_settings in proptest::collection::vec(index_setting(), 0..6),
        threads in proptest::option::of(threads()),
        task in (name(), name()),
    ) -> Cluster {
        let mut test = TestCluster::new().version(version);
        for (origin, key, value) in settings {
            test = test.setting(origin, &key, &value);
        }
        let mut cluster = test.build();
        if is_opensearch {
            cluster.flavour = Flavour::Opensearch;
        }
        (cluster.endpoint, cluster.name) = names;
        cluster.nodes = nodes;
        cluster.master_threads = threads;
        cluster.indices = known[0].then(|| IndexCounts {
            open: counts[0],
            closed: counts[1],
            closed_in_routing_table: Some(counts[2]),
            closed_shards_configured: counts[3],
        });
        cluster.shards = known[1].then(|| ShardCounts {
            total: counts[4],
            primaries: counts[5],
            started: counts[6],
            relocating: counts[7],
            initializing: 0,
            unassigned: counts[8],
            unassigned_reasons: BTreeMap::new(),
            of_closed_indices: known[2].then_some(counts[9]),
        });
        cluster.pending_tasks = known[3].then(|| PendingTasks {
            total: counts[10],
            tasks: vec![PendingTask {
                source: task.0.clone(),
                priority: task.1,
                in_queue_ms: counts[11],
                executing: true,
                executing_ms: None,
            }],
            kinds: vec![
                PendingKind {
                    kind: task.0.clone(),
                    priority: "URGENT".to_owned(),
                    waiting: counts[5],
                    oldest_ms: counts[6],
                },
                PendingKind {
                    kind: "put-mapping".to_owned(),
                    priority: "HIGH".to_owned(),
                    waiting: counts[7],
                    oldest_ms: counts[8],
                },
            ],
        });
        cluster.desired_balance = known[3].then(|| DesiredBalance {
            computing: known[2],
            submitted: counts[0],
            executed: counts[1],
            converged: counts[2] % 2,
            computation_ms: counts[3],
            copies: known[1].then_some(DesiredCopies {
                started: counts[4],
                undesired: counts[5],
            }),
        });
        cluster.health = known[4].then_some(Health {
            status: HealthStatus::Red,
            in_flight_fetches: counts[10],
            max_task_wait_ms: counts[11],
        });
        if let Some(settings) = &mut cluster.index_settings {
            settings.values = index_settings;
            settings.indices = counts[0];
        }
        if !known[5] {
            cluster.settings = None;
        }
        cluster
    }
}

fn host(name: &str) -> Host {
    TestHost::new()
        .device(nvme("nvme0n1"))
        .mount("/data", "nvme0n1", "xfs", "rw")
        .elasticsearch("/data/es")
        .with(jobs(vec![fstrim_timer()]))
        .with(|host| host.platform.host_name = Some(name.to_owned()))
        .build()
}

fn harmless(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}'))
}

proptest! {
    #[test]
    fn no_cluster_breaks_a_rule(cluster in any_cluster(), names in (name(), name())) {
        let hosts = [host(&names.0), host(&names.1)];
        let hosts = [
            NamedHost { name: "a", host: &hosts[0] },
            NamedHost { name: "b", host: &hosts[1] },
        ];
        let subject = Subject { hosts: &hosts, cluster: Some(&cluster) };
        let selection = Selection { select: vec!["ES".to_owned()], ..Selection::default() };
        let outcome = run_on(subject, &selection, Budget::unlimited());
        let rules = crate::all().iter().filter(|rule| rule.id.starts_with("ES"));
        prop_assert_eq!(outcome.rules_run.len(), rules.count());
        for finding in &outcome.findings {
            prop_assert!(finding.cluster.is_some());
            prop_assert!(finding.title.chars().count() <= 300, "{}", finding.title);
            let evidence = finding.evidence.iter();
            let texts = [&finding.subject, &finding.title, &finding.why]
                .into_iter()
                .chain(evidence.flat_map(|evidence| [&evidence.source, &evidence.value]))
                .chain(finding.remedy.iter().flat_map(|remedy| {
                    let commands = remedy.command.iter().chain(&remedy.undo).chain(&remedy.risk);
                    commands.chain([&remedy.text])
                }));
            for text in texts {
                prop_assert!(harmless(text), "{text:?}");
                prop_assert!(!text.contains("NaN") && !text.contains("inf "), "{text:?}");
            }
        }
        for skip in &outcome.skipped {
            prop_assert!(harmless(&skip.what) && harmless(&skip.why), "{skip:?}");
        }
    }
}
