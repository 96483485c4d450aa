//! The wall clock: calendars are local, so everything is folded in local time.

use crate::numbers::as_f64;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A day in microseconds.
pub(crate) const DAY_US: i64 = 86_400_000_000;
/// An hour in microseconds.
pub(crate) const HOUR_US: i64 = 3_600_000_000;
/// 1970-01-01 was a Thursday: the first Monday is four days later.
pub(crate) const MONDAY_US: i64 = 4 * DAY_US;

/// Whether a period is that of a calendar, but for rounding.
pub(crate) fn is_of(period_us: f64, calendar_us: i64) -> bool {
    (period_us / as_f64(calendar_us) - 1.0).abs() < 1e-9
}

/// A zone's offsets over some time, for fast conversion of many moments.
#[derive(Debug, Clone)]
pub(crate) struct Wall {
    /// From when (UTC) which offset is in force, both in microseconds; the first is from the
    /// beginning of time.
    spans: Vec<(i64, i64)>,
}

impl Wall {
    /// The clock of a zone, from `from_us` to `until_us` at least.
    pub fn new(zone: &TimeZone, from_us: i64, until_us: i64) -> Self {
        let offset_us = |at: Timestamp| i64::from(zone.to_offset(at).seconds()) * 1_000_000;
        let clamp = |us: i64| {
            Timestamp::from_microsecond(us).unwrap_or(if us < 0 {
                Timestamp::MIN
            } else {
                Timestamp::MAX
            })
        };
        let from = clamp(from_us);
        let mut spans = vec![(i64::MIN, offset_us(from))];
        for change in zone.following(from) {
            let at = change.timestamp();
            if at.as_microsecond() > until_us {
                break;
            }
            spans.push((at.as_microsecond(), offset_us(at)));
        }
        Self { spans }
    }

    /// The wall time of a moment, in microseconds since 1970-01-01 00:00 on that wall.
    pub fn of(&self, utc_us: i64) -> i64 {
        let span = self.spans.partition_point(|&(from, _)| from <= utc_us) - 1;
        utc_us.saturating_add(self.spans[span].1)
    }

    /// The moment of a wall time; the earlier one where it is there twice, a moment after the gap
    /// where it does not exist.
    pub fn moment(&self, wall_us: i64) -> i64 {
        for (position, &(_, offset)) in self.spans.iter().enumerate() {
            let utc = wall_us.saturating_sub(offset);
            let end = self.spans.get(position + 1).map_or(i64::MAX, |next| next.0);
            if utc < end {
                return utc.max(self.spans[position].0);
            }
        }
        wall_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_daylight_saving_time_there_and_back() {
        let zone = schedule::parse_zone("Europe/Berlin").expect("known");
        let from: Timestamp = "2026-03-01T00:00:00Z".parse().expect("a time");
        let until: Timestamp = "2026-12-01T00:00:00Z".parse().expect("a time");
        let wall = Wall::new(&zone, from.as_microsecond(), until.as_microsecond());
        for (utc, local_hour) in [
            ("2026-03-28T12:00:00Z", 13),
            ("2026-03-29T12:00:00Z", 14),
            ("2026-10-25T12:00:00Z", 13),
        ] {
            let utc: Timestamp = utc.parse().expect("a time");
            let local = wall.of(utc.as_microsecond());
            assert_eq!(local.rem_euclid(DAY_US) / HOUR_US, local_hour);
            assert_eq!(wall.moment(local), utc.as_microsecond());
        }
    }
}
