//! The probability of each possible cause of recurring events.
//!
//! Every class of jobs, an unknown cause that acts at any phase of the pattern's period, and no cause are compared by
//! the evidence that the values [respond](super::response) to their starts. A job is no better than an unknown cause at
//! the same phase; it is more likely because its phase was known before. So jobs are told from chance by how many
//! phases there were, and by every start that is not periodic: a day left out, a clock change, another schedule.

use super::likelihood::{
    Cause, JOBS_ODDS, LESS_NATS, LOST_NATS, MISS_NATS, ScoredCause, WORKDAYS_MIN, normalise,
};
use super::located::UNKNOWN_KINDS;
use super::matches::{LAG_US, Matches};
use super::response::{Explained, Response, power};
use super::sums::log_mean;
use crate::calendar::weekdays::Weekdays;
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::input::JobRuns;
use crate::model::pattern::{Clock, Pattern};
use crate::model::samples::{SampleTaken, Samples};
use crate::numbers::{as_count, as_f64, as_i64, count_f64};
use crate::search::runs::{AfterRun, At, Class, RunsFit};
use facts::series::SampleOf;
use rayon::prelude::*;
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
/// Gauges are read at least this often.
const GAUGES_US: i64 = 3_600_000_000;
/// What a sample says counts in both ways unless one explains this much less than the other, in nats, and is told if it explains
/// that much more.
const UNLIKELY_NATS: f64 = 30.0;
const TELLING_NATS: f64 = 3.0;
/// How much more likely it is what the source says, in nats: exporters keep means and maxima of their own.
const SOURCE_NATS: f64 = 10.0;
/// Runs of a class for each occurrence, at most: a job that also runs at many other times is not the cause.
const RUNS_PER_OCCURRENCE_MAX: usize = 9;
/// The largest share of the occurrences that show something at which a job may not have run.
const MISSED_MAX: f64 = 0.25;
/// Variants and lags of a job that are compared exactly, at most; those that are so much less likely at a first look
/// are not, nor is a job that explains less than this share of what an unknown cause does.
const EXACTLY_MAX: usize = 4;
const QUICK_NATS: f64 = 20.0;
const QUICK_SHARE: f64 = 0.5;
/// Of a job's runs, every one of so many may have an effect, at a cost, if the pattern's period is that many times the job's,
/// give or take.
const KTH: std::ops::RangeInclusive<usize> = 2..=4;
const KTH_NATS: f64 = 3.0;
const KTH_NEAR: f64 = 0.03;
/// Places of a delay that is always the same that are compared at once, and in the end in the time of each sample.
const PLACES_AT_ONCE: f64 = 16.0;
const PLACES_IN_SAMPLE: f64 = 3.0;
/// Phases of a period that are compared, at most.
const PHASES_MAX: i64 = 2016;

/// What is compared with every class.
struct Question<'a> {
    found: &'a Found,
    samples: &'a Samples,
    response: Response,
    /// The best starts of an unknown cause, and what these explain.
    unknown: Option<(Vec<i64>, Explained)>,
    /// The power of the likelihood.
    power: f64,
    /// Penalty for a time of its own at which a pattern begins or ends, in nats.
    bounds: f64,
    /// Occurrences while it is active.
    occurrences: usize,
    /// Number of classes, and of those with the pattern's period.
    classes: usize,
    alike: usize,
}

/// All causes of a pattern, the most likely first.
#[derive(Debug, Clone)]
pub(crate) struct Scored {
    pub causes: Vec<ScoredCause>,
    /// What a sample was taken for, if values or source tell.
    pub sample: Option<SampleTaken>,
}

/// Compares all causes of a pattern in `values`, the series without its other patterns. `None` if the pattern does not consist
/// of events.
pub(crate) fn score_events(
    found: &Found,
    samples: &Samples,
    values: &[f64],
    classes: &[Class],
    jobs: &[JobRuns],
    in_gaps: &(impl Fn(usize, i64) -> Matches + Sync),
) -> Option<Scored> {
    let pattern = &found.pattern;
    let moves = |class: &Class| is_alike(class, pattern) && may_move(class, jobs, pattern);
    let is_in_place = !classes.iter().any(moves);
    let rival = match &pattern.clock {
        Clock::Fixed { .. } => Some(pattern),
        Clock::Runs { .. } => found.best_without_jobs.as_ref(),
    };
    if rival.is_some_and(|rival| !matches!(rival.form, Form::Box { .. })) {
        return None;
    }
    let starts = starts_of(rival.unwrap_or(pattern), found, samples);
    let mut responses = Vec::new();
    let either = if samples.gap_us <= GAUGES_US {
        &[SampleOf::Interval, SampleOf::Moment][..]
    } else {
        &[SampleOf::Interval]
    };
    for &sample_of in either {
        let response = Response::new(found, samples, values, is_in_place, sample_of)?;
        let is_told_otherwise = samples.sample_of.is_some_and(|told| told != sample_of);
        let penalty = if is_told_otherwise { SOURCE_NATS } else { 0.0 };
        let evidence = response.near(&starts) - penalty;
        responses.push((response, evidence, penalty));
    }
    let evidence: Vec<f64> = responses.iter().map(|one| one.1).collect();
    let sample = sample_taken(&evidence, samples.sample_of);
    let best = evidence.into_iter().fold(f64::MIN, f64::max);
    responses.retain(|one| one.1 >= best - UNLIKELY_NATS);
    let rival = rival.map(|rival| (rival, &starts[..]));
    let scored: Vec<Vec<ScoredCause>> = (responses.into_iter())
        .map(|(response, _, penalty)| {
            let mut scored = score_response(
                response,
                power(best),
                (found, samples),
                rival,
                (classes, jobs),
                in_gaps,
            );
            for one in scored.iter_mut().filter(|one| one.cause != Cause::Nothing) {
                one.gain -= penalty;
            }
            scored
        })
        .collect();
    let mut causes = averaged(scored);
    normalise(&mut causes);
    Some(Scored { causes, sample })
}

/// What a sample was taken for, from the evidence that it is an interval's and that it is a moment's, in nats. `None` if only one
/// was tried, or if neither values nor source tell.
fn sample_taken(evidence: &[f64], source: Option<SampleOf>) -> Option<SampleTaken> {
    let &[interval, moment] = evidence else {
        return None;
    };
    let sample_of = if interval > moment {
        SampleOf::Interval
    } else {
        SampleOf::Moment
    };
    let by_source = source == Some(sample_of);
    (by_source || (interval - moment).abs() >= TELLING_NATS).then_some(SampleTaken {
        sample_of,
        by_source,
    })
}

/// The mean evidence for each cause over what a sample may be.
fn averaged(mut scored: Vec<Vec<ScoredCause>>) -> Vec<ScoredCause> {
    let count = scored.len();
    let mut first = scored.swap_remove(0);
    let is_same = |a: &Cause, b: &Cause| match (a, b) {
        (Cause::Class(one, _), Cause::Class(other, _)) => one == other,
        (a, b) => a == b,
    };
    for other in scored.into_iter().flatten() {
        match first
            .iter_mut()
            .find(|one| is_same(&one.cause, &other.cause))
        {
            Some(one) => {
                let both = log_mean([one.gain, other.gain].into_iter());
                if other.gain > one.gain {
                    *one = other;
                }
                one.gain = both;
            }
            None => first.push(ScoredCause {
                gain: other.gain - count_f64(count).ln(),
                ..other
            }),
        }
    }
    first
}

/// Compares all causes by how values respond that say one thing, with a power of the likelihood that is the same for both.
fn score_response(
    response: Response,
    power: f64,
    (found, samples): (&Found, &Samples),
    rival: Option<(&Pattern, &[i64])>,
    (classes, jobs): (&[Class], &[JobRuns]),
    in_gaps: &(impl Fn(usize, i64) -> Matches + Sync),
) -> Vec<ScoredCause> {
    let pattern = &found.pattern;
    let ends =
        usize::from(found.active.start > 0) + usize::from(found.active.end < found.onsets.len());
    let bounds = count_f64(ends) * (count_f64(found.onsets.len().max(1)).ln() + 3.0);
    let mut scored = vec![ScoredCause {
        cause: Cause::Nothing,
        score: 0.0,
        gain: 0.0,
    }];
    let unknown = rival.map(|(rival, starts)| {
        let period_us = as_i64(rival.clock.period_us());
        let (mean, there, best) = response.to_any_phase(starts, period_us, PHASES_MAX, power);
        scored.push(ScoredCause {
            cause: Cause::Unknown,
            score: 0.0,
            gain: mean - rival.clock.weekdays().penalty() - bounds,
        });
        (there, best)
    });
    let question = Question {
        found,
        samples,
        response,
        power,
        unknown,
        bounds,
        occurrences: found.active.len().max(1),
        classes: classes.len(),
        alike: classes
            .iter()
            .filter(|class| is_alike(class, pattern))
            .count(),
    };
    let of_class = |(number, class): (usize, &Class)| {
        let members: Vec<Weighed> = class
            .members
            .iter()
            .filter_map(|&member| {
                question.weigh(&runs_of(&jobs[member]), class, &in_gaps(number, 0))
            })
            .collect();
        let best = members.iter().max_by(|a, b| a.gain.total_cmp(&b.gain))?;
        // Each member alone explains what it explains.
        let sum: f64 = members.iter().map(|one| (one.gain - best.gain).exp()).sum();
        let gain = best.gain + (sum / count_f64(class.members.len())).ln();
        let trials = if is_alike(class, pattern) {
            question.alike
        } else {
            question.classes
        };
        let fit = RunsFit {
            gain,
            form: pattern.form,
            at: At::Middle,
            shift: if best.lag_us < 0 { -1 } else { 0 },
            amplitude: best.amplitude,
            event: Some(AfterRun {
                lag_us: best.lag_us,
                len_us: best.len_us,
            }),
        };
        Some(ScoredCause {
            cause: Cause::Class(number, fit),
            score: 0.0,
            gain: gain + JOBS_ODDS.ln() - count_f64(trials.max(1)).ln(),
        })
    };
    scored.par_extend(classes.par_iter().enumerate().filter_map(of_class));
    question.admit_rhythm_of_best(classes, jobs, &mut scored);
    scored
}

/// How well a job explains the events.
#[derive(Debug, Clone, Copy)]
struct Weighed {
    gain: f64,
    amplitude: f64,
    lag_us: i64,
    len_us: i64,
}

impl Question<'_> {
    /// Lets the unknown cause do what the best class does: begin at one place of a window, wherever in its period; and come as
    /// often, at any phase, if that is another period. Values that recur every ten minutes say little for the one of two
    /// jobs that runs every ten minutes.
    fn admit_rhythm_of_best(
        &self,
        classes: &[Class],
        jobs: &[JobRuns],
        scored: &mut [ScoredCause],
    ) {
        let best = scored
            .iter()
            .filter_map(|one| match one.cause {
                Cause::Class(number, fit) => Some((&classes[number], fit.gain, one.gain)),
                _ => None,
            })
            .max_by(|a, b| a.2.total_cmp(&b.2));
        let Some((class, gain, _)) = best else {
            return;
        };
        let mut least = f64::MIN;
        let all = self.among(&runs_of(&jobs[class.members[0]]));
        if class.is_wide(self.samples.gap_us) {
            // Its place was known no better than to the width of its windows.
            let windows = as_f64(class.period_us) / as_f64(class.width_us().max(1));
            least = gain - windows.max(1.0).ln() - UNKNOWN_KINDS.ln();
        }
        if !is_alike(class, &self.found.pattern) {
            least = least.max(self.at_any_phase(&all, class.period_us));
        }
        for one in scored.iter_mut().filter(|one| one.cause == Cause::Unknown) {
            one.gain = one.gain.max(least);
        }
    }

    /// How well starts as far apart as these runs explain the values, at any phase, throughout or only while the pattern is
    /// active, as those of a job.
    fn at_any_phase(&self, runs: &[(i64, i64)], period_us: i64) -> f64 {
        let on = self.while_active(runs);
        [(runs, 0.0), (&on[..], self.bounds)]
            .into_iter()
            .filter(|(runs, _)| !runs.is_empty())
            .map(|(runs, penalty)| {
                let middles: Vec<i64> = (runs.iter())
                    .map(|run| i64::midpoint(run.0, run.1))
                    .collect();
                let (mean, ..) =
                    (self.response).to_any_phase(&middles, period_us, PHASES_MAX, self.power);
                mean - penalty
            })
            .fold(f64::MIN, f64::max)
    }

    /// Weighs the runs of one job of a class. `None` if it runs at far too many other times.
    fn weigh(&self, runs: &[(i64, i64)], class: &Class, in_gaps: &Matches) -> Option<Weighed> {
        let pattern = &self.found.pattern;
        let all = self.among(runs);
        let on = self.while_active(&all);
        if on.is_empty() || on.len() > self.occurrences * RUNS_PER_OCCURRENCE_MAX {
            return None;
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
        let mut lags: Vec<(i64, f64)> = LAGS_S
            .iter()
            .map(|(lag_s, share)| (lag_s * 1_000_000, share * (1.0 - dated_by_start)))
            .collect();
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
        let widest_us = starts
            .iter()
            .map(|start| start.1 - start.0)
            .max()
            .unwrap_or(0);
        let fine = as_f64(self.samples.gap_us.max(1)) / as_f64(widest_us.max(1)) / PLACES_IN_SAMPLE;
        let within = |part: (f64, f64)| -> Vec<(i64, i64)> {
            let at =
                |start: &(i64, i64), part: f64| start.0 + as_i64(as_f64(start.1 - start.0) * part);
            (starts.iter())
                .map(|start| (at(start, part.0), at(start, part.1)))
                .collect()
        };
        let mut part = (0.0, 1.0);
        loop {
            let width = (part.1 - part.0) / PLACES_AT_ONCE;
            let places: Vec<(f64, f64)> = (0..as_count(PLACES_AT_ONCE))
                .map(|place| part.0 + width * count_f64(place))
                .map(|from| (from, from + width))
                .collect();
            let lag_us = self.samples.gap_us;
            let explained = |place: &(f64, f64)| {
                // Timestamps may mark the start of each interval.
                let mut earlier = within(*place);
                let at_once = self.response.quickly(&earlier);
                for start in &mut earlier {
                    *start = (start.0 - lag_us, start.1 - lag_us);
                }
                at_once.max(self.response.quickly(&earlier))
            };
            if width <= fine {
                let penalty = penalty - width.ln();
                return places
                    .iter()
                    .map(|place| (within(*place), penalty))
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
        let mut tried = Vec::with_capacity(variants.len() * lags.len());
        for (starts, penalty) in variants {
            for &(lag_us, share) in lags {
                let mut moved: Vec<(i64, i64)> = starts
                    .iter()
                    .map(|start| (start.0 + lag_us, start.1 + lag_us))
                    .collect();
                self.response.as_seen(&mut moved);
                let missed = self.missed(&moved);
                let prior = share.ln() - penalty;
                let gain = (self.response.quickly(&moved) + missed) * self.power + prior;
                tried.push((gain, missed, prior, lag_us, moved));
            }
        }
        tried.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = tried.first().map_or(f64::MIN, |first| first.0);
        let unlikely = (self.unknown.as_ref()).map_or(f64::MIN, |(_, unknown)| {
            unknown.evidence * self.power * QUICK_SHARE - QUICK_NATS
        });
        let is_likely = |one: &(f64, f64, f64, i64, Vec<_>)| one.0 > best - QUICK_NATS;
        (tried.into_iter())
            .take(EXACTLY_MAX)
            .take_while(is_likely)
            .map(|(gain, missed, prior, lag_us, moved)| {
                // A first look does not try events that are much shorter than the interval of their start.
                let is_delayed = moved.iter().any(|start| {
                    let interval_us = start.1 - start.0;
                    interval_us > self.samples.gap_us && interval_us >= self.response.len_us() / 2
                });
                if gain < unlikely && !is_delayed {
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
        let is_most = in_gaps.matched >= in_gaps.missed * 2 && in_gaps.idle * 10 <= in_gaps.matched;
        // Days on which the job never runs are not lost log lines.
        let may_be = class.is_observed && is_most && in_gaps.missed > 0 && !in_gaps.misses_recur;
        may_be.then_some(Weighed {
            gain: unknown.evidence * self.power - LOST_NATS - self.bounds,
            amplitude: unknown.amplitude,
            lag_us: 0,
            len_us: unknown.len_us,
        })
    }

    /// The runs while the pattern is active.
    fn while_active(&self, runs: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let longest_lag_us = LAGS_S[LAGS_S.len() - 1].0 * 1_000_000;
        let (from, until) = self.found.pattern.active_us;
        let from = from.saturating_sub(self.samples.gap_us.max(longest_lag_us));
        let is_on =
            |start: &&(i64, i64)| (from..=until).contains(&self.samples.offsets.wall_us(start.1));
        runs.iter().filter(is_on).copied().collect()
    }

    /// The runs among the samples.
    fn among(&self, starts: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let times = &self.samples.times_us;
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return Vec::new();
        };
        let is_among = |start: &&(i64, i64)| start.1 > first && start.0 < last;
        starts.iter().filter(is_among).copied().collect()
    }

    /// The [`credit`] for occurrences that no course of an effect after a start reaches.
    fn missed(&self, starts: &[(i64, i64)]) -> f64 {
        let Some((onsets, unknown)) = &self.unknown else {
            return 0.0;
        };
        let reach_us = self.response.longest_us() + self.samples.gap_us * 2 + LAG_US;
        let is_missed = |at: i64| {
            let next = starts.partition_point(|start| start.1 < at - reach_us);
            starts.get(next).is_none_or(|start| start.0 > at + reach_us)
        };
        credit(
            onsets
                .iter()
                .map(|at| is_missed(*at))
                .zip(unknown.by_start.iter().copied()),
        )
    }
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

/// Whether a class has the pattern's period.
fn is_alike(class: &Class, pattern: &Pattern) -> bool {
    let near =
        |distance_us: i64| (as_f64(distance_us) / pattern.clock.period_us() - 1.0).abs() < 0.2;
    near(class.period_us) || near(class.longest_us)
}

/// Whether a job of a class may begin anywhere in an interval about as long as the pattern, which then shows the interval.
fn may_move(class: &Class, jobs: &[JobRuns], pattern: &Pattern) -> bool {
    let Form::Box { duty } = pattern.form else {
        return false;
    };
    let len_us = as_i64(duty * pattern.clock.period_us());
    class.members.iter().any(|&member| {
        let runs = runs_of(&jobs[member]);
        let interval_us = runs.iter().map(|run| run.1 - run.0).max().unwrap_or(0);
        (len_us / 3..=len_us * 2).contains(&interval_us)
    })
}

/// The onsets of a pattern while it is active, as starts in UTC.
fn starts_of(rival: &Pattern, found: &Found, samples: &Samples) -> Vec<i64> {
    let (Some(&first), Some(&last)) = (samples.wall_us.first(), samples.wall_us.last()) else {
        return Vec::new();
    };
    let active = found.pattern.active_us;
    let middle = rival.middle_us();
    rival
        .clock
        .onsets(
            first.max(active.0.saturating_sub(samples.gap_us)),
            last.min(active.1),
        )
        .into_iter()
        .map(|at| samples.offsets.utc_us(at + middle))
        .collect()
}

/// The runs of a job.
fn runs_of(job: &JobRuns) -> Vec<(i64, i64)> {
    let runs = job.runs.iter();
    runs.map(|run| (run.earliest.as_microsecond(), run.latest.as_microsecond()))
        .collect()
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
