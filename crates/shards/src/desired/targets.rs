//! Puts copies where the previous balance wanted them, before anything is computed anew.

use std::collections::HashMap;

use super::claimed::Claimed;
use super::compute::Simulation;
use super::{Assignment, DesiredBalance};
use crate::copy::{AllocationStatus, ShardCopy};
use crate::deciders::{NoReasons, Verdict};
use crate::java::{
    DEFAULT_BINS, Filled, bins_after, bins_for, by_hash, string_compare, string_hash,
};
use crate::model::{Cluster, NodeIndex, NumberMap, ShardId};
use crate::nodes::CopyIndex;

/// A shard in the order in which the server looks at them.
struct Group {
    shard: ShardId,
    unassigned: Vec<CopyIndex>,
}

impl Simulation {
    /// Moves and initializes copies towards the previous balance; unassigned ones also towards the node that
    /// had them last. Claimed copies whose last node is gone are set aside.
    pub(super) fn apply(&mut self, previous: &DesiredBalance, claimed: &Claimed) {
        let (mut out_of_scope, mut groups) = (Vec::new(), Vec::new());
        let mut numbers: NumberMap<ShardId, usize> = NumberMap::default();
        let unassigned = self.nodes.drain_unassigned();
        for primary in [true, false] {
            for &handle in &unassigned {
                let copy = *self.nodes.copy(handle);
                if copy.primary != primary {
                    continue;
                }
                let last = copy.unassigned.and_then(|info| info.last_node);
                if !last.is_some_and(|node| self.nodes.is_routed(node)) && claimed.contains(&copy) {
                    out_of_scope.push(handle);
                    continue;
                }
                let at = *numbers.entry(copy.shard).or_insert_with(|| {
                    groups.push(Group {
                        shard: copy.shard,
                        unassigned: Vec::new(),
                    });
                    groups.len() - 1
                });
                groups[at].unassigned.push(handle);
            }
        }
        let set_aside: std::collections::HashSet<CopyIndex> =
            out_of_scope.iter().copied().collect();
        for handle in &unassigned {
            if !set_aside.contains(handle) {
                self.nodes.keep(*handle);
            }
        }
        let mut without_primary: Vec<ShardId> = Vec::new();
        for handle in out_of_scope {
            let copy = *self.nodes.copy(handle);
            if copy.primary {
                without_primary.push(copy.shard);
            }
            self.nodes.ignore(handle, AllocationStatus::NoAttempt);
        }
        // How many shards are in the map before the last one is asked for.
        let mut before_last = groups.len().saturating_sub(1);
        for shard in self.assigned_order() {
            before_last = groups.len();
            numbers.entry(shard).or_insert_with(|| {
                groups.push(Group {
                    shard,
                    unassigned: Vec::new(),
                });
                groups.len() - 1
            });
        }
        let hashes = Hashes::new(&self.cluster);
        let bins = bins_after(DEFAULT_BINS, before_last);
        let groups = by_hash(groups, Filled::ComputeIfAbsent, bins, |group| {
            hashes.of(group.shard)
        });
        let mut to_initialize: HashMap<CopyIndex, NodeIndex> = HashMap::new();
        for group in groups {
            self.place_group(&group, previous.assignment(group.shard), &mut to_initialize);
        }
        without_primary.sort_unstable();
        for primary in [true, false] {
            if to_initialize.is_empty() {
                break;
            }
            let handles = self.nodes.drain_unassigned();
            for handle in handles {
                let copy = *self.nodes.copy(handle);
                let is_turn = if primary {
                    copy.primary
                } else {
                    without_primary.binary_search(&copy.shard).is_err()
                };
                let target = to_initialize.get(&handle).filter(|_| is_turn).copied();
                match target {
                    Some(node) if self.takes(&copy, node) => {
                        to_initialize.remove(&handle);
                        self.nodes.initialize(handle, node, None, 0);
                        self.start(handle);
                    }
                    Some(_) => {
                        to_initialize.remove(&handle);
                        self.nodes.keep(handle);
                    }
                    None => self.nodes.keep(handle),
                }
            }
        }
    }

    fn takes(&mut self, copy: &ShardCopy, node: NodeIndex) -> bool {
        self.nodes.is_routed(node)
            && self.ask(|round| round.can_allocate(copy, node, &mut NoReasons)) != Verdict::No
    }

    /// Relocates the copies of one shard that are not on their targets, and chooses nodes for the unassigned.
    fn place_group(
        &mut self,
        group: &Group,
        previous: Option<&Assignment>,
        to_initialize: &mut HashMap<CopyIndex, NodeIndex>,
    ) {
        let wanted = previous.map_or(&[][..], |assignment| assignment.nodes.as_slice());
        let last = group.unassigned.iter().filter_map(|&handle| {
            let info = self.nodes.copy(handle).unassigned?;
            info.last_node
        });
        let mut targets: Vec<NodeIndex> = wanted.iter().copied().chain(last).collect();
        targets.retain(|&node| self.nodes.is_routed(node));
        let mut elsewhere: Vec<(NodeIndex, CopyIndex)> = Vec::new();
        for &handle in self.nodes.assigned(group.shard) {
            let Some(node) = self.nodes.copy(handle).node else {
                continue;
            };
            if targets.contains(&node) {
                targets.retain(|&target| target != node);
            } else {
                elsewhere.push((node, handle));
            }
        }
        if targets.is_empty() {
            return;
        }
        self.sort_by_id(&mut targets, |&node| node);
        targets.dedup();
        self.sort_by_id(&mut elsewhere, |&(node, _)| node);
        let mut targets = targets.into_iter();
        for (_, handle) in elsewhere {
            let copy = *self.nodes.copy(handle);
            if let Some(target) = targets.find(|&target| self.takes(&copy, target)) {
                let arriving = self.nodes.relocate(handle, target, 0);
                self.start(arriving);
            }
        }
        to_initialize.extend(group.unassigned.iter().copied().zip(targets));
    }

    fn sort_by_id<T>(&self, items: &mut [T], node: impl Fn(&T) -> NodeIndex) {
        let id = |item: &T| self.cluster.node(node(item)).id.as_str();
        items.sort_by(|a, b| string_compare(id(a), id(b)));
    }

    /// The shards with assigned copies, in the order of the server's map of them.
    fn assigned_order(&self) -> Vec<ShardId> {
        let tables = self.cluster.routing.tables();
        let mut shards: Vec<ShardId> = Vec::new();
        for table in tables {
            let count = self.cluster.index(table.index).shards;
            let all = (0..count).map(|shard| ShardId {
                index: table.index,
                shard,
            });
            shards.extend(all.filter(|&shard| !self.nodes.assigned(shard).is_empty()));
        }
        let hashes = Hashes::new(&self.cluster);
        // It is filled copy by copy.
        let last = shards
            .last()
            .map_or(0, |&shard| self.nodes.assigned(shard).len());
        let before_last = shards.len() - usize::from(last == 1);
        let bins = bins_after(bins_for(tables.len()), before_last);
        let shards = by_hash(shards, Filled::ComputeIfAbsent, bins, |&shard| {
            hashes.of(shard)
        });
        // The computation works on a copy, whose map is made for its size.
        let bins = bins_for(shards.len());
        by_hash(shards, Filled::Put, bins, |&shard| hashes.of(shard))
    }
}

/// Hash codes of shards (`ShardId.hashCode`).
struct Hashes(Vec<i32>);

impl Hashes {
    fn new(cluster: &Cluster) -> Self {
        let of = |index: &crate::model::Index| {
            string_hash(&index.name)
                .wrapping_mul(31)
                .wrapping_add(string_hash(&index.uuid))
        };
        Self(cluster.indices.iter().map(of).collect())
    }

    fn of(&self, shard: ShardId) -> i32 {
        self.0[shard.index.at()]
            .wrapping_mul(31)
            .wrapping_add(shard.shard.cast_signed())
    }
}
