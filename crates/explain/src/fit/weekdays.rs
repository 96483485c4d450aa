//! Patterns on some days of the week: people work from Monday to Friday, and so do some jobs. Modelled as
//! daily, such a pattern leaves weekend residuals that any weekly job would appear to explain.

use super::extent::onsets_of;
use super::likelihood::likelihood;
use super::size::fit;
use crate::calendar::periods::{DAY_US, is_period};
use crate::calendar::weekdays::{Weekdays, weekday_number};
use crate::model::form::Form;
use crate::model::grid::Grid;
use crate::model::pattern::{Clock, Pattern};

/// Minimum gain in nats, on top of the penalty.
const GAIN_MIN: f64 = 10.0;
/// Minimum number of bins per day.
const BINS_MIN: i64 = 6;
/// Minimum number of occurrences of each weekday.
const WEEKS_MIN: usize = 2;

/// Returns a daily box restricted to the weekdays that show it, if that explains clearly more.
pub(crate) fn restricted_to_weekdays(pattern: &Pattern, grid: &Grid) -> Option<Pattern> {
    let Clock::Fixed {
        period_us,
        origin_us,
        days: Weekdays::ALL,
        // Its onsets are counted by the days of the grid's own zone.
        zone: None,
    } = pattern.clock
    else {
        return None;
    };
    let is_box = matches!(pattern.form, Form::Box { .. });
    if !is_period(period_us, DAY_US) || !is_box || grid.width_us * BINS_MIN > DAY_US {
        return None;
    }
    let (mut gains, mut counts) = ([0.0; 7], [0; 7]);
    for (at, gain) in onsets_of(pattern, grid).0 {
        gains[weekday_number(at)] += gain;
        counts[weekday_number(at)] += 1;
    }
    let days = Weekdays::new(gains.map(|gain| gain > 0.0));
    if counts.iter().any(|&count| count < WEEKS_MIN) || !(2..7).contains(&days.count()) {
        return None;
    }
    let mut some = Pattern {
        clock: Clock::Fixed {
            period_us,
            origin_us,
            days,
            zone: None,
        },
        ..pattern.clone()
    };
    fit(&mut some, grid)?;
    (weekday_gain(&some, grid) > GAIN_MIN).then_some(some)
}

/// Returns how much more a pattern on some days explains than on all days, in nats, minus the penalty; 0
/// for a daily one.
pub(crate) fn weekday_gain(pattern: &Pattern, grid: &Grid) -> f64 {
    let mut all = pattern.clone();
    match &mut all.clock {
        Clock::Fixed { days, .. } if *days != Weekdays::ALL => *days = Weekdays::ALL,
        _ => return 0.0,
    }
    likelihood(grid, &[pattern]) - likelihood(grid, &[&all])
}
