//! The size of a pattern: an exact fit of its amplitude and noise to the values of a grid.

use crate::model::form::Form;
use crate::model::grid::Grid;
use crate::model::noise::{Fit, regress, regress_first};
use crate::model::pattern::Pattern;
use crate::numbers::{as_f64, count_f64};
use crate::search::periods::PERIOD_BINS;
use crate::statistics::{mean, median};
use std::borrow::Cow;

/// Maximum number of harmonics of a wave.
pub(crate) const HARMONICS_MAX: usize = 6;
/// Maximum number of filled bins for an exact fit; beyond it a wider grid is used.
const FIT_BINS_MAX: usize = 40_000;
/// Minimum number of wide bins of a box whose edges can be left out.
const WIDE_BOX_MIN: usize = 3;

/// Returns the finest grid that has few enough bins for exact fits, but none whose bins are too wide for
/// the period.
pub(crate) fn grid_to_fit(grids: &[Grid], period_us: f64) -> usize {
    let few = grids
        .iter()
        .position(|grid| grid.len() <= FIT_BINS_MAX)
        .unwrap_or(grids.len().saturating_sub(1));
    few.min(widest_for(grids, period_us))
}

/// Returns the widest grid whose bins resolve the form of a period.
pub(crate) fn widest_for(grids: &[Grid], period_us: f64) -> usize {
    let bins = |grid: &Grid| period_us / as_f64(grid.width_us);
    grids
        .iter()
        .rposition(|grid| bins(grid) >= PERIOD_BINS.0)
        .unwrap_or(0)
}

/// Fits the size and noise of a pattern on its grid, where it is active.
pub(crate) fn fit(pattern: &mut Pattern, grid: &Grid) -> Option<()> {
    let is_on = |i: &usize| pattern.is_active(grid.wall_us[*i]);
    let is_always_on = (0..grid.len()).all(|i| is_on(&i));
    let on: Option<Vec<usize>> = (!is_always_on).then(|| (0..grid.len()).filter(is_on).collect());
    let on = on.as_deref();
    let index = only(&grid.index, on);
    let values = only(grid.values(pattern.variant), on);
    let wall_us = only(&grid.wall_us, on);
    let phases = pattern.clock.phases(&wall_us);
    let alone = || regress(&index, &values, &[]);
    let alone = if pattern.form == Form::Wave {
        let alone = alone()?;
        let columns = harmonics(&phases, as_f64(grid.width_us) / pattern.clock.period_us());
        let regressors: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let counts = (2..=columns.len()).step_by(2);
        let mut best: Option<(f64, Fit)> = None;
        for fit in regress_first(&index, &values, &regressors, counts) {
            let Some(fit) = fit else {
                break;
            };
            // Schwarz's criterion: half the logarithm of the count per coefficient.
            let coefficients = count_f64(fit.coefficients.len() - 1);
            let worth = fit.log_likelihood - 0.5 * coefficients * count_f64(values.len()).ln();
            if best.as_ref().is_none_or(|(least, _)| worth > *least) {
                best = Some((worth, fit));
            }
        }
        pattern.fit = best?.1;
        let count = pattern.fit.coefficients.len() - 1;
        pattern.coefficients = pattern.fit.coefficients[..count].to_vec();
        alone
    } else {
        let column: Vec<f64> = phases
            .iter()
            .map(|&p| pattern.form.at(p.min(1.0)))
            .collect();
        let (alone, fit) = rayon::join(alone, || regress(&index, &values, &[&column]));
        let alone = alone?;
        pattern.fit = fit?;
        let raw = only(&grid.means, on);
        let size = match pattern.form {
            Form::Box { duty } => box_size(&raw, &phases, duty, Baseline::Before, grid.is_wide),
            _ => None,
        };
        // Peaks were capped for the search; the true size is that of the samples.
        pattern.coefficients = vec![size.unwrap_or(pattern.fit.coefficients[0])];
        alone
    };
    pattern.gain = pattern.fit.log_likelihood - alone.log_likelihood;
    Some(())
}

/// Returns the cosine and the sine of each harmonic at these phases, as far as bins of this part of a period show them.
fn harmonics(phases: &[f64], bin: f64) -> Vec<Vec<f64>> {
    let turn = |phase: &f64| (std::f64::consts::TAU * phase).sin_cos();
    let (sin, cos): (Vec<f64>, Vec<f64>) = phases.iter().map(turn).unzip();
    let mut columns = vec![cos, sin];
    // Each is turned from the one before it: sines and cosines are slow.
    for harmonic in 1..HARMONICS_MAX {
        if count_f64(harmonic) * 4.0 * bin > 1.0 {
            break;
        }
        let [.., cos, sin] = &columns[..] else { break };
        let both = cos.iter().zip(sin).zip(columns[0].iter().zip(&columns[1]));
        let (cos, sin) = both
            .map(|((cos, sin), (c, s))| (cos * c - sin * s, sin * c + cos * s))
            .unzip();
        columns.extend([cos, sin]);
    }
    columns
}

/// Returns the items at these indices, or all.
fn only<'a, T: Copy>(all: &'a [T], at: Option<&[usize]>) -> Cow<'a, [T]> {
    match at {
        None => Cow::Borrowed(all),
        Some(at) => at.iter().map(|&i| all[i]).collect(),
    }
}

/// The baseline of a box's occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The bins before.
    Before,
    /// The bins before and after, so that an underlying wave cancels out.
    BothSides,
}

/// Returns how far a box stands out: the median over its occurrences of its mean minus the mean of as many
/// neighbouring bins. Wide bins may contain an edge, and then belong to neither side.
pub(crate) fn box_size(
    values: &[f64],
    phases: &[f64],
    duty: f64,
    baseline: Baseline,
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
        let edge = usize::from(is_wide && end - i >= WIDE_BOX_MIN);
        let before = mean(&values[i.saturating_sub(wide + edge)..i.saturating_sub(edge)]);
        let after = values.len().min(end + edge)..values.len().min(end + edge + wide);
        let after = mean(&values[after]);
        let level = match baseline {
            Baseline::Before => before,
            Baseline::BothSides => f64::midpoint(before, after),
        };
        // Not at the ends of the series.
        if level.is_finite() {
            sizes.push(mean(&values[i + edge..end - edge]) - level);
        }
        i = end;
    }
    (!sizes.is_empty()).then(|| median(sizes))
}
