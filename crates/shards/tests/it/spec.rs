//! Specifications of clusters and steps, given to both sides; lab/shards/src/Spec.java and Cluster.java
//! read the same as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

/// Settings of the cluster or of an index, as text.
pub type Settings = BTreeMap<String, String>;

#[derive(Debug, Clone, Serialize)]
pub struct NodeSpec {
    pub id: String,
    pub name: String,
    pub host: String,
    pub address: String,
    /// Distinguishes nodes on the same host.
    pub port: usize,
    pub attributes: BTreeMap<String, String>,
    pub data: bool,
    pub master: bool,
    pub version: String,
}

/// Initial state of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Given {
    Started,
    Relocating,
    Initializing,
    Unassigned,
}

#[derive(Debug, Clone, Serialize)]
pub struct CopySpec {
    pub state: Given,
    pub node: Option<String>,
    pub to: Option<String>,
    /// Identifies its allocation id.
    pub id: Option<u64>,
    pub reason: &'static str,
    pub failures: u32,
    pub delayed: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct IndexSpec {
    pub name: String,
    pub uuid: String,
    pub settings: Settings,
    pub closed: bool,
    /// In-sync ids other than those of active copies, per shard.
    pub in_sync: Vec<Vec<u64>>,
    /// `None` for a new index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<Vec<Vec<CopySpec>>>,
}

impl IndexSpec {
    pub fn number(&self, key: &str) -> u32 {
        self.settings[key].parse().expect("the generator's own")
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct ClusterSpec {
    pub settings: Settings,
    pub nodes: Vec<NodeSpec>,
    pub indices: Vec<IndexSpec>,
    /// Classes of deciders that the server omits.
    pub without: Vec<&'static str>,
}

/// A copy by index, shard and node.
pub type At = (String, u32, String);

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// `retry_failed` resets the failure counters first.
    Reroute {
        retry_failed: bool,
    },
    /// Initializing copies have started.
    Start {
        copies: Vec<At>,
    },
    /// Copies have failed; the flag removes the copy from the in-sync set.
    Fail {
        copies: Vec<(String, u32, String, bool)>,
    },
    NodeLeft {
        nodes: Vec<String>,
    },
    NodeJoined {
        nodes: Vec<NodeSpec>,
    },
    Create {
        indices: Vec<IndexSpec>,
    },
    Delete {
        indices: Vec<String>,
    },
    Close {
        indices: Vec<String>,
    },
    Open {
        indices: Vec<String>,
    },
    /// Replaces all cluster settings.
    Settings {
        settings: Settings,
    },
    /// Changes settings of an index; `None` resets to the default.
    IndexSettings {
        index: String,
        settings: BTreeMap<String, Option<String>>,
    },
}

/// A step and its circumstances.
#[derive(Debug, Clone)]
pub struct Planned {
    pub step: Step,
    /// Seed for reading the disks anew before the step.
    pub info: Option<u64>,
    /// Time that passes before the step.
    pub passed_nanos: i64,
    /// Percentage of shards for which the nodes have not yet reported their contents.
    pub pending_percent: usize,
}

/// A cluster and the steps to execute on it.
#[derive(Debug, Clone)]
pub struct Script {
    pub seed: u64,
    pub cluster: ClusterSpec,
    /// Seed of the initial disk usage; `None` if the master has no information about disks.
    pub info: Option<u64>,
    pub steps: Vec<Planned>,
}

/// Disk usage: node, path, total and free bytes.
pub type Usage = (String, String, i64, i64);

/// What the master reads about disks, sizes and paths.
#[derive(Debug, Clone, Default, Serialize)]
pub struct InfoSpec {
    pub least: Vec<Usage>,
    pub most: Vec<Usage>,
    /// Index, shard, primary, bytes.
    pub sizes: Vec<(String, u32, bool, i64)>,
    /// Index, shard, node, path.
    pub paths: Vec<(String, u32, String, String)>,
}

/// What a node's disk holds of a shard; nothing if id, problem, sync id and files are all missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreSpec {
    pub index: String,
    pub shard: u32,
    pub node: String,
    pub id: Option<u64>,
    pub primary: bool,
    /// "locked" or "broken".
    pub problem: Option<&'static str>,
    pub sync: Option<String>,
    /// Name, bytes, checksum.
    pub files: Vec<(String, i64, String)>,
}

/// Data attached to a step.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Attached {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<InfoSpec>,
    pub stores: Vec<StoreSpec>,
    pub pending: Vec<(String, u32)>,
    /// Current time, nanoseconds.
    pub clock: i64,
}
