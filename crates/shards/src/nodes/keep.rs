//! Reusing the nodes for the next round, where the server redistributes the table over the nodes each
//! time.
//!
//! The result equals what [`RoutingNodes::new`] builds from the updated table, except that handles are
//! stable and that the order of the nodes' lists is restored lazily by [`RoutingNodes::put_in_order`].

use std::collections::HashSet;

use super::{Change, Changes, CopyIndex, Handles, RoutingNodes};
use crate::model::{Cluster, IndexIndex, IndexTable, ShardId};

impl RoutingNodes {
    /// Ends a round: ignored copies become unassigned again, and the changes are returned. `ranks` are
    /// the positions of the nodes in [`RoutingNodes::order`]; from here on the copies of a shard are
    /// listed in that order.
    pub(crate) fn end_round(&mut self, ranks: &[u32]) -> Changes {
        let changes = std::mem::take(&mut self.changes);
        for change in changes.log() {
            match change {
                Change::Initialized(_) | Change::RelocationStarted { .. } => {
                    self.is_ordered = false;
                }
                Change::RelocationCompleted(_) => self.dropped += 1,
                _ => {}
            }
        }
        for shard in changes.touched() {
            self.list_by_rank(shard, ranks);
        }
        let set_aside = std::mem::take(&mut self.unassigned.ignored);
        self.unassigned.list.extend(set_aside);
        self.unassigned.primaries += std::mem::take(&mut self.unassigned.ignored_primaries);
        changes
    }

    /// Sorts the assigned copies of a shard by the rank of their nodes; a relocation target follows its
    /// source.
    fn list_by_rank(&mut self, shard: ShardId, ranks: &[u32]) {
        let Some(shard_position) = self.shard_position(shard) else {
            return;
        };
        let mut listed = self.assigned[shard_position].as_slice().to_vec();
        listed.sort_by_key(|handle| {
            let copy = self.copy(*handle);
            let target = copy.is_relocation_target();
            let node = if target { copy.relocating } else { copy.node };
            (node.map(|node| ranks[node.at()]), target)
        });
        let mut handles = Handles::default();
        for handle in listed {
            handles.push(handle);
        }
        self.assigned[shard_position] = handles;
    }

    /// Sorts the unassigned copies into table order.
    pub(crate) fn order_unassigned(&mut self, cluster: &Cluster) {
        if self.unassigned.list.len() < 2 {
            return;
        }
        // Where the copies of each shard begin in the table of the last index looked at: copies are mostly listed by index.
        let (mut last, mut places): (Option<IndexIndex>, Vec<usize>) = (None, Vec::new());
        let copies = &self.copies;
        self.unassigned.list.sort_by_cached_key(|handle| {
            let copy = &copies[handle.at()];
            let ShardId { index, shard } = copy.shard;
            let Some(table) = cluster.routing.table(index) else {
                return (None, 0, 0);
            };
            if last != Some(index) {
                last = Some(index);
                places.clear();
                places.resize(cluster.index(index).shards as usize, usize::MAX);
                for (place, copy) in table.copies.iter().enumerate().rev() {
                    if let Some(first) = places.get_mut(copy.shard.shard as usize) {
                        *first = place;
                    }
                }
            }
            let first = places.get(shard as usize).copied().unwrap_or(usize::MAX);
            let group = table.copies.get(first..).unwrap_or_default();
            let within = group.iter().position(|other| other == copy);
            (cluster.routing.place(index), first, within.unwrap_or(0))
        });
    }

    /// Restores the order that [`RoutingNodes::new`] gives to the nodes' lists after rounds have appended
    /// copies. Copies that arrived in the current round stay at the end, in the order of their arrival.
    pub(crate) fn put_in_order(&mut self, cluster: &Cluster) {
        if self.is_ordered {
            return;
        }
        let arrived = self.arrived();
        let mut ranks = vec![u32::MAX; self.assigned.len()];
        let groups = cluster.routing.tables().iter().flat_map(IndexTable::groups);
        for (rank, group) in (0..).zip(groups) {
            if let Some(shard_position) = self.shard_position(group[0].shard) {
                ranks[shard_position] = rank;
            }
        }
        let mut lists = std::mem::take(&mut self.lists);
        for list in lists.iter_mut().flatten() {
            let mut handles: Vec<CopyIndex> = list.iter().collect();
            // Almost sorted already, which this sort exploits.
            handles.sort_by_key(|handle| {
                let shard_position = self.shard_position(self.copies[handle.at()].shard);
                let rank = shard_position.map_or(u32::MAX, |shard_position| ranks[shard_position]);
                let came = arrived.contains(handle);
                (came, if came { 0 } else { rank })
            });
            list.fill(&handles);
            for (spot, handle) in (0..).zip(handles) {
                self.spots[handle.at()] = spot;
            }
        }
        self.lists = lists;
        self.is_ordered = true;
    }

    /// Copies assigned to a node in the current round.
    fn arrived(&self) -> HashSet<CopyIndex> {
        let log = self.changes.log().iter();
        let arrived = log.filter_map(|change| match change {
            Change::Initialized(copy) => Some(copy),
            Change::RelocationStarted { target, .. } => Some(target),
            _ => None,
        });
        arrived
            .filter_map(|copy| self.on_node(copy.node?, copy.shard))
            .collect()
    }

    /// Returns the unassigned copies by shard, each shard's in their order in the list.
    pub(crate) fn unassigned_by_shard(&self) -> Vec<(ShardId, CopyIndex)> {
        let list = self.unassigned.list.iter();
        let mut copies: Vec<(ShardId, CopyIndex)> = list
            .map(|&handle| (self.copy(handle).shard, handle))
            .collect();
        // Stable.
        copies.sort_by_key(|&(shard, _)| shard);
        copies
    }

    /// Whether so many copies no longer exist (more than half, and over 64) that rebuilding pays off.
    pub(crate) fn is_sparse(&self) -> bool {
        self.dropped > 64 && self.dropped > self.copies.len() / 2
    }
}

#[cfg(test)]
impl RoutingNodes {
    /// Everything except handles, one line per item.
    pub(crate) fn dump(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for &node in &self.order {
            lines.push(format!("{node:?} {:?}", self.recoveries[node.at()]));
            lines.extend(self.copies_on(node).map(|(_, copy)| format!("{copy:?}")));
        }
        for handle in &self.unassigned.list {
            lines.push(format!("{:?}", self.copy(*handle)));
        }
        for (index, (_, places)) in (0..).map(IndexIndex).zip(&self.shards) {
            for shard in 0..*places {
                let copies = self.assigned_copies(ShardId { index, shard });
                let copies: Vec<_> = copies.map(|copy| (copy.node, copy.allocation)).collect();
                lines.push(format!("{index:?} {shard} {copies:?}"));
            }
        }
        lines.push(format!(
            "{:?} {} {} {} {:?}",
            (self.unassigned.primaries, self.unassigned.ignored_primaries),
            self.inactive_primaries,
            self.inactive_copies,
            self.relocating,
            self.ids
        ));
        lines
    }
}
