//! How well the runs of one job explain events.

use super::likelihood::{LESS_NATS, LOST_NATS, MISS_NATS, WORKDAYS_MIN};
use super::matches::{LAG_US, Matches};
use super::response::{Explained, Response};
use crate::calendar::weekdays::Weekdays;
use crate::fit::found::Found;
use crate::model::pattern::Clock;
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, count_f64, later, parts_of, widest_us};
use crate::search::runs::Class;
use schedule::Delays;

/// How long after a run its effect begins, in seconds, with the probability of that.
const LAGS_S: [(i64, f64); 7] = [
    (0, 0.41),
    (30, 0.2),
    (60, 0.2),
    (120, 0.11),
    (300, 0.04),
    (600, 0.02),
    (1200, 0.02),
];
/// Probability that timestamps mark the start of each interval, as in many exports, and if the source is known.
const DATED_BY_START: f64 = 0.12;
const DATED_BY_START_IF_TOLD: f64 = 0.01;
/// Runs of a class for each occurrence, at most: a job that also runs at many other times is not the cause.
const RUNS_PER_OCCURRENCE_MAX: usize = 9;
/// The largest share of the occurrences that show something at which a job may not have run.
const MISSED_MAX: f64 = 0.25;
/// Variants and lags of a job that are compared exactly, at most; those that are so much less likely at a first look
/// are not, nor is a job that explains less than this share of what an unknown cause does.
const EXACTLY_MAX: usize = 4;
const QUICK_NATS: f64 = 20.0;
const QUICK_SHARE: f64 = 0.5;
/// What a job explains near an unknown cause's starts is at most so many times what that explains there, and so many nats more.
const NEAR_FACTOR: f64 = 1.5;
const NEAR_NATS: f64 = 30.0;
/// A window is wide for lags of which it is more than so many times as long.
const LAGS_IN_WINDOW: i64 = 12;
/// Of a job's runs, every one of so many may have an effect, at a cost, if the pattern's period is that many times the job's,
/// give or take.
const KTH: std::ops::RangeInclusive<usize> = 2..=4;
const KTH_NATS: f64 = 3.0;
const KTH_NEAR: f64 = 0.03;
/// Places of a delay that is always the same that are compared at once, and in the end in the time of each sample.
const PLACES_AT_ONCE: f64 = 16.0;
const PLACES_IN_SAMPLE: f64 = 3.0;

/// What is compared with every class.
pub(super) struct Question<'a> {
    pub found: &'a Found,
    pub samples: &'a Samples,
    pub response: Response,
    /// The best starts of an unknown cause, and what these explain.
    pub unknown: Option<(Vec<i64>, Explained)>,
    /// The power of the likelihood.
    pub power: f64,
    /// Penalty for a time of its own at which a pattern begins or ends, in nats.
    pub bounds: f64,
    /// Occurrences while it is active.
    pub occurrences: usize,
    /// Number of classes, and of those with the pattern's period.
    pub classes: usize,
    pub alike: usize,
}

/// How well a job explains the events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed {
    pub gain: f64,
    pub amplitude: f64,
    pub lag_us: i64,
    pub len_us: i64,
}

impl Question<'_> {
    /// Weighs the runs of one job of a class. `None` if it runs at far too many other times.
    pub fn weigh(&self, runs: &[(i64, i64)], class: &Class, in_gaps: &Matches) -> Option<Weighed> {
        let pattern = &self.found.pattern;
        let all = self.among(runs);
        let on = self.while_active(&all);
        if on.is_empty() || on.len() > self.occurrences * RUNS_PER_OCCURRENCE_MAX {
            return None;
        }
        if let Some(far) = self.far(&all) {
            return Some(far);
        }
        let on_all = on.clone();
        let days = pattern.clock.weekdays();
        let mut variants: Vec<(Vec<(i64, i64)>, f64)> = Vec::new();
        if days != Weekdays::ALL && days.count() >= WORKDAYS_MIN {
            let is_on_days = |start: &&(i64, i64)| {
                pattern
                    .clock
                    .is_on_its_days(self.samples.offsets.wall_us(start.1))
            };
            let on_days = on.iter().filter(is_on_days).copied().collect();
            variants.push((on_days, self.bounds + days.penalty() + LESS_NATS));
        }
        // It runs throughout, or only had an effect while the pattern was active.
        if on.len() < all.len() {
            variants.push((all, 0.0));
            variants.push((on, self.bounds));
        } else {
            variants.push((on, 0.0));
        }
        variants.extend(self.every_kth(&on_all, class));
        // What the source says of samples, it also dates.
        let dated_by_start = match self.samples.sample_of {
            Some(_) => DATED_BY_START_IF_TOLD,
            None => DATED_BY_START,
        };
        let mut lags: Vec<(i64, f64)> = vec![(0, 0.0)];
        for (lag_s, share) in LAGS_S {
            let (lag_us, share) = (lag_s * 1_000_000, share * (1.0 - dated_by_start));
            // Where in a wide window a run starts says more.
            if lag_us == 0 || lag_us * LAGS_IN_WINDOW < class.width_us() {
                lags[0].1 += share;
            } else {
                lags.push((lag_us, share));
            }
        }
        let mut delays = class.delays;
        if delays == Delays::Shared {
            variants = variants
                .iter()
                .flat_map(|(starts, penalty)| self.at_best_places(starts, *penalty))
                .collect();
            delays = Delays::Either;
            lags = vec![(0, 1.0 - dated_by_start)];
        }
        lags.push((-self.samples.gap_us, dated_by_start));
        let mut weighed: Vec<Weighed> = self.quickest(&variants, &lags, delays);
        weighed.extend(self.lost_lines(class, in_gaps));
        let best = weighed
            .iter()
            .copied()
            .max_by(|a, b| a.gain.total_cmp(&b.gain))?;
        let sum: f64 = weighed.iter().map(|one| (one.gain - best.gain).exp()).sum();
        Some(Weighed {
            gain: best.gain + sum.ln(),
            ..best
        })
    }

    /// The starts at one place of their windows, for each of the places that explain the values best: the delay is always the
    /// same.
    fn at_best_places(&self, starts: &[(i64, i64)], penalty: f64) -> Vec<(Vec<(i64, i64)>, f64)> {
        let fine = as_f64(self.samples.gap_us.max(1))
            / as_f64(widest_us(starts).max(1))
            / PLACES_IN_SAMPLE;
        let mut part = (0.0, 1.0);
        loop {
            let width = (part.1 - part.0) / PLACES_AT_ONCE;
            let places: Vec<(f64, f64)> = (0..as_count(PLACES_AT_ONCE))
                .map(|place| part.0 + width * count_f64(place))
                .map(|from| (from, from + width))
                .collect();
            let lag_us = self.samples.gap_us;
            let explained = |place: &(f64, f64)| {
                let at_once = parts_of(starts, *place);
                // Timestamps may mark the start of each interval.
                let earlier = later(&at_once, -lag_us);
                (self.response.quickly(&at_once)).max(self.response.quickly(&earlier))
            };
            if width <= fine {
                let penalty = penalty - width.ln();
                return places
                    .iter()
                    .map(|place| (parts_of(starts, *place), penalty))
                    .collect();
            }
            let Some((from, to)) =
                (places.into_iter()).max_by(|a, b| explained(a).total_cmp(&explained(b)))
            else {
                return Vec::new();
            };
            part = ((from - width).max(0.0), (to + width).min(1.0));
        }
    }

    /// Every second to fourth run, if the pattern comes as rarely: a guard that cannot be evaluated, or work that is only
    /// there every other time.
    fn every_kth(&self, on: &[(i64, i64)], class: &Class) -> Vec<(Vec<(i64, i64)>, f64)> {
        let ratio = self.found.pattern.clock.period_us() / as_f64(class.period_us);
        let every = as_count(ratio);
        if !KTH.contains(&every) || (ratio / count_f64(every) - 1.0).abs() > KTH_NEAR {
            return Vec::new();
        }
        (0..every)
            .map(|first| {
                let runs: Vec<(i64, i64)> = on.iter().skip(first).step_by(every).copied().collect();
                (runs, self.bounds + count_f64(every).ln() + KTH_NATS)
            })
            .collect()
    }

    /// Weighs the most likely of some variants of a job's starts, each begun by some lags.
    fn quickest(
        &self,
        variants: &[(Vec<(i64, i64)>, f64)],
        lags: &[(i64, f64)],
        delays: Delays,
    ) -> Vec<Weighed> {
        let unlikely = (self.unknown.as_ref()).map_or(f64::MIN, |(_, unknown)| {
            unknown.evidence * self.power * QUICK_SHARE - QUICK_NATS
        });
        let mut tried = Vec::with_capacity(variants.len() * lags.len());
        for (starts, penalty) in variants {
            for &(lag_us, share) in lags {
                let mut moved = later(starts, lag_us);
                self.response.as_seen(&mut moved);
                let missed = self.missed(&moved);
                let prior = share.ln() - penalty;
                let with = |evidence: f64| (evidence + missed) * self.power + prior;
                // A first look does not try events that are much shorter than the interval of their start.
                let is_delayed = moved.iter().any(|start| {
                    let interval_us = start.1 - start.0;
                    interval_us > self.samples.gap_us && interval_us >= self.response.len_us() / 2
                });
                let some = (self.unknown.as_ref())
                    .and_then(|_| self.response.by_some(&moved, is_delayed.then_some(delays)));
                let by_some = some.map(with).filter(|gain| *gain < unlikely);
                let gain = by_some.unwrap_or_else(|| with(self.response.quickly(&moved)));
                let is_unlikely = by_some.is_some() || gain < unlikely && !is_delayed;
                tried.push((gain, missed, prior, lag_us, moved, is_unlikely));
            }
        }
        tried.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = tried.first().map_or(f64::MIN, |first| first.0);
        (tried.into_iter())
            .take(EXACTLY_MAX)
            .take_while(|one| one.0 > best - QUICK_NATS)
            .map(|(gain, missed, prior, lag_us, moved, is_unlikely)| {
                if is_unlikely {
                    return Weighed {
                        gain,
                        amplitude: self.found.pattern.size(),
                        lag_us,
                        len_us: self.response.len_us(),
                    };
                }
                let explained = self.response.to(&moved, delays);
                Weighed {
                    gain: (explained.evidence + missed) * self.power + prior,
                    amplitude: explained.amplitude,
                    lag_us,
                    len_us: explained.len_us,
                }
            })
            .collect()
    }

    /// A job, known from logs, that ran at each occurrence while the log lost some of its lines: it explains as much as an
    /// unknown cause does, and its phase is no coincidence.
    fn lost_lines(&self, class: &Class, in_gaps: &Matches) -> Option<Weighed> {
        let (_, unknown) = self.unknown.as_ref()?;
        (class.is_observed && in_gaps.may_be_lost_lines()).then_some(Weighed {
            gain: unknown.evidence * self.power - LOST_NATS - self.bounds,
            amplitude: unknown.amplitude,
            lag_us: 0,
            len_us: unknown.len_us,
        })
    }

    /// The runs while the pattern is active.
    pub fn while_active(&self, runs: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let longest_lag_us = LAGS_S[LAGS_S.len() - 1].0 * 1_000_000;
        let (from, until) = self.found.pattern.active_us;
        let from = from.saturating_sub(self.samples.gap_us.max(longest_lag_us));
        let is_on =
            |start: &&(i64, i64)| (from..=until).contains(&self.samples.offsets.wall_us(start.1));
        runs.iter().filter(is_on).copied().collect()
    }

    /// The runs among the samples.
    pub fn among(&self, starts: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let times = &self.samples.times_us;
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return Vec::new();
        };
        let is_among = |start: &&(i64, i64)| start.1 > first && start.0 < last;
        starts.iter().filter(is_among).copied().collect()
    }

    /// What a job can explain at most whose runs are far from nearly all that an unknown cause explains, if that is much.
    fn far(&self, runs: &[(i64, i64)]) -> Option<Weighed> {
        let (onsets, unknown) = self.unknown.as_ref()?;
        if matches!(self.found.pattern.clock, Clock::Runs { .. }) {
            return None;
        }
        let shown = || unknown.by_start.iter().map(|gain| gain.max(0.0));
        let reach_us = self.reach_us() + LAGS_S[LAGS_S.len() - 1].0 * 1_000_000;
        let near: f64 = (onsets.iter().zip(shown()))
            .filter(|(at, _)| is_near(**at, runs, reach_us))
            .map(|(_, gain)| gain)
            .sum();
        let at_most = near * NEAR_FACTOR + NEAR_NATS / self.power;
        (at_most < shown().sum::<f64>() * QUICK_SHARE).then(|| Weighed {
            gain: near * self.power,
            amplitude: self.found.pattern.size(),
            lag_us: 0,
            len_us: self.response.len_us(),
        })
    }

    /// How far from an occurrence a run may start that has to do with it.
    fn reach_us(&self) -> i64 {
        self.response.longest_us() + self.samples.gap_us * 2 + LAG_US
    }

    /// The [`credit`] for occurrences that no course of an effect after a start reaches.
    fn missed(&self, starts: &[(i64, i64)]) -> f64 {
        let Some((onsets, unknown)) = &self.unknown else {
            return 0.0;
        };
        let reach_us = self.reach_us();
        credit(
            onsets
                .iter()
                .map(|at| !is_near(*at, starts, reach_us))
                .zip(unknown.by_start.iter().copied()),
        )
    }
}

/// Whether one of some starts, in order, may be this near to a time.
fn is_near(at_us: i64, starts: &[(i64, i64)], reach_us: i64) -> bool {
    let next = starts.partition_point(|start| start.1 < at_us - reach_us);
    (starts.get(next)).is_some_and(|start| start.0 <= at_us + reach_us)
}

/// What an unknown cause explains at occurrences that a job missed, each at a cost, from whether it missed them and what
/// an unknown cause gains there: logs lose lines. Nothing if the job missed more than [`MISSED_MAX`] of those that show
/// something: then this is another cause.
fn credit(occurrences: impl Iterator<Item = (bool, f64)>) -> f64 {
    let (mut shown, mut missed, mut credit) = (0, 0, 0.0);
    for (is_missed, gain) in occurrences.filter(|(_, gain)| *gain > 0.0) {
        shown += 1;
        if is_missed {
            missed += 1;
            credit += (gain - MISS_NATS).max(0.0);
        }
    }
    if count_f64(missed) > count_f64(shown) * MISSED_MAX {
        return 0.0;
    }
    credit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_misses_cost_little_and_many_are_another_cause() {
        let of = |missed: usize| credit((0..20).map(|at| (at < missed, 30.0)));
        assert!((of(1) - (30.0 - MISS_NATS)).abs() < 1e-9);
        assert!((of(5) - 5.0 * (30.0 - MISS_NATS)).abs() < 1e-9);
        assert!(of(6).abs() < f64::EPSILON);
        // A job that ran at none of them gains nothing from those at which nothing happened either.
        let rare = (0..84).map(|at| (true, if at % 6 == 0 { 30.0 } else { -3.0 }));
        assert!(credit(rare).abs() < f64::EPSILON);
    }
}
