//! What nodes have on disk, kept along with a simulated cluster.

use std::collections::HashMap;

use super::{Fetch, FileStore, StartedStore};
use crate::copy::{AllocationIndex, ShardCopy};
use crate::model::{Cluster, IndexTable, NodeIndex, ShardId};

/// A copy on a node's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OnDisk {
    node: NodeIndex,
    allocation: AllocationIndex,
    primary: bool,
}

/// What nodes have on disk, as far as it follows from where copies were active: it stays on a node that
/// leaves, and goes once all copies of the shard are started elsewhere (`IndicesStore`).
///
/// Nodes that are present answer at once, in the order in which copies came to them. All data counts
/// as the primary's, byte for byte, without a sync id.
#[derive(Debug, Clone, Default)]
pub struct Stores {
    shards: HashMap<ShardId, Vec<OnDisk>>,
    present: Vec<bool>,
}

impl Stores {
    /// What is on disk if all data ever written is that of the active copies.
    pub fn of(cluster: &Cluster) -> Self {
        let mut stores = Self::default();
        stores.observe(cluster);
        stores
    }

    /// Takes note of the cluster as it is now; to be called after each round, and after nodes changed.
    pub fn observe(&mut self, cluster: &Cluster) {
        self.present = cluster.nodes.iter().map(|node| node.present).collect();
        for group in cluster.routing.tables().iter().flat_map(IndexTable::groups) {
            self.observe_shard(group);
        }
    }

    /// As [`Stores::observe`], where no node came or went and only copies of these shards have changed.
    pub fn observe_shards(&mut self, cluster: &Cluster, shards: impl Iterator<Item = ShardId>) {
        for shard in shards {
            let group = cluster
                .routing
                .table(shard.index)
                .map(|table| table.group(shard.shard));
            if let Some(group) = group.filter(|group| !group.is_empty()) {
                self.observe_shard(group);
            }
        }
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
                // A node that is away keeps its data until it comes back and is told.
                !present.get(known.node.at()).copied().unwrap_or(false)
                    || group.iter().any(|copy| copy.node == Some(known.node))
            });
        }
    }

    fn on_disk(&self, shard: ShardId) -> impl Iterator<Item = &OnDisk> {
        self.shards
            .get(&shard)
            .into_iter()
            .flatten()
            .filter(|known| self.present.get(known.node.at()).copied().unwrap_or(false))
    }
}

impl Fetch for Stores {
    fn started(&self, shard: ShardId) -> Option<Vec<StartedStore>> {
        let stores = self.on_disk(shard).map(|known| StartedStore {
            node: known.node,
            allocation: Some(known.allocation),
            primary: known.primary,
            error: None,
        });
        Some(stores.collect())
    }

    fn files(&self, shard: ShardId) -> Option<Vec<FileStore>> {
        let stores = self.on_disk(shard).map(|known| FileStore {
            node: known.node,
            is_empty: false,
            sync_id: None,
            matching_bytes: 1,
        });
        Some(stores.collect())
    }
}
