//! Numeric ids of nodes, indices and shards.

/// A node, by position in [`Cluster::nodes`](super::Cluster::nodes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(pub u32);

impl NodeIndex {
    /// The position as a `usize`.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// An index, by position in [`Cluster::indices`](super::Cluster::indices).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexIndex(pub u32);

impl IndexIndex {
    /// The position as a `usize`.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A shard of an index, shared by all its copies (`ShardId`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShardId {
    /// The index.
    pub index: IndexIndex,
    /// Shard number within the index, from 0.
    pub shard: u32,
}
