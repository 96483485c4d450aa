//! Refines period, form and position of a candidate, on ever narrower bins.

use super::size::{fit, grid_to_fit, widest_for};
use crate::calendar::periods::{DAY_US, HOUR_US};
use crate::calendar::weekdays::Weekdays;
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::noise::Null;
use crate::model::pattern::{Clock, Pattern};
use crate::numbers::{as_f64, as_i64, count_f64};
use crate::search::fold::{Fold, width_of};
use crate::search::periods::{Candidate, Task};
use crate::search::scratch::Scratch;

/// Loss of log-likelihood at the ends of a 95 % interval (half of chi-squared, 1 degree of freedom).
const INTERVAL_LOSS: f64 = 3.84 / 2.0;
/// Maximum number of bins by which a box grows or shrinks at once.
const WIDTH_REACH: usize = 4;
/// A box has at least as many bins as [`widest_for`] requires, divided by this.
const BOX_PART: f64 = 4.0;
/// Units of round periods, roundest first.
const ROUND_US: [i64; 9] = [
    7 * DAY_US,
    DAY_US,
    DAY_US / 2,
    HOUR_US,
    HOUR_US / 2,
    HOUR_US / 4,
    HOUR_US / 12,
    HOUR_US / 60,
    HOUR_US / 360,
];
/// A round period is preferred unless another fits better by more than this, in nats.
const CALENDAR_BONUS: f64 = 3.0;

/// Refines a candidate. `None` if it does not pass the exact fit.
pub(crate) fn refine(
    grids: &[Grid],
    task: &Task,
    candidate: &Candidate,
    scratch: &mut Scratch,
) -> Option<Pattern> {
    let (mut number, variant, mut form) = (task.grid, task.variant, candidate.form);
    let grid = &grids[number];
    let width = as_f64(grid.width_us);
    let mut period_us = candidate.period_bins * width;
    let window_start = grid.index[task.window.start];
    let mut origin_us =
        as_f64(grid.start_us) + (as_f64(window_start) + candidate.phase_bins) * width;
    if !task.is_calendar {
        (period_us, origin_us) = exact_period(grid, variant, form, period_us, origin_us, scratch)?;
        if let Some(again) = refit_form(grid, variant, period_us, scratch) {
            (form, origin_us) = again;
        }
    }
    // Continue on narrower grids as long as they resolve more.
    let mut interval_us = (-grid.width_us, grid.width_us);
    if form == Form::Wave {
        interval_us = (0, 0);
    } else {
        for finer in (0..=number).rev() {
            // Narrower bins reveal a drift of the period that wider ones hide.
            if !task.is_calendar && (grid_to_fit(grids, period_us)..number).contains(&finer) {
                (period_us, origin_us) = Periods::new(&grids[finer], variant, form, scratch)?
                    .exact((period_us, origin_us));
            }
            let Some(place) = place(&grids[finer], variant, form, period_us, origin_us, scratch)
            else {
                break;
            };
            origin_us = place.origin_us;
            interval_us = place.interval_us;
            form = place.form;
        }
    }
    // A bin that contains a reset or an onset belongs to neither side, which does no harm on narrow bins.
    // Bins as wide as the period show nothing.
    let narrow = grid_to_fit(grids, period_us);
    number = match form {
        Form::Sawtooth => narrow,
        Form::Wave => number.max(narrow).min(widest_for(grids, period_us)),
        // Short ones on bins that are no longer than they are.
        Form::Box { duty } => number
            .min(narrow)
            .min(widest_for(grids, duty * period_us * BOX_PART)),
    };
    let clock = Clock::Fixed {
        period_us,
        origin_us,
        days: Weekdays::ALL,
        zone: None,
    };
    let mut pattern = Pattern::unfitted(clock, form, number, variant, interval_us);
    fit(&mut pattern, &grids[number])?;
    Some(pattern)
}

/// Returns the period that fits the whole grid best, near one that fits part of it; a round one if it fits
/// nearly as well.
fn exact_period(
    grid: &Grid,
    variant: Variant,
    form: Form,
    period_us: f64,
    origin_us: f64,
    scratch: &mut Scratch,
) -> Option<(f64, f64)> {
    let mut periods = Periods::new(grid, variant, form, scratch)?;
    let mut best = (period_us, origin_us);
    // The longer the window, the more exact the period: four times as much in each round.
    let mut bins = 512;
    while bins < grid.len() {
        best = periods.nearby(best, grid.len() - bins).1;
        bins *= 4;
    }
    Some(periods.exact(best))
}

/// Compares periods by the gain of one form on a grid.
struct Periods<'a> {
    grid: &'a Grid,
    variant: Variant,
    form: Form,
    null: Null,
    scratch: &'a mut Scratch,
}

impl<'a> Periods<'a> {
    fn new(grid: &'a Grid, variant: Variant, form: Form, scratch: &'a mut Scratch) -> Option<Self> {
        let null = grid.null(variant)?;
        Some(Self {
            grid,
            variant,
            form,
            null,
            scratch,
        })
    }

    /// Whitens the bins from `from` on, for [`Self::look`].
    fn take(&mut self, from: usize) {
        let (index, values) = (&self.grid.index, self.grid.values(self.variant));
        self.scratch
            .whiten(self.variant, &index[from..], &values[from..], &self.null);
    }

    /// Returns the gain of a period over the bins from `from` on, which [`Self::take`] whitened, and the
    /// position of the form.
    fn look(&mut self, period_us: f64, from: usize) -> Option<(f64, f64)> {
        let (grid, width) = (self.grid, as_f64(self.grid.width_us));
        let fold = self.scratch.fold(period_us / width);
        let gains = fold.profile(self.form);
        let (bin, &gain) = (gains.iter().enumerate()).max_by(|a, b| a.1.total_cmp(b.1))?;
        let phase = count_f64(bin) / count_f64(gains.len()) * period_us;
        let origin = as_f64(grid.start_us) + as_f64(grid.index[from]) * width + phase;
        Some((gain, origin))
    }

    /// Returns the best period near a given one, with its gain, over the bins from `from` on; the search
    /// range allows a drift of at most three bins over them.
    fn nearby(&mut self, near: (f64, f64), from: usize) -> (f64, (f64, f64)) {
        let width = as_f64(self.grid.width_us);
        let span = self.span_us(from);
        let mut best = (f64::MIN, near);
        self.take(from);
        for tick in -12..=12 {
            let slip = f64::from(tick) / 4.0 * width.max(near.0 / 48.0);
            let period_us = near.0 * (1.0 + slip / span);
            if let Some((gain, origin_us)) = self.look(period_us, from)
                && gain > best.0
            {
                best = (gain, (period_us, origin_us));
            }
        }
        best
    }

    /// The same over all bins; returns a round period if the bins cannot distinguish it from the best.
    fn exact(&mut self, near: (f64, f64)) -> (f64, f64) {
        let (gain, exact) = self.nearby(near, 0);
        let cycles = self.span_us(0) / exact.0;
        let slack = (2.0 * as_f64(self.grid.width_us)).max(exact.0 / 12.0) / cycles;
        let round = ROUND_US
            .iter()
            .map(|&unit| (exact.0 / as_f64(unit)).round() * as_f64(unit))
            .find(|round| *round > 0.0 && (round - exact.0).abs() <= slack);
        match round.and_then(|round| Some((round, self.look(round, 0)?))) {
            Some((round, (rounded, origin_us))) if rounded + CALENDAR_BONUS > gain => {
                (round, origin_us)
            }
            _ => exact,
        }
    }

    fn span_us(&self, from: usize) -> f64 {
        let index = &self.grid.index;
        as_f64(index[index.len() - 1] - index[from] + 1) * as_f64(self.grid.width_us)
    }
}

/// Fits form and position again with the exact period, because a drift may have made one form look like
/// another.
fn refit_form(
    grid: &Grid,
    variant: Variant,
    period_us: f64,
    scratch: &mut Scratch,
) -> Option<(Form, f64)> {
    let width = as_f64(grid.width_us);
    let task = Task::of_period(0, grid, variant, period_us / width);
    let found = task.look_at(grid, scratch)?;
    let origin_us = as_f64(grid.start_us) + (as_f64(grid.index[0]) + found.phase_bins) * width;
    Some((found.form, origin_us))
}

struct Place {
    origin_us: f64,
    interval_us: (i64, i64),
    form: Form,
}

/// Returns the position of the form on a grid, near `origin_us`, and the interval of positions that are
/// nearly as likely.
fn place(
    grid: &Grid,
    variant: Variant,
    form: Form,
    period_us: f64,
    origin_us: f64,
    scratch: &mut Scratch,
) -> Option<Place> {
    let width = as_f64(grid.width_us);
    let period_bins = period_us / width;
    if !(2.5..=200_000.0).contains(&period_bins) {
        return None;
    }
    let null = grid.null(variant)?;
    let fold = Task::of_period(0, grid, variant, period_bins).folded(grid, &null, scratch);
    // A box found on wider bins may be narrower or wider here.
    let forms: Vec<Form> = match form {
        Form::Box { duty } => [0.25, 0.5, 0.75, 1.0, 1.25]
            .iter()
            .map(|factor| duty * factor)
            .filter(|&duty| duty * period_bins > 0.4 && duty <= 0.5)
            .map(|duty| {
                let bins = period_bins.round();
                Form::Box {
                    duty: ((duty * bins).round().max(1.0) / bins).min(0.5),
                }
            })
            .collect(),
        other => vec![other],
    };
    let base_us = as_f64(grid.start_us) + as_f64(grid.index[0]) * width;
    let mut best: Option<(f64, usize, Form, Vec<f64>)> = None;
    for form in forms {
        let gains = fold.profile(form);
        let bins = count_f64(gains.len());
        let near = ((origin_us - base_us) / period_us).rem_euclid(1.0) * bins;
        for (bin, &gain) in gains.iter().enumerate() {
            let apart = (count_f64(bin) - near).rem_euclid(bins);
            let apart = apart.min(bins - apart);
            // Two bins of the previous, wider grid.
            if apart <= 9.0 && best.as_ref().is_none_or(|best| gain > best.0) {
                best = Some((gain, bin, form, gains.clone()));
            }
        }
    }
    let (gain, bin, form, gains) = best_width(best?, fold);
    let bins = gains.len();
    let bin_us = period_us / count_f64(bins);
    let likely = |at: usize| gains[at % bins] >= gain - INTERVAL_LOSS;
    let steps = || 1..bins / 2;
    let before = steps().take_while(|&steps| likely(bin + bins - steps));
    let after = steps().take_while(|&steps| likely(bin + steps));
    let (before, after) = (before.count(), after.count());
    let origin_us = nearest(base_us + count_f64(bin) * bin_us, origin_us, period_us);
    // Between the last sample before and the first sample after, by the samples' phases.
    let (low, high) = sample_phases(
        grid,
        period_us,
        origin_us - count_f64(before) * bin_us,
        origin_us + count_f64(after) * bin_us,
        bin_us,
    );
    // If the period is not a multiple of the sampling interval, there are samples at all phases, and the
    // period is not known that exactly.
    let is_whole = (period_bins - period_bins.round()).abs() < 1e-9;
    let spare = if is_whole {
        0.0
    } else {
        ((width - (high - low)) / 2.0).max(0.0)
    };
    Some(Place {
        origin_us,
        interval_us: (
            as_i64(low - spare - origin_us),
            as_i64(high + spare - origin_us),
        ),
        form,
    })
}

/// Widens or narrows a box while that improves the gain: in autocorrelated noise, only the right width has
/// both edges. Other forms are unchanged. Takes and returns the gain, the bin, the form, and the gains at
/// all bins.
fn best_width(
    mut best: (f64, usize, Form, Vec<f64>),
    fold: &mut Fold,
) -> (f64, usize, Form, Vec<f64>) {
    let bins = best.3.len();
    let form_of = |width: usize| Form::Box {
        duty: count_f64(width) / count_f64(bins),
    };
    while let Form::Box { duty } = best.2 {
        let width = width_of(duty, bins);
        let mut next: Option<(f64, usize, Form, Vec<f64>)> = None;
        for width in width.saturating_sub(WIDTH_REACH).max(1)..=width + WIDTH_REACH {
            if width * 2 > bins || form_of(width) == best.2 {
                continue;
            }
            let form = form_of(width);
            let gains = fold.profile(form);
            // Around its position, within its width.
            let around = (0..bins).filter(|at| {
                let apart = (at + bins - best.1) % bins;
                apart.min(bins - apart) <= width
            });
            if let Some(at) = around.max_by(|&a, &b| gains[a].total_cmp(&gains[b]))
                && next.as_ref().is_none_or(|next| gains[at] > next.0)
            {
                next = Some((gains[at], at, form, gains));
            }
        }
        // If one edge is right and the other far off, no neighbouring box is better.
        if let Some(other) = fold.sharing_an_edge(best.1, width)
            && next.as_ref().is_none_or(|next| other.gain > next.0)
        {
            let gains = fold.profile(other.form);
            next = Some((other.gain, other.bin, other.form, gains));
        }
        match next {
            Some(next) if next.0 > best.0 => best = next,
            _ => break,
        }
    }
    best
}

/// Returns the phase of `at`, shifted by whole periods to be nearest to `to`.
fn nearest(at: f64, to: f64, period: f64) -> f64 {
    at + ((to - at) / period).round() * period
}

/// Returns the phase of the last sample in the bin before `low`, and of the first one in the bin after
/// `high`.
fn sample_phases(grid: &Grid, period_us: f64, low: f64, high: f64, bin_us: f64) -> (f64, f64) {
    let (mut last, mut first) = (low - bin_us, high + bin_us);
    for &wall in &grid.wall_us {
        let wall = as_f64(wall);
        let near_low = nearest(wall, low - bin_us / 2.0, period_us);
        if near_low < low && near_low > last {
            last = near_low;
        }
        let near_high = nearest(wall, high + bin_us / 2.0, period_us);
        if near_high >= high && near_high < first {
            first = near_high;
        }
    }
    (last, first)
}
