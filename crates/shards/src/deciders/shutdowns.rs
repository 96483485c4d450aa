//! Which nodes are about to leave, and who replaces them.

use std::collections::HashMap;

use crate::model::{Cluster, NodeIndex, ShutdownKind};

/// The announced shutdowns, computed once per round.
#[derive(Debug, Default)]
pub(super) struct Shutdowns {
    /// Per node, whether it leaves; empty if none does.
    pub(super) leaving: Vec<bool>,
    /// The name of the node that replaces a node.
    pub(super) replaced: HashMap<NodeIndex, String>,
}

impl Shutdowns {
    pub fn new(cluster: &Cluster) -> Self {
        let mut shutdowns = Self::default();
        for shutdown in &cluster.shutdowns {
            if shutdown.kind == ShutdownKind::Restart {
                continue;
            }
            shutdowns.leaving.resize(cluster.nodes.len(), false);
            if let Some(leaves) = shutdowns.leaving.get_mut(shutdown.node.at()) {
                *leaves = true;
            }
            if let (ShutdownKind::Replace, Some(name)) = (shutdown.kind, &shutdown.target) {
                shutdowns.replaced.insert(shutdown.node, name.clone());
            }
        }
        shutdowns
    }

    pub(super) fn leaves(&self, node: NodeIndex) -> bool {
        self.leaving.get(node.at()).copied().unwrap_or(false)
    }

    /// Whether no node leaves.
    pub fn limit_nothing(&self) -> bool {
        self.leaving.is_empty()
    }
}
