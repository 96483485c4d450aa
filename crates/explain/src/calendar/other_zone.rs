//! Zones other than the analysis' own: a job may follow their clocks, most often UTC.

use super::offsets::{UtcOffsets, moment};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A zone whose clocks, within some time range, are not always equally far from those of the analysis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OtherZone {
    /// The zone.
    pub zone: TimeZone,
    here: UtcOffsets,
    there: UtcOffsets,
}

impl OtherZone {
    /// Returns `zone`, unless its clocks are equally far from those of `here` from `from_us` to `until_us`:
    /// nobody could tell the two apart.
    pub fn new(zone: &TimeZone, here: &UtcOffsets, from_us: i64, until_us: i64) -> Option<Self> {
        let there = UtcOffsets::new(zone, from_us, until_us);
        let apart = |us: i64| here.wall_us(us) - there.wall_us(us);
        let is_told = (here.changes().chain(there.changes()))
            .filter(|us| (from_us..=until_us).contains(us))
            .any(|us| apart(us) != apart(from_us));
        is_told.then(|| Self {
            zone: zone.clone(),
            here: here.clone(),
            there,
        })
    }

    /// Returns when one of the clocks changed between two times, in microseconds of UTC.
    pub fn change_between(&self, from_us: i64, until_us: i64) -> Option<Timestamp> {
        let mut changes = self.here.changes().chain(self.there.changes());
        let at = changes.find(|us| (from_us..=until_us).contains(us))?;
        Some(moment(at))
    }

    /// Converts UTC to this zone's local time, in microseconds.
    pub fn of_utc_us(&self, utc_us: i64) -> i64 {
        self.there.wall_us(utc_us)
    }

    /// Converts the analysis' local time to this zone's.
    pub fn there_us(&self, wall_us: i64) -> i64 {
        self.there.wall_us(self.here.utc_us(wall_us))
    }

    /// Converts this zone's local time to the analysis'.
    pub fn here_us(&self, there_us: i64) -> i64 {
        self.here.wall_us(self.there.utc_us(there_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::periods::{DAY_US, HOUR_US};

    fn us(text: &str) -> i64 {
        let at: Timestamp = text.parse().expect("a time");
        at.as_microsecond()
    }

    #[test]
    fn a_fixed_hour_in_utc_moves_by_the_clocks_of_berlin() {
        let (from, until) = (us("2026-10-01T00:00:00Z"), us("2026-11-20T00:00:00Z"));
        let berlin = schedule::parse_zone("Europe/Berlin").expect("known");
        let here = UtcOffsets::new(&berlin, from, until);
        let utc = OtherZone::new(&TimeZone::UTC, &here, from, until).expect("clocks change");
        for (day, hour) in [("2026-10-18", 8), ("2026-11-01", 7)] {
            let at = us(&format!("{day}T06:00:00Z"));
            let wall = utc.here_us(at);
            assert_eq!(wall.rem_euclid(DAY_US) / HOUR_US, hour, "{day}");
            assert_eq!(utc.there_us(wall), at);
        }
        let before = us("2026-10-20T00:00:00Z");
        assert!(OtherZone::new(&TimeZone::UTC, &here, from, before).is_none());
        let paris = schedule::parse_zone("Europe/Paris").expect("known");
        assert!(OtherZone::new(&paris, &here, from, until).is_none());
    }
}
