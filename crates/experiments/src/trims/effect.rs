//! What trims change, with its interval.

use bench::compare::distribution::student_quantile;
use schemars::JsonSchema;
use serde::Serialize;

/// Share of intervals that hold the true ratio.
const CONFIDENCE: f64 = 0.95;

/// Throughput of runs without a trim before them, relative to runs with one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// 0.7 is 30 % less.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Effect {
    /// Whether the interval leaves no room for "none".
    pub fn is_shown(self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Compares the second run of one arm with the second of the other, and so on: the first runs are trimmed in both. The
/// interval is that of Student's paired t on logarithms. `None` with fewer than two such pairs, or a value that is not
/// positive.
#[allow(clippy::cast_precision_loss)] // a number of runs
pub fn effect(once: &[f64], each: &[f64]) -> Option<Effect> {
    let pairs = once.iter().zip(each).skip(1);
    let logs: Vec<f64> = pairs.map(|(once, each)| (once / each).ln()).collect();
    if logs.len() < 2 || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let half = student_quantile((1.0 - CONFIDENCE) / 2.0, n - 1.0) * error;
    Some(Effect {
        ratio: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's own example (1908): hours of sleep that two drugs gave ten patients more; the mean difference is 1.58
    /// with a standard error of 0.389, and t is 2.262 with 9 degrees of freedom.
    #[test]
    fn students_sleep_data() {
        let differences: [f64; 10] = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        // The first run of each arm does not count.
        let once: Vec<f64> = [0.0]
            .iter()
            .chain(&differences)
            .map(|difference| difference.exp())
            .collect();
        let found = effect(&once, &[1.0; 11]).unwrap();
        assert!((found.ratio.ln() - 1.58).abs() < 1e-9, "{found:?}");
        assert!(
            (found.high.ln() - (1.58 + 2.262 * 0.389)).abs() < 2e-3,
            "{found:?}"
        );
        assert!(found.is_shown());
    }

    #[test]
    fn noise_shows_nothing() {
        let found = effect(&[9.0, 1.0, 1.1, 0.9], &[9.0, 1.05, 1.0, 1.0]).unwrap();
        assert!(!found.is_shown(), "{found:?}");
        assert_eq!(effect(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(effect(&[1.0, 0.0, 1.0], &[1.0, 1.0, 1.0]), None);
    }
}
