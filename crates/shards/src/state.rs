//! Reads a cluster's API responses into a [`Cluster`](crate::model::Cluster).
//!
//! | response | contents | function |
//! |---|---|---|
//! | `_cluster/state` | nodes, indices, routing table, snapshots, restores | [`State::read`] |
//! | `_nodes`, `_nodes/stats` | roles, versions, hosts, disks | [`State::read_nodes`] |
//! | `_stats?level=shards`, `_cat/shards?bytes=b&format=json` | sizes, paths | [`State::read_sizes`] |
//! | `_cluster/settings` | cluster settings | [`State::read_settings`] |
//! | `_internal/desired_balance` | desired nodes, forecasts of load and size | [`State::read_desired`] |
//!
//! Only `_stats` contains paths. Supports Elasticsearch 6.8 to 9 and OpenSearch. A state may have hundreds
//! of megabytes, so it is parsed as a stream; mappings and unknown fields are skipped. The input is not
//! trusted: inconsistencies are reported as errors.

mod answer;
mod assemble;
mod contents;
mod copies;
mod desired;
mod error;
mod json;
mod nodes;
mod parse;
mod raw;
mod settings;
mod signature;
mod sizes;

pub use contents::{DesiredWork, State};
pub use error::{SettingError, StateError};
pub use json::Source;
pub use settings::ClusterSettings;

use crate::model::Version;

impl State {
    /// Reads `_cluster/state`, which must contain metadata, nodes and routing table. Nodes are assumed to
    /// have the data role if the state does not list their roles (before 8.0), and to run `version`,
    /// until [`State::read_nodes`] provides both.
    ///
    /// Times are converted to nanoseconds since 1970, the clock of [`crate::service::reroute`].
    ///
    /// # Errors
    /// If the input is not JSON, lacks a part, or is inconsistent
    pub fn read(source: Source<'_>, version: Version) -> Result<Self, StateError> {
        let mut raw = raw::Raw::default();
        answer::object(source, "_cluster/state", &mut raw)?;
        assemble::state(raw, version)
    }

    /// Reads `_nodes` or `_nodes/stats`: roles, versions, hosts, attributes and disks of nodes that the
    /// state lists, as far as present. Other nodes are skipped with a warning.
    ///
    /// # Errors
    /// If the input is not JSON, or does not have that structure
    pub fn read_nodes(&mut self, source: Source<'_>) -> Result<(), StateError> {
        nodes::read(self, source)
    }

    /// Reads `_internal/desired_balance` of Elasticsearch from 8.6 on.
    ///
    /// # Errors
    /// If the input is not JSON, or does not have that structure
    pub fn read_desired(&mut self, source: Source<'_>) -> Result<(), StateError> {
        desired::read(self, source)
    }

    /// Reads `_stats?level=shards` or `_cat/shards?bytes=b&format=json`, whichever it is. Indices and
    /// copies that the state does not list are skipped: they were created or deleted in between.
    ///
    /// # Errors
    /// If the input is not JSON, or has neither structure
    pub fn read_sizes(&mut self, source: Source<'_>) -> Result<(), StateError> {
        sizes::read(self, source)
    }

    /// Reads `_cluster/settings`, flat or nested, preferably with `include_defaults=true`.
    ///
    /// # Errors
    /// If the input is not JSON, or a value is not valid for its setting
    pub fn read_settings(&mut self, source: Source<'_>) -> Result<(), StateError> {
        self.apply(ClusterSettings::read(source)?)
    }
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
