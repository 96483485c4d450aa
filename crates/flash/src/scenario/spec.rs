//! The definition of a scenario.

use std::ops::ControlFlow;
use std::str::FromStr;

use super::part::Part;
use crate::filesystem::{Allocation, Reach};
use crate::ftl::Collection;
use crate::time::Timing;
use crate::workload::rhythm::Rhythm;
use units::ValueError;

/// One or more equal drives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveSpec {
    /// Bytes of one drive that the host can address.
    pub capacity_bytes: u64,
    /// Spare area by capacity, see [`crate::geometry`].
    pub over_provisioning: f64,
    /// Size of a mapped page.
    pub page_bytes: u32,
    /// Pages of a superblock: a block of each plane of each die, which are written and erased together. On drives of
    /// terabytes some hundred megabytes and more.
    pub pages_per_block: u32,
    /// How victims are chosen.
    pub collection: Collection,
    /// Write streams, 1 to 8.
    pub streams: u8,
    /// Whether moved pages have frontiers of their own.
    pub separate_moved: bool,
    /// The timing of its parts.
    pub timing: Timing,
    /// Number of drives in the RAID-0; 1 is a single drive.
    pub drives: u32,
    /// Chunk of the RAID-0.
    pub chunk_bytes: u64,
}

impl Default for DriveSpec {
    /// One drive of 1 TB: 7 % spare, pages of 16 KiB in blocks of 256 MiB (what the dies of
    /// [`Timing::TLC`] erase at once), greedy.
    fn default() -> Self {
        Self {
            capacity_bytes: 1_000_000_000_000,
            over_provisioning: 0.07,
            page_bytes: 16 * 1024,
            pages_per_block: 16 * 1024,
            collection: Collection::Greedy,
            streams: 1,
            separate_moved: true,
            timing: Timing::TLC,
            drives: 1,
            chunk_bytes: 512 * 1024,
        }
    }
}

/// The state of the drive at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// The filesystem was made on a drive that was discarded whole, as `mkfs` does it.
    #[default]
    Discarded,
    /// Every page was written at random for some passes, and nothing was discarded.
    Used {
        /// Overwrites of the whole drive.
        passes: u32,
    },
}

/// Reads `new` or `used:2`.
impl FromStr for History {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.trim().split_once(':') {
            None if text.trim() == "new" => Ok(Self::Discarded),
            Some(("used", number)) => match number.parse() {
                Ok(passes @ 1..=100) => Ok(Self::Used { passes }),
                _ => Err(ValueError::new(
                    "used:P with 1 to 100 overwrites of the drive",
                    text,
                )),
            },
            _ => Err(ValueError::new("new or used:P (used:2)", text)),
        }
    }
}

/// When the filesystem is trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Trims {
    /// Never.
    #[default]
    Never,
    /// As files are deleted.
    Online,
    /// By a schedule.
    Periodic(Schedule),
}

/// A periodic trim of all free space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Days from one trim to the next, at least 1.
    pub every_days: u32,
    /// Day of the first: 0 is the first day, a Monday.
    pub first_day: u32,
    /// Hour of the day, 0 to 23.
    pub hour: u32,
    /// Smaller free extents are skipped (`fstrim --minimum`).
    pub minimum_bytes: u64,
    /// Trims in pieces with pauses; `None` for a trim without pauses.
    pub pieces: Option<Pieces>,
}

impl Schedule {
    /// A trim without pauses every `days` days from the first day on, at an hour.
    pub fn every(days: u32, hour: u32) -> Self {
        Self {
            every_days: days,
            first_day: 0,
            hour,
            minimum_bytes: 0,
            pieces: None,
        }
    }

    /// Sundays at six, as `cron.weekly` of Debian (06:47).
    pub const WEEKLY: Self = Self {
        every_days: 7,
        first_day: 6,
        hour: 6,
        minimum_bytes: 0,
        pieces: None,
    };
}

/// A trim in pieces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pieces {
    /// Bytes of a piece, above 0.
    pub bytes: u64,
    /// Seconds of pause after a piece.
    pub pause_s: f64,
}

/// Everything that determines an outcome. The same scenario gives the same outcome, bit for bit.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The drives.
    pub drive: DriveSpec,
    /// What they were before.
    pub history: History,
    /// Where files go on.
    pub allocation: Allocation,
    /// A trim leaves out what it trimmed before and nobody used since.
    pub remembers_trims: bool,
    /// Live data by capacity, above 0 and below 1: what all parts have together, more or less.
    pub fill: f64,
    /// Who writes; at least one.
    pub parts: Vec<Part>,
    /// All that is written on a mean day, in bytes: what the kernel's counters of the device say, merges
    /// and compaction included.
    pub bytes_per_day: u64,
    /// How it lies over the week.
    pub rhythm: Rhythm,
    /// Bytes read at random by byte written, on top of what the parts read.
    pub reads: f64,
    /// Largest request of the host, in bytes: longer writes are cut.
    pub request_bytes: u64,
    /// Largest discard, in bytes (`discard_max_bytes`).
    pub discard_bytes: u64,
    /// Requests under way at most.
    pub queue_depth: u32,
    /// When it is trimmed.
    pub trims: Trims,
    /// What becomes of discards.
    pub reach: Reach,
    /// Days before the series begins, with the same schedule; they count for the weekday.
    pub warm_up_days: u32,
    /// Days of the series, at least 1.
    pub days: u32,
    /// Length of an interval of the series, in hours, at least 1.
    pub interval_hours: u32,
    /// Pages that are simulated at most, of all drives; beyond that they are scaled.
    pub pages_max: u32,
    /// Seed of all that is drawn.
    pub seed: u64,
}

impl Default for Scenario {
    /// Half a drive a day on a drive that is 62 % full, by [`Part::MIXED`]; four weeks, never trimmed.
    fn default() -> Self {
        Self {
            drive: DriveSpec::default(),
            history: History::default(),
            allocation: Allocation::default(),
            remembers_trims: false,
            fill: 0.62,
            parts: Part::MIXED.to_vec(),
            bytes_per_day: 500_000_000_000,
            rhythm: Rhythm::STEADY,
            reads: 0.0,
            request_bytes: 128 * 1024,
            discard_bytes: 2 << 30,
            queue_depth: 32,
            trims: Trims::Never,
            reach: Reach::default(),
            warm_up_days: 0,
            days: 28,
            interval_hours: 24,
            pages_max: 1 << 18,
            seed: 1,
        }
    }
}

/// How far a scenario is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The data that the workload starts with is still being written.
    pub loading: bool,
    /// Hours (or, in [`runs`](super::runs), thousandths of a run) that are over.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// Is told how far it is, several times a second; breaks it off by `Break`.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;
