//! Changes made by a round (`RoutingNodesChangedObserver`, `IndexMetaDataUpdater`).

use std::collections::HashMap;

use crate::copy::{AllocationIndex, FORCED_ALLOCATION, RecoverySource, ShardCopy};
use crate::model::{IndexIndex, ShardId};

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// An unassigned copy was initialized on a node; the new state.
    Initialized(ShardCopy),
    /// A copy began to relocate.
    RelocationStarted {
        /// The copy before the relocation.
        started: ShardCopy,
        /// The relocation target.
        target: ShardCopy,
    },
    /// A copy has started; its state before, while initializing.
    Started(ShardCopy),
    /// A copy failed or was cancelled; its state before.
    Failed(ShardCopy),
    /// A relocation completed; the source's state before.
    RelocationCompleted(ShardCopy),
    /// The source of a relocating replica failed and the target continues alone; the target's state
    /// before.
    RelocationSourceRemoved(ShardCopy),
    /// A replica was promoted to primary; its state before.
    Promoted(ShardCopy),
    /// A recovering replica was restarted; its new state.
    Reinitialized(ShardCopy),
    /// The reason or status of an unassigned copy changed; the new state.
    UnassignedUpdated(ShardCopy),
}

impl Change {
    /// The shard whose copy changed.
    pub fn shard(&self) -> ShardId {
        match self {
            Change::RelocationStarted { started, .. } => started.shard,
            Change::Initialized(copy)
            | Change::Started(copy)
            | Change::Failed(copy)
            | Change::RelocationCompleted(copy)
            | Change::RelocationSourceRemoved(copy)
            | Change::Promoted(copy)
            | Change::Reinitialized(copy)
            | Change::UnassignedUpdated(copy) => copy.shard,
        }
    }
}

/// Changes that affect the metadata of a shard (`IndexMetaDataUpdater.Updates`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardChanges {
    /// Allocation ids added to the in-sync set.
    pub added: Vec<AllocationIndex>,
    /// Allocation ids removed from the in-sync set.
    pub removed: Vec<AllocationIndex>,
    /// The primary that was initialized on a node, in its new state.
    pub initialized_primary: Option<ShardCopy>,
    /// The first active primary that failed.
    pub first_failed_primary: Option<ShardCopy>,
}

/// All changes made by a round.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    log: Vec<Change>,
    shards: HashMap<ShardId, ShardChanges>,
}

impl Changes {
    /// Whether anything was changed (`routingNodesChanged`).
    pub fn any(&self) -> bool {
        !self.log.is_empty()
    }

    /// All changes in order.
    pub fn log(&self) -> &[Change] {
        &self.log
    }

    /// Consumes this and returns all changes in order.
    pub(crate) fn into_log(self) -> Vec<Change> {
        self.log
    }

    /// Changes that affect the metadata, by shard.
    pub fn shards(&self) -> &HashMap<ShardId, ShardChanges> {
        &self.shards
    }

    /// The shards whose copies changed, without duplicates.
    pub(crate) fn touched(&self) -> Vec<ShardId> {
        let mut shards: Vec<ShardId> = self.log.iter().map(Change::shard).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// The indices whose copies changed, without duplicates.
    pub(crate) fn touched_indices(&self) -> Vec<IndexIndex> {
        let mut indices: Vec<IndexIndex> = self.touched().iter().map(|shard| shard.index).collect();
        indices.dedup();
        indices
    }

    fn shard(&mut self, shard: ShardId) -> &mut ShardChanges {
        self.shards.entry(shard).or_default()
    }

    pub(super) fn initialized(&mut self, copy: ShardCopy) {
        self.log.push(Change::Initialized(copy));
        if copy.primary {
            self.shard(copy.shard).initialized_primary = Some(copy);
        }
    }

    pub(super) fn relocation_started(&mut self, started: ShardCopy, target: ShardCopy) {
        self.log.push(Change::RelocationStarted { started, target });
    }

    pub(super) fn started(&mut self, initializing: ShardCopy) {
        self.log.push(Change::Started(initializing));
        let updates = self.shard(initializing.shard);
        updates.added.extend(initializing.allocation);
        if initializing.primary && initializing.recovery == Some(RecoverySource::ForcedStalePrimary)
        {
            updates.removed.push(FORCED_ALLOCATION);
        }
    }

    pub(super) fn failed(&mut self, copy: ShardCopy) {
        self.log.push(Change::Failed(copy));
        if copy.is_active() && copy.primary {
            self.shard(copy.shard)
                .first_failed_primary
                .get_or_insert(copy);
        }
    }

    pub(super) fn relocation_completed(&mut self, source: ShardCopy) {
        self.log.push(Change::RelocationCompleted(source));
        self.remove_allocation(&source);
    }

    pub(super) fn push(&mut self, change: Change) {
        self.log.push(change);
    }

    /// Removes the allocation id of an active copy from the in-sync set (`removeAllocationId`).
    fn remove_allocation(&mut self, copy: &ShardCopy) {
        if copy.is_active() {
            self.shard(copy.shard).removed.extend(copy.allocation);
        }
    }
}
