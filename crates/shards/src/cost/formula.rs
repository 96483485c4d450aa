//! The formula of the cost model.
//!
//! `t = a + b x + b' max(0, x - 6,000) + d i m + (c near + c' far) n^2 / m`, with n copies of s shards in
//! the routing table, x = (n + s) / 2, i indices and m data nodes:
//! - `a + b x`: routing nodes and tables are rebuilt from all copies; each copy is an object, and so is
//!   each shard's table of copies. Objects beyond [`COPIES_NEAR`] do not fit into the processor's
//!   second-level cache and cost more (`b'`). Without replicas x is n.
//! - `d i m`: for each index the balancer weighs each node and queries the deciders about it.
//! - `n^2 / m`, up to 7.5: for each copy, its node's list of n/m copies is walked. A step of the walk
//!   costs `c` if the next copy is near in memory and `c'` if it is not: [`far_share`].

/// Objects (copies and their shards' tables) that fit into the second-level cache (1 MiB).
const COPIES_NEAR: f64 = 6_000.0;
/// Length of the longest node list that stays in the cache from one walk to the next; a list twice as
/// long is evicted completely.
const LIST_NEAR: f64 = 1_500.0;
/// Lists are built in index order, so with this many nodes the next copy of the same node is a memory
/// page (4 KiB) away and is not prefetched.
const NODES_FAR: f64 = 60.0;

/// Inputs of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Copies in the routing table.
    pub copies: u64,
    /// Shards in the routing table; a primary and its replicas count as one.
    pub shards: u64,
    /// Indices in the routing table.
    pub indices: u64,
    /// Data nodes.
    pub nodes: u32,
}

/// Coefficients for one step of one version.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fit {
    /// Milliseconds, independent of size.
    pub fixed_ms: f64,
    /// Milliseconds per thousand objects, where copies and shards count half each.
    pub per_thousand_ms: f64,
    /// Additional milliseconds per thousand objects beyond the cache size.
    pub per_thousand_far_ms: f64,
    /// Milliseconds per thousand pairs of an index and a node.
    pub per_thousand_pairs_ms: f64,
    /// Milliseconds per million of copies squared over nodes, for lists near in memory.
    pub walk_ms: f64,
    /// The same for lists that are not near in memory.
    pub walk_far_ms: f64,
}

/// Number of coefficients.
pub const TERMS: usize = 6;

impl Fit {
    /// The fit with these coefficients, in the order of the formula.
    pub fn of(coefficients: [f64; TERMS]) -> Self {
        let [fixed, near, far, pairs, walk, walk_far] = coefficients;
        Self {
            fixed_ms: fixed,
            per_thousand_ms: near,
            per_thousand_far_ms: far,
            per_thousand_pairs_ms: pairs,
            walk_ms: walk,
            walk_far_ms: walk_far,
        }
    }

    /// All coefficients, in the order of the formula.
    pub fn coefficients(&self) -> [f64; TERMS] {
        [
            self.fixed_ms,
            self.per_thousand_ms,
            self.per_thousand_far_ms,
            self.per_thousand_pairs_ms,
            self.walk_ms,
            self.walk_far_ms,
        ]
    }

    /// The coefficients without the walk.
    #[must_use]
    pub(crate) fn without_walk(&self) -> Self {
        Self {
            walk_ms: 0.0,
            walk_far_ms: 0.0,
            ..*self
        }
    }

    /// Predicted time for a cluster of this size, milliseconds.
    pub fn ms(&self, size: Size) -> f64 {
        let terms = terms(size);
        let products = terms.iter().zip(self.coefficients());
        products.map(|(term, coefficient)| term * coefficient).sum()
    }
}

/// Share of a walk's steps whose next copy is not near in memory, from 0 to 1: none for short lists on
/// few nodes, all if a list is twice [`LIST_NEAR`] long or copies are a page apart ([`NODES_FAR`]).
fn far_share(copies: f64, nodes: f64) -> f64 {
    let long = (copies / nodes / LIST_NEAR - 1.0).clamp(0.0, 1.0);
    let apart = (nodes / NODES_FAR).min(1.0);
    1.0 - (1.0 - long) * (1.0 - apart)
}

/// Factors that the coefficients are multiplied by.
#[expect(
    clippy::cast_precision_loss,
    reason = "copies and indices are far below 2^53"
)]
pub fn terms(size: Size) -> [f64; TERMS] {
    let (copies, indices) = (size.copies as f64, size.indices as f64);
    let nodes = f64::from(size.nodes.max(1));
    // With one data node the disk decider says yes before it sums anything up.
    let walk = if size.nodes < 2 {
        0.0
    } else {
        copies / 1e3 * (copies / 1e3) / nodes
    };
    let far = far_share(copies, nodes);
    let objects = f64::midpoint(copies, size.shards as f64);
    [
        1.0,
        objects / 1e3,
        (objects - COPIES_NEAR).max(0.0) / 1e3,
        indices * nodes / 1e3,
        walk * (1.0 - far),
        walk * far,
    ]
}

#[cfg(test)]
mod tests;
