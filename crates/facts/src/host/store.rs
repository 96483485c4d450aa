use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A data store found on the host, or a data path added by the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Store {
    /// Which store it is.
    pub engine: StoreEngine,
    /// Version, if files reveal it (the server is not queried).
    pub version: Option<String>,
    /// Whether it is running or only configured.
    pub state: StoreState,
    /// Process id, if running.
    pub pid: Option<u32>,
    /// Absolute paths of its data, with symbolic links resolved.
    pub data_paths: Vec<String>,
    /// Where the data paths come from: a command line, a configuration file, a package default.
    pub paths_from: String,
    /// Settings that rules use: `index.codec`, `storage.engine`, ... as written.
    pub settings: Vec<(String, String)>,
}

/// The kind of store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreEngine {
    /// Elasticsearch.
    Elasticsearch,
    /// OpenSearch.
    Opensearch,
    /// MongoDB.
    Mongodb,
    /// Another I/O-intensive store, recognized by its process name only.
    Other(String),
    /// A path given with `--data-path`.
    DataPath,
}

impl StoreEngine {
    /// Returns the store with this name for display.
    pub fn of_label(label: &str) -> Self {
        let known = [Self::Elasticsearch, Self::Opensearch, Self::Mongodb];
        let named = known.into_iter().find(|engine| engine.label() == label);
        named.unwrap_or_else(|| Self::Other(label.to_owned()))
    }

    /// Whether it keeps its data in Lucene's files.
    pub fn is_lucene(&self) -> bool {
        matches!(self, Self::Elasticsearch | Self::Opensearch)
    }

    /// Returns the name for display.
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

/// Whether a store is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreState {
    /// One of its processes was seen.
    Running,
    /// Its configuration or data exist, but no process was seen.
    Configured,
    /// Supplied by the user.
    Given,
}
