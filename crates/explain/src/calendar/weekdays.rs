//! Days of the week.

use super::periods::{DAY_US, MONDAY_US};
use jiff::civil::Weekday;

/// Charge for a choice of weekdays, in nats: the logarithm of how many choices of two to six days there are.
const CHOICE_NATS: f64 = 4.8;

/// A set of days of the week, Monday first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weekdays([bool; 7]);

impl Weekdays {
    /// Every day.
    pub const ALL: Self = Self([true; 7]);

    /// The days that are set, Monday first.
    pub fn new(days: [bool; 7]) -> Self {
        Self(days)
    }

    /// Whether it contains the day of a local time.
    pub fn has(self, wall_us: i64) -> bool {
        self == Self::ALL || self.0[weekday_number(wall_us)]
    }

    /// Whether two sets have a day in common.
    pub fn shares(self, other: Self) -> bool {
        self.0.into_iter().zip(other.0).any(|(a, b)| a && b)
    }

    /// Charge for this choice in a comparison of likelihoods, in nats.
    pub fn charge(self) -> f64 {
        if self == Self::ALL { 0.0 } else { CHOICE_NATS }
    }

    /// Number of days.
    pub fn count(self) -> usize {
        self.0.into_iter().filter(|has| *has).count()
    }

    /// Names of the days, each moved `later` days on; Monday first.
    pub fn names(self, later: i64) -> Vec<String> {
        let days = (0..7).filter(|day| self.has(MONDAY_US + (day - later) * DAY_US));
        days.map(|day| units::date::weekday(weekday(day)).to_owned())
            .collect()
    }
}

/// Number of a local time's weekday; Monday is 0.
pub(crate) fn weekday_number(wall_us: i64) -> usize {
    let days = (wall_us - MONDAY_US).div_euclid(DAY_US).rem_euclid(7);
    usize::try_from(days).unwrap_or(0)
}

/// A day of the week; 0 is Monday.
fn weekday(number: i64) -> Weekday {
    Weekday::Monday.wrapping_add(number)
}

/// Days of the week by their names.
pub(crate) fn named(names: &[String]) -> Vec<Weekday> {
    let is_named = |day: &Weekday| names.iter().any(|name| name == units::date::weekday(*day));
    (0..7).map(weekday).filter(is_named).collect()
}
