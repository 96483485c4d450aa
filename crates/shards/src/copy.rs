//! One copy of a shard (`ShardRouting`): its state, where it is, and how it got there.
//!
//! Transitions return the copy as it is afterwards. They expect the state they start from; callers see
//! to it, as the server's assertions do.

use crate::model::{NodeIndex, ShardId};

/// Expected size where none is known (`UNAVAILABLE_EXPECTED_SHARD_SIZE`), bytes.
pub const UNKNOWN_SIZE: i64 = -1;

/// An allocation id (`AllocationId.getId()`), as a number: only equality counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationIndex(pub u64);

/// Stands in the in-sync set for a primary that was forced from a stale copy (`FORCED_ALLOCATION_ID`).
pub(crate) const FORCED_ALLOCATION: AllocationIndex = AllocationIndex(0);

/// Hands out allocation ids never used before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationIds {
    next: u64,
}

impl AllocationIds {
    /// Ids from this number on; 0 is never handed out.
    pub fn from(next: u64) -> Self {
        Self { next: next.max(1) }
    }

    /// A new id.
    pub fn fresh(&mut self) -> AllocationIndex {
        let id = AllocationIndex(self.next);
        self.next += 1;
        id
    }

    /// Never hands out this id.
    pub fn skip(&mut self, id: AllocationIndex) {
        self.next = self.next.max(id.0.saturating_add(1));
    }

    /// The number that comes next.
    pub fn next(&self) -> u64 {
        self.next
    }
}

/// What a copy is doing (`ShardRoutingState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CopyState {
    /// On no node.
    Unassigned,
    /// Recovering on its node.
    Initializing,
    /// Serving.
    Started,
    /// Serving, while another copy of it recovers on the node it moves to.
    Relocating,
}

/// Where a copy that is not active gets its data from (`RecoverySource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecoverySource {
    /// A new, empty primary.
    EmptyStore,
    /// A primary from data on disk.
    ExistingStore,
    /// A primary from data on disk known to be stale, by force.
    ForcedStalePrimary,
    /// From the primary.
    Peer,
    /// From a snapshot; the number of the restore.
    Snapshot(u32),
    /// From local shards of another index (shrink, split, clone).
    LocalShards,
}

impl RecoverySource {
    /// Whether the type is `EXISTING_STORE`, forced or not.
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
    /// Its node left.
    NodeLeft,
    /// Cancelled by a reroute command.
    RerouteCancelled,
    /// Went back to initializing.
    Reinitialized,
    /// A better place was found for a replica.
    ReallocatedReplica,
    /// The primary failed while the replica initialized.
    PrimaryFailed,
    /// An empty primary was forced.
    ForcedEmptyPrimary,
    /// Asked for by hand, after failures.
    ManualAllocation,
    /// The index was closed.
    IndexClosed,
}

/// How the last attempt to allocate went (`UnassignedInfo.AllocationStatus`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AllocationStatus {
    /// All deciders said no.
    DecidersNo,
    /// No copy fit to be the primary was found.
    NoValidShardCopy,
    /// Throttled.
    DecidersThrottled,
    /// Nodes have not yet said what they hold.
    FetchingShardData,
    /// Waiting for a node to come back.
    DelayedAllocation,
    /// Not tried.
    NoAttempt,
}

/// Why and since when a copy is unassigned (`UnassignedInfo`); kept until it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnassignedInfo {
    /// Why.
    pub reason: Reason,
    /// Allocations that failed in a row.
    pub failed_allocations: u32,
    /// When, on the clock that delays are measured with, nanoseconds.
    pub at_nanos: i64,
    /// Whether the allocation waits for a node to come back.
    pub delayed: bool,
    /// How the last attempt went.
    pub last_status: AllocationStatus,
}

impl UnassignedInfo {
    /// As it begins: nothing failed, no delay, no attempt.
    pub fn new(reason: Reason, at_nanos: i64) -> Self {
        Self {
            reason,
            failed_allocations: u32::from(reason == Reason::AllocationFailed),
            at_nanos,
            delayed: false,
            last_status: AllocationStatus::NoAttempt,
        }
    }

    /// What is left of the delay, nanoseconds, never below 0 (`getRemainingDelay`).
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
    /// The node it is on; none while unassigned.
    pub node: Option<NodeIndex>,
    /// Where it moves to (relocating), or comes from (the target of a relocation).
    pub relocating: Option<NodeIndex>,
    /// Its allocation id; none while unassigned.
    pub allocation: Option<AllocationIndex>,
    /// The allocation id at the other end of its relocation.
    pub relocation: Option<AllocationIndex>,
    /// Where its data comes from; only while unassigned or initializing.
    pub recovery: Option<RecoverySource>,
    /// Why it is or was unassigned, until it has started.
    pub unassigned: Option<UnassignedInfo>,
    /// Expected size, bytes, while initializing or relocating; [`UNKNOWN_SIZE`] where none is known.
    pub expected_bytes: i64,
    /// What it is doing.
    pub state: CopyState,
    /// Whether it is the primary.
    pub primary: bool,
}

impl ShardCopy {
    /// A new unassigned copy (`newUnassigned`).
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
            state: CopyState::Unassigned,
            primary,
        }
    }

    /// On no node.
    pub fn is_unassigned(&self) -> bool {
        self.state == CopyState::Unassigned
    }

    /// Recovering.
    pub fn is_initializing(&self) -> bool {
        self.state == CopyState::Initializing
    }

    /// Serving and not moving.
    pub(crate) fn is_started(&self) -> bool {
        self.state == CopyState::Started
    }

    /// Serving and moving away.
    pub fn is_relocating(&self) -> bool {
        self.state == CopyState::Relocating
    }

    /// Serving: started or relocating.
    pub fn is_active(&self) -> bool {
        self.is_started() || self.is_relocating()
    }

    /// Whether it is what a relocating copy moves to.
    pub(crate) fn is_relocation_target(&self) -> bool {
        self.is_initializing() && self.relocating.is_some()
    }

    /// What a relocating copy moves to (`getTargetRelocatingShard`).
    #[must_use]
    pub fn relocation_target(&self) -> Self {
        debug_assert!(self.is_relocating());
        Self {
            node: self.relocating,
            relocating: self.node,
            allocation: self.relocation,
            relocation: self.allocation,
            recovery: Some(RecoverySource::Peer),
            state: CopyState::Initializing,
            ..*self
        }
    }

    /// With another reason or delay (`updateUnassigned`).
    #[must_use]
    pub(crate) fn update_unassigned(&self, info: UnassignedInfo, recovery: RecoverySource) -> Self {
        Self {
            unassigned: Some(info),
            recovery: Some(recovery),
            ..*self
        }
    }

    /// To unassigned (`moveToUnassigned`): an active primary will recover from its store, an active
    /// replica from the primary, others from where they did.
    #[must_use]
    pub(crate) fn move_to_unassigned(&self, info: UnassignedInfo) -> Self {
        debug_assert!(!self.is_unassigned());
        let recovery = match (self.is_active(), self.primary) {
            (true, true) => Some(RecoverySource::ExistingStore),
            (true, false) => Some(RecoverySource::Peer),
            (false, _) => self.recovery,
        };
        Self {
            shard: self.shard,
            node: None,
            relocating: None,
            allocation: None,
            relocation: None,
            recovery,
            unassigned: Some(info),
            expected_bytes: UNKNOWN_SIZE,
            state: CopyState::Unassigned,
            primary: self.primary,
        }
    }

    /// From unassigned to initializing on a node (`initialize`).
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

    /// From started to relocating (`relocate`).
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

    /// From relocating back to started (`cancelRelocation`).
    #[must_use]
    pub(crate) fn cancel_relocation(&self) -> Self {
        debug_assert!(self.is_relocating());
        Self {
            relocating: None,
            relocation: None,
            unassigned: None,
            expected_bytes: UNKNOWN_SIZE,
            state: CopyState::Started,
            ..*self
        }
    }

    /// A replica that was the target of a relocation goes on alone (`removeRelocationSource`).
    #[must_use]
    pub(crate) fn remove_relocation_source(&self) -> Self {
        debug_assert!(self.is_relocation_target() && !self.primary);
        Self {
            relocating: None,
            relocation: None,
            ..*self
        }
    }

    /// A recovering replica begins anew (`reinitializeReplicaShard`).
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

    /// From initializing to started (`moveToStarted`).
    #[must_use]
    pub fn move_to_started(&self) -> Self {
        debug_assert!(self.is_initializing());
        Self {
            relocating: None,
            relocation: None,
            recovery: None,
            unassigned: None,
            expected_bytes: UNKNOWN_SIZE,
            state: CopyState::Started,
            ..*self
        }
    }

    /// An active replica becomes the primary (`moveActiveReplicaToPrimary`).
    #[must_use]
    pub(crate) fn move_active_replica_to_primary(&self) -> Self {
        debug_assert!(self.is_active() && !self.primary);
        Self {
            primary: true,
            ..*self
        }
    }

    /// An unassigned primary becomes a replica (`moveUnassignedFromPrimary`).
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
