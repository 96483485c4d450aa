//! The probability of each possible cause of events that were located one by one.
//!
//! The events are points in time, each known to an interval. A job whose run starts anywhere in a window puts the event
//! of that run anywhere in it: the narrower the windows that hold the events, the more likely the job. An unknown cause
//! starts anywhere in a window of its own, of unknown place and width, in every period; no cause, at any time at all.

use super::likelihood::{Cause, JOBS_ODDS, MISS_NATS, ScoredCause, normalise};
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::input::JobRuns;
use crate::model::pattern::Clock;
use crate::model::samples::Samples;
use crate::numbers::{as_f64, as_i64, count_f64, parts_of};
use crate::search::runs::{AfterRun, At, Class, RunsFit};
use crate::search::windows::LATE_US;
use schedule::Delays;

/// Logarithm of the probability that timestamps mark the start of each interval, or the moment: three in twenty.
const SHIFTED_NATS: f64 = 1.9;
/// Parts of their windows in which most runs may start: systemd rarely uses all of a timer's accuracy, and the sum of a random
/// delay and of that is rarely near either end.
const PARTS: [(f64, f64); 5] = [
    (0.0, 1.0),
    (0.0, 0.7),
    (0.0, 0.5),
    (0.15, 0.85),
    (0.25, 0.75),
];
/// Places of a delay that is always the same that are compared, at most.
const SHARED_PLACES_MAX: i64 = 96;
/// Events that are less clear than this may be noise, which the windows that they were looked for in are full of.
const CLEAR_MIN: f64 = 0.5;
/// Calendars and lengths of windows that an unknown cause may have.
pub(super) const UNKNOWN_KINDS: f64 = 4.0;

/// The events as they are compared with starts.
struct Points {
    /// The interval in which each begins, in microseconds of UTC.
    begin_us: Vec<(i64, i64)>,
    /// How clear each is: what may be noise counts less.
    clarity: Vec<f64>,
    /// First and last time at which they could be seen.
    among_us: (i64, i64),
    /// Share of the runs that show one.
    share: f64,
}

/// Compares all causes of located events; the most likely comes first. `None` for other patterns.
pub(super) fn score_located(
    found: &Found,
    samples: &Samples,
    classes: &[Class],
    jobs: &[JobRuns],
) -> Option<Vec<ScoredCause>> {
    found.located.as_ref()?;
    let (Clock::Runs { period_us, .. }, Form::Box { duty }) =
        (&found.pattern.clock, found.pattern.form)
    else {
        return None;
    };
    // Between two samples, or not as exactly.
    let half_us = found.pattern.interval_us.1;
    let mut shown = found.shown_onsets(samples);
    shown.retain(|&(_, clarity)| clarity >= CLEAR_MIN);
    let at = |us: i64| samples.offsets.utc_us(us);
    let begin_us: Vec<(i64, i64)> = (shown.iter())
        .map(|&(onset, _)| (at(onset) - half_us, at(onset) + half_us))
        .collect();
    let on = found.active_onsets(samples);
    let (from, until) = found.pattern.active_us;
    // A run too near to the first or the last sample was not looked at.
    let (first, last) = (found.onsets.first()?.0, found.onsets.last()?.0);
    let among_us = (
        at(from.max(first - period_us / 2)),
        at(until.min(last + period_us / 2)),
    );
    let points = Points {
        share: count_f64(shown.len()) / count_f64(on.len().max(1)),
        among_us,
        clarity: shown.iter().map(|&(_, clarity)| clarity).collect(),
        begin_us,
    };
    let event = AfterRun {
        lag_us: 0,
        len_us: as_i64(duty * as_f64(*period_us)),
    };
    let mut scored = vec![
        ScoredCause::new(Cause::Nothing, 0.0),
        ScoredCause::new(Cause::Unknown, points.unknown(*period_us)),
    ];
    let weighed: Vec<(usize, f64, i64)> = (classes.iter().enumerate())
        .filter_map(|(number, class)| {
            let gains = class.members.iter().map(|&member| {
                let runs = jobs[member].starts_us();
                let parts = if class.delays == Delays::Shared {
                    places(class.width_us() / samples.gap_us.max(1))
                } else {
                    PARTS.to_vec()
                };
                let of = |part: &(f64, f64), later_us: i64| {
                    let runs = parts_of(&runs, *part);
                    points.of_runs(&runs, later_us) - count_f64(parts.len()).ln()
                };
                let usual = parts.iter().map(|part| (of(part, 0), 0));
                let shifted = parts
                    .iter()
                    .map(|part| (of(part, samples.gap_us) - SHIFTED_NATS, -1));
                let all = usual.chain(shifted);
                all.fold((f64::MIN, 0), |a, b| if b.0 > a.0 { b } else { a })
            });
            let (gain, shift) = gains.max_by(|a, b| a.0.total_cmp(&b.0))?;
            (gain > 0.0).then_some((number, gain, shift))
        })
        .collect();
    let trials = count_f64(weighed.len().max(1)).ln();
    scored.extend(weighed.into_iter().map(|(number, gain, shift)| {
        let fit = RunsFit {
            gain,
            form: found.pattern.form,
            at: At::Middle,
            shift,
            amplitude: found.pattern.size(),
            event: Some(event),
        };
        ScoredCause::new(Cause::Class(number, fit), gain + JOBS_ODDS.ln() - trials)
    }));
    normalise(&mut scored);
    Some(scored)
}

/// So many parts of a window, one after the other, up to [`SHARED_PLACES_MAX`].
fn places(count: i64) -> Vec<(f64, f64)> {
    let count = count.clamp(1, SHARED_PLACES_MAX);
    let part = |at: i64| as_f64(at) / as_f64(count);
    (0..count).map(|at| (part(at), part(at + 1))).collect()
}

impl Points {
    /// Logarithm of how much more likely these runs make the events than chance does; with `later_us`, events are dated by
    /// the start of the sample in which they begin.
    fn of_runs(&self, runs: &[(i64, i64)], later_us: i64) -> f64 {
        let among: Vec<(i64, i64)> = (runs.iter())
            .filter(|run| run.1 > self.among_us.0 && run.0 < self.among_us.1)
            .copied()
            .collect();
        let (mut hit, mut missed, mut next, mut gain) = (0usize, 0.0, 0, 0.0);
        // Two events in one window are the work of one run.
        let (mut busy, mut last) = (0usize, None);
        for (&(from, to), clarity) in self.begin_us.iter().zip(&self.clarity) {
            let (from, to) = (from + later_us, to + later_us);
            while next < among.len() && among[next].1 + LATE_US < from {
                next += 1;
            }
            // Of several runs at once, any may be the cause.
            let near = among[next..].iter().take_while(|run| run.0 < to);
            let densities = near.enumerate().map(|(after, run)| {
                let until = run.1 + LATE_US;
                let within = to.min(until) - from.max(run.0);
                let density = as_f64(within.max(0)) / as_f64(until - run.0);
                (density, next + after)
            });
            let (density, run) = densities.fold((0.0, 0), |a, b| if b.0 > a.0 { b } else { a });
            if density > 0.0 {
                hit += 1;
                busy += usize::from(last != Some(run));
                last = Some(run);
                gain += clarity * (density.ln() - self.by_chance((from, to)));
            } else {
                missed += clarity;
            }
        }
        if hit == 0 {
            return f64::MIN;
        }
        // The share of runs with an event is fitted.
        let (of, idle) = (count_f64(among.len()), count_f64(among.len() - busy));
        gain + nats_of_shares(count_f64(busy), idle)
            - 0.5 * of.ln()
            - MISS_NATS * (missed + count_f64(hit - busy))
    }

    /// Logarithm of the probability that an event is in its interval by chance.
    fn by_chance(&self, begin: (i64, i64)) -> f64 {
        let all = as_f64((self.among_us.1 - self.among_us.0).max(1));
        (as_f64(begin.1 - begin.0) * count_f64(self.begin_us.len()) / all)
            .min(1.0)
            .ln()
    }

    /// The same of an unknown cause that starts anywhere in a window of its own in each period: its place and its width,
    /// both unknown, are averaged over.
    fn unknown(&self, period_us: i64) -> f64 {
        let Some(&(first, _)) = self.begin_us.first() else {
            return 0.0;
        };
        let place =
            |begin: &(i64, i64)| (i64::midpoint(begin.0, begin.1) - first).rem_euclid(period_us);
        let mut places: Vec<(i64, f64)> = (self.begin_us.iter().zip(&self.clarity))
            .map(|(begin, clarity)| (place(begin), *clarity))
            .collect();
        places.sort_by_key(|one| one.0);
        let clear: f64 = self.clarity.iter().sum();
        let (count, known_us) = (places.len(), self.begin_us[0].1 - self.begin_us[0].0);
        // Once around, from each place on.
        let around = |at: usize| places[at % count].0 + as_i64(count_f64(at / count)) * period_us;
        let idle = count_f64(count) * (1.0 / self.share - 1.0);
        let within = |hit: usize| {
            let width = |at: &usize| around(at + hit - 1) - places[*at].0;
            let narrowest = (0..count).min_by_key(width).unwrap_or(0);
            let width_us = as_f64(width(&narrowest) + known_us);
            let within: f64 = (narrowest..narrowest + hit)
                .map(|at| places[at % count].1)
                .sum();
            let each = (as_f64(known_us) / width_us).ln() - self.by_chance(self.begin_us[0]);
            within * each + nats_of_shares(count_f64(hit), idle)
                - MISS_NATS * (clear - within)
                - (as_f64(period_us) / width_us).max(1.0).ln()
        };
        // Some events may be others' or in the wrong place.
        let least = count.div_ceil(2);
        (least..=count).map(within).fold(f64::MIN, f64::max)
            - 2.0 * count_f64(count).ln()
            - UNKNOWN_KINDS.ln()
    }
}

/// Logarithm of the probability that so many runs have an effect and so many have none, at the share that fits best.
fn nats_of_shares(busy: f64, idle: f64) -> f64 {
    let of = |count: f64| {
        if count > 0.0 {
            count * (count / (busy + idle)).ln()
        } else {
            0.0
        }
    };
    of(busy) + of(idle)
}
