//! The state that was read, and changes to its settings.

use super::error::StateError;
use super::settings::{ClusterSettings, IndexSink, is_watermark};
use crate::desired::DesiredBalance;
use crate::model::{Cluster, IndexIndex, Version};
use crate::service;
use std::collections::HashSet;

/// What the desired balance has cost since the master was elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DesiredWork {
    /// Computations that were run.
    pub computations: u64,
    /// Their time, on a thread beside the master's queue, milliseconds.
    pub computing_ms: u64,
    /// Time of the steps towards it, which are part of the master's reroutes, milliseconds; 8.11 and
    /// earlier do not count it in all cases.
    pub reconciling_ms: u64,
}

/// A cluster's state as read from its API.
#[derive(Debug, Clone)]
pub struct State {
    /// Cluster name, if known.
    pub name: Option<String>,
    /// Id of the elected master (OpenSearch: cluster manager).
    pub master: Option<String>,
    /// The cluster as the master knows it.
    pub cluster: Cluster,
    /// Where the server wants the copies to be, if it said so (from 8.6 on).
    pub desired: Option<DesiredBalance>,
    /// What that cost the server since its master was elected.
    pub desired_work: Option<DesiredWork>,
    /// Settings by name; use [`State::set`] to change one.
    pub settings: ClusterSettings,
    /// Assumptions made while reading.
    pub warnings: Vec<String>,
    /// Per node, whether its roles are known.
    pub(super) roles_known: Vec<bool>,
    /// Per node, whether its version is known.
    pub(super) versions_known: Vec<bool>,
}

impl State {
    /// Sets a cluster setting.
    ///
    /// # Errors
    /// See [`State::set_all`]
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        self.set_all([(name, value)])
    }

    /// Sets several cluster settings together, as one `PUT _cluster/settings` does: disk watermarks are
    /// checked after all are set. Nothing changes if one is rejected.
    ///
    /// # Errors
    /// If a value is not valid for its setting, or if disk watermarks are among the settings and the
    /// server would reject the resulting three
    pub fn set_all<'a>(
        &mut self,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), StateError> {
        let mut next = self.settings.clone();
        let mut watermarks = false;
        for (name, value) in changes {
            next.set(name, value);
            watermarks |= is_watermark(name);
        }
        let (settings, _) = next.settings()?;
        if watermarks {
            settings.check_watermarks()?;
        }
        self.apply(next)
    }

    /// Takes a default that differs from that of 7.4.0 in this master's version, unless the server told it.
    ///
    /// # Errors
    /// If the value is not valid for its setting
    pub fn assume_default(&mut self, name: &str, value: &str) -> Result<(), StateError> {
        let mut next = self.settings.clone();
        next.assume(name, value);
        self.apply(next)
    }

    /// Changes a setting of indices; an empty value resets it. New replicas are unassigned until the next
    /// reroute.
    ///
    /// # Errors
    /// If the value is not valid, or the model does not know the setting; some indices may have changed
    pub fn set_index(
        &mut self,
        indices: &[IndexIndex],
        name: &str,
        value: &str,
        now_nanos: i64,
    ) -> Result<(), StateError> {
        for &index in indices {
            let settings = &mut self.cluster.indices[index.at()].settings;
            if let Some(replicas) = IndexSink::change(settings, name, value)? {
                service::set_replicas(&mut self.cluster, index, replicas, now_nanos);
            }
        }
        Ok(())
    }

    /// Has data paths belong to shard and node instead of to the copy as it was, as from 8.6 on
    /// (`ClusterInfo.NodeAndShard`).
    pub(crate) fn key_paths_by_place(&mut self) {
        let Some(info) = &mut self.cluster.info else {
            return;
        };
        if info.by_place {
            return;
        }
        let copies = self.cluster.routing.copies();
        let known: Vec<_> = copies
            .filter_map(|copy| Some((copy, info.data_path(copy)?)))
            .collect();
        info.by_place = true;
        for (copy, path) in known {
            info.set_data_path(copy, path);
        }
    }

    /// Fills in missing data paths: a copy on a node with one data path is on that path. Returns the
    /// number of started copies whose path remains unknown because their node has several; the disk
    /// decider lets those remain where they are.
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

    /// Applies settings, and replaces the warnings about the previous settings.
    pub(super) fn apply(&mut self, next: ClusterSettings) -> Result<(), StateError> {
        let (settings, warnings) = next.settings()?;
        let said: HashSet<String> = self
            .settings
            .settings()
            .map_or(HashSet::new(), |(_, said)| said.into_iter().collect());
        self.warnings.retain(|warning| !said.contains(warning));
        self.warnings.extend(warnings);
        self.cluster.settings = settings;
        self.settings = next;
        Ok(())
    }

    /// Lowest and highest known version of the live nodes; `None` if no version is known.
    pub fn known_versions(&self) -> Option<(Version, Version)> {
        let nodes = self.cluster.nodes.iter().zip(&self.versions_known);
        let with_version = nodes.filter(|(node, known)| node.present && **known);
        let versions = with_version.map(|(node, _)| node.version);
        Some((versions.clone().min()?, versions.max()?))
    }

    /// Assumes this version for nodes whose version is not known.
    pub fn assume_version(&mut self, version: Version) {
        for (node, known) in self.cluster.nodes.iter_mut().zip(&self.versions_known) {
            if !known {
                node.version = version;
            }
        }
    }

    /// Number of nodes whose roles are not known; they are assumed to be data nodes.
    pub fn nodes_of_unknown_role(&self) -> usize {
        let nodes = self.cluster.nodes.iter().zip(&self.roles_known);
        let unknown = nodes.filter(|(node, known)| node.present && !**known);
        unknown.count()
    }
}
