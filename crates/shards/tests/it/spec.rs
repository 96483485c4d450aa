//! Specifications of clusters and steps, given to both sides; lab/shards/versions/Versions.java reads the
//! same as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

/// Settings of the cluster or of an index, as text.
pub type Settings = BTreeMap<String, String>;

/// A data node.
#[derive(Debug, Clone, Serialize)]
pub struct NodeSpec {
    pub id: String,
    pub name: String,
    pub address: String,
    pub port: usize,
}

/// The nodes of each shard's copies, primaries first; `None` for those that are unassigned.
pub type Placement = Vec<Vec<Option<String>>>;

#[derive(Debug, Clone, Serialize)]
pub struct IndexSpec {
    pub name: String,
    pub uuid: String,
    pub settings: Settings,
    /// `None` for a new index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<Placement>,
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
}

/// A copy by index, shard and node.
pub type At = (String, u32, String);

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    Reroute,
    /// Initializing copies have started.
    Start {
        copies: Vec<At>,
    },
    /// A reroute follows.
    NodeJoined {
        nodes: Vec<NodeSpec>,
    },
    /// No reroute follows.
    Create {
        indices: Vec<IndexSpec>,
    },
    /// Replaces all cluster settings; a reroute follows.
    Settings {
        settings: Settings,
    },
}
