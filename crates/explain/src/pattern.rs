//! A pattern that was found, made exact: its period, its phase as an interval, its size, and the
//! periods that show it.

use crate::grid::{Grid, Variant};
use crate::noise::{Fit, regress};
use crate::numbers::{as_f64, as_i64, count_f64};
use crate::runs::ages;
use crate::search::{Candidate, Null, Scratch, Task};
use crate::shape::{Form, width_of};
use crate::statistics::median;
use crate::wall::{DAY_US, HOUR_US, MONDAY_US};

/// Twice the logarithm of the likelihood that a 95 % interval may lose (chi-squared, 1 degree).
const INTERVAL_LOSS: f64 = 3.84 / 2.0;
/// The most harmonics of a wave.
const HARMONICS_MAX: usize = 6;
/// Beyond this many filled bins a wider grid is used for exact fits.
const FIT_BINS_MAX: usize = 40_000;
/// Units of round periods, the roundest first.
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
/// A round period is taken before another that fits no better than by this, in nats.
const CALENDAR_BONUS: f64 = 3.0;

/// When a pattern's periods begin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Clock {
    /// At equal distances of wall time.
    Fixed {
        /// Distance in microseconds.
        period_us: f64,
        /// Wall time of one beginning.
        origin_us: f64,
    },
    /// At a job's runs.
    Runs {
        /// Wall times, ascending.
        starts_us: Vec<i64>,
        /// Their usual distance.
        period_us: i64,
    },
}

/// A pattern.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    /// When it begins anew.
    pub clock: Clock,
    /// The class of jobs whose runs are the clock.
    pub class: Option<usize>,
    /// Grid that it was found on.
    pub grid: usize,
    /// Values that it was found in.
    pub variant: Variant,
    /// Its form; phase 0 is the reset or the onset.
    pub form: Form,
    /// Factor of the form; of a wave, of each harmonic's cosine and sine.
    pub coefficients: Vec<f64>,
    /// Around each beginning, where it lies: no earlier than this many microseconds after it
    /// (negative: before), and no later.
    pub interval_us: (i64, i64),
    /// Wall times between which it is on.
    pub on_us: (i64, i64),
    /// Its fit on its grid.
    pub fit: Fit,
    /// Likelihood gained by it, in nats.
    pub gain: f64,
}

impl Clock {
    /// Distance of beginnings in microseconds.
    pub fn period_us(&self) -> f64 {
        match self {
            Self::Fixed { period_us, .. } => *period_us,
            Self::Runs { period_us, .. } => as_f64(*period_us),
        }
    }

    /// Phase of each of ascending wall times; beyond 1 where a run is overdue.
    pub fn phases(&self, wall_us: &[i64]) -> Vec<f64> {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
            } => wall_us
                .iter()
                .map(|&wall| ((as_f64(wall) - origin_us) / period_us).rem_euclid(1.0))
                .collect(),
            Self::Runs {
                starts_us,
                period_us,
            } => ages(starts_us, *period_us, wall_us),
        }
    }

    /// The beginnings between two wall times.
    pub fn beginnings(&self, from_us: i64, until_us: i64) -> Vec<i64> {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
            } => {
                let first = ((as_f64(from_us) - origin_us) / period_us).ceil();
                let count = (as_f64(until_us - from_us) / period_us)
                    .floor()
                    .clamp(0.0, 1e7)
                    + 2.0;
                let mut number = 0.0;
                std::iter::from_fn(|| {
                    let at = origin_us + (first + number) * period_us;
                    number += 1.0;
                    (number <= count).then_some(at.round())
                })
                .map(as_i64)
                .filter(|at| (from_us..=until_us).contains(at))
                .collect()
            }
            Self::Runs { starts_us, .. } => starts_us
                .iter()
                .copied()
                .filter(|at| (from_us..=until_us).contains(at))
                .collect(),
        }
    }
}

impl Pattern {
    /// What it adds at each of ascending wall times.
    pub fn values(&self, wall_us: &[i64]) -> Vec<f64> {
        let phases = self.clock.phases(wall_us);
        wall_us
            .iter()
            .zip(phases)
            .map(|(&wall, phase)| {
                if wall < self.on_us.0 || wall > self.on_us.1 {
                    0.0
                } else {
                    contribution(self.form, &self.coefficients, phase)
                }
            })
            .collect()
    }

    /// From its lowest to its highest, with the sign of its form.
    pub fn size(&self) -> f64 {
        match self.form {
            Form::Wave => {
                let values: Vec<f64> = (0..64)
                    .map(|i| contribution(self.form, &self.coefficients, f64::from(i) / 64.0))
                    .collect();
                let top = values.iter().copied().fold(f64::MIN, f64::max);
                top - values.iter().copied().fold(f64::MAX, f64::min)
            }
            _ => self.coefficients[0],
        }
    }
}

fn contribution(form: Form, coefficients: &[f64], phase: f64) -> f64 {
    match form {
        Form::Wave => coefficients
            .chunks(2)
            .zip(1u32..)
            .map(|(pair, harmonic)| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(harmonic) * phase).sin_cos();
                pair[0] * cos + pair.get(1).copied().unwrap_or(0.0) * sin
            })
            .sum(),
        _ => coefficients[0] * form.at(phase.min(1.0)),
    }
}

/// Makes exact what a task has found. `None` where it does not stand the exact fit.
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
        if let Some(again) = again(grid, variant, period_us, scratch) {
            (form, origin_us) = again;
        }
    }
    // On to narrower grids, as far as they show more.
    let mut interval_us = (-grid.width_us, grid.width_us);
    if form == Form::Wave {
        interval_us = (0, 0);
    } else {
        for finer in (0..=number).rev() {
            let Some(place) = place(&grids[finer], variant, form, period_us, origin_us, scratch)
            else {
                break;
            };
            origin_us = place.origin_us;
            interval_us = place.interval_us;
            form = place.form;
        }
    }
    while grids[number].len() > FIT_BINS_MAX
        && number + 1 < grids.len()
        && matches!(form, Form::Sawtooth | Form::Wave)
    {
        number += 1;
    }
    let mut pattern = Pattern {
        clock: Clock::Fixed {
            period_us,
            origin_us,
        },
        class: None,
        grid: number,
        variant,
        form,
        coefficients: Vec::new(),
        interval_us,
        on_us: (i64::MIN, i64::MAX),
        fit: empty_fit(),
        gain: 0.0,
    };
    fit(&mut pattern, &grids[number])?;
    Some(pattern)
}

/// No fit yet.
pub(crate) fn empty_fit() -> Fit {
    Fit {
        coefficients: Vec::new(),
        phi: 0.0,
        variance: 1.0,
        log_likelihood: 0.0,
    }
}

/// Fits size and noise of a pattern on its grid, as far as it is on there.
pub(crate) fn fit(pattern: &mut Pattern, grid: &Grid) -> Option<()> {
    let on: Vec<usize> = (0..grid.len())
        .filter(|&i| (pattern.on_us.0..=pattern.on_us.1).contains(&grid.wall_us[i]))
        .collect();
    let index: Vec<i64> = on.iter().map(|&i| grid.index[i]).collect();
    let values: Vec<f64> = on
        .iter()
        .map(|&i| grid.values(pattern.variant)[i])
        .collect();
    let wall_us: Vec<i64> = on.iter().map(|&i| grid.wall_us[i]).collect();
    let phases = pattern.clock.phases(&wall_us);
    let alone = regress(&index, &values, &[])?;
    if pattern.form == Form::Wave {
        let mut best: Option<(f64, Fit)> = None;
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for harmonic in 1..=HARMONICS_MAX {
            let turn = std::f64::consts::TAU * count_f64(harmonic);
            columns.push(phases.iter().map(|phase| (turn * phase).cos()).collect());
            columns.push(phases.iter().map(|phase| (turn * phase).sin()).collect());
            if count_f64(harmonic) * 4.0 * as_f64(grid.width_us) > pattern.clock.period_us() {
                break;
            }
            let regressors: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let Some(fit) = regress(&index, &values, &regressors) else {
                break;
            };
            // Schwarz's criterion: half the logarithm of the count for each coefficient.
            let worth = fit.log_likelihood - count_f64(harmonic) * count_f64(values.len()).ln();
            if best.as_ref().is_none_or(|(least, _)| worth > *least) {
                best = Some((worth, fit));
            }
        }
        pattern.fit = best?.1;
        let count = pattern.fit.coefficients.len() - 1;
        pattern.coefficients = pattern.fit.coefficients[..count].to_vec();
    } else {
        let column: Vec<f64> = phases
            .iter()
            .map(|&p| pattern.form.at(p.min(1.0)))
            .collect();
        pattern.fit = regress(&index, &values, &[&column])?;
        let raw: Vec<f64> = on.iter().map(|&i| grid.means[i]).collect();
        let size = match pattern.form {
            Form::Box { duty } => box_size(&raw, &phases, duty),
            _ => None,
        };
        // Peaks were limited for the search; their true size is that of the samples.
        pattern.coefficients = vec![size.unwrap_or(pattern.fit.coefficients[0])];
    }
    pattern.gain = pattern.fit.log_likelihood - alone.log_likelihood;
    Some(())
}

/// How far a box stands out: the median, over its occurrences, of its mean less the mean of as many
/// bins before it.
fn box_size(values: &[f64], phases: &[f64], duty: f64) -> Option<f64> {
    let mut sizes = Vec::new();
    let mut i = 0;
    while i < values.len() {
        if phases[i] >= duty {
            i += 1;
            continue;
        }
        let end = (i..values.len())
            .find(|&k| phases[k] >= duty)
            .unwrap_or(values.len());
        let before = i.saturating_sub((end - i).max(2));
        let mean = |part: &[f64]| part.iter().sum::<f64>() / count_f64(part.len());
        if before < i {
            sizes.push(mean(&values[i..end]) - mean(&values[before..i]));
        }
        i = end;
    }
    (!sizes.is_empty()).then(|| median(sizes))
}

/// The period that fits best over the whole grid, near the one that fitted a part of it; a
/// calendar's where it does nearly as well.
fn exact_period(
    grid: &Grid,
    variant: Variant,
    form: Form,
    period_us: f64,
    origin_us: f64,
    scratch: &mut Scratch,
) -> Option<(f64, f64)> {
    let width = as_f64(grid.width_us);
    let values = grid.values(variant);
    let null = Null::fit(&grid.index, values, &mut Vec::new())?;
    let mut best = (f64::MIN, period_us, origin_us);
    // The more of the grid, the sharper the period: four times as much at each turn.
    let mut bins = 512;
    let mut look = |period_us: f64, from: usize, best: &mut (f64, f64, f64)| {
        let task = Task {
            grid: 0,
            variant,
            window: from..grid.len(),
            period_bins: (period_us / width, period_us / width),
            is_calendar: true,
            charge: 0.0,
        };
        let gains = task.profile(&grid.index[from..], &values[from..], &null, form, scratch);
        let Some((bin, gain)) = gains
            .iter()
            .copied()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))
        else {
            return;
        };
        if gain > best.0 {
            let phase = count_f64(bin) / count_f64(gains.len()) * period_us;
            let origin = as_f64(grid.start_us) + as_f64(grid.index[from]) * width + phase;
            *best = (gain, period_us, origin);
        }
    };
    loop {
        let from = grid.len().saturating_sub(bins);
        let span = as_f64(grid.index[grid.len() - 1] - grid.index[from] + 1) * width;
        let near = best.1;
        best.0 = f64::MIN;
        for tick in -12..=12 {
            let period = near * (1.0 + f64::from(tick) / 4.0 * width.max(near / 48.0) / span);
            look(period, from, &mut best);
        }
        if from == 0 {
            let exact = best;
            let cycles = span / exact.1;
            // As far as the samples tell, it may as well be a round one.
            let slack = (2.0 * width).max(exact.1 / 12.0) / cycles;
            let round = ROUND_US
                .iter()
                .map(|&unit| (exact.1 / as_f64(unit)).round() * as_f64(unit))
                .find(|round| *round > 0.0 && (round - exact.1).abs() <= slack);
            if let Some(round) = round {
                let mut rounded = (f64::MIN, round, origin_us);
                look(round, 0, &mut rounded);
                if rounded.0 + CALENDAR_BONUS > exact.0 {
                    best = rounded;
                }
            }
            return Some((best.1, best.2));
        }
        bins *= 4;
    }
}

/// With the exact period, the form and its place once more: one that slipped a little may have
/// looked like another.
fn again(
    grid: &Grid,
    variant: Variant,
    period_us: f64,
    scratch: &mut Scratch,
) -> Option<(Form, f64)> {
    let width = as_f64(grid.width_us);
    let null = Null::fit(&grid.index, grid.values(variant), &mut Vec::new())?;
    let task = Task::of_period(0, grid, variant, period_us / width);
    let found = task.search(&grid.index, grid.values(variant), &null, scratch)?;
    let origin_us = as_f64(grid.start_us) + (as_f64(grid.index[0]) + found.phase_bins) * width;
    Some((found.form, origin_us))
}

struct Place {
    origin_us: f64,
    interval_us: (i64, i64),
    form: Form,
}

/// Where on a grid the form begins, near `origin_us`, and the interval that is nearly as likely.
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
    let values = grid.values(variant);
    let null = Null::fit(&grid.index, values, &mut Vec::new())?;
    let task = Task::of_period(0, grid, variant, period_bins);
    // A box that was found on wider bins may be narrower or wider here.
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
        let gains = task.profile(&grid.index, values, &null, form, scratch);
        let bins = count_f64(gains.len());
        let near = ((origin_us - base_us) / period_us).rem_euclid(1.0) * bins;
        for (bin, &gain) in gains.iter().enumerate() {
            let apart = (count_f64(bin) - near).rem_euclid(bins);
            let apart = apart.min(bins - apart);
            // Two bins of the grid before this one.
            if apart <= 9.0 && best.as_ref().is_none_or(|best| gain > best.0) {
                best = Some((gain, bin, form, gains.clone()));
            }
        }
    }
    let profile = |form: Form| task.profile(&grid.index, values, &null, form, scratch);
    let (gain, bin, form, gains) = best_width(best?, profile);
    let bins = gains.len();
    let bin_us = period_us / count_f64(bins);
    let likely = |steps: usize, up: bool| {
        let at = if up {
            bin + steps
        } else {
            bin + bins - steps % bins
        } % bins;
        gains[at] >= gain - INTERVAL_LOSS
    };
    let before = (1..bins / 2)
        .take_while(|&steps| likely(steps, false))
        .count();
    let after = (1..bins / 2)
        .take_while(|&steps| likely(steps, true))
        .count();
    let origin_us = nearest(base_us + count_f64(bin) * bin_us, origin_us, period_us);
    // Between the last sample before and the first sample after, by the phases of the samples.
    let (low, high) = sample_phases(
        grid,
        period_us,
        origin_us - count_f64(before) * bin_us,
        origin_us + count_f64(after) * bin_us,
        bin_us,
    );
    // Periods that are no multiple of the samples' distance have samples at all phases; that the
    // period is exact is not known so well.
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

/// Widens or narrows a box bin by bin, as long as that is better; other forms stay. Takes and gives
/// the gain, the bin, the form, and the gains at all bins.
fn best_width(
    mut best: (f64, usize, Form, Vec<f64>),
    mut profile: impl FnMut(Form) -> Vec<f64>,
) -> (f64, usize, Form, Vec<f64>) {
    let bins = best.3.len();
    while let Form::Box { duty } = best.2 {
        let width = width_of(duty, bins);
        let mut next: Option<(f64, usize, Form, Vec<f64>)> = None;
        for width in [width.saturating_sub(1), width + 1] {
            if width == 0 || width * 2 > bins {
                continue;
            }
            let form = Form::Box {
                duty: count_f64(width) / count_f64(bins),
            };
            let gains = profile(form);
            // Around where it is: no further than it is wide.
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
        match next {
            Some(next) if next.0 > best.0 => best = next,
            _ => break,
        }
    }
    best
}

/// The same phase as `at`, nearest to `to`.
fn nearest(at: f64, to: f64, period: f64) -> f64 {
    at + ((to - at) / period).round() * period
}

/// Of the bin before `low` the last sample's phase, and of the bin after `high` the first one's.
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

/// Start of the local week or day that a wall time lies in.
pub(crate) fn start_of(period_us: i64, wall_us: i64) -> i64 {
    let anchor = if period_us % (7 * DAY_US) == 0 {
        MONDAY_US
    } else {
        0
    };
    wall_us - (wall_us - anchor).rem_euclid(period_us)
}
