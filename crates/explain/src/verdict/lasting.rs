//! Lasting changes: changes of level and slope, patterns that begin or end, and what happened at the same
//! time.

use super::phrases::every;
use super::recurrence::Recurrence;
use super::result::{Change, ChangeKind};
use crate::calendar::offsets::moment;
use crate::change::{BreakKind, Segments};
use crate::fit::find::ROUNDING;
use crate::fit::found::Found;
use crate::model::input::JobRuns;
use crate::model::samples::Samples;
use crate::numbers::as_i64;
use crate::search::runs::RUNS_MIN;
use schedule::{Run, Seen, rhythm_changes};

/// All lasting changes of a series.
#[derive(Debug, Clone)]
pub(crate) struct Lasting {
    /// Changes of level and slope, oldest first.
    pub changes: Vec<Change>,
    /// Where the main pattern begins or ends within the samples.
    pub bounds: Vec<Change>,
    /// The line through all samples, if it explains them better than a level does.
    pub trend: Option<Trend>,
}

/// A single line through all samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Slope in units per day.
    pub slope_per_day: f64,
    /// Value of the line at the first sample.
    pub first: f64,
    /// Value of the line at the last sample.
    pub last: f64,
}

impl Lasting {
    /// Collects the lasting changes of a series, and the bounds of its main pattern.
    pub fn new(
        segmentation: &Segments,
        main: Option<(&Found, &Recurrence)>,
        samples: &Samples,
        jobs: &[JobRuns],
    ) -> Self {
        let job_events = job_events(jobs, &samples.times_us);
        let times = &samples.times_us;
        // A fitted line may end outside the values measured (a time below zero), or within rounding of zero.
        let values = || samples.values.iter().copied();
        let least = values().fold(f64::MAX, f64::min);
        let largest = values().fold(f64::MIN, f64::max);
        let within = |level: f64| match level.clamp(least, largest) {
            level if level.abs() < (largest - least) * ROUNDING => 0.0,
            level => level,
        };
        let changes = segmentation
            .changes
            .iter()
            .map(|change| {
                let (from, to) = (times[change.index.saturating_sub(1)], times[change.index]);
                Change {
                    from: moment(from),
                    to: moment(to),
                    what: match change.kind {
                        BreakKind::Level => ChangeKind::Level,
                        BreakKind::Slope => ChangeKind::Slope,
                    },
                    level_before: Some(within(change.level_before)),
                    level_after: Some(within(change.level_after)),
                    slope_before_per_day: Some(change.slope_before_per_day),
                    slope_after_per_day: Some(change.slope_after_per_day),
                    provisional: change.provisional,
                    beside: beside((from, to), 2 * samples.gap_us, &job_events),
                }
            })
            .collect();
        let trend = segmentation.trend().map(|line| Trend {
            slope_per_day: line.slope_per_day,
            first: within(line.at(times[0])),
            last: within(line.at(times[times.len() - 1])),
        });
        Self {
            changes,
            bounds: main.map_or(Vec::new(), |(found, recurrence)| {
                bounds(found, recurrence, samples, &job_events)
            }),
            trend,
        }
    }
}

/// Returns where a pattern begins or ends within the samples.
fn bounds(
    found: &Found,
    recurrence: &Recurrence,
    samples: &Samples,
    job_events: &[(i64, String)],
) -> Vec<Change> {
    let period_us = as_i64(found.pattern.clock.period_us());
    let (first, last) = found.pattern.active_us;
    let begins = (found.active.start > 0).then_some((first, ChangeKind::PatternBegins));
    let ends = recurrence
        .until
        .is_some()
        .then_some((last, ChangeKind::PatternEnds));
    begins
        .into_iter()
        .chain(ends)
        .map(|(wall_us, what)| {
            let at = samples.offsets.utc_us(wall_us);
            let (from, to) = (at - period_us / 2, at + period_us / 2);
            Change {
                from: moment(from),
                to: moment(to),
                what,
                level_before: None,
                level_after: None,
                slope_before_per_day: None,
                slope_after_per_day: None,
                provisional: false,
                beside: beside((from, to), period_us, job_events),
            }
        })
        .collect()
}

/// Returns when jobs began to run much more or less often, in microseconds, and when those ran that rarely do, with a
/// description of each: `fstrim starts running every day instead of every 7 days`. Logged runs are not compared with
/// computed ones, because today's schedule is no evidence of yesterday's.
fn job_events(jobs: &[JobRuns], times_us: &[i64]) -> Vec<(i64, String)> {
    let (Some(&first), Some(&last)) = (times_us.first(), times_us.last()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for job in jobs {
        let alike = |a: &Run, b: &Run| (a.seen == Seen::Computed) == (b.seen == Seen::Computed);
        for runs in job.runs.chunk_by(alike) {
            for change in rhythm_changes(runs) {
                let at = change.first_after.as_microsecond();
                if (first..=last).contains(&at) {
                    let rescheduled = format!(
                        "{} starts running {} instead of {}",
                        job.name,
                        every(None, change.after_s),
                        every(None, change.before_s)
                    );
                    found.push((at, rescheduled));
                }
            }
        }
        if job.runs.len() < RUNS_MIN {
            let starts = job.runs.iter();
            found.extend(
                starts.map(|run| (run.earliest.as_microsecond(), ran(&job.name, run.seen))),
            );
        }
    }
    found
}

/// Describes a run of a job that rarely runs, such as an upgrade, or an event that a user or another part of the program
/// named: a deployment, another kernel.
pub(super) fn ran(name: &str, seen: Seen) -> String {
    match seen {
        Seen::Given => format!("\"{name}\" is noted"),
        Seen::Journal | Seen::Syslog | Seen::Metric | Seen::Stamp | Seen::Computed => {
            format!("{name} ran")
        }
    }
}

/// Returns what happened between two times, or within `reach_us` of them; of several, the one nearest to
/// the middle.
fn beside(
    (from_us, to_us): (i64, i64),
    reach_us: i64,
    job_events: &[(i64, String)],
) -> Option<String> {
    let near = |at: i64| at >= from_us - reach_us && at <= to_us + reach_us;
    let middle = from_us + (to_us - from_us) / 2;
    job_events
        .iter()
        .filter(|(at, _)| near(*at))
        .min_by_key(|(at, _)| (at - middle).abs())
        .map(|(_, what)| what.clone())
}
