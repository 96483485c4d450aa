//! What a cluster answered, after the filter; the form in which it is saved.

use crate::answer::indices::Indices;
use crate::answer::nodes::{Nodes, NodesStats};
use crate::answer::root::Root;
use crate::answer::routing::Routing;
use crate::answer::settings::Settings;
use facts::InputError;
use facts::cluster::{Health, MasterThreads, PendingTasks};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Name and version of the saved form. Adding a field keeps it.
pub const SCHEMA: &str = "trimtab.cluster/1";

/// The answers of one cluster at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    /// [`SCHEMA`].
    pub schema: String,
    /// The URL that was asked, without query.
    pub endpoint: String,
    /// When it was asked.
    pub read_at: Timestamp,
    /// `/`.
    pub root: Part<Root>,
    /// `_nodes`.
    pub nodes: Part<Nodes>,
    /// `_nodes/stats`.
    pub node_stats: Part<NodesStats>,
    /// `_cluster/health`.
    pub health: Part<Health>,
    /// `_all/_settings`, counted.
    pub indices: Part<Indices>,
    /// The routing table of `_cluster/state`, counted.
    pub routing: Part<Routing>,
    /// `_cluster/pending_tasks`.
    pub pending_tasks: Part<PendingTasks>,
    /// `_cluster/settings`.
    pub settings: Part<Settings>,
    /// `_nodes/MASTER/hot_threads`.
    pub hot_threads: Part<MasterThreads>,
}

/// One answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part<T> {
    /// What was answered.
    Answer(T),
    /// It was not.
    Unanswered(Unanswered),
}

impl<T> Part<T> {
    /// The answer.
    pub fn answer(&self) -> Option<&T> {
        match self {
            Self::Answer(answer) => Some(answer),
            Self::Unanswered(_) => None,
        }
    }

    /// Why there is none.
    pub fn unanswered(&self) -> Option<&Unanswered> {
        match self {
            Self::Answer(_) => None,
            Self::Unanswered(why) => Some(why),
        }
    }
}

/// Why an answer is missing. It names no host, user or index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// What came instead: `GET /_cluster/pending_tasks: status 403 (security_exception)`.
    pub why: String,
    /// What would bring it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

impl Answers {
    /// The saved form: JSON for people to look into. The same answers give the same bytes.
    ///
    /// # Errors
    /// What the serialiser says; nothing here makes it fail.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads the saved form back. `source_name` is for errors: the file's name.
    ///
    /// # Errors
    /// With line and column, where it is not of this form, or of a later one.
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
