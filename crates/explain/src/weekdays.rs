//! What comes on some days of the week: people work from Monday to Friday, and so do some jobs. Taken for
//! something of every day it leaves weekends behind, which any weekly job would explain.

use crate::evidence::seen;
use crate::forms::likelihood;
use crate::grid::Grid;
use crate::numbers::as_f64;
use crate::pattern::{Clock, Pattern, fit};
use crate::shape::Form;
use crate::wall::{DAY_US, MONDAY_US};

/// What a choice of weekdays is charged: the logarithm of as many as there are, of two to six days.
pub(crate) const CHOICE_NATS: f64 = 4.8;
/// It has to gain so many nats more.
const GAIN_MIN: f64 = 10.0;
/// A box takes less of a day.
const DUTY_MAX: f64 = 0.5;
/// Each weekday is seen so often at least.
const WEEKS_MIN: usize = 2;
/// Names of the days.
pub(crate) const NAMES: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Days of the week, Monday first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weekdays([bool; 7]);

impl Weekdays {
    /// Every day.
    pub const ALL: Self = Self([true; 7]);

    /// Whether the day of a wall time is one of them.
    pub fn has(self, wall_us: i64) -> bool {
        self == Self::ALL || self.0[number_of(wall_us)]
    }

    /// Whether some are in both.
    pub fn shares(self, other: Self) -> bool {
        self.0.into_iter().zip(other.0).any(|(a, b)| a && b)
    }

    /// How many they are.
    pub fn count(self) -> usize {
        self.0.into_iter().filter(|has| *has).count()
    }

    /// Their names, from Monday on.
    pub fn names(self) -> Vec<String> {
        let days = NAMES.into_iter().zip(self.0);
        let days = days.filter(|(_, has)| *has);
        days.map(|(name, _)| name.to_owned()).collect()
    }
}

/// The number of a wall time's weekday; Monday is 0.
fn number_of(wall_us: i64) -> usize {
    let days = (wall_us - MONDAY_US).div_euclid(DAY_US).rem_euclid(7);
    usize::try_from(days).unwrap_or(0)
}

/// A box of every day, or of one day of the week, as one of those days that show it, where that explains clearly
/// more.
pub(crate) fn on_its_days(pattern: &Pattern, grid: &Grid) -> Option<Pattern> {
    let Clock::Fixed {
        period_us,
        origin_us,
        days: Weekdays::ALL,
    } = pattern.clock
    else {
        return None;
    };
    let Form::Box { duty } = pattern.form else {
        return None;
    };
    let period_days = period_us / as_f64(DAY_US);
    let is = |days: f64| (period_days / days - 1.0).abs() < 1e-9;
    if !(is(1.0) || is(7.0) && duty * 7.0 < DUTY_MAX) {
        return None;
    }
    let daily = |days: Weekdays| {
        let mut daily = Pattern {
            clock: Clock::Fixed {
                period_us: as_f64(DAY_US),
                origin_us,
                days,
            },
            form: Form::Box {
                duty: duty * period_days,
            },
            ..pattern.clone()
        };
        fit(&mut daily, grid)?;
        Some(daily)
    };
    let (mut gains, mut counts) = ([0.0; 7], [0; 7]);
    for (at, gain) in seen(&daily(Weekdays::ALL)?, grid).0 {
        gains[number_of(at)] += gain;
        counts[number_of(at)] += 1;
    }
    let days = Weekdays(gains.map(|gain| gain > 0.0));
    if counts.iter().any(|&count| count < WEEKS_MIN) || !(2..7).contains(&days.count()) {
        return None;
    }
    let some = daily(days)?;
    let gain = likelihood(grid, &[&some]) - likelihood(grid, &[pattern]);
    (gain > CHOICE_NATS + GAIN_MIN).then_some(some)
}

/// How much more a pattern of some days explains than one of all days, in nats; 0 for the latter.
pub(crate) fn gain_of_days(pattern: &Pattern, grid: &Grid) -> f64 {
    let mut all = pattern.clone();
    match &mut all.clock {
        Clock::Fixed { days, .. } if *days != Weekdays::ALL => *days = Weekdays::ALL,
        _ => return 0.0,
    }
    likelihood(grid, &[pattern]) - likelihood(grid, &[&all])
}

#[cfg(test)]
#[path = "weekdays_tests.rs"]
mod tests;
