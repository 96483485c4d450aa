//! An interval in words.

use bench::compare::Interval;

/// Wider ones say nothing: those of two runs each may span hundreds of orders of magnitude.
const SPAN_MAX: f64 = 1_000.0;

/// From the lower end to the upper one, with so many decimals.
pub(super) fn range(interval: Interval, decimals: usize) -> String {
    let Interval { low, high, .. } = interval;
    if high / low <= SPAN_MAX {
        format!("{low:.decimals$} to {high:.decimals$}")
    } else {
        "unknown".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_end_is_not_spelled_out() {
        let of = |low, high| Interval {
            low,
            high,
            confidence: 0.99,
        };
        assert_eq!(range(of(0.934, 0.956), 2), "0.93 to 0.96");
        assert_eq!(range(of(1e-9, 1e84), 2), "unknown");
        assert_eq!(range(of(0.0, f64::INFINITY), 2), "unknown");
    }
}
