//! # ES003: the master is busy or blocked
//!
//! ## What it finds
//! Changes that wait for the master for 5 s or longer, and why: what the master's threads do or wait
//! for according to their frames, a change that does not end, a flood of changes of one kind. A master
//! that waits for its disk, or places shards, is found before anything waits for it.
//!
//! ## Why it hurts
//! The master makes one change of the cluster state after the other. While it works on one, the
//! creation of an index, a new field, a node that joins all wait; clients give up after 30 seconds
//! by default, and try again. Each change is on the master's disk before it counts: a disk that stands
//! still stops the cluster.
//!
//! ## Evidence
//! The change that executes, the oldest one that waits, and how many wait by kind. The thread, the share
//! of snapshots, and the frame that shows what it does:
//! - `PersistedClusterStateService` in an fsync (`FileDispatcherImpl.force0`): the disk.
//! - `RoutingNode.shardsWithState`: the scan of ES001.
//! - `balanceByWeights`: the balancer. `decideAllocateUnassigned`: copies that find no node.
//!   `ReplicaShardAllocator`: the search for copies.
//! - `DesiredBalanceReconciler`: moves towards the desired balance of Elasticsearch 8.6 and later.
//!   `DesiredBalanceComputer` computes it on another thread. No change waits for that; but before 8.17
//!   the shards of a new index are not assigned until it ends, from then on they wait 1 s at most.
//! - `MasterService.publish` in a parked thread: other nodes that take the new state slowly.
//! - `ClusterApplierService`: the master applies a new state itself. Any other frame below
//!   `MasterService` is named.
//!
//! A thread dump also tells which thread holds a lock that the master waits for. Elasticsearch,
//! and OpenSearch before 3.1, report how long ago a change was queued, not when it started. If a more
//! urgent change is waiting, the running one started before that was queued.
//!
//! ## Remedy
//! Fix the cause. For the disk: find what else keeps it busy (a trim, a RAID check, merges), or give
//! the master one of its own. For the scan, ES001. For the balancer, fewer shards, a higher
//! `cluster.routing.allocation.balance.threshold`, or the time limit of OpenSearch 2.17. For copies that
//! find no node, what keeps them from it. For a change that does not end, a thread dump, and another
//! master. For a flood, what sends it.
//!
//! ## Risk
//! A restart of the master costs an election; on a node with data also the recovery of its shards.
//!
//! ## When it is silent
//! Where nothing waits for 5 seconds, and no thread is seen placing shards or, in half of the snapshots,
//! waiting for the disk. Waiting for 30 seconds is an error, 5 seconds a warning; a change that executes
//! for 10 minutes (a proven one: for one) is an error. A thread that places shards is a warning where it
//! takes more than half a processor, else a note; one that waits for its disk is a warning, in a
//! single dump a note. This is a single moment: run it again during an incident.
//!
//! ## References
//! - Elasticsearch reference: pending cluster tasks; nodes hot threads
//! - Elasticsearch pull requests 91343 (desired balance, 8.6), 47817 (the scan's end, 7.6), 47005 (slow
//!   writes of the cluster state) and 94325 (the master's thread no longer waits for publications, 8.8)
//! - OpenSearch issue 1165 (a disk that stands still keeps the leader), pull request 15239 (time limit)

mod master;
mod remedies;

use crate::cluster::ClusterContext;
use crate::cluster::frames::{Seen, Work};
use crate::cluster::queue::{Held, Queue};
use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::shell::printable;
use facts::cluster::{ClusterNode, MasterThreads, ThreadSource};
use facts::{Evidence, Finding, Severity};
pub(super) use master::source_name;
use master::{Master, seen_on, severity_of};
use std::fmt::Write as _;

pub(crate) const RULE: Rule = Rule {
    id: "ES003",
    title: "the master is busy or blocked",
    source: include_str!("es003.rs"),
    check: Check::Cluster(check),
};

/// How long clients wait for the master by default (`master_timeout`).
const ERROR_MS: u64 = 30_000;
/// Maximum columns of a change's description in a sentence.
const SOURCE_COLUMNS_MAX: usize = 100;
/// Maximum number of findings of a host listed.
const FOUND_MAX: usize = 10;
/// Maximum columns of a frame in a title.
const FRAME_COLUMNS_MAX: usize = 60;
/// Maximum number of kinds of changes listed.
const KINDS_MAX: usize = 5;

fn check(cx: &ClusterContext<'_>, out: &mut Outcome) {
    let master = Master::of(cx, &RULE, out);
    let by_wait = master.waits_ms.map(|ms| {
        if ms >= ERROR_MS {
            Severity::Error
        } else {
            Severity::Warning
        }
    });
    let by_held = master.held.map(|_| Severity::Error);
    let by_thread = master.seen.as_ref().and_then(severity_of);
    let Some(severity) = by_wait.max(by_held).max(by_thread) else {
        return;
    };
    let mut finding = cx.about_cluster(&RULE, severity, master.title());
    finding.why.push_str(master.why(cx).trim_start());
    master.evidence(cx, &mut finding);
    finding.remedy = remedies::all(cx, &master);
    out.findings.push(finding);
}

impl Master<'_> {
    fn title(&self) -> String {
        let cause = self.cause().map(what);
        if let Some(held) = self.held {
            let end = format!(
                "one change has not ended for {}",
                seconds(held.task.in_queue_ms)
            );
            return match cause {
                Some(cause) => format!("{cause}: {end}"),
                None if held.is_proven() => format!("the master is stuck: {end}"),
                None => format!("the master may be stuck: {end}"),
            };
        }
        let flood = self.queue.and_then(Queue::flood);
        match (self.waits_ms, cause) {
            (Some(ms), Some(cause)) => format!("{cause}: changes wait for {}", seconds(ms)),
            (Some(ms), None) => {
                let mut title = format!("changes wait for the master for {}", seconds(ms));
                if let Some(flood) = flood {
                    let kind = source(flood.kind);
                    let _ = write!(title, ": {} of {} are {kind}", flood.waiting, flood.of);
                }
                title
            }
            (None, cause) => match &self.seen {
                Some(seen) if seen.work == Work::StateDisk => cause.unwrap_or_default(),
                Some(seen) => format!("the master was seen {}", seen.work.description()),
                // Nothing is reported then.
                None => "the master is busy".to_owned(),
            },
        }
    }

    fn why(&self, cx: &ClusterContext<'_>) -> String {
        let mut why = String::new();
        // Changes do not wait for a desired balance.
        let waits = self.waits_ms.is_some() || self.held.is_some();
        let seen = self.seen.as_ref().map(|seen| seen.work);
        if waits || seen != Some(Work::DesiredBalance) {
            why.push_str(
                "The master makes one change at a time. Meanwhile new indices, new fields and \
                 joining nodes wait, and clients give up after 30 seconds by default.",
            );
        }
        if let Some(held) = self.held {
            self.why_held(&held, &mut why);
        }
        match &self.seen {
            Some(seen) => {
                why_seen(cx, seen, self.waits_ms.is_some(), &mut why);
                self.why_whose(cx, seen, &mut why);
            }
            None if self.threads.is_none() => why.push_str(" What keeps it busy is not known."),
            None => {
                why.push_str(
                    " None of its threads was seen making a change, placing shards or waiting for \
                     its disk.",
                );
            }
        }
        let Some(queue) = self.queue.filter(|_| self.waits_ms.is_some()) else {
            if self.waits_known && self.waits_ms.is_none() {
                why.push_str(" Nothing waited for long at that moment.");
            }
            return why;
        };
        if let Some(flood) = queue.flood() {
            let _ = write!(
                why,
                " {} of {} waiting changes are {}.",
                flood.waiting,
                flood.of,
                source(flood.kind)
            );
        }
        if let Some(starved) = queue.starved() {
            let _ = write!(
                why,
                " {} goes before {}: {} waits for {} while newer {} overtakes it.",
                source(&starved.behind.priority),
                source(&starved.kind.priority),
                source(&starved.kind.kind),
                seconds(starved.kind.oldest_ms),
                source(&starved.behind.kind)
            );
        }
        why
    }

    /// Says so if it is not sure that the thread is the master's.
    fn why_whose(&self, cx: &ClusterContext<'_>, seen: &Seen<'_>, why: &mut String) {
        let is_live = self
            .threads
            .is_some_and(|threads| threads.source == ThreadSource::HotThreads);
        let node = seen.thread.node.as_deref().map(printable);
        match (cx.cluster.master_node(), node) {
            _ if is_live => {}
            (None, Some(node)) => {
                let _ = write!(
                    why,
                    " Which node is the master is not known; the thread is one of {node}."
                );
            }
            (_, None) => why.push_str(" The file does not say which node's thread it is."),
            (Some(master), Some(node)) if node != printable(&master.name) => {
                let _ = write!(
                    why,
                    " The thread is one of {node}, which was the master then."
                );
            }
            _ => {}
        }
    }

    fn why_held(&self, held: &Held<'_>, why: &mut String) {
        let _ = write!(
            why,
            " This one executes, and was queued {} ago: {}.",
            seconds(held.task.in_queue_ms),
            source(&held.task.source)
        );
        if let Some(ms) = held.task.executing_ms {
            let _ = write!(why, " It has been executing for {}.", seconds(ms));
        } else if held.at_least_ms > 0 {
            let _ = write!(
                why,
                " It has been executing for {} at least, because a more urgent change has been \
                 waiting for so long.",
                seconds(held.at_least_ms)
            );
        }
        match self.queue.map_or(0, Queue::waiting) {
            0 => {}
            1 => why.push_str(" 1 change waits behind it."),
            many => {
                let _ = write!(why, " {} wait behind it.", units::count(many, "change"));
            }
        }
    }

    fn evidence(&self, cx: &ClusterContext<'_>, finding: &mut Finding) {
        let source_of = "GET /_cluster/pending_tasks";
        if let (Some(queue), Some(pending)) = (self.queue, &cx.cluster.pending_tasks) {
            finding.add_evidence(source_of, units::count(pending.total, "task"));
            let executing = queue.executing();
            let oldest = queue.oldest().filter(|oldest| Some(*oldest) != executing);
            for (which, task) in [("executing", executing), ("the oldest", oldest)] {
                let Some(task) = task else { continue };
                finding.add_evidence(
                    format!("{source_of}: {which}"),
                    format!(
                        "{} for {}: {}",
                        printable(&task.priority),
                        seconds(task.in_queue_ms),
                        printable(&task.source)
                    ),
                );
            }
            let kinds = queue.kinds();
            if self.waits_ms.is_some() && kinds.len() > 1 {
                let list: Vec<String> = kinds
                    .iter()
                    .take(KINDS_MAX)
                    .map(|(kind, waiting)| format!("{waiting} {}", source(kind)))
                    .collect();
                finding.add_evidence(format!("{source_of}: waiting, by kind"), list.join(", "));
            }
        } else if let Some(ms) = self.waits_ms {
            finding.add_evidence("GET /_cluster/health: task_max_waiting_in_queue_millis", ms);
        }
        if let (Some(seen), Some(threads)) = (&self.seen, self.threads) {
            finding.evidence.push(thread_evidence(threads, seen));
            if let Some((holder, _)) = seen.holder
                && let Some(frame) = holder.frames.first()
            {
                finding.add_evidence(
                    format!("{}: holds the lock", source_name(&threads.source)),
                    format!("{} in {}", printable(&holder.pool), printable(frame)),
                );
            }
            if seen.work == Work::StateDisk {
                let node = seen_on(cx, seen);
                finding.evidence.extend(data_paths(node));
                finding.evidence.extend(found_on_host(cx, node));
            }
            if seen.work == Work::Unassigned
                && let Some(shards) = &cx.cluster.shards
            {
                finding.add_evidence(
                    "GET /_cluster/state/routing_table: unassigned copies",
                    remedies::unassigned(shards),
                );
            }
        }
    }
}

/// Returns the subject and verb of a title.
fn what(seen: &Seen<'_>) -> String {
    let what = match seen.work {
        Work::StateDisk => "the master waits for its disk",
        Work::Scan | Work::Placement | Work::Gateway | Work::Reroute => {
            "the master is busy placing shards"
        }
        Work::Unassigned => "the master is busy with unassigned shards",
        Work::Weights => "the master is busy balancing shards",
        Work::Reconcile => "the master is busy moving shards to the desired balance",
        Work::Memory => "the master waits for memory",
        Work::Repository => "the master waits for a snapshot repository",
        Work::StateWrite => "the master is busy encoding the cluster state",
        Work::Publication => "the master waits for other nodes",
        Work::Lock => "the master waits for a lock",
        Work::DesiredBalance => "the master computes the desired balance",
        Work::Apply => "the master is busy applying a new cluster state",
        Work::Other => {
            let frame = printable(seen.frame);
            return format!(
                "the master is busy in {}",
                units::cut(&frame, FRAME_COLUMNS_MAX)
            );
        }
        Work::NodeDisk => "threads wait for the disk",
    };
    what.to_owned()
}

fn why_seen(cx: &ClusterContext<'_>, seen: &Seen<'_>, waits: bool, why: &mut String) {
    let often = if seen.snapshots > 1 {
        format!(" in {} of {} snapshots", seen.hits, seen.snapshots)
    } else {
        String::new()
    };
    let pool = printable(&seen.thread.pool);
    let _ = write!(
        why,
        " Its thread {pool} was {}{often}.",
        seen.work.description()
    );
    match seen.work {
        Work::StateDisk => why.push_str(
            " A change counts once it is on that disk, so a disk that is slow or stands still stops \
             all of them.",
        ),
        Work::Scan => why.push_str(" That is the scan of ES001."),
        Work::Unassigned => why.push_str(" Each reroute tries all of them again."),
        Work::DesiredBalance => {
            why.push_str(" That takes a processor, but changes do not wait for it");
            why.push_str(if waits {
                ": what they wait for is not known."
            } else {
                "."
            });
            why.push_str(if cx.is_elasticsearch_from(8, 17) {
                " The shards of a new index wait for it, for 1 s at most."
            } else {
                " The shards of a new index do: before 8.17 they are assigned when it ends."
            });
        }
        _ => {}
    }
    if let Some((holder, work)) = seen.holder {
        let work = work.map(|work| format!(", which was {}", work.description()));
        let _ = write!(
            why,
            " The lock is held by {}{}.",
            printable(&holder.pool),
            work.unwrap_or_default()
        );
    }
}

fn thread_evidence(threads: &MasterThreads, seen: &Seen<'_>) -> Evidence {
    let source = match &threads.source {
        ThreadSource::HotThreads => "GET /_nodes/_master/hot_threads".to_owned(),
        other => source_name(other),
    };
    let cpu = seen
        .thread
        .cpu_percent
        .filter(|cpu| (0.0..1e6).contains(cpu))
        .map(|cpu| format!("{cpu:.0} % of a processor, "))
        .unwrap_or_default();
    let frame = printable(seen.frame);
    let place = match seen.call.filter(|call| *call != seen.frame) {
        Some(call) => format!("in {} below {frame}", printable(call)),
        None => format!("in {frame}"),
    };
    Evidence::new(
        format!("{source}: {}", printable(&seen.thread.pool)),
        format!("{cpu}{place}"),
    )
}

/// Returns where a node's data is: the disks that its threads may wait for.
pub(super) fn data_paths(node: Option<&ClusterNode>) -> Vec<Evidence> {
    let Some(node) = node else { return Vec::new() };
    node.data_paths
        .iter()
        .filter_map(|data| {
            let path = data.path.as_deref()?;
            let mount = data.mount.as_deref().map(|mount| format!(" on {mount}"));
            let kind = data.fs_type.as_deref().map(|kind| format!(", {kind}"));
            let value = format!(
                "{path}{}{}",
                mount.unwrap_or_default(),
                kind.unwrap_or_default()
            );
            Some(Evidence::new(
                format!("GET /_nodes/stats: data path of {}", printable(&node.name)),
                printable(&value),
            ))
        })
        .collect()
}

/// Returns what the host of a node, if it was read, has that may keep its disks busy.
pub(super) fn found_on_host(cx: &ClusterContext<'_>, node: Option<&ClusterNode>) -> Vec<Evidence> {
    let Some(node) = node else { return Vec::new() };
    let mut hosts = cx
        .hosts
        .iter()
        .filter(|host| host.nodes.iter().any(|on_it| on_it.id == node.id));
    let Some(host) = hosts.next() else {
        return Vec::new();
    };
    let found = host.found_about_disks().take(FOUND_MAX);
    found
        .map(|found| {
            Evidence::new(
                format!("host {}: {}", host.name(), found.rule),
                printable(&found.title),
            )
        })
        .collect()
}

/// Returns a change's description, cut.
fn source(source: &str) -> String {
    units::cut(&printable(source), SOURCE_COLUMNS_MAX).to_string()
}

fn seconds(ms: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown in whole seconds")]
    let seconds = ms as f64 / 1000.0;
    units::seconds(seconds)
}

#[cfg(test)]
mod tests;
