//! Clips outliers before anything is squared.

use crate::statistics::{over_sorted_windows, quantile};

/// Number of samples on either side in a running median.
const HALF: usize = 6;

/// Ratio of the standard deviation to the median absolute deviation of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Ratio of the standard deviation to the mean absolute deviation of a normal distribution.
const MEAN_TO_SIGMA: f64 = 1.2533;

/// Deviations from the running median beyond this many standard deviations are clipped.
const CLIP_SIGMAS: f64 = 3.0;

/// Clips values to within three standard deviations of the median of the 13 around them (a Hampel filter,
/// 1974, which winsorises instead of replacing).
///
/// A spike of up to six samples is flattened, because the median does not follow it; a step keeps its place
/// and size. The standard deviation is estimated from the median absolute deviation over all samples or, if
/// more than half of them equal their median, from the mean absolute deviation.
pub(super) fn winsorise(values: &[f64]) -> Vec<f64> {
    let centre = over_sorted_windows(values, HALF, |window| {
        f64::midpoint(window[(window.len() - 1) / 2], window[window.len() / 2])
    });
    let mut deviations: Vec<f64> = values
        .iter()
        .zip(&centre)
        .map(|(value, centre)| (value - centre).abs())
        .collect();
    let limit = CLIP_SIGMAS * sigma(&mut deviations);
    values
        .iter()
        .zip(&centre)
        .map(|(value, centre)| value.clamp(centre - limit, centre + limit))
        .collect()
}

/// Returns the standard deviation implied by absolute deviations. Reorders them.
pub(super) fn sigma(deviations: &mut [f64]) -> f64 {
    if deviations.is_empty() {
        return 0.0;
    }
    let median = quantile(deviations, 0.5);
    if median > 0.0 {
        return MAD_TO_SIGMA * median;
    }
    MEAN_TO_SIGMA * deviations.iter().sum::<f64>() / deviations.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_are_clipped_and_steps_are_not() {
        let mut values: Vec<f64> = (0..100).map(|i| f64::from(i % 5)).collect();
        for value in &mut values[50..] {
            *value += 100.0;
        }
        let step = winsorise(&values);
        assert!(step.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-12));
        for value in &mut values[20..25] {
            *value += 1000.0;
        }
        let spiked = winsorise(&values);
        assert!(spiked[20..25].iter().all(|value| *value < 15.0));
    }

    #[test]
    fn spikes_among_equal_values_are_clipped() {
        let mut values = vec![7.0; 200];
        values[90] = 1e6;
        values[91] = -1e6;
        assert!(winsorise(&values)[90] < 1e6 / 10.0);
    }
}
