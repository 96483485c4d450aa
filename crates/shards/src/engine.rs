//! What is asked of a node's copies: counts, and bytes under way. The answers are one, their cost is not.
//!
//! From 6.8 to 7.5 the server walks all copies of a node each time it is asked ([`Scan`]), which makes a
//! round quadratic in the copies of a node. From 7.6 on it keeps lists by state ([`Incremental`], which
//! keeps the sums as well). Both stand behind [`Sums`] and answer alike.

mod incremental;
mod scan;
mod sums;

pub use incremental::Incremental;
pub use scan::Scan;
pub use sums::{Disk, Sums};

use crate::model::{Cluster, IndexIndex, NodeIndex, PathIndex};
use crate::nodes::RoutingNodes;

/// One engine or the other.
#[derive(Debug)]
pub enum Engine {
    /// Walks all copies of the node, as 6.8 to 7.5 do.
    Scan(Scan),
    /// Keeps counts and sums, and brings them up to date by what has changed.
    Incremental(Incremental),
}

impl Engine {
    /// The engine that walks.
    #[must_use]
    pub fn scan() -> Engine {
        Engine::Scan(Scan)
    }

    /// The engine that keeps. Counts are made when first asked for.
    #[must_use]
    pub fn incremental() -> Engine {
        Engine::Incremental(Incremental::default())
    }
}

impl Engine {
    /// Whether a round may be cut short by a proof that nothing is to do, instead of asking copy by copy
    /// and index by index. The outcome is the same.
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
