//! Reroute, started and failed copies, and nodes that join or leave.

use std::collections::HashSet;

use super::{Allocation, CopyId, FailedCopy, Outcome, Round, indices, metadata};
use crate::copy::{Reason, ShardCopy, UnassignedInfo};
use crate::deciders::{Deciders, NoReasons, Verdict};
use crate::engine::Engine;
use crate::gateway::Fetch;
use crate::model::{Cluster, NodeIndex, ShardId};
use crate::nodes::{CopyIndex, RoutingError, RoutingNodes};
use crate::{balancer, gateway};

/// Runs an allocation round (`reroute`): adapts auto-expanded replicas to the number of nodes, allocates
/// unassigned copies, then moves and rebalances the others.
///
/// # Errors
/// If the routing table is inconsistent, or has copies on nodes that have left
pub fn reroute(cluster: &mut Cluster, round: &Round<'_>) -> Result<Outcome, RoutingError> {
    let expanded = indices::expand_replicas(cluster, round.now_nanos);
    let mut nodes = RoutingNodes::new(cluster)?;
    let pending_fetch = allocate(cluster, &mut nodes, round, |_| Ok(()))?;
    let outcome = Outcome {
        changes: nodes.changes().log().to_vec(),
        pending_fetch,
    };
    // A round without changes leaves the table and its order unchanged.
    if expanded || nodes.changes().any() {
        metadata::apply(cluster, &nodes);
    }
    Ok(outcome)
}

/// Marks copies as started (`applyStartedShards`). Does not reroute: the server schedules that
/// separately.
///
/// # Errors
/// If one of them does not exist, is not recovering, or is named twice; the cluster is then unchanged
pub fn start(cluster: &mut Cluster, copies: &[CopyId]) -> Result<Outcome, RoutingError> {
    if copies.is_empty() {
        return Ok(Outcome::default());
    }
    let mut nodes = RoutingNodes::new(cluster)?;
    start_on(cluster, &mut nodes, copies)?;
    metadata::apply(cluster, &nodes);
    Ok(Outcome {
        changes: nodes.changes().log().to_vec(),
        pending_fetch: false,
    })
}

/// Like [`start`], but on the nodes only.
pub(super) fn start_on(
    cluster: &Cluster,
    nodes: &mut RoutingNodes,
    copies: &[CopyId],
) -> Result<(), RoutingError> {
    let mut seen = HashSet::new();
    let mut handles = Vec::with_capacity(copies.len());
    for copy in copies {
        let refuse = |why| refused(cluster, "start", copy.shard, why);
        let handle = resolve(cluster, nodes, *copy, "start")?;
        if !nodes.copy(handle).is_initializing() {
            return Err(refuse(format!("it is {:?}", nodes.copy(handle).state)));
        }
        if !seen.insert(handle) {
            return Err(refuse("it is named twice".to_owned()));
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

/// Fails copies (`applyFailedShards`) and reroutes. Also removes allocation ids of copies that are no
/// longer assigned from the in-sync sets, but never empties a set. A copy that has already failed along
/// with an earlier one in the list is skipped.
///
/// # Errors
/// If the routing table is inconsistent, has copies on nodes that have left, or lacks a copy in the list;
/// the cluster is then unchanged
pub fn fail(
    cluster: &mut Cluster,
    failed: &[FailedCopy],
    stale: &[CopyId],
    round: &Round<'_>,
) -> Result<Outcome, RoutingError> {
    if failed.is_empty() && stale.is_empty() {
        return Ok(Outcome::default());
    }
    let mut nodes = RoutingNodes::new(cluster)?;
    for copy in stale {
        known_shard(cluster, copy.shard, "mark as stale")?;
    }
    let mut places = Vec::with_capacity(failed.len());
    for entry in failed {
        let handle = resolve(cluster, &nodes, entry.copy, "fail")?;
        places.push(nodes.copy(handle).node);
    }
    let before = metadata::remove_stale(cluster, stale);
    let result = allocate(cluster, &mut nodes, round, |allocation| {
        for (entry, place) in failed.iter().zip(places) {
            let CopyId {
                shard,
                allocation: id,
            } = entry.copy;
            if let Some(node) = place {
                allocation.ignore_node(shard, node);
            }
            // It may have failed along with an earlier one in the list.
            let Some(handle) = allocation.nodes.by_allocation(shard, id) else {
                continue;
            };
            let failures = allocation.nodes.copy(handle).unassigned;
            let info = UnassignedInfo {
                failed_allocations: failures
                    .map_or(0, |info| info.failed_allocations)
                    .saturating_add(1),
                ..UnassignedInfo::new(Reason::AllocationFailed, allocation.now_nanos)
            };
            if entry.mark_stale {
                allocation.nodes.mark_stale(handle);
            }
            allocation.nodes.fail(handle, info);
        }
        Ok(())
    });
    match result {
        Ok(pending_fetch) => {
            metadata::apply(cluster, &nodes);
            Ok(Outcome {
                changes: nodes.changes().log().to_vec(),
                pending_fetch,
            })
        }
        Err(error) => {
            metadata::put_back(cluster, before);
            Err(error)
        }
    }
}

/// Handles nodes that left or joined: fails copies on nodes that are gone, then reroutes if requested
/// (`disassociateDeadNodes`). [`Cluster::nodes`] and [`Cluster::data_nodes`] must already be up to date.
///
/// # Errors
/// If the routing table is inconsistent; the cluster is then unchanged
pub fn nodes_changed(
    cluster: &mut Cluster,
    then_reroute: bool,
    round: &Round<'_>,
) -> Result<Outcome, RoutingError> {
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
                ..UnassignedInfo::new(Reason::NodeLeft, round.now_nanos)
            };
            nodes.fail(handle, info);
        }
        nodes.remove_node(node);
    }
    let mut outcome = Outcome {
        changes: nodes.changes().log().to_vec(),
        pending_fetch: false,
    };
    if nodes.changes().any() {
        metadata::apply(cluster, &nodes);
    }
    if then_reroute {
        let after = reroute(cluster, round)?;
        outcome.changes.extend(after.changes);
        outcome.pending_fetch = after.pending_fetch;
    }
    Ok(outcome)
}

/// The last part of every round (`reroute(RoutingAllocation)`), after `first`: the gateway allocator, if
/// any copy is unassigned, then the balancer. Returns whether store information is still being fetched.
pub(super) fn allocate(
    cluster: &Cluster,
    nodes: &mut RoutingNodes,
    round: &Round<'_>,
    first: impl FnOnce(&mut Allocation<'_>) -> Result<(), RoutingError>,
) -> Result<bool, RoutingError> {
    all_live(cluster, nodes)?;
    let deciders = Deciders::new(cluster, nodes, (round.engine)());
    let mut allocation = Allocation::new(cluster, nodes, &deciders, round.now_nanos);
    first(&mut allocation)?;
    allocate_existing(&mut allocation, round.fetch);
    balancer::allocate(&mut allocation);
    Ok(allocation.has_pending_fetch)
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
pub(super) fn allocate_existing(allocation: &mut Allocation<'_>, fetch: &dyn Fetch) {
    if !allocation.nodes.unassigned().list().is_empty() {
        remove_delay_markers(allocation);
        gateway::allocate_unassigned(allocation, fetch);
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
    let deciders = Deciders::new(cluster, &nodes, Engine::incremental());
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

pub(super) fn refused(
    cluster: &Cluster,
    operation: &'static str,
    shard: ShardId,
    why: String,
) -> RoutingError {
    RoutingError::Refused {
        operation,
        index: cluster
            .indices
            .get(shard.index.at())
            .map_or_else(|| format!("#{}", shard.index.0), |index| index.name.clone()),
        shard: shard.shard,
        why,
    }
}

/// Checks that the cluster has the shard.
pub(super) fn known_shard(
    cluster: &Cluster,
    shard: ShardId,
    operation: &'static str,
) -> Result<(), RoutingError> {
    let known = cluster
        .indices
        .get(shard.index.at())
        .is_some_and(|index| shard.shard < index.shards);
    if known {
        Ok(())
    } else {
        Err(refused(
            cluster,
            operation,
            shard,
            "the cluster has no such shard".to_owned(),
        ))
    }
}

fn resolve(
    cluster: &Cluster,
    nodes: &RoutingNodes,
    copy: CopyId,
    operation: &'static str,
) -> Result<CopyIndex, RoutingError> {
    known_shard(cluster, copy.shard, operation)?;
    nodes
        .by_allocation(copy.shard, copy.allocation)
        .ok_or_else(|| {
            refused(
                cluster,
                operation,
                copy.shard,
                format!("no node has a copy with allocation {}", copy.allocation.0),
            )
        })
}
