//! Medians and robust scales.

/// Returns the median; 0 if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    quantile(&mut values, 0.5)
}

/// Returns a quantile (0 to 1) without interpolation; reorders its argument. 0 if there are no values.
pub(crate) fn quantile(values: &mut [f64], at: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index below the length"
    )]
    let rank = ((values.len() - 1) as f64 * at).round() as usize;
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

/// Returns the standard deviation of the bulk of the values, from the median absolute deviation. If more
/// than half of the values are equal, it is computed from the middle 95 %, and if those are equal too, as
/// the root mean square, so that it is 0 for constants only.
pub(crate) fn robust_scale(values: &[f64]) -> f64 {
    let centre = median(values.to_vec());
    let mut apart: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let mad = quantile(&mut apart, 0.5) * 1.4826;
    if mad > 0.0 {
        return mad;
    }
    let wide = quantile(&mut apart, 0.95) / 1.96;
    if wide > 0.0 {
        return wide;
    }
    let squares: f64 = apart.iter().map(|apart| apart * apart).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^52")]
    let count = apart.len().max(1) as f64;
    (squares / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_of_the_bulk() {
        let normal: Vec<f64> = (1..1000)
            .map(|i| (f64::from(i) / 1000.0 - 0.5) * 2.0)
            .collect();
        assert!((robust_scale(&normal) - 0.74).abs() < 0.01);
        assert!(robust_scale(&[5.0; 100]).abs() < f64::EPSILON);
        let mut mostly = vec![0.0; 1000];
        mostly[3] = 100.0;
        assert!(robust_scale(&mostly) > 0.0);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }
}
