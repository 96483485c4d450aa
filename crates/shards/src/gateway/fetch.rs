//! Nodes' reports on the copies they have on disk.

use crate::copy::AllocationIndex;
use crate::model::{NodeIndex, ShardId};

/// Why a node could not read its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreError {
    /// Another process holds the shard lock (`ShardLockObtainFailedException`); the copy counts as valid.
    Locked,
    /// Any other error; the node counts as having no copy.
    Other,
}

/// A node's report on the copy it has on disk (`NodeGatewayStartedShards`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedStore {
    /// The node.
    pub node: NodeIndex,
    /// The copy's allocation id; `None` if there is no copy.
    pub allocation: Option<AllocationIndex>,
    /// Whether the copy was the primary.
    pub primary: bool,
    /// Why the copy could not be read.
    pub error: Option<StoreError>,
}

/// A node's report on its files of a shard (`NodeStoreFilesMetaData`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStore {
    /// The node.
    pub node: NodeIndex,
    /// Whether there are no files.
    pub is_empty: bool,
    /// The sync id of a synced flush, as a number: only equality matters.
    pub sync_id: Option<u64>,
    /// Bytes in files that are identical in the active primary's store.
    pub matching_bytes: u64,
}

/// Fetches the nodes' store information. `None` means that responses are still pending.
///
/// Responses are in the order in which the server processes them, which depends on a hash of an id that
/// is random per process; the order only matters between nodes that are otherwise equal.
pub trait Fetch {
    /// Copies on disk for a shard whose primary is unassigned.
    fn started(&self, shard: ShardId) -> Option<Vec<StartedStore>>;

    /// Files on disk for a shard whose replica is unassigned or recovering, including those of the active
    /// primary.
    fn files(&self, shard: ShardId) -> Option<Vec<FileStore>>;

    /// Whether the shard's files have been fetched before (`hasInitiatedFetching`). This only matters in
    /// a round that follows commands.
    fn has_asked_for_files(&self, shard: ShardId) -> bool {
        let _ = shard;
        false
    }
}
