//! Counts of a node's copies and their bytes in transit, as the deciders ask for them. They are kept per
//! node, and updated from the log of changes.
//!
//! From 6.8 to 7.5 the server walks all copies of a node for each of these questions instead, which makes
//! a round quadratic in the copies per node.
//!
//! Initializing, relocating and starting a copy update the sums by a difference. Any other change to a
//! node's copies (failures, promotions) invalidates its sums, which are recomputed on the next query;
//! such changes happen before the queries of a round, not between them.

mod transit;

pub(crate) use transit::Disk;

use std::cell::RefCell;

use crate::copy::ShardCopy;
use crate::deciders::{Rules, expected_size_bytes};
use crate::model::{Cluster, IndexIndex, NodeIndex, PathIndex, ShardId};
use crate::nodes::{Change, CopyIndex, RoutingNodes};
use transit::{arriving_bytes, leaving_path};

/// Cached counts and sums, valid for one [`RoutingNodes`] and one reading of the disks.
#[derive(Debug, Default)]
pub(crate) struct Sums(RefCell<Cache>);

#[derive(Debug, Default)]
struct Cache {
    /// Length of the log that has been processed.
    seen: usize,
    nodes: Vec<Option<NodeSums>>,
}

#[derive(Clone, Debug, Default)]
struct NodeSums {
    owned: u32,
    initial_primaries: u32,
    /// Recovering copies on the node, and copies that are moving away.
    arriving: Vec<CopyIndex>,
    leaving: Vec<CopyIndex>,
    /// Net bytes that these copies take or free, per disk; computed on first use.
    bytes: [Option<i64>; 2],
}

impl NodeSums {
    fn of(nodes: &RoutingNodes, node: NodeIndex) -> NodeSums {
        let mut sums = NodeSums::default();
        for (handle, _) in nodes.copies_on(node) {
            sums.add(nodes, handle);
        }
        sums
    }

    fn add(&mut self, nodes: &RoutingNodes, handle: CopyIndex) {
        let copy = nodes.copy(handle);
        if copy.is_relocating() {
            self.leaving.push(handle);
            return;
        }
        self.owned += 1;
        if copy.is_initializing() {
            self.arriving.push(handle);
            self.initial_primaries += u32::from(copy.primary && copy.relocating.is_none());
        }
    }
}

impl Cache {
    fn node(&mut self, nodes: &RoutingNodes, node: NodeIndex) -> &mut NodeSums {
        self.catch_up(nodes);
        if self.nodes.len() <= node.at() {
            self.nodes.resize(node.at() + 1, None);
        }
        self.nodes[node.at()].get_or_insert_with(|| NodeSums::of(nodes, node))
    }

    fn catch_up(&mut self, nodes: &RoutingNodes) {
        let log = nodes.changes().log();
        if self.seen == log.len() {
            return;
        }
        // Only for the last change is the logged state of the copies certain to be current.
        let latest = log.len() - 1;
        for (at, change) in log.iter().enumerate().skip(self.seen) {
            match change {
                Change::UnassignedUpdated(_) => {}
                Change::Initialized(copy) if at == latest => {
                    self.added(nodes, copy.node, copy.shard);
                }
                Change::RelocationStarted { started, target } if at == latest => {
                    self.left(nodes, started.node, started.shard);
                    self.added(nodes, target.node, target.shard);
                }
                Change::RelocationStarted {
                    started: one,
                    target: other,
                } => {
                    self.forget([one.node, other.node]);
                }
                Change::Started(copy) => self.started(nodes, copy),
                Change::RelocationCompleted(source) => {
                    if let Some(sums) = self.sums(source.node) {
                        sums.leaving
                            .retain(|handle| nodes.copy(*handle).is_relocating());
                        sums.bytes = [None; 2];
                    }
                }
                Change::Initialized(copy)
                | Change::Failed(copy)
                | Change::RelocationSourceRemoved(copy)
                | Change::Promoted(copy)
                | Change::Reinitialized(copy) => self.forget([copy.node, copy.relocating]),
            }
        }
        self.seen = log.len();
    }

    fn forget(&mut self, nodes: [Option<NodeIndex>; 2]) {
        for node in nodes.into_iter().flatten() {
            if let Some(sums) = self.nodes.get_mut(node.at()) {
                *sums = None;
            }
        }
    }

    fn sums(&mut self, node: Option<NodeIndex>) -> Option<&mut NodeSums> {
        self.nodes.get_mut(node?.at())?.as_mut()
    }

    fn added(&mut self, nodes: &RoutingNodes, node: Option<NodeIndex>, shard: ShardId) {
        let Some(sums) = self.sums(node) else { return };
        if let Some(handle) = node.and_then(|node| nodes.on_node(node, shard)) {
            sums.add(nodes, handle);
            sums.bytes = [None; 2];
        }
    }

    fn started(&mut self, nodes: &RoutingNodes, copy: &ShardCopy) {
        let Some(sums) = self.sums(copy.node) else {
            return;
        };
        if copy.relocating.is_none() {
            sums.initial_primaries -= u32::from(copy.primary);
        }
        sums.arriving
            .retain(|handle| nodes.copy(*handle).is_initializing());
        sums.bytes = [None; 2];
    }

    fn left(&mut self, nodes: &RoutingNodes, node: Option<NodeIndex>, shard: ShardId) {
        let Some(sums) = self.sums(node) else { return };
        if let Some(handle) = node.and_then(|node| nodes.on_node(node, shard)) {
            sums.owned -= 1;
            sums.leaving.push(handle);
            sums.bytes = [None; 2];
        }
    }
}

impl Sums {
    /// Processes the remaining log of a round before it is cleared.
    pub(crate) fn end_round(&self, nodes: &RoutingNodes) {
        let mut kept = self.0.borrow_mut();
        kept.catch_up(nodes);
        kept.seen = 0;
    }

    /// Invalidates byte sums after sizes or paths have been read again.
    pub(crate) fn forget_bytes(&self) {
        for sums in self.0.borrow_mut().nodes.iter_mut().flatten() {
            sums.bytes = [None; 2];
        }
    }

    /// Bytes that relocations will take from a disk (`sizeOfRelocatingShards`): the arriving copies,
    /// except those on another path, and for [`Disk::Least`] minus the copies leaving this path. Copies
    /// of unknown size count as 0.
    pub(crate) fn relocating_bytes(
        &self,
        cluster: &Cluster,
        nodes: &RoutingNodes,
        node: NodeIndex,
        disk: Disk,
        path: Option<PathIndex>,
    ) -> i64 {
        let mut kept = self.0.borrow_mut();
        let sums = kept.node(nodes, node);
        let known = sums.bytes[disk as usize];
        known.unwrap_or_else(|| {
            let bytes = bytes(cluster, nodes, sums, disk, path);
            sums.bytes[disk as usize] = Some(bytes);
            bytes
        })
    }

    /// Number of copies on the node that are not moving away.
    pub(crate) fn owned(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        self.0.borrow_mut().node(nodes, node).owned
    }

    /// Number of copies of one index on the node that are not moving away.
    pub(crate) fn owned_of_index(
        cluster: &Cluster,
        nodes: &RoutingNodes,
        node: NodeIndex,
        index: IndexIndex,
    ) -> u32 {
        let shards = 0..cluster.index(index).shards;
        let held = shards.filter(|&shard| {
            let held = nodes.on_node(node, ShardId { index, shard });
            held.is_some_and(|held| !nodes.copy(held).is_relocating())
        });
        u32::try_from(held.count()).unwrap_or(u32::MAX)
    }

    /// Number of primaries recovering on the node, not counting relocations.
    pub(crate) fn initial_primaries(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        self.0.borrow_mut().node(nodes, node).initial_primaries
    }
}

fn bytes(
    cluster: &Cluster,
    nodes: &RoutingNodes,
    sums: &NodeSums,
    disk: Disk,
    path: Option<PathIndex>,
) -> i64 {
    let Some(info) = &cluster.info else { return 0 };
    let size = |handle: &CopyIndex| expected_size_bytes(cluster, nodes.copy(*handle), 0);
    let rules = Rules::of(cluster);
    let arriving = sums.arriving.iter().map(|handle| nodes.copy(*handle));
    let mut bytes = arriving
        .map(|copy| arriving_bytes(rules, cluster, info, copy, path))
        .fold(0, i64::wrapping_add);
    if disk == Disk::Least {
        let leaving = sums.leaving.iter().filter(|handle| {
            let on = leaving_path(info, nodes, **handle);
            on.is_some() && on == path
        });
        bytes = leaving.map(size).fold(bytes, i64::wrapping_sub);
    }
    bytes
}

#[cfg(test)]
pub(crate) mod tests;
