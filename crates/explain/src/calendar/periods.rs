//! The periods of calendars, in microseconds of local time.

use crate::numbers::as_f64;

/// A day.
pub(crate) const DAY_US: i64 = 86_400_000_000;
/// An hour.
pub(crate) const HOUR_US: i64 = 3_600_000_000;
/// 1970-01-01 was a Thursday: the first Monday is four days later.
pub(crate) const MONDAY_US: i64 = 4 * DAY_US;

/// Returns whether a period equals a calendar period, up to rounding.
pub(crate) fn is_period(period_us: f64, calendar_us: i64) -> bool {
    (period_us / as_f64(calendar_us) - 1.0).abs() < 1e-9
}

/// Returns the start of the local week or day that contains a local time.
pub(crate) fn start_of(period_us: i64, wall_us: i64) -> i64 {
    let anchor = if period_us % (7 * DAY_US) == 0 {
        MONDAY_US
    } else {
        0
    };
    wall_us - (wall_us - anchor).rem_euclid(period_us)
}
