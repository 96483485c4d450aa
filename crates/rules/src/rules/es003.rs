//! # ES003: the master is busy placing shards
//!
//! ## What it finds
//! Changes that wait for the master for 5 s or longer, and a master whose threads are in the
//! allocator, according to the frames of its hot threads or of a thread dump.
//!
//! ## Why it hurts
//! The master makes one change of the cluster state after the other. While it works on one, the
//! creation of an index, a new field, a node that joins all wait; clients give up after 30 seconds
//! by default, and try again.
//!
//! ## Evidence
//! The oldest pending task and how many there are; the thread, the share of snapshots in which it was
//! in the allocator, and the frame that shows it: `RoutingNode.shardsWithState` is the scan of ES001,
//! `BalancedShardsAllocator` or `LocalShardsBalancer` the balancer, `DesiredBalanceComputer` that of
//! Elasticsearch 8.6 and later, `ReplicaShardAllocator` the search for copies.
//!
//! ## Remedy
//! For the scan, ES001. Otherwise fewer shards, and what starts reroutes less often: indices created
//! ahead and not all at midnight, mappings that do not grow with each document.
//!
//! ## Risk
//! None.
//!
//! ## When it is silent
//! Where nothing waits for 5 seconds and no busy thread is in the allocator. Waiting for 30 seconds is
//! an error, 5 seconds a warning. A thread in the allocator alone is a warning where it takes more
//! than half a processor, else an information. This is a single snapshot: run it again during an incident.
//!
//! ## References
//! - Elasticsearch reference: pending cluster tasks; nodes hot threads
//! - Elasticsearch pull requests 91343 (desired balance, 8.6) and 47817 (the scan's end, 7.6)

use crate::cluster::ClusterContext;
use crate::cluster::frames::{self, BusyThread, Work};
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use facts::cluster::{PendingTask, ThreadSource};
use facts::{Evidence, Remedy, Severity, Skipped};

pub(crate) const RULE: Rule = Rule {
    id: "ES003",
    title: "the master is busy placing shards",
    source: include_str!("es003.rs"),
    check: Check::Cluster(check),
};

/// How long clients wait for the master by default (`master_timeout`).
const ERROR_MS: u64 = 30_000;
const WARNING_MS: u64 = 5_000;
/// Percent of a CPU.
const BUSY_PERCENT: f64 = 50.0;

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let cluster = cx.cluster;
    let waited_ms = waited_ms(cx);
    let threads = cluster.master_threads.as_ref();
    if waited_ms.is_none() {
        let what = "what waits for the master";
        let _: Option<()> = cx.or_skip(None, &RULE, what, "/_cluster/pending_tasks", out);
    }
    if threads.is_none() {
        out.skipped.push(Skipped::new(
            RULE.id,
            "the threads of the master are not known",
            Some("an answer to GET /_nodes/_master/hot_threads, or a thread dump"),
        ));
    }
    let seen = threads.and_then(frames::allocating);
    let waits = waited_ms.filter(|&ms| ms >= WARNING_MS);
    let by_wait = waits.map(|ms| {
        if ms >= ERROR_MS {
            Severity::Error
        } else {
            Severity::Warning
        }
    });
    let by_thread = seen.as_ref().map(|seen| {
        let is_busy = seen
            .thread
            .cpu_percent
            .is_some_and(|cpu| cpu >= BUSY_PERCENT);
        if is_busy {
            Severity::Warning
        } else {
            Severity::Info
        }
    });
    let Some(severity) = by_wait.max(by_thread) else {
        return;
    };
    let title = match (waits, &seen) {
        (Some(ms), Some(_)) => format!(
            "the master is busy placing shards: changes wait for {}",
            seconds(ms)
        ),
        (Some(ms), None) => format!("changes wait for the master for {}", seconds(ms)),
        (None, _) => "the master was seen placing shards".to_owned(),
    };
    let mut finding = cx.about_cluster(&RULE, severity, title);
    finding.why = why(cx, waits, seen.as_ref());
    evidence(cx, waited_ms, seen.as_ref(), &mut finding.evidence);
    finding.remedy = remedies(seen.as_ref());
    out.findings.push(finding);
}

/// Returns how long the oldest change has been waiting.
fn waited_ms(cx: &ClusterContext<'_>) -> Option<u64> {
    let pending = cx.cluster.pending_tasks.as_ref();
    let oldest = pending.map(|pending| oldest(&pending.tasks).map_or(0, |task| task.in_queue_ms));
    let health = cx
        .cluster
        .health
        .as_ref()
        .map(|health| health.max_task_wait_ms);
    oldest.max(health)
}

fn oldest(tasks: &[PendingTask]) -> Option<&PendingTask> {
    tasks.iter().max_by_key(|task| task.in_queue_ms)
}

fn seconds(ms: u64) -> String {
    #[allow(clippy::cast_precision_loss)] // Shown in whole seconds.
    let seconds = ms as f64 / 1000.0;
    units::seconds(seconds)
}

fn why(cx: &ClusterContext<'_>, waits: Option<u64>, seen: Option<&BusyThread<'_>>) -> String {
    let mut why =
        "The master makes one change at a time. Meanwhile new indices, new fields and joining \
         nodes wait, and clients give up after 30 seconds by default."
            .to_owned();
    match seen {
        Some(seen) => {
            let often = if seen.snapshots > 1 {
                format!(" in {} of {} snapshots", seen.hits, seen.snapshots)
            } else {
                String::new()
            };
            let pool = printable(&seen.thread.pool);
            why = format!(
                "{why} Its thread {pool} was {}{often}.",
                seen.work.description()
            );
            if seen.work == Work::Scan {
                why.push_str(" That is the scan of ES001.");
            }
        }
        None if cx.cluster.master_threads.is_none() => {
            why.push_str(" What keeps it busy is not known.");
        }
        None => why.push_str(" None of its busy threads was seen placing shards."),
    }
    if waits.is_none() {
        why.push_str(" Nothing waited for long at that moment.");
    }
    why
}

fn evidence(
    cx: &ClusterContext<'_>,
    waited_ms: Option<u64>,
    seen: Option<&BusyThread<'_>>,
    evidence: &mut Vec<Evidence>,
) {
    if let Some(pending) = &cx.cluster.pending_tasks {
        let source = "GET /_cluster/pending_tasks";
        evidence.push(Evidence::new(source, units::count(pending.total, "task")));
        if let Some(task) = oldest(&pending.tasks) {
            evidence.push(Evidence::new(
                format!("{source}: the oldest"),
                format!(
                    "{} for {}: {}",
                    printable(&task.priority),
                    seconds(task.in_queue_ms),
                    printable(&task.source)
                ),
            ));
        }
    } else if let Some(ms) = waited_ms {
        evidence.push(Evidence::new(
            "GET /_cluster/health: task_max_waiting_in_queue_millis",
            ms,
        ));
    }
    let threads = cx.cluster.master_threads.as_ref();
    if let (Some(seen), Some(threads)) = (seen, threads) {
        let source = match &threads.source {
            ThreadSource::HotThreads => "GET /_nodes/_master/hot_threads".to_owned(),
            ThreadSource::HotThreadsFile(file) => format!("hot threads in {}", printable(file)),
            ThreadSource::ThreadDumpFile(file) => format!("thread dump in {}", printable(file)),
        };
        let cpu = seen
            .thread
            .cpu_percent
            .filter(|cpu| (0.0..1e6).contains(cpu))
            .map(|cpu| format!("{cpu:.0} % of a processor, "))
            .unwrap_or_default();
        evidence.push(Evidence::new(
            format!("{source}: {}", printable(&seen.thread.pool)),
            format!("{cpu}in {}", printable(seen.frame)),
        ));
    }
}

fn remedies(seen: Option<&BusyThread<'_>>) -> Vec<Remedy> {
    let mut all = Vec::new();
    match seen.map(|seen| seen.work) {
        Some(Work::Scan) => all.push(Remedy::advice(
            "Upgrade to 7.6.0 or later, which does not scan. ES001 lists the other remedies.",
        )),
        Some(_) => all.push(Remedy::advice(
            "Reduce the number of shards: the work of each reroute grows with them. Delete or \
             shrink old \
             indices, and give new ones fewer shards.",
        )),
        None => all.push(Remedy::advice(
            "Look at the master's threads while changes wait: GET /_nodes/_master/hot_threads, or a \
             thread dump of its process.",
        )),
    }
    all.push(Remedy::advice(
        "Make fewer changes: create indices ahead of time and not all at midnight, and avoid \
         mappings that grow with each document (index.mapping.total_fields.limit, dynamic: false).",
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;
    use facts::cluster::{
        Health, HealthStatus, HotThread, MasterThreads, PendingTasks, ThreadStack,
    };

    const SCAN: &str = "org.elasticsearch.cluster.routing.RoutingNode.shardsWithState";
    const BALANCER: &str = "org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer\
                            .balance";

    fn waiting(in_queue_ms: &[u64]) -> PendingTasks {
        PendingTasks {
            total: in_queue_ms.len() as u64,
            tasks: in_queue_ms
                .iter()
                .map(|&in_queue_ms| PendingTask {
                    source: "create-index [logs-7], cause [api]".to_owned(),
                    priority: "URGENT".to_owned(),
                    in_queue_ms,
                    executing: false,
                })
                .collect(),
        }
    }

    fn thread(frame: &str, cpu_percent: Option<f64>, source: ThreadSource) -> MasterThreads {
        MasterThreads {
            source,
            interval_ms: Some(500),
            threads: vec![HotThread {
                pool: "masterService#updateTask".to_owned(),
                cpu_percent,
                state: None,
                stacks: vec![ThreadStack {
                    seen: 8,
                    snapshots: 10,
                    complete: true,
                    frames: vec![frame.to_owned()],
                }],
            }],
        }
    }

    fn check_of(pending: &[u64], threads: Option<MasterThreads>) -> Outcome {
        let outcome = TestCluster::new()
            .with(|cluster| {
                cluster.pending_tasks = Some(waiting(pending));
                cluster.master_threads = threads;
            })
            .check(&RULE);
        assert_well_formed(&outcome);
        outcome
    }

    #[test]
    fn waiting_changes_and_a_scanning_thread_are_an_error() {
        let threads = thread(SCAN, Some(99.1), ThreadSource::HotThreads);
        let outcome = check_of(&[120, 45_000, 3], Some(threads));
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
            let outcome = check_of(&[], Some(thread(BALANCER, cpu, dump)));
            let finding = only(&outcome);
            assert_eq!(finding.severity, severity, "{cpu:?}");
            assert_eq!(finding.title, "the master was seen placing shards");
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
        let writing = thread(
            "org.apache.lucene.index.X.y",
            Some(90.0),
            ThreadSource::HotThreads,
        );
        for outcome in [
            TestCluster::new().check(&RULE),
            check_of(&[4_999, 10], Some(writing)),
        ] {
            assert_eq!(outcome, Outcome::default());
        }
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
}
