//! Conversions of counts and time spans to and from floating-point numbers.
#![expect(
    clippy::cast_precision_loss,
    reason = "counts are below 2^52, spans below 2^53 microseconds (285 years)"
)]

/// Converts a time span or an index.
pub(crate) fn as_f64(value: i64) -> f64 {
    value as f64
}

/// Converts a count.
pub(crate) fn count_f64(count: usize) -> f64 {
    count as f64
}

/// Returns the nearest integer, saturating.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub(crate) fn as_i64(value: f64) -> i64 {
    value.round() as i64
}

/// Converts a span in microseconds to seconds.
pub(crate) fn seconds(span_us: i64) -> f64 {
    span_us as f64 / 1e6
}

/// Returns the length of the longest of some intervals; 0 if there are none.
pub(crate) fn widest_us(intervals: &[(i64, i64)]) -> i64 {
    let widths = intervals.iter().map(|interval| interval.1 - interval.0);
    widths.max().unwrap_or(0)
}

/// Returns the same part of each interval, from one fraction of it to another.
pub(crate) fn parts_of(intervals: &[(i64, i64)], part: (f64, f64)) -> Vec<(i64, i64)> {
    let at = |interval: &(i64, i64), part: f64| {
        interval.0 + as_i64(as_f64(interval.1 - interval.0) * part)
    };
    let parts = intervals.iter();
    parts
        .map(|interval| (at(interval, part.0), at(interval, part.1)))
        .collect()
}

/// Returns the intervals so much later.
pub(crate) fn later(intervals: &[(i64, i64)], by_us: i64) -> Vec<(i64, i64)> {
    let moved = intervals.iter();
    moved
        .map(|interval| (interval.0 + by_us, interval.1 + by_us))
        .collect()
}

/// Returns the nearest count, saturating, and 0 for negative numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates"
)]
pub(crate) fn as_count(value: f64) -> usize {
    value.round() as usize
}
