//! Reroute, start, fail, and nodes that come and go.

use std::collections::HashSet;

use super::{Allocation, CopyId, FailedCopy, Outcome, Round, indices, metadata};
use crate::copy::{Reason, ShardCopy, UnassignedInfo};
use crate::deciders::{Deciders, Silent, Verdict};
use crate::engine::Engine;
use crate::gateway::Fetch;
use crate::model::{Cluster, NodeIndex, ShardId};
use crate::nodes::{CopyIndex, RoutingError, RoutingNodes};
use crate::{balancer, gateway};

/// A round of allocation over everything (`reroute`): replicas that expand by themselves are brought to
/// the number of nodes, then unassigned copies are allocated and the others moved and balanced.
///
/// # Errors
/// If the cluster's routing table contradicts itself, or has copies on nodes that are gone.
pub fn reroute(cluster: &mut Cluster, round: &Round<'_>) -> Result<Outcome, RoutingError> {
    let expanded = indices::expand_replicas(cluster, round.now_nanos);
    let mut nodes = RoutingNodes::new(cluster)?;
    let pending_fetch = allocate(cluster, &mut nodes, round, |_| Ok(()))?;
    let outcome = Outcome {
        changes: nodes.changes().log().to_vec(),
        pending_fetch,
    };
    // A round without a change leaves the table as it is, its order included.
    if expanded || nodes.changes().any() {
        metadata::apply(cluster, &nodes);
    }
    Ok(outcome)
}

/// Copies have started (`applyStartedShards`). No reroute follows by itself: the server schedules one.
///
/// # Errors
/// If one of them is not there, does not recover, or is named twice; nothing is changed then.
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

/// As [`start`], on the nodes alone.
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
    // A primary that has moved makes replicas recover anew, so replicas come first.
    handles.sort_by_key(|&handle| nodes.copy(handle).primary);
    for handle in handles {
        nodes.start(handle);
    }
    Ok(())
}

/// Copies have failed (`applyFailedShards`), and a reroute. Allocation ids of copies that are on no node
/// any more can leave the in-sync sets with it, except for the last of a set. A copy that goes because
/// another of the list takes it along is passed over.
///
/// # Errors
/// If the cluster's routing table contradicts itself, has copies on nodes that are gone, or does not
/// have a copy of the list; nothing is changed then.
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
            // An earlier one of the list may have taken it along.
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

/// Nodes left or joined: copies on nodes that are gone fail, then, if asked for, a reroute
/// (`disassociateDeadNodes`). [`Cluster::nodes`] and [`Cluster::data_nodes`] are already as they are now.
///
/// # Errors
/// If the cluster's routing table contradicts itself; nothing is changed then.
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

/// What every round ends with (`reroute(RoutingAllocation)`), after `first`: the gateway's rule, if
/// anything is unassigned, then the balancer. Whether data is still being asked for.
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

/// That all copies are on live data nodes.
pub(super) fn all_live(cluster: &Cluster, nodes: &RoutingNodes) -> Result<(), RoutingError> {
    let dead = |node: &&NodeIndex| !cluster.node(**node).is_live_data();
    match nodes.order().iter().find(dead) {
        None => Ok(()),
        Some(&node) => Err(RoutingError::DeadNode {
            node: cluster.node(node).id.clone(),
        }),
    }
}

/// The gateway's rule, if anything is unassigned.
pub(super) fn allocate_existing(allocation: &mut Allocation<'_>, fetch: &dyn Fetch) {
    if !allocation.nodes.unassigned().list().is_empty() {
        remove_delay_markers(allocation);
        gateway::allocate_unassigned(allocation, fetch);
    }
}

/// Started copies that a decider says cannot remain where they are. After a round these are the copies
/// that no node takes, now or ever.
///
/// # Errors
/// If the cluster's routing table contradicts itself, or has copies on nodes that are gone.
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
            .is_some_and(|node| round.can_remain(copy, node, &mut Silent) == Verdict::No)
    };
    Ok(started.filter(leaves).copied().collect())
}

/// Copies that have waited long enough for their node wait no more (`removeDelayMarkers`).
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
    wish: &'static str,
    shard: ShardId,
    why: String,
) -> RoutingError {
    RoutingError::Refused {
        wish,
        index: cluster
            .indices
            .get(shard.index.at())
            .map_or_else(|| format!("#{}", shard.index.0), |index| index.name.clone()),
        shard: shard.shard,
        why,
    }
}

/// That the cluster has the shard.
pub(super) fn known_shard(
    cluster: &Cluster,
    shard: ShardId,
    wish: &'static str,
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
            wish,
            shard,
            "the cluster has no such shard".to_owned(),
        ))
    }
}

fn resolve(
    cluster: &Cluster,
    nodes: &RoutingNodes,
    copy: CopyId,
    wish: &'static str,
) -> Result<CopyIndex, RoutingError> {
    known_shard(cluster, copy.shard, wish)?;
    nodes
        .by_allocation(copy.shard, copy.allocation)
        .ok_or_else(|| {
            refused(
                cluster,
                wish,
                copy.shard,
                format!("no node has a copy with allocation {}", copy.allocation.0),
            )
        })
}
