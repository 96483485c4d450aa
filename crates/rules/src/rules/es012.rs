//! # ES012: a node's threads wait for its disk
//!
//! ## What it finds
//! Three or more threads of one node that wait until their files are on disk: translogs, retention
//! leases, segments, the cluster state. With `--hot-threads FILE` of `GET /_nodes/hot_threads` all nodes
//! are looked at, without it the master only.
//!
//! ## Why it hurts
//! Each of them waits for the same disk, which takes writes slower than they come, or not at all. A
//! write that asks for durability waits with them. Where it is the few threads of the pool `management`,
//! the node answers no statistics either, and looks dead to whoever monitors it.
//!
//! ## Evidence
//! The threads by pool, the share of snapshots in which they were in an fsync, and the data path.
//!
//! ## Remedy
//! Find what keeps the disk busy: a trim, a RAID check, merges, another store on the same drive; or a
//! drive that fails.
//!
//! ## Risk
//! None.
//!
//! ## When it is silent
//! Below three threads, and where each was in an fsync in less than half of the snapshots. Threads that
//! write documents sync after each request: they count only if all snapshots show that, and not in a
//! thread dump, which is a single snapshot. It is a note, since a moment proves little about a
//! disk; ES003 reports a master whose cluster state waits.
//!
//! ## References
//! - OpenSearch issue 14608 (five management threads in fsync of translogs and retention leases)
//! - Elasticsearch pull request 42299 (retention leases are not written again if nothing changed)

use crate::cluster::ClusterContext;
use crate::cluster::frames::{self, Seen};
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::rules::es003::{data_paths, found_on_host, source_name};
use crate::shell::printable;
use facts::cluster::{ClusterNode, MasterThreads, ThreadSource};
use facts::{Remedy, Severity};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RULE: Rule = Rule {
    id: "ES012",
    title: "a node's threads wait for its disk",
    source: include_str!("es012.rs"),
    check: Check::Cluster(check),
};

/// Number of waiting threads from which it is not chance.
const THREADS_MIN: usize = 3;
/// Pools whose work is to write documents.
const WRITERS: &[&str] = &["write", "bulk", "index", "system_write"];

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let Some(threads) = &cx.cluster.master_threads else {
        out.skip(
            RULE.id,
            "the threads of no node are known",
            Some("an answer to GET /_nodes/hot_threads, or a thread dump"),
        );
        return;
    };
    let nodes: BTreeSet<Option<&str>> = threads
        .threads
        .iter()
        .map(|thread| thread.node.as_deref())
        .collect();
    for node in nodes {
        let own = threads
            .threads
            .iter()
            .filter(|thread| thread.node.as_deref() == node);
        let waiting: Vec<Seen<'_>> = frames::waiting_for_disk(own).filter(counts).collect();
        if waiting.len() >= THREADS_MIN {
            report(cx, threads, node, &waiting, out);
        }
    }
}

/// Whether a thread's wait is more than its ordinary work.
fn counts(seen: &Seen<'_>) -> bool {
    let is_writer = WRITERS.contains(&seen.thread.pool.as_str());
    !is_writer || (seen.snapshots > 1 && seen.hits >= seen.snapshots)
}

fn report(
    cx: &ClusterContext<'_>,
    threads: &MasterThreads,
    node: Option<&str>,
    waiting: &[Seen<'_>],
    out: &mut Outcome,
) {
    // Asked live, it is the master that answered.
    let known: Option<&ClusterNode> = match (node, &threads.source) {
        (Some(name), _) => cx.node_named(name),
        (None, ThreadSource::HotThreads) => cx.cluster.master_node(),
        (None, _) => None,
    };
    let name = node.or(known.map(|known| known.name.as_str()));
    let mut pools: BTreeMap<&str, usize> = BTreeMap::new();
    for seen in waiting {
        *pools.entry(seen.thread.pool.as_str()).or_default() += 1;
    }
    let number = waiting.len();
    let mut finding = cx.about_cluster(
        &RULE,
        Severity::Info,
        format!("{number} threads wait for one disk"),
    );
    finding.subject = name.map_or_else(
        || "a node of unknown name".to_owned(),
        |name| format!("node {}", printable(name)),
    );
    let is_management = pools.contains_key("management");
    finding.why = format!(
        "They wait until their files are on disk: it takes writes slower than they come, or not at \
         all.{}",
        if is_management {
            " Threads of the pool management also answer statistics, so the node may look dead to \
             whoever monitors it."
        } else {
            ""
        }
    );
    let source = match threads.source {
        ThreadSource::HotThreads => "GET /_nodes/_master/hot_threads".to_owned(),
        ref other => source_name(other),
    };
    for (pool, number) in &pools {
        let of_pool = || waiting.iter().filter(|seen| seen.thread.pool == *pool);
        let often = of_pool().map(|seen| (seen.hits, seen.snapshots)).min();
        let (hits, snapshots) = often.unwrap_or_default();
        let first = of_pool().next();
        let frame = first.map_or("", |seen| seen.frame);
        finding.add_evidence(
            format!("{source}: {}", printable(pool)),
            format!(
                "{} in an fsync, in at least {hits} of {}, below {}",
                units::count(*number as u64, "thread"),
                units::count(u64::from(snapshots), "snapshot"),
                printable(frame)
            ),
        );
    }
    finding.evidence.extend(data_paths(known));
    finding.evidence.extend(found_on_host(cx, known));
    finding.add_remedy(Remedy::command(
        "See what keeps that disk busy on this node: `trimtab check` there lists what trims, checks and \
         shares the drive; while threads wait, a log of the disks shows bursts of discards or writes.",
        "iostat -xt 3 100 > iostat.log\ntrimtab explain iostat.log",
    ));
    out.findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::{TestCluster, assert_well_formed};
    use crate::test_host::only;
    use facts::cluster::{HotThread, ThreadStack};

    /// A thread that was in an fsync of a retention lease this often.
    fn thread(node: Option<&str>, pool: &str, seen: u32, snapshots: u32) -> HotThread {
        let stack = |seen, frames: &[&str]| ThreadStack {
            seen,
            snapshots,
            complete: true,
            frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
            state: None,
            lock_holder: None,
        };
        HotThread {
            node: node.map(str::to_owned),
            pool: pool.to_owned(),
            cpu_percent: Some(0.1),
            stacks: vec![
                stack(
                    seen,
                    &[
                        "sun.nio.ch.FileDispatcherImpl.force0",
                        "org.opensearch.gateway.MetadataStateFormat.writeAndCleanup",
                        "org.opensearch.index.seqno.ReplicationTracker.persistRetentionLeases",
                    ],
                ),
                stack(snapshots - seen, &["java.lang.Thread.run"]),
            ],
        }
    }

    fn check_of(source: ThreadSource, threads: Vec<HotThread>) -> Outcome {
        let outcome = TestCluster::new()
            .with(|cluster| {
                cluster.master_threads = Some(MasterThreads {
                    source,
                    interval_ms: Some(500),
                    threads,
                });
            })
            .check(&RULE);
        assert_well_formed(&outcome);
        outcome
    }

    fn file() -> ThreadSource {
        ThreadSource::HotThreadsFile("hot.txt".to_owned())
    }

    #[test]
    fn management_threads_in_fsync_are_a_note() {
        let threads = (6..=10).map(|seen| thread(Some("es-2"), "management", seen, 10));
        let outcome = check_of(file(), threads.collect());
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.subject, "node es-2");
        assert_eq!(finding.title, "5 threads wait for one disk");
        assert!(finding.why.contains("may look dead"), "{}", finding.why);
        assert_eq!(
            finding.evidence[1].value,
            "5 threads in an fsync, in at least 6 of 10 snapshots, below \
             ReplicationTracker.persistRetentionLeases"
        );
        assert_eq!(
            finding.evidence[2].value,
            "/data/es on /data (/dev/nvme0n1), xfs"
        );
    }

    #[test]
    fn a_dump_of_an_unknown_node_is_enough() {
        let dump = ThreadSource::ThreadDumpFile("jstack.txt".to_owned());
        let threads = (0..5).map(|_| thread(None, "management", 1, 1));
        let outcome = check_of(dump, threads.collect());
        assert_eq!(only(&outcome).subject, "a node of unknown name");
    }

    #[test]
    fn each_node_is_judged_alone() {
        let threads = ["es-1", "es-2", "es-3", "es-4"];
        let threads = threads.map(|node| thread(Some(node), "management", 10, 10));
        assert_eq!(check_of(file(), threads.to_vec()), Outcome::default());
        let threads = ["es-1", "es-2"]
            .into_iter()
            .flat_map(|node| (0..3).map(move |_| thread(Some(node), "generic", 10, 10)));
        assert_eq!(check_of(file(), threads.collect()).findings.len(), 2);
    }

    #[test]
    fn writers_wait_by_profession() {
        let all = |seen, snapshots| {
            let threads = (0..13).map(|_| thread(Some("es-1"), "write", seen, snapshots));
            check_of(file(), threads.collect())
        };
        for outcome in [all(9, 10), all(1, 1)] {
            assert_eq!(outcome, Outcome::default());
        }
        // A disk that stands still shows in them, too, and the more the clearer.
        assert_eq!(only(&all(10, 10)).title, "13 threads wait for one disk");
    }

    #[test]
    fn ordinary_nodes_are_silent() {
        let few = (0..2).map(|_| thread(None, "management", 10, 10));
        let seldom = (0..5).map(|_| thread(None, "management", 4, 10));
        for threads in [few.collect(), seldom.collect(), Vec::new()] {
            assert_eq!(
                check_of(ThreadSource::HotThreads, threads),
                Outcome::default()
            );
        }
    }

    #[test]
    fn unknown_threads_are_skipped() {
        let outcome = TestCluster::new()
            .with(|cluster| cluster.master_threads = None)
            .check(&RULE);
        assert_well_formed(&outcome);
        assert!(outcome.findings.is_empty());
        assert_eq!(outcome.skipped.len(), 1);
    }
}
