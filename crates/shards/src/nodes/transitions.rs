//! State transitions of assigned copies: relocating, starting, failing (`RoutingNodes`).

use super::{Change, CopyIndex, RoutingNodes};
use crate::copy::{Reason, ShardCopy, UnassignedInfo};
use crate::model::NodeIndex;

impl RoutingNodes {
    fn set(&mut self, handle: CopyIndex, copy: ShardCopy) -> ShardCopy {
        self.copies[handle.at()] = copy;
        copy
    }

    /// Starts relocating a started copy (`relocateShard`). Returns the handle of the relocation target.
    ///
    /// The node must be routed and have no copy of the shard.
    pub fn relocate(&mut self, handle: CopyIndex, to: NodeIndex, expected_bytes: i64) -> CopyIndex {
        let started = *self.copy(handle);
        debug_assert!(self.is_routed(to) && self.on_node(to, started.shard).is_none());
        self.relocating += 1;
        let fresh = self.ids.fresh();
        let source = self.set(handle, started.relocate(to, fresh, expected_bytes));
        let target = source.relocation_target();
        let other = self.admit(target);
        self.push_on_node(other, to);
        self.assigned_add(other);
        self.add_recovery(other);
        self.changes.relocation_started(started, target);
        other
    }

    /// Marks a recovering copy as started (`startShard`). If it was a relocation target, its source is
    /// removed; if it is then the primary, recovering replicas are restarted.
    pub fn start(&mut self, handle: CopyIndex) {
        let initializing = *self.copy(handle);
        if initializing.relocating.is_none() {
            self.inactive_copies -= 1;
            self.inactive_primaries -= u32::from(initializing.primary);
        }
        self.remove_recovery(&initializing);
        let started = self.set(handle, initializing.move_to_started());
        self.changes.started(initializing);
        let Some(from) = initializing.relocating else {
            return;
        };
        let Some(source) = self.on_node(from, initializing.shard) else {
            debug_assert!(false, "a relocation without a source");
            return;
        };
        let source_copy = *self.copy(source);
        self.remove(source);
        self.changes.relocation_completed(source_copy);
        if started.primary {
            self.restart_replicas(started);
        }
    }

    /// Restarts recovering replicas from the primary's new node.
    fn restart_replicas(&mut self, primary: ShardCopy) {
        let recovering: Vec<CopyIndex> = self
            .assigned(primary.shard)
            .iter()
            .copied()
            .filter(|&other| {
                let copy = self.copy(other);
                copy.is_initializing() && !copy.primary
            })
            .collect();
        for replica in recovering {
            let copy = *self.copy(replica);
            if !copy.is_relocation_target() {
                let fresh = self.ids.fresh();
                let now = self.set(replica, copy.reinitialize_replica(fresh));
                self.changes.push(Change::Reinitialized(now));
                continue;
            }
            let Some(source) = self.other_end(&copy) else {
                debug_assert!(false, "a relocation without a source");
                continue;
            };
            let source_copy = *self.copy(source);
            self.cancel_relocation(source);
            self.remove(replica);
            self.changes.failed(copy);
            if let Some(to) = source_copy.relocating {
                self.relocate(source, to, source_copy.expected_bytes);
            }
        }
    }

    /// The copy at the other end of a relocation.
    fn other_end(&self, copy: &ShardCopy) -> Option<CopyIndex> {
        self.by_allocation(copy.shard, copy.relocation?)
    }

    /// Fails or cancels a copy on a node (`failShard`): it becomes unassigned or, if it is a relocation
    /// target, is removed. If a primary fails, replicas recovering from it fail as well, and an active
    /// replica, if any, is promoted. If the source of a relocating replica fails, its target continues
    /// alone.
    pub fn fail(&mut self, handle: CopyIndex, info: UnassignedInfo) {
        let failed = *self.copy(handle);
        debug_assert!(!failed.is_unassigned());
        if failed.primary {
            self.fail_recovering_replicas(&failed, info);
        }
        // Failing replicas changes neither the state nor the node of their primary.
        if failed.is_relocating()
            && let Some(target) = self.other_end(&failed)
        {
            let target_copy = *self.copy(target);
            if failed.primary {
                self.remove(target);
                self.changes.failed(target_copy);
            } else {
                self.set(target, target_copy.remove_relocation_source());
                // Relocation targets do not count as inactive, and it is no longer one.
                self.inactive_copies += 1;
                self.changes
                    .push(Change::RelocationSourceRemoved(target_copy));
            }
        }
        if failed.is_relocation_target() {
            if let Some(source) = self.other_end(&failed) {
                self.cancel_relocation(source);
            }
            self.remove(handle);
        } else if failed.primary {
            self.unassign_primary(handle, info);
        } else if failed.is_relocating() {
            self.remove(handle);
        } else {
            self.unassign(handle, info);
        }
        self.changes.failed(failed);
    }

    fn fail_recovering_replicas(&mut self, primary: &ShardCopy, info: UnassignedInfo) {
        let replicas: Vec<CopyIndex> = self
            .assigned(primary.shard)
            .iter()
            .copied()
            .filter(|&other| {
                let copy = self.copy(other);
                !copy.primary && copy.is_initializing()
            })
            .collect();
        for replica in replicas {
            self.fail(
                replica,
                UnassignedInfo::new(Reason::PrimaryFailed, info.at_nanos),
            );
        }
    }

    fn unassign_primary(&mut self, handle: CopyIndex, info: UnassignedInfo) {
        let shard = self.copy(handle).shard;
        match self.active_replica_with_highest_version(shard) {
            None => self.unassign(handle, info),
            Some(replica) => {
                let primary = *self.copy(handle);
                self.remove(handle);
                let now = primary
                    .move_to_unassigned(info)
                    .move_unassigned_from_primary();
                self.set(handle, now);
                self.unassigned.add(handle, &now);
                let before = *self.copy(replica);
                self.set(replica, before.move_active_replica_to_primary());
                self.changes.push(Change::Promoted(before));
            }
        }
    }

    fn unassign(&mut self, handle: CopyIndex, info: UnassignedInfo) {
        let before = *self.copy(handle);
        self.remove(handle);
        let now = self.set(handle, before.move_to_unassigned(info));
        self.unassigned.add(handle, &now);
    }

    fn cancel_relocation(&mut self, handle: CopyIndex) {
        self.relocating -= 1;
        let now = self.copy(handle).cancel_relocation();
        self.set(handle, now);
    }

    /// Removes a copy from its node (`remove`) and cancels its relocation.
    fn remove(&mut self, handle: CopyIndex) {
        let copy = *self.copy(handle);
        let Some(node) = copy.node else {
            debug_assert!(false, "only assigned copies can be removed");
            return;
        };
        self.take_from_node(handle, node);
        if copy.is_initializing() && copy.relocating.is_none() {
            self.inactive_copies -= 1;
            self.inactive_primaries -= u32::from(copy.primary);
        } else if copy.is_relocating() {
            self.cancel_relocation(handle);
        }
        self.assigned_remove(handle);
        if copy.is_initializing() {
            self.remove_recovery(&copy);
        }
    }

    /// Removes a node from the routed ones; its copies must have been failed before.
    pub fn remove_node(&mut self, node: NodeIndex) {
        debug_assert_eq!(self.count_on(node), 0, "copies are still on the node");
        if let Some(list) = self.lists.get_mut(node.at()) {
            *list = None;
        }
        self.order.retain(|&other| other != node);
    }
}
