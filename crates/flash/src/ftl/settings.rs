//! Settings of a translation layer.

use crate::geometry::Geometry;
use std::fmt;
use std::str::FromStr;
use units::ValueError;

/// Victim selection policy of garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// The block with the fewest valid pages, exact rather than sampled. Ties go to the block that
    /// reached that number first.
    Greedy,
    /// The block that was filled first.
    Fifo,
    /// The best of this many blocks drawn at random, with replacement.
    DChoices(u32),
}

/// Writes `greedy`, `fifo` or `d-choices:10`.
impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Greedy => f.write_str("greedy"),
            Self::Fifo => f.write_str("fifo"),
            Self::DChoices(choices) => write!(f, "d-choices:{choices}"),
        }
    }
}

/// Parses the format that [`Display`](fmt::Display) writes.
impl FromStr for Collection {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.trim().split_once(':') {
            None if text.trim() == "greedy" => Ok(Self::Greedy),
            None if text.trim() == "fifo" => Ok(Self::Fifo),
            Some(("d-choices", number)) => match number.parse() {
                Ok(choices @ 1..=1_000_000) => Ok(Self::DChoices(choices)),
                _ => Err(ValueError::new(
                    "d-choices:D with 1 to 1000000 choices",
                    text,
                )),
            },
            _ => Err(ValueError::new(
                "greedy, fifo or d-choices:D (d-choices:10)",
                text,
            )),
        }
    }
}

/// Settings of a translation layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The geometry.
    pub geometry: Geometry,
    /// The collection policy.
    pub collection: Collection,
    /// Whether moved pages have a frontier of their own. If not, they share the host's.
    pub separate_moved: bool,
    /// Blocks kept free, at least 1: collection writes to one before it erases the victim.
    pub free_blocks_min: u32,
    /// Seed for all random numbers.
    pub seed: u64,
}

impl Settings {
    /// The drive most models assume: greedy, separate frontier for moved pages, two free blocks,
    /// seed 1.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            collection: Collection::Greedy,
            separate_moved: true,
            free_blocks_min: 2,
            seed: 1,
        }
    }
}
