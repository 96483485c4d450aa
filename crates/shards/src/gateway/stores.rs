//! Contents of the nodes' disks, tracked along with a simulated cluster.

use crate::copy::{AllocationIndex, ShardCopy};
use crate::model::{Cluster, IndexTable, NodeIndex, NumberMap, ShardId};

/// A copy on a node's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OnDisk {
    /// The node.
    pub node: NodeIndex,
    /// The copy's allocation id.
    pub allocation: AllocationIndex,
    /// Whether the copy was the primary.
    pub primary: bool,
}

/// A copy that was written to a node's disk or deleted from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnDiskChange {
    /// The shard.
    pub shard: ShardId,
    /// The node.
    pub node: NodeIndex,
    /// `true` if the copy was written, `false` if it was deleted.
    pub added: bool,
}

/// Contents of the nodes' disks, derived from where copies were active. Data stays on a node that leaves
/// the cluster, and is deleted once all copies of the shard are started elsewhere (`IndicesStore`).
///
/// Nodes that are present report what they have (`NodeGatewayStartedShards`, `NodeStoreFilesMetaData`) at
/// once, in the order in which they received copies.
#[derive(Debug, Clone, Default)]
pub struct Stores {
    shards: NumberMap<ShardId, Vec<OnDisk>>,
    present: Vec<bool>,
}

impl Stores {
    /// Assumes that the only data on disk is that of the active copies, and that of primaries on the nodes
    /// with which they were lost.
    pub fn of(cluster: &Cluster) -> Self {
        let mut stores = Self::default();
        stores.observe(cluster);
        for copy in cluster.routing.copies().filter(|copy| copy.primary) {
            let Some(node) = copy.unassigned.and_then(|info| info.last_node) else {
                continue;
            };
            let index = cluster.index(copy.shard.index);
            let in_sync = index.in_sync.get(copy.shard.shard as usize);
            // Any id in sync would be accepted; those of copies lost before come first.
            if let (Some(&allocation), false) = (
                in_sync.and_then(|ids| ids.last()),
                cluster.node(node).present,
            ) {
                stores.shards.entry(copy.shard).or_default().push(OnDisk {
                    node,
                    allocation,
                    primary: true,
                });
            }
        }
        stores
    }

    /// Updates the contents from the cluster; call it after each round and after nodes changed.
    pub(crate) fn observe(&mut self, cluster: &Cluster) {
        self.present = cluster.nodes.iter().map(|node| node.present).collect();
        for group in cluster.routing.tables().iter().flat_map(IndexTable::groups) {
            self.observe_shard(group);
        }
    }

    /// Like [`Stores::observe`], for when no node has joined or left and only copies of these shards have
    /// changed. Returns the copies that were written or deleted.
    pub(crate) fn observe_shards(
        &mut self,
        cluster: &Cluster,
        shards: impl Iterator<Item = ShardId>,
    ) -> Vec<OnDiskChange> {
        let mut changes = Vec::new();
        for shard in shards {
            let table = cluster.routing.table(shard.index);
            let group = table.map_or(&[][..], |table| table.group(shard.shard));
            if group.is_empty() {
                continue;
            }
            let nodes = |stores: &Self| -> Vec<NodeIndex> {
                let known = stores.shards.get(&shard).into_iter().flatten();
                known.map(|known| known.node).collect()
            };
            let before = nodes(self);
            self.observe_shard(group);
            let after = nodes(self);
            let change = |node: &NodeIndex, added| OnDiskChange {
                shard,
                node: *node,
                added,
            };
            let gone = before.iter().filter(|node| !after.contains(node));
            changes.extend(gone.map(|node| change(node, false)));
            let new = after.iter().filter(|node| !before.contains(node));
            changes.extend(new.map(|node| change(node, true)));
        }
        changes
    }

    /// Whether a node has data of a shard.
    pub(crate) fn holds(&self, shard: ShardId, node: NodeIndex) -> bool {
        self.on_disk(shard).any(|known| known.node == node)
    }

    /// Whether any node that is present has data of a shard.
    pub(crate) fn has_any(&self, shard: ShardId) -> bool {
        self.on_disk(shard).next().is_some()
    }

    fn observe_shard(&mut self, group: &[ShardCopy]) {
        let on_disk = self.shards.entry(group[0].shard).or_default();
        for copy in group.iter().filter(|copy| copy.is_active()) {
            let (Some(node), Some(allocation)) = (copy.node, copy.allocation) else {
                continue;
            };
            let now = OnDisk {
                node,
                allocation,
                primary: copy.primary,
            };
            match on_disk.iter_mut().find(|known| known.node == node) {
                Some(known) => *known = now,
                None => on_disk.push(now),
            }
        }
        if group.iter().all(ShardCopy::is_started) {
            let present = &self.present;
            on_disk.retain(|known| {
                // A node that is away keeps its data until it comes back.
                !present.get(known.node.at()).copied().unwrap_or(false)
                    || group.iter().any(|copy| copy.node == Some(known.node))
            });
        }
    }

    /// Copies on disk on the nodes that are present.
    pub(super) fn on_disk(&self, shard: ShardId) -> impl Iterator<Item = &OnDisk> {
        self.shards
            .get(&shard)
            .into_iter()
            .flatten()
            .filter(|known| self.present.get(known.node.at()).copied().unwrap_or(false))
    }
}

/// A copy on a disk: node, allocation id, whether it was the primary.
#[cfg(test)]
pub(super) type Given = (u32, u64, bool);

#[cfg(test)]
impl Stores {
    /// The given copies of each shard, all on nodes that are present.
    pub(super) fn given(nodes: usize, given: &[(ShardId, &[Given])]) -> Self {
        let on_disk = |&(node, allocation, primary): &Given| OnDisk {
            node: NodeIndex(node),
            allocation: AllocationIndex(allocation),
            primary,
        };
        let shards = given.iter();
        Self {
            shards: shards
                .map(|(shard, copies)| (*shard, copies.iter().map(on_disk).collect()))
                .collect(),
            present: vec![true; nodes],
        }
    }
}
