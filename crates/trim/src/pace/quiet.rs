//! Types shared by the parts of the pacing: size levels, quiet latencies, times.

use std::time::Duration;

/// Number of step size levels, each half of the one above.
pub(super) const LEVELS: usize = 6;

/// Latency of one probe before the pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuietLevel {
    /// Mean.
    pub mean: Duration,
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Number of readings.
    pub readings: usize,
}

/// Converts seconds to a duration; NaN becomes 0, and very long durations are capped at a year.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 31_557_600.0)
    })
}
