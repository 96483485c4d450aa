//! How many copies and bytes each node has.

use super::size;
use crate::model::{Cluster, DiskUsage, NodeIndex, Settings, Watermark};

/// How full a disk is relative to the watermarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Below all watermarks.
    Free,
    /// Above the low watermark: no new replicas.
    Low,
    /// Above the high watermark: copies move away.
    High,
    /// Above the flood stage: indices become read-only.
    Flood,
}

/// Load of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLoad {
    /// The node.
    pub node: NodeIndex,
    /// Copies on it, including recovering ones.
    pub copies: u64,
    /// Their total size in bytes, as far as known.
    pub bytes: u64,
    /// Usage of its fullest disk, percent; `None` if not known.
    pub used_percent: Option<f64>,
    /// Level of its fullest disk; `None` if its disks are not known.
    pub level: Option<Level>,
}

/// Summary of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSummary {
    /// Live data nodes, in the order of the state.
    pub nodes: Vec<NodeLoad>,
    /// Copies in the routing table.
    pub routed: u64,
    /// Unassigned primaries.
    pub unassigned_primaries: u64,
    /// Unassigned replicas.
    pub unassigned_replicas: u64,
}

/// Summarizes a cluster.
pub fn summary(cluster: &Cluster) -> ClusterSummary {
    let mut summary = ClusterSummary {
        nodes: Vec::new(),
        routed: 0,
        unassigned_primaries: 0,
        unassigned_replicas: 0,
    };
    let mut loads = vec![(0, 0); cluster.nodes.len()];
    for copy in cluster.routing.copies() {
        summary.routed += 1;
        let bytes =
            size(cluster, copy.shard, copy.primary).and_then(|bytes| u64::try_from(bytes).ok());
        for node in [copy.node, copy.relocating].into_iter().flatten() {
            let (copies, sum) = &mut loads[node.at()];
            *copies += 1;
            *sum += bytes.unwrap_or(0);
        }
        if copy.is_unassigned() && copy.primary {
            summary.unassigned_primaries += 1;
        } else if copy.is_unassigned() {
            summary.unassigned_replicas += 1;
        }
    }
    summary.nodes = cluster
        .data_nodes
        .iter()
        .map(|&node| {
            let (copies, bytes) = loads[node.at()];
            let usage = cluster.info.as_ref().and_then(|info| info.least.get(&node));
            NodeLoad {
                node,
                copies,
                bytes,
                used_percent: usage.map(DiskUsage::used_percent),
                level: usage.map(|usage| level(&cluster.settings, usage)),
            }
        })
        .collect();
    summary
}

/// Level of a disk relative to the watermarks.
pub fn level(settings: &Settings, usage: &DiskUsage) -> Level {
    let above = |watermark: &Watermark| {
        let watermark = watermark.of_disk(usage.total_bytes);
        usage.free_bytes < watermark.free_bytes || usage.free_percent() < watermark.free_percent
    };
    if above(&settings.watermark_flood_stage) {
        Level::Flood
    } else if above(&settings.watermark_high) {
        Level::High
    } else if above(&settings.watermark_low) {
        Level::Low
    } else {
        Level::Free
    }
}
