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

/// Returns the nearest count, saturating, and 0 for negative numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates"
)]
pub(crate) fn as_count(value: f64) -> usize {
    value.round() as usize
}
