//! Reroute, started copies, and nodes that join or leave.

use std::collections::HashSet;

use super::{Allocation, CopyId, indices, metadata};
use crate::copy::{Reason, ShardCopy, UnassignedInfo};
use crate::deciders::{Deciders, NoReasons, Verdict};
use crate::gateway::Stores;
use crate::model::{Cluster, NodeIndex};
use crate::nodes::{Change, CopyIndex, RoutingError, RoutingNodes};
use crate::{balancer, gateway};

/// Runs an allocation round (`reroute`): adapts auto-expanded replicas to the number of nodes, allocates
/// unassigned copies, then moves and rebalances the others. Returns all changes, in order.
///
/// `now_nanos` is the current time on the clock that measures allocation delays; it never runs backwards.
///
/// # Errors
/// If the routing table is inconsistent, or has copies on nodes that have left
pub fn reroute(
    cluster: &mut Cluster,
    stores: &Stores,
    now_nanos: i64,
) -> Result<Vec<Change>, RoutingError> {
    let expanded = indices::expand_replicas(cluster, now_nanos);
    let mut nodes = RoutingNodes::new(cluster)?;
    all_live(cluster, &nodes)?;
    let deciders = Deciders::new(cluster, &nodes);
    let mut allocation = Allocation::new(cluster, &mut nodes, &deciders, now_nanos);
    allocate_existing(&mut allocation, stores);
    balancer::allocate(&mut allocation);
    // A round that changes nothing must not reorder the table either.
    if expanded || nodes.changes().any() {
        metadata::apply(cluster, &nodes);
    }
    Ok(nodes.changes().log().to_vec())
}

/// Marks copies as started (`applyStartedShards`), on the nodes only.
///
/// # Errors
/// If one of them does not exist, is not recovering, or is named twice; the nodes are then unchanged
pub(super) fn start_on(
    cluster: &Cluster,
    nodes: &mut RoutingNodes,
    copies: &[CopyId],
) -> Result<(), RoutingError> {
    let mut seen = HashSet::new();
    let mut handles = Vec::with_capacity(copies.len());
    for copy in copies {
        let handle = resolve(cluster, nodes, *copy)?;
        if !nodes.copy(handle).is_initializing() {
            let state = nodes.copy(handle).state;
            return Err(refused(cluster, *copy, format!("it is {state:?}")));
        }
        if !seen.insert(handle) {
            return Err(refused(cluster, *copy, "it is named twice".to_owned()));
        }
        handles.push(handle);
    }
    // Starting a relocated primary restarts its recovering replicas, so start replicas first.
    handles.sort_by_key(|&handle| nodes.copy(handle).primary);
    for handle in handles {
        nodes.start(handle);
    }
    Ok(())
}

/// Handles nodes that left or joined: fails copies on nodes that are gone (`disassociateDeadNodes`). Returns
/// all changes, in order. [`Cluster::nodes`] and [`Cluster::data_nodes`] must already be up to date.
///
/// # Errors
/// If the routing table is inconsistent; the cluster is then unchanged
pub fn nodes_changed(cluster: &mut Cluster, now_nanos: i64) -> Result<Vec<Change>, RoutingError> {
    let mut nodes = RoutingNodes::new(cluster)?;
    let dead: Vec<_> = nodes
        .order()
        .iter()
        .copied()
        .filter(|&node| !cluster.node(node).is_live_data())
        .collect();
    for node in dead {
        let copies: Vec<CopyIndex> = nodes.handles_on(node).collect();
        for handle in copies {
            let index = nodes.copy(handle).shard.index;
            let info = UnassignedInfo {
                delayed: cluster.index(index).settings.delayed_timeout_nanos > 0,
                ..UnassignedInfo::new(Reason::NodeLeft, now_nanos)
            };
            nodes.fail(handle, info);
        }
        nodes.remove_node(node);
    }
    if nodes.changes().any() {
        metadata::apply(cluster, &nodes);
    }
    Ok(nodes.changes().log().to_vec())
}

/// Checks that all copies are on live data nodes.
pub(super) fn all_live(cluster: &Cluster, nodes: &RoutingNodes) -> Result<(), RoutingError> {
    let dead = |node: &&NodeIndex| !cluster.node(**node).is_live_data();
    match nodes.order().iter().find(dead) {
        None => Ok(()),
        Some(&node) => Err(RoutingError::DeadNode {
            node: cluster.node(node).id.clone(),
        }),
    }
}

/// Runs the gateway allocator if any copy is unassigned.
pub(super) fn allocate_existing(allocation: &mut Allocation<'_>, stores: &Stores) {
    if !allocation.nodes.unassigned().list().is_empty() {
        remove_delay_markers(allocation);
        gateway::allocate_unassigned(allocation, stores);
    }
}

/// Started copies that the deciders do not allow to remain where they are. After a round these are the
/// copies that no node accepts, now or later.
///
/// # Errors
/// If the routing table is inconsistent, or has copies on nodes that have left
pub fn cannot_remain(cluster: &Cluster, now_nanos: i64) -> Result<Vec<ShardCopy>, RoutingError> {
    let mut nodes = RoutingNodes::new(cluster)?;
    all_live(cluster, &nodes)?;
    let deciders = Deciders::new(cluster, &nodes);
    let round = Allocation::new(cluster, &mut nodes, &deciders, now_nanos);
    if round.all_can_remain() {
        return Ok(Vec::new());
    }
    let started = cluster.routing.copies().filter(|copy| copy.is_started());
    let leaves = |copy: &&ShardCopy| {
        copy.node
            .is_some_and(|node| round.can_remain(copy, node, &mut NoReasons) == Verdict::No)
    };
    Ok(started.filter(leaves).copied().collect())
}

/// Clears the delay of copies that have waited for their node long enough (`removeDelayMarkers`).
fn remove_delay_markers(allocation: &mut Allocation<'_>) {
    let over: Vec<(CopyIndex, UnassignedInfo)> = allocation
        .nodes
        .unassigned()
        .list()
        .iter()
        .filter_map(|&handle| {
            let copy = allocation.nodes.copy(handle);
            let info = copy.unassigned.filter(|info| info.delayed)?;
            let timeout = allocation
                .cluster
                .index(copy.shard.index)
                .settings
                .delayed_timeout_nanos;
            let waits = info.remaining_delay_nanos(allocation.now_nanos, timeout) > 0;
            (!waits).then_some((handle, info))
        })
        .collect();
    for (handle, info) in over {
        allocation.nodes.update_unassigned(
            handle,
            UnassignedInfo {
                delayed: false,
                ..info
            },
        );
    }
}

fn refused(cluster: &Cluster, copy: CopyId, why: String) -> RoutingError {
    let CopyId { shard, .. } = copy;
    RoutingError::CannotStart {
        index: cluster
            .indices
            .get(shard.index.at())
            .map_or_else(|| format!("#{}", shard.index.0), |index| index.name.clone()),
        shard: shard.shard,
        why,
    }
}

fn resolve(
    cluster: &Cluster,
    nodes: &RoutingNodes,
    copy: CopyId,
) -> Result<CopyIndex, RoutingError> {
    nodes
        .by_allocation(copy.shard, copy.allocation)
        .ok_or_else(|| {
            let id = copy.allocation.0;
            let why = format!("no node has a copy with allocation {id}");
            refused(cluster, copy, why)
        })
}
