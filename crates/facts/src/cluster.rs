//! Facts read from a running Elasticsearch or OpenSearch cluster, as far as they concern its master
//! and its disks.
//!
//! Everything is a snapshot of one moment. What the cluster did not report is `None` and has an
//! entry in [`Cluster::skipped`]; an empty list means that the cluster reported none.

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

/// The facts of one cluster at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// When the cluster was queried: rules use this as the current time.
    pub read_at: Timestamp,
    /// The URL that was queried, without its query string; a saved snapshot keeps the URL it was
    /// taken from.
    pub endpoint: String,
    /// Elasticsearch or OpenSearch.
    pub flavour: Flavour,
    /// Version of the master, or of the node that answered if the master is unknown. In a cluster
    /// of mixed versions (during a rolling upgrade) see each node's own.
    pub version: ServerVersion,
    /// `cluster.name`.
    pub name: Option<String>,
    /// Id of the elected master (OpenSearch: cluster manager); `None` if there is currently no
    /// master or it was not reported.
    pub master: Option<String>,
    /// Health status and related counters.
    pub health: Option<Health>,
    /// Nodes of every role, sorted by name, then id; `None` if they were not reported.
    pub nodes: Option<Vec<ClusterNode>>,
    /// Indices, hidden ones included.
    pub indices: Option<IndexCounts>,
    /// Shard copies in the routing table.
    pub shards: Option<ShardCounts>,
    /// Where Elasticsearch 8.6 and later wants shards to be; `None` if it was not reported.
    pub desired_balance: Option<DesiredBalance>,
    /// Tasks queued on the master.
    pub pending_tasks: Option<PendingTasks>,
    /// Threads of the master that were busy while it was queried, busiest first; or the threads of
    /// a thread dump supplied by the user. Empty if none was busy.
    pub master_threads: Option<MasterThreads>,
    /// Cluster settings that affect shards and disks.
    pub settings: Option<ClusterSettings>,
    /// Index settings that affect shards and disks.
    pub index_settings: Option<IndexSettings>,
    /// What was not reported, and why.
    pub skipped: Vec<Skipped>,
}

impl Cluster {
    /// Returns the node with this id.
    pub fn node(&self, id: &str) -> Option<&ClusterNode> {
        self.nodes.iter().flatten().find(|node| node.id == id)
    }

    /// Returns the elected master, if it is known.
    pub fn master_node(&self) -> Option<&ClusterNode> {
        self.node(self.master.as_deref()?)
    }

    /// Iterates over the nodes that hold shards.
    pub fn data_nodes(&self) -> impl Iterator<Item = &ClusterNode> {
        self.nodes.iter().flatten().filter(|node| node.data)
    }

    /// Iterates over the master-eligible nodes.
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
    /// Number of in-flight shard fetches: requests to nodes for which copies they hold.
    pub in_flight_fetches: u64,
    /// How long the oldest pending task has been waiting, in milliseconds.
    pub max_task_wait_ms: u64,
}

/// The health status as the cluster reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// Every copy is active.
    Green,
    /// Every primary is active, but some replica is not.
    Yellow,
    /// Some primary is inactive.
    Red,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterNode {
    /// Node id, as in the routing table.
    pub id: String,
    /// `node.name`.
    pub name: String,
    /// Host name or address as published by the node.
    pub host: Option<String>,
    /// Address, without port.
    pub ip: Option<String>,
    /// Version of this node.
    pub version: Option<ServerVersion>,
    /// Roles as the node names them, sorted (`data`, `data_hot`, `ingest`, `master` or
    /// `cluster_manager`, ...).
    pub roles: Vec<String>,
    /// Whether it is master-eligible.
    pub master_eligible: bool,
    /// Whether it only votes in elections (`voting_only`) and never becomes master.
    pub voting_only: bool,
    /// Whether it holds shards: has the role `data`, any `data_*`, `search` or `warm`.
    pub data: bool,
    /// `node.attr.*`, without attributes that the server sets itself (`ml.*`, `xpack.*`, ...).
    pub attributes: BTreeMap<String, String>,
    /// Maximum heap size (`-Xmx`), in bytes.
    pub heap_max_bytes: Option<u64>,
    /// Heap in use at the time, in bytes: drops with the next garbage collection.
    pub heap_used_bytes: Option<u64>,
    /// JVM version.
    pub jvm_version: Option<String>,
    /// File names of the agents that its JVM was started with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub java_agents: Vec<String>,
    /// Shard copies that the routing table places on this node: started, initializing, and
    /// relocating ones (which are still here). `None` if the routing table was not reported.
    pub shards: Option<u64>,
    /// Combined size of the filesystems of all data paths, in bytes.
    pub disk_total_bytes: Option<u64>,
    /// Space available to the server there, in bytes.
    pub disk_available_bytes: Option<u64>,
    /// Each data path with its filesystem: the disk decider looks at the fullest and the emptiest.
    pub data_paths: Vec<NodeDataPath>,
}

/// File name of the agent that ends the scan of all shards in each reroute (`trimtab livefix`).
pub const LIVE_FIX_JAR: &str = "trimtab-livefix.jar";

impl ClusterNode {
    /// Whether its JVM was started with the live fix.
    pub fn has_live_fix(&self) -> bool {
        self.java_agents.iter().any(|agent| agent == LIVE_FIX_JAR)
    }

    /// Whether it is the elected master.
    pub fn is_master_of(&self, cluster: &Cluster) -> bool {
        cluster.master.as_deref() == Some(self.id.as_str())
    }
}

/// One data path of a node, from `_nodes/stats/fs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDataPath {
    /// Directory.
    pub path: Option<String>,
    /// Mount as the JVM describes it: `/data (/dev/md0)`.
    pub mount: Option<String>,
    /// Filesystem type: `xfs`, `ext4`, `btrfs`, ...
    pub fs_type: Option<String>,
    /// Size of the filesystem, in bytes.
    pub total_bytes: u64,
    /// Space available to the server, in bytes.
    pub available_bytes: u64,
}

/// Index counts by state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexCounts {
    /// Open indices.
    pub open: u64,
    /// Closed indices.
    pub closed: u64,
    /// Closed indices that are nevertheless in the routing table (since Elasticsearch 7.2); `None`
    /// if the routing table was not reported.
    pub closed_in_routing_table: Option<u64>,
    /// Number of shards of the closed indices according to their settings, replicas included: what
    /// they would add if they were in the routing table.
    pub closed_shards_configured: u64,
}

/// Counts of shard copies (primaries and replicas) by state. A relocation has two copies: the
/// source is `relocating`; the target is not listed by the cluster and not counted here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardCounts {
    /// All copies in the routing table, unassigned ones included.
    pub total: u64,
    /// Primaries among them.
    pub primaries: u64,
    /// Active.
    pub started: u64,
    /// Active, and moving to another node.
    pub relocating: u64,
    /// Being recovered: new, from disk, or copied from the primary.
    pub initializing: u64,
    /// Not assigned to any node.
    pub unassigned: u64,
    /// Unassigned copies by the reason the cluster reports (`NODE_LEFT`, `INDEX_CREATED`, ...).
    pub unassigned_reasons: BTreeMap<String, u64>,
    /// Copies of closed indices, included in `total`; `None` if it is unknown which indices are
    /// closed.
    pub of_closed_indices: Option<u64>,
}

/// `_internal/desired_balance`, counted. The counts of computations are those since the master
/// started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredBalance {
    /// Whether a computation is running.
    pub computing: bool,
    /// Computations that reroutes asked for.
    pub submitted: u64,
    /// Those that ended, also because a newer one was asked for.
    pub executed: u64,
    /// Those whose result is the desired balance of their moment.
    pub converged: u64,
    /// How long they took together, in milliseconds.
    pub computation_ms: u64,
    /// Started copies, relocating ones included; `None` if they were not counted (8.6 to 8.11, if the
    /// routing table was not asked for).
    pub copies: Option<DesiredCopies>,
}

/// Started copies by whether the desired balance has them where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DesiredCopies {
    /// All of them.
    pub started: u64,
    /// Those that are not on a desired node.
    pub undesired: u64,
}

/// `_cluster/pending_tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTasks {
    /// Number of tasks, the running one included.
    pub total: u64,
    /// Tasks in the master's order; if there are very many, only the first 1,000, the running one and
    /// the oldest.
    pub tasks: Vec<PendingTask>,
    /// All waiting tasks by kind and priority, the most frequent first; empty if they were saved by
    /// a version that did not count them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<PendingKind>,
}

/// Waiting tasks of one kind and priority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingKind {
    /// The first words of their description, which name no index: `put-mapping`, `create-index`.
    pub kind: String,
    /// As in [`PendingTask::priority`].
    pub priority: String,
    /// How many wait; the running one does not.
    pub waiting: u64,
    /// How long the oldest of them has been queued, in milliseconds.
    pub oldest_ms: u64,
}

/// A cluster state update that the master has yet to perform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTask {
    /// Description in the server's words: `create-index [logs-7], cause [api]`.
    pub source: String,
    /// `IMMEDIATE`, `URGENT`, `HIGH`, `NORMAL`, `LOW` or `LANGUID`.
    pub priority: String,
    /// Time since it was queued, in milliseconds; for a task that is executing, too.
    pub in_queue_ms: u64,
    /// Whether it is the task being executed.
    pub executing: bool,
    /// Time for which it has been executing, in milliseconds; only OpenSearch 3.1 and later tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executing_ms: Option<u64>,
}

/// Busy threads of the master.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MasterThreads {
    /// Source: the master's own response, or a file supplied by the user.
    pub source: ThreadSource,
    /// Sampling interval in milliseconds; `None` for a single dump.
    pub interval_ms: Option<u64>,
    /// Threads, busiest first; for a dump in the file's order, without threads that have no frames.
    /// What several answers or dumps in a file show of a thread is one thread with more snapshots.
    pub threads: Vec<HotThread>,
}

/// Source of a list of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadSource {
    /// `_nodes/ID/hot_threads` of the elected master.
    HotThreads,
    /// A saved hot threads response.
    HotThreadsFile(String),
    /// A saved thread dump (`jstack PID`, `jcmd PID Thread.print`, `kill -3`).
    ThreadDumpFile(String),
}

/// A thread and its stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HotThread {
    /// Name of its node, if a file with the threads of one or several nodes tells it; `None` where
    /// the master itself was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Thread name without the node name: `masterService#updateTask`,
    /// `clusterApplierService#updateTask`, `write`, ...; the full name if it is not of the form
    /// `elasticsearch[NODE][POOL]...`.
    pub pool: String,
    /// CPU usage during the interval, in percent of one core; `None` for a dump, and where the
    /// server measured something else (`type=wait`, `type=block`).
    pub cpu_percent: Option<f64>,
    /// Its stacks and how often each was seen; a dump has one.
    pub stacks: Vec<ThreadStack>,
}

/// One stack of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStack {
    /// Number of snapshots with this stack.
    pub seen: u32,
    /// Total number of snapshots.
    pub snapshots: u32,
    /// Whether `frames` is the full stack; several snapshots share only their outermost frames.
    pub complete: bool,
    /// `class.method`, innermost first, without module and line:
    /// `org.elasticsearch.cluster.routing.RoutingNode.shardsWithState`.
    pub frames: Vec<String>,
    /// `RUNNABLE`, `WAITING`, ...; only a dump tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The thread that holds the lock that this one waits for; only a dump tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_holder: Option<LockHolder>,
}

/// A thread that holds a lock, in the same dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// As in [`HotThread::pool`].
    pub pool: String,
    /// Its frames, as in [`ThreadStack::frames`].
    pub frames: Vec<String>,
}
