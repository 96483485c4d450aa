//! Whose clocks a pattern follows: those of the analysis' zone, or those of another one, such as UTC.

use super::result::{Cycle, LocalTime};
use crate::calendar::other_zone::OtherZone;
use crate::fit::best::ZONE_BONUS;
use crate::fit::found::Found;
use crate::model::samples::Samples;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Maximum number of places that are listed one by one; beyond it, clocks went forth and back.
const PLACES_MAX: usize = 2;
const MINUTE_US: i64 = 60_000_000;

/// The comparison of clocks for a daily or weekly pattern, if they were not always equally far apart.
#[derive(Debug, Clone)]
pub(crate) struct Clocks {
    /// Name of the zone that the pattern follows, if it is not the analysis' own.
    pub other: Option<String>,
    /// The other zones (`None` for the analysis' own), and how much worse the best pattern by their clocks
    /// fits, in nats.
    pub losses: Vec<(Option<String>, f64)>,
    /// Where the pattern is by the clocks of the analysis, if it follows others: oldest first.
    pub places: Vec<LocalTime>,
}

impl Clocks {
    /// Compares the clocks for a pattern with these onsets. `None` if it is not tied to a time of day, or
    /// if there was nothing to compare.
    pub fn new(
        found: &Found,
        cycle: Cycle,
        onsets: &[(i64, f64)],
        samples: &Samples,
    ) -> Option<Self> {
        if !matches!(cycle, Cycle::Day | Cycle::Week) || found.zones.is_empty() {
            return None;
        }
        let name = |zone: &Arc<OtherZone>| zone_name(&zone.zone);
        let zone = found.pattern.clock.zone();
        let losses = found.zones.iter();
        Some(Self {
            other: zone.map(name),
            losses: losses
                .map(|fit| (fit.zone.as_ref().map(name), fit.loss))
                .collect(),
            places: zone.map_or(Vec::new(), |zone| {
                places(zone, found.pattern.interval_us, cycle, onsets, samples)
            }),
        })
    }

    /// Returns whether the samples tell the clocks apart.
    pub fn is_decided(&self) -> bool {
        self.losses.iter().all(|(_, loss)| *loss >= ZONE_BONUS)
    }

    /// Returns whether clocks changed so often that a place cannot be told by dates.
    pub fn alternate(&self) -> bool {
        self.places.len() > PLACES_MAX
    }
}

/// Formats a local time as a position within a cycle: `Sunday 06:47`, `06:47`, `minute 47`; a date and a
/// time if there is no calendar. Includes seconds if samples are less than a minute apart.
pub(crate) fn place(cycle: Cycle, wall_us: i64, gap_us: i64) -> String {
    // Local times are formatted as if they were UTC.
    let Ok(at) = Timestamp::from_microsecond(wall_us) else {
        return "?".to_owned();
    };
    let seconds = if gap_us < MINUTE_US { ":%S" } else { "" };
    let format = match cycle {
        Cycle::Hour => "minute %-M",
        Cycle::Day => "%H:%M",
        Cycle::Week => "%A %H:%M",
        Cycle::Runs | Cycle::Fixed => "%Y-%m-%d %H:%M",
    };
    units::date::formatted(at, &TimeZone::UTC, &format!("{format}{seconds}"))
}

/// Returns the places of onsets, one for each stretch in which clocks were equally far apart.
fn places(
    zone: &OtherZone,
    (from, to): (i64, i64),
    cycle: Cycle,
    onsets: &[(i64, f64)],
    samples: &Samples,
) -> Vec<LocalTime> {
    let apart = |&(at, _): &(i64, f64)| at - zone.there_us(at);
    let stretches: Vec<&[(i64, f64)]> = onsets
        .chunk_by(|before, after| apart(before) == apart(after))
        .collect();
    let change = |before: &[(i64, f64)], after: &[(i64, f64)]| {
        let (last, first) = (before.last()?.0, after.first()?.0);
        zone.change_between(samples.offsets.utc_us(last), samples.offsets.utc_us(first))
    };
    (0..stretches.len())
        .filter_map(|number| {
            let own = stretches[number];
            let at = own.first()?.0;
            let before = number.checked_sub(1).map(|before| stretches[before]);
            Some(LocalTime {
                from_text: place(cycle, at + from, samples.gap_us),
                to_text: place(cycle, at + to, samples.gap_us),
                since: before.and_then(|before| change(before, own)),
                until: stretches
                    .get(number + 1)
                    .and_then(|after| change(own, after)),
            })
        })
        .collect()
}

/// Returns the name of a zone: `UTC`, `Europe/Berlin`.
pub(crate) fn zone_name(zone: &TimeZone) -> String {
    match zone.iana_name() {
        None | Some("Etc/UTC" | "Etc/UCT" | "UCT" | "Zulu" | "Etc/Zulu") => "UTC".to_owned(),
        Some(name) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::periods::{DAY_US, HOUR_US};

    #[test]
    fn positions_are_formatted_by_cycle() {
        let sunday = 3 * DAY_US + 6 * HOUR_US + 47 * MINUTE_US;
        assert_eq!(place(Cycle::Week, sunday, HOUR_US), "Sunday 06:47");
        assert_eq!(place(Cycle::Day, sunday, HOUR_US), "06:47");
        assert_eq!(place(Cycle::Hour, sunday, HOUR_US), "minute 47");
        assert_eq!(place(Cycle::Fixed, sunday, HOUR_US), "1970-01-04 06:47");
        assert_eq!(
            place(Cycle::Day, sunday + 31_000_000, 1_000_000),
            "06:47:31"
        );
    }
}
