//! A workload on a filesystem on a drive for days: how trims, spare area and fill level affect
//! write amplification, throughput and latency over time.
//!
//! [`Scenario::run`] creates the drives and the filesystem, loads the workload's data, and then
//! simulates days. The load of each hour follows the [rhythm](crate::workload::rhythm); requests
//! arrive at random (a Poisson process of operations), at most [`Scenario::queue_depth`] are in
//! flight, and load that lags by more than an hour is dropped. Trims run concurrently with the load
//! at their scheduled time.
//!
//! Drives of terabytes are [scaled](Scale) down: fewer pages, and proportionally shorter hours.
//!
//! [`runs`] is a benchmark run several times in a row.

mod error;
mod host_io;
mod load;
mod outcome;
mod part;
pub mod runs;
mod scale;
mod simulation;
mod spec;
#[cfg(test)]
mod tests;

pub use self::error::ScenarioError;
pub use self::outcome::{Cycle, Interval, Latency, Outcome, Point, TrimPass, sustained_mb_s};
pub use self::part::{Kind, Part};
pub use self::runs::{Run, Runs, RunsOutcome};
pub use self::scale::Scale;
pub use self::spec::{DriveSpec, History, Progress, Scenario, Schedule, Trims, Watch};

use self::error::out_of_bounds;

impl Scenario {
    /// Simulates the scenario.
    ///
    /// # Errors
    /// If the scenario cannot be simulated, or `watch` cancels it.
    pub fn run(&self, watch: &mut Watch<'_>) -> Result<Outcome, ScenarioError> {
        simulation::run(self, watch)
    }

    /// The scale of the simulation.
    ///
    /// # Errors
    /// If the drive is invalid.
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
        if let Trims::Periodic(schedule) = &self.trims
            && (schedule.every_days == 0 || schedule.hour > 23)
        {
            return Err(out_of_bounds(
                "the trim schedule",
                format!("every {} days at {} h", schedule.every_days, schedule.hour),
                "every day or less often, at 0 to 23 h",
            ));
        }
        Ok(())
    }
}
