//! Builds the nodes from a routing table (`RoutingNodes(ClusterState, boolean)`). The table is not
//! trusted.

use super::{
    Changes, CopyIndex, Handles, NodeList, Recoveries, RoutingError, RoutingNodes, Unassigned,
};
use crate::copy::{AllocationIds, RecoverySource, ShardCopy};
use crate::java::{DEFAULT_BINS, Filled, bins_after, bins_for, by_hash, string_hash};
use crate::model::{Cluster, Index, IndexTable, NodeIndex, Product, Version};

/// Maximum number of shards of an index missing from a table: the server's own limit of shards per index.
const MAX_GAP: usize = 1024;

impl RoutingNodes {
    /// Distributes the routing table over the nodes, in the server's order.
    ///
    /// Live data nodes are inserted into the map first, then any other nodes that copies refer to. A
    /// relocating copy appears twice: on its node, and as an initializing copy on its target node.
    ///
    /// # Errors
    /// If the table is inconsistent or refers to something that the cluster does not have
    pub fn new(cluster: &Cluster) -> Result<Self, RoutingError> {
        let count = cluster.routing.copies().count();
        let mut nodes = Self {
            copies: Vec::with_capacity(count),
            spots: Vec::with_capacity(count),
            lists: vec![None; cluster.nodes.len()],
            order: Vec::new(),
            versions: cluster
                .nodes
                .iter()
                .map(|node| node.present.then_some(node.version))
                .collect(),
            shards: vec![(0, 0); cluster.indices.len()],
            assigned: Vec::new(),
            recoveries: vec![Recoveries::default(); cluster.nodes.len()],
            first_recoveries: (cluster.product == Product::OpenSearch)
                .then(|| vec![Recoveries::default(); cluster.nodes.len()]),
            unassigned: Unassigned::default(),
            inactive_primaries: 0,
            inactive_copies: 0,
            relocating: 0,
            ids: AllocationIds::from(cluster.next_allocation),
            changes: Changes::default(),
            is_ordered: true,
            dropped: 0,
        };
        let mut arrival = Vec::with_capacity(cluster.data_nodes.len());
        for &node in &cluster.data_nodes {
            nodes.enter(cluster, node, &mut arrival)?;
        }
        for table in cluster.routing.tables() {
            nodes.load(cluster, table, &mut arrival)?;
        }
        // The server fills one map, then a second one from it, so iterate over the first order to build
        // the second.
        let is_sized = cluster.product == Product::Elasticsearch
            && cluster.version >= Version::release(8, 1, 0);
        let bins = if is_sized {
            bins_for(cluster.data_nodes.len())
        } else {
            DEFAULT_BINS
        };
        let bins = bins_after(bins, arrival.len());
        let hash = |node: &NodeIndex| string_hash(&cluster.node(*node).id);
        let order = |nodes| by_hash(nodes, Filled::Put, bins, hash);
        nodes.order = order(order(arrival));
        Ok(nodes)
    }

    fn enter(
        &mut self,
        cluster: &Cluster,
        node: NodeIndex,
        arrival: &mut Vec<NodeIndex>,
    ) -> Result<(), RoutingError> {
        known(cluster, node)?;
        let list = &mut self.lists[node.at()];
        if list.is_none() {
            *list = Some(NodeList::default());
            arrival.push(node);
        }
        Ok(())
    }

    fn load(
        &mut self,
        cluster: &Cluster,
        table: &IndexTable,
        arrival: &mut Vec<NodeIndex>,
    ) -> Result<(), RoutingError> {
        let Some(index) = cluster.indices.get(table.index.at()) else {
            return Err(RoutingError::Unknown {
                what: format!("index number {}", table.index.0),
            });
        };
        let found = table.groups().count();
        let highest = table.copies.iter().map(|copy| copy.shard.shard).max();
        // Positions are created for the listed shards, whatever the metadata says.
        let Some(places) = highest.map_or(Some(0), |highest| highest.checked_add(1)) else {
            return Err(RoutingError::Unknown {
                what: format!("shard {} of index [{}]", u32::MAX, index.name),
            });
        };
        let shards = || RoutingError::Shards {
            index: index.name.clone(),
            expected: index.shards,
            found,
        };
        if self.shards[table.index.at()].1 > 0 || places as usize > found + MAX_GAP {
            return Err(shards());
        }
        let start = self.assigned.len();
        let first = u32::try_from(start).map_err(|_| RoutingError::Unknown {
            what: "more than 2^32 shards".to_owned(),
        })?;
        self.shards[table.index.at()] = (first, places);
        self.assigned
            .resize(start + places as usize, Handles::default());
        let mut seen = vec![false; places as usize];
        for group in table.groups() {
            let shard = group[0].shard;
            if shard.index != table.index || shard.shard >= index.shards {
                return Err(RoutingError::Unknown {
                    what: format!("shard {} of index [{}]", shard.shard, index.name),
                });
            }
            if std::mem::replace(&mut seen[shard.shard as usize], true) {
                return Err(shards());
            }
            let primary = primary(cluster, index, group)?;
            for copy in group {
                self.load_copy(cluster, copy, primary, arrival)?;
            }
        }
        Ok(())
    }

    fn load_copy(
        &mut self,
        cluster: &Cluster,
        copy: &ShardCopy,
        primary: &ShardCopy,
        arrival: &mut Vec<NodeIndex>,
    ) -> Result<(), RoutingError> {
        let handle = self.admit(*copy);
        let Some(node) = copy.node else {
            self.unassigned.add(handle, copy);
            return Ok(());
        };
        self.enter(cluster, node, arrival)?;
        self.put(cluster, handle, node)?;
        if let (true, Some(to)) = (copy.is_relocating(), copy.relocating) {
            self.relocating += 1;
            self.enter(cluster, to, arrival)?;
            let target = copy.relocation_target();
            let handle = self.admit(target);
            self.initial_recovery(cluster, &target, primary)?;
            self.put(cluster, handle, to)?;
        } else if copy.is_initializing() {
            self.inactive_primaries += u32::from(copy.primary);
            self.inactive_copies += 1;
            self.initial_recovery(cluster, copy, primary)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        cluster: &Cluster,
        handle: CopyIndex,
        node: NodeIndex,
    ) -> Result<(), RoutingError> {
        let copy = *self.copy(handle);
        let shard = copy.shard;
        if self.on_node(node, shard).is_some() {
            return Err(RoutingError::TwoOnNode {
                index: cluster.index(shard.index).name.clone(),
                shard: shard.shard,
                node: cluster.node(node).id.clone(),
            });
        }
        if let Some(id) = copy.allocation {
            if self.by_allocation(shard, id).is_some() {
                let index = cluster.index(shard.index);
                return Err(broken(index, &copy, "the allocation id of another copy"));
            }
            self.ids.skip(id);
        }
        self.push_on_node(handle, node);
        self.assigned_add(handle);
        Ok(())
    }
}

/// Returns the single primary of a shard after validating all its copies.
fn primary<'g>(
    cluster: &Cluster,
    index: &Index,
    group: &'g [ShardCopy],
) -> Result<&'g ShardCopy, RoutingError> {
    let mut primaries = group.iter().filter(|copy| copy.primary);
    let (Some(primary), None) = (primaries.next(), primaries.next()) else {
        return Err(RoutingError::Primaries {
            index: index.name.clone(),
            shard: group[0].shard.shard,
            found: group.iter().filter(|copy| copy.primary).count(),
        });
    };
    for copy in group {
        validate(copy).map_err(|what| broken(index, copy, what))?;
        for node in [copy.node, copy.relocating].into_iter().flatten() {
            known(cluster, node)?;
        }
    }
    Ok(primary)
}

fn known(cluster: &Cluster, node: NodeIndex) -> Result<(), RoutingError> {
    if node.at() < cluster.nodes.len() {
        Ok(())
    } else {
        Err(RoutingError::Unknown {
            what: format!("node number {}", node.0),
        })
    }
}

fn broken(index: &Index, copy: &ShardCopy, what: &'static str) -> RoutingError {
    RoutingError::Broken {
        index: index.name.clone(),
        shard: copy.shard.shard,
        state: copy.state,
        what,
    }
}

/// Checks what the server's `ShardRouting` constructor asserts.
fn validate(copy: &ShardCopy) -> Result<(), &'static str> {
    let unassigned = copy.is_unassigned();
    let moving = copy.is_relocating();
    if copy.node.is_none() != unassigned {
        return Err(if unassigned { "a node" } else { "no node" });
    }
    if copy.allocation.is_none() != unassigned {
        return Err(if unassigned {
            "an allocation id"
        } else {
            "no allocation id"
        });
    }
    if copy.relocating.is_some() != moving || copy.relocation.is_some() != moving {
        return Err(if moving {
            "nothing to relocate to"
        } else {
            "a relocation (targets are not listed; their source is)"
        });
    }
    if moving && copy.relocating == copy.node {
        return Err("its own node to relocate to");
    }
    if copy.recovery.is_some() == copy.is_active() {
        return Err(if copy.is_active() {
            "a recovery source"
        } else {
            "no recovery source"
        });
    }
    if unassigned && copy.unassigned.is_none() {
        return Err("no reason why");
    }
    if !copy.primary && !copy.is_active() && copy.recovery != Some(RecoverySource::Peer) {
        return Err("a recovery source that is not its primary");
    }
    if copy.primary && copy.recovery == Some(RecoverySource::Peer) {
        return Err("itself to recover from");
    }
    Ok(())
}
