//! Where the copies were, to notice circles and detours.

use std::collections::HashMap;

use crate::circle::{Circle, place};
use crate::copy::ShardCopy;
use crate::model::{Cluster, IndexIndex, NodeIndex};
use crate::nodes::Change;

/// Places of all copies, reroute by reroute.
#[derive(Debug)]
pub(super) struct Places {
    /// Copies per index and node at the start.
    first: HashMap<(IndexIndex, NodeIndex), u64>,
    /// The sum over all copies with their nodes; one that relocates is where it goes.
    now: u64,
    circle: Circle,
}

impl Places {
    pub fn of(cluster: &Cluster) -> Self {
        let mut places = Self {
            first: counts(cluster),
            now: 0,
            circle: Circle::default(),
        };
        for (copy, node) in placed(cluster) {
            places.add(copy, Some(node));
        }
        places.circle.follow(places.now);
        places
    }

    fn add(&mut self, copy: &ShardCopy, node: Option<NodeIndex>) {
        let number = node.map_or(0, |node| place(copy.shard, false, node));
        self.now = self.now.wrapping_add(number);
    }

    fn remove(&mut self, copy: &ShardCopy, node: Option<NodeIndex>) {
        let number = node.map_or(0, |node| place(copy.shard, false, node));
        self.now = self.now.wrapping_sub(number);
    }

    /// Follows a reroute. Returns the reroutes of the circle that the copies go round in; those in which
    /// nothing begins do not count.
    pub fn follow(&mut self, changes: &[Change]) -> Option<u32> {
        let mut has_begun = false;
        for change in changes {
            match change {
                Change::Initialized(copy) => {
                    has_begun = true;
                    self.add(copy, copy.node);
                }
                Change::RelocationStarted { started, target } => {
                    has_begun = true;
                    self.remove(started, started.node);
                    self.add(target, target.node);
                }
                Change::Failed(copy) => self.remove(copy, copy.node),
                _ => {}
            }
        }
        has_begun.then(|| self.circle.follow(self.now)).flatten()
    }

    /// Copies by which nodes have gained in an index since the start.
    pub fn gains(&self, cluster: &Cluster) -> u64 {
        let gain = |(place, count): (&(IndexIndex, NodeIndex), &u64)| {
            count.saturating_sub(self.first.get(place).copied().unwrap_or(0))
        };
        counts(cluster).iter().map(gain).sum()
    }
}

/// The copies on nodes; a copy that relocates is where it goes.
fn placed(cluster: &Cluster) -> impl Iterator<Item = (&ShardCopy, NodeIndex)> {
    let copies = cluster.routing.copies();
    copies.filter_map(|copy| Some((copy, copy.relocating.or(copy.node)?)))
}

fn counts(cluster: &Cluster) -> HashMap<(IndexIndex, NodeIndex), u64> {
    let mut counts = HashMap::new();
    for (copy, node) in placed(cluster) {
        *counts.entry((copy.shard.index, node)).or_default() += 1;
    }
    counts
}
