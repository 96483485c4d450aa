//! Sizes and disks while starts are simulated (`ClusterInfoSimulator`).

use super::rules::{Rules, StartSize};
use crate::copy::{RecoverySource, ShardCopy, UNKNOWN_SIZE};
use crate::deciders::expected_size_bytes;
use crate::model::{Cluster, ClusterInfo, DiskUsage, NodeIndex};

/// Takes note of what a recovering copy will take from its node's disk, and what a moving one gives back.
///
/// `known` is the cluster with sizes and disks as they are in the simulation.
pub(super) fn start(rules: Rules, known: &mut Cluster, copy: &ShardCopy) {
    debug_assert!(copy.is_initializing());
    let Some(bytes) = size_bytes(rules.start_size, known, copy) else {
        return;
    };
    let ignores_disks = known.index(copy.shard.index).settings.partial_snapshot;
    let info = known.info.get_or_insert_default();
    let Some(node) = copy.node else { return };
    if let Some(from) = copy.relocating {
        add_free(info, from, bytes);
        add_free(info, node, -bytes);
        return;
    }
    if !rules.reserves_copied_only || copies_data(copy, ignores_disks) {
        add_free(info, node, -bytes);
    }
    let kept = if rules.reserves_copied_only && ignores_disks {
        0
    } else {
        bytes
    };
    info.set_size_bytes(copy.shard, copy.primary, kept);
}

/// Whether the recovery of a copy takes space on its node (`shouldReserveSpaceForInitializingShard`).
fn copies_data(copy: &ShardCopy, is_partial: bool) -> bool {
    match copy.recovery {
        Some(RecoverySource::Peer) => true,
        Some(RecoverySource::Snapshot(_)) => !is_partial,
        _ => false,
    }
}

fn size_bytes(of: StartSize, known: &Cluster, copy: &ShardCopy) -> Option<i64> {
    let size = |primary| known.info.as_ref()?.size_bytes(copy.shard, primary);
    let simple = |new_primary| {
        let bytes = if copy.relocating.is_some() {
            size(copy.primary)
        } else if copy.primary {
            new_primary
        } else {
            size(true)
        };
        bytes.filter(|&bytes| bytes > 0)
    };
    let estimate = |otherwise| {
        Some(expected_size_bytes(known, copy, otherwise)).filter(|&bytes| bytes != UNKNOWN_SIZE)
    };
    match of {
        StartSize::KnownOrNothing => simple(None),
        StartSize::KnownOrExpected => simple(Some(copy.expected_bytes)),
        StartSize::Estimate => estimate(UNKNOWN_SIZE),
        StartSize::EstimateOrExpected => estimate(copy.expected_bytes),
    }
}

/// Changes the free space of a node's disk with the most of it, and of the one with the least if that is
/// the same.
fn add_free(info: &mut ClusterInfo, node: NodeIndex, bytes: i64) {
    let Some(path) = info.most.get(&node).map(|usage| usage.path) else {
        return;
    };
    let change = |usage: &mut DiskUsage| {
        if usage.path == path {
            let free = usage.free_bytes.wrapping_add(bytes);
            usage.free_bytes = free.min(usage.total_bytes).max(0);
        }
    };
    info.most.get_mut(&node).into_iter().for_each(change);
    info.least.get_mut(&node).into_iter().for_each(change);
}
