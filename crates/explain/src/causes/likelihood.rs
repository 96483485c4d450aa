//! The probability of each possible cause of a pattern.
//!
//! Whether something recurs and what causes it are separate questions. Here, every class of jobs, an
//! unknown cause with a period and a phase of its own, and no cause at all are compared by the likelihood
//! of the same values, minus a penalty for their free parameters. All are equally likely a priori. A
//! matching weekday is weak evidence: one in seven matches by chance.

use super::matches::Matches;
use crate::calendar::weekdays::Weekdays;
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::grid::Grid;
use crate::model::noise::{Fit, regress, step};
use crate::model::pattern::{Clock, Pattern, ages};
use crate::numbers::{as_count, as_f64, as_i64, count_f64};
use crate::search::fold::{BOX_BINS, width_of};
use crate::search::runs::{At, Class, Forms, RunsFit, RunsTask, SHIFTS, box_places};
use crate::statistics::prefix_sums;
use rayon::prelude::*;

/// A possible cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cause {
    /// Chance alone.
    Nothing,
    /// An unknown cause, with the pattern's own period and phase.
    Unknown,
    /// A class of jobs, with its fit.
    Class(usize, RunsFit),
}

/// A cause with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoredCause {
    /// The cause.
    pub cause: Cause,
    /// Probability relative to all other causes.
    pub score: f64,
    /// Log-likelihood ratio to no cause, minus the penalty, in nats.
    pub gain: f64,
}

impl ScoredCause {
    /// Creates a cause that has not been compared with the others yet.
    pub fn new(cause: Cause, gain: f64) -> Self {
        Self {
            cause,
            score: 0.0,
            gain,
        }
    }
}

/// Maximum number of classes that get an exact fit after prescreening.
const EXACT_MAX: usize = 6;

/// Maximum cost of a period without a run, or a run without effect, in nats: about one in twenty is missed,
/// because logs have gaps and jobs are skipped.
pub(crate) const MISS_NATS: f64 = 3.0;

/// How much more likely a job on the list is to be the cause than something that is not on it: nine of ten are.
pub(crate) const JOBS_ODDS: f64 = 9.0;

/// Cost of assuming that a log lost lines, in nats: one in ten does.
pub(crate) const LOST_NATS: f64 = 2.3;

/// Cost of assuming that a daily job does less on some days, in nats: one in ten does.
pub(crate) const LESS_NATS: f64 = 2.3;
/// Minimum number of weekdays on which such a job does its full work.
pub(crate) const WORKDAYS_MIN: usize = 5;

/// A cause with the shape that it implies.
struct Model {
    cause: Cause,
    columns: Vec<Vec<f64>>,
    /// Penalty for its free parameters, in nats.
    penalty: f64,
    fit: Fit,
}

impl Model {
    fn new(
        cause: Cause,
        columns: Vec<Vec<f64>>,
        penalty: f64,
        grid: &Grid,
        values: &[f64],
    ) -> Option<Self> {
        let regressors: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let fit = regress(&grid.index, values, &regressors)?;
        Some(Self {
            cause,
            columns,
            penalty,
            fit,
        })
    }

    /// Fits the same model to the bins of some periods only. Returns `None` if that is all of them, or
    /// fewer than half.
    fn without(
        &self,
        grid: &Grid,
        values: &[f64],
        periods: &Periods,
        missed: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let kept: Vec<usize> = (0..grid.len())
            .filter(|&i| !missed(periods.of_bin[i]))
            .collect();
        if kept.len() == grid.len() || kept.len() * 2 < grid.len() {
            return None;
        }
        let pick = |all: &[f64]| -> Vec<f64> { kept.iter().map(|&i| all[i]).collect() };
        let index: Vec<i64> = kept.iter().map(|&i| grid.index[i]).collect();
        let columns: Vec<Vec<f64>> = self.columns.iter().map(|column| pick(column)).collect();
        let regressors: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        Some(Self {
            fit: regress(&index, &pick(values), &regressors)?,
            columns: self.columns.clone(),
            ..*self
        })
    }

    /// Returns the log-likelihood of the bins of each period, in noise of `phi` and `variance`.
    fn by_period(
        &self,
        grid: &Grid,
        values: &[f64],
        noise: (f64, f64),
        periods: &Periods,
    ) -> Vec<f64> {
        let (phi, variance) = noise;
        let level = self.columns.len();
        let left = |i: usize| {
            let meant: f64 = self
                .columns
                .iter()
                .zip(&self.fit.coefficients)
                .map(|(column, coefficient)| column[i] * coefficient)
                .sum();
            values[i] - self.fit.coefficients[level] - meant
        };
        let mut sums = vec![0.0; periods.count];
        let mut before = left(0);
        for i in 1..grid.len() {
            let now = left(i);
            let (kept, size) = step(phi, grid.index[i] - grid.index[i - 1]);
            let innovation = (now - kept * before) / size;
            sums[periods.of_bin[i]] -= 0.5 * innovation * innovation / variance;
            before = now;
        }
        sums
    }
}

/// Assigns each bin to a period, from one reset or onset to the next.
struct Periods {
    of_bin: Vec<usize>,
    count: usize,
}

impl Periods {
    fn new(pattern: &Pattern, grid: &Grid) -> Self {
        let period_us = as_i64(pattern.clock.period_us());
        let (first, last) = match (grid.wall_us.first(), grid.wall_us.last()) {
            (Some(&first), Some(&last)) => (first - period_us, last + period_us),
            _ => (0, 0),
        };
        let onsets: Vec<i64> = pattern
            .clock
            .onsets(first, last)
            .into_iter()
            .map(|at| at + pattern.interval_us.0)
            .collect();
        let of_bin = grid
            .wall_us
            .iter()
            .map(|&wall| onsets.partition_point(|&at| at < wall))
            .collect();
        Self {
            of_bin,
            count: onsets.len() + 1,
        }
    }
}

/// Compares all causes of a pattern in `grid`, the series without its other patterns; the most likely comes
/// first.
///
/// Every cause is fitted with its own noise, then evaluated period by period in the noise that the best of
/// them leaves. A period that a class of jobs gets wrong counts as missed, at a cost of [`MISS_NATS`], and
/// is attributed to some other cause. Classes with too few runs in the `in_gaps` of the pattern are left
/// out.
pub(crate) fn score_causes(
    found: &Found,
    grid: &Grid,
    classes: &[Class],
    in_gaps: &(impl Fn(usize, i64) -> Matches + Sync),
) -> Vec<ScoredCause> {
    let pattern = &found.pattern;
    let values = grid.values(pattern.variant);
    let models = models(found, grid, values, classes, in_gaps);
    let Some(best) = models
        .iter()
        .max_by(|a, b| a.fit.log_likelihood.total_cmp(&b.fit.log_likelihood))
    else {
        return Vec::new();
    };
    let noise = (best.fit.phi, best.fit.variance);
    let periods = Periods::new(pattern, grid);
    let likelihoods: Vec<Vec<f64>> = models
        .par_iter()
        .map(|model| model.by_period(grid, values, noise, &periods))
        .collect();
    let of = |wanted: Cause| {
        let at = models.iter().position(|model| model.cause == wanted)?;
        Some(&likelihoods[at])
    };
    let Some(alone) = of(Cause::Nothing) else {
        return Vec::new();
    };
    let fallback = of(Cause::Unknown).unwrap_or(alone);
    let with_misses = |likelihood: &[f64]| -> f64 {
        let periods = likelihood.iter().zip(fallback);
        periods.map(|(own, other)| own.max(other - MISS_NATS)).sum()
    };
    let mut scored: Vec<ScoredCause> = models
        .iter()
        .zip(&likelihoods)
        .map(|(model, likelihood)| {
            let sum: f64 = match model.cause {
                Cause::Class(..) => {
                    let missed = |period: usize| likelihood[period] < fallback[period] - MISS_NATS;
                    // The amplitude is refitted to the periods that the model gets right.
                    let again = model
                        .without(grid, values, &periods, missed)
                        .map(|again| again.by_period(grid, values, noise, &periods));
                    let again = again.map_or(f64::MIN, |again| with_misses(&again));
                    with_misses(likelihood).max(again)
                }
                _ => likelihood.iter().sum(),
            };
            let prior = match model.cause {
                Cause::Class(..) => JOBS_ODDS.ln(),
                _ => 0.0,
            };
            let gain = sum - alone.iter().sum::<f64>() - model.penalty + prior;
            ScoredCause::new(model.cause, gain)
        })
        .collect();
    // Keep the better form of each class.
    scored.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut known = Vec::new();
    scored.retain(|one| match one.cause {
        Cause::Class(number, _) if known.contains(&number) => false,
        Cause::Class(number, _) => {
            known.push(number);
            true
        }
        _ => true,
    });
    normalise(&mut scored);
    scored
}

/// Sorts causes by what they explain, and sets their probabilities relative to each other.
pub(crate) fn normalise(scored: &mut [ScoredCause]) {
    scored.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let top = scored.first().map_or(0.0, |one| one.gain);
    let total: f64 = scored.iter().map(|one| (one.gain - top).exp()).sum();
    for one in scored {
        one.score = (one.gain - top).exp() / total;
    }
}

/// Returns all causes to be compared, fitted.
fn models(
    found: &Found,
    grid: &Grid,
    values: &[f64],
    classes: &[Class],
    in_gaps: &(impl Fn(usize, i64) -> Matches + Sync),
) -> Vec<Model> {
    let pattern = &found.pattern;
    let count = count_f64(grid.len()).ln();
    let new = |cause, columns, penalty| Model::new(cause, columns, penalty, grid, values);
    let mut models: Vec<Model> = new(Cause::Nothing, Vec::new(), 0.0).into_iter().collect();
    let ends = found.ends();
    let bounds = count_f64(ends) * (count_f64(found.onsets.len().max(1)).ln() + 0.5 * count);
    // The level may differ where the pattern is not active.
    let on: Vec<f64> = grid
        .wall_us
        .iter()
        .map(|&wall| f64::from(u8::from(pattern.is_active(wall))))
        .collect();
    let days = pattern.clock.weekdays();
    let works_less = days != Weekdays::ALL && days.count() >= WORKDAYS_MIN;
    let of_class = |(number, fit, penalty): (usize, RunsFit, f64)| {
        let class = &classes[number];
        let cells = shape_of_runs(&class.starts_us, class, &fit, grid);
        let penalty = penalty + 0.5 * count;
        // The effect may have begun or ended although the job keeps running.
        let meanwhile: Vec<f64> = cells.iter().zip(&on).map(|(cell, on)| cell * on).collect();
        let cause = |amplitude| Cause::Class(number, RunsFit { amplitude, ..fit });
        let throughout = new(cause(0.0), vec![cells], penalty);
        let meanwhile = (ends > 0)
            .then(|| new(cause(0.0), vec![meanwhile, on.clone()], penalty + bounds))
            .flatten();
        // A daily job may have less to do at weekends.
        let on_days = works_less.then(|| {
            let is_on = |start: &&(i64, i64)| pattern.clock.is_on_its_days(fit.at.of(**start));
            let starts: Vec<(i64, i64)> = class.starts_us.iter().filter(is_on).copied().collect();
            let cells = shape_of_runs(&starts, class, &fit, grid);
            new(
                cause(0.0),
                vec![cells],
                penalty + days.penalty() + LESS_NATS,
            )
        });
        let fitted = (throughout.into_iter())
            .chain(meanwhile)
            .chain(on_days.flatten())
            .map(|model| Model {
                cause: cause(model.fit.coefficients[0]),
                ..model
            });
        // If values move in the opposite direction at its runs, the job causes something else.
        let jump = pattern.form.jump(pattern.size());
        let is_alike = |model: &Model| fit.form.jump(model.fit.coefficients[0]) * jump > 0.0;
        fitted.filter(is_alike).collect::<Vec<Model>>()
    };
    let looked = prescreen(found, grid, classes, in_gaps);
    models.par_extend(looked.into_par_iter().flat_map_iter(of_class));
    let unknown = match pattern.clock {
        Clock::Fixed { .. } => Some((pattern, ends > 0)),
        Clock::Runs { .. } => found.best_without_jobs.as_ref().map(|rival| (rival, false)),
    };
    if let Some((unknown, is_bounded)) = unknown {
        let shape = shape_of(unknown, grid);
        let penalty = penalty_of_unknown(unknown, grid);
        let (columns, penalty) = if is_bounded {
            (vec![shape, on], penalty + bounds)
        } else {
            (vec![shape], penalty)
        };
        let unknown = new(Cause::Unknown, columns, penalty);
        let known = |number: &usize| {
            lost_lines(*number, unknown.as_ref()?, pattern, grid, classes, in_gaps)
        };
        let lost: Vec<Model> = (0..classes.len())
            .filter_map(|number| known(&number))
            .collect();
        models.extend(unknown.into_iter().chain(lost));
    }
    models
}

/// Returns the model of a job, known from logs, that ran in each period while the log lost some of its
/// lines. It then explains as much as an unknown cause does, and its phase is no coincidence.
fn lost_lines(
    number: usize,
    unknown: &Model,
    pattern: &Pattern,
    grid: &Grid,
    classes: &[Class],
    in_gaps: &(impl Fn(usize, i64) -> Matches + Sync),
) -> Option<Model> {
    let shares_period_with = matches!(pattern.clock, Clock::Fixed { .. });
    if !classes[number].is_observed || !shares_period_with || pattern.form == Form::Wave {
        return None;
    }
    let runs = in_gaps(number, 0);
    if !runs.may_be_lost_lines() {
        return None;
    }
    let alike = classes.iter().filter(|class| class.is_observed).count();
    let fit = RunsFit {
        gain: 0.0,
        form: pattern.form,
        at: At::Middle,
        shift: 0,
        amplitude: pattern.size(),
        event: None,
    };
    Some(Model {
        cause: Cause::Class(number, fit),
        columns: unknown.columns.clone(),
        penalty: unknown.penalty - phase_count(pattern, grid).ln()
            + LOST_NATS
            + count_f64(alike).ln(),
        fit: unknown.fit.clone(),
    })
}

/// Returns the number of bins of a period in which a pattern may begin.
fn phase_count(pattern: &Pattern, grid: &Grid) -> f64 {
    (pattern.clock.period_us() / as_f64(grid.width_us)).max(1.0)
}

/// Returns the shape of a pattern with a period of its own. When exactly between two samples a sawtooth is
/// reset is unknown: it counts from the first sample after, as the runs of jobs do.
fn shape_of(pattern: &Pattern, grid: &Grid) -> Vec<f64> {
    if pattern.form != Form::Sawtooth {
        return pattern.values(&grid.wall_us);
    }
    let (Some(&first), Some(&last)) = (grid.wall_us.first(), grid.wall_us.last()) else {
        return Vec::new();
    };
    let period_us = as_i64(pattern.clock.period_us());
    let middle = pattern.middle_us();
    let starts: Vec<i64> = pattern
        .clock
        .onsets(first - 2 * period_us, last + period_us)
        .into_iter()
        .map(|at| at + middle)
        .collect();
    ages(&align_to_samples(&starts, grid), period_us, &grid.wall_us)
        .into_iter()
        .zip(&grid.wall_us)
        .map(|(age, &wall)| {
            if pattern.is_active(wall) {
                pattern.form.at(age)
            } else {
                0.0
            }
        })
        .collect()
}

/// Returns the time right before the first sample after each start; for starts before all samples, where
/// one would have been.
fn align_to_samples(starts: &[i64], grid: &Grid) -> Vec<i64> {
    let Some(&first) = grid.wall_us.first() else {
        return starts.to_vec();
    };
    starts
        .iter()
        .map(
            |&start| match grid.wall_us.partition_point(|&wall| wall <= start) {
                0 => first - 1 - (first - start).div_euclid(grid.width_us) * grid.width_us,
                next => grid.wall_us.get(next).map_or(start, |wall| wall - 1),
            },
        )
        .collect()
}

/// Returns the penalty for a pattern with a period of its own, excluding its start and end.
fn penalty_of_unknown(pattern: &Pattern, grid: &Grid) -> f64 {
    let count = count_f64(grid.len()).ln();
    // A wave of h harmonics has 2h coefficients, the other forms have one.
    let coefficients = match pattern.form {
        Form::Wave => count_f64(pattern.coefficients.len()),
        _ => 1.0,
    };
    // As for classes: one form in two is a sawtooth, the others are boxes of various widths.
    let forms = match pattern.form {
        Form::Box { .. } => count_f64(2 * BOX_BINS.len()).ln(),
        _ => std::f64::consts::LN_2,
    };
    phase_count(pattern, grid).ln()
        + forms
        + pattern.clock.weekdays().penalty()
        + 0.5 * coefficients * count
}

/// Returns whether a class has the pattern's period.
pub(crate) fn is_alike(class: &Class, pattern: &Pattern) -> bool {
    let near =
        |distance_us: i64| (as_f64(distance_us) / pattern.clock.period_us() - 1.0).abs() < 0.2;
    near(class.period_us) || near(class.longest_us)
}

/// Prescreens the classes: returns the best form of the best classes, with its penalty.
fn prescreen(
    found: &Found,
    grid: &Grid,
    classes: &[Class],
    in_gaps: &(impl Fn(usize, i64) -> Matches + Sync),
) -> Vec<(usize, RunsFit, f64)> {
    let pattern = &found.pattern;
    if pattern.form == Form::Wave {
        // A wave has no onset, so any job that runs on its days would fit to some degree.
        return Vec::new();
    }
    let fit = &pattern.fit;
    let values = grid.values(pattern.variant);
    // Not the level of the fit, because the pattern may be active only part of the time.
    let level = values.iter().sum::<f64>() / count_f64(values.len().max(1));
    let sigma = fit.variance.sqrt();
    let mut white = vec![0.0];
    white.extend((1..grid.len()).map(|i| {
        let (kept, size) = step(fit.phi, grid.index[i] - grid.index[i - 1]);
        ((values[i] - level) - kept * (values[i - 1] - level)) / size / sigma
    }));
    let mut prefix = Vec::new();
    prefix_sums(&white, &mut prefix);
    // The more jobs have this period, the more easily one of them fits by chance.
    let period_us = pattern.clock.period_us();
    let rivals = |class: &Class| is_alike(class, pattern);
    let alike = count_f64(classes.iter().filter(|class| rivals(class)).count().max(1)).ln();
    let others = count_f64(classes.len().max(1)).ln();
    let forms = Forms::All {
        width: match pattern.form {
            Form::Box { duty } => Some(width_of(duty, as_count(period_us / as_f64(grid.width_us)))),
            _ => None,
        },
    };
    let mut looked: Vec<(usize, RunsFit, f64)> = classes
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, class)| {
            let may_be = SHIFTS.map(|shift| in_gaps(number, shift).is_half());
            if may_be == [false; SHIFTS.len()] {
                return Vec::new();
            }
            let task = RunsTask::new(number, class, pattern.grid, grid, forms, fit.phi);
            let penalty = if rivals(class) { alike } else { others };
            task.search_each(&white, fit.phi, &prefix, |shift| {
                SHIFTS
                    .iter()
                    .zip(may_be)
                    .any(|(&one, may_be)| one == shift && may_be)
            })
            .into_iter()
            .map(|found| {
                (
                    number,
                    found,
                    penalty + task.penalty_of(found.form, found.shift),
                )
            })
            .collect::<Vec<_>>()
        })
        .collect();
    looked.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
    // Jobs with the pattern's own period are always kept, because prescreening the whole series does not
    // show what they did in part of it.
    let rest = looked.split_off(looked.len().min(EXACT_MAX));
    looked.extend(
        rest.into_iter()
            .filter(|one| rivals(&classes[one.0]))
            .take(EXACT_MAX),
    );
    looked
}

/// Returns the shape that a class's runs imply on a grid.
fn shape_of_runs(starts: &[(i64, i64)], class: &Class, fit: &RunsFit, grid: &Grid) -> Vec<f64> {
    let starts: Vec<i64> = starts.iter().map(|&start| fit.at.of(start)).collect();
    let period_us = class.period_of(fit.form);
    let Form::Box { duty } = fit.form else {
        return ages(&align_to_samples(&starts, grid), period_us, &grid.wall_us)
            .into_iter()
            .map(|age| fit.form.at(age))
            .collect();
    };
    let width = as_count(duty * as_f64(period_us) / as_f64(grid.width_us)).max(1);
    let mut cells = vec![0.0; grid.len()];
    for (from, until) in box_places(&starts, width, fit.shift, grid) {
        cells[from..until].fill(1.0);
    }
    cells
}
