//! Walks all copies of a node for each query, as 6.8 to 7.5 do (`RoutingNode.shardsWithState`).

use super::sums::{Disk, Sums, arriving_bytes, leaving_path};
use crate::deciders::{Rules, expected_size_bytes};
use crate::model::{Cluster, IndexIndex, NodeIndex, PathIndex};
use crate::nodes::RoutingNodes;

/// The stateless engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan;

impl Sums for Scan {
    fn relocating_bytes(
        &self,
        cluster: &Cluster,
        nodes: &RoutingNodes,
        node: NodeIndex,
        disk: Disk,
        path: Option<PathIndex>,
    ) -> i64 {
        let Some(info) = &cluster.info else {
            return 0;
        };
        let rules = Rules::of(cluster);
        let mut bytes = 0_i64;
        for (_, copy) in nodes.copies_on(node) {
            if copy.is_initializing() {
                let more = arriving_bytes(rules, cluster, info, copy, path);
                bytes = bytes.wrapping_add(more);
            }
        }
        if disk == Disk::Least {
            for (handle, copy) in nodes.copies_on(node) {
                if copy.is_relocating() {
                    let on = leaving_path(info, nodes, handle);
                    if on.is_some() && on == path {
                        bytes = bytes.wrapping_sub(expected_size_bytes(cluster, copy, 0));
                    }
                }
            }
        }
        bytes
    }

    fn owned(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        let owned = nodes
            .copies_on(node)
            .filter(|(_, copy)| !copy.is_relocating());
        u32::try_from(owned.count()).unwrap_or(u32::MAX)
    }

    fn owned_of_index(
        &self,
        _: &Cluster,
        nodes: &RoutingNodes,
        node: NodeIndex,
        index: IndexIndex,
    ) -> u32 {
        let owned = nodes
            .copies_on(node)
            .filter(|(_, copy)| copy.shard.index == index && !copy.is_relocating());
        u32::try_from(owned.count()).unwrap_or(u32::MAX)
    }

    fn initial_primaries(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        let recovering = nodes.copies_on(node).filter(|(_, copy)| {
            copy.primary && copy.is_initializing() && copy.relocating.is_none()
        });
        u32::try_from(recovering.count()).unwrap_or(u32::MAX)
    }
}
