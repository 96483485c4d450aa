//! A cluster that is kept ready for the next round.
//!
//! The functions of [`super`] spread the routing table over the nodes anew for each round, as the server
//! does: time and memory for all copies, whatever has changed. Here nodes, deciders, sums and the
//! balancer's picture stay, and are brought up to date by what changed; a round that has nothing to do is
//! proven to have nothing to do by what was proven before, and a look at what has changed since.

use super::rounds::{all_live, allocate_existing, start_on};
use super::{Allocation, CopyId, Outcome, indices, metadata};
use crate::balancer::{self, Kept};
use crate::deciders::Deciders;
use crate::engine::Engine;
use crate::gateway::Fetch;
use crate::model::{Cluster, ClusterInfo, Index, IndexIndex, RoutingTable, ShardId, TableOrder};
use crate::nodes::{Change, Changes, RoutingError, RoutingNodes};

/// A cluster whose copies stay spread over the nodes from round to round.
///
/// What it does to the cluster is what the functions of [`super`] do to it: the same changes in the same
/// order, the same table. Its table is ordered as [`TableOrder::Kept`] says.
///
/// Whatever is not a method here is done by [`Live::edit`], after which everything is made anew.
#[derive(Debug)]
pub struct Live {
    cluster: Cluster,
    nodes: RoutingNodes,
    /// Per node its place in the order of the nodes.
    ranks: Vec<u32>,
    deciders: Deciders,
    /// What the balancer knows; taken out while it works.
    kept: Option<Kept>,
    /// Whether replicas may have to expand or shrink with the number of nodes.
    expansion_is_due: bool,
    /// Whether the copies of each shard are listed by the places of their nodes, as after a round.
    is_listed: bool,
}

impl Live {
    /// Makes a cluster ready. Its table gets the order that it has after any round that changes something:
    /// copies of a shard by the places of their nodes.
    ///
    /// # Errors
    /// If the routing table contradicts itself, or has copies on nodes that are gone.
    pub fn new(mut cluster: Cluster) -> Result<Self, RoutingError> {
        cluster.routing.order = TableOrder::Kept;
        let nodes = RoutingNodes::new(&cluster)?;
        all_live(&cluster, &nodes)?;
        metadata::apply(&mut cluster, &nodes);
        let mut live = Self::ready(cluster)?;
        live.is_listed = true;
        Ok(live)
    }

    fn ready(cluster: Cluster) -> Result<Self, RoutingError> {
        let mut nodes = RoutingNodes::new(&cluster)?;
        all_live(&cluster, &nodes)?;
        let mut ranks = vec![u32::MAX; cluster.nodes.len()];
        for (rank, node) in (0..).zip(nodes.order()) {
            ranks[node.at()] = rank;
        }
        let deciders = Deciders::new(&cluster, &nodes, Engine::incremental());
        let kept = Kept::new(&Allocation::new(&cluster, &mut nodes, &deciders, 0));
        Ok(Self {
            kept: Some(kept),
            expansion_is_due: true,
            is_listed: false,
            cluster,
            nodes,
            ranks,
            deciders,
        })
    }

    /// The cluster as it is now.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The cluster as it is now, to keep.
    pub(crate) fn into_cluster(self) -> Cluster {
        self.cluster
    }

    /// Changes the cluster in any way, and makes everything anew.
    ///
    /// # Errors
    /// If the routing table contradicts itself afterwards, or has copies on nodes that are gone.
    pub fn edit<T>(
        self,
        change: impl FnOnce(&mut Cluster) -> T,
    ) -> Result<(Self, T), RoutingError> {
        let mut cluster = self.cluster;
        let result = change(&mut cluster);
        cluster.routing.order = TableOrder::Kept;
        Ok((Self::ready(cluster)?, result))
    }

    /// A round of allocation over everything, as [`super::reroute`].
    ///
    /// # Errors
    /// If the routing table contradicts itself: not if it did not when it was made ready.
    pub fn reroute(&mut self, fetch: &dyn Fetch, now_nanos: i64) -> Result<Outcome, RoutingError> {
        let expanded = std::mem::take(&mut self.expansion_is_due)
            && indices::expand_replicas(&mut self.cluster, now_nanos);
        if expanded {
            self.remake()?;
        }
        self.nodes.order_unassigned(&self.cluster);
        let mut allocation =
            Allocation::new(&self.cluster, &mut self.nodes, &self.deciders, now_nanos);
        allocate_existing(&mut allocation, fetch);
        let kept = match self.kept.take() {
            None => Kept::new(&allocation),
            Some(mut kept) => {
                // The balancer finds what the gateway has placed.
                let placed = allocation.nodes.changes().touched_indices();
                kept.follow(allocation.nodes, allocation.cluster, &placed);
                kept
            }
        };
        self.kept = Some(balancer::allocate_with(&mut allocation, kept));
        let pending_fetch = allocation.has_pending_fetch;
        self.end_round(expanded, pending_fetch)
    }

    /// Copies have started, as [`super::start`].
    ///
    /// # Errors
    /// If one of them is not there, does not recover, or is named twice; nothing is changed then.
    pub fn start(&mut self, copies: &[CopyId]) -> Result<Outcome, RoutingError> {
        self.nodes.order_unassigned(&self.cluster);
        start_on(&self.cluster, &mut self.nodes, copies)?;
        self.end_round(false, false)
    }

    /// Adds an index whose copies are all unassigned, as [`super::create_index`].
    ///
    /// # Errors
    /// If the routing table contradicts itself: not if it did not when it was made ready.
    pub fn create_index(
        &mut self,
        index: Index,
        now_nanos: i64,
    ) -> Result<IndexIndex, RoutingError> {
        self.expansion_is_due |= index.settings.auto_expand_replicas.is_some();
        let table = indices::new_index(&mut self.cluster, index, now_nanos);
        let number = table.index;
        let created = self.cluster.index(number);
        let is_plain = self.deciders.admit_index(&created.settings);
        let copies = created.total_copies();
        self.cluster.routing.append(table);
        let table = self.cluster.routing.table(number);
        match (&mut self.kept, table) {
            (Some(kept), Some(table)) if is_plain => {
                self.nodes.admit_index(&self.cluster, table)?;
                kept.set_copies(kept.copies() + copies);
                kept.follow(&self.nodes, &self.cluster, &[number]);
            }
            _ => self.remake()?,
        }
        Ok(number)
    }

    /// Deletes an index, as [`super::delete_index`].
    ///
    /// # Errors
    /// If the routing table contradicts itself: not if it did not when it was made ready.
    pub fn delete_index(&mut self, index: IndexIndex) -> Result<(), RoutingError> {
        let copies = self.cluster.index(index).total_copies();
        let lost = self.nodes.drop_index(&self.cluster, index);
        indices::mark_deleted(&mut self.cluster, index);
        self.cluster.routing.take_out(index);
        let (Some(lost), Some(kept), Engine::Incremental(sums)) =
            (lost, &mut self.kept, &self.deciders.engine)
        else {
            return self.remake();
        };
        for node in lost {
            sums.dropped(node);
        }
        kept.set_copies(kept.copies() - copies);
        kept.follow(&self.nodes, &self.cluster, &[index]);
        Ok(())
    }

    /// Reads disks, sizes and paths anew; nothing is done where the cluster has never read any.
    pub(crate) fn read_disks(&mut self, read: impl FnOnce(&mut ClusterInfo, &RoutingTable)) {
        if let Some(info) = &mut self.cluster.info {
            read(info, &self.cluster.routing);
            self.deciders.read_disks(&self.cluster);
        }
    }

    /// Makes everything anew from the cluster.
    fn remake(&mut self) -> Result<(), RoutingError> {
        let cluster = std::mem::take(&mut self.cluster);
        let (expansion_is_due, is_listed) = (self.expansion_is_due, self.is_listed);
        *self = Self::ready(cluster)?;
        self.expansion_is_due = expansion_is_due;
        self.is_listed = is_listed;
        Ok(())
    }

    /// Writes a round back, and makes ready for the next one.
    fn end_round(&mut self, expanded: bool, pending_fetch: bool) -> Result<Outcome, RoutingError> {
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
        let is_told = self.nodes.changes().log().iter().all(is_plain);
        if writes && !(is_told && self.is_listed && !self.nodes.is_sparse()) {
            // What failed, or begins anew, changes more than is told; or all shards are to be listed anew.
            let changes = self.nodes.changes().log().to_vec();
            metadata::apply(&mut self.cluster, &self.nodes);
            self.remake()?;
            self.is_listed = true;
            return Ok(Outcome {
                changes,
                pending_fetch,
            });
        }
        if let Engine::Incremental(sums) = &self.deciders.engine {
            sums.end_round(&self.nodes);
        }
        let changes = self.nodes.end_round(&self.ranks);
        self.write_back(&changes, writes);
        Ok(Outcome {
            changes: changes.into_log(),
            pending_fetch,
        })
    }

    fn write_back(&mut self, changes: &Changes, writes: bool) {
        if writes {
            // Of what stays unassigned, the round may have changed the order.
            let mut unassigned = self.nodes.unassigned_by_shard();
            let several = unassigned.iter().filter(|(_, copies)| copies.len() > 1);
            let mut shards: Vec<ShardId> = several.map(|(shard, _)| *shard).collect();
            shards.extend(changes.touched());
            shards.sort_unstable();
            shards.dedup();
            for shard in shards {
                let on_nodes = self.nodes.assigned_copies(shard);
                let listed = on_nodes.filter(|copy| !copy.is_relocation_target());
                let rest = unassigned.remove(&shard).unwrap_or_default();
                let routing = &mut self.cluster.routing;
                routing.set_group(shard, listed.copied().chain(rest));
            }
            metadata::apply_in_sync(&mut self.cluster, &self.nodes, changes);
        }
        if let Some(kept) = &mut self.kept {
            kept.follow(&self.nodes, &self.cluster, &changes.touched_indices());
        }
    }
}

#[cfg(test)]
mod tests;
