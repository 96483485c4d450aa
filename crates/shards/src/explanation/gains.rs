//! Which nodes a reroute gives shards to, and where new primaries end up.

use crate::copy::{RecoverySource, ShardCopy};
use crate::gateway::Stores;
use crate::model::{Cluster, DiskUsage, NodeIndex};
use crate::nodes::{Change, RoutingError};
use crate::service::Live;
use crate::what_if::{Level, NodeLoad, level, start_all};
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of rounds that are looked ahead.
const ROUNDS_MAX: usize = 100;

/// What a node gets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeGain {
    /// The node's name.
    pub node: String,
    /// Copies on it before the reroute, including recovering ones.
    pub shards: u64,
    /// Used space of its emptiest disk, which decides whether it may take copies, in percent; null if
    /// not known.
    pub used_percent: Option<f64>,
    /// The highest watermark that this disk is above: `low`, `high` or `flood_stage`; null if none, or
    /// not known.
    pub watermark: Option<&'static str>,
    /// Copies that the reroute allocates on it or moves to it.
    pub gets: u64,
    /// New, empty primaries that it gets in this reroute or a later one: a node recovers few at a time,
    /// and the others wait for it.
    pub new_primaries: u64,
}

/// Whether a copy is a primary that was never allocated before: it may go to a node above the low
/// watermark.
pub(super) fn is_new_primary(copy: &ShardCopy) -> bool {
    copy.primary && copy.recovery == Some(RecoverySource::EmptyStore)
}

/// Returns what each live data node gets.
///
/// # Errors
/// If the routing table is inconsistent
pub(super) fn of(
    before: &Cluster,
    loads: &[NodeLoad],
    changes: &[Change],
    now_nanos: i64,
) -> Result<Vec<NodeGain>, RoutingError> {
    let mut gets = vec![0_u64; before.nodes.len()];
    for node in changes.iter().filter_map(taken_by) {
        gets[node.at()] += 1;
    }
    let new_primaries = new_primaries(before, now_nanos)?;
    let gain = |load: &NodeLoad| {
        let usage = before
            .info
            .as_ref()
            .and_then(|info| info.most.get(&load.node));
        let above = usage.map(|usage| level(&before.settings, usage));
        NodeGain {
            node: before.node(load.node).name.clone(),
            shards: load.copies,
            used_percent: usage.map(DiskUsage::used_percent),
            watermark: above.and_then(|level| match level {
                Level::Free => None,
                Level::Low => Some("low"),
                Level::High => Some("high"),
                Level::Flood => Some("flood_stage"),
            }),
            gets: gets[load.node.at()],
            new_primaries: new_primaries[load.node.at()],
        }
    };
    Ok(loads.iter().map(gain).collect())
}

fn taken_by(change: &Change) -> Option<NodeIndex> {
    match change {
        Change::Initialized(copy) => copy.node,
        Change::RelocationStarted { target, .. } => target.node,
        _ => None,
    }
}

/// Runs rounds until all new primaries are placed, or no more of them can be. Returns their numbers by
/// node.
fn new_primaries(before: &Cluster, now_nanos: i64) -> Result<Vec<u64>, RoutingError> {
    let mut numbers = vec![0; before.nodes.len()];
    let waits = |copy: &ShardCopy| copy.is_unassigned() && is_new_primary(copy);
    if !before.routing.copies().any(waits) {
        return Ok(numbers);
    }
    let mut stores = Stores::of(before);
    let mut live = Live::new(before.clone())?;
    for round in 0..ROUNDS_MAX {
        let changes = live.reroute(&stores, now_nanos)?;
        let mut placed = false;
        for change in &changes {
            if let Change::Initialized(copy) = change
                && is_new_primary(copy)
                && let Some(node) = copy.node
            {
                numbers[node.at()] += 1;
                placed = true;
            }
        }
        let started = start_all(&mut live, &mut stores, round == 0)?;
        if !live.cluster().routing.copies().any(waits) || !(placed || started) {
            break;
        }
    }
    Ok(numbers)
}
