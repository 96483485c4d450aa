//! Timing of the flash: channels, dies, read, program and erase times; latencies.
//!
//! Busy-until accounting: for each die and each channel only the time at which it becomes free is
//! kept. Programming a page costs two additions, garbage-collecting a victim one addition per die.
//! There is no event queue. Limitation: a later request never overtakes an earlier one on the same
//! die, except for reads if [`Timing::suspend_us`] is set.
//!
//! How pages move:
//! - **program**: the page crosses the channel into the register of its die (the channel takes
//!   pages in the order of submission, even while the die is still programming), then the die
//!   programs;
//! - **read**: the die senses the page, then the channel transfers it. The transfer is reserved on
//!   arrival, so a read waiting for its die does not hold up other pages;
//! - **collection**: the valid pages of a victim are read, transferred to the controller and back
//!   (for error correction), and programmed; then every die erases its part of the block.
//!   Collection runs in the foreground, as in a drive without idle time: at once, or in small parts
//!   between the host's pages ([`CollectionPace`]).
//!
//! Physical pages are striped: page `i` is on die `i % dies`, and die `d` is on channel
//! `d % channels`.

mod clock;
mod divisor;
mod parts;
mod record;
mod slots;
#[cfg(test)]
pub(crate) mod tests;

pub use clock::Clock;
pub use divisor::Divisor;
pub use parts::SlcUse;
pub use record::{Kind, Recorder, Served};
pub use slots::Slots;

use serde::Deserialize;
use thiserror::Error;

/// Maximum number of dies: a table of busy-until times of 8 KiB.
pub const MAX_DIES: u32 = 1024;
/// Maximum write cache: more RAM than any drive has, and each page of it takes eight bytes here.
pub const WRITE_CACHE_BYTES_MAX: u64 = 64 << 30;
/// Maximum number of channels.
pub const MAX_CHANNELS: u32 = 256;

/// Dies per terabyte in the presets.
const DIES_OF_TB: f64 = 32.0;
/// Dies per channel in large drives.
const DIES_OF_CHANNEL: u32 = 16;

/// Timing parameters of a drive. All fields are public: presets are starting points, and any value
/// may be replaced; [`Clock::new`] validates them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Number of channels, the buses between controller and dies; 1 to [`MAX_CHANNELS`].
    pub channels: u32,
    /// Number of dies, over all channels; 1 to [`MAX_DIES`].
    pub dies: u32,
    /// Time for a die to sense a page (tR), in microseconds. A host read pays it once per page,
    /// regardless of the page size.
    pub read_us: f64,
    /// Time for a die to program [`Timing::program_bytes`] (tPROG), in microseconds.
    pub program_us: f64,
    /// Time for a die to erase its part of a block (tBERS), in microseconds.
    pub erase_us: f64,
    /// Bytes a die programs at once: its page size times its planes. Model pages are often smaller;
    /// the controller gathers them, so a page occupies its die only for its share of the program
    /// time, while a write waiting for its program waits for all of it. `0`: one model page.
    pub program_bytes: u32,
    /// Bytes a die erases at once: its block size times its planes. Model blocks may be smaller, to
    /// give a small drive enough of them; each then takes only its share of an erase. `0`: every
    /// model block takes one erase on each die.
    pub erase_bytes: u32,
    /// Bandwidth of a channel, in megabytes (10^6 bytes) per second.
    pub bus_mb_s: f64,
    /// Controller delay before a request starts, in microseconds. The controller works on any
    /// number of requests at once, so this adds latency but does not limit the request rate.
    pub command_us: f64,
    /// Bandwidth of the host link in each direction, in megabytes (10^6 bytes) per second; `None`
    /// if it is never the bottleneck.
    pub link_mb_s: Option<f64>,
    /// Longest time a read waits for a program or erase that is running or queued, in microseconds,
    /// because the die suspends it. `None`: dies finish what they have begun, and reads queue.
    pub suspend_us: Option<f64>,
    /// RAM that holds written data until it is programmed, in bytes: a write is acknowledged when
    /// it fits into this cache. `0`: writes are acknowledged when programmed. Overwrites are not
    /// merged in the cache, and reads are not served from it.
    pub write_cache_bytes: u64,
    /// SLC cache: blocks that are first written with one bit per cell.
    pub slc: Option<SlcCache>,
    /// When collection work is done.
    pub collection: CollectionPace,
    /// Timing of discards.
    pub discard: DiscardTiming,
}

/// When collection work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectionPace {
    /// All of it before the host's next page: an occasional write waits for a whole block, so
    /// larger blocks mean longer waits.
    AtOnce,
    /// In equal parts, one before each row of host pages (one page per die), so that it finishes
    /// when the space it frees is used up: like controllers that keep latencies even.
    Even,
}

/// Part of the flash that is written with one bit per cell, then moved to its final location
/// ("folded").
///
/// It affects timing only: the translation layer assigns a page the location it will have after the
/// fold. Pages overwritten or discarded before that are folded all the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlcCache {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Time for a die to sense a cached page, in microseconds.
    pub read_us: f64,
    /// Time for a die to program [`Timing::program_bytes`] of it, in microseconds.
    pub program_us: f64,
    /// Idle time after which the drive starts folding, in microseconds.
    pub idle_us: f64,
    /// What a write does if the cache is full.
    pub full: SlcFull,
}

/// What a write does if the SLC cache is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlcFull {
    /// Folds a page first, to make room.
    Fold,
    /// Bypasses the cache.
    Bypass,
}

/// Cost of a discard: `fixed + per range + per byte`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscardTiming {
    /// Cost per command, in microseconds.
    pub fixed_us: f64,
    /// Cost per range of a command, in microseconds.
    pub range_us: f64,
    /// Cost per byte, in nanoseconds: 0.125 is 8 GB/s.
    pub byte_ns: f64,
    /// How the drive processes discards.
    pub handling: DiscardHandling,
}

/// How a drive processes discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardHandling {
    /// In parallel with other requests, one discard at a time (NVMe; SATA with queued TRIM).
    Queued,
    /// Only when all earlier requests are done; later ones wait until it is done (non-queued ATA
    /// TRIM).
    NonQueued,
    /// The drive acknowledges after the fixed cost, and does nothing.
    Ignored,
    /// It never reaches the drive: a layer above reports success immediately.
    Swallowed,
}

/// An impossible value in a [`Timing`].
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{what} is {found}, expected {expected}")]
pub struct TimingError {
    /// The field.
    pub what: &'static str,
    /// The value given.
    pub found: String,
    /// The allowed range, in words.
    pub expected: &'static str,
}

impl DiscardTiming {
    /// Queued at 8 GB/s (an AWS instance store was measured at 7.4 to 8.7 GB/s); 20 us per command
    /// and 1 us per range are guesses.
    pub const QUEUED: Self = Self {
        fixed_us: 20.0,
        range_us: 1.0,
        byte_ns: 0.125,
        handling: DiscardHandling::Queued,
    };
}

/// Values shared by all presets: 8 channels of 4 dies, each with two planes of blocks of 256 pages
/// of 16 KiB. It represents a drive of 1 TB, and is not taken from a source; [`Timing::dies`]
/// scales a drive.
const BASE: Timing = Timing {
    channels: 8,
    dies: 32,
    read_us: 0.0,
    program_us: 0.0,
    erase_us: 0.0,
    program_bytes: 32 << 10,
    erase_bytes: 8 << 20,
    bus_mb_s: 533.0,
    command_us: 5.0,
    link_mb_s: None,
    suspend_us: None,
    write_cache_bytes: 0,
    slc: None,
    collection: CollectionPace::Even,
    discard: DiscardTiming::QUEUED,
};

/// Cell times are the middle of the published range: K. Vatto, "Understanding TLC NAND",
/// `AnandTech` 2012 (HP prints the same table in "Solid State Drive Technology: Differences between
/// SLC, MLC and TLC NAND"): SLC 25 us, 200-300 us, 1.5-2 ms; MLC 50 us, 600-900 us, 3 ms; TLC 75
/// us, 900-1350 us, 4.5 ms. For MLC the upper ends are the defaults of `MQSim` (75 us, 3.8 ms).
/// Channels, dies, program and erase sizes, overhead and discards are assumptions shared by all
/// presets.
impl Timing {
    /// One bit per cell.
    pub const SLC: Self = Self {
        read_us: 25.0,
        program_us: 250.0,
        erase_us: 1750.0,
        ..BASE
    };
    /// Two bits per cell.
    pub const MLC: Self = Self {
        read_us: 62.5,
        program_us: 750.0,
        erase_us: 3400.0,
        ..BASE
    };
    /// Three bits per cell; ONFI 4.0 channels (800 MB/s).
    pub const TLC: Self = Self {
        read_us: 75.0,
        program_us: 1125.0,
        erase_us: 4500.0,
        bus_mb_s: 800.0,
        ..BASE
    };
    /// Three bits per cell behind an SLC cache of 8 GiB. Both its size and the half second of idle
    /// time before folding are assumptions; [`SlcCache::bytes`] varies most between drives.
    pub const TLC_WITH_SLC_CACHE: Self = Self {
        slc: Some(SlcCache {
            bytes: 8 << 30,
            read_us: Self::SLC.read_us,
            program_us: Self::SLC.program_us,
            idle_us: 500_000.0,
            full: SlcFull::Fold,
        }),
        ..Self::TLC
    };
    /// Four bits per cell. **A guess**: twice TLC, as TLC is 1.5 times MLC. No source was found.
    pub const QLC: Self = Self {
        read_us: 2.0 * Self::TLC.read_us,
        program_us: 2.0 * Self::TLC.program_us,
        erase_us: 2.0 * Self::TLC.erase_us,
        ..Self::TLC
    };

    /// The presets by name (`slc`, `mlc`, `tlc`, `tlc-slc-cache`, `qlc`), each with a description.
    pub const PRESETS: [(&str, Self, &str); 5] = [
        ("slc", Self::SLC, "one bit a cell"),
        ("mlc", Self::MLC, "two bits a cell"),
        ("tlc", Self::TLC, "three bits a cell"),
        (
            "tlc-slc-cache",
            Self::TLC_WITH_SLC_CACHE,
            "three bits a cell behind an SLC cache of 8 GiB",
        ),
        ("qlc", Self::QLC, "four bits a cell; a guess"),
    ];

    /// Finds a preset by name.
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS
            .iter()
            .find(|(known, _, _)| *known == name)
            .map(|(_, timing, _)| *timing)
    }

    /// Scales the number of dies to a typical drive of this capacity, as a power of two. The
    /// presets represent a drive of one terabyte.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // clamped
    pub fn sized(self, capacity_bytes: u64) -> Self {
        let wanted = (capacity_bytes as f64 / 1e12 * DIES_OF_TB).max(1.0);
        let dies = (wanted.log2().round().exp2() as u32).clamp(2, MAX_DIES);
        let channels = (dies / DIES_OF_CHANNEL).clamp(self.channels.min(dies), MAX_CHANNELS);
        Self {
            channels,
            dies,
            ..self
        }
    }

    /// Program operations per page: below 1 if several pages are gathered.
    fn page_share(&self, page_bytes: u32) -> f64 {
        match self.program_bytes {
            0 => 1.0,
            bytes => f64::from(page_bytes) / f64::from(bytes),
        }
    }

    /// Erase operations per die and block: below 1 if a block is smaller than what the dies erase
    /// at once.
    fn block_share(&self, page_bytes: u32, pages_per_block: u32) -> f64 {
        let die_bytes = f64::from(page_bytes) * f64::from(pages_per_block) / f64::from(self.dies);
        match self.erase_bytes {
            0 => 1.0,
            bytes => die_bytes / f64::from(bytes),
        }
    }

    /// Validates all values.
    ///
    /// # Errors
    /// If a value is impossible, naming the first such field.
    pub fn check(&self) -> Result<(), TimingError> {
        count("channels", self.channels, MAX_CHANNELS, "1 to 256")?;
        count("dies", self.dies, MAX_DIES, "1 to 1024")?;
        within(
            self.channels <= self.dies,
            "channels",
            self.channels.to_string(),
            "at most as many as dies",
        )?;
        duration("read_us", self.read_us)?;
        duration("program_us", self.program_us)?;
        duration("erase_us", self.erase_us)?;
        duration("command_us", self.command_us)?;
        duration("suspend_us", self.suspend_us.unwrap_or(0.0))?;
        duration("discard fixed_us", self.discard.fixed_us)?;
        duration("discard range_us", self.discard.range_us)?;
        duration("discard byte_ns", self.discard.byte_ns)?;
        within(
            self.write_cache_bytes <= WRITE_CACHE_BYTES_MAX,
            "write_cache_bytes",
            self.write_cache_bytes.to_string(),
            "at most 64 GiB",
        )?;
        rate("bus_mb_s", self.bus_mb_s)?;
        rate("link_mb_s", self.link_mb_s.unwrap_or(1.0))?;
        if let Some(slc) = self.slc {
            duration("slc read_us", slc.read_us)?;
            duration("slc program_us", slc.program_us)?;
            duration("slc idle_us", slc.idle_us)?;
        }
        Ok(())
    }
}

fn count(
    what: &'static str,
    found: u32,
    max: u32,
    expected: &'static str,
) -> Result<(), TimingError> {
    within(
        (1..=max).contains(&found),
        what,
        found.to_string(),
        expected,
    )
}

fn within(
    fits: bool,
    what: &'static str,
    found: String,
    expected: &'static str,
) -> Result<(), TimingError> {
    fits.then_some(()).ok_or(TimingError {
        what,
        found,
        expected,
    })
}

/// Formats a number plainly, or with an exponent if it would be very long.
fn number(found: f64) -> String {
    let plain = found.to_string();
    if plain.len() > 20 {
        format!("{found:e}")
    } else {
        plain
    }
}

/// An hour is longer than anything a die does, and far from overflowing nanoseconds.
fn duration(what: &'static str, found: f64) -> Result<(), TimingError> {
    let fits = (0.0..=3.6e9).contains(&found);
    within(fits, what, number(found), "0 to 3.6e9 (an hour)")
}

fn rate(what: &'static str, found: f64) -> Result<(), TimingError> {
    let fits = (1e-3..=1e9).contains(&found);
    within(fits, what, number(found), "0.001 to 1e9 (MB/s)")
}
