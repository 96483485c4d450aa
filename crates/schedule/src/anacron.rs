//! When anacron starts a job.
//!
//! anacron itself is started once an hour and looks at the date of each job's last run. What starts
//! it is known if the host's own timer or crontab line was read. Otherwise it follows from the
//! distribution, which also decides which settings are honored:
//!
//! - Debian: `anacron.timer` at half past every hour from 07:30, with up to 5 minutes of random
//!   delay (without systemd, `/etc/cron.d/anacron` at the same minutes), and at boot.
//! - cronie (Fedora, RHEL, SUSE): `/etc/cron.hourly/0anacron`, at one minute past every hour, and
//!   only within `START_HOURS_RANGE`.
//!
//! An anacrontab with `START_HOURS_RANGE` is treated as cronie's, one without as Debian's. Ubuntu's
//! timer is an hourly one, so that jobs become due right after midnight.

use crate::civil::{DAY_S, date_of_days, days_of_date, month_len};
use crate::conditions::{Conditions, Uptimes};
use crate::cron_times::cron_times;
use crate::delay::Delay;
use crate::timer;
use crate::window::{SECOND_US, STARTUP_US, Window};
use crate::zone::Clock;
use facts::InputError;
use facts::host::Trigger;
use jiff::Timestamp;

/// Minutes per day.
const DAY_MIN: i64 = 1_440;
/// Microseconds per minute.
const MINUTE_US: i64 = 60 * SECOND_US;

/// When Debian starts anacron.
const DEBIAN_STARTS: &str = "30 7-23 * * *";
/// Random delay and accuracy of Debian's anacron.timer.
const DEBIAN_LATE_US: i64 = (5 + 1) * MINUTE_US;
/// When cronie starts anacron.
const CRONIE_STARTS: &str = "1 * * * *";

/// A timer that starts anacron may be set to some days only. If it has not been started for this
/// many days, it never is.
const IDLE_DAYS_MAX: i64 = 40;

/// Maximum age in days of a last run that is used for a named period.
const STAMP_AGE_MAX_DAYS: i64 = 3_660;

/// A line of an anacrontab.
pub(crate) struct Line<'a> {
    pub period: &'a str,
    pub delay_min: u32,
    pub random_delay_min: u32,
    pub start_hours: Option<(u8, u8)>,
    /// What starts anacron on this host; empty if that is not known.
    pub started_by: &'a [Trigger],
    pub identifier: &'a str,
    pub source: &'a str,
}

/// How often a job is due.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Period {
    Days(i64),
    Month,
    Year,
}

impl Period {
    fn parse(text: &str) -> Option<Self> {
        // anacron compares only the first letters: `@monthly.` is accepted.
        let named = |name: &str| text.starts_with(name);
        if named("@monthly") {
            Some(Self::Month)
        } else if ["@yearly", "@annually", "@annualy"].into_iter().any(named) {
            Some(Self::Year)
        } else if named("@daily") {
            Some(Self::Days(1))
        } else if named("@weekly") {
            Some(Self::Days(7))
        } else {
            let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let days = text.parse::<i32>().ok().filter(|_| is_number)?;
            Some(Self::Days(i64::from(days)))
        }
    }
}

/// Returns the period of an anacrontab line in seconds, with months and years at their mean length;
/// `None` if it is invalid or 0.
pub(crate) fn period_text_s(text: &str) -> Option<f64> {
    const YEAR_DAYS: f64 = 365.2425;
    let days = match Period::parse(text)? {
        Period::Days(0) => return None,
        Period::Days(days) => f64::from(i32::try_from(days).ok()?),
        Period::Month => YEAR_DAYS / 12.0,
        Period::Year => YEAR_DAYS,
    };
    Some(days * 86_400.0)
}

impl Line<'_> {
    /// Describes where the line is written and what is assumed.
    pub fn evidence(&self) -> String {
        let started = match (self.started_by.first(), self.start_hours) {
            (Some(Trigger::Calendar(by)), _) => format!(
                "anacron started by {} (OnCalendar={})",
                by.source,
                by.expressions.join(", ")
            ),
            (Some(Trigger::Cron { spec, source, .. }), hours) => {
                let hours =
                    hours.map_or(String::new(), |(from, to)| format!(", hours {from}-{to}"));
                format!("anacron started by {source} ({spec}){hours}")
            }
            (_, Some((from, to))) => format!("anacron started hourly by cronie, hours {from}-{to}"),
            (_, None) => "anacron started at 07:30 as on Debian".to_owned(),
        };
        format!(
            "{}: {} every {}, delay {} min; {started}; later if a job before it takes long",
            self.source, self.identifier, self.period, self.delay_min
        )
    }

    /// Returns the runs from `from_us` on, or why they cannot be computed.
    ///
    /// # Errors
    /// If the period, or the schedule of what starts anacron, cannot be parsed.
    pub fn windows(
        &self,
        last_run: Option<Timestamp>,
        from_us: i64,
        conditions: &Conditions,
    ) -> Result<Result<impl Iterator<Item = Window> + use<>, String>, InputError> {
        let period = Period::parse(self.period).ok_or_else(|| {
            InputError::new(
                self.source,
                "a period in days, or @daily, @weekly, @monthly or @yearly",
                self.period,
            )
        })?;
        let unknown = |reason: &str| {
            Ok(Err(format!(
                "{}: {} every {}: {reason}",
                self.source, self.identifier, self.period
            )))
        };
        if period == Period::Days(0) {
            return unknown("a period of 0 runs it whenever anacron is started");
        }
        let (zone, uptimes) = (&conditions.zone, &conditions.uptimes);
        let mut clock = Clock::new(zone.clone());
        let last_day = last_run.map(|at| day_of(&mut clock, at.as_microsecond()));
        // A job delayed past midnight belongs to the previous day, and a missed job to the day on
        // which the host went down.
        let first_us = if uptimes.is_known() {
            uptimes.down_since(from_us)
        } else {
            from_us
        };
        let from_day = day_of(&mut clock, first_us) - 2;
        let mut days = DueDays {
            period,
            delay_us: i64::from(self.delay_min) * MINUTE_US,
            delay_max_us: (i64::from(self.delay_min) + i64::from(self.random_delay_min))
                * MINUTE_US,
            start_hours: self.start_hours,
            starter: self.starter(conditions)?,
            day: from_day,
            clock,
            uptimes: uptimes.clone(),
        };
        // anacron attributes a longer delay to a changed clock.
        if days.delay_max_us > DAY_MIN * MINUTE_US || days.first_window(from_day).is_none() {
            return unknown("its delay and the hours allowed leave no time on any day");
        }
        days.day = match (period, last_day) {
            (Period::Days(1), _) => from_day,
            (_, None) => return unknown("its last run is not known"),
            (Period::Days(days), Some(last)) => {
                last + (from_day - last + days - 1).div_euclid(days) * days
            }
            (_, Some(last)) if (from_day - last).abs() > STAMP_AGE_MAX_DAYS => {
                return unknown("its last run lies too far away");
            }
            (Period::Month | Period::Year, Some(last)) => {
                let mut day = last;
                while day < from_day {
                    day = next_due_day(period, day);
                }
                day
            }
        };
        Ok(Ok(std::iter::from_fn(move || days.next_window())))
    }

    fn starter(&self, conditions: &Conditions) -> Result<Starter, InputError> {
        let assumed = |spec: &str, late_us| Starting {
            trigger: Trigger::Cron {
                spec: spec.to_owned(),
                time_zone: None,
                source: self.source.to_owned(),
            },
            late_us,
        };
        let each = if self.started_by.is_empty() {
            vec![match self.start_hours {
                Some(_) => assumed(CRONIE_STARTS, 0),
                None => assumed(DEBIAN_STARTS, DEBIAN_LATE_US),
            }]
        } else {
            (self.started_by.iter())
                .map(|trigger| {
                    let late_us = match trigger {
                        Trigger::Calendar(calendars) => Delay::of(calendars)?.latest_us(),
                        _ => 0,
                    };
                    let trigger = trigger.clone();
                    Ok(Starting { trigger, late_us })
                })
                .collect::<Result<_, InputError>>()?
        };
        let mut starter = Starter {
            each,
            conditions: Conditions::in_zone(&conditions.zone),
        };
        starter.conditions.cron = conditions.cron;
        // Its schedules can be parsed from here on.
        starter.next_after(0)?;
        Ok(starter)
    }
}

/// What starts anacron.
struct Starter {
    each: Vec<Starting>,
    conditions: Conditions,
}

struct Starting {
    trigger: Trigger,
    /// How long after its time it may be.
    late_us: i64,
}

impl Starter {
    /// Returns the first start after an instant.
    fn next_after(&self, after_us: i64) -> Result<Option<Window>, InputError> {
        let mut first: Option<Window> = None;
        for Starting { trigger, late_us } in &self.each {
            let at_us = match trigger {
                Trigger::Cron {
                    spec,
                    time_zone,
                    source,
                } => cron_times(
                    spec,
                    time_zone.as_deref(),
                    source,
                    after_us,
                    &self.conditions,
                )?
                .next(),
                Trigger::Calendar(calendars) => {
                    timer::next_event_us(calendars, after_us, &self.conditions.zone)?
                }
                _ => None,
            };
            let window = at_us.map(|at_us| Window::late(at_us, *late_us));
            first = match (first, window) {
                (Some(known), Some(other)) => Some(known.min(other)),
                (known, other) => known.or(other),
            };
        }
        Ok(first)
    }
}

/// Returns the local day of an instant.
fn day_of(clock: &mut Clock, at_us: i64) -> i64 {
    let second = at_us.div_euclid(SECOND_US);
    (second + clock.offset_at(second)).div_euclid(DAY_S)
}

/// Iterates over the days on which a job is due.
struct DueDays {
    period: Period,
    delay_us: i64,
    delay_max_us: i64,
    start_hours: Option<(u8, u8)>,
    starter: Starter,
    /// The next day on which it is due.
    day: i64,
    clock: Clock,
    uptimes: Uptimes,
}

impl DueDays {
    fn next_window(&mut self) -> Option<Window> {
        let due = self.day;
        let mut window = self.first_window(due)?;
        if self.uptimes.is_known() {
            window = self.while_up(due, window)?;
        }
        let ran = day_of(&mut self.clock, window.earliest_us).max(due);
        self.day = next_due_day(self.period, ran);
        Some(window)
    }

    /// Returns when a job that is due from a day on starts on a host that is up and has no other job
    /// to wait for; `None` if it never does.
    fn first_window(&mut self, due: i64) -> Option<Window> {
        let mut after_us = self.instant_us(due, 0)? - 1;
        let mut day = due;
        while day <= due + IDLE_DAYS_MAX {
            if let Some(window) = self.window_of_day(day, after_us) {
                return Some(window);
            }
            // The hours allowed end before anacron is started, or it is started on another day.
            after_us = self.instant_us(day + 1, 0)? - 1;
            let next = self.starter.next_after(after_us).ok()??;
            day = day_of(&mut self.clock, next.earliest_us).max(day + 1);
            after_us = self.instant_us(day, 0)? - 1;
        }
        None
    }

    /// Returns when a due job starts on a day, the first time that anacron is started after an
    /// instant. anacron checks the hour in which the job would start after its delay, and draws the
    /// random part anew each time.
    fn window_of_day(&mut self, day: i64, after_us: i64) -> Option<Window> {
        let until_us = self.instant_us(day + 1, 0)?;
        let (open_us, close_us) = match self.start_hours {
            Some((from, to)) => (
                self.instant_us(day, i64::from(from) * 60)?,
                self.instant_us(day, i64::from(to) * 60)?,
            ),
            None => (i64::MIN, i64::MAX),
        };
        let (mut first_us, mut at_us) = (None, after_us);
        loop {
            let start = self.starter.next_after(at_us).ok()??;
            if start.earliest_us >= until_us {
                return None;
            }
            at_us = start.earliest_us;
            let delayed_us = start.earliest_us.checked_add(self.delay_us)?;
            if start.earliest_us.checked_add(self.delay_max_us)? >= open_us && delayed_us < close_us
            {
                first_us.get_or_insert(delayed_us.max(open_us));
            }
            if let Some(earliest_us) = first_us
                && delayed_us >= open_us
            {
                let latest_us = start.latest_us.checked_add(self.delay_max_us)?;
                let latest_us = latest_us.min(close_us.saturating_sub(MINUTE_US));
                return (earliest_us <= latest_us).then_some(Window {
                    earliest_us,
                    latest_us,
                });
            }
        }
    }

    fn instant_us(&mut self, day: i64, minute: i64) -> Option<i64> {
        let wall_s = day.checked_mul(DAY_S)?.checked_add(minute * 60)?;
        self.clock.instant_of(wall_s).checked_mul(SECOND_US)
    }

    /// Returns the window of a due day or, if the host is down then, the one after its next boot.
    /// On Debian, a boot on the due day before anacron's first hour counts as well.
    fn while_up(&mut self, due: i64, window: Window) -> Option<Window> {
        let midnight_us = self.instant_us(due, 0)?;
        let mut start = match self.uptimes.start_after(midnight_us.saturating_sub(1)) {
            Some(up) if self.start_hours.is_none() && up.from_us < window.earliest_us => up,
            _ => match self.uptimes.at(window.earliest_us) {
                Some(up) if window.latest_us < up.until_us => return Some(window),
                Some(up) => self.uptimes.start_after(up.until_us - 1)?,
                None => self.uptimes.start_after(window.earliest_us)?,
            },
        };
        loop {
            let window = self.after_start(start.from_us)?;
            if window.earliest_us < start.until_us {
                return Some(window);
            }
            // The host went down again before that.
            start = self.uptimes.start_after(start.from_us)?;
        }
    }

    /// Returns when an overdue job runs after a boot of the host.
    fn after_start(&mut self, start_us: i64) -> Option<Window> {
        if self.start_hours.is_none() {
            // anacron is started at boot.
            return Some(Window {
                earliest_us: start_us.checked_add(self.delay_us)?,
                latest_us: start_us
                    .checked_add(STARTUP_US)?
                    .checked_add(self.delay_max_us + DEBIAN_LATE_US)?,
            });
        }
        // Both that start of anacron and the random delay may miss the first hour.
        let today = day_of(&mut self.clock, start_us);
        for day in today..=today + 2 {
            let after_us = start_us.max(self.instant_us(day, 0)?) - 1;
            let Some(window) = self.window_of_day(day, after_us) else {
                continue;
            };
            let (_, to) = self.start_hours?;
            let close_us = self.instant_us(day, i64::from(to) * 60)?;
            let latest_us = window.latest_us.checked_add(60 * MINUTE_US)?;
            return Some(Window {
                latest_us: (latest_us.min(close_us - MINUTE_US)).max(window.earliest_us),
                ..window
            });
        }
        None
    }
}

/// Returns the day on which a job is due again after a run, on a host that is always up.
///
/// Months and years follow `consider_job` in anacron's lock.c: a job is due once as many days have
/// passed as the previous month (year) had, or exactly as many as the current one has.
fn next_due_day(period: Period, last: i64) -> i64 {
    let due = |len_of: fn(i64, i64) -> (i64, i64)| {
        // No month has more than 31 days and no year more than 366.
        (last + 1..=last + 366)
            .find(|&day| {
                let (year, month, _) = date_of_days(day);
                let (last_len, this_len) = len_of(year, month);
                day - last >= last_len || day - last == this_len
            })
            .unwrap_or(last + 366)
    };
    match period {
        Period::Days(days) => last.saturating_add(days),
        Period::Month => due(|year, month| {
            let (last_year, last_month, _) = date_of_days(days_of_date(year, month, 1) - 1);
            (month_len(last_year, last_month), month_len(year, month))
        }),
        Period::Year => due(|year, _| {
            let year_len = |year| days_of_date(year + 1, 1, 1) - days_of_date(year, 1, 1);
            (year_len(year - 1), year_len(year))
        }),
    }
}

#[cfg(test)]
#[path = "anacron_tests.rs"]
mod tests;
