//! From what was found to a verdict.

use crate::attribution::{Cause, Weighed};
use crate::found::{Found, Samples};
use crate::numbers::{as_f64, as_i64, seconds};
use crate::pattern::{Clock, Pattern, start_of};
use crate::runs::Class;
use crate::shape::Form;
use crate::statistics::{median, quantile};
use crate::verdict::{
    Candidate, Cycle, Effect, Folded, Interval, JobClass, OtherPattern, Phase, Role, Shape, Verdict,
};
use crate::wall::{DAY_US, HOUR_US, MONDAY_US, is_of};
use crate::weekdays::Weekdays;
use crate::words::Scene;
use crate::{JobRuns, phrases};
use facts::series::Better;
use jiff::Timestamp;
use schedule::Run;

/// Events that a verdict lists, at most.
const EVENTS_MAX: usize = 20_000;
/// Classes of jobs are told from this probability on.
const SCORE_TOLD: f64 = 0.001;
/// A job may take so long until it shows, beside what the samples do not tell: cron knows minutes, and
/// programs take their time to begin.
const LAG_US: i64 = 120_000_000;
/// An interval that ends at midnight is of the day that begins, if it is no longer than this.
const MIDNIGHT_US: i64 = 900_000_000;
/// So many runs of a cause, at most, do nothing for one that does: a job of every day may do its work once a week.
const IDLE_MAX: usize = 8;
/// Bins of a folded curve, at most.
const FOLDED_BINS_MAX: f64 = 288.0;

/// A moment from microseconds.
pub(crate) fn moment(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(if us < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

/// What recurs, without the jobs.
pub(crate) fn describe(verdict: &mut Verdict, found: &Found, samples: &Samples) {
    let pattern = &found.pattern;
    let period_us = pattern.clock.period_us();
    verdict.period_s = Some(period_us / 1e6);
    verdict.cycle = Some(cycle(pattern));
    verdict.weekdays = weekdays(pattern);
    let size = pattern.size();
    let shape = pattern.form.shape(size);
    verdict.shape = Some(shape);
    verdict.p = Some(found.p);
    let on = found.among(samples);
    let on = on.as_slice();
    verdict.cycles = Some(on.len());
    verdict.cycles_seen = Some(on.iter().filter(|(_, gain)| *gain > 0.0).count());
    let first = on.first().map(|(at, _)| *at);
    verdict.since = first.map(|at| {
        let from = if found.on.start == 0 {
            samples.times_us[0]
        } else {
            samples.wall.moment(at + pattern.interval_us.0)
        };
        moment(from.max(samples.times_us[0]))
    });
    // An end within the last period may be none.
    let last = samples.wall_us[samples.wall_us.len() - 1];
    let ends = found.on.end < found.beginnings.len()
        && as_f64(last.saturating_sub(pattern.on_us.1)) > period_us;
    verdict.until = ends
        .then(|| samples.wall.moment(pattern.on_us.1.min(i64::MAX / 2)))
        .map(moment);
    verdict.events = events(pattern, on, samples);
    verdict.phase = phase(pattern, on, samples);
    verdict.effect = Some(effect(pattern, samples));
    verdict.folded = Some(folded(pattern, samples));
}

/// The days of the week on which a pattern comes; `None` where it comes on all of them.
pub(crate) fn weekdays(pattern: &Pattern) -> Option<Vec<String>> {
    let Clock::Fixed {
        origin_us, days, ..
    } = pattern.clock
    else {
        return None;
    };
    // What comes between the last minutes of a day and midnight is what jobs of midnight do.
    let (from, to) = pattern.interval_us;
    let day_of = |after: i64| (as_i64(origin_us) + after).div_euclid(DAY_US);
    let later = if to - from <= MIDNIGHT_US {
        day_of(to) - day_of(0)
    } else {
        0
    };
    (days != Weekdays::ALL).then(|| days.names(later))
}

/// The calendar that a pattern follows.
pub(crate) fn cycle(pattern: &Pattern) -> Cycle {
    match pattern.clock {
        Clock::Runs { .. } => Cycle::Runs,
        Clock::Fixed { period_us, .. } => {
            if is_of(period_us, HOUR_US) {
                Cycle::Hour
            } else if is_of(period_us, DAY_US) {
                Cycle::Day
            } else if is_of(period_us, 7 * DAY_US) {
                Cycle::Week
            } else {
                Cycle::Fixed
            }
        }
    }
}

/// Each beginning between the sample before it and the one after it.
fn events(pattern: &Pattern, on: &[(i64, f64)], samples: &Samples) -> Vec<Interval> {
    if pattern.form == Form::Wave {
        return Vec::new();
    }
    events_of(pattern, on, samples)
        .into_iter()
        .flatten()
        .take(EVENTS_MAX)
        .map(|(from, to)| Interval {
            from: moment(from),
            to: moment(to),
        })
        .collect()
}

/// The times of the samples around each beginning; one at the very edge has none on its other side.
fn events_of(pattern: &Pattern, on: &[(i64, f64)], samples: &Samples) -> Vec<Option<(i64, i64)>> {
    let middle = pattern.middle_us();
    let times = &samples.times_us;
    on.iter()
        .map(|&(at, _)| {
            let at = samples.wall.moment(at + middle);
            let after = times.partition_point(|&time| time <= at);
            Some((times[after.checked_sub(1)?], *times.get(after)?))
        })
        .collect()
}

fn phase(pattern: &Pattern, on: &[(i64, f64)], samples: &Samples) -> Option<Phase> {
    let last = on.last()?.0;
    let (mut from, mut to) = (last + pattern.interval_us.0, last + pattern.interval_us.1);
    if pattern.form == Form::Wave {
        // Its highest point, to a twelfth of the period.
        let period = as_i64(pattern.clock.period_us());
        let walls: Vec<i64> = (0..48).map(|i| last + period / 48 * i).collect();
        let all = Pattern {
            on_us: (i64::MIN, i64::MAX),
            ..pattern.clone()
        };
        let values = all.values(&walls);
        let top = (0..48).max_by(|&a, &b| values[a].total_cmp(&values[b]))?;
        from = walls[top] - period / 24;
        to = walls[top] + period / 24;
    }
    Some(Phase {
        from: moment(samples.wall.moment(from)),
        to: moment(samples.wall.moment(to)),
        from_text: phrases::place(cycle(pattern), from, samples.gap_us),
        to_text: phrases::place(cycle(pattern), to, samples.gap_us),
    })
}

fn effect(pattern: &Pattern, samples: &Samples) -> Effect {
    let level = median(samples.values.clone()).abs();
    let size = pattern.size();
    let relative = (level > 0.0).then(|| size / level);
    let days = pattern.clock.period_us() / as_f64(DAY_US);
    Effect {
        size,
        relative,
        relative_per_day: relative
            .filter(|_| pattern.form == Form::Sawtooth)
            .map(|relative| relative / days),
        len_s: match pattern.form {
            Form::Box { duty } => Some(duty * pattern.clock.period_us() / 1e6),
            _ => None,
        },
    }
}

/// The samples while the pattern is on, folded by a week, a day or the period.
fn folded(pattern: &Pattern, samples: &Samples) -> Folded {
    let cycle = match weekdays(pattern) {
        Some(_) => Cycle::Week,
        None => cycle(pattern),
    };
    let period_us = match cycle {
        Cycle::Runs | Cycle::Week => as_f64(7 * DAY_US),
        _ => pattern.clock.period_us(),
    };
    let anchor = match cycle {
        Cycle::Week | Cycle::Runs => as_f64(MONDAY_US),
        Cycle::Day | Cycle::Hour => 0.0,
        Cycle::Fixed => match pattern.clock {
            Clock::Fixed { origin_us, .. } => origin_us,
            Clock::Runs { .. } => 0.0,
        },
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the largest number of bins"
    )]
    let bins = (period_us / as_f64(samples.gap_us))
        .round()
        .clamp(1.0, FOLDED_BINS_MAX) as usize;
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); bins];
    for (&wall, &value) in samples.wall_us.iter().zip(&samples.values) {
        if wall < pattern.on_us.0 || wall > pattern.on_us.1 {
            continue;
        }
        let phase = ((as_f64(wall) - anchor) / period_us).rem_euclid(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a phase below 1 of a few hundred bins"
        )]
        let bin = ((phase * bins as f64) as usize).min(bins - 1);
        values[bin].push(value);
    }
    let mut of = |at: f64| -> Vec<Option<f64>> {
        values
            .iter_mut()
            .map(|values| (!values.is_empty()).then(|| quantile(values, at)))
            .collect()
    };
    let first = samples.wall_us.first().copied().unwrap_or(0);
    let start = match cycle {
        Cycle::Week | Cycle::Runs => start_of(7 * DAY_US, first),
        Cycle::Day => start_of(DAY_US, first),
        Cycle::Hour => first - first.rem_euclid(HOUR_US),
        Cycle::Fixed => as_i64(anchor + ((as_f64(first) - anchor) / period_us).floor() * period_us),
    };
    Folded {
        period_s: period_us / 1e6,
        anchor: moment(samples.wall.moment(start)),
        median: of(0.5),
        low: of(0.25),
        high: of(0.75),
    }
}

/// What a job does whose runs begin a pattern.
fn role(form: Form, amplitude: f64, better: Option<Better>) -> Role {
    let Some(better) = better else {
        return Role::Unknown;
    };
    let up_at_run = form.jump(amplitude) > 0.0;
    if up_at_run == (better == Better::Higher) {
        Role::Heals
    } else {
        Role::Hurts
    }
}

/// The classes of jobs that may be behind it, and all candidates.
pub(crate) fn causes(
    verdict: &mut Verdict,
    weighed: &[Weighed],
    classes: &[Class],
    jobs: &[JobRuns],
    (samples, gaps): (&Samples, &[(i64, i64)]),
    better: Option<Better>,
) {
    for one in weighed {
        let name = match one.cause {
            Cause::Nothing => "nothing".to_owned(),
            Cause::Unknown => format!("an unknown cause, {}", phrases::every_of(verdict)),
            Cause::Class(number, _) => phrases::names(&members(&classes[number], jobs)),
        };
        verdict.candidates.push(Candidate {
            name,
            score: one.score,
            gain_nats: one.gain,
        });
        if let Cause::Class(number, fit) = one.cause
            && one.score >= SCORE_TOLD
        {
            let class = &classes[number];
            let runs = matches(gaps, class, jobs, samples, fit.shift);
            let inside = inside(gaps, &jobs[class.members[0]].runs);
            let dated_by_start = fit.shift < 0 && inside * 2 < runs.matched;
            if dated_by_start && verdict.classes.is_empty() {
                verdict.would_change.push(format!(
                    "Whether times mark the start of what each sample stands for: only then {} runs in those gaps, and not one sample later.",
                    phrases::names(&members(class, jobs))
                ));
            }
            verdict.classes.push(JobClass {
                jobs: members(class, jobs),
                role: role(fit.form, fit.amplitude, better),
                matched: runs.matched,
                missed: runs.missed,
                idle_runs: runs.idle,
                lag_s: runs.lag_s,
                score: one.score,
                dated_by_start,
                evidence: evidence(class, jobs),
                separate_by: None,
            });
        }
    }
}

/// Names of a class's jobs.
pub(crate) fn members(class: &Class, jobs: &[JobRuns]) -> Vec<String> {
    class
        .members
        .iter()
        .map(|&member| jobs[member].name.clone())
        .collect()
}

/// How a job's runs lie beside the occurrences of a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Matches {
    /// Occurrences with a run in their gap, or right before it.
    pub matched: usize,
    /// The others.
    pub missed: usize,
    /// Runs among the samples that belong to none.
    pub idle: usize,
    /// Those of them between the first occurrence and the last.
    pub idle_meanwhile: usize,
    /// The longest time from a run to the gap after it, where one came before.
    pub lag_s: Option<f64>,
    /// Whether the occurrences without a run recur, as weekends do.
    pub misses_recur: bool,
}

impl Matches {
    /// Whether most of the occurrences have a run, whatever else runs.
    pub fn is_most(&self) -> bool {
        self.matched > self.missed
    }

    /// Whether half of the occurrences have a run, and more than few runs an occurrence. What runs at other times is
    /// no cause, however well it fits.
    pub fn is_half(&self) -> bool {
        self.matched >= self.missed && self.idle_meanwhile <= self.matched * IDLE_MAX
    }
}

/// The gaps in which each occurrence of a pattern lies: between the samples around it, or wider
/// where the samples do not tell its place so well.
pub(crate) fn gaps(found: &Found, samples: &Samples) -> Vec<(i64, i64)> {
    let (first, last) = found.pattern.interval_us;
    let on = found.among(samples);
    on.iter()
        .zip(events_of(&found.pattern, &on, samples))
        .filter_map(|((at, _), gap)| {
            let (from, to) = gap?;
            let first = samples.wall.moment(at + first);
            let last = samples.wall.moment(at + last);
            Some((from.min(first), to.max(last)))
        })
        .collect()
}

/// Counts how often a class runs in these gaps, or right before them; where its runs show a sample later or
/// earlier ([`RunsFit::shift`](crate::runs::RunsFit)), by so much before or after them.
pub(crate) fn matches(
    gaps: &[(i64, i64)],
    class: &Class,
    jobs: &[JobRuns],
    samples: &Samples,
    shift: i64,
) -> Matches {
    let early_us = LAG_US + shift.max(0) * samples.gap_us;
    let late_us = -shift.min(0) * samples.gap_us;
    let runs: Vec<(i64, i64)> = jobs[class.members[0]]
        .runs
        .iter()
        .map(|run| (run.earliest.as_microsecond(), run.latest.as_microsecond()))
        .collect();
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
            // The last one before.
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
            matched: 0,
            missed: gaps.len(),
            idle: 0,
            idle_meanwhile: 0,
            lag_s: None,
            misses_recur: false,
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

/// How many gaps have a run well within them: after the sample before, and before the one that shows it.
fn inside(gaps: &[(i64, i64)], runs: &[Run]) -> usize {
    let has_run = |(from, to): &&(i64, i64)| {
        let next = runs.partition_point(|run| run.earliest.as_microsecond() <= *from);
        runs.get(next)
            .is_some_and(|run| run.latest.as_microsecond() < *to)
    };
    gaps.iter().filter(has_run).count()
}

/// Whether most misses follow another one by the same number of occurrences, up to so many as a week has days.
fn misses_recur(has_run: &[bool]) -> bool {
    (1..=7).any(|later| {
        let misses = || (later..has_run.len()).filter(|&i| !has_run[i]);
        let again = misses().filter(|&i| !has_run[i - later]).count();
        again >= 2 && again * 3 >= misses().count() * 2
    })
}

fn evidence(class: &Class, jobs: &[JobRuns]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for &member in &class.members {
        for run in &jobs[member].runs {
            if !lines.contains(&run.evidence) {
                lines.push(run.evidence.clone());
            }
            if lines.len() >= 8 {
                return lines;
            }
        }
    }
    lines
}

/// A pattern beside the main one.
pub(crate) fn other(found: &Found, jobs: Vec<String>, scene: &Scene) -> OtherPattern {
    let shape = found.pattern.form.shape(found.pattern.size());
    let period_s = found.pattern.clock.period_us() / 1e6;
    OtherPattern {
        period_s,
        shape,
        p: found.p,
        sentence: if jobs.is_empty() {
            format!("Besides, {}.", scene.other(found))
        } else {
            let names = phrases::names(&jobs);
            format!("Besides, {}; then runs: {names}.", scene.other(found))
        },
        jobs,
    }
}

/// Whether a shape is something that happens, and not load that comes and goes.
pub(crate) fn is_event(shape: Shape) -> bool {
    shape != Shape::Wave
}
