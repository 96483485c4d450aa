//! Reads the answers of a cluster into a [`Cluster`](crate::model::Cluster).
//!
//! | answer | what it gives | function |
//! |---|---|---|
//! | `_cluster/state` | nodes, indices, routing table, snapshots, restores | [`State::read`] |
//! | `_nodes`, `_nodes/stats` | roles, versions, hosts, disks | [`State::read_nodes`] |
//! | `_stats?level=shards`, `_cat/shards?bytes=b&format=json` | sizes, and paths (the former) | [`State::read_sizes`] |
//! | `_cluster/settings` | settings of the cluster | [`State::read_settings`] |
//!
//! Elasticsearch 6.8 to 9 and OpenSearch. A state may have hundreds of megabytes: it is read as a
//! stream; mappings and unknown fields are skipped. The input is not trusted: an error names each
//! contradiction.

mod answer;
mod assemble;
mod contents;
mod copies;
mod error;
mod json;
mod nodes;
mod parse;
mod raw;
mod settings;
mod signature;
mod sizes;

pub use contents::State;
pub use error::{SettingError, StateError};
pub use json::Source;
pub use settings::ClusterSettings;

use crate::model::Version;

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
        answer::object(source, "_cluster/state", &mut raw)?;
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
}

#[cfg(test)]
mod tests;
