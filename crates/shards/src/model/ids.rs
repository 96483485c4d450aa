//! Indices that stand for nodes, indices and shards.

/// A node, by its position in [`Cluster::nodes`](super::Cluster::nodes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(pub u32);

impl NodeIndex {
    /// The position as a `usize`.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// An index, by its position in [`Cluster::indices`](super::Cluster::indices).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexIndex(pub u32);

impl IndexIndex {
    /// The position as a `usize`.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A shard of an index; all its copies share it (`ShardId`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShardId {
    /// The index.
    pub index: IndexIndex,
    /// The shard's number within the index, from 0.
    pub shard: u32,
}
