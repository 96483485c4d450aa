//! Bootstrap significance: how often noise alone looks as good, by the maximum of the search over series
//! simulated from the noise that remains without the pattern.
//!
//! p = (1 + b) / (1 + B) (Phipson, Smyth 2010), where b of B simulated series are at least as good. If the
//! series is clearly noise, few simulations suffice (Besag, Clifford 1991), and so they do if it is clearly none: then it
//! is far better than all so far, and p is what B of them would give.

use super::fold::Counts;
use super::periods::{Stretch, Task};
use super::runs::RunsTask;
use super::scratch::{Scratch, innovations_of};
use crate::model::grid::{Grid, Variant};
use crate::model::noise::{Null, redden, resample, stream};
use crate::numbers::count_f64;
use crate::statistics::{mean, prefix_sums};
use rayon::prelude::*;

/// Maximum number of simulated series.
const COUNT: usize = 99;
/// Number of series simulated at once before counting how many were as good.
const BATCH: usize = 10;
/// The same for the first, and how many times the largest a statistic has to be for so few.
const FEW: usize = 4;
const CLEAR_TIMES_FEW: f64 = 10.0;
/// If a statistic is this many times the largest that has been simulated, and the tail of these says that one as good is
/// less likely than this, the others are not simulated. The tail alone would not do: in values with few large outliers,
/// the maximum jumps when one more of them falls on the same phase.
const CLEAR_TIMES: f64 = 4.0;
const CLEAR_TAIL: f64 = 1e-12;

/// The noise of one variant of one grid's values.
struct Source {
    grid: usize,
    variant: Variant,
    null: Null,
    /// In units of the standard deviation that the search assumes, and capped in the same way: heavy tails
    /// make them larger than 1 on average, both in the search and here.
    innovations: Vec<f64>,
    counts: Counts,
}

/// Returns the probability that a search of noise like that in `rest` finds something as good as
/// `statistic`. Where it is above `alpha`, it is a rough one: few series tell that noise alone explains it.
pub(crate) fn probability(
    rest: &[Grid],
    tasks: &[Task],
    runs: &[RunsTask],
    statistic: f64,
    alpha: f64,
    seed: u64,
) -> Chance {
    probability_until(is_clear, rest, tasks, runs, statistic, alpha, seed)
}

/// The same, with simulations until `is_clear` says of those so far that no other one will be as good.
fn probability_until(
    is_clear: impl Fn(&[f64], f64) -> bool,
    rest: &[Grid],
    tasks: &[Task],
    runs: &[RunsTask],
    statistic: f64,
    alpha: f64,
    seed: u64,
) -> Chance {
    let mut sources: Vec<Source> = Vec::new();
    for (grid, variant) in tasks
        .iter()
        .map(|task| (task.grid, task.variant))
        .chain(runs.iter().map(|task| (task.grid, task.variant)))
    {
        if !sources.iter().any(|source| source.is_of(grid, variant)) {
            sources.extend(Source::new(rest, grid, variant));
        }
    }
    let noise = Noise {
        rest,
        sources: &sources,
        tasks,
        folds: &folds(rest, tasks),
        runs,
        seed,
    };
    let simulate = |number: usize, buffers: &mut Buffers| noise.best(number, statistic, buffers);
    chance(simulate, statistic, alpha, is_clear)
}

/// The chance of a statistic, from the best that each simulation finds.
///
/// Ends with the batch that shows the chance to be above `alpha` whatever the others find (sequential Monte Carlo p-values:
/// Besag and Clifford 1991).
fn chance(
    simulate: impl Fn(usize, &mut Buffers) -> f64 + Sync,
    statistic: f64,
    alpha: f64,
    is_clear: impl Fn(&[f64], f64) -> bool,
) -> Chance {
    let mut best: Vec<f64> = Vec::with_capacity(COUNT);
    let as_good = |best: &[f64]| best.iter().filter(|&&found| found >= statistic).count();
    let least = |best: &[f64]| count_f64(1 + as_good(best)) / count_f64(1 + COUNT);
    let mut clear = false;
    while best.len() < COUNT && least(&best) <= alpha && !clear {
        let until = match best.len() {
            0 => FEW,
            simulated => ((simulated / BATCH + 1) * BATCH).min(COUNT),
        };
        let batch = (best.len()..until).into_par_iter();
        best.par_extend(batch.map_init(Buffers::default, |buffers, number| {
            simulate(number, buffers)
        }));
        clear = is_clear(&best, statistic);
    }
    let simulated = if clear { COUNT } else { best.len() };
    let p = count_f64(1 + as_good(&best)) / count_f64(1 + simulated);
    Chance {
        p,
        p_extrapolated: if as_good(&best) == 0 {
            tail(&best, statistic).min(p)
        } else {
            p
        },
    }
}

/// Whether a statistic is so much better than the simulated ones that no other one will be as good.
fn is_clear(best: &[f64], statistic: f64) -> bool {
    let largest = best.iter().copied().fold(f64::MIN, f64::max);
    let times = if best.len() < BATCH {
        CLEAR_TIMES_FEW
    } else {
        CLEAR_TIMES
    };
    statistic > largest.max(0.0) * times && tail(best, statistic) < CLEAR_TAIL
}

/// Probability of a statistic in noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    /// (1 + b) / (1 + B); what it would be with all B if the rest need not be simulated.
    pub p: f64,
    /// The same, extrapolated below 1 / (1 + B) by the tail of a Gumbel distribution fitted to the
    /// simulated maxima, to compare many series, where that floor would hide all differences.
    pub p_extrapolated: f64,
}

/// Returns the tail probability of the Gumbel distribution with the mean and standard deviation of the
/// maxima.
fn tail(best: &[f64], statistic: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let best = best.iter().copied().filter(|value| *value > f64::MIN);
    let best: Vec<f64> = best.collect();
    let mean = mean(&best);
    let squares: f64 = best.iter().map(|value| (value - mean).powi(2)).sum();
    // The log-likelihood ratio falls off no slower than exp(-x) if the model holds.
    let scale =
        ((squares / count_f64(best.len())).sqrt() * 6.0_f64.sqrt() / std::f64::consts::PI).max(1.0);
    let place = mean - EULER * scale;
    -(-(-(statistic - place) / scale).exp()).exp_m1()
}

impl Source {
    fn new(rest: &[Grid], grid: usize, variant: Variant) -> Option<Self> {
        let index = &rest[grid].index;
        let (null, mut innovations) = innovations_of(&rest[grid], variant)?;
        innovations.remove(0);
        let mean = mean(&innovations);
        let mut varies = false;
        for value in &mut innovations {
            *value -= mean;
            varies |= *value != 0.0;
        }
        let pairs = index
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + 1)
            .count();
        let counts = Counts {
            pairs,
            fresh: index.len() - pairs,
            phi: null.phi,
        };
        varies.then_some(Self {
            grid,
            variant,
            null,
            innovations,
            counts,
        })
    }

    fn is_of(&self, grid: usize, variant: Variant) -> bool {
        (self.grid, self.variant) == (grid, variant)
    }
}

/// How a task of too many bins for exact fits is folded.
enum FoldFrom {
    /// From the values.
    Values(Vec<Stretch>),
    /// From the fold of another task, whose period is a multiple of this one's.
    Task(usize),
}

/// Returns how to fold the tasks that are judged by their folds, each after those that it is folded from.
fn folds(rest: &[Grid], tasks: &[Task]) -> Vec<(usize, FoldFrom)> {
    let mut large: Vec<usize> = (0..tasks.len())
        .filter(|&task| !tasks[task].is_exact())
        .collect();
    large.sort_by(|&a, &b| (tasks[b].period_bins.1).total_cmp(&tasks[a].period_bins.1));
    let from = |(order, &number): (usize, &usize)| {
        let task = &tasks[number];
        let is_multiple = |other: &&usize| {
            let other = &tasks[**other];
            let bins = (task.whole_bins(), other.whole_bins());
            (task.grid, task.variant) == (other.grid, other.variant)
                && matches!(bins, (Some(few), Some(many)) if few > 2 && many % few == 0)
        };
        // The shortest is the last.
        let from = match large[..order].iter().rfind(is_multiple) {
            Some(&other) => FoldFrom::Task(other),
            None => FoldFrom::Values(task.stretches(&rest[task.grid].index)),
        };
        (number, from)
    };
    large.iter().enumerate().map(from).collect()
}

/// Buffers reused between simulated series.
#[derive(Default)]
struct Buffers {
    scratch: Scratch,
    white: Vec<f64>,
    red: Vec<f64>,
    told: Vec<f64>,
    /// The fold of each task that is judged by it.
    folded: Vec<Vec<f64>>,
    prefix: Vec<f64>,
}

/// The noise from which series are simulated.
struct Noise<'a> {
    rest: &'a [Grid],
    sources: &'a [Source],
    tasks: &'a [Task],
    folds: &'a [(usize, FoldFrom)],
    runs: &'a [RunsTask],
    seed: u64,
}

impl Noise<'_> {
    /// Returns the best statistic of all tasks on one simulated series, or one that is as good as `enough`.
    fn best(&self, number: usize, enough: f64, buffers: &mut Buffers) -> f64 {
        let mut best = f64::MIN;
        for (order, source) in self.sources.iter().enumerate() {
            let mut random = stream(self.seed, (number * 64 + order) as u64 + 1);
            let white = &mut buffers.white;
            resample(&source.innovations, &mut random, white);
            // The first bin has no innovation of its own.
            white.push(white.first().copied().unwrap_or(0.0));
            best = best.max(self.best_fold(source, buffers));
            if best < enough {
                best = best.max(self.best_runs(source, buffers));
            }
            if best < enough {
                best = best.max(self.best_fit(source, best, buffers));
            }
            if best >= enough {
                break;
            }
        }
        best
    }

    /// Returns the best statistic of tasks that are judged by their folds.
    fn best_fold(&self, source: &Source, buffers: &mut Buffers) -> f64 {
        let Buffers {
            scratch,
            white,
            told,
            folded,
            ..
        } = buffers;
        let mut best = f64::MIN;
        let counts = source.counts;
        let index = &self.rest[source.grid].index;
        told.clear();
        folded.resize_with(self.tasks.len(), Vec::new);
        for (number, from) in self.folds {
            let task = &self.tasks[*number];
            if !source.is_of(task.grid, task.variant) {
                continue;
            }
            if told.is_empty() {
                told.extend_from_slice(white);
                counts.tell(told, |i| i > 0 && index[i] == index[i - 1] + 1);
            }
            let mut sums = std::mem::take(&mut folded[*number]);
            match from {
                FoldFrom::Values(stretches) => task.fold_told(stretches, told, &mut sums),
                FoldFrom::Task(other) => task.fold_again(&folded[*other], &mut sums),
            }
            if let Some(found) = task.search_folded(&sums, counts, scratch) {
                best = best.max(found);
            }
            folded[*number] = sums;
        }
        best
    }

    /// Returns the best statistic of tasks that are fitted exactly; those that will not be as good as `enough` are left out.
    fn best_fit(&self, source: &Source, enough: f64, buffers: &mut Buffers) -> f64 {
        let Buffers {
            scratch,
            white,
            red,
            prefix,
            ..
        } = buffers;
        let mut best = enough;
        let mut prepared = None;
        let index = &self.rest[source.grid].index;
        let is_fitted = |task: &&Task| task.is_exact() && source.is_of(task.grid, task.variant);
        for task in self.tasks.iter().filter(is_fitted) {
            let window = task.window.clone();
            let index = &index[window.clone()];
            if prepared.as_ref() != Some(&window) {
                redden(index, &white[window.clone()], source.null.phi, red);
                let Some(null) = Null::fit(index, red, prefix) else {
                    continue;
                };
                task.prepare(index, red, &null, scratch);
                prepared = Some(window);
            }
            for found in task.each_prepared(index, red, best, scratch) {
                best = best.max(found.statistic);
            }
        }
        best
    }

    /// Returns the best statistic of the runs of jobs.
    fn best_runs(&self, source: &Source, buffers: &mut Buffers) -> f64 {
        let Buffers { white, prefix, .. } = buffers;
        let mut best = f64::MIN;
        let mut is_summed = false;
        let is_searched = |task: &&RunsTask| source.is_of(task.grid, task.variant);
        for task in self.runs.iter().filter(is_searched) {
            if !is_summed {
                prefix_sums(white, prefix);
                is_summed = true;
            }
            if let Some(fit) = task.search(white, source.null.phi, prefix) {
                best = best.max(fit.gain - task.penalty);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::periods::HOUR_US;
    use crate::model::grid::grids;
    use crate::numbers::as_count;
    use crate::search::periods::{CYCLES_MIN, tasks};
    use rand_core::Rng as _;

    /// Six weeks of hourly values: uniform noise with some outliers at any time.
    fn hours(seed: u64, outliers: usize) -> Vec<Grid> {
        let mut random = stream(seed, 0);
        let mut uniform = || count_f64((random.next_u64() >> 40) as usize) / count_f64(1 << 24);
        let mut values: Vec<f64> = (0..1008).map(|_| uniform()).collect();
        for _ in 0..outliers {
            values[as_count(uniform() * 1007.0)] = 9.0;
        }
        let wall_us: Vec<i64> = (0..1008).map(|hour| hour * HOUR_US).collect();
        grids(&wall_us, &values, HOUR_US)
    }

    /// The chance, of all simulations unless `is_clear`.
    fn of(grids: &[Grid], statistic: f64, is_clear: fn(&[f64], f64) -> bool) -> Chance {
        of_alpha(grids, statistic, 1.0, is_clear)
    }

    fn of_alpha(
        grids: &[Grid],
        statistic: f64,
        alpha: f64,
        is_clear: fn(&[f64], f64) -> bool,
    ) -> Chance {
        let tasks = tasks(grids, CYCLES_MIN..f64::INFINITY);
        probability_until(is_clear, grids, &tasks, &[], statistic, alpha, 1)
    }

    #[test]
    fn few_simulations_tell_that_noise_explains_it_and_all_that_it_does_not() {
        for seed in 0..6 {
            let noise = hours(seed, 12);
            for statistic in [1.0, 3.0, 10.0, 30.0, 60.0, 100.0, 200.0] {
                let all = of(&noise, statistic, is_clear);
                for alpha in [0.01, 0.05] {
                    let early = of_alpha(&noise, statistic, alpha, is_clear);
                    assert_eq!(early.p <= alpha, all.p <= alpha, "{seed} {statistic}");
                    if all.p <= alpha {
                        assert_eq!(early, all, "{seed} {statistic}");
                    }
                }
            }
        }
    }

    #[test]
    fn clear_pattern_has_the_probability_of_all_simulations() {
        let noise = hours(7, 0);
        for statistic in [80.0, 1_000.0] {
            let chance = of(&noise, statistic, is_clear);
            assert!((chance.p - 0.01).abs() < 1e-12, "{statistic}: {chance:?}");
            assert!(chance.p_extrapolated < CLEAR_TAIL, "{chance:?}");
        }
        // Less clear: the largest of all simulations counts.
        let unclear = of(&noise, 15.0, is_clear);
        assert!(unclear.p_extrapolated > CLEAR_TAIL, "{unclear:?}");
        assert!(unclear.p < 0.05, "{unclear:?}");
        let none = of(&noise, 1.0, is_clear);
        assert!(none.p > 0.2, "{none:?}");
    }

    #[test]
    fn probability_is_that_of_all_simulations_in_noise_with_outliers() {
        for seed in 0..6 {
            let noise = hours(seed, 12);
            for statistic in [3.0, 10.0, 30.0, 60.0, 100.0, 200.0] {
                let early = of(&noise, statistic, is_clear);
                let all = of(&noise, statistic, |_, _| false);
                assert_eq!(early.p.to_bits(), all.p.to_bits(), "{seed} {statistic}");
            }
        }
    }

    #[test]
    fn outliers_that_coincide_by_chance_are_not_clear() {
        // In one of forty series another outlier has the phase of two, which makes the maximum half as large again.
        for first in 0..40 {
            let simulate = |number: usize, _: &mut Buffers| match (number + first) % 40 {
                0 => 216.0,
                other => 144.0 + count_f64(other % 3) / 10.0,
            };
            let all = chance(simulate, 215.0, 1.0, |_, _| false);
            assert!(all.p > 0.02, "{all:?}");
            assert_eq!(chance(simulate, 215.0, 1.0, is_clear), all, "{first}");
        }
    }
}
