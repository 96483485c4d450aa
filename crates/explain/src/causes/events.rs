//! The probability of each possible cause of recurring events.
//!
//! Every class of jobs, an unknown cause that acts at any phase of the pattern's period, and no cause are compared by
//! the evidence that the values [respond](super::response) to their starts. A job is no better than an unknown cause at
//! the same phase; it is more likely because its phase was known before. So jobs are distinguished from chance by how many
//! phases there were, and by every start that is not periodic: a day left out, a clock change, another schedule.

use super::likelihood::{Cause, JOBS_ODDS, ScoredCause, is_alike, normalise};
use super::located::UNKNOWN_KINDS;
use super::matches::Matches;
use super::response::{Response, power};
use super::sums::log_mean;
use super::weighing::{Question, Weighed};
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::input::JobRuns;
use crate::model::pattern::{Clock, Pattern};
use crate::model::samples::{SampleTaken, Samples};
use crate::numbers::{as_f64, as_i64, count_f64, widest_us};
use crate::search::runs::{AfterRun, At, Class, RunsFit};
use facts::series::SampleOf;
use rayon::prelude::*;

/// Gauges are read at least this often.
const GAUGES_US: i64 = 3_600_000_000;
/// What explains this much less than something else is unlikely, in nats. What a sample says counts in both ways unless one is
/// unlikely, and is reported if it explains that much more.
const UNLIKELY_NATS: f64 = 30.0;
const TELLING_NATS: f64 = 3.0;
/// How much more likely it is what the source says, in nats: exporters keep means and maxima of their own.
const SOURCE_NATS: f64 = 10.0;
/// Phases of a period that are compared, at most.
const PHASES_MAX: i64 = 2016;

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
    let bounds = count_f64(found.ends()) * (count_f64(found.onsets.len().max(1)).ln() + 3.0);
    let mut scored = vec![ScoredCause::new(Cause::Nothing, 0.0)];
    let unknown = rival.map(|(rival, starts)| {
        let period_us = as_i64(rival.clock.period_us());
        let (mean, there, best) = response.to_any_phase(starts, period_us, PHASES_MAX, power);
        let gain = mean - rival.clock.weekdays().penalty() - bounds;
        scored.push(ScoredCause::new(Cause::Unknown, gain));
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
                question.weigh(&jobs[member].starts_us(), class, &in_gaps(number, 0))
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
        let gain = gain + JOBS_ODDS.ln() - count_f64(trials.max(1)).ln();
        Some(ScoredCause::new(Cause::Class(number, fit), gain))
    };
    scored.par_extend(classes.par_iter().enumerate().filter_map(of_class));
    question.admit_rhythm_of_best(classes, jobs, &mut scored);
    scored
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
        let unknown = scored.iter().find(|one| one.cause == Cause::Unknown);
        let (Some((class, gain, known)), Some(unknown)) = (best, unknown) else {
            return;
        };
        if known < unknown.gain - UNLIKELY_NATS {
            return;
        }
        let mut least = f64::MIN;
        let all = self.among(&jobs[class.members[0]].starts_us());
        if class.is_wide(self.samples.gap_us) {
            // Its place was known no better than to the width of its windows.
            let windows = as_f64(class.period_us) / as_f64(class.width_us().max(1));
            least = gain - windows.max(1.0).ln();
            // A window of half the day is no more of a schedule than what has none.
            if windows > UNKNOWN_KINDS {
                least -= UNKNOWN_KINDS.ln();
            }
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
}

/// Whether a job of a class may begin anywhere in an interval about as long as the pattern, which then shows the interval.
fn may_move(class: &Class, jobs: &[JobRuns], pattern: &Pattern) -> bool {
    let Some(len_us) = pattern.len_us() else {
        return false;
    };
    class.members.iter().any(|&member| {
        let interval_us = widest_us(&jobs[member].starts_us());
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
