//! The cluster as the master sees it: nodes, indices, routing table, disk, settings.
//!
//! Nodes, indices and allocations are numbers; their names stand beside them once. Numbers stay valid
//! for the life of a [`Cluster`]: a node that left and an index that was deleted keep theirs.

mod ids;
mod info;
mod settings;
mod table;

pub use ids::{IndexIndex, NodeIndex, ShardId};
pub use info::{ClusterInfo, DiskUsage, PathIndex, PathKey};
pub use settings::{
    AllocationEnable, AllowRebalance, Filters, IndexSettings, RebalanceEnable, Settings, Watermark,
    WatermarkError, WatermarkOrderError,
};
pub use table::{IndexTable, RoutingTable, TableOrder};

use crate::copy::AllocationIndex;
use crate::java::HppcOrder;

/// A version of the server as it numbers itself: 7.4.0 is 7,040,099.
///
/// Only the order counts (class `Version`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u32);

impl Version {
    /// A release: major, minor, revision.
    pub const fn release(major: u32, minor: u32, revision: u32) -> Self {
        Self(major * 1_000_000 + minor * 10_000 + revision * 100 + 99)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.0;
        write!(
            f,
            "{}.{}.{}",
            id / 1_000_000,
            id / 10_000 % 100,
            id / 100 % 100
        )
    }
}

/// A node of the cluster (`DiscoveryNode`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The node's id; the key of the server's hash maps, so it decides orders.
    pub id: String,
    /// The node's name, for people and for the filter `_name`.
    pub name: String,
    /// `getHostName()`: for the filter `_host` and `same_shard.host`.
    pub host: String,
    /// `getHostAddress()`: for the filters `_host_ip` and `_ip`, and `same_shard.host`.
    pub host_address: String,
    /// The address of the transport, without port: for `_publish_ip` and `_ip`.
    pub publish_address: String,
    /// Attributes, in any order.
    pub attributes: Vec<(String, String)>,
    /// Whether it holds shards.
    pub data: bool,
    /// Its version.
    pub version: Version,
    /// Whether it is in the cluster now. A node that left keeps its number.
    pub present: bool,
}

impl Node {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether shards may be there at all: it is in the cluster and has the data role.
    pub fn is_live_data(&self) -> bool {
        self.present && self.data
    }
}

/// Whether an index is open (`IndexMetaData.State`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Open.
    Open,
    /// Closed. From 7.2 on it is in the routing table all the same.
    Closed,
    /// Deleted: the number stays, nothing else counts.
    Deleted,
}

/// An index as the allocation knows it (`IndexMetaData`).
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// Its name; the key of the server's hash maps, so it decides orders.
    pub name: String,
    /// Its uuid.
    pub uuid: String,
    /// Number of shards (primaries).
    pub shards: u32,
    /// Number of replicas of each.
    pub replicas: u32,
    /// Open, closed or deleted.
    pub state: IndexState,
    /// Settings that deciders and the allocation ask for.
    pub settings: IndexSettings,
    /// Allocation ids of the copies in sync, per shard (`getInSyncAllocationIds`).
    pub in_sync: Vec<Vec<AllocationIndex>>,
    /// The index this one is shrunk, split or cloned from (`getResizeSourceIndex`).
    pub resize_source: Option<IndexIndex>,
}

impl Index {
    /// All copies the metadata asks for: shards times (replicas + 1).
    pub(crate) fn total_copies(&self) -> u64 {
        if self.state == IndexState::Deleted {
            0
        } else {
            u64::from(self.shards) * (u64::from(self.replicas) + 1)
        }
    }
}

/// A copy that a running snapshot is reading (`SnapshotsInProgress`, not completed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotShard {
    /// The shard.
    pub shard: ShardId,
    /// The node whose primary is read.
    pub node: NodeIndex,
}

/// A shard of a running restore (`RestoreInProgress`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoreShard {
    /// The restore, as in `RecoverySource::Snapshot`.
    pub restore: u32,
    /// The shard.
    pub shard: ShardId,
    /// Whether it is over, well or badly.
    pub completed: bool,
}

/// What the master knows when it allocates (`ClusterState` with `ClusterInfo`).
#[derive(Debug, Clone)]
pub struct Cluster {
    /// All nodes ever seen; `NodeIndex` is the place here.
    pub nodes: Vec<Node>,
    /// The live data nodes in the order of `DiscoveryNodes.getDataNodes().values()`. Matters where two
    /// ids fall into one bin of a hash map, and to replicas that wait for the gateway.
    pub data_nodes: Vec<NodeIndex>,
    /// All indices ever seen; `IndexIndex` is the place here.
    pub indices: Vec<Index>,
    /// Where every copy is.
    pub routing: RoutingTable,
    /// Settings of the cluster.
    pub settings: Settings,
    /// Disk usages, sizes and paths; `None` where the server has no information at all.
    pub info: Option<ClusterInfo>,
    /// Shards that running snapshots read.
    pub snapshots: Vec<SnapshotShard>,
    /// Shards of running restores.
    pub restores: Vec<RestoreShard>,
    /// The next allocation id to hand out; above every id in use.
    pub next_allocation: u64,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            data_nodes: Vec::new(),
            indices: Vec::new(),
            routing: RoutingTable::default(),
            settings: Settings::default(),
            info: None,
            snapshots: Vec::new(),
            restores: Vec::new(),
            next_allocation: 1,
        }
    }
}

impl Cluster {
    /// The node of that number.
    ///
    /// # Panics
    /// If the number is not of this cluster.
    pub fn node(&self, node: NodeIndex) -> &Node {
        &self.nodes[node.at()]
    }

    /// The index of that number.
    ///
    /// # Panics
    /// If the number is not of this cluster.
    #[expect(
        clippy::should_implement_trait,
        reason = "an index of the cluster, not of a sequence"
    )]
    pub fn index(&self, index: IndexIndex) -> &Index {
        &self.indices[index.at()]
    }

    /// The node with that id, present or not.
    pub fn node_by_id(&self, id: &str) -> Option<NodeIndex> {
        place(self.nodes.iter().position(|node| node.id == id)).map(NodeIndex)
    }

    /// The index with that name that is not deleted.
    pub fn index_by_name(&self, name: &str) -> Option<IndexIndex> {
        place(
            self.indices
                .iter()
                .position(|index| index.name == name && index.state != IndexState::Deleted),
        )
        .map(IndexIndex)
    }

    /// `MetaData.getTotalNumberOfShards`: copies of all indices, closed ones included.
    pub(crate) fn total_copies(&self) -> u64 {
        self.indices.iter().map(Index::total_copies).sum()
    }

    /// Brings [`Cluster::data_nodes`] in line with [`Cluster::nodes`], after nodes came or went.
    ///
    /// With [`TableOrder::Kept`] those that stay keep their order. Else the order is that of a
    /// `DiscoveryNodes` into which the nodes that are present were put in their order here.
    pub fn settle_nodes(&mut self) {
        let present = |node: NodeIndex| self.nodes[node.at()].present;
        let all = (0..).map(NodeIndex).take(self.nodes.len());
        let ordered: Vec<NodeIndex> = match self.routing.order {
            TableOrder::Kept => {
                let stay = self.data_nodes.iter().copied();
                let new = all.filter(|node| !self.data_nodes.contains(node));
                stay.chain(new).collect()
            }
            TableOrder::Deterministic => {
                let put: Vec<NodeIndex> = all.filter(|&node| present(node)).collect();
                let data: Vec<NodeIndex> = self
                    .hppc_walk(&put)
                    .into_iter()
                    .filter(|node| self.nodes[node.at()].data)
                    .collect();
                self.hppc_walk(&data)
            }
        };
        self.data_nodes = ordered
            .into_iter()
            .filter(|node| self.nodes[node.at()].is_live_data())
            .collect();
    }

    fn hppc_walk(&self, put: &[NodeIndex]) -> Vec<NodeIndex> {
        let ids = put.iter().map(|node| self.nodes[node.at()].id.as_str());
        HppcOrder::of_strings(ids)
            .iter()
            .map(|at| put[at])
            .collect()
    }

    /// Number of live data nodes.
    pub(crate) fn data_node_count(&self) -> usize {
        self.data_nodes.len()
    }
}

fn place(found: Option<usize>) -> Option<u32> {
    found.and_then(|at| u32::try_from(at).ok())
}
