//! A workload on a filesystem on a drive for days: what trims, spare area and fill level make of write
//! amplification, throughput and latency over time.
//!
//! [`Scenario::run`] makes the drives and the filesystem, loads the workload's data, and then lets days
//! pass. Each hour has the load that the [rhythm](crate::workload::rhythm) gives it; requests arrive at
//! random in it (a Poisson process of operations), at most [`Scenario::queue_depth`] are under way, and
//! what lags by more than an hour is given up. Trims run beside the load at their time.
//!
//! Drives of terabytes are [scaled](Scale) down: fewer pages, and as much shorter hours.
//!
//! [`runs`] is the benchmark that is run ten times.

mod load;
mod outcome;
pub mod runs;
mod scale;
mod simulation;
#[cfg(test)]
mod tests;
mod wire;

use std::ops::ControlFlow;

use thiserror::Error;

pub use self::load::{Kind, Part};
pub use self::outcome::{Cycle, Interval, Latency, Outcome, Point, TrimPass, sustained_mb_s};
pub use self::runs::{Run, Runs, RunsOutcome};
pub use self::scale::Scale;
use crate::drive::{DriveError, Raid0Error};
use crate::filesystem::{Allocation, FilesystemError, Reach};
use crate::ftl::Collection;
use crate::time::Timing;
use crate::workload::rhythm::Rhythm;

/// One or more drives of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveSpec {
    /// What the host can address of one drive.
    pub capacity_bytes: u64,
    /// Spare area by capacity, see [`crate::geometry`].
    pub over_provisioning: f64,
    /// What is mapped as one.
    pub page_bytes: u32,
    /// Of a superblock: a block of each plane of each die, which are written and erased together. On drives of
    /// terabytes some hundred megabytes and more.
    pub pages_per_block: u32,
    /// How victims are chosen.
    pub collection: Collection,
    /// Write streams, 1 to 8.
    pub streams: u8,
    /// Whether moved pages have frontiers of their own.
    pub separate_moved: bool,
    /// What its parts take.
    pub timing: Timing,
    /// How many, as a RAID-0; 1 is a single drive.
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

/// What the drive was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// The filesystem was made on a drive that was discarded whole, as `mkfs` does it.
    #[default]
    Discarded,
    /// Every page had been written at random for so many passes, and nothing was discarded.
    Used {
        /// Overwrites of the whole drive.
        passes: u32,
    },
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

/// A trim of all free space, again and again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Days from one to the next, at least 1.
    pub every_days: u32,
    /// Day of the first: 0 is the first day, a Monday.
    pub first_day: u32,
    /// Hour of the day, 0 to 23.
    pub hour: u32,
    /// Free extents below this are left out (`fstrim --minimum`).
    pub minimum_bytes: u64,
    /// After so many bytes there is a pause; `None` for a trim in one go.
    pub pieces: Option<Pieces>,
}

impl Schedule {
    /// In one go, every so many days from the first on, at an hour.
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

/// A trim by range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pieces {
    /// Discarded in one go, above 0.
    pub bytes: u64,
    /// Seconds of pause after that.
    pub pause_s: f64,
}

/// All that decides an outcome. The same scenario gives the same outcome, bit by bit.
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

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScenarioError {
    /// A number out of its bounds.
    #[error("{what} is {found}, expected {expected}")]
    OutOfBounds {
        /// The field, in words.
        what: &'static str,
        /// As given.
        found: String,
        /// In words.
        expected: &'static str,
    },
    /// The drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The array.
    #[error(transparent)]
    Raid0(#[from] Raid0Error),
    /// The files do not fit at their peak.
    #[error(
        "the workload's files take up to {peak_percent:.1} % of the drive at a time, and there is room \
         for 100 %: lower the fill, or make files, merges or tables smaller"
    )]
    DoesNotFit {
        /// Of the drive's pages.
        peak_percent: f64,
    },
    /// A file that did not fit all the same.
    #[error(transparent)]
    Filesystem(#[from] FilesystemError),
    /// The caller broke it off.
    #[error("cancelled")]
    Cancelled,
}

fn out_of_bounds(
    what: &'static str,
    found: impl std::fmt::Display,
    expected: &'static str,
) -> ScenarioError {
    ScenarioError::OutOfBounds {
        what,
        found: found.to_string(),
        expected,
    }
}

/// How far a scenario is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The data that the workload starts with is still being written.
    pub loading: bool,
    /// Hours (or, in [`runs`], thousandths of a run) that are over.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// Is told how far it is, several times a second; breaks it off by `Break`.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

impl Scenario {
    /// Lets the days pass.
    ///
    /// # Errors
    /// What cannot be simulated; cancelled by `watch`.
    pub fn run(&self, watch: &mut Watch<'_>) -> Result<Outcome, ScenarioError> {
        simulation::run(self, watch)
    }

    /// How it is scaled.
    ///
    /// # Errors
    /// Numbers of which there is no drive.
    pub fn scale(&self) -> Result<Scale, ScenarioError> {
        Scale::new(&self.drive, self.pages_max)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if !(self.fill > 0.0 && self.fill < 1.0) {
            return Err(out_of_bounds(
                "the fill",
                self.fill,
                "a share above 0 and below 1",
            ));
        }
        if self.parts.is_empty() {
            return Err(out_of_bounds("the number of workloads", 0, "1 or more"));
        }
        for part in &self.parts {
            if !(part.weight > 0.0 && part.weight.is_finite()) {
                return Err(out_of_bounds("a workload's weight", part.weight, "above 0"));
            }
            if !(part.space > 0.0 && part.space.is_finite()) {
                return Err(out_of_bounds("a workload's space", part.space, "above 0"));
            }
            if part.stream >= self.drive.streams {
                return Err(out_of_bounds(
                    "a workload's stream",
                    part.stream,
                    "below the number of streams of the drive",
                ));
            }
        }
        let page = u64::from(self.drive.page_bytes);
        for (what, bytes) in [
            ("the largest request", self.request_bytes),
            ("the largest discard", self.discard_bytes),
        ] {
            if bytes < page {
                return Err(out_of_bounds(what, bytes, "at least a page, in bytes"));
            }
        }
        if !(self.reads >= 0.0 && self.reads <= 1000.0) {
            return Err(out_of_bounds("reads by write", self.reads, "0 to 1000"));
        }
        if self.days == 0 || self.interval_hours == 0 || self.queue_depth == 0 {
            return Err(out_of_bounds(
                "days, hours of an interval or queue depth",
                0,
                "1 or more",
            ));
        }
        if self.queue_depth > 65_536 {
            return Err(out_of_bounds(
                "the queue depth",
                self.queue_depth,
                "at most 65,536",
            ));
        }
        if let Trims::Periodic(schedule) = &self.trims {
            if schedule.every_days == 0 || schedule.hour > 23 {
                return Err(out_of_bounds(
                    "the trim schedule",
                    format!("every {} days at {} h", schedule.every_days, schedule.hour),
                    "every day or less often, at 0 to 23 h",
                ));
            }
            if let Some(pieces) = schedule.pieces {
                let pause = pieces.pause_s;
                if pieces.bytes == 0 || !(0.0..=86_400.0).contains(&pause) {
                    return Err(out_of_bounds(
                        "a trim's piece",
                        format!("{} bytes and {pause} s of pause", pieces.bytes),
                        "above 0 bytes, and a pause of at most a day",
                    ));
                }
            }
        }
        Ok(())
    }
}
