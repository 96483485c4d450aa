//! UTC offsets of a time zone, for fast conversion of many timestamps.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Converts microseconds since the epoch to a timestamp, clamped to the representable range.
pub(crate) fn moment(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).unwrap_or(if us < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

/// The UTC offsets of a zone over a time range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UtcOffsets {
    /// Start (UTC) of each offset, and the offset, both in microseconds; the first one also applies to all
    /// earlier times.
    spans: Vec<(i64, i64)>,
}

impl UtcOffsets {
    /// Looks up the offsets of a zone for at least `from_us` to `until_us`.
    pub fn new(zone: &TimeZone, from_us: i64, until_us: i64) -> Self {
        let offset_us = |at: Timestamp| i64::from(zone.to_offset(at).seconds()) * 1_000_000;
        let from = moment(from_us);
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

    /// Returns when the offset changes, in microseconds of UTC.
    pub fn changes(&self) -> impl Iterator<Item = i64> {
        self.spans[1..].iter().map(|span| span.0)
    }

    /// Converts UTC to local time, in microseconds since 1970-01-01 00:00 local time.
    pub fn wall_us(&self, utc_us: i64) -> i64 {
        let span = self.spans.partition_point(|&(from, _)| from <= utc_us) - 1;
        utc_us.saturating_add(self.spans[span].1)
    }

    /// Converts local time to UTC: the earlier of two if it occurs twice, a time after the gap if it was
    /// skipped.
    pub fn utc_us(&self, wall_us: i64) -> i64 {
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
    use crate::calendar::periods::{DAY_US, HOUR_US};

    #[test]
    fn local_time_round_trips_across_clock_changes() {
        let zone = schedule::parse_zone("Europe/Berlin").expect("known");
        let from: Timestamp = "2026-03-01T00:00:00Z".parse().expect("a time");
        let until: Timestamp = "2026-12-01T00:00:00Z".parse().expect("a time");
        let offsets = UtcOffsets::new(&zone, from.as_microsecond(), until.as_microsecond());
        for (utc, local_hour) in [
            ("2026-03-28T12:00:00Z", 13),
            ("2026-03-29T12:00:00Z", 14),
            ("2026-10-25T12:00:00Z", 13),
        ] {
            let utc: Timestamp = utc.parse().expect("a time");
            let local = offsets.wall_us(utc.as_microsecond());
            assert_eq!(local.rem_euclid(DAY_US) / HOUR_US, local_hour);
            assert_eq!(offsets.utc_us(local), utc.as_microsecond());
        }
    }
}
