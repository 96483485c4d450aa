//! Description of a pattern: period, calendar, size, occurrences.

use super::clocks::{Clocks, zone_name};
use super::result::{Cycle, Effect, Folded, Interval, Shape};
use crate::calendar::offsets::moment;
use crate::calendar::periods::{DAY_US, HOUR_US, MONDAY_US, is_period, start_of};
use crate::calendar::weekdays::Weekdays;
use crate::causes::matches::samples_around_onsets;
use crate::fit::found::Found;
use crate::model::form::Form;
use crate::model::pattern::{Clock, Pattern};
use crate::model::samples::Samples;
use crate::numbers::{as_count, as_f64, as_i64, count_f64};
use crate::statistics::{median, quantile};
use jiff::Timestamp;

/// Maximum number of events listed in a verdict.
const EVENTS_MAX: usize = 20_000;
/// An interval that ends at midnight belongs to the day that begins, if it is no longer than this.
const MIDNIGHT_US: i64 = 900_000_000;
/// Maximum number of bins of a folded curve.
const FOLDED_BINS_MAX: f64 = 288.0;
/// A box that takes a larger fraction of its period than this is a step between two levels.
const STEP_DUTY_MIN: f64 = 0.2;

/// The description of a series' main pattern.
#[derive(Debug, Clone)]
pub(crate) struct Recurrence {
    /// How often it occurs.
    pub rhythm: Rhythm,
    /// Whose clocks it follows, if that was compared.
    pub clocks: Option<Clocks>,
    /// Its shape.
    pub shape: Shape,
    /// The interval of its last occurrence.
    pub place: Option<Place>,
    /// Probability of a pattern this clear by chance.
    pub p: f64,
    /// Start of the first period that shows it.
    pub since: Option<Timestamp>,
    /// End of the last period that shows it; `None` if it lasts until the last sample.
    pub until: Option<Timestamp>,
    /// Number of periods with samples while it is active.
    pub cycles: usize,
    /// Number of those that show it on their own.
    pub cycles_seen: usize,
    /// Its size.
    pub effect: Effect,
    /// The interval of each occurrence, as exactly as the samples tell.
    pub events: Vec<Interval>,
    /// The series folded by its period.
    pub folded: Folded,
}

/// How often a pattern occurs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rhythm {
    /// The calendar that it follows.
    pub cycle: Cycle,
    /// The weekdays on which it occurs; `None` for all of them.
    pub weekdays: Option<Vec<String>>,
    /// Its period in seconds.
    pub period_s: f64,
}

/// An interval in local time, and as timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Start, in microseconds of local time, by the clocks that it follows.
    pub from_wall_us: i64,
    /// End, likewise.
    pub to_wall_us: i64,
    /// Start.
    pub from: Timestamp,
    /// End.
    pub to: Timestamp,
}

/// A summary of a pattern other than the main one.
#[derive(Debug, Clone)]
pub(crate) struct Secondary {
    /// How often it occurs.
    pub rhythm: Rhythm,
    /// Its shape.
    pub shape: Shape,
    /// Its size in the series' unit.
    pub size: f64,
    /// The zone whose clocks it follows, if it is not the analysis' own.
    pub zone: Option<String>,
    /// Its last occurrence, in microseconds of local time there, if it follows a calendar and is an event.
    pub place_wall_us: Option<(i64, i64)>,
    /// Probability of a pattern this clear by chance.
    pub p: f64,
    /// Jobs that explain it best; empty if none do.
    pub jobs: Vec<String>,
}

impl Recurrence {
    /// Describes a pattern.
    pub fn new(found: &Found, samples: &Samples) -> Self {
        let pattern = &found.pattern;
        let period_us = pattern.clock.period_us();
        let onsets = found.active_onsets(samples);
        let onsets = onsets.as_slice();
        let since = onsets.first().map(|(at, _)| {
            let from = if found.active.start == 0 {
                samples.times_us[0]
            } else {
                samples.offsets.utc_us(at + pattern.interval_us.0)
            };
            moment(from.max(samples.times_us[0]))
        });
        // An end within the last period may not be an end.
        let last = samples.wall_us[samples.wall_us.len() - 1];
        let ends = found.active.end < found.onsets.len()
            && as_f64(last.saturating_sub(pattern.active_us.1)) > period_us;
        let until = ends
            .then(|| {
                samples
                    .offsets
                    .utc_us(pattern.active_us.1.min(i64::MAX / 2))
            })
            .map(moment);
        Self {
            rhythm: Rhythm::of(pattern),
            clocks: Clocks::new(found, cycle(pattern), onsets, samples),
            shape: shape(pattern),
            place: place(pattern, onsets, samples),
            p: found.p,
            since,
            until,
            cycles: onsets.len(),
            cycles_seen: onsets.iter().filter(|(_, gain)| *gain > 0.0).count(),
            effect: effect(pattern, samples),
            events: events(pattern, &found.shown_onsets(samples), samples),
            folded: folded(pattern, samples),
        }
    }
}

impl Rhythm {
    /// Returns the rhythm of a pattern.
    pub fn of(pattern: &Pattern) -> Self {
        Self {
            cycle: cycle(pattern),
            weekdays: weekdays(pattern),
            period_s: pattern.clock.period_us() / 1e6,
        }
    }
}

impl Secondary {
    /// Summarises a pattern that these jobs explain best.
    pub fn new(found: &Found, jobs: Vec<String>) -> Self {
        let pattern = &found.pattern;
        let shape = shape(pattern);
        let rhythm = Rhythm::of(pattern);
        let last = found.onsets[found.active.clone()].last();
        let place_wall_us = match (rhythm.cycle, last) {
            (Cycle::Hour | Cycle::Day | Cycle::Week, Some((at, _))) if is_event(shape) => {
                let (from, to) = pattern.interval_us;
                Some((
                    by_its_clocks(pattern, at + from),
                    by_its_clocks(pattern, at + to),
                ))
            }
            _ => None,
        };
        Self {
            rhythm,
            shape,
            size: pattern.size(),
            zone: (pattern.clock.zone()).map(|zone| zone_name(&zone.zone)),
            place_wall_us,
            p: found.p,
            jobs,
        }
    }
}

/// Returns the shape of a pattern.
fn shape(pattern: &Pattern) -> Shape {
    match pattern.form {
        Form::Sawtooth => Shape::Sawtooth,
        Form::Wave => Shape::Wave,
        Form::Box { duty } if duty > STEP_DUTY_MIN => Shape::Step,
        Form::Box { .. } if pattern.size() < 0.0 => Shape::Dip,
        Form::Box { .. } => Shape::Spike,
    }
}

/// Returns whether a shape is an event rather than varying load.
pub(crate) fn is_event(shape: Shape) -> bool {
    shape != Shape::Wave
}

/// Returns the weekdays on which a pattern occurs; `None` for all of them.
fn weekdays(pattern: &Pattern) -> Option<Vec<String>> {
    let Clock::Fixed {
        origin_us, days, ..
    } = pattern.clock
    else {
        return None;
    };
    // An occurrence between the last minutes of a day and midnight is attributed to the day of midnight's
    // jobs.
    let (from, to) = pattern.interval_us;
    let day_of = |after: i64| (as_i64(origin_us) + after).div_euclid(DAY_US);
    let later = if to - from <= MIDNIGHT_US {
        day_of(to) - day_of(0)
    } else {
        0
    };
    (days != Weekdays::ALL).then(|| days.names(later))
}

/// Returns the calendar that a pattern follows.
pub(crate) fn cycle(pattern: &Pattern) -> Cycle {
    match pattern.clock {
        Clock::Runs {
            window: Some(window),
            ..
        } if window.period_us == DAY_US => Cycle::Day,
        Clock::Runs {
            window: Some(_), ..
        } => Cycle::Week,
        Clock::Runs { window: None, .. } => Cycle::Runs,
        Clock::Fixed { period_us, .. } => {
            if is_period(period_us, HOUR_US) {
                Cycle::Hour
            } else if is_period(period_us, DAY_US) {
                Cycle::Day
            } else if is_period(period_us, 7 * DAY_US) {
                Cycle::Week
            } else {
                Cycle::Fixed
            }
        }
    }
}

/// Returns the interval of each onset, between the sample before it and the one after it.
fn events(pattern: &Pattern, on: &[(i64, f64)], samples: &Samples) -> Vec<Interval> {
    if pattern.form == Form::Wave {
        return Vec::new();
    }
    samples_around_onsets(pattern, on, samples)
        .into_iter()
        .flatten()
        .take(EVENTS_MAX)
        .map(|(from, to)| Interval {
            from: moment(from),
            to: moment(to),
        })
        .collect()
}

/// Returns the interval of a pattern's last occurrence; for a wave, that of its highest point.
fn place(pattern: &Pattern, on: &[(i64, f64)], samples: &Samples) -> Option<Place> {
    let last = on.last()?.0;
    let (mut from, mut to) = match pattern.clock {
        Clock::Runs {
            window: Some(window),
            ..
        } => window.last_us,
        _ => (last + pattern.interval_us.0, last + pattern.interval_us.1),
    };
    if pattern.form == Form::Wave {
        // Its highest point, to a twelfth of the period.
        let period = as_i64(pattern.clock.period_us());
        let walls: Vec<i64> = (0..48).map(|i| last + period / 48 * i).collect();
        let all = Pattern {
            active_us: (i64::MIN, i64::MAX),
            ..pattern.clone()
        };
        let values = all.values(&walls);
        let top = (0..48).max_by(|&a, &b| values[a].total_cmp(&values[b]))?;
        from = walls[top] - period / 24;
        to = walls[top] + period / 24;
    }
    Some(Place {
        from_wall_us: by_its_clocks(pattern, from),
        to_wall_us: by_its_clocks(pattern, to),
        from: moment(samples.offsets.utc_us(from)),
        to: moment(samples.offsets.utc_us(to)),
    })
}

/// Converts local time to that of the zone whose clocks a pattern follows. Without a calendar, its last
/// occurrence is given in the analysis' zone.
fn by_its_clocks(pattern: &Pattern, wall_us: i64) -> i64 {
    match (pattern.clock.zone(), cycle(pattern)) {
        (Some(zone), Cycle::Day | Cycle::Week) => zone.there_us(wall_us),
        _ => wall_us,
    }
}

fn effect(pattern: &Pattern, samples: &Samples) -> Effect {
    let level = median(samples.values.clone()).abs();
    let size = pattern.size();
    let relative = (level > 0.0).then(|| size / level);
    let days = pattern.clock.period_us() / as_f64(DAY_US);
    Effect {
        size,
        relative,
        relative_per_day: relative
            .filter(|_| pattern.form == Form::Sawtooth && days > 0.9)
            .map(|relative| relative / days),
        len_s: match pattern.form {
            Form::Box { duty } => Some(duty * pattern.clock.period_us() / 1e6),
            _ => None,
        },
    }
}

/// Folds the samples while the pattern is active by a week, a day or the period.
fn folded(pattern: &Pattern, samples: &Samples) -> Folded {
    let cycle = match weekdays(pattern) {
        Some(_) => Cycle::Week,
        None => cycle(pattern),
    };
    let period_us = match cycle {
        Cycle::Runs | Cycle::Week => as_f64(7 * DAY_US),
        _ => pattern.clock.period_us(),
    };
    let anchor = match cycle {
        Cycle::Week | Cycle::Runs => as_f64(MONDAY_US),
        Cycle::Day | Cycle::Hour => 0.0,
        Cycle::Fixed => match pattern.clock {
            Clock::Fixed { origin_us, .. } => origin_us,
            Clock::Runs { .. } => 0.0,
        },
    };
    let bins = as_count((period_us / as_f64(samples.gap_us)).clamp(1.0, FOLDED_BINS_MAX));
    let zone = pattern.clock.zone();
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); bins];
    for (&wall, &value) in samples.wall_us.iter().zip(&samples.values) {
        if !pattern.is_active(wall) {
            continue;
        }
        let there_us = zone.map_or(wall, |zone| zone.there_us(wall));
        let phase = ((as_f64(there_us) - anchor) / period_us).rem_euclid(1.0);
        let bin = as_count((phase * count_f64(bins)).floor()).min(bins - 1);
        values[bin].push(value);
    }
    let mut of = |at: f64| -> Vec<Option<f64>> {
        values
            .iter_mut()
            .map(|values| (!values.is_empty()).then(|| quantile(values, at)))
            .collect()
    };
    let first = samples.wall_us.first().copied().unwrap_or(0);
    let first = zone.map_or(first, |zone| zone.there_us(first));
    let start = match cycle {
        Cycle::Week | Cycle::Runs => start_of(7 * DAY_US, first),
        Cycle::Day => start_of(DAY_US, first),
        Cycle::Hour => first - first.rem_euclid(HOUR_US),
        Cycle::Fixed => as_i64(anchor + ((as_f64(first) - anchor) / period_us).floor() * period_us),
    };
    Folded {
        period_s: period_us / 1e6,
        anchor: moment(
            samples
                .offsets
                .utc_us(zone.map_or(start, |zone| zone.here_us(start))),
        ),
        median: of(0.5),
        low: of(0.25),
        high: of(0.75),
    }
}
