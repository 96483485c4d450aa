//! A series on grids of equal bins, each four times as wide as the previous one: slow patterns are searched
//! on wide bins, short ones on narrow ones.

use crate::model::noise::Null;
use crate::numbers::count_f64;
use crate::statistics::{difference, median, robust_scale, running_medians};
use std::sync::OnceLock;

/// Ratio of the bin widths of successive grids.
const WIDER: i64 = 4;
/// Minimum number of filled bins of any grid but the finest.
const BINS_MIN: usize = 48;
/// Half the window of the running median, in filled bins.
const REACH: usize = 3;
/// A sample further from its neighbours' median than this many robust standard deviations is not part of a
/// slow pattern (Hampel's identifier).
const SLOW_SIGMAS: f64 = 5.0;
/// Cap on a sample's deviation, in the same unit, so that a single outlier never makes a pattern.
pub(crate) const SHARP_SIGMAS: f64 = 12.0;

/// A series in bins of one width. Empty bins are not stored.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    /// Width of a bin in microseconds.
    pub width_us: i64,
    /// Usual sampling interval in microseconds.
    pub gap_us: i64,
    /// Local time at the start of bin 0.
    pub start_us: i64,
    /// Whether bins usually contain several samples.
    pub is_wide: bool,
    /// Indices of the filled bins, ascending.
    pub index: Vec<i64>,
    /// Mean local time of the samples in each bin.
    pub wall_us: Vec<i64>,
    /// Mean value of each bin.
    pub means: Vec<f64>,
    /// Values for slow patterns: outliers are replaced by their neighbours' median.
    pub slow: Vec<f64>,
    /// Values for short patterns: outliers are capped.
    pub sharp: Vec<f64>,
    nulls: [OnceLock<Option<Null>>; 2],
}

/// A variant of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variant {
    /// For sawteeth, steps and waves.
    Slow,
    /// For spikes and dips.
    Sharp,
}

impl Grid {
    /// Returns the bins' values in one variant.
    pub fn values(&self, variant: Variant) -> &[f64] {
        match variant {
            Variant::Slow => &self.slow,
            Variant::Sharp => &self.sharp,
        }
    }

    /// Returns the noise of the bins' values in one variant under the null hypothesis that nothing recurs.
    /// `None` if they do not vary or are too few.
    pub fn null(&self, variant: Variant) -> Option<Null> {
        let fit = || Null::fit(&self.index, self.values(variant), &mut Vec::new());
        *self.nulls[usize::from(variant == Variant::Sharp)].get_or_init(fit)
    }

    /// Returns the number of filled bins.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns the bin of the first sample after a time, or of the one `later` samples after that, assuming
    /// regular samples.
    pub fn bin_after(&self, wall_us: i64, later: i64) -> i64 {
        let first_us = self.start_us + self.width_us / 2;
        let samples = (wall_us - first_us).div_euclid(self.gap_us) + 1 + later;
        (samples * self.gap_us + self.width_us / 2).div_euclid(self.width_us)
    }

    /// Returns the number of bins from the first to the last.
    pub fn span_bins(&self) -> i64 {
        match (self.index.first(), self.index.last()) {
            (Some(first), Some(last)) => last - first + 1,
            _ => 0,
        }
    }

    fn new(wall_us: &[i64], values: &[f64], gap_us: i64, width_us: i64) -> Self {
        let start_us = wall_us.first().map_or(0, |&first| first - width_us / 2);
        let (mut index, mut times, mut means) = (Vec::new(), Vec::new(), Vec::new());
        let mut open: Option<(i64, i128, f64, usize)> = None;
        let mut close = |(bin, time, sum, count): (i64, i128, f64, usize)| {
            index.push(bin);
            times.push(i64::try_from(time / count as i128).unwrap_or(i64::MAX));
            means.push(sum / count_f64(count));
        };
        for (&wall, &value) in wall_us.iter().zip(values) {
            let bin = (wall - start_us).div_euclid(width_us);
            match &mut open {
                // When clocks go back an hour, samples fall into the same bins again.
                Some((current, time, sum, count)) if bin <= *current => {
                    *time += i128::from(wall);
                    *sum += value;
                    *count += 1;
                }
                _ => {
                    if let Some(full) = open.replace((bin, i128::from(wall), value, 1)) {
                        close(full);
                    }
                }
            }
        }
        if let Some(full) = open {
            close(full);
        }
        let (slow, sharp) = variants(&means);
        Self {
            width_us,
            gap_us,
            start_us,
            is_wide: index.len() * 3 < values.len() * 2,
            index,
            wall_us: times,
            means,
            slow,
            sharp,
            nulls: Default::default(),
        }
    }
}

/// Returns the centred values, with outliers replaced and with outliers capped.
fn variants(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let centre = median(values.to_vec());
    let near = running_medians(values, REACH);
    let scale = robust_scale(&difference(values, &near));
    let limited = |limit: f64, replace: bool| {
        values
            .iter()
            .zip(&near)
            .map(|(&value, &near)| {
                let apart = value - near;
                let kept = if apart.abs() <= limit {
                    value
                } else if replace {
                    near
                } else {
                    near + limit.copysign(apart)
                };
                kept - centre
            })
            .collect()
    };
    (
        limited(SLOW_SIGMAS * scale, true),
        limited(SHARP_SIGMAS * scale, false),
    )
}

/// Returns the grids of a series, finest first. Local times ascend (except where clocks go back), one for
/// each value.
pub(crate) fn grids(wall_us: &[i64], values: &[f64], gap_us: i64) -> Vec<Grid> {
    let gap_us = gap_us.max(1);
    let mut width_us = gap_us;
    let mut grids = Vec::new();
    loop {
        let grid = Grid::new(wall_us, values, gap_us, width_us);
        if !grids.is_empty() && grid.len() < BINS_MIN {
            break;
        }
        let last = grid.len() < BINS_MIN;
        grids.push(grid);
        match width_us.checked_mul(WIDER) {
            Some(next) if !last => width_us = next,
            _ => break,
        }
    }
    grids
}

/// Returns one of the [`grids`], by number.
pub(crate) fn grid(wall_us: &[i64], values: &[f64], gap_us: i64, number: usize) -> Grid {
    let gap_us = gap_us.max(1);
    let wider = (0..number).fold(gap_us, |width, _| width.saturating_mul(WIDER));
    Grid::new(wall_us, values, gap_us, wider)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "small numbers, chosen here"
    )]

    use super::*;

    #[test]
    fn bins_hold_means_and_empty_ones_are_skipped() {
        let times: Vec<i64> = (0..400).filter(|t| !(100..200).contains(t)).collect();
        let values: Vec<f64> = times.iter().map(|&t| (t % 4) as f64).collect();
        let grids = grids(&times, &values, 1);
        assert_eq!(grids[0].len(), 300);
        assert_eq!(grids[1].width_us, 4);
        // Wide bins begin half a bin before the first sample: 0 and 1 share one, then 2 to 5, ...
        assert_eq!(grids[1].len(), 26 + 51);
        let jump = grids[1].index.windows(2).map(|p| p[1] - p[0]).max();
        assert_eq!(jump, Some(25), "from the bin of 98 to that of 200");
    }

    #[test]
    fn outliers_are_capped() {
        let mut values: Vec<f64> = (0..200).map(|i| f64::from((i * 7919) % 13)).collect();
        values[50] = 1e9;
        let (slow, sharp) = variants(&values);
        assert!(slow[50].abs() < 20.0);
        assert!(sharp[50] > 20.0 && sharp[50] < 200.0, "{}", sharp[50]);
    }
}
