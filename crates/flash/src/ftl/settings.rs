//! Settings of a translation layer.

use crate::geometry::Geometry;

/// The policy that chooses the victim of garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// The block with the fewest valid pages, exact rather than sampled. Among equals, the one that reached
    /// that number first.
    Greedy,
    /// The block that was filled first.
    Fifo,
    /// The best of so many blocks drawn at random, with replacement.
    DChoices(u32),
}

/// Settings of a translation layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The geometry.
    pub geometry: Geometry,
    /// The collection policy.
    pub collection: Collection,
    /// Streams of the host, each with a frontier of its own: 1 to 8.
    pub streams: u8,
    /// Moved pages have frontiers of their own (by the stream that they came from, where
    /// there are several); without it they share the host's.
    pub separate_moved: bool,
    /// Blocks that are kept free, at least 1: collection writes to one before it erases the victim.
    pub free_blocks_min: u32,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Settings {
    /// The drive of most models: greedy, one stream, moved pages apart, two blocks free, seed 1.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            collection: Collection::Greedy,
            streams: 1,
            separate_moved: true,
            free_blocks_min: 2,
            seed: 1,
        }
    }
}
