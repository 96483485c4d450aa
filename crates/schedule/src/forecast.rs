//! Forecasts the runs of a job from its triggers.

use crate::anacron;
use crate::conditions::{Conditions, Uptimes};
use crate::cron_times::cron_times;
use crate::guard::{self, Gate, Passes};
use crate::run::{Forecast, Run, Seen};
use crate::timer;
use crate::window::{SECOND_US, STARTUP_US, Source, Window};
use facts::InputError;
use facts::host::{Job, Trigger};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// A window, the index of its source, and how it is known.
type Planned = (Window, usize, Seen);

/// Computes the runs of a job that start, or may start, from `from` until before `until`.
///
/// Starts at which the job's guards end it at once are left out. All triggers are assumed to be in
/// effect; the caller checks whether the job is active
/// ([`Job::is_active`]). If the host's uptimes are known, runs that fall into downtime are dropped,
/// or moved to the next boot if anacron or `Persistent=` catches up on them. The reported last and
/// next runs of a timer replace the computed ones. A random delay longer than the period makes
/// systemd drop runs; the forecast still includes all of them.
///
/// # Errors
/// If a trigger cannot be parsed; the error names its source.
pub fn runs(
    job: &Job,
    from: Timestamp,
    until: Timestamp,
    conditions: &Conditions,
) -> Result<Forecast, InputError> {
    let mut forecast = Forecast::default();
    if from >= until {
        return Ok(forecast);
    }
    let (from_us, until_us) = (from.as_microsecond(), until.as_microsecond());
    let mut sources = Vec::new();
    let mut gate = Gate::of(job, conditions);
    let perhaps = Rc::new(Cell::new(false));
    for trigger in &job.triggers {
        let mut of_trigger =
            trigger_sources(trigger, job, from_us, conditions, &mut forecast.unknown)?;
        if let Some(gate) = &gate {
            for source in &mut of_trigger {
                let windows = std::mem::replace(&mut source.windows, Box::new(std::iter::empty()));
                source.windows = guard::passing(
                    windows,
                    gate.clone(),
                    trigger.source().to_owned(),
                    (from_us, until_us),
                    Rc::clone(&perhaps),
                );
            }
        }
        sources.extend(of_trigger);
    }
    let runs_max = conditions.runs_max;
    let mut planned = merge(&mut sources, from_us, until_us, runs_max);
    if planned.len() > runs_max {
        let cut = planned[runs_max].0.earliest_us;
        planned.retain(|(window, ..)| window.earliest_us < cut);
        forecast.truncated_at = Timestamp::from_microsecond(cut).ok();
    }
    narrow_to_known(
        &mut planned,
        &sources,
        job,
        gate.as_mut(),
        (from_us, until_us),
    );
    if perhaps.get()
        && let Some(gate) = &gate
    {
        forecast.some_may_not_run = true;
        forecast.unknown.push(gate.note(job));
    }
    forecast.runs = planned
        .into_iter()
        .filter_map(|(window, source, seen)| {
            let written = &sources[source].evidence;
            Some(Run {
                job: job.name.clone(),
                earliest: Timestamp::from_microsecond(window.earliest_us).ok()?,
                latest: Timestamp::from_microsecond(window.latest_us).ok()?,
                delays: sources[source].delays,
                len_s: None,
                seen,
                evidence: match seen {
                    Seen::Stamp => format!("{written}; the last run, as its stamp says").into(),
                    _ => written.clone(),
                },
            })
        })
        .collect();
    Ok(forecast)
}

/// Returns the typical time between two runs of a trigger in seconds: the median of the next
/// sixteen intervals after `near`; for anacron, the configured period.
///
/// Returns `None` if there is no period: `@reboot`, timers that fire once after boot, and schedules
/// that end or cannot be parsed.
pub fn period_s(trigger: &Trigger, near: Timestamp, zone: &TimeZone) -> Option<f64> {
    let near_us = near.as_microsecond();
    let starts: Vec<i64> = match trigger {
        Trigger::Anacron { period, .. } => return anacron::period_text_s(period),
        Trigger::Boot { .. } => return None,
        Trigger::Monotonic { base, span_s, .. } => {
            let repeats = timer::is_repeating(base) && span_s.is_finite() && *span_s > 0.0;
            return repeats.then_some(*span_s);
        }
        Trigger::Cron {
            spec,
            time_zone,
            source,
        } => cron_times(
            spec,
            time_zone.as_deref(),
            source,
            near_us,
            &Conditions::in_zone(zone),
        )
        .ok()?
        .take(DISTANCES + 1)
        .collect(),
        Trigger::Calendar(calendars) => {
            let mut sources = timer::calendar_times(calendars, near_us, zone).ok()?;
            let mut merged = Merge::new(&mut sources);
            let mut starts: Vec<i64> = Vec::new();
            while starts.len() <= DISTANCES {
                let Some((window, _)) = merged.next(&mut sources) else {
                    break;
                };
                if starts.last() != Some(&window.earliest_us) {
                    starts.push(window.earliest_us);
                }
            }
            starts
        }
    };
    median_distance_s(&starts)
}

/// Returns the typical time between two runs of a job in seconds: the most frequent of several
/// triggers counts. If the job asks the clock first, only starts at which it does its work do.
pub fn job_period_s(job: &Job, near: Timestamp, zone: &TimeZone) -> Option<f64> {
    if job.guards.is_empty() {
        let periods = job.triggers.iter();
        return periods
            .filter_map(|trigger| period_s(trigger, near, zone))
            .min_by(f64::total_cmp);
    }
    let conditions = Conditions {
        runs_max: DISTANCES + 1,
        ..Conditions::in_zone(zone)
    };
    let until = near.checked_add(GUARDED_AHEAD).ok()?;
    let found = runs(job, near, until, &conditions).ok()?.runs;
    let starts: Vec<i64> = found
        .iter()
        .map(|run| run.earliest.as_microsecond())
        .collect();
    median_distance_s(&starts)
}

/// How many intervals are looked at to find a period.
const DISTANCES: usize = 16;

/// How far ahead runs of a job that asks the clock first are looked for: enough for a yearly one.
const GUARDED_AHEAD: SignedDuration = SignedDuration::from_hours(3 * 366 * 24);

fn median_distance_s(starts_us: &[i64]) -> Option<f64> {
    let mut distances_us: Vec<i64> = starts_us.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances_us.sort_unstable();
    let middle = distances_us.len() / 2;
    let median_us = if distances_us.is_empty() {
        return None;
    } else if distances_us.len() % 2 == 1 {
        distances_us[middle]
    } else {
        i64::midpoint(distances_us[middle - 1], distances_us[middle])
    };
    Some(seconds(median_us))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "distances of runs are far below 2^53 microseconds (285 years)"
)]
fn seconds(span_us: i64) -> f64 {
    span_us as f64 / SECOND_US as f64
}

fn trigger_sources(
    trigger: &Trigger,
    job: &Job,
    from_us: i64,
    conditions: &Conditions,
    unknown: &mut Vec<String>,
) -> Result<Vec<Source>, InputError> {
    match trigger {
        Trigger::Cron {
            spec,
            time_zone,
            source,
        } => {
            let named = time_zone
                .as_ref()
                .map_or(String::new(), |name| format!(" in {name}"));
            let moments = cron_times(spec, time_zone.as_deref(), source, from_us - 1, conditions)?;
            let windows = while_up(moments, conditions.uptimes.clone());
            let evidence = format!("{source}: {spec}{named}");
            Ok(vec![Source::new(windows, evidence)])
        }
        Trigger::Calendar(calendars) => {
            timer::calendar_sources(calendars, job, from_us, conditions)
        }
        Trigger::Anacron {
            period,
            delay_min,
            random_delay_min,
            start_hours,
            started_by,
            identifier,
            source,
        } => {
            let due = anacron::Line {
                period,
                delay_min: *delay_min,
                random_delay_min: random_delay_min.unwrap_or(0),
                start_hours: *start_hours,
                started_by,
                identifier,
                source,
            };
            match due.windows(job.last_run, from_us, conditions)? {
                Ok(windows) => Ok(vec![Source {
                    stamp_us: job.last_run.map(Timestamp::as_microsecond),
                    ..Source::new(windows, due.evidence())
                }]),
                Err(reason) => {
                    unknown.push(reason);
                    Ok(Vec::new())
                }
            }
        }
        Trigger::Monotonic { .. } => {
            timer::monotonic_sources(trigger, job, from_us, conditions, unknown)
        }
        Trigger::Boot { source } => {
            let evidence = format!("{source}: @reboot, when cron starts");
            if !conditions.uptimes.is_known() {
                unknown.push(evidence);
                return Ok(Vec::new());
            }
            let starts = conditions.uptimes.starts();
            let windows: Vec<Window> = starts
                .map(|up| Window::late(up.from_us, STARTUP_US))
                .collect();
            Ok(vec![Source::new(windows.into_iter(), evidence)])
        }
    }
}

/// Keeps only the run times at which the host is up. Skipping downtimes one run at a time is fast
/// enough, because cron's run times are at least a minute apart.
fn while_up(moments: impl Iterator<Item = i64>, uptimes: Uptimes) -> impl Iterator<Item = Window> {
    moments
        .filter(move |&at_us| uptimes.at(at_us).is_some())
        .map(Window::exact)
}

/// Merges windows from several sources in the order of their earliest start.
struct Merge {
    heads: BinaryHeap<Reverse<(Window, usize)>>,
}

impl Merge {
    fn new(sources: &mut [Source]) -> Self {
        let heads = sources
            .iter_mut()
            .enumerate()
            .filter_map(|(index, source)| Some(Reverse((source.windows.next()?, index))))
            .collect();
        Self { heads }
    }

    fn next(&mut self, sources: &mut [Source]) -> Option<(Window, usize)> {
        let Reverse((window, index)) = self.heads.pop()?;
        if let Some(following) = sources[index].windows.next() {
            self.heads.push(Reverse((following, index)));
        }
        Some((window, index))
    }
}

/// Returns the distinct windows that overlap the time from `from_us` until before `until_us`, at
/// most `runs_max` plus one.
fn merge(sources: &mut [Source], from_us: i64, until_us: i64, runs_max: usize) -> Vec<Planned> {
    let mut merged = Merge::new(sources);
    let mut planned: Vec<Planned> = Vec::new();
    while planned.len() <= runs_max {
        let Some((window, index)) = merged.next(sources) else {
            break;
        };
        if window.earliest_us >= until_us {
            break;
        }
        let is_new = planned.last().is_none_or(|(last, ..)| *last != window);
        if window.latest_us >= from_us && is_new {
            planned.push((window, index, Seen::Computed));
        }
    }
    planned
}

/// Applies the last and next runs that systemd reports for a timer, and anacron's time stamp.
fn narrow_to_known(
    planned: &mut Vec<Planned>,
    sources: &[Source],
    job: &Job,
    mut gate: Option<&mut Gate>,
    (from_us, until_us): (i64, i64),
) {
    // The stamp is written when the job ends and dated with the day it was due.
    for (window, source, seen) in planned.iter_mut() {
        if let Some(ended_us) = sources[*source].stamp_us
            && window.earliest_us <= ended_us
            && ended_us - window.earliest_us < 18 * 3_600 * SECOND_US
        {
            window.latest_us = ended_us;
            *seen = Seen::Stamp;
        }
    }
    let Some(timer) = sources
        .iter()
        .position(|source| source.accuracy_us.is_some())
    else {
        return;
    };
    let mut take_in = |at: Option<Timestamp>, late_us: i64, seen: Seen| {
        let Some(at_us) = at.map(Timestamp::as_microsecond) else {
            return;
        };
        if at_us < from_us || at_us >= until_us {
            return;
        }
        let known = Window::late(at_us, late_us);
        // A start at which it does nothing.
        let triggers = || job.triggers.iter().map(Trigger::source);
        if (gate.as_mut()).is_some_and(|gate| gate.passes_by_any(triggers(), at_us) == Passes::No) {
            return;
        }
        // Take the latest window that contains it.
        let of_timer = planned.iter().rposition(|(window, source, _)| {
            sources[*source].accuracy_us.is_some()
                && window.earliest_us <= at_us
                && at_us <= window.latest_us
        });
        match of_timer {
            Some(index) => {
                planned[index].0 = known;
                planned[index].2 = seen;
            }
            None => planned.push((known, timer, seen)),
        }
    };
    take_in(job.last_run, 0, Seen::Stamp);
    take_in(
        job.next_run,
        sources[timer].accuracy_us.unwrap_or(0),
        Seen::Computed,
    );
    planned.sort_unstable();
}

#[cfg(test)]
#[path = "forecast_tests.rs"]
pub(crate) mod tests;
