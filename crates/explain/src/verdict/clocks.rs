//! Whose clocks a pattern follows: those of the analysis' zone, or those of another one, such as UTC.

use super::phrases::place;
use super::result::{Cycle, LocalTime};
use crate::calendar::other_zone::OtherZone;
use crate::fit::best::ZONE_BONUS;
use crate::fit::found::Found;
use crate::model::samples::Samples;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Maximum number of places that are told one by one; beyond it, clocks went forth and back.
const PLACES_MAX: usize = 2;

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
