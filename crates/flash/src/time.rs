//! What the flash takes: channels, dies, read, program, erase; latencies and throughput.
//!
//! Busy-until accounting: a die and a channel are each a moment at which they are free again. A page
//! that is programmed costs two additions, a victim of collection one addition for each die. There are
//! no events. What this leaves out: a request that arrives later never overtakes one that was submitted
//! earlier at the same die, except where [`Timing::suspend_us`] lets a read do so.
//!
//! How a page moves:
//! - **program**: over the channel into the register of its die (the channel takes pages in the order of
//!   submission, also while the die still programs), then the die programs;
//! - **read**: the die senses the page, then the channel carries it out. The share of the channel is
//!   reserved on arrival, so that a read that waits for its die holds no other page up;
//! - **collection**: the valid pages of a victim are read, carried to the controller and back (it corrects
//!   errors), and programmed; every die then erases its part of the block. It runs in the foreground, as a
//!   drive without spare time does it: at once, or bit by bit between the host's pages
//!   ([`CollectionPace`]).
//!
//! Places on the flash lie on the dies in turn, place `i` on die `i % dies`; die `d` is on channel
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
pub use record::{Flow, Interval, Kind, Percentiles, Recorder, Served};
pub use slots::Slots;

use thiserror::Error;

/// The most dies of a drive: a table of free moments of 8 KiB.
pub const MAX_DIES: u32 = 1024;
/// The largest write cache: no drive has as much RAM, and each page of it takes eight bytes here.
pub const WRITE_CACHE_BYTES_MAX: u64 = 64 << 30;
/// The most channels of a drive.
pub const MAX_CHANNELS: u32 = 256;

/// Dies of a terabyte in the presets.
const DIES_OF_TB: f64 = 32.0;
/// Dies of a channel where there are many.
const DIES_OF_CHANNEL: u32 = 16;

/// What a drive's parts take. All public: a preset is a start, every number may be replaced;
/// [`Clock::new`] checks them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Channels: buses between controller and dies; 1 to [`MAX_CHANNELS`].
    pub channels: u32,
    /// Dies of the drive, over all channels; 1 to [`MAX_DIES`].
    pub dies: u32,
    /// A die senses a page (tR), in microseconds. A read of the host takes it once a page, whatever the
    /// size of the page.
    pub read_us: f64,
    /// A die programs [`Timing::program_bytes`] at once (tPROG), in microseconds.
    pub program_us: f64,
    /// A die erases its part of a block (tBERS), in microseconds.
    pub erase_us: f64,
    /// What a die programs at once: its page times its planes. The pages of a model are often smaller; the
    /// controller gathers them, so that a page occupies its die for its share of the program only, while
    /// a write that waits for its program waits for the whole of it. `0`: a page of the model.
    pub program_bytes: u32,
    /// What a die erases at once: its block times its planes. A block of the model may be smaller, for a
    /// smaller drive to have enough of them; it then takes its share of an erase only. `0`: every block
    /// of the model takes an erase on each die.
    pub erase_bytes: u32,
    /// A channel carries so many megabytes (10^6 bytes) a second.
    pub bus_mb_s: f64,
    /// The controller needs so long before it starts a request, in microseconds. It works on any
    /// number of requests at once: this is delay, not a limit on requests a second.
    pub command_us: f64,
    /// The host's link carries so many megabytes (10^6 bytes) a second in each direction; `None`:
    /// it is never what limits.
    pub link_mb_s: Option<f64>,
    /// A read waits at most so long, in microseconds, for a program or an erase that is under way or
    /// queued: the die suspends it. `None`: dies finish what they have begun, and reads queue.
    pub suspend_us: Option<f64>,
    /// RAM that holds what is written until it is programmed, in bytes: a write is acknowledged when it
    /// found room there. `0`: it is acknowledged when it is programmed. Overwrites do not merge there, and
    /// it answers no reads.
    pub write_cache_bytes: u64,
    /// Blocks that are written with one bit a cell first.
    pub slc: Option<SlcCache>,
    /// When the work of a collection is done.
    pub collection: CollectionPace,
    /// What a discard takes.
    pub discard: DiscardTiming,
}

/// When the work of a collection is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectionPace {
    /// All of it before what the host submits next: a write in so many waits for a whole block, the longer
    /// the larger blocks are.
    AtOnce,
    /// In equal parts, one before each row of pages that the host then writes (a page on each die), so that
    /// it is through when the room that it makes is used up: as controllers do that keep latencies even.
    Even,
}

/// Part of the flash that is written with one bit a cell, and moved to its place later ("folded").
///
/// It is time only: the translation layer places a page where it will lie after the fold. A page that is
/// overwritten or discarded before is folded all the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlcCache {
    /// What it holds, in bytes.
    pub bytes: u64,
    /// A die senses a page of it, in microseconds.
    pub read_us: f64,
    /// A die programs [`Timing::program_bytes`] of it, in microseconds.
    pub program_us: f64,
    /// The drive folds when it has had nothing to do for so long, in microseconds.
    pub idle_us: f64,
    /// What a write does when the cache is full.
    pub full: SlcFull,
}

/// What a write does when the SLC cache is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlcFull {
    /// A page is folded to make room for it.
    Fold,
    /// It goes to its place directly.
    Bypass,
}

/// What a discard takes: `fixed + per range + per byte`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscardTiming {
    /// Each command, in microseconds.
    pub fixed_us: f64,
    /// Each range of a command, in microseconds.
    pub range_us: f64,
    /// Each byte, in nanoseconds: 0.125 is 8 GB/s.
    pub byte_ns: f64,
    /// How the drive takes it.
    pub handling: DiscardHandling,
}

/// How a drive takes a discard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscardHandling {
    /// Beside other requests, one discard after the other (NVMe; SATA with queued TRIM).
    Queued,
    /// Only when every request before it is done, and nothing begins until it is done (TRIM of ATA).
    NonQueued,
    /// The drive acknowledges after the fixed cost, and does nothing.
    Ignored,
    /// It never reaches the drive: a layer above says it is done at once.
    Swallowed,
}

/// A number of a [`Timing`] that no drive has.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{what} is {found}, expected {expected}")]
pub struct TimingError {
    /// The field.
    pub what: &'static str,
    /// As given.
    pub found: String,
    /// In words.
    pub expected: &'static str,
}

impl DiscardTiming {
    /// Queued, 8 GB/s (an instance store of AWS was measured at 7.4 to 8.7 GB/s); 20 us a command and
    /// 1 us a range are guesses.
    pub const QUEUED: Self = Self {
        fixed_us: 20.0,
        range_us: 1.0,
        byte_ns: 0.125,
        handling: DiscardHandling::Queued,
    };
}

/// What all presets share: 8 channels of 4 dies, each with two planes of blocks of 256 pages of 16 KiB. It
/// stands for a drive of 1 TB, and is no source's: [`Timing::dies`] is what scales a drive.
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

/// Times of cells are the middle of the range that is printed: K. Vatto, "Understanding TLC NAND", `AnandTech`
/// 2012 (HP prints the same table in "Solid State Drive Technology: Differences between SLC, MLC and TLC
/// NAND"): SLC 25 us, 200-300 us, 1.5-2 ms; MLC 50 us, 600-900 us, 3 ms; TLC 75 us, 900-1350 us,
/// 4.5 ms. For MLC the upper ends are those that `MQSim` comes with (75 us, 3.8 ms). Channels, dies, what a
/// die takes at once, overhead and discards are assumptions that all presets share.
impl Timing {
    /// One bit a cell.
    pub const SLC: Self = Self {
        read_us: 25.0,
        program_us: 250.0,
        erase_us: 1750.0,
        ..BASE
    };
    /// Two bits a cell.
    pub const MLC: Self = Self {
        read_us: 62.5,
        program_us: 750.0,
        erase_us: 3400.0,
        ..BASE
    };
    /// Three bits a cell; channels of ONFI 4.0 (800 MB/s).
    pub const TLC: Self = Self {
        read_us: 75.0,
        program_us: 1125.0,
        erase_us: 4500.0,
        bus_mb_s: 800.0,
        ..BASE
    };
    /// Three bits a cell behind an SLC cache of 8 GiB, an assumption like the half second that the drive
    /// waits before it folds; [`SlcCache::bytes`] is what differs most between drives.
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
    /// Four bits a cell. **A guess**: twice TLC, as TLC is 1.5 times MLC. No source was found.
    pub const QLC: Self = Self {
        read_us: 2.0 * Self::TLC.read_us,
        program_us: 2.0 * Self::TLC.program_us,
        erase_us: 2.0 * Self::TLC.erase_us,
        ..Self::TLC
    };

    /// The presets by name: `slc`, `mlc`, `tlc`, `tlc-slc-cache`, `qlc`, with what they are.
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

    /// The preset of a name.
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS
            .iter()
            .find(|(known, _, _)| *known == name)
            .map(|(_, timing, _)| *timing)
    }

    /// The same with as many dies as a drive of this size has, more or less: a power of two. Presets stand
    /// for a terabyte.
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

    /// The same with so much RAM before the flash.
    #[must_use]
    pub const fn with_write_cache(self, bytes: u64) -> Self {
        Self {
            write_cache_bytes: bytes,
            ..self
        }
    }

    /// The same with discards taken otherwise.
    #[must_use]
    pub const fn with_discards(self, handling: DiscardHandling) -> Self {
        Self {
            discard: DiscardTiming {
                handling,
                ..self.discard
            },
            ..self
        }
    }

    /// Pages of `page_bytes` that the dies program a second when all of them work and the channels keep up,
    /// nothing is collected and nothing cached.
    pub fn pages_per_second(&self, page_bytes: u32) -> f64 {
        let die = f64::from(self.dies) / (self.program_us * 1e-6 * self.page_share(page_bytes));
        let bus = f64::from(self.channels) * self.bus_mb_s * 1e6 / f64::from(page_bytes);
        die.min(bus)
    }

    /// Programs that a page takes: below 1 where several are gathered.
    fn page_share(&self, page_bytes: u32) -> f64 {
        match self.program_bytes {
            0 => 1.0,
            bytes => f64::from(page_bytes) / f64::from(bytes),
        }
    }

    /// Erases of each die that a block takes: below 1 where it is less than they erase at once.
    fn block_share(&self, page_bytes: u32, pages_per_block: u32) -> f64 {
        let die_bytes = f64::from(page_bytes) * f64::from(pages_per_block) / f64::from(self.dies);
        match self.erase_bytes {
            0 => 1.0,
            bytes => die_bytes / f64::from(bytes),
        }
    }

    /// # Errors
    /// The first number that no drive has.
    pub fn check(&self) -> Result<(), TimingError> {
        count("channels", self.channels, MAX_CHANNELS, "1 to 256")?;
        count("dies", self.dies, MAX_DIES, "1 to 1024")?;
        if self.channels > self.dies {
            return Err(TimingError {
                what: "channels",
                found: self.channels.to_string(),
                expected: "at most as many as dies",
            });
        }
        duration("read_us", self.read_us)?;
        duration("program_us", self.program_us)?;
        duration("erase_us", self.erase_us)?;
        duration("command_us", self.command_us)?;
        duration("suspend_us", self.suspend_us.unwrap_or(0.0))?;
        duration("discard fixed_us", self.discard.fixed_us)?;
        duration("discard range_us", self.discard.range_us)?;
        duration("discard byte_ns", self.discard.byte_ns)?;
        if self.write_cache_bytes > WRITE_CACHE_BYTES_MAX {
            return Err(TimingError {
                what: "write_cache_bytes",
                found: self.write_cache_bytes.to_string(),
                expected: "at most 64 GiB",
            });
        }
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
    (1..=max).contains(&found).then_some(()).ok_or(TimingError {
        what,
        found: found.to_string(),
        expected,
    })
}

/// Plainly, or with an exponent where that would take a line.
fn number(found: f64) -> String {
    let plain = found.to_string();
    if plain.len() > 20 {
        format!("{found:e}")
    } else {
        plain
    }
}

/// An hour is longer than anything a die does, and far from where nanoseconds overflow.
fn duration(what: &'static str, found: f64) -> Result<(), TimingError> {
    (0.0..=3.6e9)
        .contains(&found)
        .then_some(())
        .ok_or(TimingError {
            what,
            found: number(found),
            expected: "0 to 3.6e9 (an hour)",
        })
}

fn rate(what: &'static str, found: f64) -> Result<(), TimingError> {
    (1e-3..=1e9)
        .contains(&found)
        .then_some(())
        .ok_or(TimingError {
            what,
            found: number(found),
            expected: "0.001 to 1e9 (MB/s)",
        })
}
