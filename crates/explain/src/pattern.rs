//! A pattern: when it begins anew, its form and size, and how it is fitted to the values of a grid.

use crate::grid::{Grid, Variant};
use crate::noise::{Fit, regress};
use crate::numbers::{as_f64, as_i64, count_f64};
use crate::runs::ages;
use crate::search::PERIOD_BINS;
use crate::shape::Form;
use crate::statistics::median;
use crate::wall::{DAY_US, MONDAY_US};
use crate::weekdays::Weekdays;

/// The most harmonics of a wave.
pub(crate) const HARMONICS_MAX: usize = 6;
/// Beyond this many filled bins a wider grid is used for exact fits.
const FIT_BINS_MAX: usize = 40_000;
/// What makes good the end of a box is this many times as large as that at most.
const PATCH_MAX: f64 = 1.3;
/// Wide bins of a box, at least, that its edges can be left out of.
const WIDE_BOX_MIN: usize = 3;

/// When a pattern's periods begin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Clock {
    /// At equal distances of wall time.
    Fixed {
        /// Distance in microseconds.
        period_us: f64,
        /// Wall time of one beginning.
        origin_us: f64,
        /// On which days of the week it begins.
        days: Weekdays,
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

    /// The days of the week on which it begins anew.
    pub fn weekdays(&self) -> Weekdays {
        match self {
            Self::Fixed { days, .. } => *days,
            Self::Runs { .. } => Weekdays::ALL,
        }
    }

    /// Whether the day's beginning that is nearest to a wall time is one on which it begins anew.
    pub fn is_of_days(&self, wall_us: i64) -> bool {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
                days,
            } => {
                let turns = ((as_f64(wall_us) - origin_us) / period_us).round();
                days.has(as_i64(origin_us + turns * period_us))
            }
            Self::Runs { .. } => true,
        }
    }

    /// Phase of each of ascending wall times; beyond 1 where a run is overdue, or on days without a beginning.
    pub fn phases(&self, wall_us: &[i64]) -> Vec<f64> {
        match self {
            Self::Fixed {
                period_us,
                origin_us,
                days,
            } => wall_us
                .iter()
                .map(|&wall| {
                    // Some times as fast as a remainder.
                    let turns = (as_f64(wall) - origin_us) / period_us;
                    let whole = turns.floor();
                    let phase = turns - whole;
                    if *days == Weekdays::ALL || days.has(as_i64(origin_us + whole * period_us)) {
                        phase
                    } else {
                        1.0 + phase
                    }
                })
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
                days,
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
                .filter(|&at| (from_us..=until_us).contains(&at) && days.has(at))
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

    /// Whether it has become part of another with the same period: a smaller one that begins where that does,
    /// or a box within that one that points the other way and makes good what it does too long.
    pub fn is_part_of(&self, other: &Self) -> bool {
        let ratio = self.size().abs() / other.size().abs();
        let is_patch = match (self.form, other.form) {
            (Form::Box { .. }, Form::Box { duty }) => {
                self.after(other)
                    .is_some_and(|after| after <= duty * other.clock.period_us())
                    && self.size() * other.size() < 0.0
            }
            _ => false,
        };
        self.is_of_period(other)
            && (self.is_at(other) && ratio < 1.0 || is_patch && ratio < PATCH_MAX)
    }

    /// Whether its period is that of another, and some of its days of the week are.
    pub fn is_of_period(&self, other: &Self) -> bool {
        let (days, known) = (self.clock.weekdays(), other.clock.weekdays());
        days.shares(known) && (self.clock.period_us() / other.clock.period_us() - 1.0).abs() < 0.01
    }

    /// Whether it begins where another with the same period does, for all that their intervals tell.
    pub fn is_at(&self, other: &Self) -> bool {
        let width = |pattern: &Self| as_f64(pattern.interval_us.1 - pattern.interval_us.0);
        self.after(other).is_some_and(|after| {
            after.min(self.clock.period_us() - after) <= width(self).max(width(other))
        })
    }

    /// How long after another it begins, by its own period, in microseconds; `None` where jobs are the clock
    /// of one.
    fn after(&self, other: &Self) -> Option<f64> {
        let Clock::Fixed {
            period_us,
            origin_us,
            ..
        } = self.clock
        else {
            return None;
        };
        match other.clock {
            Clock::Fixed {
                origin_us: first, ..
            } => Some((origin_us - first).rem_euclid(period_us)),
            Clock::Runs { .. } => None,
        }
    }

    /// The middle of the interval that it lies in, from each beginning on.
    pub fn middle_us(&self) -> i64 {
        let (from, to) = self.interval_us;
        from + (to - from) / 2
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

/// The finest grid whose bins are not too many for exact fits, but none whose bins are too wide for a period
/// to show a form.
pub(crate) fn grid_to_fit(grids: &[Grid], period_us: f64) -> usize {
    let few = grids
        .iter()
        .position(|grid| grid.len() <= FIT_BINS_MAX)
        .unwrap_or(grids.len().saturating_sub(1));
    few.min(widest_for(grids, period_us))
}

/// The widest grid whose bins show a form of a period.
pub(crate) fn widest_for(grids: &[Grid], period_us: f64) -> usize {
    let bins = |grid: &Grid| period_us / as_f64(grid.width_us);
    grids
        .iter()
        .rposition(|grid| bins(grid) >= PERIOD_BINS.0)
        .unwrap_or(0)
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
            Form::Box { duty } => box_size(&raw, &phases, duty, Beside::Before, grid.is_wide),
            _ => None,
        };
        // Peaks were limited for the search; their true size is that of the samples.
        pattern.coefficients = vec![size.unwrap_or(pattern.fit.coefficients[0])];
    }
    pattern.gain = pattern.fit.log_likelihood - alone.log_likelihood;
    Some(())
}

/// What a box's occurrences are put beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// The bins before.
    Before,
    /// Those before and after alike: a wave below both is level there.
    Both,
}

/// How far a box stands out: the median, over its occurrences, of its mean less the mean of as many
/// bins beside it. Wide bins may have an edge of it within them, which is of neither side.
pub(crate) fn box_size(
    values: &[f64],
    phases: &[f64],
    duty: f64,
    beside: Beside,
    is_wide: bool,
) -> Option<f64> {
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
        let wide = (end - i).max(2);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / count_f64(part.len());
        let edge = usize::from(is_wide && end - i >= WIDE_BOX_MIN);
        let before = mean(&values[i.saturating_sub(wide + edge)..i.saturating_sub(edge)]);
        let after = values.len().min(end + edge)..values.len().min(end + edge + wide);
        let after = mean(&values[after]);
        let level = match beside {
            Beside::Before => before,
            Beside::Both => f64::midpoint(before, after),
        };
        // None at the edges.
        if level.is_finite() {
            sizes.push(mean(&values[i + edge..end - edge]) - level);
        }
        i = end;
    }
    (!sizes.is_empty()).then(|| median(sizes))
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
