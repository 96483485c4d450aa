//! How many samples a percentile needs.

/// The number of samples from which on a percentile may be said: if none of them exceeds a bound, then at least
/// this share of all operations stays below it, with 99 % confidence: `ln(0.01) / ln(percentile / 100)`, from
/// `1 - p^n >= 0.99` (the one-sided bound of a binomial share without failures, as in `MLPerf`'s `LoadGen`).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small and positive
pub fn samples_needed(percentile: f64) -> u64 {
    let share = (percentile / 100.0).clamp(0.0, 0.999_999_9);
    if share <= 0.0 {
        return 1;
    }
    ((0.01_f64).ln() / share.ln()).ceil().max(1.0) as u64
}
