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
mod foreign;
mod json;
mod nodes;
mod raw;
mod settings;
mod sizes;

pub use json::Source;
pub use settings::{ClusterSettings, SettingError};

use crate::model::{Cluster, Version, WatermarkOrderError};
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
    /// No JSON, by its first bytes.
    #[error("{what}: expected JSON, found {found}{}", first(bytes))]
    NotJson {
        /// The answer.
        what: &'static str,
        /// What it looks like.
        found: &'static str,
        /// The first bytes, in hexadecimal digits.
        bytes: String,
        /// What to do about it.
        way_out: &'static str,
    },
    /// The server's answer to a request that failed: `{"error": ..., "status": 401}`.
    #[error("{what}: expected an answer, found an error of the server: {error}")]
    ErrorAnswer {
        /// The answer that was to be read.
        what: &'static str,
        /// Status, type and reason, as far as they are told, cut.
        error: String,
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
    /// Disk watermarks were set that the server does not take together.
    #[error(transparent)]
    Watermarks(#[from] WatermarkOrderError),
}

fn first(bytes: &str) -> String {
    if bytes.is_empty() {
        String::new()
    } else {
        format!(" (it begins with the bytes {bytes})")
    }
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
    /// Nodes whose versions were told.
    versions_known: Vec<bool>,
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
        foreign::object(source, "_cluster/state", &mut raw)?;
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
        self.apply(ClusterSettings::read(source)?)
    }

    /// Sets a setting of the cluster.
    ///
    /// # Errors
    /// As [`State::set_all`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        self.set_all([(name, value)])
    }

    /// Sets settings of the cluster together, as one `PUT _cluster/settings` does: disk watermarks are
    /// looked at when all are set. Nothing is changed if one is refused.
    ///
    /// # Errors
    /// If a value is not what its setting takes, or if disk watermarks are among them, and the server
    /// would not take the three that result.
    pub fn set_all<'a>(
        &mut self,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), StateError> {
        let mut next = self.settings.clone();
        let mut watermarks = false;
        for (name, value) in changes {
            next.set(name, value);
            watermarks |= settings::is_watermark(name);
        }
        let (settings, _) = next.settings()?;
        if watermarks {
            settings.check_watermarks()?;
        }
        self.apply(next)
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

    /// Takes settings in, with what is to be said of them in place of what was said of the last ones.
    fn apply(&mut self, next: ClusterSettings) -> Result<(), StateError> {
        let (settings, warnings) = next.settings()?;
        let said = self
            .settings
            .settings()
            .map_or(Vec::new(), |(_, said)| said);
        self.warnings.retain(|warning| !said.contains(warning));
        self.warnings.extend(warnings);
        self.cluster.settings = settings;
        self.settings = next;
        Ok(())
    }

    /// The lowest and the highest version that live nodes were told to have; `None` if none was told.
    pub fn told_versions(&self) -> Option<(Version, Version)> {
        let nodes = self.cluster.nodes.iter().zip(&self.versions_known);
        let told = nodes.filter(|(node, known)| node.present && **known);
        let versions = told.map(|(node, _)| node.version);
        Some((versions.clone().min()?, versions.max()?))
    }

    /// Takes the nodes whose versions were not told for ones of this version.
    pub fn assume_version(&mut self, version: Version) {
        for (node, known) in self.cluster.nodes.iter_mut().zip(&self.versions_known) {
            if !known {
                node.version = version;
            }
        }
    }

    /// Nodes of which it is not known whether they hold shards; they are taken for data nodes.
    pub fn nodes_of_unknown_role(&self) -> usize {
        self.roles_known.iter().filter(|known| !**known).count()
    }
}

#[cfg(test)]
mod tests;
