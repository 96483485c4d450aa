//! The page-mapped translation layer.
//!
//! A host write goes to the next page of the host's frontier, and the page that held the data before
//! becomes invalid. When free blocks run out, garbage collection picks a victim, moves its valid
//! pages to the frontier for moved pages, and erases it.
//!
//! Memory: 4 bytes per logical page (logical to physical), 4 bytes and one bit per physical page
//! (physical to logical, and the valid bit), and some bytes per block.
//!
//! ```
//! use flash::ftl::{Collection, Ftl, PowerOn, Settings, Timeless};
//! use flash::geometry::Geometry;
//!
//! let geometry = Geometry::new(4096, 0.25, 64, 4096)?;
//! let settings = Settings { collection: Collection::Greedy, ..Settings::new(geometry) };
//! let mut drive = Ftl::new(settings, PowerOn::Filled, Timeless)?;
//! drive.write(&[7, 8, 7]);
//! assert_eq!(drive.discard_run(0, 8), 8);
//! drive.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod candidates;
mod check;
mod collect;
mod medium;
mod physical;
mod prefetch;
mod settings;
mod tables;
#[cfg(test)]
mod tests;

pub use block::{BlockState, BlockView};
pub use medium::{Counters, Medium, Timeless};
pub use settings::{Collection, Settings};

use crate::geometry::{Geometry, GeometryError};
use crate::random::Random;
use physical::NONE;
use tables::Tables;

/// The state of the drive before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerOn {
    /// Erased: nothing is mapped.
    Empty,
    /// Every logical page has been written once, in order.
    Filled,
    /// Filled, then every page overwritten `passes` times on average, at random.
    Aged {
        /// Overwrites per page, on average.
        passes: u32,
    },
}

/// A page-mapped translation layer over a [`Medium`].
#[derive(Debug, Clone)]
pub struct Ftl<M: Medium = Timeless> {
    tables: Tables,
    geometry: Geometry,
    medium: M,
}

impl<M: Medium> Ftl<M> {
    /// Creates a drive in the state described by `power_on`. Reaching that state is not reported to
    /// the medium and not counted; only the erase counts of the blocks show it.
    ///
    /// # Errors
    /// If the free reserve, the number of choices or the number of blocks is out of bounds.
    pub fn new(settings: Settings, power_on: PowerOn, medium: M) -> Result<Self, GeometryError> {
        let mut tables = Tables::new(&settings)?;
        #[allow(clippy::cast_possible_truncation)] // checked by Geometry::new
        let pages = settings.geometry.logical_pages as u32;
        let passes = match power_on {
            PowerOn::Empty => None,
            PowerOn::Filled => Some(0),
            PowerOn::Aged { passes } => Some(passes),
        };
        if let Some(passes) = passes {
            tables.write_run(0, pages, &mut Timeless);
            age(&mut tables, pages, passes, settings.seed);
        }
        tables.counters = Counters::default();
        Ok(Self {
            tables,
            geometry: settings.geometry,
            medium,
        })
    }

    /// Overwrites pages in the order given. Batches of a few hundred pages are fastest, because
    /// table entries are prefetched.
    ///
    /// # Panics
    /// If a page is beyond the end of the drive.
    pub fn write(&mut self, pages: &[u32]) {
        self.tables.write(pages, &mut self.medium);
    }

    /// Overwrites `pages` consecutive pages.
    ///
    /// # Panics
    /// Same as [`Ftl::write`].
    pub fn write_run(&mut self, first: u32, pages: u32) {
        self.within(first, pages);
        self.tables.write_run(first, pages, &mut self.medium);
    }

    /// Unmaps pages, and returns how many of them were mapped.
    ///
    /// # Panics
    /// If a page is beyond the end of the drive.
    pub fn discard(&mut self, pages: &[u32]) -> u64 {
        self.tables.discard(pages)
    }

    /// Unmaps `pages` consecutive pages, and returns how many of them were mapped.
    ///
    /// # Panics
    /// If a page is beyond the end of the drive.
    pub fn discard_run(&mut self, first: u32, pages: u32) -> u64 {
        self.within(first, pages);
        self.tables.discard_run(first, pages)
    }

    /// Work done since power-on or the last [`Ftl::reset_counters`].
    pub fn counters(&self) -> Counters {
        self.tables.counters
    }

    /// Resets the counters to zero.
    pub fn reset_counters(&mut self) {
        self.tables.counters = Counters::default();
    }

    /// The physical location of a logical page, which determines the die that a read goes to.
    ///
    /// # Panics
    /// If the page is beyond the end of the drive.
    pub fn place(&self, page: u32) -> Option<u32> {
        let entry = self.tables.l2p[page as usize];
        let (block, next) = (
            entry >> self.tables.page_bits,
            entry & ((1 << self.tables.page_bits) - 1),
        );
        (entry != NONE).then(|| self.tables.place(block, next))
    }

    /// The drive's geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The medium that programs and collections are reported to.
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// The medium that programs and collections are reported to.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Every block, including frontiers and the free reserve.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockView> {
        (0..self.tables.count.len()).map(|index| {
            #[allow(clippy::cast_possible_truncation)] // an index of a block
            let block = index as u32;
            BlockView {
                valid: self.tables.valid_pages(block),
                erased: self.tables.erased[index],
                state: self.tables.state[index],
            }
        })
    }

    /// Verifies the invariants of the tables: the mapping between logical and physical pages is one
    /// to one, no page is lost, counts and lists agree. Walks all tables.
    ///
    /// # Errors
    /// If an invariant is violated, with a description of it.
    pub fn check(&self) -> Result<(), String> {
        self.tables.check()
    }

    fn within(&self, first: u32, pages: u32) {
        let end = u64::from(first) + u64::from(pages);
        assert!(
            end <= self.geometry.logical_pages,
            "pages {first} to {end} of a drive with {} pages",
            self.geometry.logical_pages
        );
    }
}

/// Makes these random numbers differ from a workload's with the same seed: a drive aged by exactly
/// the overwrites that follow amplifies less.
const AGE: u64 = u64::from_be_bytes(*b"ftl::age");
/// Overwrites pages at random, `passes` times their number.
fn age(tables: &mut Tables, pages: u32, passes: u32, seed: u64) {
    let mut random = Random::new(seed ^ AGE);
    let mut batch = [0; 1024];
    for _ in 0..passes {
        let mut rest = pages as usize;
        while rest > 0 {
            let len = rest.min(batch.len());
            batch[..len].fill_with(|| random.below_u32(pages));
            tables.write(&batch[..len], &mut Timeless);
            rest -= len;
        }
    }
}
