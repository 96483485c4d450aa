//! Reads what a cluster answers into a [`Cluster`].
//!
//! | answer | what it gives | function |
//! |---|---|---|
//! | `_cluster/state` | nodes, indices, routing table, snapshots, restores | [`State::read`] |
//! | `_nodes`, `_nodes/stats` | roles, versions, hosts, disks | [`State::read_nodes`] |
//! | `_stats?level=shards`, `_cat/shards?bytes=b&format=json` | sizes, and paths (the former) | [`State::read_sizes`] |
//! | `_cluster/settings` | settings of the cluster | [`State::read_settings`] |
//!
//! Elasticsearch 6.8 to 9 and OpenSearch. A state may have hundreds of megabytes: it is read as a
//! stream, mappings and everything unknown are passed over. Nothing is believed: what contradicts
//! itself is an error that names it.

mod assemble;
mod copies;
mod json;
mod nodes;
mod raw;
mod settings;
mod sizes;

pub use json::Source;
pub use settings::{ClusterSettings, SettingError};

use crate::model::{Cluster, Version};
use json::skip;

/// An answer that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The JSON is malformed, or not of the expected shape.
    #[error("{what}, line {line}, column {column}{}: {problem}", at(*byte))]
    Json {
        /// The answer.
        what: &'static str,
        /// 1-based line.
        line: usize,
        /// 1-based column, in bytes.
        column: usize,
        /// 0-based offset in bytes, where it is known.
        byte: Option<u64>,
        /// What is wrong.
        problem: String,
    },
    /// The stream failed.
    #[error("{what}: {reason}")]
    Unreadable {
        /// The answer.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Well-formed, but it cannot be so.
    #[error("{0}")]
    Contradiction(String),
    /// A setting has a value that it does not take.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

fn at(byte: Option<u64>) -> String {
    byte.map_or_else(String::new, |byte| format!(" (byte {byte})"))
}

/// A cluster's state as it was read.
#[derive(Debug, Clone)]
pub struct State {
    /// Its name, where it was told.
    pub name: Option<String>,
    /// Id of the elected master (OpenSearch: cluster manager).
    pub master: Option<String>,
    /// What the master knows.
    pub cluster: Cluster,
    /// Settings by name; [`State::set`] changes one.
    pub settings: ClusterSettings,
    /// What had to be assumed.
    pub warnings: Vec<String>,
    /// Nodes whose roles were told.
    roles_known: Vec<bool>,
}

impl State {
    /// Reads `_cluster/state`; metadata, nodes and routing table are needed. Until they are told
    /// ([`State::read_nodes`]), roles of nodes are taken for data where the state does not have them
    /// (before 8.0), and versions for `version`.
    ///
    /// Times in it are kept as nanoseconds since 1970: [`crate::service::Round::now_nanos`] is on that
    /// clock, too.
    ///
    /// # Errors
    /// If it is no JSON, a part is missing, or it contradicts itself.
    pub fn read(source: Source<'_>, version: Version) -> Result<Self, StateError> {
        let mut raw = raw::Raw::default();
        json::parse(source, "_cluster/state", json::Object(&mut raw))?;
        assemble::state(raw, version)
    }

    /// Reads `_nodes` or `_nodes/stats`: of nodes that the state lists, roles, versions, hosts,
    /// attributes and disks, each where it is told. Others are passed over with a warning.
    ///
    /// # Errors
    /// If it is no JSON, or not of that shape.
    pub fn read_nodes(&mut self, source: Source<'_>) -> Result<(), StateError> {
        nodes::read(self, source)
    }

    /// Reads `_stats?level=shards` or `_cat/shards?bytes=b&format=json`, whichever it is. Indices and
    /// copies that the state does not list are passed over: they came or went in between.
    ///
    /// # Errors
    /// If it is no JSON, or not of either shape.
    pub fn read_sizes(&mut self, source: Source<'_>) -> Result<(), StateError> {
        sizes::read(self, source)
    }

    /// Reads `_cluster/settings`, flat or nested, best with `include_defaults=true`.
    ///
    /// # Errors
    /// If it is no JSON, or a value is not what its setting takes.
    pub fn read_settings(&mut self, source: Source<'_>) -> Result<(), StateError> {
        self.settings = ClusterSettings::read(source)?;
        self.apply_settings()
    }

    /// Sets a setting of the cluster.
    ///
    /// # Errors
    /// If the value is not what the setting takes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        self.settings.set(name, value);
        self.apply_settings()
    }

    /// Notes where copies lie that were not told: on a node with one data path they lie there. How many
    /// started copies have a path of their node to choose from, and so stay unknown; the disk decider
    /// lets those stay where they are.
    pub fn complete_paths(&mut self) -> u64 {
        let Some(info) = &mut self.cluster.info else {
            return 0;
        };
        let mut unknown = 0;
        for copy in self.cluster.routing.copies() {
            let Some(node) = copy.node.filter(|_| info.data_path(copy).is_none()) else {
                continue;
            };
            let (least, most) = (info.least.get(&node), info.most.get(&node));
            match (
                least.and_then(|usage| usage.path),
                most.and_then(|usage| usage.path),
            ) {
                (Some(only), Some(most)) if only == most => info.set_data_path(copy, only),
                (Some(_), _) if copy.is_started() => unknown += 1,
                _ => {}
            }
        }
        unknown
    }

    fn apply_settings(&mut self) -> Result<(), StateError> {
        let (settings, warnings) = self.settings.settings()?;
        self.cluster.settings = settings;
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    /// Nodes of which it is not known whether they hold shards; they are taken for data nodes.
    pub fn nodes_of_unknown_role(&self) -> usize {
        self.roles_known.iter().filter(|known| !**known).count()
    }
}

#[cfg(test)]
mod tests;
