//! What a running Elasticsearch or OpenSearch says of itself, as far as it concerns its master and
//! its disks.
//!
//! Everything is as the cluster answered at one moment. What it did not say is `None` and has an
//! entry in [`Cluster::skipped`]; an empty list means that it said "none".

mod settings;
mod version;
mod watermark;

pub use settings::{
    ClusterSettings, IndexSetting, IndexSettings, Setting, SettingOrigin, SettingValue,
};
pub use version::{Flavour, ServerVersion};
pub use watermark::{Watermark, WatermarkLevel};

use crate::Skipped;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The facts of one cluster, as of one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// When it was asked: rules take this as their "now".
    pub read_at: Timestamp,
    /// The URL that was asked, without query; a saved answer keeps that of its making.
    pub endpoint: String,
    /// Elasticsearch or OpenSearch.
    pub flavour: Flavour,
    /// Version of the master; of the node that answered where the master is not known. Of several
    /// versions in one cluster (an upgrade under way) each node tells its own.
    pub version: ServerVersion,
    /// `cluster.name`.
    pub name: Option<String>,
    /// Id of the elected master (OpenSearch: cluster manager); `None` where there is none just now
    /// or it was not told.
    pub master: Option<String>,
    /// Status, and whether all of the cluster answered.
    pub health: Option<Health>,
    /// Nodes of every role, sorted by name, then id; `None` where they were not told.
    pub nodes: Option<Vec<ClusterNode>>,
    /// Indices, hidden ones included.
    pub indices: Option<IndexCounts>,
    /// Copies of shards in the routing table.
    pub shards: Option<ShardCounts>,
    /// What waits for the master.
    pub pending_tasks: Option<PendingTasks>,
    /// Threads of the master that were busy while it was asked, busiest first; or those of a thread
    /// dump given by hand. Empty: none was busy.
    pub master_threads: Option<MasterThreads>,
    /// Settings of the cluster that bear on shards and disks.
    pub settings: Option<ClusterSettings>,
    /// Settings of the indices that bear on shards and disks.
    pub index_settings: Option<IndexSettings>,
    /// What was not told, and why.
    pub skipped: Vec<Skipped>,
}

impl Cluster {
    /// The node with this id.
    pub fn node(&self, id: &str) -> Option<&ClusterNode> {
        self.nodes.iter().flatten().find(|node| node.id == id)
    }

    /// The elected master, where it is known.
    pub fn master_node(&self) -> Option<&ClusterNode> {
        self.node(self.master.as_deref()?)
    }

    /// Nodes that hold shards.
    pub fn data_nodes(&self) -> impl Iterator<Item = &ClusterNode> {
        self.nodes.iter().flatten().filter(|node| node.data)
    }

    /// Nodes that may be elected master.
    pub fn master_eligible_nodes(&self) -> impl Iterator<Item = &ClusterNode> {
        self.nodes
            .iter()
            .flatten()
            .filter(|node| node.master_eligible)
    }
}

/// `_cluster/health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// `green`, `yellow` or `red`.
    pub status: HealthStatus,
    /// Shard fetches that the gateway waits for: how many nodes are asked what they hold.
    pub in_flight_fetches: u64,
    /// How long the oldest pending task waits, in milliseconds.
    pub max_task_wait_ms: u64,
}

/// The cluster's own word for its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// Every copy is active.
    Green,
    /// Every primary is active, some replica is not.
    Yellow,
    /// Some primary is not active.
    Red,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterNode {
    /// Node id, as in the routing table.
    pub id: String,
    /// `node.name`.
    pub name: String,
    /// Host name or address as the node publishes it.
    pub host: Option<String>,
    /// Address, without port.
    pub ip: Option<String>,
    /// Version of this node.
    pub version: Option<ServerVersion>,
    /// Roles as the node names them, sorted (`data`, `data_hot`, `ingest`, `master` or
    /// `cluster_manager`, ...).
    pub roles: Vec<String>,
    /// May be elected master.
    pub master_eligible: bool,
    /// Takes part in elections only (`voting_only`): it never becomes master.
    pub voting_only: bool,
    /// Holds shards: `data`, or any of the roles `data_*`, `search` and `warm`.
    pub data: bool,
    /// `node.attr.*`, without what the server sets by itself (`ml.*`, `xpack.*`, ...).
    pub attributes: BTreeMap<String, String>,
    /// Limit of the heap (`-Xmx`), in bytes.
    pub heap_max_bytes: Option<u64>,
    /// Heap in use when asked, in bytes: falls with the next collection.
    pub heap_used_bytes: Option<u64>,
    /// Version of the JVM.
    pub jvm_version: Option<String>,
    /// Copies of shards that the routing table has on this node: started, initializing, and
    /// relocating ones (which still lie here). `None` where the routing table was not told.
    pub shards: Option<u64>,
    /// Size of the filesystems of all data paths together, in bytes.
    pub disk_total_bytes: Option<u64>,
    /// What is left there for the server, in bytes.
    pub disk_available_bytes: Option<u64>,
    /// Each data path with its filesystem: the disk decider judges the fullest and the emptiest.
    pub data_paths: Vec<NodeDataPath>,
    /// Size of all shards' files on this node, in bytes.
    pub store_bytes: Option<u64>,
}

/// One data path of a node, as `_nodes/stats/fs` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDataPath {
    /// Directory.
    pub path: Option<String>,
    /// Mount as the JVM names it: `/data (/dev/md0)`.
    pub mount: Option<String>,
    /// Type of the filesystem: `xfs`, `ext4`, `btrfs`, ...
    pub fs_type: Option<String>,
    /// Size of the filesystem, in bytes.
    pub total_bytes: u64,
    /// What is left there for the server, in bytes.
    pub available_bytes: u64,
}

/// Indices by state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexCounts {
    /// Open indices.
    pub open: u64,
    /// Closed indices.
    pub closed: u64,
    /// Closed indices that the routing table holds all the same (since Elasticsearch 7.2); `None`
    /// where the routing table was not told.
    pub closed_in_routing_table: Option<u64>,
    /// Shards of the closed indices by their settings, replicas included: what they would add if
    /// they were in the routing table.
    pub closed_shards_configured: u64,
}

/// Copies of shards (primaries and replicas) by state. A relocation has two copies: the one that
/// leaves is `relocating`, the one that comes is not listed by the cluster and not counted here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardCounts {
    /// All copies in the routing table, unassigned ones included.
    pub total: u64,
    /// Primaries of them.
    pub primaries: u64,
    /// In service.
    pub started: u64,
    /// In service, and on the way to another node.
    pub relocating: u64,
    /// Being built: new, recovered, or copied from the primary.
    pub initializing: u64,
    /// On no node.
    pub unassigned: u64,
    /// Unassigned copies by the reason that the cluster gives (`NODE_LEFT`, `INDEX_CREATED`, ...).
    pub unassigned_reasons: BTreeMap<String, u64>,
    /// Copies of closed indices, within `total`; `None` where it was not told which are closed.
    pub of_closed_indices: Option<u64>,
}

/// `_cluster/pending_tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTasks {
    /// How many there were, the running one included.
    pub total: u64,
    /// The tasks in the master's order; of very many only the first 1,000 and the oldest.
    pub tasks: Vec<PendingTask>,
}

/// A change of the cluster state that the master has yet to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTask {
    /// What it is, in the server's words: `create-index [logs-7], cause [api]`.
    pub source: String,
    /// `IMMEDIATE`, `URGENT`, `HIGH`, `NORMAL`, `LOW` or `LANGUID`.
    pub priority: String,
    /// How long it waits already, in milliseconds.
    pub in_queue_ms: u64,
    /// Whether it is the one being worked on.
    pub executing: bool,
}

/// Busy threads of the master.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MasterThreads {
    /// Where they come from: the master's answer, or a file given by hand.
    pub source: ThreadSource,
    /// How long the threads were watched, in milliseconds; `None` for a single dump.
    pub interval_ms: Option<u64>,
    /// Busiest first; in the file's order for a dump, threads without frames left out.
    pub threads: Vec<HotThread>,
}

/// Where threads come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSource {
    /// `_nodes/ID/hot_threads` of the elected master.
    HotThreads,
    /// A saved answer of hot threads.
    HotThreadsFile(String),
    /// A saved thread dump (`jstack PID`, `jcmd PID Thread.print`, `kill -3`).
    ThreadDumpFile(String),
}

/// A thread with its stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HotThread {
    /// Name without the node's: `masterService#updateTask`, `clusterApplierService#updateTask`,
    /// `write`, ...; the whole name where it is not of the form `elasticsearch[NODE][POOL]...`.
    pub pool: String,
    /// CPU use in percent of one core while it was watched; `None` for a dump.
    pub cpu_percent: Option<f64>,
    /// `RUNNABLE`, `WAITING`, ...; `None` where it is not told.
    pub state: Option<String>,
    /// Its stacks with how often each was seen; one for a dump.
    pub stacks: Vec<ThreadStack>,
}

/// One stack of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStack {
    /// In how many of the snapshots it was seen.
    pub seen: u32,
    /// How many snapshots there were.
    pub snapshots: u32,
    /// Whether these frames are all of them; several snapshots share only their outermost ones.
    pub complete: bool,
    /// `class.method`, innermost first, without module and line:
    /// `org.elasticsearch.cluster.routing.RoutingNode.shardsWithState`.
    pub frames: Vec<String>,
}
