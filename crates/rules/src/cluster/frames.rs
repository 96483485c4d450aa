//! Determines what a node's threads do, or wait for, from their stack frames.
//!
//! Class names are those of Elasticsearch 6.8 to 9 and OpenSearch, whose packages differ only in
//! the first part, and of JDK 8 to 21.

use facts::cluster::{HotThread, LockHolder, MasterThreads, ThreadStack};

/// What a thread does or waits for, as far as it concerns the master; what explains most comes
/// first. Of several threads of a master, the first is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Work {
    /// Waits until the cluster state is on disk.
    StateDisk,
    /// Walks all shards of a node to find the relocating ones: the scan of 6.8 to 7.5.
    Scan,
    /// Tries to assign unassigned copies.
    Unassigned,
    /// Compares the weights of nodes, for better balance.
    Weights,
    /// Makes the next moves towards the desired balance of Elasticsearch 8.6 and later.
    Reconcile,
    /// Runs another part of the allocator.
    Placement,
    /// Looks for existing copies on the nodes.
    Gateway,
    /// Runs a decider, or the rest of a reroute.
    Reroute,
    /// Waits for garbage collection to free memory.
    Memory,
    /// Waits for a snapshot repository.
    Repository,
    /// Encodes the cluster state for the disk or for other nodes.
    StateWrite,
    /// Waits until the nodes have taken a new cluster state.
    Publication,
    /// Waits for a lock.
    Lock,
    /// Computes the desired balance of Elasticsearch 8.6 and later, beside the master's queue.
    DesiredBalance,
    /// Applies a new cluster state to the node itself.
    Apply,
    /// Something else that a change of the cluster state is made of.
    Other,
    /// Waits until something else is on disk: translogs, retention leases, segments.
    NodeDisk,
}

impl Work {
    /// Returns a description that follows "was".
    pub fn description(self) -> &'static str {
        match self {
            Self::StateDisk => "waiting for its disk to take the cluster state",
            Self::Scan => "scanning all shards of nodes for those that move",
            Self::Unassigned => "looking for nodes that take unassigned shards",
            Self::Weights => "balancing shards",
            Self::Reconcile => "moving shards towards the desired balance",
            Self::Placement => "placing shards",
            Self::Gateway => "looking for copies of unassigned shards",
            Self::Reroute => "asking deciders where shards may go",
            Self::Memory => "waiting for garbage collection to free memory",
            Self::Repository => "waiting for a snapshot repository",
            Self::StateWrite => "encoding the cluster state",
            Self::Publication => "waiting for the nodes to take a new cluster state",
            Self::Lock => "waiting for a lock that another thread holds",
            Self::DesiredBalance => "computing the desired balance",
            Self::Apply => "applying a new cluster state",
            Self::Other => "making a change",
            Self::NodeDisk => "waiting for its disk",
        }
    }

    /// Whether it is a part of placing shards: a busy thread goes from one part to the other.
    pub fn is_placing(self) -> bool {
        (Self::Scan..=Self::Reroute).contains(&self)
    }

    /// Whether only the thread that changes the cluster state shows it: others wait for locks or
    /// repositories without holding up the master.
    fn needs_master_thread(self) -> bool {
        ((Self::Memory..=Self::Lock).contains(&self) && self != Self::StateWrite)
            || self == Self::Other
    }

    /// Whether the thread waits for something: a thread that waits only in order to be woken up
    /// does nothing else.
    fn is_wait(self) -> bool {
        matches!(
            self,
            Self::StateDisk
                | Self::Memory
                | Self::Repository
                | Self::Publication
                | Self::Lock
                | Self::Apply
                | Self::Other
                | Self::NodeDisk
        )
    }
}

/// What the innermost frames have to show in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inner {
    /// Anything.
    Any,
    /// A file is forced to disk.
    Fsync,
    /// Any system call on a file.
    File,
    /// The thread waits for a lock, or the dump calls it blocked.
    Lock,
    /// The thread waits to be woken up.
    Parked,
}

/// The signs: what a frame says about its whole stack. A frame matches if it begins with one of the texts,
/// less the first part of the servers' packages; the first sign that matches a stack counts.
const SIGNS: &[(&[&str], Inner, Work)] = &[
    (
        &[
            "cluster.routing.RoutingNode.shardsWithState",
            "cluster.routing.RoutingNode.numberOfShardsWithState",
            "cluster.routing.allocation.decider.DiskThresholdDecider.sizeOfRelocatingShards",
        ],
        Inner::Any,
        Work::Scan,
    ),
    // The computation runs the allocator below; it is the outer frames that count.
    (
        &[
            "cluster.routing.allocation.allocator.DesiredBalanceComputer",
            "cluster.routing.allocation.allocator.ContinuousComputation",
        ],
        Inner::Any,
        Work::DesiredBalance,
    ),
    (
        &["cluster.routing.allocation.allocator.DesiredBalance"],
        Inner::Any,
        Work::Reconcile,
    ),
    (
        &[
            "cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer.allocateUnassigned",
            "cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer.decideAllocateUnassigned",
            "cluster.routing.allocation.allocator.LocalShardsBalancer.allocateUnassigned",
            "cluster.routing.allocation.allocator.LocalShardsBalancer.decideAllocateUnassigned",
        ],
        Inner::Any,
        Work::Unassigned,
    ),
    (
        &[
            "cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer.balance",
            "cluster.routing.allocation.allocator.BalancedShardsAllocator$Balancer.tryRelocateShard",
            "cluster.routing.allocation.allocator.BalancedShardsAllocator$NodeSorter",
            "cluster.routing.allocation.allocator.BalancedShardsAllocator$WeightFunction",
            "cluster.routing.allocation.allocator.LocalShardsBalancer.balance",
            "cluster.routing.allocation.allocator.LocalShardsBalancer.tryRelocateShard",
        ],
        Inner::Any,
        Work::Weights,
    ),
    (
        &["cluster.routing.allocation.allocator."],
        Inner::Any,
        Work::Placement,
    ),
    (
        &[
            "gateway.GatewayAllocator",
            "gateway.PrimaryShard",
            "gateway.ReplicaShard",
            "gateway.ShardsBatchGatewayAllocator",
            "gateway.BaseGatewayShardAllocator",
        ],
        Inner::Any,
        Work::Gateway,
    ),
    (
        &[
            "cluster.routing.allocation.decider.",
            "cluster.routing.allocation.AllocationService.",
            "cluster.routing.RoutingNodes.",
        ],
        Inner::Any,
        Work::Reroute,
    ),
    // Waits. Files of shards first: some are written by the classes that write the state.
    (
        &["index.", "indices.", "monitor.fs.FsHealthService"],
        Inner::Fsync,
        Work::NodeDisk,
    ),
    // 7.6 and later; before, one file for each index and one that lists them.
    (
        &[
            "gateway.PersistedClusterStateService",
            "gateway.IncrementalClusterStateWriter",
            "gateway.MetaStateService",
            "gateway.GatewayMetaState",
        ],
        Inner::File,
        Work::StateDisk,
    ),
    (
        &[
            "java.nio.Bits.reserveMemory",
            "indices.breaker.HierarchyCircuitBreakerService$G1OverLimitStrategy",
        ],
        Inner::Any,
        Work::Memory,
    ),
    (&["repositories."], Inner::Any, Work::Repository),
    (
        &[
            "gateway.PersistedClusterStateService",
            "gateway.IncrementalClusterStateWriter",
            "gateway.MetaStateService",
            "cluster.coordination.PublicationTransportHandler$PublicationContext",
        ],
        Inner::Any,
        Work::StateWrite,
    ),
    (
        &["cluster.coordination.", "cluster.service.MasterService."],
        Inner::Lock,
        Work::Lock,
    ),
    // The thread itself waits up to 8.7 and in OpenSearch.
    (
        &[
            "cluster.service.MasterService.",
            "discovery.zen.PublishClusterStateAction",
        ],
        Inner::Parked,
        Work::Publication,
    ),
    (
        &["cluster.service.ClusterApplierService"],
        Inner::Any,
        Work::Apply,
    ),
    (&["cluster.service.MasterService"], Inner::Any, Work::Other),
];

/// What innermost frames show: [`Inner`].
const INNER: &[(&str, Inner)] = &[
    ("sun.nio.ch.FileDispatcherImpl.force", Inner::Fsync),
    // From JDK 21 on.
    ("sun.nio.ch.UnixFileDispatcherImpl.force", Inner::Fsync),
    ("sun.nio.ch.FileChannelImpl.force", Inner::Fsync),
    ("java.io.FileDescriptor.sync", Inner::Fsync),
    ("org.apache.lucene.util.IOUtils.fsync", Inner::Fsync),
    ("org.apache.lucene.store.FSDirectory.fsync", Inner::Fsync),
    ("core.internal.io.IOUtils.fsync", Inner::Fsync),
    ("core.IOUtils.fsync", Inner::Fsync),
    ("sun.nio.ch.FileDispatcherImpl.", Inner::File),
    ("sun.nio.ch.UnixFileDispatcherImpl.", Inner::File),
    ("sun.nio.fs.UnixNativeDispatcher.", Inner::File),
    ("java.io.UnixFileSystem.", Inner::File),
    ("java.io.RandomAccessFile.", Inner::File),
    ("java.util.concurrent.locks.ReentrantLock", Inner::Lock),
    (
        "java.util.concurrent.locks.ReentrantReadWriteLock",
        Inner::Lock,
    ),
    ("java.util.concurrent.locks.LockSupport.park", Inner::Parked),
    ("jdk.internal.misc.Unsafe.park", Inner::Parked),
    ("sun.misc.Unsafe.park", Inner::Parked),
    ("common.util.concurrent.BaseFuture", Inner::Parked),
];

/// Work seen in the threads of one node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen<'a> {
    /// The thread that shows it most often.
    pub thread: &'a HotThread,
    /// What it is doing.
    pub work: Work,
    /// The frame that indicates the work, without its package: `RoutingNode.shardsWithState`.
    pub frame: &'a str,
    /// The innermost frame, if it belongs to the sign: `FileDispatcherImpl.force0`.
    pub call: Option<&'a str>,
    /// The number of snapshots with such a frame in any thread of the node, at most `snapshots`.
    pub hits: u32,
    /// The total number of snapshots.
    pub snapshots: u32,
    /// The thread that holds the lock it waits for, and what that one does, if that is known.
    pub holder: Option<(&'a LockHolder, Option<Work>)>,
}

impl Seen<'_> {
    /// Whether it was seen in at least half of the snapshots.
    pub fn is_usual(&self) -> bool {
        self.hits > 0 && self.hits >= self.snapshots.div_ceil(2)
    }
}

/// Returns the threads of one node; those whose node is not known may be anyone's.
pub(crate) fn of_node<'a>(
    threads: &'a MasterThreads,
    node: Option<&str>,
) -> impl Iterator<Item = &'a HotThread> {
    threads.threads.iter().filter(move |thread| {
        thread.node.is_none() || node.is_none() || thread.node.as_deref() == node
    })
}

/// Whether the thread makes the changes of the cluster state: only an elected master's is busy.
pub(crate) fn is_master_thread(thread: &HotThread) -> bool {
    [
        "masterService#updateTask",
        "clusterManagerService#updateTask",
    ]
    .iter()
    .any(|pool| thread.pool.contains(pool))
}

/// Returns what the threads of a master do, what explains most first: what is usual, then by the
/// kind of work, then by share. The parts of placing shards count together as the first of them.
pub(crate) fn of_master<'a>(threads: impl Iterator<Item = &'a HotThread>) -> Vec<Seen<'a>> {
    let mut all: Vec<Seen<'a>> = Vec::new();
    for seen in threads.flat_map(of_thread) {
        if seen.work.needs_master_thread() && !is_master_thread(seen.thread) {
            continue;
        }
        // A cluster state is written by whichever thread takes it.
        let same = |other: &&mut Seen<'_>| {
            other.work == seen.work && other.thread.node == seen.thread.node
        };
        match all.iter_mut().find(same) {
            Some(other) => {
                let hits = other.hits.saturating_add(seen.hits);
                if seen.hits > other.hits {
                    *other = seen;
                }
                other.hits = hits.min(other.snapshots.max(1));
            }
            None => all.push(seen),
        }
    }
    let share = |seen: &Seen<'_>| f64::from(seen.hits) / f64::from(seen.snapshots.max(1));
    all.sort_by(|a, b| {
        (b.is_usual().cmp(&a.is_usual()))
            .then(a.work.cmp(&b.work))
            .then(share(b).total_cmp(&share(a)))
    });
    all
}

/// Returns the threads that wait for the disk, with the share of snapshots in which they do.
pub(crate) fn waiting_for_disk<'a>(
    threads: impl Iterator<Item = &'a HotThread>,
) -> impl Iterator<Item = Seen<'a>> {
    threads
        .flat_map(of_thread)
        .filter(|seen| matches!(seen.work, Work::StateDisk | Work::NodeDisk) && seen.is_usual())
}

/// Whether a thread is waiting: its frames then show what it will do, not what it is doing.
fn waits(stack: &ThreadStack) -> bool {
    stack.state.as_deref().is_some_and(|state| {
        ["WAITING", "TIMED_WAITING"]
            .iter()
            .any(|waiting| state.starts_with(waiting))
    })
}

/// Returns what a thread was seen doing.
fn of_thread(thread: &HotThread) -> Vec<Seen<'_>> {
    let mut all: Vec<Seen<'_>> = Vec::new();
    for stack in &thread.stacks {
        let Some((work, frame, call)) = of_stack(&stack.frames, stack.state.as_deref()) else {
            continue;
        };
        let holder = stack.lock_holder.as_ref().map(|holder| {
            let its = of_stack(&holder.frames, None);
            (holder, its.map(|(work, ..)| work))
        });
        if waits(stack) && !work.is_wait() {
            continue;
        }
        let same = |other: &&mut Seen<'_>| {
            other.work == work || (other.work.is_placing() && work.is_placing())
        };
        match all.iter_mut().find(same) {
            Some(total) => {
                total.hits = total.hits.saturating_add(stack.seen);
                total.holder = total.holder.or(holder);
                if work < total.work {
                    (total.work, total.frame, total.call) = (work, frame, call);
                }
            }
            None => all.push(Seen {
                thread,
                work,
                frame,
                call,
                hits: stack.seen,
                snapshots: stack.snapshots,
                holder,
            }),
        }
    }
    all
}

/// Returns the first sign that matches a stack, the innermost frame that shows it, and the call in
/// which it waits.
fn of_stack<'a>(
    stack: &'a [String],
    state: Option<&str>,
) -> Option<(Work, &'a str, Option<&'a str>)> {
    let frames: Vec<&str> = stack.iter().map(|frame| without_package(frame)).collect();
    let inner: Vec<Inner> = frames
        .iter()
        .filter_map(|frame| INNER.iter().find(|(prefix, _)| frame.starts_with(prefix)))
        .map(|(_, inner)| *inner)
        .collect();
    let is_blocked = state.is_some_and(|state| state.starts_with("BLOCKED"));
    let (at, needs, work) = SIGNS.iter().find_map(|(prefixes, needs, work)| {
        let holds = match needs {
            Inner::Any => true,
            Inner::File => inner.contains(&Inner::File) || inner.contains(&Inner::Fsync),
            Inner::Fsync => inner.contains(&Inner::Fsync),
            Inner::Lock => is_blocked || inner.contains(&Inner::Lock),
            Inner::Parked => inner.contains(&Inner::Parked),
        };
        let place = |prefix: &&str| frames.iter().position(|frame| frame.starts_with(*prefix));
        let at = prefixes.iter().find_map(place).filter(|_| holds)?;
        Some((at, *needs, *work))
    })?;
    let tells = |at: &usize| {
        let is_servers = frames[*at].len() < stack[*at].len();
        is_servers && !frames[*at].starts_with("common.util.concurrent.")
    };
    let at = match work {
        // The innermost frame of the server tells what the change is.
        Work::Apply | Work::Other => (0..at).find(tells).unwrap_or(at),
        _ => at,
    };
    let call = frames.first().filter(|_| needs != Inner::Any);
    let call = call.map(|call| class_and_method(call));
    let work = if is_blocked && needs == Inner::Any {
        Work::Lock
    } else {
        work
    };
    Some((work, class_and_method(frames[at]), call))
}

/// Returns a frame without the first part of the servers' packages.
fn without_package(frame: &str) -> &str {
    ["org.elasticsearch.", "org.opensearch."]
        .iter()
        .find_map(|package| frame.strip_prefix(package))
        .unwrap_or(frame)
}

/// Returns a frame's class and method: package names are in lower case, class names are not.
fn class_and_method(frame: &str) -> &str {
    let class = frame
        .char_indices()
        .find(|(at, c)| c.is_ascii_uppercase() && (*at == 0 || frame.as_bytes()[at - 1] == b'.'))
        .map_or(0, |(at, _)| at);
    &frame[class..]
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
