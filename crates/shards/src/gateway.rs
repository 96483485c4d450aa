//! The gateway's rule: unassigned copies go where their data is (`GatewayAllocator`,
//! `PrimaryShardAllocator`, `ReplicaShardAllocator`).

mod primary;
mod replica;
mod stores;

pub use stores::{OnDiskChange, Stores};

use crate::copy::{AllocationIndex, AllocationStatus, ShardCopy};
use crate::java::string_compare;
use crate::model::{NodeIndex, ShardId};
use crate::nodes::CopyIndex;
use crate::service::Allocation;

/// Why a node could not read a copy it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreError {
    /// Somebody holds its lock (`ShardLockObtainFailedException`): it counts as valid.
    Locked,
    /// Anything else: it counts as no copy.
    Other,
}

/// What a node says of the copy it has on disk (`NodeGatewayStartedShards`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedStore {
    /// The node.
    pub node: NodeIndex,
    /// The copy's allocation id; none where there is no copy.
    pub allocation: Option<AllocationIndex>,
    /// Whether it was the primary.
    pub primary: bool,
    /// Why it could not be read.
    pub error: Option<StoreError>,
}

/// What a node says of the files it has (`NodeStoreFilesMetaData`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStore {
    /// The node.
    pub node: NodeIndex,
    /// Whether there is no file at all.
    pub is_empty: bool,
    /// The sync id of a synced flush, as a number: only equality counts.
    pub sync_id: Option<u64>,
    /// Bytes in files that are the same in the active primary's store.
    pub matching_bytes: u64,
}

/// Asks nodes what they hold. `None`: they have not all answered yet.
///
/// Answers come in the order in which the server walks them, by the hash of a random id per process;
/// it matters only between nodes that are otherwise equal.
pub trait Fetch {
    /// Copies on disk, of a shard whose primary is unassigned.
    fn started(&self, shard: ShardId) -> Option<Vec<StartedStore>>;

    /// Files on disk, of a shard whose replica is unassigned or recovers; the active primary's too.
    fn files(&self, shard: ShardId) -> Option<Vec<FileStore>>;

    /// Whether nodes have been asked for the shard's files before (`hasInitiatedFetching`). It matters
    /// only in a round that follows commands.
    fn has_asked_for_files(&self, shard: ShardId) -> bool {
        let _ = shard;
        false
    }
}

/// What is decided of one unassigned copy (`AllocateUnassignedDecision`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placing {
    /// Not by the gateway: the balancer will see.
    NotTaken,
    /// On this node; a primary with the allocation id of the data there.
    Yes(NodeIndex, Option<AllocationIndex>),
    /// Not in this round.
    No(AllocationStatus),
}

/// Puts unassigned copies where their data is (`innerAllocatedUnassigned`): indices of high priority,
/// then the newest first; all primaries, then the replicas.
pub fn allocate_unassigned(allocation: &mut Allocation<'_>, fetch: &dyn Fetch) {
    let cluster = allocation.cluster;
    allocation.nodes.sort_unassigned(|a, b| {
        let (a, b) = (a.shard.index, b.shard.index);
        if a == b {
            return std::cmp::Ordering::Equal;
        }
        let (a, b) = (cluster.index(a), cluster.index(b));
        (b.settings.priority.cmp(&a.settings.priority))
            .then_with(|| b.settings.creation_date.cmp(&a.settings.creation_date))
            .then_with(|| string_compare(&b.name, &a.name))
    });
    place_each(allocation, |allocation, copy| {
        primary::place(allocation, fetch, copy)
    });
    replica::cancel_worse_recoveries(allocation, fetch);
    place_each(allocation, |allocation, copy| {
        replica::place(allocation, fetch, copy)
    });
}

/// Decides each unassigned copy in turn (`BaseGatewayShardAllocator.allocateUnassigned`).
fn place_each(
    allocation: &mut Allocation<'_>,
    mut decide: impl FnMut(&mut Allocation<'_>, &ShardCopy) -> Placing,
) {
    let unassigned: Vec<CopyIndex> = allocation.nodes.drain_unassigned();
    for handle in unassigned {
        let copy = *allocation.nodes.copy(handle);
        match decide(allocation, &copy) {
            Placing::NotTaken => allocation.nodes.keep(handle),
            Placing::Yes(node, existing) => {
                let size = allocation
                    .cluster
                    .info
                    .as_ref()
                    .filter(|_| !copy.primary)
                    .and_then(|info| info.size_bytes(copy.shard, false))
                    .unwrap_or(crate::copy::UNKNOWN_SIZE);
                allocation.nodes.initialize(handle, node, existing, size);
            }
            Placing::No(status) => allocation.nodes.ignore(handle, status),
        }
    }
}

#[cfg(test)]
mod tests;
