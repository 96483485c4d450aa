//! Initializing, ignoring and keeping unassigned copies.

use super::{Change, CopyIndex, RoutingNodes};
use crate::copy::{AllocationIndex, AllocationStatus, ShardCopy, UnassignedInfo};
use crate::model::NodeIndex;
use std::iter::Peekable;
use std::vec::IntoIter;

impl RoutingNodes {
    /// Removes all copies that are still to be allocated (`drain`). Each must then be passed to
    /// [`RoutingNodes::initialize`], [`RoutingNodes::ignore`] or [`RoutingNodes::keep`].
    pub fn drain_unassigned(&mut self) -> Vec<CopyIndex> {
        self.unassigned.primaries = 0;
        std::mem::take(&mut self.unassigned.list)
    }

    /// Removes one copy that is still to be allocated, which must then be passed to
    /// [`RoutingNodes::initialize`].
    pub(crate) fn take_unassigned(&mut self, handle: CopyIndex) {
        let primary = self.copy(handle).primary;
        let list = &mut self.unassigned.list;
        if let Some(at) = list.iter().position(|other| *other == handle) {
            list.remove(at);
            self.unassigned.primaries -= u32::from(primary);
        }
    }

    /// Appends a drained copy to the list again.
    pub fn keep(&mut self, handle: CopyIndex) {
        self.unassigned.add(handle, &self.copies[handle.at()]);
    }

    /// Sorts the list of unassigned copies; the sort is stable, as in the server.
    pub(crate) fn sort_unassigned(
        &mut self,
        mut compare: impl FnMut(&ShardCopy, &ShardCopy) -> std::cmp::Ordering,
    ) {
        let copies = &self.copies;
        self.unassigned
            .list
            .sort_by(|a, b| compare(&copies[a.at()], &copies[b.at()]));
    }

    /// Ignores a drained copy for the rest of the round (`ignoreShard`) and records the status of a
    /// primary.
    pub fn ignore(&mut self, handle: CopyIndex, status: AllocationStatus) {
        let copy = *self.copy(handle);
        if copy.primary {
            self.unassigned.ignored_primaries += 1;
            if let Some(info) = copy.unassigned
                && info.last_status != status
            {
                self.update_unassigned(
                    handle,
                    UnassignedInfo {
                        last_status: status,
                        ..info
                    },
                );
            }
        }
        self.unassigned.ignored.push(handle);
    }

    /// Treats the replicas of the same shard that come next in the queue like `copy`, which was just handled:
    /// with a `status` they are ignored for the same reason, otherwise it is their turn once more. Primaries
    /// have none.
    pub(crate) fn follow_with_replicas(
        &mut self,
        copy: &ShardCopy,
        status: Option<AllocationStatus>,
        queue: &mut Peekable<IntoIter<CopyIndex>>,
        next: &mut Vec<CopyIndex>,
    ) {
        if copy.primary {
            return;
        }
        while let Some(handle) = queue.next_if(|&handle| {
            let other = self.copy(handle);
            !other.primary && other.shard == copy.shard
        }) {
            match status {
                None => next.push(handle),
                Some(status) => self.ignore(handle, status),
            }
        }
    }

    /// Makes ignored copies unassigned again (`resetIgnored`). As in the server, ignored primaries stay
    /// counted as such.
    pub(crate) fn reset_ignored(&mut self) {
        let ignored = std::mem::take(&mut self.unassigned.ignored);
        self.unassigned.list.extend(ignored);
    }

    /// Updates reason, delay or status of an unassigned copy (`updateUnassigned`).
    pub(crate) fn update_unassigned(&mut self, handle: CopyIndex, info: UnassignedInfo) {
        let before = *self.copy(handle);
        let Some(recovery) = before.recovery else {
            return;
        };
        let now = before.update_unassigned(info, recovery);
        self.copies[handle.at()] = now;
        self.changes.push(Change::UnassignedUpdated(now));
    }

    /// Assigns a drained copy to a node (`initializeShard`), with a new allocation id if none is given.
    ///
    /// The node must be routed and have no copy of the shard.
    pub fn initialize(
        &mut self,
        handle: CopyIndex,
        node: NodeIndex,
        existing: Option<AllocationIndex>,
        expected_bytes: i64,
    ) {
        let before = *self.copy(handle);
        debug_assert!(self.is_routed(node) && self.on_node(node, before.shard).is_none());
        let allocation = existing.unwrap_or_else(|| self.ids.fresh());
        let copy = before.initialize(node, allocation, expected_bytes);
        self.copies[handle.at()] = copy;
        self.push_on_node(handle, node);
        self.inactive_copies += 1;
        self.inactive_primaries += u32::from(copy.primary);
        self.add_recovery(handle);
        self.assigned_add(handle);
        self.changes.initialized(copy);
    }
}
