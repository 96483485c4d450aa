//! Searches for periods: those of calendars first, then all others.
//!
//! A series is folded by each period after the noise's autocorrelation has been removed, and the fold is
//! compared with a sawtooth, boxes and a wave at all phases (box: Kovács, Zucker, Mazeh 2002). The best on
//! each grid is fitted exactly, with its own noise. The statistic is the log-likelihood ratio to a
//! constant, minus the logarithm of the number of trials.

use super::fold::{BOX_BINS, Best, Fold, SPIKE_BINS_MAX};
use crate::calendar::periods::{DAY_US, HOUR_US};
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::noise::{Null, regress};
use crate::numbers::{as_f64, count_f64};
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
/// Larger searches are judged by their folds, without an exact fit.
const EXACT_BINS_MAX: usize = 2_048;
/// A slow form may be misplaced by its period divided by this, at either end.
const SLIP: f64 = 8.0;
/// Maximum number of bins of a calendar period's fold.
const FOLD_BINS_MAX: usize = 20_160;
/// Maximum number of bins of any fold, 200 MB for each thread: a month of seconds is shorter. Bursts of samples
/// microseconds apart would ask for a bin for each microsecond between them.
const BINS_MAX: f64 = 4e6;
/// Caps on innovations in standard deviations, for slow and for sharp values.
const INNOVATION_SIGMAS: [f64; 2] = [4.0, 12.0];

/// Returns the cap on innovations of a variant, in standard deviations.
pub(crate) fn limit_of(variant: Variant) -> f64 {
    INNOVATION_SIGMAS[usize::from(variant == Variant::Sharp)]
}

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
                        grid: number,
                        variant,
                        window: 0..grid.len(),
                        period_bins: (bins, bins),
                        is_calendar: true,
                        penalty: (bins * count_f64(CALENDARS_US.len() * 4)).ln(),
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
    /// Whether each follows a gap.
    is_fresh: bool,
}

/// Phases of bins for a period, as fractions of 2^64, so that integer overflow corresponds to whole
/// periods.
#[derive(Debug, Clone, Copy)]
struct Phase {
    step: u64,
    bins: usize,
}

impl Phase {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a period is 2 at least, and has few bins"
    )]
    fn new(period: f64) -> Self {
        const TURN: f64 = 18_446_744_073_709_551_616.0;
        Self {
            step: (TURN / period) as u64,
            bins: (period.round() as usize).max(3),
        }
    }

    /// Returns the bin of the fold for the middle of a bin of the grid.
    fn bin(self, at: u64) -> usize {
        let turn = at.wrapping_mul(self.step).wrapping_add(self.step / 2);
        (((turn >> 32) * self.bins as u64) >> 32) as usize
    }
}

/// Reusable search buffers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    fold: Fold,
    /// Innovations, and values after a gap, each with its bin counted from the first.
    pairs: Vec<(u64, f64)>,
    fresh: Vec<(u64, f64)>,
    regressors: [Vec<f64>; 2],
}

impl Scratch {
    /// Whitens values.
    #[expect(clippy::cast_sign_loss, reason = "indices ascend")]
    pub fn whiten(&mut self, variant: Variant, index: &[i64], values: &[f64], null: &Null) {
        let limit = limit_of(variant);
        let fresh = (1.0 - null.phi * null.phi).max(0.0).sqrt();
        self.pairs.clear();
        self.fresh.clear();
        let mut before: Option<(i64, f64)> = None;
        for (&bin, value) in index.iter().zip(values) {
            let value = value - null.mean;
            let at = (bin - index[0]) as u64;
            let limited = |value: f64| (value / null.sigma).clamp(-limit, limit);
            match before {
                Some((last, kept)) if bin == last + 1 => {
                    self.pairs.push((at, limited(value - null.phi * kept)));
                }
                _ => self.fresh.push((at, limited(value * fresh))),
            }
            before = Some((bin, value));
        }
    }

    /// Folds the whitened values by a period.
    pub fn fold(&mut self, period: f64, phi: f64) -> &Fold {
        let phase = Phase::new(period);
        let fold = &mut self.fold;
        fold.clear(phase.bins, phi);
        for (sums, values) in [
            (&mut fold.pairs, &self.pairs),
            (&mut fold.fresh, &self.fresh),
        ] {
            for &(at, value) in values {
                sums[phase.bin(at)] += value;
            }
        }
        fold.pair_count = count_f64(self.pairs.len());
        fold.fresh_count = count_f64(self.fresh.len());
        fold.sum_up();
        fold
    }
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
        self.each_form(index, values, null, scratch)
            .into_iter()
            .max_by(|a, b| a.statistic.total_cmp(&b.statistic))
    }

    /// Returns the best candidate of each kind of form; none of a period of too many bins to fold by.
    pub fn each_form(
        &self,
        index: &[i64],
        values: &[f64],
        null: &Null,
        scratch: &mut Scratch,
    ) -> Vec<Candidate> {
        let mut nominated: [Option<(Best, f64)>; 3] = [None; 3];
        let (shortest, longest) = self.period_bins;
        let Some(last) = index.last() else {
            return Vec::new();
        };
        if longest > BINS_MAX {
            return Vec::new();
        }
        let span = as_f64(last - index[0] + 1);
        scratch.whiten(self.variant, index, values, null);
        let mut period = longest;
        loop {
            let fold = scratch.fold(period, null.phi);
            for (best, kept) in self.look(fold).into_iter().zip(&mut nominated) {
                if let Some(best) = best
                    && kept.is_none_or(|kept| best.gain > kept.0.gain)
                {
                    *kept = Some((best, period));
                }
            }
            // From one period to the next the fold drifts over all samples by one bin, or by as much as a
            // slow form tolerates.
            period /= 1.0 + slip(self.variant, period) / span.max(8.0);
            if period < shortest || shortest >= longest {
                break;
            }
        }
        let alone = if self.is_exact() {
            regress(index, values, &[]).map(|fit| fit.log_likelihood)
        } else {
            None
        };
        nominated
            .into_iter()
            .flatten()
            .filter_map(|(best, period)| self.judge(index, values, best, period, alone, scratch))
            .collect()
    }

    /// Returns the values of a grid, folded by the task's only period.
    pub fn folded<'a>(&self, grid: &Grid, null: &Null, scratch: &'a mut Scratch) -> &'a Fold {
        let (index, values) = self.of(grid);
        scratch.whiten(self.variant, index, values, null);
        scratch.fold(self.period_bins.1, null.phi)
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

    /// Maps the filled bins to bins of the fold by the task's only period.
    pub fn stretches(&self, index: &[i64]) -> Vec<Stretch> {
        let phase = Phase::new(self.period_bins.1);
        let first = index.first().copied().unwrap_or(0);
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut before = None;
        for (number, &bin) in index.iter().enumerate() {
            #[expect(clippy::cast_sign_loss, reason = "indices ascend")]
            let place = phase.bin((bin - first) as u64);
            let is_fresh = before != Some(bin - 1);
            match stretches.last_mut() {
                Some(last) if last.is_fresh == is_fresh && last.place + last.len == place => {
                    last.len += 1;
                }
                _ => stretches.push(Stretch {
                    first: number,
                    place,
                    len: 1,
                    is_fresh,
                }),
            }
            before = Some(bin);
        }
        stretches
    }

    /// Like [`Self::search`], for innovations that are already white, mapped by [`Self::stretches`].
    pub fn search_white(
        &self,
        stretches: &[Stretch],
        white: &[f64],
        phi: f64,
        scratch: &mut Scratch,
    ) -> Option<Candidate> {
        let period = self.period_bins.1;
        let fold = &mut scratch.fold;
        fold.clear(Phase::new(period).bins, phi);
        let mut fresh = 0;
        for one in stretches {
            let sums = if one.is_fresh {
                fresh += one.len;
                &mut fold.fresh
            } else {
                &mut fold.pairs
            };
            let values = &white[one.first..one.first + one.len];
            for (sum, value) in sums[one.place..one.place + one.len].iter_mut().zip(values) {
                *sum += value;
            }
        }
        fold.pair_count = count_f64(white.len() - fresh);
        fold.fresh_count = count_f64(fresh);
        fold.sum_up();
        self.look(&scratch.fold)
            .into_iter()
            .flatten()
            .map(|best| self.candidate(best, period, best.gain, &scratch.fold))
            .max_by(|a, b| a.statistic.total_cmp(&b.statistic))
    }

    /// Returns the best of each kind of form: sawtooth, wave, box.
    fn look(&self, fold: &Fold) -> [Option<Best>; 3] {
        let is_sharp = self.variant == Variant::Sharp;
        let widths = BOX_BINS.into_iter();
        let boxed = fold.boxed(widths.filter(|&width| (width <= SPIKE_BINS_MAX) == is_sharp));
        match self.variant {
            Variant::Slow => [fold.sawtooth(), fold.wave().map(less_one), boxed],
            Variant::Sharp => [None, None, boxed],
        }
    }

    fn candidate(&self, best: Best, period: f64, gain: f64, fold: &Fold) -> Candidate {
        Candidate {
            statistic: gain - self.penalty,
            period_bins: period,
            phase_bins: count_f64(best.bin) * period / count_f64(fold.pairs.len()),
            form: best.form,
        }
    }

    fn judge(
        &self,
        index: &[i64],
        values: &[f64],
        best: Best,
        period: f64,
        alone: Option<f64>,
        scratch: &mut Scratch,
    ) -> Option<Candidate> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "as in fold"
        )]
        let bins = (period.round() as usize).max(3);
        let phase_bins = count_f64(best.bin) * period / count_f64(bins);
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
            gain = fit?.log_likelihood - alone?;
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
