//! Where the copies were, to notice circles and detours.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::copy::ShardCopy;
use crate::model::{Cluster, IndexIndex, NodeIndex, ShardId};
use crate::nodes::Change;

/// How often the copies must have been in the same places, with equally many rounds in between, before
/// that counts as a circle. Once could be chance: the order of the copies on their nodes matters as well.
const RETURNS: usize = 3;

/// Places of all copies, round by round.
#[derive(Debug)]
pub(super) struct Places {
    /// Copies per index and node at the start.
    first: HashMap<(IndexIndex, NodeIndex), u64>,
    hasher: RandomState,
    /// The exclusive or of the hashes of all copies with their nodes.
    now: u64,
    rounds: u32,
    /// The rounds in which the copies were in each of the places seen.
    seen: HashMap<u64, Vec<u32>>,
}

impl Places {
    pub fn of(cluster: &Cluster) -> Self {
        let mut places = Self {
            first: counts(cluster),
            hasher: RandomState::new(),
            now: 0,
            rounds: 0,
            seen: HashMap::new(),
        };
        for (copy, node) in placed(cluster) {
            places.toggle(copy.shard, node);
        }
        places.seen.insert(places.now, vec![0]);
        places
    }

    fn toggle(&mut self, shard: ShardId, node: NodeIndex) {
        self.now ^= self.hasher.hash_one((shard, node));
    }

    /// Follows a round in which relocations and recoveries begin, which all end before the next one.
    /// Returns the rounds of the circle that the copies go round in.
    pub fn follow(&mut self, changes: &[Change]) -> Option<u32> {
        let mut has_begun = false;
        for change in changes {
            match change {
                Change::Initialized(copy) => {
                    has_begun = true;
                    if let Some(node) = copy.node {
                        self.toggle(copy.shard, node);
                    }
                }
                Change::RelocationStarted { started, target } => {
                    has_begun = true;
                    for node in [started.node, target.node].into_iter().flatten() {
                        self.toggle(started.shard, node);
                    }
                }
                Change::Failed(copy) => {
                    if let Some(node) = copy.node {
                        self.toggle(copy.shard, node);
                    }
                }
                _ => {}
            }
        }
        self.rounds += 1;
        if !has_begun {
            return None;
        }
        let rounds = self.seen.entry(self.now).or_default();
        rounds.push(self.rounds);
        let last = rounds.len().checked_sub(RETURNS)?;
        let mut gaps = rounds[last..].windows(2).map(|pair| pair[1] - pair[0]);
        let gap = gaps.next()?;
        gaps.all(|other| other == gap).then_some(gap)
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
