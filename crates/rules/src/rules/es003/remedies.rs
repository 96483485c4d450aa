//! The way out, for each cause.

use super::master::{Master, seen_on};
use crate::cluster::ClusterContext;
use crate::cluster::frames::{Seen, Work};
use crate::cluster::queue::Queue;
use crate::cluster::remedies::{desired_balance, threshold};
use crate::shell::{self, printable};
use facts::Remedy;
use facts::cluster::{Flavour, ShardCounts};

const ALLOCATOR_TIMEOUT: &str =
    "cluster.routing.allocation.balanced_shards_allocator.allocator_timeout";
/// Maximum number of reasons listed.
const REASONS_MAX: usize = 3;

/// What to do about a flood of changes whose kind begins with these words.
const FLOODS: &[(&[&str], &str)] = &[
    (
        &["put-mapping"],
        "New fields come with documents: turn off dynamic mapping where they come from (dynamic: \
         false, or the type flattened, in OpenSearch flat_object), and have templates name the \
         fields of new indices.",
    ),
    (
        &["create-index", "auto create"],
        "Create indices ahead of time and not all at midnight, or fewer of them: roll over by size.",
    ),
    (
        &["delete-index"],
        "Delete fewer indices at once, and several of them in one request.",
    ),
    (
        &["ilm-"],
        "Lifecycle rules step through many indices at once: raise indices.lifecycle.poll_interval \
         (10 min by default), and keep fewer indices.",
    ),
    (
        &["shard-started"],
        "Shards recover, and each reports to the master: it ends with the recovery. Until then leave \
         out other changes.",
    ),
    (
        &["shard-failed"],
        "Shards fail again and again: the master's log and GET /_cluster/allocation/explain say why.",
    ),
    (
        &["node-"],
        "Nodes leave and join again: their logs say why. Look at their network, heaps and disks first.",
    ),
    (
        &["update snapshot state", "update_snapshot_state"],
        "A snapshot of many shards reports each of them: take it of fewer indices at a time.",
    ),
];

/// Returns all remedies, the most useful first.
pub(super) fn all(cx: &ClusterContext<'_>, master: &Master<'_>) -> Vec<Remedy> {
    let mut all = Vec::new();
    let cause = master.cause().or(master.seen.as_ref());
    match cause {
        Some(seen) => of_cause(cx, seen, &mut all),
        None => all.push(Remedy::advice(
            "Look at the master's threads while changes wait: GET /_nodes/_master/hot_threads, or a \
             thread dump of its process.",
        )),
    }
    if master.held.is_some() {
        held(&mut all);
    }
    if cause.is_some_and(|seen| seen.work == Work::DesiredBalance) && master.waits_ms.is_none() {
        return all;
    }
    let flood = master.queue.and_then(Queue::flood);
    let flood = flood.and_then(|flood| {
        let is_of = |kinds: &[&str]| kinds.iter().any(|kind| flood.kind.starts_with(kind));
        let advice = FLOODS.iter().find(|(kinds, _)| is_of(kinds))?;
        Some(advice.1)
    });
    all.push(Remedy::advice(flood.unwrap_or(
        "Make fewer changes: create indices ahead of time and not all at midnight, and avoid \
         mappings that grow with each document (index.mapping.total_fields.limit, dynamic: false).",
    )));
    all
}

fn of_cause(cx: &ClusterContext<'_>, seen: &Seen<'_>, all: &mut Vec<Remedy>) {
    match seen.work {
        Work::StateDisk => disk(cx, seen, all),
        Work::Scan => all.push(Remedy::advice(
            "Upgrade to 7.6.0 or later, which does not scan. ES001 lists the other remedies.",
        )),
        Work::Weights => {
            time_limit(cx, all);
            threshold(cx, all);
            fewer_shards(all);
        }
        Work::Unassigned => {
            unassigned_remedy(cx, all);
            time_limit(cx, all);
        }
        Work::DesiredBalance => {
            desired_balance(cx, all);
            fewer_shards(all);
        }
        Work::Reconcile | Work::Placement | Work::Gateway | Work::Reroute => fewer_shards(all),
        Work::Publication => all.push(Remedy::advice(
            "Find the slow node: the master's log names those for which a publication \"is still \
             waiting\". Each node writes the new state to its disk first and applies it, so look at \
             its disk and at its clusterApplierService thread (GET /_nodes/NODE/hot_threads).",
        )),
        Work::Repository => all.push(Remedy::advice(
            "Find the repository (GET /_snapshot), and whether its storage answers. A repository \
             whose storage is gone should be removed.",
        )),
        Work::Memory => all.push(Remedy::advice(
            "Look at the master's heap and its log of garbage collections. A dedicated master needs \
             heap for the cluster state only (ES005, ES007).",
        )),
        Work::StateWrite => all.push(Remedy::advice(
            "Make the cluster state smaller: fewer indices and shards (ES005), and fewer fields in \
             their mappings.",
        )),
        Work::Lock if seen.holder.is_some() => all.push(Remedy::advice(
            "Find what the thread that holds the lock waits for, and keep the dump: the master goes \
             on when that ends.",
        )),
        Work::Lock | Work::NodeDisk => all.push(Remedy::advice(
            "Take a thread dump of the master (jstack -l PID), which shows who holds the lock, and \
             check it with --hot-threads.",
        )),
        Work::Apply | Work::Other => all.push(Remedy::advice(
            "Take three thread dumps of the master, 10 s apart (jstack PID), and check them with \
             --hot-threads: a frame that stays is where it hangs, one that changes is load. The \
             master's log names changes and listeners that took long.",
        )),
    }
}

fn disk(cx: &ClusterContext<'_>, seen: &Seen<'_>, all: &mut Vec<Remedy>) {
    let master = seen_on(cx, seen);
    let name = master.map(|node| node.name.as_str());
    let name = seen.thread.node.as_deref().or(name);
    let name = name.map_or_else(|| "the master".to_owned(), printable);
    all.push(Remedy::command(
        format!(
            "See what else keeps that disk busy on {name}: `trimtab check` there lists what trims, \
             checks and shares the drive; while it waits, a log of the disks shows bursts of discards \
             or writes."
        ),
        "iostat -xt 3 100 > iostat.log\ntrimtab explain iostat.log",
    ));
    let is_dedicated = master.is_some_and(|node| !node.data);
    all.push(Remedy::advice(if is_dedicated {
        "Move its data path to a drive that nothing else uses, best a local SSD: it holds little more \
         than the cluster state."
    } else {
        "Use dedicated masters (ES007), so that merges, flushes and recoveries of shards do not share \
         a drive with the cluster state; they need a small SSD that nothing else uses."
    }));
}

fn held(all: &mut Vec<Remedy>) {
    all.push(Remedy::advice(
        "Ask again in a minute (GET /_cluster/pending_tasks): if the change with the same \
         insert_order executes, it is stuck and no load. Then keep a thread dump of the master \
         (jstack PID), which shows what it waits for.",
    ));
    all.push(
        Remedy::advice(
            "Restart the master's process: another node is elected and takes up the changes that wait.",
        )
        .risk(
            "The election takes seconds. If the node holds data, its shards have to recover; if its \
             disk stands still, the process may not end.",
        ),
    );
}

fn time_limit(cx: &ClusterContext<'_>, all: &mut Vec<Remedy>) {
    let version = &cx.cluster.version;
    if cx.cluster.flavour != Flavour::Opensearch {
        return;
    }
    if (version.major, version.minor) < (2, 17) {
        all.push(Remedy::advice(
            "Upgrade to OpenSearch 2.17 or later: its allocator can stop after a time and go on in \
             the next reroute, so that other changes get their turn.",
        ));
        return;
    }
    let limit = cx.setting_text(ALLOCATOR_TIMEOUT);
    // -1, the default, means no limit.
    if limit.is_none_or(|limit| limit.starts_with('-')) {
        all.push(
            Remedy::command(
                "Limit how long the allocator works before other changes get their turn (20 s is the \
                 least; by default it has no limit).",
                // The key is too long for a value on its line.
                cx.put_setting(ALLOCATOR_TIMEOUT, "\n  \"20s\""),
            )
            .risk("Shards are placed and balanced over more reroutes.")
            .undo(cx.put_setting(ALLOCATOR_TIMEOUT, "\n  null")),
        );
    }
}

fn unassigned_remedy(cx: &ClusterContext<'_>, all: &mut Vec<Remedy>) {
    let url = format!(
        "{}/_cluster/allocation/explain?pretty",
        cx.cluster.endpoint.trim_end_matches('/')
    );
    all.push(Remedy::command(
        "See what keeps copies unassigned, and end that: more replicas than nodes, filters or \
         awareness that no node meets, full disks (ES006).",
        format!("curl -s {}", shell::quote(&url)),
    ));
    all.push(Remedy::advice(
        "Copies that failed five times are tried again after POST /_cluster/reroute?retry_failed=true. \
         Drop replicas that no node will take: each reroute tries them.",
    ));
}

fn fewer_shards(all: &mut Vec<Remedy>) {
    all.push(Remedy::advice(
        "Reduce the number of shards: the work of each reroute grows with them. Delete or shrink old \
         indices, and give new ones fewer shards.",
    ));
}

/// Returns how many copies are unassigned, and why.
pub(super) fn unassigned(shards: &ShardCounts) -> String {
    let mut reasons: Vec<(&String, &u64)> = shards.unassigned_reasons.iter().collect();
    reasons.sort_by_key(|(_, copies)| std::cmp::Reverse(**copies));
    let reasons: Vec<String> = reasons
        .into_iter()
        .take(REASONS_MAX)
        .map(|(reason, copies)| format!("{copies} {}", printable(reason)))
        .collect();
    match reasons.as_slice() {
        [] => shards.unassigned.to_string(),
        reasons => format!("{} ({})", shards.unassigned, reasons.join(", ")),
    }
}
