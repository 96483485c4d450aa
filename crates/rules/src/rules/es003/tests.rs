use super::*;
use crate::test_cluster::{TestCluster, assert_well_formed, node};
use crate::test_host::only;
use facts::cluster::{
    Health, HealthStatus, HotThread, MasterThreads, PendingKind, PendingTask, PendingTasks,
    SettingOrigin, ThreadStack,
};

const SCAN: &str = "org.elasticsearch.cluster.routing.RoutingNode.shardsWithState";
const BALANCER: &str = "org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer\
                        .balanceByWeights";
const UNASSIGNED: &str = "org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer\
                          .decideAllocateUnassigned";
const COMPUTER: &str =
    "org.elasticsearch.cluster.routing.allocation.allocator.DesiredBalanceComputer.compute";
const FSYNC_OF_STATE: &[&str] = &[
    "sun.nio.ch.FileDispatcherImpl.force0",
    "org.elasticsearch.gateway.PersistedClusterStateService$Writer.commit",
    "org.elasticsearch.cluster.service.MasterService.publish",
];
const MINUTE_MS: u64 = 60_000;

fn task(source: &str, priority: &str, in_queue_ms: u64, executing: bool) -> PendingTask {
    PendingTask {
        source: source.to_owned(),
        priority: priority.to_owned(),
        in_queue_ms,
        executing,
        executing_ms: None,
    }
}

fn pending(tasks: Vec<PendingTask>) -> PendingTasks {
    PendingTasks {
        total: tasks.len() as u64,
        tasks,
        kinds: Vec::new(),
    }
}

fn waiting(in_queue_ms: &[u64]) -> PendingTasks {
    let all = in_queue_ms
        .iter()
        .map(|&ms| task("create-index [logs-7], cause [api]", "URGENT", ms, false));
    pending(all.collect())
}

fn thread(frames: &[&str], cpu_percent: Option<f64>, source: ThreadSource) -> MasterThreads {
    seen_in(frames, cpu_percent, source, 8, 10)
}

fn seen_in(
    frames: &[&str],
    cpu_percent: Option<f64>,
    source: ThreadSource,
    seen: u32,
    snapshots: u32,
) -> MasterThreads {
    MasterThreads {
        source,
        interval_ms: Some(500),
        threads: vec![HotThread {
            node: None,
            pool: "masterService#updateTask".to_owned(),
            cpu_percent,
            stacks: vec![ThreadStack {
                seen,
                snapshots,
                complete: true,
                frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
                state: None,
                lock_holder: None,
            }],
        }],
    }
}

fn live(frame: &str) -> MasterThreads {
    thread(&[frame], Some(99.1), ThreadSource::HotThreads)
}

fn check_on(
    cluster: TestCluster,
    pending: PendingTasks,
    threads: Option<MasterThreads>,
) -> Outcome {
    let outcome = cluster
        .with(|cluster| {
            cluster.pending_tasks = Some(pending);
            cluster.master_threads = threads;
        })
        .check(&RULE);
    assert_well_formed(&outcome);
    outcome
}

fn check_of(in_queue_ms: &[u64], threads: Option<MasterThreads>) -> Outcome {
    check_on(TestCluster::new(), waiting(in_queue_ms), threads)
}

/// The texts and commands of all remedies.
fn ways_out(outcome: &Outcome) -> String {
    let remedies = only(outcome).remedy.iter();
    let texts = remedies.flat_map(|remedy| [Some(&remedy.text), remedy.command.as_ref()]);
    let texts: Vec<&str> = texts.flatten().map(String::as_str).collect();
    texts.join("\n")
}

#[test]
fn waiting_changes_and_a_scanning_thread_are_an_error() {
    let outcome = check_of(&[120, 45_000, 3], Some(live(SCAN)));
    let finding = only(&outcome);
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(
        finding.title,
        "the master is busy placing shards: changes wait for 45 s"
    );
    assert!(
        finding
            .why
            .contains("in 8 of 10 snapshots. That is the scan of ES001.")
    );
    let last = finding.evidence.last().expect("evidence");
    assert_eq!(
        last.value,
        "99 % of a processor, in RoutingNode.shardsWithState"
    );
    assert!(finding.remedy[0].text.contains("7.6.0"));
}

#[test]
fn a_master_that_waits_for_its_disk() {
    let threads = |seen| {
        seen_in(
            FSYNC_OF_STATE,
            Some(0.4),
            ThreadSource::HotThreads,
            seen,
            10,
        )
    };
    // Before anything waits; then with what waits for it.
    for (in_queue_ms, severity, title) in [
        (vec![], Severity::Warning, "the master waits for its disk"),
        (
            vec![45_000],
            Severity::Error,
            "the master waits for its disk: changes wait for 45 s",
        ),
    ] {
        let outcome = check_of(&in_queue_ms, Some(threads(10)));
        let finding = only(&outcome);
        assert_eq!(finding.severity, severity);
        assert_eq!(finding.title, title);
        assert!(
            finding.why.contains("in 10 of 10 snapshots"),
            "{}",
            finding.why
        );
        assert!(
            finding.why.contains("stands still stops all of them"),
            "{}",
            finding.why
        );
        let values: Vec<&str> = finding
            .evidence
            .iter()
            .map(|evidence| evidence.value.as_str())
            .collect();
        assert!(
            values.contains(
                &"0 % of a processor, in FileDispatcherImpl.force0 below \
                  PersistedClusterStateService$Writer.commit"
            ),
            "{values:?}"
        );
        assert!(
            values.contains(&"/data/es on /data (/dev/nvme0n1), xfs"),
            "{values:?}"
        );
        let ways_out = ways_out(&outcome);
        assert!(ways_out.contains("busy on es-1"), "{ways_out}");
        assert!(
            ways_out.contains("trimtab explain iostat.log"),
            "{ways_out}"
        );
        assert!(ways_out.contains("dedicated masters (ES007)"), "{ways_out}");
    }
    // A busy master writes a state now and then.
    for seen in [1, 4] {
        assert_eq!(check_of(&[], Some(threads(seen))), Outcome::default());
    }
    // What waits is then not said to wait for it, but it is reported.
    let outcome = check_of(&[45_000], Some(threads(3)));
    let finding = only(&outcome);
    assert_eq!(finding.title, "changes wait for the master for 45 s");
    assert!(
        finding.why.contains("in 3 of 10 snapshots"),
        "{}",
        finding.why
    );
}

#[test]
fn a_dump_of_a_waiting_master_is_a_hint() {
    let dump = ThreadSource::ThreadDumpFile("jstack.txt".to_owned());
    let threads = seen_in(FSYNC_OF_STATE, None, dump, 1, 1);
    let outcome = check_of(&[], Some(threads));
    assert_eq!(only(&outcome).severity, Severity::Info);
}

#[test]
fn a_dedicated_master_moves_its_data_path() {
    let cluster = TestCluster::new().nodes([node("es-1", &["master"])]);
    let threads = thread(FSYNC_OF_STATE, None, ThreadSource::HotThreads);
    let outcome = check_on(cluster, waiting(&[]), Some(threads));
    let ways_out = ways_out(&outcome);
    assert!(ways_out.contains("Move its data path"), "{ways_out}");
    assert!(!ways_out.contains("ES007"), "{ways_out}");
}

#[test]
fn what_the_host_of_the_master_has_is_named() {
    use crate::test_host::{TestHost, nvme};
    use crate::test_jobs::{fstrim_timer, jobs, with_state};
    use crate::{Budget, NamedHost, Selection, Subject, run_on};
    use facts::host::EnabledState;
    let host = |name: &str| {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .device(nvme("nvme1n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .mount("/srv", "nvme1n1", "xfs", "rw,discard")
            .elasticsearch("/data/es")
            .with(jobs(vec![with_state(
                fstrim_timer(),
                EnabledState::Disabled,
                Some(false),
            )]))
            .with(|host| host.platform.host_name = Some(name.to_owned()))
            .build()
    };
    let (master, other) = (host("es-1"), host("es-2"));
    let hosts = [("es-2", &other), ("es-1", &master)].map(|(name, host)| NamedHost { name, host });
    let cluster = TestCluster::new()
        .with(|cluster| {
            cluster.master_threads = Some(seen_in(
                FSYNC_OF_STATE,
                None,
                ThreadSource::HotThreads,
                10,
                10,
            ));
        })
        .build();
    let subject = Subject {
        hosts: &hosts,
        cluster: Some(&cluster),
    };
    let outcome = run_on(subject, &Selection::default(), Budget::unlimited());
    let of_rule = |rule: &str| {
        let mut findings = outcome.findings.iter();
        findings.find(|finding| finding.rule == rule)
    };
    let finding = of_rule("ES003").expect("a finding");
    let named: Vec<&str> = finding
        .evidence
        .iter()
        .filter_map(|evidence| evidence.source.strip_prefix("host "))
        .collect();
    // No job trims the data. What concerns the other filesystem alone is not named.
    assert!(
        named.iter().any(|named| named.starts_with("es-1: TRIM00")),
        "{finding:#?}"
    );
    assert!(
        named.iter().all(|named| named.starts_with("es-1: ")),
        "{named:?}"
    );
    assert!(of_rule("TRIM005").is_some(), "{:#?}", outcome.findings);
    assert!(
        !named.iter().any(|named| named.contains("TRIM005")),
        "{named:?}"
    );
}

#[test]
fn it_is_said_whose_thread_it_is() {
    let file = || ThreadSource::HotThreadsFile("hot.txt".to_owned());
    let why = |node: Option<&str>, master: Option<&str>| {
        let mut threads = thread(FSYNC_OF_STATE, None, file());
        threads.threads[0].node = node.map(str::to_owned);
        let cluster = TestCluster::new().with(|cluster| {
            cluster.master = master.map(str::to_owned);
        });
        let outcome = check_on(cluster, waiting(&[45_000]), Some(threads));
        only(&outcome).why.clone()
    };
    for (node, master, expected) in [
        (Some("es-1"), Some("id-es-1"), None),
        (
            Some("es-2"),
            None,
            Some("Which node is the master is not known; the thread is one of es-2."),
        ),
        (
            Some("es-2"),
            Some("id-es-1"),
            Some("The thread is one of es-2, which was the master then."),
        ),
        (
            None,
            Some("id-es-1"),
            Some("The file does not say which node's thread it is."),
        ),
    ] {
        let why = why(node, master);
        match expected {
            Some(expected) => assert!(why.contains(expected), "{why}"),
            None => assert!(!why.contains("thread is one of"), "{why}"),
        }
    }
}

#[test]
fn where_the_server_tells_a_change_that_just_began_is_not_held() {
    let mut tasks = vec![task("create-index [a]", "URGENT", 120 * MINUTE_MS, true)];
    tasks[0].executing_ms = Some(3_000);
    let outcome = check_on(TestCluster::new(), pending(tasks.clone()), None);
    assert_eq!(only(&outcome).title, "changes wait for the master for 2 h");
    tasks[0].executing_ms = Some(90 * MINUTE_MS);
    let outcome = check_on(TestCluster::new(), pending(tasks), None);
    let finding = only(&outcome);
    assert!(
        finding.title.starts_with("the master is stuck"),
        "{}",
        finding.title
    );
    assert!(
        finding
            .why
            .contains("It has been executing for 1 h 30 min."),
        "{}",
        finding.why
    );
}

#[test]
fn the_threads_of_other_nodes_are_not_the_masters() {
    let file = ThreadSource::HotThreadsFile("hot.txt".to_owned());
    let mut threads = thread(FSYNC_OF_STATE, None, file);
    // A thread that makes changes is that of a master, if of an earlier one.
    threads.threads[0].node = Some("es-2".to_owned());
    let outcome = check_of(&[45_000], Some(threads.clone()));
    assert!(
        only(&outcome)
            .title
            .starts_with("the master waits for its disk")
    );
    assert!(ways_out(&outcome).contains("busy on es-2"));
    threads.threads[0].pool = "generic".to_owned();
    let outcome = check_of(&[45_000], Some(threads.clone()));
    assert!(
        only(&outcome)
            .why
            .contains("What keeps it busy is not known")
    );
    assert!(
        outcome.skipped[0].why.contains("than the master, es-1"),
        "{outcome:?}"
    );
    threads.threads[0].node = Some("es-1".to_owned());
    let outcome = check_of(&[45_000], Some(threads));
    assert!(
        only(&outcome)
            .title
            .starts_with("the master waits for its disk")
    );
    assert_eq!(outcome.skipped, []);
}

#[test]
fn three_causes_have_three_cures() {
    // A processor's worth of each, and a change that waits.
    let balancer = |version| {
        let cluster = TestCluster::new().opensearch(version);
        check_on(cluster, waiting(&[45_000]), Some(live(BALANCER)))
    };
    let outcome = balancer("2.19.1");
    assert_eq!(
        only(&outcome).title,
        "the master is busy balancing shards: changes wait for 45 s"
    );
    assert!(ways_out(&outcome).contains("allocator_timeout"));
    let outcome = balancer("2.11.0");
    assert!(!ways_out(&outcome).contains("allocator_timeout"));
    assert!(ways_out(&outcome).contains("Upgrade to OpenSearch 2.17"));

    let cluster = TestCluster::new().opensearch("2.11.0").with(|cluster| {
        if let Some(shards) = &mut cluster.shards {
            shards.unassigned = 1200;
            shards.unassigned_reasons = [("NODE_LEFT", 1000), ("ALLOCATION_FAILED", 200)]
                .map(|(reason, copies)| (reason.to_owned(), copies))
                .into();
        }
    });
    let outcome = check_on(cluster, waiting(&[45_000]), Some(live(UNASSIGNED)));
    let finding = only(&outcome);
    assert_eq!(
        finding.title,
        "the master is busy with unassigned shards: changes wait for 45 s"
    );
    assert!(ways_out(&outcome).contains("_cluster/allocation/explain"));
    let values = finding
        .evidence
        .iter()
        .map(|evidence| evidence.value.as_str());
    assert!(
        values
            .into_iter()
            .any(|value| value == "1200 (1000 NODE_LEFT, 200 ALLOCATION_FAILED)"),
        "{:?}",
        finding.evidence
    );

    let computing = |version, in_queue_ms: &[u64]| {
        let mut threads = live(COMPUTER);
        threads.threads[0].pool = "generic".to_owned();
        let cluster = TestCluster::new().version(version);
        check_on(cluster, waiting(in_queue_ms), Some(threads))
    };
    let outcome = computing("8.15.0", &[]);
    let finding = only(&outcome);
    assert_eq!(finding.severity, Severity::Info);
    assert_eq!(
        finding.title,
        "the master was seen computing the desired balance"
    );
    assert!(
        finding.why.contains("changes do not wait for it."),
        "{}",
        finding.why
    );
    assert!(
        finding.why.contains("before 8.17") && !finding.why.contains("new fields"),
        "{}",
        finding.why
    );
    let later = computing("8.17.0", &[]);
    assert!(only(&later).why.contains("for 1 s at most"));
    let cures = ways_out(&outcome);
    assert!(cures.contains("8.18") && cures.contains("_internal/desired_balance"));
    assert!(!ways_out(&computing("8.18.1", &[])).contains("Upgrade"));
    // It is not what changes wait for.
    let outcome = computing("8.15.0", &[45_000]);
    assert_eq!(only(&outcome).title, "changes wait for the master for 45 s");
}

#[test]
fn what_is_set_already_is_not_advised() {
    for (key, value, cure) in [
        (
            "cluster.routing.allocation.balanced_shards_allocator.allocator_timeout",
            "30s",
            "20s",
        ),
        (
            "cluster.routing.allocation.balance.threshold",
            "2.0",
            "Balance less exactly",
        ),
    ] {
        let cluster = || TestCluster::new().opensearch("2.19.1");
        let without = check_on(cluster(), waiting(&[45_000]), Some(live(BALANCER)));
        assert!(ways_out(&without).contains(cure), "{cure}");
        let set = cluster().setting(SettingOrigin::Persistent, key, value);
        let with = check_on(set, waiting(&[45_000]), Some(live(BALANCER)));
        assert!(!ways_out(&with).contains(cure), "{cure}");
    }
}

#[test]
fn a_change_that_does_not_end_is_no_load() {
    let mut tasks = vec![task(
        "put-mapping [logs-7/KBz7]",
        "HIGH",
        120 * MINUTE_MS,
        true,
    )];
    tasks.extend((1..=40).map(|n| task("create-index [a]", "URGENT", n * 2 * MINUTE_MS, false)));
    let outcome = check_on(TestCluster::new(), pending(tasks), None);
    let finding = only(&outcome);
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(
        finding.title,
        "the master is stuck: one change has not ended for 2 h"
    );
    for part in [
        "queued 2 h ago: put-mapping [logs-7/KBz7].",
        "executing for 1 h 20 min at least",
        "40 changes wait behind it.",
    ] {
        assert!(finding.why.contains(part), "{part}: {}", finding.why);
    }
    assert!(ways_out(&outcome).contains("insert_order"));
    // Behind it only what is less urgent: it may have waited as long, and begun a moment ago.
    let mut tasks = vec![task("put-mapping [a]", "HIGH", 120 * MINUTE_MS, true)];
    tasks.extend((1..=40).map(|n| task("ilm-x", "NORMAL", n * 2 * MINUTE_MS, false)));
    let outcome = check_on(TestCluster::new(), pending(tasks), None);
    assert_eq!(
        only(&outcome).title,
        "the master may be stuck: one change has not ended for 2 h"
    );
    // With its cause.
    let tasks = vec![task("node-join[x]", "URGENT", 120 * MINUTE_MS, true)];
    let threads = thread(FSYNC_OF_STATE, None, ThreadSource::HotThreads);
    let outcome = check_on(TestCluster::new(), pending(tasks), Some(threads));
    assert_eq!(
        only(&outcome).title,
        "the master waits for its disk: one change has not ended for 2 h"
    );
}

#[test]
fn a_flood_is_named_by_its_kind() {
    let flood = |waiting: u64, oldest_ms| {
        let mut tasks = pending(vec![task("put-mapping [a/b]", "HIGH", oldest_ms, false)]);
        tasks.total = waiting;
        tasks.kinds = vec![PendingKind {
            kind: "put-mapping".to_owned(),
            priority: "HIGH".to_owned(),
            waiting,
            oldest_ms,
        }];
        check_on(TestCluster::new(), tasks, None)
    };
    let outcome = flood(900, 45_000);
    let finding = only(&outcome);
    assert_eq!(
        finding.title,
        "changes wait for the master for 45 s: 900 of 900 are put-mapping"
    );
    assert!(ways_out(&outcome).contains("turn off dynamic mapping"));
    // Few of them are none; many that are done at once are none either.
    let few = flood(3, 45_000);
    assert_eq!(only(&few).title, "changes wait for the master for 45 s");
    assert_eq!(flood(900, 4_000).findings, []);
}

#[test]
fn urgent_changes_that_overtake_are_told() {
    let kind = |kind: &str, priority: &str, waiting, oldest_ms| PendingKind {
        kind: kind.to_owned(),
        priority: priority.to_owned(),
        waiting,
        oldest_ms,
    };
    let mut tasks = pending(vec![task("put-mapping [a/b]", "HIGH", 240_000, false)]);
    tasks.total = 301;
    tasks.kinds = vec![
        kind("shard-started", "URGENT", 300, 3_000),
        kind("put-mapping", "HIGH", 1, 240_000),
    ];
    let outcome = check_on(TestCluster::new(), tasks, None);
    let finding = only(&outcome);
    assert!(
        finding.why.contains(
            "URGENT goes before HIGH: put-mapping waits for 4 min while newer shard-started \
             overtakes it."
        ),
        "{}",
        finding.why
    );
    let kinds = finding
        .evidence
        .iter()
        .find(|evidence| evidence.source.ends_with("by kind"));
    assert_eq!(
        kinds.expect("kinds").value,
        "300 shard-started, 1 put-mapping"
    );
}

#[test]
fn other_waits_are_causes_only_while_changes_wait() {
    let publishing: &[&str] = &[
        "jdk.internal.misc.Unsafe.park",
        "org.opensearch.cluster.service.MasterService.publish",
    ];
    let threads = || Some(thread(publishing, Some(0.0), ThreadSource::HotThreads));
    // An ordinary master spends most of its time so.
    assert_eq!(check_of(&[100], threads()), Outcome::default());
    let outcome = check_of(&[45_000], threads());
    assert_eq!(
        only(&outcome).title,
        "the master waits for other nodes: changes wait for 45 s"
    );
    assert!(ways_out(&outcome).contains("still waiting"));
}

#[test]
fn waiting_alone_is_reported_without_a_cause() {
    let outcome = check_of(&[5_000], None);
    let finding = only(&outcome);
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.title, "changes wait for the master for 5 s");
    assert!(finding.why.contains("What keeps it busy is not known"));
    assert_eq!(outcome.skipped.len(), 1);
}

#[test]
fn a_busy_thread_alone_is_a_warning() {
    for (cpu, severity) in [
        (Some(80.0), Severity::Warning),
        (Some(20.0), Severity::Info),
        (None, Severity::Info),
    ] {
        let dump = ThreadSource::ThreadDumpFile("jstack.txt".to_owned());
        let outcome = check_of(&[], Some(thread(&[BALANCER], cpu, dump)));
        let finding = only(&outcome);
        assert_eq!(finding.severity, severity, "{cpu:?}");
        assert_eq!(finding.title, "the master was seen balancing shards");
        let last = finding.evidence.last().expect("evidence");
        assert!(last.source.starts_with("thread dump in jstack.txt"));
    }
}

#[test]
fn health_gives_the_wait_if_tasks_are_unknown() {
    let outcome = TestCluster::new()
        .with(|cluster| {
            cluster.pending_tasks = None;
            cluster.health = Some(Health {
                status: HealthStatus::Green,
                in_flight_fetches: 0,
                max_task_wait_ms: 31_000,
            });
        })
        .check(&RULE);
    assert_well_formed(&outcome);
    assert_eq!(only(&outcome).severity, Severity::Error);
    assert!(outcome.skipped.is_empty());
}

#[test]
fn a_quiet_master_is_silent() {
    for frame in ["org.apache.lucene.index.X.y", ""] {
        let outcome = check_of(&[4_999, 10], Some(live(frame)));
        assert_eq!(outcome, Outcome::default());
    }
    assert_eq!(TestCluster::new().check(&RULE), Outcome::default());
}

#[test]
fn without_answers_it_is_skipped() {
    let outcome = TestCluster::new()
        .with(|cluster| {
            cluster.pending_tasks = None;
            cluster.master_threads = None;
        })
        .check(&RULE);
    assert_well_formed(&outcome);
    assert!(outcome.findings.is_empty());
    assert_eq!(outcome.skipped.len(), 2);
}
