//! What is compared, and on what.

use crate::place::Place;
use crate::variant::Variant;
use std::path::PathBuf;
use std::time::Duration;

/// Queries that warm up, and queries that are measured, as in the article.
pub const WARM_UP_QUERIES: u64 = 500;
/// See [`WARM_UP_QUERIES`].
pub const QUERIES: u64 = 1_000;

/// Heap of the server.
pub(super) const HEAP_BYTES: u64 = 512 << 20;

/// What is compared, and on what.
#[derive(Debug)]
pub struct Plan {
    /// The variants; the others are compared with the first.
    pub variants: Vec<Variant>,
    /// Runs of each.
    pub repeats: u32,
    /// Documents written in each run.
    pub documents: u64,
    /// Queries that warm up: [`WARM_UP_QUERIES`].
    pub warm_up_queries: u64,
    /// Queries that are measured: [`QUERIES`].
    pub queries: u64,
    /// Time between both: a minute in the article.
    pub pause: Duration,
    /// Whether each variant gets a copy of the same segments, rather than writing its own.
    pub same_segments: bool,
    /// Whether the server gets less memory than its index takes, and queries read all of it.
    pub larger_than_memory: bool,
    /// Where.
    pub place: Place,
    /// The folder for the trials: `INTO/VARIANT/ingest/...`.
    pub into: PathBuf,
}

impl Plan {
    /// The runs in order: A B C, C B A, and so on, so that a drift that is steady affects all alike after an even number
    /// of repeats, and nearly so after an odd one.
    pub fn order(&self) -> Vec<Variant> {
        (0..self.repeats)
            .flat_map(|repeat| {
                let mut variants = self.variants.clone();
                if repeat % 2 == 1 {
                    variants.reverse();
                }
                variants
            })
            .collect()
    }
}
