//! Hour-by-hour simulation of a scenario.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use hdrhistogram::Histogram;

use super::host_io::{Drives, HostIo, TrimIo};
use super::outcome::{difference, point};
use super::{
    DriveSpec, History, Interval, Latency, Outcome, Point, Progress, Scale, Scenario,
    ScenarioError, Schedule, TrimPass, Trims, Watch, load,
};
use crate::drive::{Drive, DriveError, Queue, Raid0};
use crate::filesystem::{self, Discarding, Disk, Extent, Filesystem, Reach};
use crate::ftl::{Counters, PowerOn, Settings};
use crate::random::Random;
use crate::time::{DiscardHandling, Kind, Timing};
use crate::workload::Workload;
use crate::workload::mix::Mix;

/// Operations between calls of `watch`.
const WATCH_OPERATIONS: u32 = 4096;

/// Builds the drives of a scenario.
#[allow(clippy::cast_possible_truncation)] // at most u32::MAX
pub(super) fn drives(
    spec: &DriveSpec,
    scale: &Scale,
    history: History,
    reach: Reach,
    seed: u64,
) -> Result<Drives, ScenarioError> {
    let power_on = match history {
        History::Discarded => PowerOn::Empty,
        History::Used { passes } => PowerOn::Aged { passes },
    };
    let mut timing = scale.timing(spec);
    if reach == Reach::Ignored {
        timing.discard.handling = DiscardHandling::Ignored;
    }
    let settings = Settings {
        collection: spec.collection,
        separate_moved: spec.separate_moved,
        ..Settings::new(scale.geometry(spec)?)
    };
    let drive = |index: u32| -> Result<Drive, DriveError> {
        let settings = Settings {
            seed: seed.wrapping_add(index.into()),
            ..settings
        };
        Drive::new(settings, power_on, &timing)
    };
    if spec.drives == 1 {
        return Ok(Drives::One(Box::new(drive(0)?)));
    }
    let members = (0..spec.drives).map(drive).collect::<Result<_, _>>()?;
    let chunk_pages = (spec.chunk_bytes / u64::from(spec.page_bytes)).min(u64::from(u32::MAX));
    let array = Raid0::new(members, chunk_pages as u32)?;
    Ok(Drives::Many(Box::new(array)))
}

/// What happens to discards, including the drive's own handling.
pub(super) fn reach(reach: Reach, timing: &Timing) -> Reach {
    match (reach, timing.discard.handling) {
        (Reach::Swallowed, _) | (_, DiscardHandling::Swallowed) => Reach::Swallowed,
        (Reach::Ignored, _) | (_, DiscardHandling::Ignored) => Reach::Ignored,
        (Reach::Executed, DiscardHandling::Queued | DiscardHandling::NonQueued) => Reach::Executed,
    }
}

/// Number of whole pages in `bytes`, at least one.
pub(super) fn pages_of(bytes: u64, page_bytes: u32) -> u32 {
    u32::try_from(bytes / u64::from(page_bytes))
        .unwrap_or(u32::MAX)
        .max(1)
}

pub(super) fn run(scenario: &Scenario, watch: &mut Watch<'_>) -> Result<Outcome, ScenarioError> {
    Ok(simulate(scenario, watch)?.outcome())
}

/// Runs the simulation until the last day is over.
fn simulate<'a>(
    scenario: &'a Scenario,
    watch: &mut Watch<'_>,
) -> Result<Simulation<'a>, ScenarioError> {
    scenario.check()?;
    let spec = &scenario.drive;
    let scale = Scale::new(spec, scenario.pages_max)?;
    let reach = reach(scenario.reach, &spec.timing);
    let drives = drives(spec, &scale, scenario.history, reach, scenario.seed)?;
    let pages = drives.pages();
    let mix = load::mix(scenario, &scale, pages)?;
    let filesystem = Filesystem::new(filesystem::Settings {
        discarding: match scenario.trims {
            Trims::Online => Discarding::Online,
            Trims::Never | Trims::Periodic(_) => Discarding::Never,
        },
        reach,
        dirty: scenario.history != History::Discarded,
        seed: scenario.seed,
        ..filesystem::Settings::new(pages)
    });
    let mut simulation = Simulation {
        scenario,
        hour_ns: scale.hour_ns(),
        scale,
        peak_pages: mix.peak_pages(),
        mix,
        filesystem,
        host_io: HostIo {
            drives,
            queue: Queue::closed(scenario.queue_depth as usize),
            request_pages: pages_of(scenario.request_bytes, spec.page_bytes),
            discard_pages: pages_of(scenario.discard_bytes, spec.page_bytes),
            done_ns: 0,
        },
        random: Random::new(scenario.seed),
        reads_owed: 0.0,
        arrival_ns: 0,
        pass: None,
        series: Series::default(),
    };
    simulation.load(watch)?;
    simulation.simulate_days(watch)?;
    Ok(simulation)
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    scale: Scale,
    hour_ns: u64,
    peak_pages: u64,
    mix: Mix,
    filesystem: Filesystem,
    host_io: HostIo,
    random: Random,
    /// Pages of random reads that are due.
    reads_owed: f64,
    /// Arrival of the next operation.
    arrival_ns: u64,
    pass: Option<Pass>,
    series: Series,
}

/// A trim in progress.
struct Pass {
    left: VecDeque<Extent>,
    next_ns: u64,
    begin_ns: u64,
    /// Hour of the whole run, including the warm-up.
    hour: u64,
    ranges: u64,
    pages: u64,
    released_pages: u64,
}

/// The series being recorded.
#[derive(Default)]
struct Series {
    /// Whether the series has begun.
    started: bool,
    intervals: Vec<Interval>,
    trims: Vec<TrimPass>,
    counters: Counters,
    total: Counters,
    writes: Option<Histogram<u64>>,
    reads: Option<Histogram<u64>>,
    wanted_bytes: f64,
    throttled: bool,
    trimmed: bool,
}

impl Simulation<'_> {
    /// Writes the workload's initial data, as fast as the drives take it.
    fn load(&mut self, watch: &mut Watch<'_>) -> Result<(), ScenarioError> {
        let total = self.peak_pages;
        let mut operations = 0;
        while !self.mix.is_loaded() {
            let operation = self.mix.next();
            self.filesystem.apply(operation, &mut self.host_io)?;
            operations += 1;
            if operations % WATCH_OPERATIONS == 0 {
                let done = u64::from(self.filesystem.space().live_pages);
                report_progress(watch, true, done.min(total), total)?;
            }
        }
        // The days begin when the drives are idle.
        self.arrival_ns = self.host_io.idle_ns();
        Ok(())
    }

    fn simulate_days(&mut self, watch: &mut Watch<'_>) -> Result<(), ScenarioError> {
        let scenario = self.scenario;
        let warm_up = u64::from(scenario.warm_up_days) * 24;
        let hours = warm_up + u64::from(scenario.days) * 24;
        let interval_hours = u64::from(scenario.interval_hours);
        let begin_ns = self.arrival_ns;
        for hour in 0..hours {
            report_progress(watch, false, hour, hours)?;
            let start_ns = begin_ns + hour * self.hour_ns;
            if hour == warm_up {
                self.series = Series {
                    started: true,
                    counters: self.host_io.drives.counters(),
                    ..Series::default()
                };
                self.host_io.drives.device().recorder_mut().restart();
            }
            if let Trims::Periodic(schedule) = &scenario.trims
                && is_due(schedule, hour)
            {
                self.begin_trim(hour, start_ns);
            }
            self.simulate_hour(hour, start_ns + self.hour_ns, warm_up)?;
            let in_series = (hour + 1).saturating_sub(warm_up);
            if in_series > 0 && (in_series % interval_hours == 0 || hour + 1 == hours) {
                self.close_interval(in_series);
            }
        }
        report_progress(watch, false, hours, hours)
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // nanoseconds of some years
    fn simulate_hour(&mut self, hour: u64, end_ns: u64, warm_up: u64) -> Result<(), ScenarioError> {
        let scenario = self.scenario;
        let page_bytes = f64::from(scenario.drive.page_bytes);
        let day_bytes = self.scale.bytes(scenario.bytes_per_day) as f64;
        let hour_bytes = day_bytes / 24.0 * scenario.rhythm.factor(hour);
        self.series.wanted_bytes += hour_bytes;
        let page_ns = self.hour_ns as f64 * page_bytes / hour_bytes;
        if hour_bytes <= 0.0 {
            self.arrival_ns = self.arrival_ns.max(end_ns);
        }
        while self.arrival_ns < end_ns {
            self.host_io.queue.pause_until(self.arrival_ns);
            let submitted_ns = self.host_io.queue.next_ns();
            if submitted_ns >= end_ns {
                // Drop load that lags by more than an hour.
                let earliest_ns = submitted_ns.saturating_sub(self.hour_ns);
                self.series.throttled |= self.arrival_ns < earliest_ns;
                self.arrival_ns = self.arrival_ns.max(earliest_ns);
                break;
            }
            self.continue_trim(submitted_ns, warm_up);
            let operation = self.mix.next();
            self.filesystem.apply(operation, &mut self.host_io)?;
            let pages = f64::from(operation.written_pages());
            self.read_at_random(pages);
            let gap = -(1.0 - self.random.unit()).ln() * pages * page_ns;
            self.arrival_ns = self.arrival_ns.saturating_add(gap as u64);
        }
        self.continue_trim(end_ns, warm_up);
        Ok(())
    }

    /// Random reads in proportion to the pages written: single pages of live data.
    fn read_at_random(&mut self, written: f64) {
        self.reads_owed += written * self.scenario.reads;
        while self.reads_owed >= 1.0 {
            self.reads_owed -= 1.0;
            let pages = self.filesystem.settings().pages;
            // At usual fill levels a few draws find a live page; a nearly empty drive is not
            // searched.
            let live = (0..16)
                .map(|_| self.random.below_u32(pages))
                .find(|&page| self.filesystem.is_live(page));
            if let Some(page) = live {
                self.host_io.read(page, 1);
            }
        }
    }

    fn begin_trim(&mut self, hour: u64, now_ns: u64) {
        // A previous trim still in progress is replaced; this plan includes what it has not
        // reached.
        self.pass = Some(Pass {
            left: self.filesystem.trim_plan().into(),
            next_ns: now_ns,
            begin_ns: now_ns,
            hour,
            ranges: 0,
            pages: 0,
            released_pages: 0,
        });
        self.series.trimmed = true;
    }

    /// Sends the discards that are due.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // hours; seconds
    fn continue_trim(&mut self, now_ns: u64, warm_up: u64) {
        let Some(pass) = &mut self.pass else { return };
        while pass.next_ns <= now_ns {
            let Some(extent) = pass.left.pop_front() else {
                let page_bytes = u64::from(self.scenario.drive.page_bytes);
                let done = TrimPass {
                    hour: pass.hour.saturating_sub(warm_up) as u32,
                    ranges: pass.ranges,
                    bytes: self.scale.true_bytes(pass.pages * page_bytes),
                    released_bytes: self.scale.true_bytes(pass.released_pages * page_bytes),
                    seconds: (pass.next_ns - pass.begin_ns) as f64 / 1e9 * self.scale.factor,
                };
                if self.series.started && pass.hour >= warm_up {
                    self.series.trims.push(done);
                }
                self.pass = None;
                return;
            };
            // One command at a time, so host requests can be served in between.
            let pages = extent.pages.min(self.host_io.discard_pages);
            if pages < extent.pages {
                pass.left.push_front(Extent {
                    first_page: extent.first_page + pages,
                    pages: extent.pages - pages,
                });
            }
            let mut trim_io = TrimIo {
                host_io: &mut self.host_io,
                at_ns: pass.next_ns,
            };
            let part = Extent { pages, ..extent };
            let done = self.filesystem.discard_free(part, &mut trim_io);
            pass.next_ns = trim_io.at_ns;
            pass.ranges += done.ranges;
            pass.pages += done.pages;
            pass.released_pages += done.released_pages;
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // hours; shares; bytes
    fn close_interval(&mut self, in_series: u64) {
        let scenario = self.scenario;
        let now = self.host_io.drives.counters();
        let counters = difference(&now, &self.series.counters);
        let recorder = self.host_io.drives.recorder();
        let writes = recorder.histogram(Kind::Write);
        let reads = recorder.histogram(Kind::Read);
        let space = self.filesystem.space();
        let pages = f64::from(self.filesystem.settings().pages);
        let before: u32 =
            (self.series.intervals.last()).map_or(0, |interval| interval.hour + interval.hours);
        let page_bytes = u64::from(scenario.drive.page_bytes);
        self.series.intervals.push(Interval {
            hour: before,
            hours: in_series as u32 - before,
            counters,
            point: Point {
                writes: Latency::of(&writes),
                ..point(&counters, &scenario.drive, &self.scale)
            },
            reads: Latency::of(&reads),
            written_bytes: self.scale.true_bytes(counters.host_pages * page_bytes),
            wanted_bytes: (self.series.wanted_bytes * self.scale.factor) as u64,
            throttled: self.series.throttled,
            live_share: f64::from(space.live_pages) / pages,
            free_untrimmed_share: f64::from(space.free_untrimmed_pages) / pages,
            trimmed: self.series.trimmed,
        });
        self.series.total += counters;
        let sums = [
            (&mut self.series.writes, writes),
            (&mut self.series.reads, reads),
        ];
        for (sum, more) in sums {
            match sum {
                None => *sum = Some(more),
                Some(all) => all.add(&more).expect("histograms of the same bounds"),
            }
        }
        self.series.counters = now;
        self.series.wanted_bytes = 0.0;
        self.series.throttled = false;
        self.series.trimmed = false;
        self.host_io.drives.device().recorder_mut().restart();
    }

    #[allow(clippy::cast_precision_loss)] // shares
    fn outcome(self) -> Outcome {
        let spec = &self.scenario.drive;
        let members = self.host_io.drives.members();
        let erased = || {
            (members.iter())
                .flat_map(|drive| drive.ftl().blocks())
                .map(|block| block.erased)
        };
        let total = self.series.total;
        Outcome {
            over_provisioning: members[0].ftl().geometry().over_provisioning(),
            peak_share: self.peak_pages as f64 / f64::from(self.filesystem.settings().pages),
            total: Point {
                writes: self.series.writes.as_ref().and_then(Latency::of),
                ..point(&total, spec, &self.scale)
            },
            reads: self.series.reads.as_ref().and_then(Latency::of),
            counters: total,
            written_bytes: self
                .scale
                .true_bytes(total.host_pages * u64::from(spec.page_bytes)),
            erases: (erased().max().unwrap_or(0), erased().min().unwrap_or(0)),
            scale: self.scale,
            intervals: self.series.intervals,
            trims: self.series.trims,
        }
    }
}

/// Whether a trim begins at this hour.
fn is_due(schedule: &Schedule, hour: u64) -> bool {
    let (day, hour) = (hour / 24, hour % 24);
    hour == u64::from(schedule.hour)
        && day >= u64::from(schedule.first_day)
        && (day - u64::from(schedule.first_day)).is_multiple_of(schedule.every_days.into())
}

pub(super) fn report_progress(
    watch: &mut Watch<'_>,
    loading: bool,
    done: u64,
    total: u64,
) -> Result<(), ScenarioError> {
    let progress = Progress {
        loading,
        done,
        total,
    };
    match watch(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ScenarioError::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::MIXED;
    use super::*;

    /// After days with every feature enabled, filesystem and drive are each consistent, and agree
    /// on the pages for which the drive holds data.
    #[test]
    fn filesystem_and_drive_stay_consistent() {
        let weekly = Trims::Periodic(Schedule::WEEKLY);
        let daily = Trims::Periodic(Schedule::every(1, 3));
        for trims in [Trims::Never, Trims::Online, weekly, daily] {
            for handling in [
                DiscardHandling::Queued,
                DiscardHandling::NonQueued,
                DiscardHandling::Ignored,
                DiscardHandling::Swallowed,
            ] {
                for history in [History::Discarded, History::Used { passes: 1 }] {
                    let scenario = Scenario {
                        drive: DriveSpec {
                            timing: Timing::TLC.with_discards(handling),
                            ..DriveSpec::default()
                        },
                        history,
                        trims,
                        parts: MIXED.to_vec(),
                        days: 9,
                        pages_max: 1 << 15,
                        ..Scenario::default()
                    };
                    let mut watch = |_: Progress| ControlFlow::Continue(());
                    let end = simulate(&scenario, &mut watch).unwrap();
                    assert_eq!(end.filesystem.check(), Ok(()));
                    let drive = &end.host_io.drives.members()[0];
                    assert_eq!(drive.ftl().check(), Ok(()));
                    let space = end.filesystem.space();
                    assert_eq!(
                        drive.ftl().mapped_pages(),
                        u64::from(space.live_pages) + u64::from(space.free_untrimmed_pages),
                        "{trims:?} {handling:?} {history:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn trims_begin_when_they_are_due() {
        let due = |schedule: &Schedule| {
            (0..24 * 30)
                .filter(|&hour| is_due(schedule, hour))
                .collect::<Vec<_>>()
        };
        assert_eq!(due(&Schedule::WEEKLY), [150, 318, 486, 654]);
        assert_eq!(due(&Schedule::every(14, 0)), [0, 336, 672]);
        assert_eq!(due(&Schedule::every(1, 23)).len(), 30);
    }
}
