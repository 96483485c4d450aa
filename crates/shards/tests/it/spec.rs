//! Clusters and steps as both sides are told of them; lab/shards/src/Spec.java and Cluster.java read
//! the same as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

/// Settings, cluster's or index's, as they are written.
pub type Settings = BTreeMap<String, String>;

#[derive(Debug, Clone, Serialize)]
pub struct NodeSpec {
    pub id: String,
    pub name: String,
    pub host: String,
    pub address: String,
    /// Tells nodes of one host apart.
    pub port: usize,
    pub attributes: BTreeMap<String, String>,
    pub data: bool,
    pub master: bool,
    pub version: String,
}

/// Where a copy is when a cluster begins.
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
    /// Stands for its allocation id.
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
    /// Ids in sync beside those of active copies, per shard.
    pub in_sync: Vec<Vec<u64>>,
    /// Without them the index is new.
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
    /// Deciders that the server does without, by class.
    pub without: Vec<&'static str>,
}

/// A copy by index, shard and node.
pub type At = (String, u32, String);

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// With `retry_failed` the counters of failures are reset first.
    Reroute {
        retry_failed: bool,
    },
    /// Initializing copies have started.
    Start {
        copies: Vec<At>,
    },
    /// Copies have failed; the flag takes the copy out of the in-sync set.
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
    /// All settings of the cluster.
    Settings {
        settings: Settings,
    },
    /// Changes to those of an index; `None` goes back to the default.
    IndexSettings {
        index: String,
        settings: BTreeMap<String, Option<String>>,
    },
}

/// A step, and what happens around it.
#[derive(Debug, Clone)]
pub struct Planned {
    pub step: Step,
    /// Disks are read anew before it, out of this seed.
    pub info: Option<u64>,
    /// The clock goes on by so much before it.
    pub passed_nanos: i64,
    /// Of so many in 100 shards the nodes have not said what they hold.
    pub pending_percent: usize,
}

/// A cluster and what is done to it.
#[derive(Debug, Clone)]
pub struct Script {
    pub seed: u64,
    pub cluster: ClusterSpec,
    /// Disks as they are at the beginning; `None`: the master knows nothing of them.
    pub info: Option<u64>,
    pub steps: Vec<Planned>,
}

/// A disk usage: node, path, total and free bytes.
pub type Usage = (String, String, i64, i64);

/// What the master learns of disks, sizes and paths.
#[derive(Debug, Clone, Default, Serialize)]
pub struct InfoSpec {
    pub least: Vec<Usage>,
    pub most: Vec<Usage>,
    /// Index, shard, primary, bytes.
    pub sizes: Vec<(String, u32, bool, i64)>,
    /// Index, shard, node, path.
    pub paths: Vec<(String, u32, String, String)>,
}

/// What a node's disk holds of a shard; without id, problem, sync id and files: nothing.
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

/// What travels with a step.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Attached {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<InfoSpec>,
    pub stores: Vec<StoreSpec>,
    pub pending: Vec<(String, u32)>,
    /// Nanoseconds.
    pub clock: i64,
}
