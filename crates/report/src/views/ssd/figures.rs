//! Formats figures of simulated drives for sentences and tables.

use crate::views::phrases::cell;
use units::bytes_per_s;

/// Label of every scenario that is not backed by a measurement.
pub(crate) const SCENARIO_LABEL: &str = "scenario, not prediction";

/// Formats a write amplification for a sentence: `1.3`, `12`.
pub(super) fn amplification(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Formats a write amplification for a table: `1.32`.
pub(super) fn amplification_cell(value: Option<f64>) -> String {
    cell(value, |value| format!("{value:.2}"))
}

/// Formats a throughput given in 10^6 bytes per second.
pub(super) fn rate(mb_s: f64) -> String {
    bytes_per_s(mb_s * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplifications() {
        assert_eq!(amplification(3.94), "3.9");
        assert_eq!(amplification(15.3), "15");
        assert_eq!(amplification_cell(None), "-");
        assert_eq!(amplification_cell(Some(1.316)), "1.32");
    }
}
