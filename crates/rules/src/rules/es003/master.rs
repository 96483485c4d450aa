//! What is known of a master: its queue and its threads.

use crate::cluster::ClusterContext;
use crate::cluster::frames::{self, Seen, Work};
use crate::cluster::queue::{Held, Queue};
use crate::outcome::Outcome;
use crate::rule::Rule;
use crate::shell::printable;
use facts::Severity;
use facts::cluster::{ClusterNode, MasterThreads, ThreadSource};

/// From when on a wait is worth telling, in milliseconds.
const WARNING_MS: u64 = 5_000;
/// Percent of a CPU.
const BUSY_PERCENT: f64 = 50.0;

/// What is known of the master.
pub(super) struct Master<'a> {
    pub queue: Option<Queue<'a>>,
    /// Whether it is known how long changes wait.
    pub waits_known: bool,
    /// For how long the oldest change has been waiting or executing, if that is long.
    pub waits_ms: Option<u64>,
    pub held: Option<Held<'a>>,
    /// Whose threads are known.
    pub threads: Option<&'a MasterThreads>,
    /// What they were seen doing that explains most.
    pub seen: Option<Seen<'a>>,
}

impl<'a> Master<'a> {
    pub(super) fn of(cx: &ClusterContext<'a>, rule: &Rule, out: &mut Outcome) -> Self {
        let cluster = cx.cluster;
        let queue = cluster.pending_tasks.as_ref().map(Queue::of);
        let oldest_ms = queue.map(|queue| queue.oldest().map_or(0, |task| task.in_queue_ms));
        let health = cluster.health.as_ref();
        let waited_ms = oldest_ms.max(health.map(|health| health.max_task_wait_ms));
        if waited_ms.is_none() {
            let what = "what waits for the master";
            let _: Option<()> = cx.or_skip(None, rule, what, "/_cluster/pending_tasks", out);
        }
        let threads = threads_or_skip(cx, rule, out);
        let name = threads.and_then(|threads| master_of(cx, threads));
        let seen = threads.map(|threads| frames::of_master(frames::of_node(threads, name)));
        // What other files wait for the disk is for ES012.
        let seen = seen.into_iter().flatten();
        let seen: Vec<Seen<'_>> = seen.filter(|seen| seen.work != Work::NodeDisk).collect();
        let waits_ms = waited_ms.filter(|&ms| ms >= WARNING_MS);
        let held = queue.and_then(Queue::held);
        let explains = |seen: &&Seen<'_>| {
            if waits_ms.is_some() || held.is_some() {
                is_cause(seen)
            } else {
                severity_of(seen).is_some()
            }
        };
        let seen = seen.iter().find(explains).or(seen.first()).cloned();
        Self {
            queue,
            waits_known: waited_ms.is_some(),
            waits_ms,
            held,
            threads,
            seen,
        }
    }

    /// Returns what the master does or waits for if that explains why changes wait.
    pub(super) fn cause(&self) -> Option<&Seen<'a>> {
        self.seen.as_ref().filter(|seen| is_cause(seen))
    }
}

/// Returns the severity of what a thread does if no change waits for long; `None` if that is ordinary.
pub(super) fn severity_of(seen: &Seen<'_>) -> Option<Severity> {
    let is_busy = seen
        .thread
        .cpu_percent
        .is_some_and(|cpu| cpu >= BUSY_PERCENT);
    match seen.work {
        Work::StateDisk if !seen.is_usual() => None,
        Work::StateDisk if seen.snapshots > 1 => Some(Severity::Warning),
        work if work.is_placing() && is_busy => Some(Severity::Warning),
        work if work.is_placing() => Some(Severity::Info),
        Work::StateDisk | Work::DesiredBalance => Some(Severity::Info),
        _ => None,
    }
}

/// Whether changes wait for what was seen.
fn is_cause(seen: &Seen<'_>) -> bool {
    match seen.work {
        Work::DesiredBalance | Work::NodeDisk => false,
        work => work.is_placing() || seen.is_usual(),
    }
}

/// Returns the name of the node whose threads are the master's: the master's own, or if it is not among
/// them that of a node whose thread made changes, which was the master then. `None` if neither is known.
fn master_of<'a>(cx: &ClusterContext<'a>, threads: &'a MasterThreads) -> Option<&'a str> {
    let known = cx.cluster.master_node().map(|node| node.name.as_str());
    if frames::of_node(threads, known).next().is_some() {
        return known;
    }
    let mut masters = threads.threads.iter().filter(|thread| {
        let is_at_work = || !frames::of_master(std::iter::once(*thread)).is_empty();
        frames::is_master_thread(thread) && is_at_work()
    });
    masters.find_map(|thread| thread.node.as_deref()).or(known)
}

/// Returns the threads of the master, or records that they are not known.
fn threads_or_skip<'a>(
    cx: &ClusterContext<'a>,
    rule: &Rule,
    out: &mut Outcome,
) -> Option<&'a MasterThreads> {
    const NEEDS: &str = "an answer to GET /_nodes/_master/hot_threads, or a thread dump";
    let Some(threads) = cx.cluster.master_threads.as_ref() else {
        let why = "the threads of the master are not known";
        out.skip(rule.id, why, Some(NEEDS));
        return None;
    };
    let name = master_of(cx, threads);
    if !threads.threads.is_empty() && frames::of_node(threads, name).next().is_none() {
        let why = format!(
            "the {} are those of other nodes than the master, {}",
            source_name(&threads.source),
            printable(name.unwrap_or_default())
        );
        out.skip(rule.id, why, Some(NEEDS));
        return None;
    }
    Some(threads)
}

/// Describes where threads come from.
pub(in crate::rules) fn source_name(source: &ThreadSource) -> String {
    match source {
        ThreadSource::HotThreads => "hot threads".to_owned(),
        ThreadSource::HotThreadsFile(file) => format!("hot threads in {}", printable(file)),
        ThreadSource::ThreadDumpFile(file) => format!("thread dump in {}", printable(file)),
    }
}

/// Returns the node on which something was seen.
pub(super) fn seen_on<'a>(cx: &ClusterContext<'a>, seen: &Seen<'_>) -> Option<&'a ClusterNode> {
    match seen.thread.node.as_deref() {
        Some(name) => cx.node_named(name),
        None => cx.cluster.master_node(),
    }
}
