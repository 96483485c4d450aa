//! Runs of jobs: what the triggers of a job come to between two moments.

use crate::anacron;
use crate::calendar::Calendar;
use crate::cron::{ClockChanges, CronSpec};
use crate::zone::{Clock, parse_zone};
use facts::InputError;
use facts::host::{Calendars, Job, Trigger};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most runs that one forecast lists.
pub const RUNS_MAX: usize = 10_000;

/// systemd's default for `AccuracySec=`.
const ACCURACY_DEFAULT_S: f64 = 60.0;

/// The longest span that is believed, in seconds: ten years.
const SPAN_MAX_S: f64 = 10.0 * 366.0 * 86_400.0;

/// Microseconds of a second.
const SECOND_US: i64 = 1_000_000;

/// One execution of a job. When it starts is known to lie between two moments, which are the same
/// where nothing is left to chance.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The job's name.
    pub job: String,
    /// It starts no earlier.
    pub earliest: Timestamp,
    /// It starts no later: random delay, systemd's accuracy, what anacron leaves open.
    pub latest: Timestamp,
    /// How long it takes in seconds, where known. A schedule does not tell; whoever has measured
    /// it may fill it in.
    pub len_s: Option<f64>,
    /// Where that is written and how it was read: `etc/crontab:18: 47 6 * * 7`.
    pub evidence: String,
}

/// The runs of a job between two moments, as far as they can be told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forecast {
    /// In the order of their earliest start.
    pub runs: Vec<Run>,
    /// Triggers whose runs cannot be told, each with its reason, in plain words.
    pub unknown: Vec<String>,
    /// The list is complete up to here only: it would have been longer than [`RUNS_MAX`].
    pub truncated_at: Option<Timestamp>,
}

/// When a run starts, in microseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Window {
    pub earliest_us: i64,
    pub latest_us: i64,
}

/// Windows one after the other, in the order of their earliest start.
type Windows = Box<dyn Iterator<Item = Window>>;

/// A source of runs.
struct Source {
    windows: Windows,
    evidence: String,
    /// For timers, by how much systemd may be late after the moment it has set itself.
    accuracy_us: Option<i64>,
}

/// The runs of a job that start, or may start, from `from` until before `until`, on a host in
/// `zone`.
///
/// All triggers are looked at as if they were in force and the host had been, and stayed, up:
/// whether the job is active is for the caller ([`Job::is_active`]). What is known of timers
/// narrows their runs: the last run is exact, and the next one is when systemd says. Randomised
/// delays longer than the period drop runs in fact; the forecast has them all.
///
/// # Errors
/// When a trigger cannot be understood; the error names its source.
pub fn runs(
    job: &Job,
    from: Timestamp,
    until: Timestamp,
    zone: &TimeZone,
) -> Result<Forecast, InputError> {
    let mut forecast = Forecast::default();
    if from >= until {
        return Ok(forecast);
    }
    let (from_us, until_us) = (from.as_microsecond(), until.as_microsecond());
    let mut sources = Vec::new();
    for trigger in &job.triggers {
        sources.extend(trigger_sources(
            trigger,
            job,
            from_us,
            zone,
            &mut forecast.unknown,
        )?);
    }
    let mut windows = merge(&mut sources, from_us, until_us);
    if windows.len() > RUNS_MAX {
        let cut = windows[RUNS_MAX].0.earliest_us;
        windows.retain(|(window, _)| window.earliest_us < cut);
        forecast.truncated_at = Timestamp::from_microsecond(cut).ok();
    }
    narrow_to_known(&mut windows, &sources, job, from_us, until_us);
    forecast.runs = windows
        .into_iter()
        .filter_map(|(window, source)| {
            Some(Run {
                job: job.name.clone(),
                earliest: Timestamp::from_microsecond(window.earliest_us).ok()?,
                latest: Timestamp::from_microsecond(window.latest_us).ok()?,
                len_s: None,
                evidence: sources[source].evidence.clone(),
            })
        })
        .collect();
    Ok(forecast)
}

/// The typical distance between two runs of a trigger in seconds: the median over the next sixteen
/// distances after `near`; for anacron the period that is written.
///
/// `None` where there is none: `@reboot`, timers that fire once after boot, a schedule that ends or
/// that cannot be read.
pub fn period_s(trigger: &Trigger, near: Timestamp, zone: &TimeZone) -> Option<f64> {
    const DISTANCES: usize = 16;
    let near_us = near.as_microsecond();
    let starts: Vec<i64> = match trigger {
        Trigger::Anacron { period, .. } => return anacron::period_text_s(period),
        Trigger::Boot { .. } => return None,
        Trigger::Monotonic { base, span_s, .. } => {
            let repeats = is_repeating(base) && span_s.is_finite() && *span_s > 0.0;
            return repeats.then_some(*span_s);
        }
        Trigger::Cron {
            spec,
            time_zone,
            source,
        } => cron_windows(spec, time_zone.as_deref(), source, near_us, zone)
            .ok()?
            .map(|window| window.earliest_us)
            .take(DISTANCES + 1)
            .collect(),
        Trigger::Calendar(calendars) => {
            let mut sources = calendar_sources(calendars, near_us, 0, zone).ok()?;
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
    let mut distances_us: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
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
    zone: &TimeZone,
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
            Ok(vec![Source {
                windows: Box::new(cron_windows(
                    spec,
                    time_zone.as_deref(),
                    source,
                    from_us,
                    zone,
                )?),
                evidence: format!("{source}: {spec}{named}"),
                accuracy_us: None,
            }])
        }
        Trigger::Calendar(calendars) => {
            let late_us = span_us(
                calendars.randomized_delay_s.unwrap_or(0.0),
                &calendars.source,
            )? + accuracy_us(calendars)?;
            calendar_sources(calendars, from_us, late_us, zone)
        }
        Trigger::Anacron {
            period,
            delay_min,
            random_delay_min,
            start_hours,
            identifier,
            source,
        } => {
            let due = anacron::Line {
                period,
                delay_min: *delay_min,
                random_delay_min: random_delay_min.unwrap_or(0),
                start_hours: *start_hours,
                identifier,
                source,
            };
            match due.windows(job.last_run, from_us, zone)? {
                Ok(windows) => Ok(vec![Source {
                    windows: Box::new(windows),
                    evidence: due.evidence(),
                    accuracy_us: None,
                }]),
                Err(reason) => {
                    unknown.push(reason);
                    Ok(Vec::new())
                }
            }
        }
        Trigger::Monotonic {
            base,
            span_s,
            source,
        } => Ok(
            monotonic_source(base, *span_s, source, job, from_us, unknown)?
                .into_iter()
                .collect(),
        ),
        Trigger::Boot { source } => {
            unknown.push(format!("{source}: @reboot, when cron starts"));
            Ok(Vec::new())
        }
    }
}

fn cron_windows(
    spec: &str,
    time_zone: Option<&str>,
    source: &str,
    from_us: i64,
    zone: &TimeZone,
) -> Result<impl Iterator<Item = Window> + use<>, InputError> {
    let spec = CronSpec::parse(source, spec)?;
    let (mut clock, changes) = match time_zone {
        Some(name) => {
            let named = parse_zone(name).map_err(|error| InputError {
                source_name: source.to_owned(),
                ..error
            })?;
            let changes = if named == *zone {
                ClockChanges::MadeUpFor
            } else {
                ClockChanges::Followed
            };
            (Clock::new(named), changes)
        }
        None => (Clock::new(zone.clone()), ClockChanges::MadeUpFor),
    };
    // The last second before `from`.
    let mut second = (from_us - 1).div_euclid(SECOND_US);
    Ok(std::iter::from_fn(move || {
        second = spec.next_after_s(second, &mut clock, changes)?;
        let at_us = second.checked_mul(SECOND_US)?;
        Some(Window {
            earliest_us: at_us,
            latest_us: at_us,
        })
    }))
}

/// One source for each expression; runs that may be late by `late_us` are looked for from as much
/// earlier.
fn calendar_sources(
    calendars: &Calendars,
    from_us: i64,
    late_us: i64,
    zone: &TimeZone,
) -> Result<Vec<Source>, InputError> {
    let accuracy_us = accuracy_us(calendars)?;
    calendars
        .expressions
        .iter()
        .map(|text| {
            let calendar = Calendar::parse(&calendars.source, text)?;
            let mut clock = calendar.clock(zone);
            let mut at_us = from_us.saturating_sub(late_us).saturating_sub(1);
            let late = if late_us > 0 {
                format!(", up to {} later", span_text(late_us))
            } else {
                String::new()
            };
            Ok(Source {
                evidence: format!("{}: OnCalendar={text}{late}", calendars.source),
                accuracy_us: Some(accuracy_us),
                windows: Box::new(std::iter::from_fn(move || {
                    // Strictly ahead, so that whoever takes all of them comes to an end.
                    at_us = calendar
                        .next_after_us(at_us, &mut clock)
                        .filter(|&next| next > at_us)?;
                    Some(Window {
                        earliest_us: at_us,
                        latest_us: at_us.checked_add(late_us)?,
                    })
                })),
            })
        })
        .collect()
}

fn accuracy_us(calendars: &Calendars) -> Result<i64, InputError> {
    span_us(
        calendars.accuracy_s.unwrap_or(ACCURACY_DEFAULT_S),
        &calendars.source,
    )
}

/// A span of a unit file in microseconds; longer ones than ten years are cut to that.
fn span_us(span_s: f64, source: &str) -> Result<i64, InputError> {
    if span_s.is_nan() || span_s < 0.0 {
        return Err(InputError::new(
            source,
            "a span of 0 seconds or more",
            &span_s.to_string(),
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "cut to ten years, which fit; a fraction of a microsecond does not matter"
    )]
    let micros = (span_s.min(SPAN_MAX_S) * 1e6) as i64;
    Ok(micros)
}

/// `1h 40min`, `90s`.
fn span_text(span_us: i64) -> String {
    let (days, hours) = (
        span_us / SECOND_US / 86_400,
        span_us / SECOND_US / 3_600 % 24,
    );
    let (minutes, seconds) = (span_us / SECOND_US / 60 % 60, span_us / SECOND_US % 60);
    let parts: Vec<String> = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if parts.is_empty() {
        "under 1s".to_owned()
    } else {
        parts.join(" ")
    }
}

/// Whether a monotonic timer fires again and again, counted from the unit that it starts.
fn is_repeating(base: &str) -> bool {
    matches!(base, "OnUnitActiveSec" | "OnUnitInactiveSec")
}

/// What can be told of a timer that counts from an event: from the last run on, `OnUnitActiveSec=`
/// repeats, later each time by no more than the accuracy.
fn monotonic_source(
    base: &str,
    span_s: f64,
    source: &str,
    job: &Job,
    from_us: i64,
    unknown: &mut Vec<String>,
) -> Result<Option<Source>, InputError> {
    let base = base.trim_end_matches('=');
    let step_us = span_us(span_s, source)?;
    let calendars = job.triggers.iter().find_map(|trigger| match trigger {
        Trigger::Calendar(calendars) => Some(calendars),
        _ => None,
    });
    let accuracy_us = match calendars {
        Some(calendars) => accuracy_us(calendars)?,
        None => span_us(ACCURACY_DEFAULT_S, source)?,
    };
    let evidence = format!("{source}: {base}={}", span_text(step_us));
    // With a calendar in the same timer, the next run may be that one's.
    let next_us = job
        .next_run
        .filter(|_| calendars.is_none())
        .map(Timestamp::as_microsecond);
    let repeats = base == "OnUnitActiveSec" && step_us > 0;
    let first_us = match (next_us, job.last_run) {
        (Some(next_us), _) => next_us,
        (None, Some(last)) if repeats => last.as_microsecond().saturating_add(step_us),
        _ => {
            unknown.push(format!(
                "{evidence}, counted from an event whose time is not known"
            ));
            return Ok(None);
        }
    };
    if !repeats {
        if is_repeating(base) {
            unknown.push(format!(
                "{evidence} after the next run ends: how long that takes is not known"
            ));
        }
        let only = Window {
            earliest_us: first_us,
            latest_us: first_us.saturating_add(accuracy_us),
        };
        return Ok(Some(Source {
            windows: Box::new(std::iter::once(only)),
            evidence,
            accuracy_us: Some(accuracy_us),
        }));
    }
    // Each run may be late once more; when that adds up to the period, nothing is known any more.
    let count = step_us / accuracy_us.max(1);
    let end_us = first_us.saturating_add(step_us.saturating_mul(count));
    if count < i64::try_from(RUNS_MAX).unwrap_or(i64::MAX)
        && let Ok(end) = Timestamp::from_microsecond(end_us)
    {
        unknown.push(format!(
            "{evidence} after {end}: by then it may have drifted by a whole period"
        ));
    }
    // Runs that are over by `from_us` need not be gone through.
    let behind_us = from_us.saturating_sub(first_us).saturating_sub(accuracy_us);
    let start = behind_us.max(0) / step_us.saturating_add(accuracy_us);
    let windows = (start..count).map_while(move |index| {
        let earliest_us = first_us.checked_add(step_us.checked_mul(index)?)?;
        let latest_us = earliest_us.checked_add(accuracy_us.checked_mul(index + 1)?)?;
        Some(Window {
            earliest_us,
            latest_us,
        })
    });
    Ok(Some(Source {
        windows: Box::new(windows),
        evidence,
        accuracy_us: Some(accuracy_us),
    }))
}

/// Takes windows from several sources in the order of their earliest start.
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

/// The windows that touch the time from `from_us` until before `until_us`, each once, one more than
/// [`RUNS_MAX`] at most.
fn merge(sources: &mut [Source], from_us: i64, until_us: i64) -> Vec<(Window, usize)> {
    let mut merged = Merge::new(sources);
    let mut windows: Vec<(Window, usize)> = Vec::new();
    while windows.len() <= RUNS_MAX {
        let Some((window, index)) = merged.next(sources) else {
            break;
        };
        if window.earliest_us >= until_us {
            break;
        }
        let is_new = windows.last().is_none_or(|(last, _)| *last != window);
        if window.latest_us >= from_us && is_new {
            windows.push((window, index));
        }
    }
    windows
}

/// Takes in what systemd has told of a timer: when it ran last, and when it will run next.
fn narrow_to_known(
    windows: &mut Vec<(Window, usize)>,
    sources: &[Source],
    job: &Job,
    from_us: i64,
    until_us: i64,
) {
    let Some(timer) = sources
        .iter()
        .position(|source| source.accuracy_us.is_some())
    else {
        return;
    };
    let mut take_in = |at: Option<Timestamp>, late_us: i64| {
        let Some(at_us) = at.map(Timestamp::as_microsecond) else {
            return;
        };
        if at_us < from_us || at_us >= until_us {
            return;
        }
        let known = Window {
            earliest_us: at_us,
            latest_us: at_us.saturating_add(late_us),
        };
        // The latest one that it can belong to.
        let of_timer = windows.iter().rposition(|(window, source)| {
            sources[*source].accuracy_us.is_some()
                && window.earliest_us <= at_us
                && at_us <= window.latest_us
        });
        match of_timer {
            Some(index) => windows[index].0 = known,
            None => windows.push((known, timer)),
        }
    };
    take_in(job.last_run, 0);
    take_in(job.next_run, sources[timer].accuracy_us.unwrap_or(0));
    windows.sort_unstable();
}

#[cfg(test)]
#[path = "run_tests.rs"]
pub(crate) mod tests;
