//! Normalised series: dimensionless and without spikes.

use super::point::DAY_US;
use super::robust;

/// Minimum number of samples for change detection.
const SAMPLES_MIN: usize = 16;

/// A normalised series, dimensionless and without spikes.
pub(super) struct Scaled {
    /// Times scaled to -1 to 1.
    pub x: Vec<f64>,
    /// Values relative to their mean, in units of the sample-to-sample noise.
    pub y: Vec<f64>,
    /// Variance due to rounding to the values' smallest step, in the same units.
    pub rounding_variance: f64,
    centre: f64,
    unit: f64,
    half_span_days: f64,
}

impl Scaled {
    /// Returns `None` if there is nothing to search: too few samples, no time between them, or values that
    /// are all equal or not finite.
    pub fn new(times_us: &[i64], values: &[f64]) -> Option<Self> {
        let (first, last) = (*times_us.first()? as f64, *times_us.last()? as f64);
        let largest = values
            .iter()
            .fold(0.0, |most: f64, value| most.max(value.abs()));
        let finite = values.iter().all(|value| value.is_finite());
        if values.len() < SAMPLES_MIN || last <= first || largest <= 0.0 || !finite {
            return None;
        }
        // The squares of the largest numbers would overflow.
        let y: Vec<f64> = values.iter().map(|value| value / largest).collect();
        let y = robust::winsorise(&y);
        let mut steps: Vec<f64> = y.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let rounding = steps
            .iter()
            .filter(|step| **step > 1e-12)
            .fold(f64::INFINITY, |least, step| least.min(*step));
        let noise = robust::sigma(&mut steps) / std::f64::consts::SQRT_2;
        if noise <= 1e-13 {
            return None;
        }
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let y = y.into_iter().map(|value| (value - mean) / noise).collect();
        let middle = f64::midpoint(first, last);
        let half_span = (last - first) / 2.0;
        Some(Self {
            x: times_us
                .iter()
                .map(|time| (*time as f64 - middle) / half_span)
                .collect(),
            y,
            rounding_variance: (rounding / noise).powi(2) / 12.0,
            centre: mean * largest,
            unit: noise * largest,
            half_span_days: half_span / DAY_US,
        })
    }

    pub fn value(&self, y: f64) -> f64 {
        self.centre + self.unit * y
    }

    pub fn per_day(&self, slope: f64) -> f64 {
        slope * self.unit / self.half_span_days
    }
}
