use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A store found on the host, or a data path added by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Store {
    /// What it is.
    pub engine: StoreEngine,
    /// Version, where files tell it (the server is not asked).
    pub version: Option<String>,
    /// Running or only configured.
    pub state: StoreState,
    /// Process id, if running.
    pub pid: Option<u32>,
    /// Absolute paths of its data, symbolic links resolved.
    pub data_paths: Vec<String>,
    /// Where the data paths were read: a command line, a configuration file, a package's default.
    pub paths_from: String,
    /// Settings that rules look at: `index.codec`, `storage.engine`, ... as written.
    pub settings: Vec<(String, String)>,
}

/// The store's kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreEngine {
    /// Elasticsearch.
    Elasticsearch,
    /// OpenSearch.
    Opensearch,
    /// MongoDB.
    Mongodb,
    /// Another data-intensive store, known by name only.
    Other(String),
    /// A path given with `--data-path`.
    DataPath,
}

impl StoreEngine {
    /// The name for people.
    pub fn label(&self) -> &str {
        match self {
            Self::Elasticsearch => "Elasticsearch",
            Self::Opensearch => "OpenSearch",
            Self::Mongodb => "MongoDB",
            Self::Other(name) => name,
            Self::DataPath => "data path",
        }
    }
}

/// Whether it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreState {
    /// A process of it was seen.
    Running,
    /// Configuration or data are there, no process was seen.
    Configured,
    /// Given by hand.
    Given,
}
