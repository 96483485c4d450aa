//! A scenario in everyday terms: a drive below a filesystem for days, compared with a changed
//! setup.

mod mix;
mod trim_schedule;

pub use mix::{Mix, MixPart, WorkloadKind};
pub use trim_schedule::TrimSchedule;

use crate::ftl::Counters;
use crate::scenario::{Cycle, DriveSpec, Outcome, Point, Progress, Scenario, ScenarioError, Trims};
use crate::time::Timing;
use std::ops::ControlFlow;

/// Minimum number of blocks of a drive, if the block size is not given.
const BLOCKS_MIN: u64 = 256;
/// Drive writes before the series begins.
const WARM_UP_DRIVE_WRITES: f64 = 3.0;
/// Maximum warm-up: a year.
const WARM_UP_WEEKS_MAX: u32 = 52;
/// The last part of the series, which represents the long run.
const LONG_RUN: f64 = 0.25;
/// Over-provisioning of server drives and of client drives; each is compared with the other.
const SERVER_SPARE: f64 = 0.28;
const CLIENT_SPARE: f64 = 0.07;
/// Progress is reported in this many steps.
const STEPS: u64 = 1000;

/// A scenario, with names for display.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The simulated scenario.
    pub scenario: Scenario,
    /// When the filesystem is trimmed; also part of the scenario.
    pub when: TrimSchedule,
    /// The workloads.
    pub workload: Mix,
    /// The drive's name, if it has one.
    pub drive_name: Option<String>,
    /// Name of the timing preset: `tlc`.
    pub preset: String,
}

/// A changed setup for comparison.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Description, such as `trimmed daily` or `at 28 % spare`.
    pub name: String,
    /// The changed setup.
    pub setup: Setup,
}

/// An outcome and values derived from it.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// The full outcome.
    pub outcome: Outcome,
    /// The average trim cycle; `None` if there are fewer than two trims in the series.
    pub cycle: Option<Cycle>,
    /// Averages over the last quarter of the series.
    pub long_run: Point,
}

impl Setup {
    /// Whether it is trimmed once a day.
    pub fn is_trimmed_daily(&self) -> bool {
        matches!(self.when.trims, Trims::Periodic(schedule) if schedule.every_days == 1)
    }

    /// Approximate memory of the drives' tables in bytes: ten per page of the drive, and some for
    /// the filesystem's bitmaps.
    pub fn table_bytes(&self) -> u64 {
        let scale = self.scenario.scale();
        let pages = scale.map_or(0, |scale| u64::from(scale.pages));
        pages * u64::from(self.scenario.drive.drives) * 11
    }

    /// Setups to compare with: another trim schedule, and another over-provisioning.
    pub fn variants(&self) -> Vec<Variant> {
        let mut trimmed = self.clone();
        trimmed.when = if self.when == TrimSchedule::DAILY {
            TrimSchedule::WEEKLY
        } else {
            TrimSchedule::DAILY
        };
        trimmed.scenario.trims = trimmed.when.trims;
        trimmed.scenario.reach = trimmed.when.reach;
        let spare = if self.scenario.drive.over_provisioning < 0.2 {
            SERVER_SPARE
        } else {
            CLIENT_SPARE
        };
        let mut with_spare = self.clone();
        with_spare.scenario.drive.over_provisioning = spare;
        vec![
            Variant {
                name: format!("trimmed {}", trimmed.when),
                setup: trimmed,
            },
            Variant {
                name: format!("at {} spare", units::percent(spare)),
                setup: with_spare,
            },
        ]
    }

    /// Simulates the scenario; `watch` is called with the progress and the total.
    ///
    /// # Errors
    /// If the scenario cannot be simulated.
    pub fn simulate(&self, watch: &dyn Fn(u64, u64)) -> Result<Simulated, ScenarioError> {
        let mut watch = |progress: Progress| {
            // Loading counts as a tenth of the progress, the days as the rest.
            let part = progress.done * STEPS / progress.total.max(1);
            watch(
                if progress.loading {
                    part / 10
                } else {
                    STEPS / 10 + part * 9 / 10
                },
                STEPS,
            );
            ControlFlow::Continue(())
        };
        let outcome = self.scenario.run(&mut watch)?;
        Ok(Simulated::new(outcome, &self.scenario.drive))
    }
}

impl Simulated {
    fn new(outcome: Outcome, drive: &DriveSpec) -> Self {
        let count = outcome.intervals.len();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // a share of it
        let last = ((count as f64 * LONG_RUN).ceil() as usize).clamp(1, count.max(1));
        let long_run = outcome.mean(count.saturating_sub(last)..count, drive);
        Self {
            cycle: outcome.cycle(drive),
            long_run,
            outcome,
        }
    }

    /// Number of intervals in which the drives were too slow for the load.
    pub fn throttled_intervals(&self) -> usize {
        let intervals = self.outcome.intervals.iter();
        intervals.filter(|interval| interval.throttled).count()
    }

    /// Sustained throughput of the slowest interval, in 10^6 bytes per second; `None` if nothing
    /// was written.
    pub fn worst_mb_s(&self) -> Option<f64> {
        let intervals = self.outcome.intervals.iter();
        intervals
            .filter_map(|interval| interval.point.sustained_mb_s)
            .reduce(f64::min)
    }

    /// Write amplification by interval, with the interval's start in hours; with `by_day`, averaged
    /// per day.
    pub fn write_amplification(&self, by_day: bool) -> Vec<(u32, f64)> {
        self.outcome
            .intervals
            .chunk_by(|a, b| by_day && a.hour / 24 == b.hour / 24)
            .filter_map(|day| {
                let counters = Counters::sum(day.iter().map(|interval| interval.counters));
                Some((day[0].hour, counters.write_amplification()?))
            })
            .collect()
    }
}

/// Default pages per block: one erase block of each die, as controllers stripe them, but limited by
/// the counters' range and by a minimum number of blocks. The block size determines what deleted
/// files leave behind.
pub fn usual_pages_per_block(timing: &Timing, capacity_bytes: u64, page_bytes: u32) -> u32 {
    let page_bytes = u64::from(page_bytes);
    let erased_at_once = u64::from(timing.dies) * u64::from(timing.erase_bytes) / page_bytes;
    let most = (capacity_bytes / page_bytes / BLOCKS_MIN).clamp(1, u16::MAX.into());
    u32::try_from(erased_at_once.clamp(1, most)).unwrap_or(1)
}

/// Default warm-up in days: whole weeks until the drives have been overwritten several times.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // clamped
pub fn usual_warm_up_days(capacity_bytes: u64, drives: u32, bytes_per_day: u64) -> u32 {
    let bytes = capacity_bytes as f64 * f64::from(drives) * WARM_UP_DRIVE_WRITES;
    let weeks = (bytes / bytes_per_day as f64 / 7.0).ceil();
    weeks.clamp(1.0, f64::from(WARM_UP_WEEKS_MAX)) as u32 * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_is_whole_weeks() {
        let tb = 1_000_000_000_000;
        assert_eq!(usual_warm_up_days(tb, 1, tb), 7);
        // 3 x 3.84 TB at 1.9 TB per day take 6.1 days.
        assert_eq!(
            usual_warm_up_days(3_840_000_000_000, 1, 1_900_000_000_000),
            7
        );
        assert_eq!(
            usual_warm_up_days(3_840_000_000_000, 2, 1_900_000_000_000),
            14
        );
        assert_eq!(usual_warm_up_days(tb, 1, 1), 364);
    }
}
