//! Responses of a cluster after filtering, and the format they are saved in.

use crate::answer::indices::Indices;
use crate::answer::nodes::{Nodes, NodesStats};
use crate::answer::root::Root;
use crate::answer::routing::Routing;
use crate::answer::settings::Settings;
use facts::InputError;
use facts::cluster::{DesiredBalance, Health, MasterThreads, PendingTasks};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Name and version of the saved format. Adding a field does not change it.
pub const SCHEMA: &str = "trimtab.cluster/1";

/// The responses of one cluster at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// [`SCHEMA`].
    pub schema: String,
    /// The URL that was queried, without its query string.
    pub endpoint: String,
    /// When it was queried.
    pub read_at: Timestamp,
    /// `/`.
    pub root: Part<Root>,
    /// `_nodes`.
    pub nodes: Part<Nodes>,
    /// `_nodes/stats`.
    pub node_stats: Part<NodesStats>,
    /// `_cluster/health`.
    pub health: Part<Health>,
    /// `_all/_settings`, as counts.
    pub indices: Part<Indices>,
    /// The routing table of `_cluster/state`, as counts.
    pub routing: Part<Routing>,
    /// `_cluster/pending_tasks`.
    pub pending_tasks: Part<PendingTasks>,
    /// `_cluster/settings`.
    pub settings: Part<Settings>,
    /// `_nodes/MASTER/hot_threads`.
    pub hot_threads: Part<MasterThreads>,
    /// `_internal/desired_balance`, counted; `None` if the server has none, or it was saved by a
    /// version that did not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_balance: Option<Part<DesiredBalance>>,
}

/// A response, or why it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part<T> {
    /// The response.
    Answer(T),
    /// Why there is none.
    Unanswered(Unanswered),
}

impl<T> Part<T> {
    /// Returns the response, if there is one.
    pub fn answer(&self) -> Option<&T> {
        match self {
            Self::Answer(answer) => Some(answer),
            Self::Unanswered(_) => None,
        }
    }

    /// Returns why the response is missing, if it is.
    pub fn unanswered(&self) -> Option<&Unanswered> {
        match self {
            Self::Answer(_) => None,
            Self::Unanswered(why) => Some(why),
        }
    }
}

/// Why a response is missing. It names no host, user or index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// What happened instead: `GET /_cluster/pending_tasks: status 403 (security_exception)`.
    pub why: String,
    /// What would make it available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

impl Unanswered {
    pub(crate) fn new(why: String, needs: Option<&str>) -> Self {
        Self {
            why,
            needs: needs.map(str::to_owned),
        }
    }
}

impl Answers {
    /// Serializes to the saved format, as readable JSON. The same responses give the same bytes.
    ///
    /// # Errors
    /// Those of the serializer; nothing here makes it fail.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Parses the saved format. `source_name` is the file name used in errors.
    ///
    /// # Errors
    /// If `bytes` are not in this format, or in a later version of it; with line and column.
    pub fn from_json(bytes: &[u8], source_name: &str) -> Result<Self, InputError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let malformed = |error: &serde_json::Error| {
            InputError::new(
                source_name,
                format!("answers of a cluster in the form {SCHEMA}"),
                &error.to_string(),
            )
            .at_line(error.line())
            .at_column(error.column())
        };
        let head: Head = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
        if head.schema != SCHEMA {
            return Err(InputError::new(
                source_name,
                format!("the form {SCHEMA} (a later trimtab may read others)"),
                &head.schema,
            ));
        }
        serde_json::from_slice(bytes).map_err(|error| malformed(&error))
    }
}
