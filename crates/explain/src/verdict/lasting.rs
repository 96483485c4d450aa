//! Lasting changes: changes of level and slope, patterns that begin or end, and what happened at the same
//! time.

use super::recurrence::Recurrence;
use super::result::ChangeKind;
use crate::calendar::offsets::moment;
use crate::change::{BreakKind, Segments};
use crate::fit::found::Found;
use crate::model::input::JobRuns;
use crate::model::samples::Samples;
use crate::numbers::as_i64;
use crate::search::runs::RUNS_MIN;
use jiff::Timestamp;
use schedule::{Run, Seen, rhythm_changes};

/// All lasting changes of a series.
#[derive(Debug, Clone)]
pub(crate) struct Lasting {
    /// Changes of level and slope, oldest first.
    pub changes: Vec<LastingChange>,
    /// Where the main pattern begins or ends within the samples.
    pub bounds: Vec<LastingChange>,
    /// The line through all samples, if it explains them better than a level does.
    pub trend: Option<Trend>,
}

/// A lasting change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LastingChange {
    /// The last sample before it.
    pub from: Timestamp,
    /// The first sample after it.
    pub to: Timestamp,
    /// What changed.
    pub what: ChangeKind,
    /// Level before and after, in the series' unit, unless a pattern begins or ends.
    pub levels: Option<(f64, f64)>,
    /// Slope before and after, in units per day, unless a pattern begins or ends.
    pub slopes_per_day: Option<(f64, f64)>,
    /// Whether it is so recent that more samples may move or remove it.
    pub provisional: bool,
    /// What happened at the same time.
    pub coincidence: Option<Coincidence>,
}

/// Something that jobs did at some time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Coincidence {
    /// A job ran at a different interval from then on.
    Rescheduled {
        /// Its name.
        job: String,
        /// Interval of its runs before, in seconds.
        before_s: f64,
        /// Interval of its runs after, in seconds.
        after_s: f64,
    },
    /// A job ran that rarely does: an upgrade.
    Ran {
        /// Its name.
        job: String,
    },
    /// A user or another part of the program named an event: a deployment, another kernel.
    Noted {
        /// Its name.
        event: String,
    },
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
        let changes = segmentation
            .changes
            .iter()
            .map(|change| {
                let (from, to) = (times[change.index.saturating_sub(1)], times[change.index]);
                LastingChange {
                    from: moment(from),
                    to: moment(to),
                    what: match change.kind {
                        BreakKind::Level => ChangeKind::Level,
                        BreakKind::Slope => ChangeKind::Slope,
                    },
                    levels: Some((change.level_before, change.level_after)),
                    slopes_per_day: Some((change.slope_before_per_day, change.slope_after_per_day)),
                    provisional: change.provisional,
                    coincidence: coincidence((from, to), 2 * samples.gap_us, &job_events),
                }
            })
            .collect();
        let trend = segmentation.trend().map(|line| Trend {
            slope_per_day: line.slope_per_day,
            first: line.at(times[0]),
            last: line.at(times[times.len() - 1]),
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
    job_events: &[(i64, Coincidence)],
) -> Vec<LastingChange> {
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
            LastingChange {
                from: moment(from),
                to: moment(to),
                what,
                levels: None,
                slopes_per_day: None,
                provisional: false,
                coincidence: coincidence((from, to), period_us, job_events),
            }
        })
        .collect()
}

/// Returns when jobs began to run much more or less often, in microseconds. Logged runs are not compared
/// with computed ones, because today's schedule is no evidence of yesterday's.
fn job_events(jobs: &[JobRuns], times_us: &[i64]) -> Vec<(i64, Coincidence)> {
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
                    let rescheduled = Coincidence::Rescheduled {
                        job: job.name.clone(),
                        before_s: change.before_s,
                        after_s: change.after_s,
                    };
                    found.push((at, rescheduled));
                }
            }
        }
        if job.runs.len() < RUNS_MIN {
            let ran = |run: &Run| match run.seen {
                Seen::Given => Coincidence::Noted {
                    event: job.name.clone(),
                },
                Seen::Journal | Seen::Syslog | Seen::Metric | Seen::Stamp | Seen::Computed => {
                    Coincidence::Ran {
                        job: job.name.clone(),
                    }
                }
            };
            let starts = job.runs.iter();
            found.extend(starts.map(|run| (run.earliest.as_microsecond(), ran(run))));
        }
    }
    found
}

/// Returns what happened between two times, or within `reach_us` of them; of several, the one nearest to
/// the middle.
fn coincidence(
    (from_us, to_us): (i64, i64),
    reach_us: i64,
    job_events: &[(i64, Coincidence)],
) -> Option<Coincidence> {
    let near = |at: i64| at >= from_us - reach_us && at <= to_us + reach_us;
    let middle = from_us + (to_us - from_us) / 2;
    job_events
        .iter()
        .filter(|(at, _)| near(*at))
        .min_by_key(|(at, _)| (at - middle).abs())
        .map(|(_, what)| what.clone())
}
