//! Determines what a master's thread is doing from its stack frames.
//!
//! Class names are those of Elasticsearch 6.8 to 8.x and OpenSearch, whose packages differ only in
//! the first part.

use facts::cluster::{HotThread, MasterThreads, ThreadStack};

/// Shard-related work of the master, most specific first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Work {
    /// Walks all shards of a node to find the relocating ones: the scan of 6.8 to 7.5.
    Scan,
    /// Computes the desired balance of Elasticsearch 8.6 and later.
    DesiredBalance,
    /// Runs the balancer: weights, moves, unassigned copies.
    Balancer,
    /// Looks for existing copies on the nodes.
    Gateway,
    /// Runs a decider, or the rest of a reroute.
    Reroute,
}

impl Work {
    /// Returns a description that follows "is busy".
    pub fn description(self) -> &'static str {
        match self {
            Self::Scan => "scanning all shards of nodes for those that move",
            Self::DesiredBalance => "computing or applying the desired balance",
            Self::Balancer => "balancing shards",
            Self::Gateway => "looking for copies of unassigned shards",
            Self::Reroute => "asking deciders where shards may go",
        }
    }
}

/// Methods (or classes with their dot) and the work they indicate, without the first part of the
/// package. A frame matches if it begins with one of them.
const FRAMES: &[(&str, Work)] = &[
    ("cluster.routing.RoutingNode.shardsWithState", Work::Scan),
    (
        "cluster.routing.RoutingNode.numberOfShardsWithState",
        Work::Scan,
    ),
    (
        "cluster.routing.allocation.decider.DiskThresholdDecider.sizeOfRelocatingShards",
        Work::Scan,
    ),
    (
        "cluster.routing.allocation.allocator.DesiredBalance",
        Work::DesiredBalance,
    ),
    (
        "cluster.routing.allocation.allocator.ContinuousComputation",
        Work::DesiredBalance,
    ),
    ("cluster.routing.allocation.allocator.", Work::Balancer),
    ("gateway.GatewayAllocator", Work::Gateway),
    ("gateway.PrimaryShardAllocator", Work::Gateway),
    ("gateway.ReplicaShardAllocator", Work::Gateway),
    ("gateway.BaseGatewayShardAllocator", Work::Gateway),
    ("cluster.routing.allocation.decider.", Work::Reroute),
    (
        "cluster.routing.allocation.AllocationService.",
        Work::Reroute,
    ),
    ("cluster.routing.RoutingNodes.", Work::Reroute),
];

/// A thread doing shard-related work.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BusyThread<'a> {
    /// The thread.
    pub thread: &'a HotThread,
    /// What it is doing.
    pub work: Work,
    /// The frame that indicates the work, without its package: `RoutingNode.shardsWithState`.
    pub frame: &'a str,
    /// The number of snapshots with such a frame.
    pub hits: u32,
    /// The total number of snapshots.
    pub snapshots: u32,
}

/// Returns the thread that works on shards most, if any: by its share of snapshots, then by the
/// kind of work, then by its CPU time.
pub(crate) fn allocating(threads: &MasterThreads) -> Option<BusyThread<'_>> {
    threads.threads.iter().filter_map(classify).max_by(|a, b| {
        let share = |s: &BusyThread<'_>| f64::from(s.hits) / f64::from(s.snapshots.max(1));
        let cpu = |s: &BusyThread<'_>| s.thread.cpu_percent.unwrap_or(0.0);
        share(a)
            .total_cmp(&share(b))
            .then(b.work.cmp(&a.work))
            .then(cpu(a).total_cmp(&cpu(b)))
    })
}

/// Whether a thread is waiting: its frames then show what it will do, not what it is doing.
fn waits(thread: &HotThread) -> bool {
    thread.state.as_deref().is_some_and(|state| {
        ["WAITING", "TIMED_WAITING"]
            .iter()
            .any(|waiting| state.starts_with(waiting))
    })
}

fn classify(thread: &HotThread) -> Option<BusyThread<'_>> {
    if waits(thread) {
        return None;
    }
    let mut total = None::<BusyThread<'_>>;
    for stack in &thread.stacks {
        let Some((work, frame)) = of_stack(stack) else {
            continue;
        };
        match &mut total {
            Some(total) => {
                total.hits = total.hits.saturating_add(stack.seen);
                if work < total.work {
                    (total.work, total.frame) = (work, frame);
                }
            }
            None => {
                total = Some(BusyThread {
                    thread,
                    work,
                    frame,
                    hits: stack.seen,
                    snapshots: stack.snapshots,
                });
            }
        }
    }
    total
}

/// Returns the most specific frame of a stack; among equals, the innermost one.
fn of_stack(stack: &ThreadStack) -> Option<(Work, &str)> {
    stack
        .frames
        .iter()
        .filter_map(|frame| of_frame(frame))
        .min_by_key(|(work, _)| *work)
}

/// Returns the work that a frame indicates, and its class and method.
fn of_frame(frame: &str) -> Option<(Work, &str)> {
    let rest = ["org.elasticsearch.", "org.opensearch."]
        .iter()
        .find_map(|package| frame.strip_prefix(package))?;
    let (_, work) = FRAMES.iter().find(|(prefix, _)| rest.starts_with(prefix))?;
    // Package names are in lower case, class names are not.
    let class = rest
        .char_indices()
        .find(|(at, c)| c.is_ascii_uppercase() && (*at == 0 || rest.as_bytes()[at - 1] == b'.'))
        .map_or(0, |(at, _)| at);
    Some((*work, &rest[class..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::cluster::ThreadSource;

    fn stack(seen: u32, frames: &[&str]) -> ThreadStack {
        ThreadStack {
            seen,
            snapshots: 10,
            complete: true,
            frames: frames.iter().map(|&frame| frame.to_owned()).collect(),
        }
    }

    fn thread(cpu_percent: Option<f64>, stacks: Vec<ThreadStack>) -> HotThread {
        HotThread {
            pool: "masterService#updateTask".to_owned(),
            cpu_percent,
            state: None,
            stacks,
        }
    }

    fn threads(threads: Vec<HotThread>) -> MasterThreads {
        MasterThreads {
            source: ThreadSource::HotThreads,
            interval_ms: Some(500),
            threads,
        }
    }

    /// As reported by 7.4.0, innermost frame first.
    const SCANNING: &[&str] = &[
        "java.util.LinkedHashMap$LinkedHashIterator.nextNode",
        "org.elasticsearch.cluster.routing.RoutingNode.shardsWithState",
        "org.elasticsearch.cluster.routing.allocation.decider.DiskThresholdDecider\
         .sizeOfRelocatingShards",
        "org.elasticsearch.cluster.routing.allocation.decider.DiskThresholdDecider.getDiskUsage",
        "org.elasticsearch.cluster.routing.allocation.decider.AllocationDeciders.canRemain",
        "org.elasticsearch.cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer\
         .decideMove",
        "org.elasticsearch.cluster.routing.allocation.AllocationService.reroute",
        "org.elasticsearch.cluster.service.MasterService.runTasks",
    ];

    #[test]
    fn frames_indicate_the_work() {
        for (frame, expected) in [
            (
                SCANNING[1],
                Some((Work::Scan, "RoutingNode.shardsWithState")),
            ),
            (
                SCANNING[3],
                Some((Work::Reroute, "DiskThresholdDecider.getDiskUsage")),
            ),
            (
                SCANNING[5],
                Some((
                    Work::Balancer,
                    "BalancedShardsAllocator$Balancer.decideMove",
                )),
            ),
            (
                "org.elasticsearch.cluster.routing.allocation.allocator.DesiredBalanceComputer\
                 .compute",
                Some((Work::DesiredBalance, "DesiredBalanceComputer.compute")),
            ),
            (
                "org.opensearch.cluster.routing.allocation.allocator.LocalShardsBalancer\
                 .moveShards",
                Some((Work::Balancer, "LocalShardsBalancer.moveShards")),
            ),
            (
                "org.opensearch.gateway.ReplicaShardAllocator.processExistingRecoveries",
                Some((
                    Work::Gateway,
                    "ReplicaShardAllocator.processExistingRecoveries",
                )),
            ),
            ("org.elasticsearch.cluster.service.MasterService.run", None),
            ("com.example.cluster.routing.RoutingNodes.x", None),
            ("", None),
        ] {
            assert_eq!(of_frame(frame), expected, "{frame}");
        }
    }

    #[test]
    fn the_scan_is_recognised_below_the_balancer() {
        let threads = threads(vec![
            thread(Some(3.0), vec![stack(10, &["java.lang.Object.wait"])]),
            thread(
                Some(99.0),
                vec![stack(6, SCANNING), stack(3, &SCANNING[3..]), stack(1, &[])],
            ),
        ]);
        let seen = allocating(&threads).expect("the scan");
        assert_eq!(seen.work, Work::Scan);
        assert_eq!(seen.frame, "RoutingNode.shardsWithState");
        assert_eq!((seen.hits, seen.snapshots), (9, 10));
    }

    #[test]
    fn a_waiting_thread_is_not_busy() {
        let mut waiting = thread(None, vec![stack(10, SCANNING)]);
        waiting.state = Some("TIMED_WAITING (parking)".to_owned());
        assert_eq!(allocating(&threads(vec![waiting])), None);
    }

    #[test]
    fn other_work_is_ignored() {
        let write = thread(
            Some(90.0),
            vec![stack(
                10,
                &["org.apache.lucene.index.IndexWriter.updateDocument"],
            )],
        );
        assert_eq!(allocating(&threads(vec![write])), None);
        assert_eq!(allocating(&threads(Vec::new())), None);
    }
}
