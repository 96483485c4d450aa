//! systemd timers: calendar events, and time spans relative to an event.
//!
//! Behavior at boot, for missed runs and for delays follows systemd 252 (`timer.c`,
//! `timer_enter_waiting`; systemd.timer(5)).

use crate::calendar::Calendar;
use crate::conditions::{Conditions, Uptimes};
use crate::delay::{Delay, accuracy_us, span_text, span_us};
use crate::window::{STARTUP_US, Source, Window};
use crate::zone::Clock;
use facts::InputError;
use facts::host::{Calendars, Job, Trigger};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Maximum number of calendar events of one timer: four an hour for a day, one line each.
const EXPRESSIONS_MAX: usize = 96;

/// Returns the times of each expression from `from_us` on, without random delay and accuracy.
pub(crate) fn calendar_times(
    calendars: &Calendars,
    from_us: i64,
    zone: &TimeZone,
) -> Result<Vec<Source>, InputError> {
    let on_time = Calendars {
        accuracy_s: Some(0.0),
        expressions: calendars.expressions.clone(),
        source: calendars.source.clone(),
        ..Calendars::default()
    };
    let conditions = Conditions::in_zone(zone);
    expression_sources(&on_time, Delay::of(&on_time)?, from_us, &conditions)
}

/// Returns the first event after an instant, without random delay and accuracy.
pub(crate) fn next_event_us(
    calendars: &Calendars,
    after_us: i64,
    zone: &TimeZone,
) -> Result<Option<i64>, InputError> {
    let mut first: Option<i64> = None;
    for text in &calendars.expressions {
        let calendar = Calendar::parse(&calendars.source, text)?;
        let mut clock = calendar.clock(zone);
        if let Some(at_us) = calendar.next_after_us(after_us, &mut clock) {
            first = Some(first.map_or(at_us, |known| known.min(at_us)));
        }
    }
    Ok(first)
}

/// Returns one source per expression. The search starts earlier than `from_us` by the longest
/// possible delay.
pub(crate) fn calendar_sources(
    calendars: &Calendars,
    job: &Job,
    from_us: i64,
    conditions: &Conditions,
) -> Result<Vec<Source>, InputError> {
    let mut delay = Delay::of(calendars)?;
    delay.narrow(calendars, job, conditions)?;
    expression_sources(calendars, delay, from_us, conditions)
}

fn expression_sources(
    calendars: &Calendars,
    delay: Delay,
    from_us: i64,
    conditions: &Conditions,
) -> Result<Vec<Source>, InputError> {
    if calendars.expressions.len() > EXPRESSIONS_MAX {
        let found = calendars.expressions.len().to_string();
        let expected = format!("at most {EXPRESSIONS_MAX} calendar events");
        return Err(InputError::new(&calendars.source, expected, &found));
    }
    let late_us = delay.latest_us();
    calendars
        .expressions
        .iter()
        .map(|text| {
            let calendar = Calendar::parse(&calendars.source, text)?;
            let uptimes = conditions.uptimes.clone();
            let earlier_us = from_us.saturating_sub(late_us).saturating_sub(STARTUP_US);
            let start_us = if uptimes.is_known() {
                uptimes.down_since(earlier_us)
            } else {
                from_us.saturating_sub(late_us)
            };
            let events = Events {
                clock: calendar.clock(&conditions.zone),
                calendar,
                at_us: start_us.saturating_sub(1),
                delay,
                is_persistent: calendars.persistent,
                uptimes,
            };
            Ok(Source {
                accuracy_us: Some(delay.accuracy_us),
                delays: delay.delays(),
                ..Source::new(
                    events,
                    format!("{}: OnCalendar={text}{}", calendars.source, delay.text()),
                )
            })
        })
        .collect()
}

/// The events of one expression on a host that may be down at times.
struct Events {
    calendar: Calendar,
    clock: Clock,
    /// The previous event.
    at_us: i64,
    delay: Delay,
    /// `Persistent=`: a missed run happens at the next boot, after the random delay.
    is_persistent: bool,
    uptimes: Uptimes,
}

impl Events {
    /// Returns the window of a missed run after a boot.
    fn caught_up(&self, start_us: i64) -> Option<Window> {
        let earliest_us = match self.delay.offset_us {
            0 => self.delay.earliest_us(),
            _ => 0,
        };
        Some(Window {
            earliest_us: start_us.checked_add(earliest_us)?,
            latest_us: start_us.checked_add(
                STARTUP_US + self.delay.fixed_us.min(self.delay.shared_us.1) + self.delay.own_us,
            )?,
        })
    }
}

impl Iterator for Events {
    type Item = Window;

    fn next(&mut self) -> Option<Window> {
        loop {
            // Strictly increasing, so that collecting all events terminates.
            let at_us = self
                .calendar
                .next_after_us(self.at_us, &mut self.clock)
                .filter(|&next| next > self.at_us)?;
            let window = Window {
                earliest_us: at_us.checked_add(self.delay.earliest_us())?,
                latest_us: at_us.checked_add(self.delay.latest_us())?,
            };
            let Some(up) = self.uptimes.at(at_us) else {
                let start_us = self.uptimes.start_after(at_us)?.from_us;
                if start_us <= at_us.saturating_add(self.delay.offset_us) {
                    // The event counts with its offset, which may be after the boot.
                    self.at_us = at_us;
                    let earliest_us = window.earliest_us.max(start_us);
                    let mut latest_us = window.latest_us.max(earliest_us);
                    if self.is_persistent {
                        latest_us = latest_us.max(self.caught_up(start_us)?.latest_us);
                    }
                    return Some(Window {
                        earliest_us,
                        latest_us,
                    });
                }
                // Nothing else happens before the next boot.
                self.at_us = start_us - 1;
                if self.is_persistent {
                    return self.caught_up(start_us);
                }
                continue;
            };
            self.at_us = at_us;
            if window.latest_us < up.until_us {
                return Some(window);
            }
            // The host may go down before the delay has elapsed.
            let start_us = self
                .uptimes
                .start_after(up.until_us - 1)
                .map(|up| up.from_us);
            let latest_us = match start_us {
                Some(start_us) if self.is_persistent => self.caught_up(start_us)?.latest_us,
                _ => up.until_us - 1,
            };
            if window.earliest_us <= latest_us {
                return Some(Window {
                    latest_us,
                    ..window
                });
            }
        }
    }
}

/// Whether a timer fires repeatedly, relative to the unit it starts.
pub(crate) fn is_repeating(base: &str) -> bool {
    matches!(
        base.trim_end_matches('='),
        "OnUnitActiveSec" | "OnUnitInactiveSec"
    )
}

/// Returns the next run that systemd reports, unless the timer also has a calendar event, which it may belong to.
fn next_run(job: &Job) -> Option<Timestamp> {
    let is_calendar = |trigger: &Trigger| matches!(trigger, Trigger::Calendar(_));
    job.next_run
        .filter(|_| !job.triggers.iter().any(is_calendar))
}

/// A timer that counts from an event.
struct Relative<'a> {
    base: &'a str,
    step_us: i64,
    /// Maximum lateness of each run: random delay plus accuracy.
    late_us: i64,
    accuracy_us: i64,
    /// What a repetition adds to the step, minimum and maximum: the duration of a run.
    len_us: (i64, i64),
    evidence: Arc<str>,
}

/// Returns the sources of timers that count from an event. If the host's uptimes are known,
/// `OnBootSec=`, `OnStartupSec=` and `OnActiveSec=` count from its boots. `OnUnitActiveSec=` and
/// `OnUnitInactiveSec=` count from the previous run, so they need a known run or a first run
/// triggered by one of the other three.
pub(crate) fn monotonic_sources(
    trigger: &Trigger,
    job: &Job,
    from_us: i64,
    conditions: &Conditions,
    unknown: &mut Vec<String>,
) -> Result<Vec<Source>, InputError> {
    let Some(relative) = Relative::of(trigger, job, conditions)? else {
        return Ok(Vec::new());
    };
    let repeats = is_repeating(relative.base);
    if repeats && relative.base == "OnUnitInactiveSec" && conditions.run_len_s.is_none() {
        return Ok(relative.next_only(job, unknown).into_iter().collect());
    }
    if !repeats {
        if !conditions.uptimes.is_known() {
            return Ok(relative.next_only(job, unknown).into_iter().collect());
        }
        let windows: Vec<Window> = conditions
            .uptimes
            .starts()
            .filter_map(|up| relative.after_start(up.from_us, up.until_us))
            .collect();
        return Ok(vec![relative.source(windows.into_iter())]);
    }
    if relative.step_us == 0 {
        unknown.push(format!("{}: it repeats without a pause", relative.evidence));
        return Ok(Vec::new());
    }
    let chains = relative.chains(job, conditions, unknown)?;
    if chains.is_empty() {
        unknown.push(format!(
            "{}, counted from an event whose time is not known",
            relative.evidence
        ));
        return Ok(Vec::new());
    }
    let mut sources = Vec::new();
    for chain in chains {
        if let Some(end) = chain.drifts_at_us(&relative)
            && end < chain.until_us
            && let Ok(end) = Timestamp::from_microsecond(end)
            && unknown.len() < UNKNOWN_MAX
        {
            unknown.push(format!(
                "{} after {end}: by then it may have drifted by a whole period",
                relative.evidence
            ));
        }
        sources.push(relative.source(chain.windows(&relative, from_us)));
    }
    Ok(sources)
}

/// Maximum number of reasons per job; nobody reads more.
const UNKNOWN_MAX: usize = 20;

/// Runs that follow from one another.
#[derive(Debug, Clone, Copy)]
struct Chain {
    /// The first run produced by the repetition.
    first: Window,
    /// When the host goes down.
    until_us: i64,
}

impl Chain {
    /// Returns the number of repetitions until the windows have grown to a whole period.
    fn count(&self, relative: &Relative<'_>) -> i64 {
        let wide_us = self.first.latest_us - self.first.earliest_us;
        let grows_us = relative.late_us + relative.len_us.1 - relative.len_us.0;
        (relative.step_us - wide_us).max(0) / grows_us.max(1) + 1
    }

    /// Returns the time at which the windows have grown to a whole period.
    fn drifts_at_us(&self, relative: &Relative<'_>) -> Option<i64> {
        let step_us = relative.step_us.checked_add(relative.len_us.0)?;
        let span_us = step_us.checked_mul(self.count(relative))?;
        self.first.earliest_us.checked_add(span_us)
    }

    fn windows(
        self,
        relative: &Relative<'_>,
        from_us: i64,
    ) -> impl Iterator<Item = Window> + use<> {
        let (shortest_us, longest_us) = (
            relative.step_us.saturating_add(relative.len_us.0),
            relative
                .step_us
                .saturating_add(relative.len_us.1)
                .saturating_add(relative.late_us),
        );
        // Skip the runs that are over by `from_us`.
        let behind_us = from_us.saturating_sub(self.first.latest_us);
        let start = behind_us.max(0) / longest_us.max(1);
        (start..self.count(relative)).map_while(move |index| {
            let earliest_us = self
                .first
                .earliest_us
                .checked_add(shortest_us.checked_mul(index)?)?;
            let latest_us = self
                .first
                .latest_us
                .checked_add(longest_us.checked_mul(index)?)?;
            (earliest_us < self.until_us).then_some(Window {
                earliest_us,
                latest_us: latest_us.min(self.until_us - 1),
            })
        })
    }
}

impl<'a> Relative<'a> {
    fn of(
        trigger: &'a Trigger,
        job: &Job,
        conditions: &Conditions,
    ) -> Result<Option<Self>, InputError> {
        let Trigger::Monotonic {
            base,
            span_s,
            accuracy_s,
            randomized_delay_s,
            source,
        } = trigger
        else {
            return Ok(None);
        };
        let of_calendar = job.triggers.iter().find_map(|trigger| match trigger {
            Trigger::Calendar(calendars) => calendars.accuracy_s,
            _ => None,
        });
        let base = base.trim_end_matches('=');
        let step_us = span_us(*span_s, source)?;
        let accuracy_us = accuracy_us(accuracy_s.or(of_calendar), source)?;
        let delay_us = span_us(randomized_delay_s.unwrap_or(0.0), source)?;
        let len_us = match conditions.run_len_s {
            Some((shortest_s, longest_s)) if base == "OnUnitInactiveSec" => {
                let least_us = span_us(shortest_s, source)?;
                (least_us, span_us(longest_s, source)?.max(least_us))
            }
            _ => (0, 0),
        };
        Ok(Some(Self {
            base,
            step_us,
            late_us: delay_us + accuracy_us,
            accuracy_us,
            len_us,
            evidence: format!("{source}: {base}={}", span_text(step_us)).into(),
        }))
    }

    fn source(&self, windows: impl Iterator<Item = Window> + 'static) -> Source {
        Source {
            accuracy_us: Some(self.accuracy_us),
            ..Source::new(windows, self.evidence.clone())
        }
    }

    /// Returns only the next run that systemd reports.
    fn next_only(&self, job: &Job, unknown: &mut Vec<String>) -> Option<Source> {
        let Some(next) = next_run(job) else {
            unknown.push(format!(
                "{}, counted from an event whose time is not known",
                self.evidence
            ));
            return None;
        };
        if is_repeating(self.base) {
            unknown.push(format!(
                "{} after the next run ends: how long that takes is not known",
                self.evidence
            ));
        }
        let only = Window::late(next.as_microsecond(), self.accuracy_us);
        Some(self.source(std::iter::once(only)))
    }

    /// Returns the run triggered by a boot of the host, unless it goes down first.
    fn after_start(&self, start_us: i64, until_us: i64) -> Option<Window> {
        let earliest_us = start_us.checked_add(self.step_us)?;
        // OnBootSec= counts from the kernel start and elapses at once if that time has already
        // passed; the others count from shortly after it.
        let latest_us = match self.base {
            "OnBootSec" => earliest_us.max(start_us.checked_add(STARTUP_US)?),
            _ => earliest_us.checked_add(STARTUP_US)?,
        };
        (earliest_us < until_us).then_some(Window {
            earliest_us,
            latest_us: latest_us.checked_add(self.late_us)?.min(until_us - 1),
        })
    }

    /// Returns the chains that repeat from a known run or from the host's boots.
    fn chains(
        &self,
        job: &Job,
        conditions: &Conditions,
        unknown: &mut Vec<String>,
    ) -> Result<Vec<Chain>, InputError> {
        let next = |run: Window, until_us: i64| {
            let earliest_us = run
                .earliest_us
                .checked_add(self.step_us)?
                .checked_add(self.len_us.0)?;
            let latest_us = run
                .latest_us
                .checked_add(self.step_us)?
                .checked_add(self.len_us.1)?
                .checked_add(self.late_us)?;
            let first = Window {
                earliest_us,
                latest_us: latest_us.max(earliest_us),
            };
            Some(Chain { first, until_us })
        };
        let mut chains = Vec::new();
        // Prefer the next run that systemd reports, otherwise the one after the last run.
        let reported = next_run(job);
        let known = reported.or(job.last_run).map(Timestamp::as_microsecond);
        let known_chain = known.and_then(|at_us| {
            let up = conditions.uptimes.at(at_us)?;
            let chain = match reported {
                Some(_) => Chain {
                    first: Window::late(at_us, self.accuracy_us),
                    until_us: up.until_us,
                },
                None => next(Window::exact(at_us), up.until_us)?,
            };
            Some((up, chain))
        });
        if conditions.uptimes.is_known() {
            let mut begin: Option<Relative<'_>> = None;
            for trigger in &job.triggers {
                if let Some(other) = Relative::of(trigger, job, conditions)?
                    && !is_repeating(other.base)
                    && begin
                        .as_ref()
                        .is_none_or(|known| other.step_us < known.step_us)
                {
                    begin = Some(other);
                }
            }
            if let Some(begin) = begin {
                for up in conditions.uptimes.starts() {
                    let Some(run) = begin.after_start(up.from_us, up.until_us) else {
                        continue;
                    };
                    let Some(mut chain) = next(run, up.until_us) else {
                        continue;
                    };
                    // From here on, the known run takes over.
                    if let Some((known_up, known)) = &known_chain
                        && *known_up == up
                    {
                        let back_us = self.step_us / 2;
                        chain.until_us = known.first.earliest_us.saturating_sub(back_us);
                    }
                    chains.push(chain);
                }
            } else if known_chain.is_none() {
                unknown.push(format!(
                    "{}: nothing that runs it for the first time after a start is known",
                    self.evidence
                ));
            }
        }
        chains.extend(known_chain.map(|(_, chain)| chain));
        chains.retain(|chain| chain.until_us > chain.first.earliest_us);
        Ok(chains)
    }
}
