//! How a drive of terabytes is simulated in seconds.

use super::DriveSpec;
use super::error::{ScenarioError, out_of_bounds};
use crate::geometry::Geometry;
use crate::time::Timing;

/// Blocks of data that a simulated drive has at least: with fewer, the frontiers and the reserve are a
/// part of the drive that theory does not count.
const BLOCKS_MIN: u64 = 256;
/// Pages of a block that is made smaller, where there are as many: with fewer, greedy collection finds
/// emptier victims than the true drive's (Desnoyers 2012: 2.598 instead of 2.668 at 64 pages and 25 % spare).
const BLOCK_PAGES_MIN: u32 = 64;

/// A smaller drive, and hours as much shorter.
///
/// A drive of which only `1/s` of the pages are simulated gets `1/s` of the day's writes, in an hour of
/// `3600/s` seconds. So it is written as many times over in a day, which is what write amplification
/// depends on; and requests arrive at the true rate at dies of true speed, so that throughput and
/// latencies are the true drive's. Pages and requests keep their sizes. Blocks and files are `1/s` as large,
/// so that there are as many of them as in truth: what collection finds depends on how many blocks a file
/// fills, how many files share a block, and how many tiers or levels of files there are. So is what one writer
/// writes before another has its turn, down to a request. Erasing a block takes as much less time, so that a
/// page bears the same share of it. This has limits:
/// - blocks are not made smaller than 64 pages, and files then by the same factor as blocks, so that there
///   are fewer of both;
/// - files are not made smaller than a page;
/// - files that would be less than one in 64 of their part's space are made that small.
///
/// What a trim takes is scaled with the hour as far as it costs by bytes or by extent; single discards are
/// cut at [`super::Scenario::discard_bytes`], which is not scaled.
///
/// Latencies do not depend on the scale where collection is [even](crate::time::CollectionPace::Even): a part of it is as long as
/// a row of pages makes it, whatever the size of blocks. Done at once, it holds a write up for as long
/// as a *simulated* block takes.
///
/// Also changed by scaling is the chance that a single interval differs from the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// s: the true drive is so many times larger, the true hour so many times longer. 1 is unscaled.
    pub factor: f64,
    /// Simulated pages of one drive.
    pub pages: u32,
    /// Of a simulated block.
    pub pages_per_block: u32,
    /// By what blocks, and files with them, were made smaller; 1 where they were not.
    pub block_factor: f64,
}

impl Scale {
    /// The scale for at most so many simulated pages, of all drives together.
    ///
    /// # Errors
    /// A drive without pages, or an array without drives.
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

    /// Whether anything is scaled.
    pub fn is_scaled(&self) -> bool {
        self.factor > 1.0
    }

    /// Nanoseconds that an hour has.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below 2^42
    pub fn hour_ns(&self) -> u64 {
        (3.6e12 / self.factor).round().max(1.0) as u64
    }

    /// Nanoseconds of a simulated time of the true drive, in seconds.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    pub(super) fn ns(&self, true_s: f64) -> u64 {
        (true_s * 1e9 / self.factor).round() as u64
    }

    /// Bytes that stand for so many of the true drives.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a rate
    pub(super) fn bytes(&self, true_bytes: u64) -> u64 {
        (true_bytes as f64 / self.factor).round() as u64
    }

    /// What simulated bytes stand for.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a total
    pub(super) fn true_bytes(&self, simulated: u64) -> u64 {
        (simulated as f64 * self.factor).round() as u64
    }

    /// What the parts of a simulated drive take.
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
            // It fills and empties with what is written in a day.
            slc.bytes = (slc.bytes as f64 / self.factor) as u64;
        }
        timing
    }

    /// The shape of one simulated drive.
    ///
    /// # Errors
    /// Numbers of which there is no drive.
    pub fn geometry(&self, drive: &DriveSpec) -> Result<Geometry, ScenarioError> {
        Geometry::new(
            u64::from(self.pages),
            drive.over_provisioning,
            self.pages_per_block,
            drive.page_bytes,
        )
        .map_err(|error| ScenarioError::Drive(error.into()))
    }

    /// Pages that a part writes before others have their turn, at least a request's.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a small number, saturating
    pub(super) fn chunk_pages(&self, bytes: u64, request_bytes: u64, page_bytes: u32) -> u32 {
        let bytes = (bytes as f64 / self.block_factor).max(request_bytes as f64);
        (bytes / f64::from(page_bytes)).round().max(1.0) as u32
    }

    /// Pages of a file of so many bytes, in a part of so many pages.
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

/// As many as the table of valid pages counts.
const PAGES_PER_BLOCK_MAX: u64 = 65_535;
/// Files of a part's space at least, where it is scaled.
const FILES_MIN: u32 = 64;
