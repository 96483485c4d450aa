//! What a node that joins sets in motion on a cluster of which only the size is known.

use crate::copy::{AllocationIndex, ShardCopy};
use crate::gateway::Stores;
use crate::model::{
    Cluster, Index, IndexIndex, IndexTable, Node, NodeIndex, Product, Roles, RoutingTable, ShardId,
    Version,
};
use crate::nodes::RoutingError;
use crate::what_if::{self, ChangeError, Course, NewNode};

/// Shards of the made-up cluster at most: the moves grow with the shards, and a check must be short.
const SHARDS_MAX: u32 = 2_000;
/// Its nodes at most.
const NODES_MAX: u32 = 50;
/// Rounds after which a cluster that has not come to rest counts as one that never does.
const ROUNDS_MAX: u32 = 2_000;

/// Size of a cluster, and what limits its relocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joining {
    /// The product.
    pub product: Product,
    /// The version of its master.
    pub version: Version,
    /// Data nodes before the new one joins.
    pub data_nodes: u32,
    /// Indices; each has equally many shards.
    pub indices: u32,
    /// Shards of all indices, primaries and replicas alike.
    pub shards: u32,
    /// `cluster.routing.allocation.cluster_concurrent_rebalance`; -1 for no limit.
    pub cluster_concurrent_rebalance: i32,
    /// `cluster.routing.allocation.node_concurrent_recoveries`.
    pub node_concurrent_recoveries: i32,
}

impl Joining {
    /// The same cluster, made so small that its course is computed in a moment.
    #[must_use]
    pub fn capped(self) -> Self {
        let shards = self.shards.min(SHARDS_MAX);
        Self {
            data_nodes: self.data_nodes.clamp(1, NODES_MAX),
            indices: self.indices.clamp(1, shards.max(1)),
            shards,
            ..self
        }
    }

    /// The course after a node has joined, with all recoveries of a round ending together.
    ///
    /// # Errors
    /// None is expected: the table is sound
    pub fn course(self) -> Result<Course, RoutingError> {
        let mut cluster = self.cluster();
        let mut stores = Stores::of(&cluster);
        let new = NewNode {
            name: format!("node-{}", self.data_nodes),
            id: None,
            attributes: Vec::new(),
            roles: Roles::default(),
            disk_bytes: None,
        };
        if let Err(ChangeError::Routing(error)) =
            what_if::add_node(&mut cluster, &new, self.version)
        {
            return Err(error);
        }
        what_if::run(&mut cluster, None, &mut stores, 0, ROUNDS_MAX, &mut |_| ())
    }

    /// Started shards on the nodes in turn.
    fn cluster(self) -> Cluster {
        let node = |at: u32| Node::new(format!("node-{at}"), self.version);
        let mut cluster = Cluster {
            product: self.product,
            version: self.version,
            nodes: (0..self.data_nodes).map(node).collect(),
            data_nodes: (0..self.data_nodes).map(NodeIndex).collect(),
            ..Cluster::default()
        };
        let settings = &mut cluster.settings;
        settings.cluster_concurrent_rebalance = self.cluster_concurrent_rebalance;
        settings.node_concurrent_incoming_recoveries = self.node_concurrent_recoveries;
        settings.node_concurrent_outgoing_recoveries = self.node_concurrent_recoveries;
        let mut tables = Vec::new();
        for number in 0..self.indices {
            let index = IndexIndex(number);
            // The rest of the division goes to the first ones.
            let shards =
                self.shards / self.indices + u32::from(number < self.shards % self.indices);
            if shards == 0 {
                break;
            }
            let mut copies = Vec::new();
            let mut in_sync = Vec::new();
            for shard in 0..shards {
                let allocation = AllocationIndex(cluster.next_allocation);
                let turn = u32::try_from(cluster.next_allocation - 1).unwrap_or(0);
                cluster.next_allocation += 1;
                in_sync.push(vec![allocation]);
                let node = NodeIndex(turn % self.data_nodes);
                let shard = ShardId { index, shard };
                copies.push(ShardCopy::started(shard, true, node, allocation));
            }
            cluster.indices.push(Index {
                uuid: format!("uuid-{number}"),
                in_sync,
                ..Index::new(format!("index-{number}"), shards, 0)
            });
            tables.push(IndexTable { index, copies });
        }
        cluster.routing = RoutingTable::new(tables);
        cluster
    }
}

#[cfg(test)]
mod tests {
    use super::Joining;
    use crate::model::{Product, Version};

    const TWELVE: Joining = Joining {
        product: Product::Elasticsearch,
        version: Version::release(7, 4, 0),
        data_nodes: 12,
        indices: 30,
        shards: 360,
        cluster_concurrent_rebalance: 2,
        node_concurrent_recoveries: 2,
    };

    /// The servers' own code was measured with 37 to 49 moves where all relocations of a round end
    /// together or most of them do.
    #[test]
    fn a_node_takes_its_share_and_the_cluster_rests() {
        let course = TWELVE.course().unwrap();
        assert!(course.quiet && course.circle_reroutes.is_none());
        assert!((27..=49).contains(&course.moved), "{course:?}");
        assert!(
            (27..=course.moved).contains(&course.moves_needed),
            "{course:?}"
        );
    }

    /// Moves and rounds as measured with the servers' own code, all relocations of a round ending together.
    #[test]
    fn more_rebalances_at_once_lead_astray_where_weights_are_stale() {
        let course = |product, version, cluster_concurrent_rebalance| {
            let joining = Joining {
                product,
                version,
                cluster_concurrent_rebalance,
                ..TWELVE
            };
            joining.course().unwrap()
        };
        for version in [Version::release(7, 4, 0), Version::release(8, 4, 3)] {
            let course = course(Product::Elasticsearch, version, 4);
            assert!(course.quiet, "{version}: {course:?}");
            // 63 to 71 moves in 24 to 26 rounds there; the order of a map decides.
            assert!((60..=75).contains(&course.moved), "{version}: {course:?}");
            assert!((22..=28).contains(&course.rounds), "{version}: {course:?}");
        }
        for (product, version) in [
            (Product::Elasticsearch, Version::release(7, 7, 1)),
            (Product::Elasticsearch, Version::release(7, 17, 28)),
            (Product::Elasticsearch, Version::release(8, 3, 3)),
            (Product::OpenSearch, Version::release(1, 3, 20)),
            (Product::OpenSearch, Version::release(2, 19, 1)),
        ] {
            let one = course(product, version, 1);
            assert_eq!((one.moved, one.quiet), (27, true), "{version}");
            let two = course(product, version, 2);
            assert!(
                (27..=45).contains(&two.moved) && two.quiet,
                "{version}: {two:?}"
            );
            for many in [4, 8, -1] {
                let course = course(product, version, many);
                assert!(!course.quiet, "{version}: {course:?}");
                assert!(course.circle_reroutes.is_some(), "{version}: {course:?}");
            }
        }
    }

    #[test]
    fn small_sizes_do_no_harm() {
        for (data_nodes, indices, shards) in
            [(0, 0, 0), (1, 1, 1), (3, 7, 5), (u32::MAX, 1, u32::MAX)]
        {
            let joining = Joining {
                data_nodes,
                indices,
                shards,
                ..TWELVE
            }
            .capped();
            let course = joining.course().unwrap();
            assert!(course.quiet, "{joining:?}: {course:?}");
        }
    }
}
