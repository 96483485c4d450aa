//! How late timers run: spans of unit files, and delays after calendar events.

use crate::calendar::Calendar;
use crate::conditions::Conditions;
use crate::run::Delays;
use crate::window::SECOND_US;
use facts::InputError;
use facts::host::{Calendars, Job};
use jiff::Timestamp;

/// systemd's default for `AccuracySec=`.
const ACCURACY_DEFAULT_S: f64 = 60.0;

/// The longest time span accepted, in seconds: ten years.
const SPAN_MAX_S: f64 = 10.0 * 366.0 * 86_400.0;

/// How much later than its calendar event a timer runs, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delay {
    /// Bounds on the part that is the same for all runs: `RandomizedOffsetSec=`, and
    /// `RandomizedDelaySec=` with `FixedRandomDelay=`.
    pub shared_us: (i64, i64),
    /// The maximum of the part that is each run's own: `RandomizedDelaySec=` and `AccuracySec=`.
    pub own_us: i64,
    pub accuracy_us: i64,
    /// `RandomizedOffsetSec=`, which does not apply to runs that are caught up, and the maximum of
    /// the shared part that does.
    pub offset_us: i64,
    pub fixed_us: i64,
    /// Whether a run narrowed the shared part.
    pub is_known: bool,
}

impl Delay {
    /// Returns the delays that are possible by the settings alone.
    pub fn of(calendars: &Calendars) -> Result<Self, InputError> {
        let span = |span_s: Option<f64>| span_us(span_s.unwrap_or(0.0), &calendars.source);
        let accuracy_us = accuracy_us(calendars.accuracy_s, &calendars.source)?;
        let (delay_us, offset_us) = (
            span(calendars.randomized_delay_s)?,
            span(calendars.randomized_offset_s)?,
        );
        let (fixed_us, random_us) = if calendars.fixed_random_delay {
            (delay_us, 0)
        } else {
            (0, delay_us)
        };
        Ok(Self {
            shared_us: (0, offset_us + fixed_us),
            own_us: random_us + accuracy_us,
            accuracy_us,
            offset_us,
            fixed_us,
            is_known: false,
        })
    }

    pub fn earliest_us(&self) -> i64 {
        self.shared_us.0
    }

    pub fn latest_us(&self) -> i64 {
        self.shared_us.1 + self.own_us
    }

    /// Where in their windows runs lie.
    pub fn delays(&self) -> Delays {
        if self.shared_us.1 - self.shared_us.0 > self.own_us {
            Delays::Shared
        } else if self.own_us - self.accuracy_us > self.accuracy_us {
            Delays::Anew
        } else {
            Delays::Either
        }
    }

    /// Narrows the shared part to what fits a known run, unless none fits or it may be as long as the
    /// period.
    pub fn narrow(
        &mut self,
        calendars: &Calendars,
        job: &Job,
        conditions: &Conditions,
    ) -> Result<(), InputError> {
        if self.shared_us.1 == 0 {
            return Ok(());
        }
        // The next run that systemd reports does not include the accuracy delay yet; the last one
        // does.
        let known = [
            (job.next_run, self.own_us - self.accuracy_us),
            (job.last_run, self.own_us),
        ];
        for (at, own_us) in known {
            let Some(at_us) = at.map(Timestamp::as_microsecond) else {
                continue;
            };
            let mut fitting = Vec::new();
            for text in &calendars.expressions {
                let calendar = Calendar::parse(&calendars.source, text)?;
                let mut clock = calendar.clock(&conditions.zone);
                let mut moment_us = at_us.saturating_sub(self.shared_us.1 + own_us + 1);
                while fitting.len() < 2
                    && let Some(next_us) = calendar.next_after_us(moment_us, &mut clock)
                    && next_us > moment_us
                    && next_us <= at_us
                {
                    fitting.push(next_us);
                    moment_us = next_us;
                }
            }
            if let [moment_us] = fitting[..] {
                let longest_us = (at_us - moment_us).min(self.shared_us.1);
                let shortest_us = (at_us - moment_us - own_us).max(0).min(longest_us);
                self.shared_us = (shortest_us, longest_us);
                self.is_known = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// `, up to 1h 41min later`, for evidence.
    pub fn text(&self) -> String {
        let latest = span_text(self.latest_us());
        match self.latest_us() {
            0 => String::new(),
            _ if self.is_known && self.earliest_us() > 0 => format!(
                ", {} to {latest} later each time, as known from a run",
                span_text(self.earliest_us())
            ),
            _ if self.delays() == Delays::Shared => {
                format!(", up to {latest} later, the same each time")
            }
            _ => format!(", up to {latest} later"),
        }
    }
}

/// Returns `AccuracySec=`, or its default, in microseconds.
pub(crate) fn accuracy_us(accuracy_s: Option<f64>, source: &str) -> Result<i64, InputError> {
    span_us(accuracy_s.unwrap_or(ACCURACY_DEFAULT_S), source)
}

/// Converts a time span from a unit file to microseconds, capped at ten years.
pub(crate) fn span_us(span_s: f64, source: &str) -> Result<i64, InputError> {
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
pub(crate) fn span_text(span_us: i64) -> String {
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
