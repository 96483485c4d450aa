//! What a round changed (`RoutingNodesChangedObserver`, `IndexMetaDataUpdater`).

use std::collections::HashMap;

use crate::copy::{AllocationIndex, FORCED_ALLOCATION, RecoverySource, ShardCopy};
use crate::model::{IndexIndex, ShardId};

/// One change, in the order they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// An unassigned copy was put on a node; as it is now.
    Initialized(ShardCopy),
    /// A copy began to move: as it was, and what it moves to.
    RelocationStarted {
        /// The copy before it moved.
        started: ShardCopy,
        /// What recovers where it moves to.
        target: ShardCopy,
    },
    /// A copy has started; as it was while it recovered.
    Started(ShardCopy),
    /// A copy failed or was cancelled; as it was.
    Failed(ShardCopy),
    /// A move is done; the source as it was.
    RelocationCompleted(ShardCopy),
    /// The source of a moving replica failed; the target, as it was, goes on alone.
    RelocationSourceRemoved(ShardCopy),
    /// A replica became the primary; as it was.
    Promoted(ShardCopy),
    /// A recovering replica begins anew; as it is now.
    Reinitialized(ShardCopy),
    /// The reason or status of an unassigned copy changed; as it is now.
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

/// What a round changed for the metadata of a shard (`IndexMetaDataUpdater.Updates`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardChanges {
    /// Allocation ids that come into the in-sync set.
    pub added: Vec<AllocationIndex>,
    /// Allocation ids that leave it.
    pub removed: Vec<AllocationIndex>,
    /// A primary put on a node, and as what.
    pub initialized_primary: Option<ShardCopy>,
    /// The first active primary that failed.
    pub first_failed_primary: Option<ShardCopy>,
}

/// Everything a round changed.
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

    /// All changes in the order they were made.
    pub fn log(&self) -> &[Change] {
        &self.log
    }

    /// All changes, to keep.
    pub(crate) fn into_log(self) -> Vec<Change> {
        self.log
    }

    /// What changed for the metadata, shard by shard.
    pub fn shards(&self) -> &HashMap<ShardId, ShardChanges> {
        &self.shards
    }

    /// The shards whose copies changed, each once.
    pub(crate) fn touched(&self) -> Vec<ShardId> {
        let mut shards: Vec<ShardId> = self.log.iter().map(Change::shard).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Their indices, each once.
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

    /// Takes the allocation id of an active copy out of the in-sync set (`removeAllocationId`).
    pub(crate) fn remove_allocation(&mut self, copy: &ShardCopy) {
        if copy.is_active() {
            self.shard(copy.shard).removed.extend(copy.allocation);
        }
    }
}
