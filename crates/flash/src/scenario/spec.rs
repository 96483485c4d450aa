//! The definition of a scenario.

use std::ops::ControlFlow;
use std::str::FromStr;

use super::part::Part;
use crate::filesystem::Reach;
use crate::ftl::Collection;
use crate::time::Timing;
use crate::workload::rhythm::Rhythm;
use units::ValueError;

/// One or more identical drives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveSpec {
    /// Capacity of one drive in bytes.
    pub capacity_bytes: u64,
    /// Over-provisioning, see [`crate::geometry`].
    pub over_provisioning: f64,
    /// Size of a mapped page.
    pub page_bytes: u32,
    /// Pages per superblock: one block of each plane of each die, written and erased together. On
    /// drives of terabytes this is several hundred megabytes or more.
    pub pages_per_block: u32,
    /// Victim selection policy.
    pub collection: Collection,
    /// Whether moved pages have frontiers of their own.
    pub separate_moved: bool,
    /// Timing of the drive's parts.
    pub timing: Timing,
    /// Number of drives in the RAID-0; 1 is a single drive.
    pub drives: u32,
    /// Chunk size of the RAID-0.
    pub chunk_bytes: u64,
}

impl Default for DriveSpec {
    /// One drive of 1 TB: 7 % over-provisioning, pages of 16 KiB in blocks of 256 MiB (what the
    /// dies of [`Timing::TLC`] erase at once), greedy.
    fn default() -> Self {
        Self {
            capacity_bytes: 1_000_000_000_000,
            over_provisioning: 0.07,
            page_bytes: 16 * 1024,
            pages_per_block: 16 * 1024,
            collection: Collection::Greedy,
            separate_moved: true,
            timing: Timing::TLC,
            drives: 1,
            chunk_bytes: 512 * 1024,
        }
    }
}

/// State of the drive at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// The whole drive was discarded when the filesystem was created, as `mkfs` does.
    #[default]
    Discarded,
    /// Every page was overwritten at random several times, and nothing was discarded.
    Used {
        /// Overwrites of the whole drive.
        passes: u32,
    },
}

/// Parses `new` or `used:2`.
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
    /// Whenever files are deleted.
    Online,
    /// On a schedule.
    Periodic(Schedule),
}

/// Periodic trims of all free space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Days between trims, at least 1.
    pub every_days: u32,
    /// Day of the first trim: 0 is the first day, a Monday.
    pub first_day: u32,
    /// Hour of the day, 0 to 23.
    pub hour: u32,
}

impl Schedule {
    /// A trim every `days` days at `hour`, from the first day on.
    pub fn every(days: u32, hour: u32) -> Self {
        Self {
            every_days: days,
            first_day: 0,
            hour,
        }
    }

    /// Sundays at six, like Debian's `cron.weekly` (06:47).
    pub const WEEKLY: Self = Self {
        every_days: 7,
        first_day: 6,
        hour: 6,
    };
}

/// Everything that determines an outcome. The same scenario gives exactly the same outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The drives.
    pub drive: DriveSpec,
    /// State of the drives at the start.
    pub history: History,
    /// Approximate live data of all parts, as a share of the capacity; above 0 and below 1.
    pub fill: f64,
    /// The workloads; at least one.
    pub parts: Vec<Part>,
    /// Bytes written on an average day, as shown by the kernel's device counters: includes merges
    /// and compaction.
    pub bytes_per_day: u64,
    /// How the load varies over the day and week.
    pub rhythm: Rhythm,
    /// Bytes read at random per byte written, in addition to the workloads' own reads.
    pub reads: f64,
    /// Maximum host request size, in bytes: longer writes are split.
    pub request_bytes: u64,
    /// Maximum discard size, in bytes (`discard_max_bytes`).
    pub discard_bytes: u64,
    /// Maximum number of requests in flight.
    pub queue_depth: u32,
    /// When the filesystem is trimmed.
    pub trims: Trims,
    /// What happens to discards on their way to the drive.
    pub reach: Reach,
    /// Days before the series begins, with the same schedule; they count for the day of the week.
    pub warm_up_days: u32,
    /// Length of the series in days, at least 1.
    pub days: u32,
    /// Length of an interval of the series in hours, at least 1.
    pub interval_hours: u32,
    /// Maximum number of simulated pages, over all drives; larger drives are scaled down.
    pub pages_max: u32,
    /// Seed for all random numbers.
    pub seed: u64,
}

impl Default for Scenario {
    /// [`Part::ELASTICSEARCH`] on a drive that is 62 % full, with half a drive written per day; four weeks,
    /// never trimmed.
    fn default() -> Self {
        Self {
            drive: DriveSpec::default(),
            history: History::default(),
            fill: 0.62,
            parts: Part::ELASTICSEARCH.to_vec(),
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

/// Progress of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Whether the workload's initial data is still being written.
    pub loading: bool,
    /// Hours done (or, in [`runs`](super::runs), thousandths of a run).
    pub done: u64,
    /// Total hours or thousandths.
    pub total: u64,
}

/// Called with the progress several times per second; returning `Break` cancels the simulation.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;
