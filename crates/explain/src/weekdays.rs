//! What comes on some days of the week: people work from Monday to Friday, and so do some jobs. Taken for
//! something of every day it leaves weekends behind, which any weekly job would explain.

use crate::evidence::seen;
use crate::forms::likelihood;
use crate::grid::Grid;
use crate::numbers::as_f64;
use crate::pattern::{Clock, Pattern, fit};
use crate::phrases::weekday;
use crate::shape::Form;
use crate::wall::{DAY_US, MONDAY_US, is_of};

/// What a choice of weekdays is charged: the logarithm of as many as there are, of two to six days.
const CHOICE_NATS: f64 = 4.8;
/// It has to gain so many nats more than that.
const GAIN_MIN: f64 = 10.0;
/// What is less than so many times as long, and as large, may be the same.
const ALIKE_MAX: f64 = 1.25;
/// A day has so many bins at least.
const BINS_MIN: i64 = 6;
/// Each weekday is seen so often at least.
const WEEKS_MIN: usize = 2;

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

    /// What they are charged, in nats.
    pub fn charge(self) -> f64 {
        if self == Self::ALL { 0.0 } else { CHOICE_NATS }
    }

    /// How many they are.
    pub fn count(self) -> usize {
        self.0.into_iter().filter(|has| *has).count()
    }

    /// Their names, or those of as many days later, from Monday on.
    pub fn names(self, later: i64) -> Vec<String> {
        let days = (0..7).filter(|day| self.has(MONDAY_US + (day - later) * DAY_US));
        days.map(weekday).collect()
    }
}

/// The number of a wall time's weekday; Monday is 0.
fn number_of(wall_us: i64) -> usize {
    let days = (wall_us - MONDAY_US).div_euclid(DAY_US).rem_euclid(7);
    usize::try_from(days).unwrap_or(0)
}

/// A box of every day as one of those weekdays that show it, where that explains clearly more.
pub(crate) fn on_its_days(pattern: &Pattern, grid: &Grid) -> Option<Pattern> {
    let Clock::Fixed {
        period_us,
        origin_us,
        days: Weekdays::ALL,
    } = pattern.clock
    else {
        return None;
    };
    let is_box = matches!(pattern.form, Form::Box { .. });
    if !is_of(period_us, DAY_US) || !is_box || grid.width_us * BINS_MIN > DAY_US {
        return None;
    }
    let (mut gains, mut counts) = ([0.0; 7], [0; 7]);
    for (at, gain) in seen(pattern, grid).0 {
        gains[number_of(at)] += gain;
        counts[number_of(at)] += 1;
    }
    let days = Weekdays(gains.map(|gain| gain > 0.0));
    if counts.iter().any(|&count| count < WEEKS_MIN) || !(2..7).contains(&days.count()) {
        return None;
    }
    let mut some = Pattern {
        clock: Clock::Fixed {
            period_us,
            origin_us,
            days,
        },
        ..pattern.clone()
    };
    fit(&mut some, grid)?;
    (gain_of_days(&some, grid) > GAIN_MIN).then_some(some)
}

/// Whether a pattern takes back, on some days of the week, what another does on more of them: it begins at that time
/// of the day, lasts as long, and goes the other way. People rest then, or work less.
pub(crate) fn takes_back(pattern: &Pattern, daily: &Pattern) -> bool {
    let (Form::Box { duty }, Form::Box { duty: known }) = (pattern.form, daily.form) else {
        return false;
    };
    let (
        Clock::Fixed {
            period_us,
            origin_us,
            ..
        },
        Clock::Fixed {
            period_us: day_us,
            origin_us: first_us,
            ..
        },
    ) = (&pattern.clock, &daily.clock)
    else {
        return false;
    };
    let is_of_some = is_of(*period_us, 7 * DAY_US)
        || is_of(*period_us, DAY_US) && pattern.clock.weekdays() != Weekdays::ALL;
    let is_less = pattern.size() * daily.size() < 0.0
        && pattern.size().abs() < daily.size().abs() * ALIKE_MAX;
    let len = duty * period_us / (known * day_us);
    let apart = (origin_us - first_us).rem_euclid(*day_us);
    let width = |pattern: &Pattern| as_f64(pattern.interval_us.1 - pattern.interval_us.0);
    is_of_some
        && is_of(*day_us, DAY_US)
        && is_less
        && (1.0 / ALIKE_MAX..ALIKE_MAX).contains(&len)
        && apart.min(day_us - apart) <= width(pattern).max(width(daily))
}

/// How much more a pattern of some days explains than one of all days, in nats, less the charge; 0 for the latter.
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
