//! Manual reroutes (`AllocationService.reroute` with commands, `AllocationCommand`).

use super::rounds::{allocate, known_shard, refused};
use super::{Allocation, Outcome, Round, metadata};
use crate::copy::{Reason, UNKNOWN_SIZE, UnassignedInfo};
use crate::deciders::{NoReasons, Verdict};
use crate::model::{Cluster, NodeIndex, ShardId};
use crate::nodes::{CopyIndex, RoutingError, RoutingNodes};

/// Resets the failure counters and reroutes: the API's `retry_failed`.
///
/// # Errors
/// If the routing table is inconsistent, or has copies on nodes that have left
pub fn retry_failed(cluster: &mut Cluster, round: &Round<'_>) -> Result<Outcome, RoutingError> {
    command(cluster, round, |allocation| {
        let unassigned: Vec<CopyIndex> = allocation.nodes.unassigned().list().to_vec();
        for handle in unassigned {
            let Some(info) = allocation.nodes.copy(handle).unassigned else {
                continue;
            };
            let reason = if info.failed_allocations > 0 {
                Reason::ManualAllocation
            } else {
                info.reason
            };
            allocation.nodes.update_unassigned(
                handle,
                UnassignedInfo {
                    reason,
                    failed_allocations: 0,
                    ..info
                },
            );
        }
        Ok(())
    })
}

/// Relocates a started copy manually, then reroutes (`MoveAllocationCommand`). Neither throttling by the
/// target nor `allocation.enable` prevents it.
///
/// # Errors
/// If the copy is not started on that node or a decider forbids the target; the cluster is then unchanged
pub fn move_copy(
    cluster: &mut Cluster,
    shard: ShardId,
    from: NodeIndex,
    to: NodeIndex,
    round: &Round<'_>,
) -> Result<Outcome, RoutingError> {
    known_shard(cluster, shard, "move")?;
    command(cluster, round, |allocation| {
        let refuse = |why| refused(allocation.cluster, "move", shard, why);
        let Some(handle) = allocation.nodes.on_node(from, shard) else {
            return Err(refuse(format!("node number {} has no copy of it", from.0)));
        };
        let copy = *allocation.nodes.copy(handle);
        if !copy.is_started() {
            return Err(refuse(format!("it is {:?}", copy.state)));
        }
        if !allocation.nodes.is_routed(to) {
            return Err(refuse(format!("node number {} holds no data", to.0)));
        }
        if allocation.can_allocate(&copy, to, &mut NoReasons) == Verdict::No {
            let id = &allocation.cluster.node(to).id;
            return Err(refuse(format!("deciders forbid it on node {id}")));
        }
        let size = allocation
            .cluster
            .info
            .as_ref()
            .and_then(|info| info.size_bytes(shard, copy.primary))
            .unwrap_or(UNKNOWN_SIZE);
        allocation.nodes.relocate(handle, to, size);
        Ok(())
    })
}

fn command(
    cluster: &mut Cluster,
    round: &Round<'_>,
    run: impl FnOnce(&mut Allocation<'_>) -> Result<(), RoutingError>,
) -> Result<Outcome, RoutingError> {
    let mut nodes = RoutingNodes::new(cluster)?;
    let pending_fetch = allocate(cluster, &mut nodes, round, |allocation| {
        allocation.debug = true;
        allocation.ignore_disable = true;
        run(allocation)?;
        allocation.ignore_disable = false;
        Ok(())
    })?;
    // After commands the table is rewritten whether or not anything changed.
    metadata::apply(cluster, &nodes);
    Ok(Outcome {
        changes: nodes.changes().log().to_vec(),
        pending_fetch,
    })
}
