//! One copy of a shard (`ShardRouting`): its state, location and recovery.
//!
//! Transitions return the resulting copy. Like the server's assertions, they require the copy to be in
//! the right initial state; callers ensure that.

use crate::model::{NodeIndex, ShardId};

/// Expected size where none is known (`UNAVAILABLE_EXPECTED_SHARD_SIZE`), bytes.
pub const UNKNOWN_SIZE: i64 = -1;

/// An allocation id (`AllocationId.getId()`) as a number; only equality matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationIndex(pub u64);

/// Placeholder in the in-sync set for a primary forced from a stale copy (`FORCED_ALLOCATION_ID`).
pub(crate) const FORCED_ALLOCATION: AllocationIndex = AllocationIndex(0);

/// Generator of unique allocation ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationIds {
    next: u64,
}

impl AllocationIds {
    /// Starts at this number; 0 is never handed out.
    pub fn from(next: u64) -> Self {
        Self { next: next.max(1) }
    }

    /// Returns a new id.
    pub fn fresh(&mut self) -> AllocationIndex {
        let id = AllocationIndex(self.next);
        self.next += 1;
        id
    }

    /// Excludes an id from being handed out.
    pub fn skip(&mut self, id: AllocationIndex) {
        self.next = self.next.max(id.0.saturating_add(1));
    }

    /// The next number to be handed out.
    pub fn next(&self) -> u64 {
        self.next
    }
}

/// Lifecycle state of a copy (`ShardRoutingState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CopyState {
    /// Not on any node.
    Unassigned,
    /// Recovering on its node.
    Initializing,
    /// Serving requests.
    Started,
    /// Serving requests while it recovers on the node it moves to.
    Relocating,
}

/// Where a copy that is not active gets its data from (`RecoverySource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecoverySource {
    /// A new, empty primary.
    EmptyStore,
    /// A primary, from data on disk.
    ExistingStore,
    /// A primary, forced from data on disk that is known to be stale.
    ForcedStalePrimary,
    /// A replica, from the primary.
    Peer,
    /// From a snapshot; holds the number of the restore.
    Snapshot(u32),
    /// From local shards of another index (shrink, split, clone).
    LocalShards,
}

impl RecoverySource {
    /// Whether it is `EXISTING_STORE`, forced or not.
    pub fn is_existing_store(self) -> bool {
        matches!(self, Self::ExistingStore | Self::ForcedStalePrimary)
    }
}

/// Why a copy became unassigned (`UnassignedInfo.Reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The index was created.
    IndexCreated,
    /// The whole cluster restarted.
    ClusterRecovered,
    /// A closed index was opened.
    IndexReopened,
    /// A dangling index was imported.
    DanglingIndexImported,
    /// Restored into a new index.
    NewIndexRestored,
    /// Restored into a closed index.
    ExistingIndexRestored,
    /// A replica was added.
    ReplicaAdded,
    /// An allocation failed.
    AllocationFailed,
    /// The node left the cluster.
    NodeLeft,
    /// Cancelled by a reroute command.
    RerouteCancelled,
    /// Reset to initializing.
    Reinitialized,
    /// A better node was found for the replica.
    ReallocatedReplica,
    /// The primary failed while the replica was initializing.
    PrimaryFailed,
    /// An empty primary was forced.
    ForcedEmptyPrimary,
    /// Allocated manually after failures.
    ManualAllocation,
    /// The index was closed.
    IndexClosed,
}

/// Result of the last allocation attempt (`UnassignedInfo.AllocationStatus`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AllocationStatus {
    /// All deciders said no.
    DecidersNo,
    /// No copy suitable as the primary was found.
    NoValidShardCopy,
    /// Throttled.
    DecidersThrottled,
    /// Waiting for a node to come back.
    DelayedAllocation,
    /// No attempt was made.
    NoAttempt,
}

/// Why and since when a copy is unassigned (`UnassignedInfo`); kept until the copy has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnassignedInfo {
    /// Reason.
    pub reason: Reason,
    /// Consecutive failed allocations.
    pub failed_allocations: u32,
    /// Time in nanoseconds, on the clock that measures allocation delays.
    pub at_nanos: i64,
    /// Whether allocation is delayed until a node comes back.
    pub delayed: bool,
    /// Result of the last attempt.
    pub last_status: AllocationStatus,
    /// The node that it was last on (`lastAllocatedNodeId`), where that is known.
    pub last_node: Option<NodeIndex>,
}

impl UnassignedInfo {
    /// Creates the info of a newly unassigned copy: no failures, no delay, no attempt.
    pub fn new(reason: Reason, at_nanos: i64) -> Self {
        Self {
            reason,
            failed_allocations: u32::from(reason == Reason::AllocationFailed),
            at_nanos,
            delayed: false,
            last_status: AllocationStatus::NoAttempt,
            last_node: None,
        }
    }

    /// Remaining delay in nanoseconds, never below 0 (`getRemainingDelay`).
    pub(crate) fn remaining_delay_nanos(&self, now_nanos: i64, timeout_nanos: i64) -> i64 {
        let passed = now_nanos.saturating_sub(self.at_nanos);
        timeout_nanos.saturating_sub(passed).max(0)
    }
}

/// A copy of a shard (`ShardRouting`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardCopy {
    /// The shard.
    pub shard: ShardId,
    /// The node it is on; `None` while unassigned.
    pub node: Option<NodeIndex>,
    /// The node it moves to (when relocating) or comes from (for a relocation target).
    pub relocating: Option<NodeIndex>,
    /// Its allocation id; `None` while unassigned.
    pub allocation: Option<AllocationIndex>,
    /// Allocation id of the other end of its relocation.
    pub relocation: Option<AllocationIndex>,
    /// Where it recovers from; only while unassigned or initializing.
    pub recovery: Option<RecoverySource>,
    /// Why it is or was unassigned; kept until it has started.
    pub unassigned: Option<UnassignedInfo>,
    /// Expected size in bytes while initializing or relocating; [`UNKNOWN_SIZE`] if unknown.
    pub expected_bytes: i64,
    /// How often it failed to move since it started (`relocationFailureInfo`, 8.6 on).
    pub failed_relocations: u32,
    /// Lifecycle state.
    pub state: CopyState,
    /// Whether it is the primary.
    pub primary: bool,
}

impl ShardCopy {
    /// Creates an unassigned copy (`newUnassigned`).
    pub fn new_unassigned(
        shard: ShardId,
        primary: bool,
        recovery: RecoverySource,
        unassigned: UnassignedInfo,
    ) -> Self {
        Self {
            shard,
            node: None,
            relocating: None,
            allocation: None,
            relocation: None,
            recovery: Some(recovery),
            unassigned: Some(unassigned),
            expected_bytes: UNKNOWN_SIZE,
            failed_relocations: 0,
            state: CopyState::Unassigned,
            primary,
        }
    }

    /// Whether it is not on any node.
    pub fn is_unassigned(&self) -> bool {
        self.state == CopyState::Unassigned
    }

    /// Whether it has not started since its index was created (`unassignedReasonIndexCreated`).
    pub(crate) fn is_of_new_index(&self) -> bool {
        let why = self.unassigned.as_ref();
        why.is_some_and(|why| why.reason == Reason::IndexCreated)
    }

    /// Whether it is recovering.
    pub fn is_initializing(&self) -> bool {
        self.state == CopyState::Initializing
    }

    /// Whether it is serving and not moving.
    pub(crate) fn is_started(&self) -> bool {
        self.state == CopyState::Started
    }

    /// Whether it is serving and moving away.
    pub fn is_relocating(&self) -> bool {
        self.state == CopyState::Relocating
    }

    /// Whether it is serving: started or relocating.
    pub fn is_active(&self) -> bool {
        self.is_started() || self.is_relocating()
    }

    /// Whether it is the target of a relocation.
    pub(crate) fn is_relocation_target(&self) -> bool {
        self.is_initializing() && self.relocating.is_some()
    }

    /// The target of a relocating copy (`getTargetRelocatingShard`).
    #[must_use]
    pub fn relocation_target(&self) -> Self {
        debug_assert!(self.is_relocating());
        Self {
            node: self.relocating,
            relocating: self.node,
            allocation: self.relocation,
            relocation: self.allocation,
            recovery: Some(RecoverySource::Peer),
            failed_relocations: 0,
            state: CopyState::Initializing,
            ..*self
        }
    }

    /// Replaces reason, delay and recovery source (`updateUnassigned`).
    #[must_use]
    pub(crate) fn update_unassigned(&self, info: UnassignedInfo, recovery: RecoverySource) -> Self {
        Self {
            unassigned: Some(info),
            recovery: Some(recovery),
            ..*self
        }
    }

    /// Makes the copy unassigned (`moveToUnassigned`). An active primary will recover from its store, an
    /// active replica from the primary, any other copy from its previous source.
    #[must_use]
    pub(crate) fn move_to_unassigned(&self, info: UnassignedInfo) -> Self {
        debug_assert!(!self.is_unassigned());
        let recovery = match (self.is_active(), self.primary) {
            (true, true) => Some(RecoverySource::ExistingStore),
            (true, false) => Some(RecoverySource::Peer),
            (false, _) => self.recovery,
        };
        let info = UnassignedInfo {
            last_node: self.node,
            ..info
        };
        Self {
            recovery,
            ..Self::new_unassigned(self.shard, self.primary, RecoverySource::Peer, info)
        }
    }

    /// Unassigned to initializing, on a node (`initialize`).
    #[must_use]
    pub fn initialize(
        &self,
        node: NodeIndex,
        allocation: AllocationIndex,
        expected_bytes: i64,
    ) -> Self {
        debug_assert!(self.is_unassigned());
        Self {
            node: Some(node),
            allocation: Some(allocation),
            relocation: None,
            expected_bytes,
            state: CopyState::Initializing,
            ..*self
        }
    }

    /// Started to relocating (`relocate`).
    #[must_use]
    pub fn relocate(&self, to: NodeIndex, target: AllocationIndex, expected_bytes: i64) -> Self {
        debug_assert!(self.is_started());
        Self {
            relocating: Some(to),
            relocation: Some(target),
            unassigned: None,
            expected_bytes,
            state: CopyState::Relocating,
            ..*self
        }
    }

    /// Relocating back to started (`cancelRelocation`).
    #[must_use]
    pub(crate) fn cancel_relocation(&self) -> Self {
        debug_assert!(self.is_relocating());
        Self {
            relocating: None,
            relocation: None,
            unassigned: None,
            expected_bytes: UNKNOWN_SIZE,
            failed_relocations: self.failed_relocations.saturating_add(1),
            state: CopyState::Started,
            ..*self
        }
    }

    /// Turns the relocation target of a replica into an independent copy (`removeRelocationSource`).
    #[must_use]
    pub(crate) fn remove_relocation_source(&self) -> Self {
        debug_assert!(self.is_relocation_target() && !self.primary);
        Self {
            relocating: None,
            relocation: None,
            ..*self
        }
    }

    /// Restarts the recovery of a replica (`reinitializeReplicaShard`).
    #[must_use]
    pub(crate) fn reinitialize_replica(&self, allocation: AllocationIndex) -> Self {
        debug_assert!(self.is_initializing() && !self.primary && !self.is_relocation_target());
        Self {
            relocating: None,
            allocation: Some(allocation),
            relocation: None,
            ..*self
        }
    }

    /// A started copy.
    pub fn started(
        shard: ShardId,
        primary: bool,
        node: NodeIndex,
        allocation: AllocationIndex,
    ) -> Self {
        Self {
            shard,
            node: Some(node),
            relocating: None,
            allocation: Some(allocation),
            relocation: None,
            recovery: None,
            unassigned: None,
            expected_bytes: UNKNOWN_SIZE,
            failed_relocations: 0,
            state: CopyState::Started,
            primary,
        }
    }

    /// Initializing to started (`moveToStarted`).
    #[must_use]
    pub fn move_to_started(&self) -> Self {
        debug_assert!(self.is_initializing());
        Self {
            relocating: None,
            relocation: None,
            recovery: None,
            unassigned: None,
            expected_bytes: UNKNOWN_SIZE,
            failed_relocations: 0,
            state: CopyState::Started,
            ..*self
        }
    }

    /// Promotes an active replica to primary (`moveActiveReplicaToPrimary`).
    #[must_use]
    pub(crate) fn move_active_replica_to_primary(&self) -> Self {
        debug_assert!(self.is_active() && !self.primary);
        Self {
            primary: true,
            ..*self
        }
    }

    /// Demotes an unassigned primary to a replica (`moveUnassignedFromPrimary`).
    #[must_use]
    pub(crate) fn move_unassigned_from_primary(&self) -> Self {
        debug_assert!(self.is_unassigned() && self.primary);
        Self {
            primary: false,
            recovery: Some(RecoverySource::Peer),
            ..*self
        }
    }
}
