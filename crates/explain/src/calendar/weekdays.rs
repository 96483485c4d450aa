//! Days of the week.

use super::periods::{DAY_US, MONDAY_US};
use jiff::civil::Weekday;

/// Penalty for choosing a subset of weekdays, in nats: the logarithm of the number of subsets of two to six
/// days.
const CHOICE_NATS: f64 = 4.8;

/// A set of days of the week, Monday first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weekdays([bool; 7]);

impl Weekdays {
    /// All days.
    pub const ALL: Self = Self([true; 7]);

    /// Creates a set from flags, Monday first.
    pub fn new(days: [bool; 7]) -> Self {
        Self(days)
    }

    /// Returns whether the set contains the day of a local time.
    pub fn has(self, wall_us: i64) -> bool {
        self == Self::ALL || self.0[weekday_number(wall_us)]
    }

    /// Returns whether two sets have a day in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0.into_iter().zip(other.0).any(|(a, b)| a && b)
    }

    /// Returns the penalty for this choice in a comparison of likelihoods, in nats.
    pub fn penalty(self) -> f64 {
        if self == Self::ALL { 0.0 } else { CHOICE_NATS }
    }

    /// Returns the number of days.
    pub fn count(self) -> usize {
        self.0.into_iter().filter(|has| *has).count()
    }

    /// Returns the names of the days, each shifted by `later` days; Monday first.
    pub fn names(self, later: i64) -> Vec<String> {
        let days = (0..7).filter(|day| self.has(MONDAY_US + (day - later) * DAY_US));
        days.map(|day| units::date::weekday(weekday(day)).to_owned())
            .collect()
    }
}

/// Returns the weekday number of a local time; Monday is 0.
pub(crate) fn weekday_number(wall_us: i64) -> usize {
    let days = (wall_us - MONDAY_US).div_euclid(DAY_US).rem_euclid(7);
    usize::try_from(days).unwrap_or(0)
}

/// Returns a weekday by number; 0 is Monday.
fn weekday(number: i64) -> Weekday {
    Weekday::Monday.wrapping_add(number)
}

/// Parses weekdays by name.
pub(crate) fn named(names: &[String]) -> Vec<Weekday> {
    let is_named = |day: &Weekday| names.iter().any(|name| name == units::date::weekday(*day));
    (0..7).map(weekday).filter(is_named).collect()
}
