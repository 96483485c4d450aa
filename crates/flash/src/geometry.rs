//! Page and block counts, and over-provisioning.

use thiserror::Error;

/// The shape of a drive.
///
/// Over-provisioning is `(physical - logical) / logical`, where *physical* counts the pages of data
/// blocks only: it excludes open frontiers and the blocks kept free for garbage collection (the
/// convention of Desnoyers 2012). Vendors who advertise "7 %" or "28 %" count everything, so a real
/// drive has slightly less than advertised; at real sizes the difference is below 0.1 %.
///
/// A block is the unit of erasure: on real drives a superblock, one erase block of each die.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Pages the host can address; at most 2^32 - 2.
    pub logical_pages: u64,
    /// Bytes per page.
    pub page_bytes: u32,
    /// Pages per block; at most 65,535, because counts of valid pages are 16 bits wide.
    pub pages_per_block: u32,
    /// Blocks that hold data. Frontiers and the free reserve are extra.
    pub data_blocks: u32,
}

/// An invalid drive geometry.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GeometryError {
    /// A number out of bounds.
    #[error("{what} is {found}, expected {expected}")]
    OutOfBounds {
        /// The quantity, such as `pages per block`.
        what: &'static str,
        /// The value given.
        found: String,
        /// The allowed range, in words.
        expected: String,
    },
}

impl GeometryError {
    /// An [`Self::OutOfBounds`] error for `what`, given as `found`.
    pub(crate) fn out_of_bounds(what: &'static str, found: &dyn ToString, expected: &str) -> Self {
        Self::OutOfBounds {
            what,
            found: found.to_string(),
            expected: expected.to_owned(),
        }
    }
}

/// The largest number of pages the host can address: page numbers are 32 bits wide, and two of them
/// are reserved.
const LOGICAL_PAGES_MAX: u64 = u32::MAX as u64 - 1;
/// Counts of valid pages are 16 bits wide.
const PAGES_PER_BLOCK_MAX: u32 = u16::MAX as u32;

impl Geometry {
    /// Creates a drive of `logical_pages` with at least `over_provisioning` (0.07 is 7 %) spare
    /// area. The number of data blocks is rounded up; [`Geometry::over_provisioning`] returns the
    /// resulting value.
    ///
    /// # Errors
    /// If there are no pages or no spare area, or more pages than the tables can hold.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // below 2^53, positive, and bounded before the cast
    pub fn new(
        logical_pages: u64,
        over_provisioning: f64,
        pages_per_block: u32,
        page_bytes: u32,
    ) -> Result<Self, GeometryError> {
        let error = GeometryError::out_of_bounds;
        if !(1..=LOGICAL_PAGES_MAX).contains(&logical_pages) {
            return Err(error(
                "the number of logical pages",
                &logical_pages,
                "1 to 4,294,967,294",
            ));
        }
        if !(1..=PAGES_PER_BLOCK_MAX).contains(&pages_per_block) {
            return Err(error("pages per block", &pages_per_block, "1 to 65,535"));
        }
        if page_bytes == 0 {
            return Err(error("bytes per page", &page_bytes, "1 or more"));
        }
        if !(over_provisioning > 0.0 && over_provisioning.is_finite()) {
            return Err(error(
                "over-provisioning",
                &over_provisioning,
                "a share above 0, such as 0.07",
            ));
        }
        // 0.07 has no exact binary form: ignore an excess of a millionth of a page over a whole
        // block.
        let physical = logical_pages as f64 * (1.0 + over_provisioning) - 1e-6;
        let blocks = (physical / f64::from(pages_per_block)).ceil();
        let blocks_max = 1u64 << (u32::BITS - page_bits(pages_per_block));
        if blocks >= blocks_max as f64 {
            return Err(error(
                "the number of blocks",
                &blocks,
                &format!(
                    "fewer than {blocks_max} of {pages_per_block} pages: logical and spare pages have 32-bit \
                     numbers together"
                ),
            ));
        }
        let geometry = Self {
            logical_pages,
            page_bytes,
            pages_per_block,
            data_blocks: blocks as u32,
        };
        if geometry.physical_pages() <= logical_pages {
            return Err(error(
                "over-provisioning",
                &over_provisioning,
                "at least one spare page",
            ));
        }
        Ok(geometry)
    }

    /// Pages in data blocks, without frontiers and the free reserve.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.data_blocks) * u64::from(self.pages_per_block)
    }

    /// The exact over-provisioning, `(physical - logical) / logical`.
    #[allow(clippy::cast_precision_loss)] // below 2^53
    pub fn over_provisioning(&self) -> f64 {
        (self.physical_pages() as f64 - self.logical_pages as f64) / self.logical_pages as f64
    }
}

/// Number of low bits of a physical page number that hold the page within its block. Blocks start
/// at a power of two, and at whole words of the bitmap.
pub(crate) fn page_bits(pages_per_block: u32) -> u32 {
    pages_per_block.next_power_of_two().trailing_zeros().max(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_blocks_are_rounded_up() {
        let geometry = Geometry::new(1 << 20, 0.25, 256, 4096).unwrap();
        assert_eq!(geometry.data_blocks, 5120);
        assert!((geometry.over_provisioning() - 0.25).abs() < 1e-12);
        // 107 pages need 11 blocks of ten.
        let geometry = Geometry::new(100, 0.07, 10, 4096).unwrap();
        assert_eq!(geometry.data_blocks, 11);
        assert!((geometry.over_provisioning() - 0.10).abs() < 1e-12);
        // 0.07 * 100 is 7.000000000000001, which must not add a block.
        assert_eq!(Geometry::new(100, 0.07, 107, 1).unwrap().data_blocks, 1);
    }

    #[test]
    fn errors_name_the_limit() {
        let error = Geometry::new(u64::from(u32::MAX) - 1, 0.07, 256, 4096).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("is 17951622, expected fewer than 16777216 of 256 pages"),
            "{error}"
        );
    }

    #[test]
    fn impossible_geometries_are_rejected() {
        for (logical, spare, per_block, bytes) in [
            (0, 0.1, 256, 4096),
            (u64::from(u32::MAX), 0.1, 256, 4096),
            (1000, 0.0, 10, 4096),
            (1000, -0.1, 256, 4096),
            (1000, f64::NAN, 256, 4096),
            (1000, f64::INFINITY, 256, 4096),
            (1000, 1e300, 256, 4096),
            (1000, 1e-12, 10, 4096),
            (1000, 0.1, 0, 4096),
            (1000, 0.1, 65_536, 4096),
            (1000, 0.1, 256, 0),
            (u64::from(u32::MAX) - 1, 0.1, 256, 4096),
        ] {
            let geometry = Geometry::new(logical, spare, per_block, bytes);
            assert!(geometry.is_err(), "{geometry:?}");
        }
    }
}
