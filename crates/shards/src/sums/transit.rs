//! Bytes that copies on the move take from a disk, or leave on it.

use crate::copy::{RecoverySource, ShardCopy};
use crate::deciders::{Arriving, Rules, expected_size_bytes};
use crate::model::{Cluster, ClusterInfo, PathIndex};
use crate::nodes::{CopyIndex, RoutingNodes};

/// One of a node's data paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    /// The path with the least free space, which decides whether copies may stay.
    Least,
    /// The path with the most free space, which decides whether copies may be added.
    Most,
}

/// Bytes that a recovering copy will take from the disk of this path. A copy on an unknown path is taken to be
/// on it.
pub(super) fn arriving_bytes(
    rules: Rules,
    cluster: &Cluster,
    info: &ClusterInfo,
    copy: &ShardCopy,
    path: Option<PathIndex>,
) -> i64 {
    let index = cluster.index(copy.shard.index);
    let counts = match (rules.arriving, copy.recovery) {
        (Arriving::Copied, Some(RecoverySource::Peer)) => true,
        (Arriving::Copied, Some(RecoverySource::Snapshot(_))) => !index.settings.partial_snapshot,
        (Arriving::Copied, _) => false,
        (_, _) => copy.is_relocation_target(),
    };
    let on = info.data_path(copy);
    if !counts || (on.is_some() && on != path) {
        return 0;
    }
    match rules.arriving {
        Arriving::Relocations => expected_size_bytes(cluster, copy, 0),
        Arriving::RelocationsOrExpected => {
            expected_size_bytes(cluster, copy, copy.expected_bytes.max(0))
        }
        Arriving::Copied => expected_size_bytes(cluster, copy, 0).max(copy.expected_bytes),
    }
}

/// Data path of a copy that is moving away: as recorded for it now or before it began to move.
pub(super) fn leaving_path(
    info: &ClusterInfo,
    nodes: &RoutingNodes,
    handle: CopyIndex,
) -> Option<PathIndex> {
    let copy = nodes.copy(handle);
    info.data_path(copy)
        .or_else(|| info.data_path(&copy.cancel_relocation()))
}
