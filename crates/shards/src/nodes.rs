//! Copies by node, and unassigned copies (`RoutingNodes`, `RoutingNode`).
//!
//! Every copy has a [`CopyIndex`] for the life of a [`RoutingNodes`]. Transitions change the copy in
//! place, so lists of handles keep their order, as the server's lists do when an element is replaced. A
//! copy that is removed from a node and assigned to one again is appended at the end.

mod assign;
mod changes;
mod error;
mod handle;
mod keep;
mod list;
mod load;
mod recoveries;
mod table;
mod transitions;
mod unassigned;

pub use changes::{Change, Changes, ShardChanges};
pub use error::RoutingError;
pub use handle::CopyIndex;
pub use unassigned::Unassigned;

use crate::copy::{AllocationIds, AllocationIndex, ShardCopy};
use crate::model::{NodeIndex, ShardId, Version};
use list::{Handles, NodeList};

/// Number of recoveries into and out of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Recoveries {
    incoming: i32,
    outgoing: i32,
}

/// Copies by node, and unassigned copies.
#[derive(Debug, Clone)]
pub struct RoutingNodes {
    copies: Vec<ShardCopy>,
    /// Per copy, its slot in its node's list.
    spots: Vec<u32>,
    /// Per node, its list; `None` for nodes that are not routed.
    lists: Vec<Option<NodeList>>,
    /// The routed nodes in the order of the server's hash map.
    order: Vec<NodeIndex>,
    /// Per node, its version; `None` if it is no longer in the cluster.
    versions: Vec<Option<Version>>,
    /// Per index, the position of its shard 0 in `assigned` and its number of shards there.
    shards: Vec<(u32, u32)>,
    /// Per shard, its assigned copies.
    assigned: Vec<Handles>,
    recoveries: Vec<Recoveries>,
    /// Those of new indices' replicas, if they are counted apart, as OpenSearch does; it does not count
    /// those of primaries from their own disks.
    first_recoveries: Option<Vec<Recoveries>>,
    unassigned: Unassigned,
    inactive_primaries: u32,
    inactive_copies: u32,
    relocating: u32,
    ids: AllocationIds,
    changes: Changes,
    /// Whether the node lists are in table order, except for copies that the current round has appended.
    is_ordered: bool,
    /// Number of copies that no longer exist but whose handles remain.
    dropped: usize,
}

impl RoutingNodes {
    fn admit(&mut self, copy: ShardCopy) -> CopyIndex {
        let handle =
            CopyIndex(u32::try_from(self.copies.len()).expect("fewer than 2^32 copies in a round"));
        self.copies.push(copy);
        self.spots.push(u32::MAX);
        handle
    }

    fn push_on_node(&mut self, handle: CopyIndex, node: NodeIndex) {
        let list = self.lists[node.at()].get_or_insert_default();
        self.spots[handle.at()] = list.push(handle);
    }

    fn take_from_node(&mut self, handle: CopyIndex, node: NodeIndex) {
        let Some(list) = &mut self.lists[node.at()] else {
            return;
        };
        list.take(handle, self.spots[handle.at()]);
        self.spots[handle.at()] = u32::MAX;
        if list.compact() {
            for (slot, other) in (0..).zip(list.iter()) {
                self.spots[other.at()] = slot;
            }
        }
    }

    fn assigned_add(&mut self, handle: CopyIndex) {
        if let Some(shard_position) = self.shard_position(self.copies[handle.at()].shard) {
            self.assigned[shard_position].push(handle);
        }
    }

    fn assigned_remove(&mut self, handle: CopyIndex) {
        if let Some(shard_position) = self.shard_position(self.copies[handle.at()].shard) {
            self.assigned[shard_position].remove(handle);
        }
    }

    /// Position of the shard in `assigned`.
    fn shard_position(&self, shard: ShardId) -> Option<usize> {
        let (first, places) = *self.shards.get(shard.index.at())?;
        (shard.shard < places).then_some(first as usize + shard.shard as usize)
    }

    /// Current state of the copy with this handle.
    pub fn copy(&self, copy: CopyIndex) -> &ShardCopy {
        &self.copies[copy.at()]
    }

    /// Upper bound (exclusive) of all [`CopyIndex::at`] so far.
    pub(crate) fn copy_limit(&self) -> usize {
        self.copies.len()
    }

    /// The routed nodes in the order of the server's hash map. Includes dead nodes until
    /// [`RoutingNodes::remove_node`].
    pub fn order(&self) -> &[NodeIndex] {
        &self.order
    }

    /// Whether the node is routed.
    pub(crate) fn is_routed(&self, node: NodeIndex) -> bool {
        self.lists.get(node.at()).is_some_and(Option::is_some)
    }

    /// The version of a node, if it is still in the cluster.
    pub fn version(&self, node: NodeIndex) -> Option<Version> {
        self.versions.get(node.at()).copied().flatten()
    }

    /// Handles of the copies on a node, in the order of their arrival (`RoutingNode` as an iterator).
    pub(crate) fn handles_on(&self, node: NodeIndex) -> impl Iterator<Item = CopyIndex> + '_ {
        self.lists
            .get(node.at())
            .and_then(Option::as_ref)
            .into_iter()
            .flat_map(NodeList::iter)
    }

    /// The recovering copies.
    pub(crate) fn initializing(&self) -> Vec<CopyIndex> {
        let all = self.order.iter().flat_map(|&node| self.copies_on(node));
        let recovering = all.filter(|(_, copy)| copy.is_initializing());
        recovering.map(|(handle, _)| handle).collect()
    }

    /// Whether the copy is on a node and recovers.
    pub(crate) fn is_recovering(&self, handle: CopyIndex) -> bool {
        self.spots[handle.at()] != u32::MAX && self.copies[handle.at()].is_initializing()
    }

    /// Those of the handles that are on a node, in the order of their arrival.
    pub(crate) fn select_on(&self, node: NodeIndex, handles: &[CopyIndex]) -> Vec<CopyIndex> {
        let on_node = |handle: &CopyIndex| {
            self.spots[handle.at()] != u32::MAX && self.copies[handle.at()].node == Some(node)
        };
        let mut selected: Vec<CopyIndex> = handles.iter().copied().filter(on_node).collect();
        selected.sort_unstable_by_key(|handle| self.spots[handle.at()]);
        selected
    }

    /// The copies on a node with their handles, in the order of their arrival.
    pub fn copies_on(&self, node: NodeIndex) -> impl Iterator<Item = (CopyIndex, &ShardCopy)> + '_ {
        self.handles_on(node)
            .map(|handle| (handle, &self.copies[handle.at()]))
    }

    /// Number of copies on the node, including recovering ones (`RoutingNode.size`).
    pub(crate) fn count_on(&self, node: NodeIndex) -> usize {
        self.lists
            .get(node.at())
            .and_then(Option::as_ref)
            .map_or(0, NodeList::len)
    }

    /// The copy of a shard on a node (`RoutingNode.getByShardId`).
    pub fn on_node(&self, node: NodeIndex, shard: ShardId) -> Option<CopyIndex> {
        self.assigned(shard)
            .iter()
            .copied()
            .find(|handle| self.copies[handle.at()].node == Some(node))
    }

    /// Assigned copies of a shard, including relocation targets, in the server's order.
    pub fn assigned(&self, shard: ShardId) -> &[CopyIndex] {
        self.shard_position(shard)
            .and_then(|shard_position| self.assigned.get(shard_position))
            .map_or(&[], Handles::as_slice)
    }

    /// Like [`RoutingNodes::assigned`], but returns the copies themselves.
    pub(crate) fn assigned_copies(&self, shard: ShardId) -> impl Iterator<Item = &ShardCopy> + '_ {
        self.assigned(shard)
            .iter()
            .map(|handle| &self.copies[handle.at()])
    }

    /// The assigned copy with this allocation id (`getByAllocationId`).
    pub(crate) fn by_allocation(
        &self,
        shard: ShardId,
        allocation: AllocationIndex,
    ) -> Option<CopyIndex> {
        self.assigned(shard)
            .iter()
            .copied()
            .find(|handle| self.copies[handle.at()].allocation == Some(allocation))
    }

    /// The primary of a shard, if it is active (`activePrimary`).
    pub(crate) fn active_primary(&self, shard: ShardId) -> Option<CopyIndex> {
        self.assigned(shard).iter().copied().find(|handle| {
            let copy = &self.copies[handle.at()];
            copy.primary && copy.is_active()
        })
    }

    /// The active replica that would be promoted: the first one on a node of the highest version
    /// (`activeReplicaWithHighestVersion`).
    pub(crate) fn active_replica_with_highest_version(&self, shard: ShardId) -> Option<CopyIndex> {
        let mut best: Option<(Option<Version>, CopyIndex)> = None;
        for &handle in self.assigned(shard) {
            let copy = &self.copies[handle.at()];
            let Some(node) = copy.node else { continue };
            if copy.primary || !copy.is_active() || !self.is_routed(node) {
                continue;
            }
            let version = self.version(node);
            if best.is_none_or(|(highest, _)| version > highest) {
                best = Some((version, handle));
            }
        }
        best.map(|(_, handle)| handle)
    }

    /// Whether the shard has at least `replicas` + 1 assigned copies and all of them are active
    /// (`allReplicasActive`).
    pub(crate) fn all_replicas_active(&self, shard: ShardId, replicas: u32) -> bool {
        let copies = self.assigned(shard);
        !copies.is_empty()
            && copies.len() > replicas as usize
            && copies
                .iter()
                .all(|handle| self.copies[handle.at()].is_active())
    }

    /// Whether the shard has `replicas` + 1 active copies; those on the way to another node count once
    /// (`allShardsActive`).
    pub(crate) fn all_shards_active(&self, shard: ShardId, replicas: u32) -> bool {
        let active = self
            .assigned_copies(shard)
            .filter(|copy| copy.is_active())
            .count();
        active as u64 == u64::from(replicas) + 1
    }

    /// Number of recoveries with this node as the target (`getIncomingRecoveries`).
    pub(crate) fn incoming_recoveries(&self, node: NodeIndex) -> i32 {
        self.recoveries.get(node.at()).map_or(0, |r| r.incoming)
    }

    /// Number of recoveries with a primary on this node as the source (`getOutgoingRecoveries`).
    pub(crate) fn outgoing_recoveries(&self, node: NodeIndex) -> i32 {
        self.recoveries.get(node.at()).map_or(0, |r| r.outgoing)
    }

    /// Number of recoveries of new indices' replicas into and out of this node, if they are counted apart.
    pub(crate) fn first_recoveries(&self, node: NodeIndex) -> Option<(i32, i32)> {
        let counts = self.first_recoveries.as_ref()?.get(node.at())?;
        Some((counts.incoming, counts.outgoing))
    }

    /// The unassigned copies.
    pub fn unassigned(&self) -> &Unassigned {
        &self.unassigned
    }

    /// Whether any primary is unassigned, including ignored ones (`hasUnassignedPrimaries`).
    pub(crate) fn has_unassigned_primaries(&self) -> bool {
        self.unassigned.primaries() + self.unassigned.ignored_primaries() > 0
    }

    /// Whether any copy is unassigned, including ignored ones (`hasUnassignedShards`).
    pub(crate) fn has_unassigned_copies(&self) -> bool {
        !self.unassigned.list().is_empty() || !self.unassigned.ignored().is_empty()
    }

    /// Whether any primary is recovering, not counting relocations (`hasInactivePrimaries`).
    pub(crate) fn has_inactive_primaries(&self) -> bool {
        self.inactive_primaries > 0
    }

    /// Whether any copy is recovering, not counting relocations (`hasInactiveShards`).
    pub(crate) fn has_inactive_copies(&self) -> bool {
        self.inactive_copies > 0
    }

    /// Number of relocating copies (`getRelocatingShardCount`).
    pub(crate) fn relocating_count(&self) -> u32 {
        self.relocating
    }

    /// Snapshot of all copies on nodes, taking one from each node in turn
    /// (`nodeInterleavedShardIterator`); with `primaries_first`, a node's primaries before its replicas.
    pub(crate) fn interleaved(&self, primaries_first: bool) -> Vec<CopyIndex> {
        let on_node = |node: &NodeIndex| {
            let mut handles: Vec<CopyIndex> = self.handles_on(*node).collect();
            if primaries_first {
                handles.sort_by_key(|handle| !self.copies[handle.at()].primary);
            }
            handles.into_iter()
        };
        let mut queue: std::collections::VecDeque<_> = self.order.iter().map(on_node).collect();
        let mut all = Vec::with_capacity(self.copies.len());
        while let Some(mut rest) = queue.pop_front() {
            if let Some(handle) = rest.next() {
                all.push(handle);
                queue.push_back(rest);
            }
        }
        all
    }

    /// Changes since this was created or the last round ended.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The next allocation id to be handed out.
    pub fn next_allocation(&self) -> u64 {
        self.ids.next()
    }
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
