//! The master's view of the cluster: nodes, indices, routing table, disks, settings.
//!
//! Nodes, indices and allocations are referred to by number; their names are stored once. Numbers stay
//! valid for the life of a [`Cluster`], including those of nodes that left.

mod ids;
mod info;
mod roles;
mod settings;
mod shutdown;
mod table;
mod version;

pub use ids::{IndexIndex, NodeIndex, ShardId};
pub use info::{ClusterInfo, DiskUsage, NumberMap, PathIndex, PathKey};
pub use roles::Roles;
pub use settings::{
    AllocationEnable, AllowRebalance, Filters, IndexSettings, RebalanceEnable, Settings, Watermark,
    WatermarkError, WatermarkOrderError,
};
pub(crate) use settings::{comma_separated, size_bytes};
pub use shutdown::{Shutdown, ShutdownKind};
pub use table::{IndexTable, RoutingTable};
pub use version::{Balancing, Product, Version};

use std::collections::BTreeMap;

use crate::copy::AllocationIndex;

/// A node of the cluster (`DiscoveryNode`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Node id; a key of the server's hash maps, so it affects their order.
    pub id: String,
    /// Node name, for display and for the filter `_name`.
    pub name: String,
    /// `getHostName()`, for the filter `_host` and `same_shard.host`.
    pub host: String,
    /// `getHostAddress()`, for the filters `_host_ip` and `_ip`, and `same_shard.host`.
    pub host_address: String,
    /// Transport address without port, for the filters `_publish_ip` and `_ip`.
    pub publish_address: String,
    /// Node attributes.
    pub attributes: BTreeMap<String, String>,
    /// Its roles, which decide what kinds of shards it holds.
    pub roles: Roles,
    /// Whether the node holds shards at all.
    pub data: bool,
    /// The version it runs.
    pub version: Version,
    /// Whether it is currently in the cluster. A node that left keeps its number.
    pub present: bool,
}

impl Node {
    /// A live data node that holds everything; its name and its addresses are its id.
    pub fn new(id: String, version: Version) -> Self {
        Self {
            name: id.clone(),
            host: id.clone(),
            host_address: id.clone(),
            publish_address: id.clone(),
            id,
            attributes: BTreeMap::new(),
            roles: Roles::default(),
            data: true,
            version,
            present: true,
        }
    }

    /// Value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Whether the node can hold shards: it is in the cluster and has the data role.
    pub fn is_live_data(&self) -> bool {
        self.present && self.data
    }
}

/// State of an index (`IndexMetaData.State`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Open.
    Open,
    /// Closed. From 7.2 on, a closed index is still in the routing table.
    Closed,
}

/// An index as seen by the allocator (`IndexMetaData`).
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// Index name; a key of the server's hash maps, so it affects their order.
    pub name: String,
    /// Index UUID.
    pub uuid: String,
    /// Number of shards (primaries).
    pub shards: u32,
    /// Number of replicas of each shard.
    pub replicas: u32,
    /// Open or closed.
    pub state: IndexState,
    /// Settings used by the deciders and the allocator.
    pub settings: IndexSettings,
    /// Allocation ids of the in-sync copies, per shard (`getInSyncAllocationIds`).
    pub in_sync: Vec<Vec<AllocationIndex>>,
    /// The index from which this one was shrunk, split or cloned (`getResizeSourceIndex`).
    pub resize_source: Option<IndexIndex>,
    /// What the server expects of a copy, and the index's place in a data stream.
    pub forecast: Forecast,
}

/// What balancing from 8.4 on knows of an index besides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Forecast {
    /// Write load of a copy: the threads that writing keeps busy (`forecasted_write_load`).
    pub write_load: Option<f64>,
    /// Expected size of a copy (`forecasted_shard_size_in_bytes`).
    pub shard_bytes: Option<i64>,
    /// Its place in a data stream.
    pub stream: Stream,
    /// Whether it belongs to the system (7.17 on); such indices are allocated first.
    pub system: bool,
}

/// Place of an index in a data stream; the order is that of necessary moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stream {
    /// The index that the stream writes to.
    WriteIndex,
    /// The index is part of no data stream.
    #[default]
    None,
    /// An older index of the stream.
    Backing,
}

impl Index {
    /// An open index with the default settings; its uuid is its name.
    pub fn new(name: String, shards: u32, replicas: u32) -> Self {
        Self {
            uuid: name.clone(),
            name,
            shards,
            replicas,
            state: IndexState::Open,
            settings: IndexSettings::default(),
            in_sync: Vec::new(),
            resize_source: None,
            forecast: Forecast::default(),
        }
    }

    /// Number of copies the metadata asks for: shards times (replicas + 1).
    pub(crate) fn total_copies(&self) -> u64 {
        u64::from(self.shards) * (u64::from(self.replicas) + 1)
    }
}

/// A copy that a running snapshot is reading (`SnapshotsInProgress`, not completed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotShard {
    /// The shard.
    pub shard: ShardId,
    /// The node whose primary is being read.
    pub node: NodeIndex,
}

/// A shard of a running restore (`RestoreInProgress`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreShard {
    /// The restore's number, as in `RecoverySource::Snapshot`.
    pub restore: u32,
    /// The shard.
    pub shard: ShardId,
    /// Whether the restore has ended, successfully or not.
    pub completed: bool,
}

/// The master's input for allocation (`ClusterState` with `ClusterInfo`).
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The product.
    pub product: Product,
    /// The version of the master, which decides how copies are placed.
    pub version: Version,
    /// All nodes ever seen, indexed by `NodeIndex`.
    pub nodes: Vec<Node>,
    /// The live data nodes in the order of `DiscoveryNodes.getDataNodes().values()`. This matters if two
    /// ids share a hash map bin, and for replicas that wait for the gateway.
    pub data_nodes: Vec<NodeIndex>,
    /// All indices ever seen, indexed by `IndexIndex`.
    pub indices: Vec<Index>,
    /// Location of every copy.
    pub routing: RoutingTable,
    /// Cluster settings.
    pub settings: Settings,
    /// Disk usage, sizes and paths; `None` if the server has no information at all.
    pub info: Option<ClusterInfo>,
    /// Shards being read by running snapshots.
    pub snapshots: Vec<SnapshotShard>,
    /// Shards of running restores.
    pub restores: Vec<RestoreShard>,
    /// Nodes that were announced to leave.
    pub shutdowns: Vec<Shutdown>,
    /// The next allocation id to hand out; greater than any id in use.
    pub next_allocation: u64,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            product: Product::Elasticsearch,
            version: Version::release(7, 4, 0),
            nodes: Vec::new(),
            data_nodes: Vec::new(),
            indices: Vec::new(),
            routing: RoutingTable::default(),
            settings: Settings::default(),
            info: None,
            snapshots: Vec::new(),
            restores: Vec::new(),
            shutdowns: Vec::new(),
            next_allocation: 1,
        }
    }
}

impl Cluster {
    /// The balancer of this master's version.
    pub fn balancing(&self) -> Balancing {
        Balancing::of(self.product, self.version)
    }

    /// Whether the master computes a desired balance beside its queue, and walks towards it (8.6 on, by
    /// default).
    pub fn has_desired_balance(&self) -> bool {
        self.product == Product::Elasticsearch && self.version >= Version::release(8, 6, 0)
    }

    /// Whether the copies on a node are to go to the one that replaces it.
    pub(crate) fn is_replaced(&self, node: NodeIndex) -> bool {
        let mut replaced = self.shutdowns.iter();
        replaced.any(|down| down.node == node && down.kind == ShutdownKind::Replace)
    }

    /// The node with this number.
    ///
    /// # Panics
    /// If the cluster has no such node
    pub fn node(&self, node: NodeIndex) -> &Node {
        &self.nodes[node.at()]
    }

    /// The index with this number.
    ///
    /// # Panics
    /// If the cluster has no such index
    #[expect(
        clippy::should_implement_trait,
        reason = "an index of the cluster, not of a sequence"
    )]
    pub fn index(&self, index: IndexIndex) -> &Index {
        &self.indices[index.at()]
    }

    /// Finds an index by name.
    pub fn index_by_name(&self, name: &str) -> Option<IndexIndex> {
        let place = self.indices.iter().position(|index| index.name == name)?;
        u32::try_from(place).ok().map(IndexIndex)
    }

    /// Number of copies of all indices, including closed ones (`MetaData.getTotalNumberOfShards`).
    pub(crate) fn total_copies(&self) -> u64 {
        self.indices.iter().map(Index::total_copies).sum()
    }
}
