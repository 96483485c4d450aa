//! What the parts of the pacing share: levels of step sizes, quiet latencies, times.

use std::time::Duration;

/// Sizes of steps that are told apart, each half of the one above.
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
    /// Readings it was made of.
    pub readings: usize,
}

/// Seconds to a duration; what makes no sense is 0, what is too long a year.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, 31_557_600.0)
    })
}
