//! Searches for periods: those of calendars first, then all others.
//!
//! A series is folded by each period after the noise's autocorrelation has been removed, and the fold is
//! compared with a sawtooth, boxes and a wave at all phases (box: Kovács, Zucker, Mazeh 2002). The best on
//! each grid is fitted exactly, with its own noise. The statistic is the log-likelihood ratio to a
//! constant, minus the logarithm of the number of trials.

use super::fold::{BOX_BINS, Best, Counts, Fold, SPIKE_BINS_MAX};
use super::scratch::{Phase, Scratch};
use crate::calendar::periods::{DAY_US, HOUR_US};
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::noise::{Null, regress};
use crate::numbers::{as_count, as_f64, count_f64};
use crate::statistics::add;
use std::ops::Range;

/// Calendar periods, in microseconds of local time.
pub(crate) const CALENDARS_US: [i64; 9] = [
    HOUR_US,
    2 * HOUR_US,
    3 * HOUR_US,
    4 * HOUR_US,
    6 * HOUR_US,
    8 * HOUR_US,
    12 * HOUR_US,
    DAY_US,
    7 * DAY_US,
];
/// Minimum number of cycles of a pattern.
pub(crate) const CYCLES_MIN: f64 = 3.0;
/// Number of filled bins that a blind search covers, counted from the end, on all grids but the widest.
const WINDOW_BINS: usize = 512;
/// The same on the widest grid.
const WINDOW_WIDEST_BINS: usize = 1_024;
/// A window spans at most this many times its number of filled bins.
const SPARSE: i64 = 4;
/// Bins per period: fewer hide a form, more belong on a wider grid.
pub(crate) const PERIOD_BINS: (f64, f64) = (12.0, 48.0);
/// The shortest period on the finest grid, in bins.
const PERIOD_FINEST_BINS: f64 = 2.5;
/// A simulated candidate is not fitted exactly if its fold's gain, in nats, is so far below what the simulation shows already that
/// an exact fit would hardly make up for it.
const EXACT_MORE: f64 = 6.0;
/// Larger searches are judged by their folds, without an exact fit.
const EXACT_BINS_MAX: usize = 2_048;
/// A slow form may be misplaced by its period divided by this, at either end.
const SLIP: f64 = 8.0;
/// Maximum number of bins of a calendar period's fold.
const FOLD_BINS_MAX: usize = 20_160;
/// Maximum number of bins of any fold, 200 MB for each thread: a month of seconds is shorter. Bursts of samples
/// microseconds apart would ask for a bin for each microsecond between them.
const BINS_MAX: f64 = 4e6;
/// A search: one variant of one grid's values, for one calendar period or blind.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// The grid.
    pub grid: usize,
    /// The variant.
    pub variant: Variant,
    /// The range of filled bins.
    pub window: Range<usize>,
    /// The range of periods, in bins; a single one if both are equal.
    pub period_bins: (f64, f64),
    /// Whether the period is a calendar period.
    pub is_calendar: bool,
    /// Penalty for the number of trials, in nats.
    pub penalty: f64,
}

/// The result of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    /// Gain minus penalty, in nats.
    pub statistic: f64,
    /// Period in bins of the grid.
    pub period_bins: f64,
    /// Position in the fold, counted from the window's first bin.
    pub phase_bins: f64,
    /// The form.
    pub form: Form,
}

/// Returns all searches on these grids, for patterns with this many cycles.
pub(crate) fn tasks(grids: &[Grid], cycles: Range<f64>) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (number, grid) in grids.iter().enumerate() {
        let widest = number + 1 == grids.len();
        let span = as_f64(grid.span_bins());
        for period_us in CALENDARS_US {
            let bins = as_f64(period_us) / as_f64(grid.width_us);
            if !cycles.contains(&(span / bins)) || bins < PERIOD_FINEST_BINS {
                continue;
            }
            let slow = (number == 0 && bins < PERIOD_BINS.0 * 4.0)
                || (PERIOD_BINS.0..PERIOD_BINS.0 * 4.0).contains(&bins);
            // A spike may last several samples: on wider bins it is short again.
            let sharp = bins <= count_f64(FOLD_BINS_MAX);
            for (wanted, variant) in [(slow, Variant::Slow), (sharp, Variant::Sharp)] {
                if wanted {
                    tasks.push(Task {
                        penalty: (bins * count_f64(CALENDARS_US.len() * 4)).ln(),
                        ..Task::of_period(number, grid, variant, bins)
                    });
                }
            }
        }
        let most = if widest {
            WINDOW_WIDEST_BINS
        } else {
            WINDOW_BINS
        };
        let Some(&last) = grid.index.last() else {
            continue;
        };
        // With sparse samples there are too many periods to try.
        let sparse = i64::try_from(most)
            .unwrap_or(i64::MAX)
            .saturating_mul(SPARSE);
        let from = grid
            .index
            .partition_point(|&index| index < last.saturating_sub(sparse));
        let window = from.max(grid.len().saturating_sub(most))..grid.len();
        let span = as_f64(last - grid.index[window.start] + 1);
        let shortest = if number == 0 {
            PERIOD_FINEST_BINS
        } else {
            PERIOD_BINS.0
        };
        let longest = if widest { f64::INFINITY } else { PERIOD_BINS.1 };
        let periods = (
            shortest.max(span / cycles.end),
            longest.min(span / cycles.start),
        );
        if periods.0 >= periods.1 {
            continue;
        }
        let tried = span * (periods.1 / periods.0).ln() * 4.0 * periods.1.sqrt();
        for variant in [Variant::Slow, Variant::Sharp] {
            tasks.push(Task {
                grid: number,
                variant,
                window: window.clone(),
                period_bins: periods,
                is_calendar: false,
                penalty: tried.max(1.0).ln(),
            });
        }
    }
    tasks
}

/// Consecutive filled bins that map to consecutive bins of a fold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    /// Index of the first filled bin.
    first: usize,
    /// Its bin in the fold.
    place: usize,
    /// Number of bins.
    len: usize,
}

impl Task {
    /// Creates a search of a single period on a whole grid.
    pub fn of_period(number: usize, grid: &Grid, variant: Variant, period_bins: f64) -> Self {
        Self {
            grid: number,
            variant,
            window: 0..grid.len(),
            period_bins: (period_bins, period_bins),
            is_calendar: true,
            penalty: 0.0,
        }
    }

    /// Returns whether its candidates are fitted exactly.
    pub fn is_exact(&self) -> bool {
        self.window.len() <= EXACT_BINS_MAX
    }

    /// Searches `values`: those of the task's window, or simulated ones.
    pub fn search(
        &self,
        index: &[i64],
        values: &[f64],
        null: &Null,
        scratch: &mut Scratch,
    ) -> Option<Candidate> {
        best(self.each_form(index, values, null, scratch))
    }

    /// Returns the best candidate of each kind of form; none of a period of too many bins to fold by.
    pub fn each_form(
        &self,
        index: &[i64],
        values: &[f64],
        null: &Null,
        scratch: &mut Scratch,
    ) -> Vec<Candidate> {
        self.prepare(index, values, null, scratch);
        self.each_prepared(index, values, f64::MIN, scratch)
    }

    /// Prepares values for [`Self::each_prepared`] of all tasks with the same window and variant.
    pub fn prepare(&self, index: &[i64], values: &[f64], null: &Null, scratch: &mut Scratch) {
        scratch.whiten(self.variant, index, values, null);
        scratch.alone = if self.is_exact() {
            regress(index, values, &[]).map(|fit| fit.log_likelihood)
        } else {
            None
        };
    }

    /// Returns the best candidate of each kind of form for values that are prepared, but for those whose folds say that no
    /// exact fit will be as good as `enough`.
    pub fn each_prepared(
        &self,
        index: &[i64],
        values: &[f64],
        enough: f64,
        scratch: &mut Scratch,
    ) -> Vec<Candidate> {
        let (shortest, longest) = self.period_bins;
        let Some(last) = index.last() else {
            return Vec::new();
        };
        if longest > BINS_MAX {
            return Vec::new();
        }
        let mut nominated: [Option<(f64, f64)>; 3] = [None; 3];
        if shortest < longest {
            let span = as_f64(last - index[0] + 1);
            let mut period = longest;
            while period >= shortest {
                let slip = slip(self.variant, period);
                let gains = self.gains(scratch.fold_next(period, slip));
                for (gain, kept) in gains.into_iter().zip(&mut nominated) {
                    if let Some(gain) = gain
                        && kept.is_none_or(|kept| gain > kept.0)
                    {
                        *kept = Some((gain, period));
                    }
                }
                // From one period to the next the fold drifts over all samples by one bin, or by as much as a
                // slow form tolerates.
                period /= 1.0 + slip / span.max(8.0);
            }
        } else {
            nominated = [Some((f64::MAX, longest)); 3];
        }
        let mut folded: Option<(f64, [Option<Best>; 3])> = None;
        let mut found = Vec::new();
        for (form, nominated) in nominated.into_iter().enumerate() {
            let Some((gain, period)) = nominated else {
                continue;
            };
            if gain - self.penalty + EXACT_MORE < enough {
                continue;
            }
            let look = match folded {
                Some((of, look)) if of.to_bits() == period.to_bits() => look,
                _ => self.look(scratch.fold(period)),
            };
            folded = Some((period, look));
            found.extend(look[form].and_then(|best| {
                let may_be = best.gain - self.penalty + EXACT_MORE >= enough;
                may_be.then(|| self.judge(index, values, best, period, scratch))?
            }));
        }
        found
    }

    /// Returns the values of a grid, folded by the task's only period.
    pub fn folded<'a>(&self, grid: &Grid, null: &Null, scratch: &'a mut Scratch) -> &'a mut Fold {
        let (index, values) = self.of(grid);
        scratch.whiten(self.variant, index, values, null);
        scratch.fold(self.period_bins.1)
    }

    /// Returns the bins of its window, and their values.
    fn of<'a>(&self, grid: &'a Grid) -> (&'a [i64], &'a [f64]) {
        let window = self.window.clone();
        (
            &grid.index[window.clone()],
            &grid.values(self.variant)[window],
        )
    }

    /// Searches a grid.
    pub fn look_at(&self, grid: &Grid, scratch: &mut Scratch) -> Option<Candidate> {
        let (index, values) = self.of(grid);
        let null = if self.window.len() == grid.len() {
            grid.null(self.variant)
        } else {
            Null::fit(index, values, &mut Vec::new())
        };
        self.search(index, values, &null?, scratch)
    }

    /// Returns the number of bins of its only period, if it is whole: then it can be folded from a fold by a multiple of it.
    pub fn whole_bins(&self) -> Option<usize> {
        let (shortest, bins) = self.period_bins;
        (shortest >= bins && bins.fract() == 0.0).then(|| as_count(bins))
    }

    /// Maps the filled bins to bins of the fold by the task's only period.
    pub fn stretches(&self, index: &[i64]) -> Vec<Stretch> {
        let phase = Phase::new(self.period_bins.1);
        let first = index.first().copied().unwrap_or(0);
        let mut stretches: Vec<Stretch> = Vec::new();
        for (number, &bin) in index.iter().enumerate() {
            #[expect(clippy::cast_sign_loss, reason = "indices ascend")]
            let place = phase.bin((bin - first) as u64);
            match stretches.last_mut() {
                Some(last) if last.place + last.len == place => last.len += 1,
                _ => stretches.push(Stretch {
                    first: number,
                    place,
                    len: 1,
                }),
            }
        }
        stretches
    }

    /// Folds what filled bins tell ([`Counts::tell`]), mapped by [`Self::stretches`].
    pub fn fold_told(&self, stretches: &[Stretch], told: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        sums.resize(Phase::new(self.period_bins.1).bins, 0.0);
        for one in stretches {
            let values = &told[one.first..one.first + one.len];
            add(&mut sums[one.place..one.place + one.len], values);
        }
    }

    /// The same from a fold by a multiple of its period.
    pub fn fold_again(&self, longer: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        sums.resize(Phase::new(self.period_bins.1).bins, 0.0);
        for part in longer.chunks_exact(sums.len()) {
            add(sums, part);
        }
    }

    /// Like [`Self::search`], for values that are folded already.
    pub fn search_folded(
        &self,
        sums: &[f64],
        counts: Counts,
        scratch: &mut Scratch,
    ) -> Option<f64> {
        let fold = &mut scratch.fold;
        fold.clear(sums.len(), counts);
        fold.sums.copy_from_slice(sums);
        fold.sum_up();
        let gains = self.gains(fold).into_iter().flatten();
        gains.max_by(f64::total_cmp).map(|gain| gain - self.penalty)
    }

    /// Returns the widths of boxes that suit its variant.
    fn widths(&self) -> impl Iterator<Item = usize> + use<> {
        let is_sharp = self.variant == Variant::Sharp;
        let widths = BOX_BINS.into_iter();
        widths.filter(move |&width| (width <= SPIKE_BINS_MAX) == is_sharp)
    }

    /// Returns the best of each kind of form: sawtooth, wave, box.
    fn look(&self, fold: &mut Fold) -> [Option<Best>; 3] {
        let boxed = fold.boxed(self.widths());
        match self.variant {
            Variant::Slow => [fold.sawtooth(), fold.wave().map(less_one), boxed],
            Variant::Sharp => [None, None, boxed],
        }
    }

    /// Returns the gain of each of them.
    fn gains(&self, fold: &mut Fold) -> [Option<f64>; 3] {
        let boxed = fold.best_width(self.widths()).map(|best| best.0);
        let wave = |fold: &mut Fold| fold.wave_gain().map(|gain| gain - 1.0);
        match self.variant {
            Variant::Slow => [fold.sawtooth_gain(), wave(fold), boxed],
            Variant::Sharp => [None, None, boxed],
        }
    }

    fn judge(
        &self,
        index: &[i64],
        values: &[f64],
        best: Best,
        period: f64,
        scratch: &mut Scratch,
    ) -> Option<Candidate> {
        let phase_bins = count_f64(best.bin) * period / count_f64(Phase::new(period).bins);
        let mut gain = best.gain;
        if self.is_exact() {
            let [one, two] = &mut scratch.regressors;
            let turns = |at: i64| {
                let turns = (as_f64(at - index[0]) + 0.5 - phase_bins) / period;
                turns - turns.floor()
            };
            one.clear();
            one.extend(index.iter().map(|&at| best.form.at(turns(at))));
            let fit = if best.form == Form::Wave {
                two.clear();
                two.extend(index.iter().map(|&at| best.form.at(turns(at) - 0.25)));
                regress(index, values, &[one, two])
            } else {
                regress(index, values, &[one])
            };
            gain = fit?.log_likelihood - scratch.alone?;
            if best.form == Form::Wave {
                gain -= 1.0;
            }
        }
        Some(Candidate {
            statistic: gain - self.penalty,
            period_bins: period,
            phase_bins,
            form: best.form,
        })
    }
}

/// Returns whether a period is about that of a calendar.
pub(crate) fn is_near_calendar(period_us: f64) -> bool {
    let is_near = |calendar_us: i64| (period_us / as_f64(calendar_us) - 1.0).abs() < 0.01;
    CALENDARS_US.into_iter().any(is_near)
}

/// Returns the best of some candidates.
pub(crate) fn best(found: Vec<Candidate>) -> Option<Candidate> {
    (found.into_iter()).max_by(|a, b| a.statistic.total_cmp(&b.statistic))
}

/// Reduces the gain of a wave, which has one more amplitude than the other forms.
fn less_one(best: Best) -> Best {
    Best {
        gain: best.gain - 1.0,
        ..best
    }
}

/// Returns the number of bins by which the fold may drift over all samples.
fn slip(variant: Variant, period: f64) -> f64 {
    match variant {
        Variant::Slow => (period / SLIP).max(1.0),
        Variant::Sharp => 1.0,
    }
}
