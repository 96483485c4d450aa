//! When anacron starts a job.
//!
//! anacron itself is started once an hour and looks at the date of each job's last run.
//! Distributions differ in what starts it and in which settings it honors:
//!
//! - Debian: `anacron.timer` at half past every hour from 07:30, with up to 5 minutes of random
//!   delay (without systemd, `/etc/cron.d/anacron` at the same minutes), and at boot.
//! - cronie (Fedora, RHEL, SUSE): `/etc/cron.hourly/0anacron`, at one minute past every hour, and
//!   only within `START_HOURS_RANGE`.
//!
//! An anacrontab with `START_HOURS_RANGE` is treated as cronie's, one without as Debian's.

use crate::civil::{DAY_S, date_of_days, days_of_date, month_len};
use crate::conditions::Uptimes;
use crate::window::{STARTUP_US, Window};
use crate::zone::Clock;
use facts::InputError;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Minutes per day.
const DAY_MIN: i64 = 1_440;

/// Debian first starts anacron at 07:30.
const DEBIAN_START_MIN: i64 = 7 * 60 + 30;
/// Random delay and accuracy of Debian's anacron.timer, in minutes.
const DEBIAN_LATE_MIN: i64 = 5 + 1;
/// Minute of every hour at which cronie starts anacron.
const CRONIE_MINUTE: i64 = 1;

/// Maximum age in days of a last run that is used for a named period.
const STAMP_AGE_MAX_DAYS: i64 = 3_660;

/// Microseconds per second.
const SECOND_US: i64 = 1_000_000;

/// A line of an anacrontab.
pub(crate) struct Line<'a> {
    pub period: &'a str,
    pub delay_min: u32,
    pub random_delay_min: u32,
    pub start_hours: Option<(u8, u8)>,
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
        let started = match self.start_hours {
            Some((from, to)) => format!("anacron started hourly by cronie, hours {from}-{to}"),
            None => "anacron started at 07:30 as on Debian".to_owned(),
        };
        format!(
            "{}: {} every {}, delay {} min; {started}; later if a job before it takes long",
            self.source, self.identifier, self.period, self.delay_min
        )
    }

    /// Returns the runs from `from_us` on, or why they cannot be computed.
    ///
    /// # Errors
    /// If the period cannot be parsed.
    pub fn windows(
        &self,
        last_run: Option<Timestamp>,
        from_us: i64,
        zone: &TimeZone,
        uptimes: &Uptimes,
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
        let Some((first_min, last_min)) = self.start_minutes() else {
            return unknown("its delay and the hours allowed leave no time on any day");
        };
        let mut clock = Clock::new(zone.clone());
        let last_day = last_run.map(|at| day_of(&mut clock, at.as_microsecond()));
        // A job delayed past midnight belongs to the previous day, and a missed job to the day on
        // which the host went down.
        let first_us = if uptimes.is_known() {
            uptimes.down_since(from_us)
        } else {
            from_us
        };
        let from_day = day_of(&mut clock, first_us) - 1 - last_min / DAY_MIN;
        let day = match (period, last_day) {
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
        let mut days = DueDays {
            period,
            delay_min: i64::from(self.delay_min),
            delay_max_min: i64::from(self.delay_min) + i64::from(self.random_delay_min),
            start_hours: self.start_hours,
            minutes: (first_min, last_min),
            day,
            clock,
            uptimes: uptimes.clone(),
        };
        Ok(Ok(std::iter::from_fn(move || days.next_window())))
    }

    /// Returns the first and last minute of the due day at which the job starts on a host that is
    /// up and has no other job to wait for; `None` if it never starts.
    fn start_minutes(&self) -> Option<(i64, i64)> {
        let delay = i64::from(self.delay_min);
        let delay_max = delay + i64::from(self.random_delay_min);
        // anacron attributes a longer delay to a changed clock.
        if delay_max > DAY_MIN {
            return None;
        }
        let Some((from, to)) = self.start_hours else {
            return Some((
                DEBIAN_START_MIN + delay,
                DEBIAN_START_MIN + DEBIAN_LATE_MIN + delay_max,
            ));
        };
        let (open, close) = (i64::from(from) * 60, i64::from(to) * 60);
        let starts = || (0..24).map(|hour| hour * 60 + CRONIE_MINUTE);
        // anacron checks the hour in which the job would start after its delay, and draws the
        // random part anew each time.
        let may = starts().find(|start| start + delay_max >= open)?;
        let must = starts().find(|start| start + delay >= open)?;
        let first = (may + delay).max(open);
        let last = (must + delay_max).min(close - 1);
        (first <= last).then_some((first, last))
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
    delay_min: i64,
    delay_max_min: i64,
    start_hours: Option<(u8, u8)>,
    /// First and last minute of a due day at which the job starts on a host that is up.
    minutes: (i64, i64),
    /// The next day on which it is due.
    day: i64,
    clock: Clock,
    uptimes: Uptimes,
}

impl DueDays {
    fn next_window(&mut self) -> Option<Window> {
        let due = self.day;
        let earliest_us = self.instant_us(due, self.minutes.0)?;
        let window = Window {
            earliest_us,
            latest_us: self.instant_us(due, self.minutes.1)?.max(earliest_us),
        };
        let window = if self.uptimes.is_known() {
            self.while_up(due, window)?
        } else {
            self.day = next_due_day(self.period, due);
            return Some(window);
        };
        let ran = day_of(&mut self.clock, window.earliest_us).max(due);
        self.day = next_due_day(self.period, ran);
        Some(window)
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
        const MINUTE_US: i64 = 60 * SECOND_US;
        let Some((from, to)) = self.start_hours else {
            // anacron is started at boot.
            return Some(Window {
                earliest_us: start_us.checked_add(self.delay_min * MINUTE_US)?,
                latest_us: start_us
                    .checked_add(STARTUP_US)?
                    .checked_add((self.delay_max_min + DEBIAN_LATE_MIN) * MINUTE_US)?,
            });
        };
        // cronie's crond starts anacron at the next minute past an hour, within the allowed hours.
        let (open, close) = (i64::from(from) * 60, i64::from(to) * 60);
        let today = day_of(&mut self.clock, start_us);
        for day in today..=today + 2 {
            for hour in 0..24 {
                let minute = hour * 60 + CRONIE_MINUTE;
                let at_us = self.instant_us(day, minute)?;
                let is_allowed =
                    minute + self.delay_max_min >= open && minute + self.delay_min < close;
                if at_us < start_us || !is_allowed {
                    continue;
                }
                // Both the start of anacron and the random delay may miss the first hour.
                let first = (minute + self.delay_min).max(open);
                let last = (minute + 60 + self.delay_max_min).min(close - 1).max(first);
                return Some(Window {
                    earliest_us: self.instant_us(day, first)?,
                    latest_us: self.instant_us(day, last)?,
                });
            }
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
mod tests {
    use super::*;
    use crate::parse_zone;

    fn line(period: &str, start_hours: Option<(u8, u8)>) -> Line<'_> {
        Line {
            period,
            delay_min: 10,
            random_delay_min: 0,
            start_hours,
            identifier: "cron.weekly",
            source: "etc/anacrontab:12",
        }
    }

    fn windows(line: &Line<'_>, last_run: Option<&str>, from: &str, count: usize) -> Vec<String> {
        let zone = parse_zone("Europe/Berlin").expect("known");
        let at = |text: &str| text.parse::<Timestamp>().expect("a timestamp");
        line.windows(
            last_run.map(at),
            at(from).as_microsecond(),
            &zone,
            &Uptimes::default(),
        )
        .expect("readable")
        .expect("known")
        .filter(|window| window.latest_us >= at(from).as_microsecond())
        .take(count)
        .map(|window| {
            let text = |us| {
                Timestamp::from_microsecond(us)
                    .expect("in range")
                    .to_zoned(zone.clone())
            };
            format!(
                "{} {}",
                text(window.earliest_us).strftime("%a %F %H:%M"),
                text(window.latest_us).strftime("%H:%M")
            )
        })
        .collect()
    }

    #[test]
    fn weekly_counts_from_the_last_run() {
        // Last run on Wednesday 2024-06-05; delay 10: 07:30 + 10 to 07:36 + 10.
        let weekly = line("7", None);
        let expected = ["Wed 2024-06-12 07:40 07:46", "Wed 2024-06-19 07:40 07:46"];
        assert_eq!(
            windows(
                &weekly,
                Some("2024-06-05T05:41:00Z"),
                "2024-06-06T00:00:00Z",
                2
            ),
            expected
        );
        assert_eq!(
            windows(
                &line("@weekly", None),
                Some("2024-06-05T05:41:00Z"),
                "2024-06-06T00:00:00Z",
                2
            ),
            expected
        );
        // Weeks before and long after the last run keep its weekday.
        assert_eq!(
            windows(
                &weekly,
                Some("2024-06-05T05:41:00Z"),
                "2024-05-01T12:00:00Z",
                1
            ),
            ["Wed 2024-05-08 07:40 07:46"]
        );
        // The stamp is a local date: 23:30 on the 5th in Berlin is 21:30 UTC.
        assert_eq!(
            windows(
                &weekly,
                Some("2024-06-05T21:30:00Z"),
                "2024-06-06T00:00:00Z",
                1
            ),
            ["Wed 2024-06-12 07:40 07:46"]
        );
        // Winter time: the wall-clock time stays the same.
        assert_eq!(
            windows(
                &weekly,
                Some("2024-10-23T05:41:00Z"),
                "2024-10-24T00:00:00Z",
                1
            ),
            ["Wed 2024-10-30 07:40 07:46"]
        );
    }

    #[test]
    fn daily_needs_no_last_run() {
        assert_eq!(
            windows(&line("1", None), None, "2024-06-06T00:00:00Z", 2),
            ["Thu 2024-06-06 07:40 07:46", "Fri 2024-06-07 07:40 07:46"]
        );
        let zone = parse_zone("UTC").expect("known");
        let reason = line("7", None)
            .windows(None, 0, &zone, &Uptimes::default())
            .expect("readable")
            .err();
        assert!(reason.expect("unknown").contains("last run is not known"));
        let reason = line("0", None)
            .windows(None, 0, &zone, &Uptimes::default())
            .expect("readable")
            .err();
        assert!(
            reason
                .expect("unknown")
                .contains("whenever anacron is started")
        );
    }

    #[test]
    fn months_follow_anacron() {
        // 31 January: 28 days later it is 28 February, which has 28 days. From there, 28 days (the
        // length of February) lead to 28 March, and 30 days (the length of April) to 27 April.
        assert_eq!(
            windows(
                &line("@monthly", None),
                Some("2023-01-31T08:00:00Z"),
                "2023-02-01T00:00:00Z",
                3
            ),
            [
                "Tue 2023-02-28 07:40 07:46",
                "Tue 2023-03-28 07:40 07:46",
                "Thu 2023-04-27 07:40 07:46"
            ]
        );
        assert_eq!(
            windows(
                &line("@yearly", None),
                Some("2023-03-01T08:00:00Z"),
                "2023-03-02T00:00:00Z",
                1
            ),
            ["Thu 2024-02-29 07:40 07:46"],
            "365 days, as many as 2023 had"
        );
    }

    #[test]
    fn cronie_respects_start_hours() {
        // RHEL: START_HOURS_RANGE=3-22, RANDOM_DELAY=45. Daily, delay 5: 02:01 + 50 minutes is
        // before 3:00, so anacron starts it at 03:01: 03:06 to 03:51.
        let mut rhel = line("1", Some((3, 22)));
        (rhel.delay_min, rhel.random_delay_min) = (5, 45);
        assert_eq!(rhel.start_minutes(), Some((3 * 60 + 6, 3 * 60 + 51)));
        // Weekly, delay 25: 02:01 + 70 minutes is 03:11, so it may start as early as 03:00; if not,
        // 03:01 + 25 to 70 minutes: 04:11 at the latest.
        rhel.delay_min = 25;
        assert_eq!(rhel.start_minutes(), Some((3 * 60, 4 * 60 + 11)));
        // The allowed range ends before the delay elapses.
        rhel.start_hours = Some((3, 3));
        assert_eq!(rhel.start_minutes(), None);
        rhel.start_hours = None;
        rhel.delay_min = u32::MAX;
        assert_eq!(rhel.start_minutes(), None);
    }

    #[test]
    fn periods() {
        assert_eq!(period_text_s("7"), Some(604_800.0));
        assert_eq!(period_text_s("@daily"), Some(86_400.0));
        assert_eq!(period_text_s("@monthly"), Some(2_629_746.0));
        for text in ["", "0", "-1", "+1", "weekly", "@hourly", "99999999999"] {
            assert_eq!(period_text_s(text), None, "{text}");
        }
        let zone = parse_zone("UTC").expect("known");
        let Err(error) = line("weekly", None).windows(None, 0, &zone, &Uptimes::default()) else {
            panic!("`weekly` without @ is no period");
        };
        assert!(
            error
                .to_string()
                .starts_with("etc/anacrontab:12: expected a period in days")
        );
    }
}
