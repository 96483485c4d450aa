//! What nodes report to hold on disk.

use crate::copy::AllocationIndex;
use crate::model::{NodeIndex, ShardId};

/// Why a node could not read a copy it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreError {
    /// Another process holds its lock (`ShardLockObtainFailedException`): it counts as valid.
    Locked,
    /// Any other error: it counts as no copy.
    Other,
}

/// A node's report on the copy it has on disk (`NodeGatewayStartedShards`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedStore {
    /// The node.
    pub node: NodeIndex,
    /// The copy's allocation id; `None` if there is no copy.
    pub allocation: Option<AllocationIndex>,
    /// Whether it was the primary.
    pub primary: bool,
    /// Why it could not be read.
    pub error: Option<StoreError>,
}

/// A node's report on the files it has (`NodeStoreFilesMetaData`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStore {
    /// The node.
    pub node: NodeIndex,
    /// Whether there is no file at all.
    pub is_empty: bool,
    /// The sync id of a synced flush, as a number: only equality matters.
    pub sync_id: Option<u64>,
    /// Bytes in files that are identical in the active primary's store.
    pub matching_bytes: u64,
}

/// Asks nodes what they hold. `None` means that not all have answered yet.
///
/// Answers come in the order in which the server walks them, by the hash of a random id per process;
/// the order matters only between nodes that are otherwise equal.
pub trait Fetch {
    /// Copies on disk of a shard whose primary is unassigned.
    fn started(&self, shard: ShardId) -> Option<Vec<StartedStore>>;

    /// Files on disk of a shard whose replica is unassigned or recovering, the active primary's included.
    fn files(&self, shard: ShardId) -> Option<Vec<FileStore>>;

    /// Whether nodes have been asked for the shard's files before (`hasInitiatedFetching`). It matters
    /// only in a round that follows commands.
    fn has_asked_for_files(&self, shard: ShardId) -> bool {
        let _ = shard;
        false
    }
}
