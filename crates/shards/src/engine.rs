//! Engines that answer queries about a node's copies: counts and bytes in transit. Their results are
//! identical, their costs are not.
//!
//! From 6.8 to 7.5 the server walks all copies of a node for each query ([`Scan`]), which makes a round
//! quadratic in the copies per node. From 7.6 on it keeps lists by state ([`Incremental`], which also
//! keeps the sums). Both implement [`Sums`].

mod incremental;
mod scan;
mod sums;

pub use incremental::Incremental;
pub use scan::Scan;
pub use sums::{Disk, Sums};

use crate::model::{Cluster, IndexIndex, NodeIndex, PathIndex};
use crate::nodes::RoutingNodes;

/// One of the two engines.
#[derive(Debug)]
pub enum Engine {
    /// Walks all copies of the node for each query, as 6.8 to 7.5 do.
    Scan(Scan),
    /// Maintains counts and sums incrementally.
    Incremental(Incremental),
}

impl Engine {
    /// Creates the engine that walks all copies.
    #[must_use]
    pub fn scan() -> Engine {
        Engine::Scan(Scan)
    }

    /// Creates the incremental engine. Counts are computed on first use.
    #[must_use]
    pub fn incremental() -> Engine {
        Engine::Incremental(Incremental::default())
    }
}

impl Engine {
    /// Whether a round may be cut short by a proof that there is nothing to do, instead of checking copy
    /// by copy and index by index. The result is the same.
    pub(crate) fn takes_proofs(&self) -> bool {
        matches!(self, Engine::Incremental(_))
    }
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::incremental()
    }
}

impl Sums for Engine {
    fn relocating_bytes(
        &self,
        cluster: &Cluster,
        nodes: &RoutingNodes,
        node: NodeIndex,
        disk: Disk,
        path: Option<PathIndex>,
    ) -> i64 {
        match self {
            Engine::Scan(scan) => scan.relocating_bytes(cluster, nodes, node, disk, path),
            Engine::Incremental(kept) => kept.relocating_bytes(cluster, nodes, node, disk, path),
        }
    }

    fn owned(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        match self {
            Engine::Scan(scan) => scan.owned(nodes, node),
            Engine::Incremental(kept) => kept.owned(nodes, node),
        }
    }

    fn owned_of_index(
        &self,
        cluster: &Cluster,
        nodes: &RoutingNodes,
        node: NodeIndex,
        index: IndexIndex,
    ) -> u32 {
        match self {
            Engine::Scan(scan) => scan.owned_of_index(cluster, nodes, node, index),
            Engine::Incremental(kept) => kept.owned_of_index(cluster, nodes, node, index),
        }
    }

    fn initial_primaries(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        match self {
            Engine::Scan(scan) => scan.initial_primaries(nodes, node),
            Engine::Incremental(kept) => kept.initial_primaries(nodes, node),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
