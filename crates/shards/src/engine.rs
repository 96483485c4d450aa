//! What is asked of a node's copies: counts, and bytes under way. The answers are one, their cost is not.
//!
//! From 6.8 to 7.5 the server walks all copies of a node each time it is asked ([`Scan`]), which makes a
//! round quadratic in the copies of a node. From 7.6 on it keeps lists by state ([`Incremental`], which
//! keeps the sums as well). Both stand behind [`Sums`] and answer alike.

mod incremental;
mod scan;

pub use incremental::Incremental;
pub use scan::Scan;

use crate::model::{ClusterInfo, IndexIndex, NodeIndex, PathIndex};
use crate::nodes::{CopyIndex, RoutingNodes};
use crate::service::Allocation;

/// Which of a node's disks is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The path with the least space: what counts for copies that are there.
    Least,
    /// The path with the most space: what counts for copies that are to come.
    Most,
}

/// What deciders ask of a node's copies.
pub trait Sums {
    /// Bytes that relocations are going to take from a disk (`sizeOfRelocatingShards`): copies that are on
    /// their way to the node, those on another path aside; for [`Disk::Least`] less the copies that leave
    /// the path. Copies of unknown size count as nothing.
    fn relocating_bytes(
        &self,
        round: &Allocation<'_>,
        node: NodeIndex,
        disk: Disk,
        path: Option<PathIndex>,
    ) -> i64;

    /// Copies on the node that are not moving away.
    fn owned(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32;

    /// Copies of one index on the node that are not moving away.
    fn owned_of_index(&self, round: &Allocation<'_>, node: NodeIndex, index: IndexIndex) -> u32;

    /// Primaries that recover on the node, from no other.
    fn initial_primaries(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32;
}

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
        round: &Allocation<'_>,
        node: NodeIndex,
        disk: Disk,
        path: Option<PathIndex>,
    ) -> i64 {
        match self {
            Engine::Scan(scan) => scan.relocating_bytes(round, node, disk, path),
            Engine::Incremental(kept) => kept.relocating_bytes(round, node, disk, path),
        }
    }

    fn owned(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        match self {
            Engine::Scan(scan) => scan.owned(nodes, node),
            Engine::Incremental(kept) => kept.owned(nodes, node),
        }
    }

    fn owned_of_index(&self, round: &Allocation<'_>, node: NodeIndex, index: IndexIndex) -> u32 {
        match self {
            Engine::Scan(scan) => scan.owned_of_index(round, node, index),
            Engine::Incremental(kept) => kept.owned_of_index(round, node, index),
        }
    }

    fn initial_primaries(&self, nodes: &RoutingNodes, node: NodeIndex) -> u32 {
        match self {
            Engine::Scan(scan) => scan.initial_primaries(nodes, node),
            Engine::Incremental(kept) => kept.initial_primaries(nodes, node),
        }
    }
}

/// On which path a copy that leaves lies: as it is, or as it was before it began to move.
fn leaving_path(info: &ClusterInfo, nodes: &RoutingNodes, handle: CopyIndex) -> Option<PathIndex> {
    let copy = nodes.copy(handle);
    info.data_path(copy)
        .or_else(|| info.data_path(&copy.cancel_relocation()))
}

#[cfg(test)]
pub(crate) mod tests;
