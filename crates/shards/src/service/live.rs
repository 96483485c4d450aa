//! A cluster that is kept ready for the next round.
//!
//! Like the server, the functions of [`super`] redistribute the routing table over the nodes for each
//! round, which costs time and memory for all copies, whatever has changed. Here the nodes, deciders,
//! sums and the balancer's model are kept and updated by the changes. That a round has nothing to do is
//! proven from the previous proof and the changes since.

use super::rounds::{all_live, allocate_existing, start_on};
use super::{Allocation, CopyId, indices, metadata};
use crate::balancer::{self, BalancerState};
use crate::copy::ShardCopy;
use crate::deciders::Deciders;
use crate::desired::{self, Computed, DesiredBalance, Reconciler};
use crate::gateway::Stores;
use crate::model::{Cluster, ClusterInfo, RoutingTable, ShardId};
use crate::nodes::{Change, Changes, RoutingError, RoutingNodes};

/// A desired balance that is walked to.
#[derive(Debug, Default)]
struct Walk {
    desired: DesiredBalance,
    reconciler: Reconciler,
    /// Whether it has to be computed before the next steps.
    is_due: bool,
    computed: Option<Computed>,
}

impl Walk {
    fn compute(&mut self, round: &Allocation<'_>) {
        let (nodes, list) = (&*round.nodes, round.nodes.unassigned().ignored());
        let ignored: Vec<ShardCopy> = list.iter().map(|&handle| *nodes.copy(handle)).collect();
        let computed = desired::compute(
            round.cluster,
            nodes,
            &ignored,
            &self.desired,
            round.now_nanos,
        );
        self.desired.clone_from(&computed.balance);
        self.reconciler.learn(round.cluster, &self.desired);
        self.computed = Some(computed);
        self.is_due = false;
    }
}

/// A cluster whose copies stay distributed over the nodes from round to round.
///
/// A round has the same effect as [`super::reroute`]: the same changes in the same order, and the same
/// table. For any other change of the cluster, take it out, and prepare it again.
#[derive(Debug)]
pub struct Live {
    cluster: Cluster,
    nodes: RoutingNodes,
    /// Per node, its position in the order of the nodes.
    ranks: Vec<u32>,
    deciders: Deciders,
    /// State of the balancer; `None` while it runs, and where a desired balance is walked to.
    balancer_state: Option<BalancerState>,
    /// The desired balance and the way to it, where the master has one.
    walk: Option<Walk>,
    /// Whether auto-expanded replicas may have to be adapted to the number of nodes.
    expansion_is_due: bool,
}

impl Live {
    /// Prepares a cluster. Its table gets the order that it has after any round with changes: copies of a
    /// shard by the rank of their nodes.
    ///
    /// # Errors
    /// If the routing table is inconsistent, or has copies on nodes that have left
    pub fn new(mut cluster: Cluster) -> Result<Self, RoutingError> {
        let nodes = RoutingNodes::new(&cluster)?;
        all_live(&cluster, &nodes)?;
        metadata::apply(&mut cluster, &nodes);
        let mut live = Self::ready(cluster)?;
        if live.cluster.has_desired_balance() {
            live.walk_to(DesiredBalance::of_placement(&live.cluster));
        }
        Ok(live)
    }

    /// Takes this balance as the one that the master has computed last, from 8.6 on; without it, the present
    /// placement. Before the next round it is computed anew from there.
    pub fn walk_to(&mut self, desired: DesiredBalance) {
        self.walk = Some(Walk {
            desired,
            is_due: true,
            ..Walk::default()
        });
    }

    /// The desired balance as computed last, from 8.6 on.
    pub fn desired(&self) -> Option<&Computed> {
        self.walk.as_ref()?.computed.as_ref()
    }

    /// Has the desired balance computed before the next round, as the server does after every change.
    pub fn compute_again(&mut self) {
        if let Some(walk) = &mut self.walk {
            walk.is_due = true;
        }
    }

    fn ready(cluster: Cluster) -> Result<Self, RoutingError> {
        let mut nodes = RoutingNodes::new(&cluster)?;
        all_live(&cluster, &nodes)?;
        let mut ranks = vec![u32::MAX; cluster.nodes.len()];
        for (rank, node) in (0..).zip(nodes.order()) {
            ranks[node.at()] = rank;
        }
        let deciders = Deciders::new(&cluster, &nodes);
        let walks = cluster.has_desired_balance();
        let balancer_state = (!walks)
            .then(|| BalancerState::new(&Allocation::new(&cluster, &mut nodes, &deciders, 0)));
        Ok(Self {
            balancer_state,
            walk: None,
            expansion_is_due: true,
            cluster,
            nodes,
            ranks,
            deciders,
        })
    }

    /// The current cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Consumes this and returns the cluster.
    pub fn into_cluster(self) -> Cluster {
        self.cluster
    }

    /// Runs an allocation round, like [`super::reroute`].
    ///
    /// # Errors
    /// If the routing table is inconsistent, which cannot happen if it was consistent when prepared
    pub fn reroute(
        &mut self,
        stores: &Stores,
        now_nanos: i64,
    ) -> Result<Vec<Change>, RoutingError> {
        let expanded = std::mem::take(&mut self.expansion_is_due)
            && indices::expand_replicas(&mut self.cluster, now_nanos);
        if expanded {
            self.remake()?;
        }
        self.nodes.order_unassigned(&self.cluster);
        let mut allocation =
            Allocation::new(&self.cluster, &mut self.nodes, &self.deciders, now_nanos);
        allocate_existing(&mut allocation, stores);
        if let Some(walk) = &mut self.walk {
            if walk.is_due {
                walk.compute(&allocation);
            }
            walk.reconciler.reconcile(&mut allocation, &walk.desired);
            return self.end_round(expanded);
        }
        let balancer_state = match self.balancer_state.take() {
            None => BalancerState::new(&allocation),
            Some(mut balancer_state) => {
                // Let the balancer see the copies that the gateway has placed.
                let placed = allocation.nodes.changes().touched_indices();
                balancer_state.follow(allocation.nodes, allocation.cluster, &placed);
                balancer_state
            }
        };
        self.balancer_state = Some(balancer::allocate_with(&mut allocation, balancer_state));
        self.end_round(expanded)
    }

    /// Marks copies as started (`applyStartedShards`). Does not reroute: the server schedules that
    /// separately.
    ///
    /// # Errors
    /// If one of them does not exist, is not recovering, or is named twice; the cluster is then unchanged
    pub fn start(&mut self, copies: &[CopyId]) -> Result<Vec<Change>, RoutingError> {
        self.nodes.order_unassigned(&self.cluster);
        start_on(&self.cluster, &mut self.nodes, copies)?;
        self.end_round(false)
    }

    /// Updates disks, sizes and paths; does nothing if the cluster has no such information.
    pub(crate) fn read_disks(&mut self, read: impl FnOnce(&mut ClusterInfo, &RoutingTable)) {
        if let Some(info) = &mut self.cluster.info {
            read(info, &self.cluster.routing);
            self.deciders.read_disks(&self.cluster);
        }
    }

    /// Rebuilds everything from the cluster.
    fn remake(&mut self) -> Result<(), RoutingError> {
        let cluster = std::mem::take(&mut self.cluster);
        let expansion_is_due = self.expansion_is_due;
        let walk = self.walk.take();
        *self = Self::ready(cluster)?;
        self.walk = walk;
        if let Some(walk) = &mut self.walk {
            walk.reconciler.forget_copies();
        }
        self.expansion_is_due = expansion_is_due;
        Ok(())
    }

    /// Writes the results of a round to the cluster and prepares for the next round.
    fn end_round(&mut self, expanded: bool) -> Result<Vec<Change>, RoutingError> {
        let is_plain = |change: &Change| {
            matches!(
                change,
                Change::Initialized(_)
                    | Change::RelocationStarted { .. }
                    | Change::Started(_)
                    | Change::RelocationCompleted(_)
                    | Change::UnassignedUpdated(_)
            )
        };
        let writes = self.nodes.changes().any() || expanded;
        let is_log_complete = self.nodes.changes().log().iter().all(is_plain);
        if writes && (!is_log_complete || self.nodes.is_sparse()) {
            // Restarted copies change more than the log says.
            let changes = self.nodes.changes().log().to_vec();
            metadata::apply(&mut self.cluster, &self.nodes);
            self.remake()?;
            return Ok(changes);
        }
        self.deciders.sums.end_round(&self.nodes);
        let changes = self.nodes.end_round(&self.ranks);
        if let Some(walk) = &mut self.walk {
            walk.reconciler.follow(&self.nodes, &changes.touched());
        }
        self.write_back(&changes, writes);
        Ok(changes.into_log())
    }

    fn write_back(&mut self, changes: &Changes, writes: bool) {
        if writes {
            // The round may have reordered the copies that remain unassigned.
            let unassigned = self.nodes.unassigned_by_shard();
            let several = unassigned.windows(2).filter(|pair| pair[0].0 == pair[1].0);
            let mut shards: Vec<ShardId> = several.map(|pair| pair[0].0).collect();
            shards.extend(changes.touched());
            shards.sort_unstable();
            shards.dedup();
            for shard in shards {
                let on_nodes = self.nodes.assigned_copies(shard);
                let listed = on_nodes.filter(|copy| !copy.is_relocation_target());
                let from = unassigned.partition_point(|&(other, _)| other < shard);
                let rest = unassigned[from..].iter();
                let rest = rest.take_while(|&&(other, _)| other == shard);
                let rest = rest.map(|&(_, handle)| *self.nodes.copy(handle));
                let routing = &mut self.cluster.routing;
                routing.set_group(shard, listed.copied().chain(rest));
            }
            metadata::apply_in_sync(&mut self.cluster, &self.nodes, changes);
        }
        if let Some(balancer_state) = &mut self.balancer_state {
            balancer_state.follow(&self.nodes, &self.cluster, &changes.touched_indices());
        }
    }
}

#[cfg(test)]
mod tests;
