//! Compares patterns by the likelihood of the same values.

use super::size::grid_to_fit;
use crate::model::grid::Grid;
use crate::model::noise::regress;
use crate::model::pattern::Pattern;
use crate::numbers::count_f64;
use rayon::prelude::*;

/// Returns the pattern under which the values are most likely, on bins that resolve all of them; the first
/// of equals.
pub(crate) fn likeliest(grids: &[Grid], mut patterns: Vec<Pattern>) -> Option<Pattern> {
    let grid = &grids[common_grid(grids, patterns.iter())?];
    let judged: Vec<f64> = patterns
        .par_iter()
        .map(|pattern| likelihood(grid, &[pattern]))
        .collect();
    let best = (0..judged.len())
        .rev()
        .max_by(|&a, &b| judged[a].total_cmp(&judged[b]))?;
    Some(patterns.swap_remove(best))
}

/// Returns the grid on which all of these patterns can be fitted.
pub(crate) fn common_grid<'a>(
    grids: &[Grid],
    patterns: impl Iterator<Item = &'a Pattern>,
) -> Option<usize> {
    patterns
        .map(|pattern| {
            pattern
                .grid
                .min(grid_to_fit(grids, pattern.clock.period_us()))
        })
        .min()
}

/// Returns the log-likelihood of a grid's values given these patterns, minus Schwarz's penalty: a wave has
/// more coefficients than the others.
pub(crate) fn likelihood(grid: &Grid, patterns: &[&Pattern]) -> f64 {
    let shapes: Vec<Vec<f64>> = patterns
        .iter()
        .map(|pattern| pattern.values(&grid.wall_us))
        .collect();
    let shapes: Vec<&[f64]> = shapes.iter().map(Vec::as_slice).collect();
    let coefficients: usize = patterns
        .iter()
        .map(|pattern| pattern.fit.coefficients.len())
        .sum();
    let days = patterns
        .iter()
        .map(|pattern| pattern.clock.weekdays().penalty());
    let penalty = 0.5 * count_f64(coefficients) * count_f64(grid.len()).ln() + days.sum::<f64>();
    regress(&grid.index, &grid.sharp, &shapes).map_or(f64::MIN, |fit| fit.log_likelihood - penalty)
}
