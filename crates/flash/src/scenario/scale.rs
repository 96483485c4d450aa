//! Scaling: simulating drives of terabytes in seconds.

use super::DriveSpec;
use super::error::{ScenarioError, out_of_bounds};
use crate::geometry::Geometry;
use crate::time::Timing;

/// Minimum number of data blocks of a simulated drive: with fewer, the frontiers and the reserve,
/// which theory does not count, become a significant part of the drive.
const BLOCKS_MIN: u64 = 256;
/// Blocks are not scaled below this number of pages: with fewer, greedy collection finds emptier
/// victims than on the real drive (Desnoyers 2012: 2.598 instead of 2.668 at 64 pages and 25 %
/// over-provisioning).
const BLOCK_PAGES_MIN: u32 = 64;

/// A smaller drive with proportionally shorter hours.
///
/// A drive of which only `1/s` of the pages are simulated gets `1/s` of the day's writes, in hours
/// of `3600/s` seconds. So it is overwritten equally often per day, which determines write
/// amplification; and requests arrive at the real rate at dies of real speed, so throughput and
/// latencies are those of the real drive. Pages and requests keep their sizes. Blocks and files are
/// scaled to `1/s`, so their numbers are unchanged: garbage collection depends on how many blocks a
/// file fills, how many files share a block, and how many tiers or levels of files there are. The
/// amount one workload writes before another gets its turn is scaled as well, down to the size of a
/// request. Erasing a block takes proportionally less time, so each page bears the same share of
/// it. The limits:
/// - blocks are not made smaller than 64 pages; files are then scaled by the same factor as blocks,
///   so there are fewer of both;
/// - files are not made smaller than a page;
/// - files larger than 1/64 of their part's space are reduced to that size.
///
/// The duration of a trim scales with the hour as far as it depends on bytes or extents; single
/// discards are split at [`super::Scenario::discard_bytes`], which is not scaled.
///
/// Latencies do not depend on the scale with [even](crate::time::CollectionPace::Even) collection,
/// because each part of it takes as long as for a row of pages, whatever the size of blocks. With
/// collection at once, a write waits for as long as a *simulated* block takes.
///
/// Scaling also increases the random deviation of single intervals from the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The scale s: the real drive is larger, and the real hour longer, by this factor. 1 is
    /// unscaled.
    pub factor: f64,
    /// Simulated pages per drive.
    pub pages: u32,
    /// Pages per simulated block.
    pub pages_per_block: u32,
    /// Factor by which blocks, and files with them, were made smaller; 1 if they were not.
    pub block_factor: f64,
}

impl Scale {
    /// Computes the scale for at most `pages_max` simulated pages, over all drives.
    ///
    /// # Errors
    /// If a drive has too few pages, or the number of drives is out of bounds.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // checked; ratios
    pub fn new(drive: &DriveSpec, pages_max: u32) -> Result<Self, ScenarioError> {
        if drive.drives == 0 || drive.drives > 1024 {
            return Err(out_of_bounds(
                "the number of drives",
                drive.drives,
                "1 to 1024",
            ));
        }
        if drive.page_bytes == 0 || drive.pages_per_block == 0 {
            return Err(out_of_bounds(
                "bytes per page or pages per block",
                0,
                "1 or more",
            ));
        }
        let true_pages = drive.capacity_bytes / u64::from(drive.page_bytes);
        let share = u64::from(pages_max / drive.drives);
        let pages = true_pages.min(share);
        if pages < 4096 {
            return Err(out_of_bounds(
                "the number of simulated pages by drive",
                pages,
                "at least 4096: a larger drive, smaller pages, or more simulated pages",
            ));
        }
        let factor = true_pages as f64 / pages as f64;
        let mut pages_per_block = drive.pages_per_block;
        if factor > 1.0 {
            let similar = (f64::from(pages_per_block) / factor).round() as u32;
            let most = (pages / BLOCKS_MIN).clamp(1, PAGES_PER_BLOCK_MAX) as u32;
            pages_per_block = pages_per_block.min(similar.max(BLOCK_PAGES_MIN)).min(most);
        }
        Ok(Self {
            factor,
            pages: pages as u32,
            pages_per_block,
            block_factor: f64::from(drive.pages_per_block) / f64::from(pages_per_block),
        })
    }

    /// Whether the drive is scaled down.
    pub fn is_scaled(&self) -> bool {
        self.factor > 1.0
    }

    /// Simulated length of an hour, in nanoseconds.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below 2^42
    pub fn hour_ns(&self) -> u64 {
        (3.6e12 / self.factor).round().max(1.0) as u64
    }

    /// Converts bytes of the real drives to simulated bytes.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a rate
    pub(super) fn bytes(&self, true_bytes: u64) -> u64 {
        (true_bytes as f64 / self.factor).round() as u64
    }

    /// Converts simulated bytes to bytes of the real drives.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a total
    pub(super) fn true_bytes(&self, simulated: u64) -> u64 {
        (simulated as f64 * self.factor).round() as u64
    }

    /// The timing of a simulated drive.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share of it
    pub fn timing(&self, drive: &DriveSpec) -> Timing {
        let mut timing = drive.timing;
        if timing.erase_bytes == 0 {
            timing.erase_us /= self.block_factor;
        }
        if let Some(slc) = &mut timing.slc {
            // The cache fills and empties with the day's writes, so it is scaled as well.
            slc.bytes = (slc.bytes as f64 / self.factor) as u64;
        }
        timing
    }

    /// The geometry of a simulated drive.
    ///
    /// # Errors
    /// If the drive is invalid.
    pub fn geometry(&self, drive: &DriveSpec) -> Result<Geometry, ScenarioError> {
        Geometry::new(
            u64::from(self.pages),
            drive.over_provisioning,
            self.pages_per_block,
            drive.page_bytes,
        )
        .map_err(|error| ScenarioError::Drive(error.into()))
    }

    /// Pages a part writes before others get their turn; at least one request.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a small number, saturating
    pub(super) fn chunk_pages(&self, bytes: u64, request_bytes: u64, page_bytes: u32) -> u32 {
        let bytes = (bytes as f64 / self.block_factor).max(request_bytes as f64);
        (bytes / f64::from(page_bytes)).round().max(1.0) as u32
    }

    /// Scaled size in pages of a file of `bytes`, in a part with `part_pages` pages.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // at most the part's
    pub(super) fn file_pages(&self, bytes: u64, page_bytes: u32, part_pages: u32) -> u32 {
        let pages = bytes as f64 / self.block_factor / f64::from(page_bytes);
        let most = if self.is_scaled() {
            part_pages / FILES_MIN
        } else {
            part_pages
        };
        (pages.round() as u32).clamp(1, most.max(1))
    }
}

/// Limited by the table of valid pages.
const PAGES_PER_BLOCK_MAX: u64 = 65_535;
/// Minimum number of files that fit into a part's space, if scaled.
const FILES_MIN: u32 = 64;
