//! Coincidence of job runs with the occurrences of a pattern.

use crate::fit::found::Found;
use crate::model::input::JobRuns;
use crate::model::pattern::Pattern;
use crate::model::samples::Samples;
use crate::numbers::seconds;
use crate::search::runs::{Class, RunsFit};
use schedule::Run;

/// Maximum delay between the start of a job and its effect, beyond what the samples cannot resolve: cron
/// has a resolution of a minute, and programs take time to start.
pub(crate) const LAG_US: i64 = 120_000_000;
/// Maximum number of runs without effect per run with one: a daily job may do its work once a week.
pub(crate) const IDLE_MAX: usize = 8;

/// How a job's runs coincide with the occurrences of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Matches {
    /// Occurrences with a run in their gap, or right before it.
    pub matched: usize,
    /// Occurrences without a run.
    pub missed: usize,
    /// Runs without an occurrence, although there are samples.
    pub idle: usize,
    /// Those between the first and the last occurrence.
    pub idle_meanwhile: usize,
    /// The longest time from a run to the gap after it, if any run preceded its gap.
    pub lag_s: Option<f64>,
    /// Whether the occurrences without a run recur, as weekends do.
    pub misses_recur: bool,
}

impl Matches {
    /// Returns whether most of the occurrences have a run, whatever else runs.
    pub fn is_most(&self) -> bool {
        self.matched > self.missed
    }

    /// Returns whether a job known from logs may have run at each occurrence while the log lost some of its lines. Days on
    /// which the job never runs are not lost log lines.
    pub fn may_be_lost_lines(&self) -> bool {
        let is_most = self.matched >= self.missed * 2 && self.idle * 10 <= self.matched;
        is_most && self.missed > 0 && !self.misses_recur
    }

    /// Returns whether half of the occurrences have a run and there are not too many other runs. A job that
    /// also runs at many other times is not the cause, however well it fits.
    pub fn is_half(&self) -> bool {
        self.matched >= self.missed && self.idle_meanwhile <= self.matched * IDLE_MAX
    }
}

/// Returns the gap that contains each occurrence of a pattern: between the samples around it, or wider if
/// its position is less certain.
pub(crate) fn gaps(found: &Found, samples: &Samples) -> Vec<(i64, i64)> {
    let (first, last) = found.pattern.interval_us;
    let on = found.shown_onsets(samples);
    on.iter()
        .zip(samples_around_onsets(&found.pattern, &on, samples))
        .filter_map(|((at, _), gap)| {
            let (from, to) = gap?;
            let first = samples.offsets.utc_us(at + first);
            let last = samples.offsets.utc_us(at + last);
            Some((from.min(first), to.max(last)))
        })
        .collect()
}

/// How far from an occurrence's gap a run may be to belong to it, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    early_us: i64,
    late_us: i64,
}

impl Reach {
    /// Of runs that show some samples later, or earlier ([`RunsFit::shift`]).
    pub fn shifted(shift: i64, samples: &Samples) -> Self {
        Self {
            early_us: LAG_US + shift.max(0) * samples.gap_us,
            late_us: -shift.min(0) * samples.gap_us,
        }
    }

    /// Of runs that were fitted: the first sample that an event fills in part may be outside the pattern.
    pub fn of(fit: &RunsFit, samples: &Samples) -> Self {
        match fit.event {
            Some(event) => Self {
                early_us: LAG_US + samples.gap_us + event.lag_us.max(0),
                late_us: samples.gap_us - event.lag_us.min(0),
            },
            None => Self::shifted(fit.shift, samples),
        }
    }
}

/// Counts how often a class runs in these gaps, or near them.
pub(crate) fn matches(
    gaps: &[(i64, i64)],
    class: &Class,
    jobs: &[JobRuns],
    samples: &Samples,
    Reach { early_us, late_us }: Reach,
) -> Matches {
    let runs = jobs[class.members[0]].starts_us();
    let (mut taken, mut lag_us) = (0, 0);
    let mut has_run = Vec::with_capacity(gaps.len());
    for &(from, to) in gaps {
        let within = |early: i64| -> Vec<(i64, i64)> {
            runs[runs.partition_point(|run| run.1 < from - early)..]
                .iter()
                .copied()
                .take_while(|run| run.0 <= to + late_us)
                .collect()
        };
        let mut here = within(0);
        if here.is_empty() {
            here = within(early_us);
            // The last run before the gap.
            if let Some(run) = here.pop() {
                lag_us = lag_us.max(from - run.1);
                here = vec![run];
            }
        }
        has_run.push(!here.is_empty());
        taken += here.len();
    }
    let (Some(&first), Some(&last)) = (samples.times_us.first(), samples.times_us.last()) else {
        return Matches {
            missed: gaps.len(),
            ..Matches::default()
        };
    };
    let matched = has_run.iter().filter(|has_run| **has_run).count();
    let between = |from: i64, to: i64| runs.iter().filter(move |run| run.0 >= from && run.1 <= to);
    let (from, to) = (gaps.first(), gaps.last());
    let meanwhile = from
        .zip(to)
        .map_or(0, |(from, to)| between(from.0, to.1).count());
    Matches {
        matched,
        missed: gaps.len() - matched,
        idle: between(first, last).count().saturating_sub(taken),
        idle_meanwhile: meanwhile.saturating_sub(taken),
        lag_s: (lag_us > 0).then(|| seconds(lag_us)),
        misses_recur: misses_recur(&has_run),
    }
}

/// Returns the number of gaps with a run strictly inside.
pub(crate) fn count_inside(gaps: &[(i64, i64)], runs: &[Run]) -> usize {
    let has_run = |(from, to): &&(i64, i64)| {
        let next = runs.partition_point(|run| run.earliest.as_microsecond() <= *from);
        runs.get(next)
            .is_some_and(|run| run.latest.as_microsecond() < *to)
    };
    gaps.iter().filter(has_run).count()
}

/// Returns whether most misses repeat at the same distance, of up to seven occurrences.
fn misses_recur(has_run: &[bool]) -> bool {
    (1..=7).any(|later| {
        let misses = || (later..has_run.len()).filter(|&i| !has_run[i]);
        let again = misses().filter(|&i| !has_run[i - later]).count();
        again >= 2 && again * 3 >= misses().count() * 2
    })
}

/// Returns the times of the samples before and after each onset, except at the very ends.
pub(crate) fn samples_around_onsets(
    pattern: &Pattern,
    on: &[(i64, f64)],
    samples: &Samples,
) -> Vec<Option<(i64, i64)>> {
    let middle = pattern.middle_us();
    let times = &samples.times_us;
    on.iter()
        .map(|&(at, _)| {
            let at = samples.offsets.utc_us(at + middle);
            let after = times.partition_point(|&time| time <= at);
            Some((times[after.checked_sub(1)?], *times.get(after)?))
        })
        .collect()
}
