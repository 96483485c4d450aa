//! Patterns whose events were located one by one, in the windows of a job's runs.

use super::found::Found;
use crate::calendar::periods::DAY_US;
use crate::model::form::Form;
use crate::model::grid::{Grid, Variant};
use crate::model::pattern::{Clock, Pattern, Window};
use crate::model::samples::Samples;
use crate::numbers::{as_f64, count_f64};
use crate::search::runs::Class;
use crate::search::weekly::{WINDOWS, windows_of_week};
use crate::search::windows::{Event, Located, locate};
use crate::statistics::{median, quantile};
use std::sync::Arc;

/// Events whose places differ by less than this many sampling intervals, or this part of their windows and of their own length,
/// have a fixed place.
const FIXED_GAPS: f64 = 1.2;
const FIXED_SHARE: f64 = 0.2;
const FIXED_LENGTH: f64 = 0.5;
/// The larger events, by their quantile, are at most so many times as large as most.
const LARGE: f64 = 0.9;
const UNLIKE: f64 = 5.0;
/// A calendar's period, give or take this much, is one.
const CALENDAR: f64 = 0.1;
/// Windows of a calendar are at the same place of each period but for clock changes, in microseconds.
const SAME_US: i64 = 2 * 3_600_000_000;
/// So many runs without an event before the first one or after the last say that it began later or ended.
const IDLE_ENDS: usize = 3;

/// Returns a pattern of events that are located in the windows of a job's runs, if there is one that no fixed period
/// explains.
pub(super) fn located(
    samples: &Samples,
    values: &[f64],
    classes: &[Class],
    alpha: f64,
) -> Option<Found> {
    let found = locate(&samples.times_us, values, samples.gap_us, classes, alpha)?;
    let class = &classes[found.class];
    let fixed = as_f64(class.width_us()) * FIXED_SHARE;
    moving_pattern(&found, samples, values, class, fixed)
}

/// Which events a fixed period explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fixed {
    /// Those that are as near to each other as samples tell.
    AsSamplesTell,
    /// Those of which most of each is at the same time.
    MostOfEach,
}

/// Returns a pattern of events that are located in a window of each week that is no job's, if there is one.
pub(super) fn unlisted(
    samples: &Samples,
    values: &[f64],
    grids: &[Grid],
    fixed: Fixed,
    alpha: f64,
) -> Option<Found> {
    let classes = windows_of_week(grids, &samples.offsets);
    let trials = count_f64(WINDOWS);
    let times_us = &samples.times_us;
    let mut found = locate(times_us, values, samples.gap_us, &classes, alpha / trials)?;
    found.nats -= trials.ln();
    let fixed_us = match fixed {
        Fixed::AsSamplesTell => 0.0,
        Fixed::MostOfEach => f64::INFINITY,
    };
    let class = &classes[found.class];
    let mut found = moving_pattern(&found, samples, values, class, fixed_us)?;
    found.pattern.class = None;
    // Where its own window is, its events tell.
    if let Clock::Runs {
        starts_us,
        window: Some(window),
        ..
    } = &mut found.pattern.clock
    {
        let half = window.period_us / 2;
        let first = window.last_us.0;
        let after = |at: &i64| (at - first + half).rem_euclid(window.period_us) - half;
        let (least, most) = (
            starts_us.iter().map(after).min()?,
            starts_us.iter().map(after).max()?,
        );
        window.last_us = (first + least, first + most + samples.gap_us);
    }
    Some(found)
}

/// Returns the pattern of a class's events, unless they are within so many microseconds of each period, and most of each is at the
/// same time, or they are as near as samples tell: then a fixed period explains them.
fn moving_pattern(
    found: &Located,
    samples: &Samples,
    values: &[f64],
    class: &Class,
    fixed_us: f64,
) -> Option<Found> {
    let events: Vec<&Event> = found.runs.iter().filter_map(|run| run.1.as_ref()).collect();
    let onsets: Vec<i64> = events
        .iter()
        .map(|event| onset_us(event, samples))
        .collect();
    let period = calendar(class, samples);
    let known = as_f64(samples.gap_us + found.unclear_us) * FIXED_GAPS;
    let lengths = events.iter().map(|event| count_f64(event.samples.len()));
    let len_us = as_f64(samples.gap_us) * median(lengths.collect());
    let narrow = fixed_us.min(len_us * FIXED_LENGTH).max(known);
    if period.is_some_and(|window| spread_us(&onsets, window.period_us) <= narrow) {
        return None;
    }
    // A few large events among many small ones are something else, which comes less often.
    let mut sizes: Vec<f64> = events.iter().map(|event| event.size.abs()).collect();
    if quantile(&mut sizes, LARGE) > median(sizes) * UNLIKE {
        return None;
    }
    Some(pattern(found, class, samples, values, period))
}

/// When an event begins, in local time: between the sample before it and its first one.
fn onset_us(event: &Event, samples: &Samples) -> i64 {
    samples.wall_us[event.samples.start] - samples.gap_us / 2
}

/// Returns the day or the week in which a class's windows recur, if they do.
fn calendar(class: &Class, samples: &Samples) -> Option<Window> {
    let walls: Vec<(i64, i64)> = (class.windows_us.iter())
        .map(|window| {
            (
                samples.offsets.wall_us(window.0),
                samples.offsets.wall_us(window.1),
            )
        })
        .collect();
    let &last_us = walls.iter().rfind(|window| {
        let last = samples.wall_us.last();
        last.is_none_or(|last| window.0 < *last)
    })?;
    [DAY_US, 7 * DAY_US].into_iter().find_map(|period_us| {
        let is_period = (as_f64(class.period_us) / as_f64(period_us) - 1.0).abs() < CALENDAR;
        let half = period_us / 2;
        let apart =
            |window: &(i64, i64)| (window.0 - last_us.0 + half).rem_euclid(period_us) - half;
        let there: Vec<&(i64, i64)> = (walls.iter())
            .filter(|window| apart(window).abs() <= SAME_US)
            .collect();
        if !is_period || there.len() * 10 < walls.len() * 9 {
            return None;
        }
        // Exact starts from a log differ; clocks change rarely.
        let same = there.iter().filter(|window| apart(window) == 0).count();
        if same * 2 > there.len() {
            return Some(Window { period_us, last_us });
        }
        let from = there.iter().map(|window| apart(window)).min()?;
        let to = there
            .iter()
            .map(|window| apart(window) + window.1 - window.0)
            .max()?;
        Some(Window {
            period_us,
            last_us: (last_us.0 + from, last_us.0 + to),
        })
    })
}

/// Returns within how much of a period most onsets are, in microseconds.
pub(crate) fn spread_us(onsets: &[i64], period_us: i64) -> f64 {
    let Some(&first) = onsets.first() else {
        return 0.0;
    };
    let half = period_us / 2;
    let apart = |at: &i64| as_f64((at - first + half).rem_euclid(period_us) - half);
    let mut places: Vec<f64> = onsets.iter().map(apart).collect();
    quantile(&mut places, 0.9) - quantile(&mut places, 0.1)
}

fn pattern(
    found: &Located,
    class: &Class,
    samples: &Samples,
    values: &[f64],
    window: Option<Window>,
) -> Found {
    let mut onsets: Vec<(i64, f64)> = Vec::with_capacity(found.runs.len());
    let mut adds: Vec<(i64, f64)> = Vec::new();
    let (mut sizes, mut lengths) = (Vec::new(), Vec::new());
    for (window, event) in &found.runs {
        let Some(event) = event else {
            let middle = i64::midpoint(window.0, window.1);
            onsets.push((samples.offsets.wall_us(middle), -1.0));
            continue;
        };
        onsets.push((onset_us(event, samples), event.clarity));
        sizes.push(event.size);
        lengths.push(as_f64(samples.gap_us) * count_f64(event.samples.len()));
        // The first and the last sample may be filled in part by what is next to them.
        let around = event.samples.start.saturating_sub(1)..event.samples.end + 1;
        for (at, value) in (values.iter().enumerate().take(around.end)).skip(around.start) {
            let above = value - event.level;
            if event.samples.contains(&at) || above * event.size > 0.0 {
                adds.push((samples.wall_us[at], above));
            }
        }
    }
    adds.sort_by_key(|(at, _)| *at);
    adds.dedup_by_key(|(at, _)| *at);
    let seen = |one: &(i64, f64)| one.1 > 0.0;
    let first = onsets.iter().position(seen).unwrap_or(0);
    let last = onsets.iter().rposition(seen).unwrap_or(0);
    let period_us = class.period_us.max(1);
    let half_us = samples.gap_us / 2 + found.unclear_us;
    let (mut active, mut active_us) = (0..onsets.len(), (i64::MIN, i64::MAX));
    if first >= IDLE_ENDS {
        active.start = first;
        active_us.0 = onsets[first].0 - half_us;
    }
    if onsets.len() - last > IDLE_ENDS {
        active.end = last + 1;
        active_us.1 = onsets[last].0 + period_us / 2;
    }
    let clock = Clock::Runs {
        starts_us: (onsets.iter().filter(|one| seen(one)))
            .map(|one| one.0 - samples.gap_us / 2 + 1)
            .collect(),
        period_us,
        window,
    };
    let duty = median(lengths) / as_f64(period_us);
    let (form, interval_us) = (Form::Box { duty }, (-half_us, half_us));
    let pattern = Pattern {
        class: Some(found.class),
        coefficients: vec![median(sizes)],
        active_us,
        gain: found.nats,
        ..Pattern::unfitted(clock, form, 0, Variant::Sharp, interval_us)
    };
    let p = (-found.nats).exp().min(1.0);
    Found {
        pattern,
        p,
        p_extrapolated: p,
        best_without_jobs: None,
        across_schedule_change: None,
        zones: Vec::new(),
        onsets,
        active,
        located: Some(Arc::new(adds)),
    }
}
