//! Computes the next occurrence of a calendar event.

use super::{Calendar, Part};
use crate::civil::{DAY_S, date_of_days, days_of_date, month_len, weekday_from_monday};
use crate::window::SECOND_US;
use crate::zone::{Clock, WallTime};
use jiff::Timestamp;
use jiff::tz::TimeZone;

const MINUTE_US: i64 = 60 * SECOND_US;
const HOUR_US: i64 = 60 * MINUTE_US;
const DAY_US: i64 = DAY_S * SECOND_US;

/// The last year of an event (systemd.time(7)).
const YEAR_MAX: i64 = 2199;

/// Maximum number of clock changes in one search. Zones have a few a year, and an event that falls
/// into every gap is rare; this bounds the cost of an unusual zone.
const CHANGES_MAX: usize = 1_000;

impl Calendar {
    /// Returns the first occurrence of the event after `after`, in `zone` unless the event names
    /// its own; `None` if it never occurs again (`*-02-30`, a year in the past, a year after 2199).
    ///
    /// Follows systemd (`calendarspec.c`): an event in the hour skipped by a clock change does not
    /// occur on that day; an event in a repeated hour occurs once, the first time unless the search
    /// begins after it.
    ///
    /// An open-ended repetition (`3/9`) ends with its unit: minutes 3, 12, 21, 30, 39, 48 and 57 of
    /// each hour. systemd 252 sometimes omits an occurrence after the last of them, or gives up,
    /// because it overflows into the next unit (minute 66) and continues its search from there.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut clock = self.clock(zone);
        let after_us = i64::try_from(after.as_nanosecond().div_euclid(1_000)).ok()?;
        Timestamp::from_microsecond(self.next_after_us(after_us, &mut clock)?).ok()
    }

    /// Returns the clock that the event follows on a host in `zone`.
    pub(crate) fn clock(&self, zone: &TimeZone) -> Clock {
        Clock::new(self.zone.as_ref().unwrap_or(zone).clone())
    }

    /// Returns the first occurrence after a time, both in microseconds since the epoch.
    pub(crate) fn next_after_us(&self, after_us: i64, clock: &mut Clock) -> Option<i64> {
        // systemd does not support times before the epoch.
        let from_us = after_us.max(-1).checked_add(1)?;
        let offset_s = clock.offset_at(from_us.div_euclid(SECOND_US));
        let mut wall_us = from_us.checked_add(offset_s * SECOND_US)?;
        for _ in 0..CHANGES_MAX {
            wall_us = self.first_wall_us(wall_us)?;
            let below_second_us = wall_us.rem_euclid(SECOND_US);
            let candidates_s = match clock.instants_of(wall_us.div_euclid(SECOND_US)) {
                WallTime::Exists { first_s, last_s } => [first_s, last_s],
                WallTime::Skipped { until_wall_s } => {
                    wall_us = until_wall_s * SECOND_US;
                    continue;
                }
            };
            let ahead = candidates_s
                .into_iter()
                .map(|instant_s| instant_s * SECOND_US + below_second_us)
                .find(|&instant_us| instant_us >= from_us);
            if ahead.is_some() {
                return ahead;
            }
            wall_us += 1;
        }
        None
    }

    /// Returns the first matching wall time from `from_us` on, both in microseconds since
    /// 1970-01-01 00:00 on that wall clock.
    fn first_wall_us(&self, from_us: i64) -> Option<i64> {
        let today = from_us.div_euclid(DAY_US);
        let first_day = self.first_day(today)?;
        if first_day == today
            && let Some(time_us) = self.first_of_day(from_us.rem_euclid(DAY_US))
        {
            return Some(today * DAY_US + time_us);
        }
        let day = if first_day == today {
            self.first_day(today + 1)?
        } else {
            first_day
        };
        Some(day * DAY_US + self.first_of_day(0)?)
    }

    /// Returns the first matching day from `from` on, both as days since 1970-01-01.
    fn first_day(&self, from: i64) -> Option<i64> {
        let (from_year, from_month, from_day) = date_of_days(from);
        let mut year = first_of(&self.year, from_year, YEAR_MAX)?;
        let (mut month, mut day) = if year == from_year {
            (from_month, from_day)
        } else {
            (1, 1)
        };
        loop {
            while let Some(found) = first_of(&self.month, month, 12) {
                if found > month {
                    day = 1;
                }
                month = found;
                while let Some(found) = self.first_of_month(year, month, day) {
                    let number = days_of_date(year, month, found);
                    if self.matches_weekday(number) {
                        return Some(number);
                    }
                    day = found + 1;
                }
                (month, day) = (month + 1, 1);
            }
            year = first_of(&self.year, year + 1, YEAR_MAX)?;
            (month, day) = (1, 1);
        }
    }

    /// Returns the first matching day of a month from `day` on, regardless of its weekday.
    fn first_of_month(&self, year: i64, month: i64, day: i64) -> Option<i64> {
        let len = month_len(year, month);
        if !self.from_month_end {
            return first_of(&self.day, day, len);
        }
        let counted = self.day.iter().map(|part| from_month_start(*part, len));
        counted
            .filter_map(|part| first_of_part(part, day, len))
            .min()
    }

    fn matches_weekday(&self, day_number: i64) -> bool {
        self.weekdays == 0 || self.weekdays & (1 << weekday_from_monday(day_number)) != 0
    }

    /// Returns the first matching time of day from `from_us` on, in microseconds after midnight.
    fn first_of_day(&self, from_us: i64) -> Option<i64> {
        let hour = first_of(&self.hour, from_us / HOUR_US, 23)?;
        if hour == from_us / HOUR_US
            && let Some(found_us) = self.first_of_hour(from_us % HOUR_US)
        {
            return Some(hour * HOUR_US + found_us);
        }
        let later = first_of(&self.hour, hour.max(from_us / HOUR_US + 1), 23)?;
        Some(later * HOUR_US + self.first_of_hour(0)?)
    }

    /// Returns the first matching time of an hour from `from_us` on, in microseconds after its
    /// start.
    fn first_of_hour(&self, from_us: i64) -> Option<i64> {
        let minute = first_of(&self.minute, from_us / MINUTE_US, 59)?;
        if minute == from_us / MINUTE_US
            && let Some(found_us) = self.first_of_minute(from_us % MINUTE_US)
        {
            return Some(minute * MINUTE_US + found_us);
        }
        let later = first_of(&self.minute, minute.max(from_us / MINUTE_US + 1), 59)?;
        Some(later * MINUTE_US + self.first_of_minute(0)?)
    }

    /// Returns the first matching time of a minute from `from_us` on, in microseconds after its
    /// start.
    fn first_of_minute(&self, from_us: i64) -> Option<i64> {
        first_of(&self.second, from_us, MINUTE_US - 1)
    }
}

/// Converts a part that counts days from the end of the month to one that counts from its start. A
/// range runs backward there, and its repetition counts from its earlier end.
fn from_month_start(part: Part, month_len: i64) -> Part {
    let start = month_len + 1 - part.start;
    match part.stop {
        None => Part { start, ..part },
        Some(stop) => Part {
            start: month_len + 1 - stop,
            stop: Some(start),
            ..part
        },
    }
}

/// Returns the lowest value of a list from `value` to `high`; an empty list contains all values.
fn first_of(parts: &[Part], value: i64, high: i64) -> Option<i64> {
    if parts.is_empty() {
        return (value <= high).then_some(value);
    }
    parts
        .iter()
        .filter_map(|part| first_of_part(*part, value, high))
        .min()
}

/// Returns the lowest value of a part from `value` to `high`.
fn first_of_part(part: Part, value: i64, high: i64) -> Option<i64> {
    let found = if part.start >= value {
        part.start
    } else if part.repeat == 0 {
        return None;
    } else {
        let steps = (value - part.start + part.repeat - 1) / part.repeat;
        part.start + part.repeat * steps
    };
    (found <= part.stop.unwrap_or(high).min(high)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_zone;
    use proptest::prelude::*;

    fn moments_after(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let calendar = Calendar::parse("test", text).expect(text);
        let zone = parse_zone(zone).expect(zone);
        let mut at: Timestamp = after.parse().expect("a timestamp");
        let mut found = Vec::new();
        for _ in 0..count {
            let Some(next) = calendar.next_after(at, &zone) else {
                break;
            };
            assert!(next > at, "{next} comes after {at}");
            found.push(next.to_string());
            at = next;
        }
        found
    }

    #[test]
    fn fstrim_timer() {
        // 2024-06-03 is a Monday; midnight in Berlin is 22:00 UTC of the day before.
        assert_eq!(
            moments_after("weekly", "Europe/Berlin", "2024-06-01T00:00:00Z", 2),
            ["2024-06-02T22:00:00Z", "2024-06-09T22:00:00Z"]
        );
        assert_eq!(
            moments_after("weekly UTC", "Europe/Berlin", "2024-06-03T00:00:00Z", 1),
            ["2024-06-10T00:00:00Z"]
        );
    }

    #[test]
    fn days_from_the_end_of_the_month() {
        assert_eq!(
            moments_after("*-02~01 12:00", "UTC", "2023-01-01T00:00:00Z", 2),
            ["2023-02-28T12:00:00Z", "2024-02-29T12:00:00Z"]
        );
        // systemd.time(7): the last Monday in May. 2024-05-27, 2025-05-26.
        assert_eq!(
            moments_after("Mon *-05~07/1", "UTC", "2024-01-01T00:00:00Z", 2),
            ["2024-05-27T00:00:00Z", "2025-05-26T00:00:00Z"]
        );
        // The last three days, every other one: April ends on the 30th.
        assert_eq!(
            moments_after("*-04~01..03/2", "UTC", "2024-01-01T00:00:00Z", 3),
            [
                "2024-04-28T00:00:00Z",
                "2024-04-30T00:00:00Z",
                "2025-04-28T00:00:00Z"
            ]
        );
    }

    #[test]
    fn fractions_of_seconds() {
        assert_eq!(
            moments_after("*:*:59.5", "UTC", "2024-01-01T00:00:59.499Z", 2),
            ["2024-01-01T00:00:59.5Z", "2024-01-01T00:01:59.5Z"]
        );
        assert_eq!(
            moments_after("*:*:0/20.25", "UTC", "2024-01-01T00:00:00Z", 3),
            [
                "2024-01-01T00:00:20.25Z",
                "2024-01-01T00:00:40.5Z",
                "2024-01-01T00:01:00Z"
            ],
            "a repetition ends with its minute"
        );
    }

    #[test]
    fn a_repetition_without_an_end_ends_with_its_unit() {
        // systemd 252 omits 00:03, because it tries 23:67 first.
        assert_eq!(
            moments_after("*:3,40/9", "UTC", "2024-01-01T23:50:00Z", 3),
            [
                "2024-01-01T23:58:00Z",
                "2024-01-02T00:03:00Z",
                "2024-01-02T00:40:00Z"
            ]
        );
        // Months 1, 6 and 11. systemd 252 gives up after 1 November, after the clock change.
        assert_eq!(
            moments_after("*-1/5-1", "Europe/Berlin", "2024-06-02T00:00:00Z", 3),
            [
                "2024-10-31T23:00:00Z",
                "2024-12-31T23:00:00Z",
                "2025-05-31T22:00:00Z"
            ]
        );
        // The days from the seventh last to the last: 24 to 30 April, 25 to 31 May.
        assert_eq!(
            moments_after("*-4,5~7/6", "UTC", "2024-01-01T00:00:00Z", 4),
            [
                "2024-04-24T00:00:00Z",
                "2024-04-30T00:00:00Z",
                "2024-05-25T00:00:00Z",
                "2024-05-31T00:00:00Z"
            ]
        );
    }

    #[test]
    fn a_time_that_is_skipped_does_not_happen() {
        assert_eq!(
            moments_after("02:30", "Europe/Berlin", "2024-03-30T12:00:00Z", 1),
            ["2024-04-01T00:30:00Z"],
            "31 March has no 02:30"
        );
        assert_eq!(
            moments_after("*:30", "Europe/Berlin", "2024-03-31T00:00:00Z", 2),
            ["2024-03-31T00:30:00Z", "2024-03-31T01:30:00Z"]
        );
        // Sao Paulo had no midnight on 2018-11-04.
        assert_eq!(
            moments_after("daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", 1),
            ["2018-11-05T02:00:00Z"]
        );
    }

    #[test]
    fn a_time_that_is_repeated_happens_once() {
        assert_eq!(
            moments_after("02:30", "Europe/Berlin", "2024-10-26T12:00:00Z", 2),
            ["2024-10-27T00:30:00Z", "2024-10-28T01:30:00Z"]
        );
        assert_eq!(
            moments_after("*:30", "Europe/Berlin", "2024-10-27T00:00:00Z", 2),
            ["2024-10-27T00:30:00Z", "2024-10-27T02:30:00Z"]
        );
    }

    #[test]
    fn negative_daylight_saving_is_handled() {
        // Dublin's zone as defined in its own files: 01:00 does not exist on 2008-03-30.
        let zone = TimeZone::posix("IST-1GMT0,M10.5.0,M3.5.0/1").expect("valid");
        let calendar = Calendar::parse("test", "Sat,Sun").expect("valid");
        let after: Timestamp = "2008-03-30T00:00:00Z".parse().expect("a timestamp");
        // As reported by systemd-analyze 252.
        assert_eq!(
            calendar
                .next_after(after, &zone)
                .map(|at| at.to_string())
                .as_deref(),
            Some("2008-04-04T23:00:00Z")
        );
        // The hours after the gap occur.
        let hours = Calendar::parse("test", "1..3:00").expect("valid");
        let first = hours.next_after(after, &zone).expect("one more");
        assert_eq!(first.to_string(), "2008-03-30T01:00:00Z");
    }

    #[test]
    fn a_gap_is_passed_at_once() {
        let calendar = Calendar::parse("test", "2:*:0/0.000001").expect("valid");
        let zone = parse_zone("Europe/Berlin").expect("known");
        let after: Timestamp = "2024-03-31T00:59:59Z".parse().expect("a timestamp");
        assert_eq!(
            calendar
                .next_after(after, &zone)
                .map(|at| at.to_string())
                .as_deref(),
            Some("2024-04-01T00:00:00Z")
        );
    }

    #[test]
    fn impossible_events_have_no_occurrence() {
        for text in [
            "*-02-30",
            "2013-*-*",
            "*-04,06-31",
            "2023-02-29",
            "Mon 2024-06-04",
        ] {
            assert!(
                moments_after(text, "Europe/Berlin", "2024-01-01T00:00:00Z", 1).is_empty(),
                "{text}"
            );
        }
        // 29 February on a Sunday, 28 years after 2004 and again.
        assert_eq!(
            moments_after("Sun *-02-29", "UTC", "2005-01-01T00:00:00Z", 2),
            ["2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z"]
        );
        assert_eq!(
            moments_after("*-*-* *:*:*", "UTC", "2199-12-31T23:59:58Z", 3),
            ["2199-12-31T23:59:59Z"]
        );
    }

    #[test]
    fn extreme_times_do_not_panic() {
        let calendar = Calendar::parse("test", "*:*:*").expect("valid");
        for name in ["UTC", "Europe/Berlin", "America/New_York"] {
            let zone = parse_zone(name).expect(name);
            assert_eq!(calendar.next_after(Timestamp::MAX, &zone), None);
            assert_eq!(
                calendar.next_after(Timestamp::MIN, &zone),
                Some(Timestamp::UNIX_EPOCH)
            );
        }
    }

    /// Whether a list contains a value, by enumerating its parts.
    fn has(parts: &[Part], value: i64, high: i64) -> bool {
        parts.is_empty()
            || parts.iter().any(|part| {
                let stop = part.stop.unwrap_or(high).min(high);
                std::iter::successors(Some(part.start), |at| {
                    Some(at + part.repeat).filter(|&next| part.repeat > 0 && next <= stop)
                })
                .any(|at| at == value)
            })
    }

    /// Whether the event occurs at a wall time, in minutes since 1970-01-01 00:00.
    fn happens_at(calendar: &Calendar, minute: i64) -> bool {
        let number = minute.div_euclid(1_440);
        let (year, month, day) = date_of_days(number);
        let len = month_len(year, month);
        let is_day = if calendar.from_month_end {
            let counted: Vec<Part> = (calendar.day.iter())
                .map(|part| from_month_start(*part, len))
                .collect();
            has(&counted, day, len)
        } else {
            has(&calendar.day, day, len)
        };
        is_day
            && calendar.matches_weekday(number)
            && has(&calendar.month, month, 12)
            && has(&calendar.hour, minute.div_euclid(60) % 24, 23)
            && has(&calendar.minute, minute % 60, 59)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        /// Compares twelve days around a clock change with a minute-by-minute walk that finds the
        /// instants at which the wall clock shows a matching time that it has not shown since the
        /// walk began.
        #[test]
        fn agrees_with_a_minute_by_minute_walk(
            zone in prop::sample::select(vec![
                "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                "America/Sao_Paulo", "Europe/Dublin", "Pacific/Apia", "Africa/Casablanca",
                "Antarctica/Troll", "Asia/Kathmandu",
            ]),
            near_s in 946_684_800i64..2_000_000_000,
            date in prop::sample::select(vec![
                "*-*-*", "Sun *-*-*", "Mon..Fri *-*-*", "*-*-1/5", "*-*~7/3", "*-*~1..9/4",
                "*-3/7-*", "Sat,Sun *-1..12/2-20/1",
            ]),
            hour in prop::sample::select(vec!["*", "0", "1/5", "2", "1..3", "0..23/6", "2,20/3"]),
            minute in prop::sample::select(vec!["00", "*", "30", "3,40/9", "0/7", "5..59/11"]),
        ) {
            let calendar = Calendar::parse("test", &format!("{date} {hour}:{minute}")).expect("valid");
            let zone = parse_zone(zone).expect("known");
            let near = Timestamp::from_second(near_s).expect("in range");
            let change = zone.following(near).next().map_or(near, |change| change.timestamp());
            let from = change.as_second().div_euclid(60) - 6 * 1_440;
            let mut clock = Clock::new(zone);
            let mut wall = |at: i64| at + clock.offset_at(at * 60).div_euclid(60);
            let mut last = wall(from);
            let expected: Vec<i64> = (from + 1..from + 12 * 1_440)
                .filter(|&at| {
                    let shown = wall(at);
                    let is_new = shown > last;
                    last = last.max(shown);
                    is_new && happens_at(&calendar, shown)
                })
                .collect();
            let minute_us = 60 * SECOND_US;
            let found: Vec<i64> = std::iter::successors(
                calendar.next_after_us(from * minute_us, &mut clock),
                |&at_us| calendar.next_after_us(at_us, &mut clock),
            )
            .take_while(|at_us| *at_us < (from + 12 * 1_440) * minute_us)
            .map(|at_us| at_us / minute_us)
            .collect();
            prop_assert_eq!(found, expected, "{}", calendar);
        }

        /// The result is always later than the given time.
        #[test]
        fn the_next_occurrence_is_later(
            text in "((Mon|Tue|Sun)\\.\\.Sun )?(\\*|20[0-9]{2})-(\\*|[1-9])[-~](\\*|[1-9]|[0-9]/[1-5]) [0-2]?[0-9]:(\\*|[0-5]?[0-9]/[1-9]):[0-5]?[0-9](\\.[0-9])?/[1-9]",
            after_s in 0i64..4_000_000_000,
            zone in prop::sample::select(vec![
                "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                "America/Sao_Paulo", "Europe/Dublin", "Pacific/Apia", "Africa/Casablanca",
            ]),
        ) {
            if let Ok(calendar) = Calendar::parse("test", &text) {
                let zone = parse_zone(zone).expect("known");
                let after = Timestamp::from_second(after_s).expect("in range");
                if let Some(next) = calendar.next_after(after, &zone) {
                    prop_assert!(next > after);
                }
            }
        }
    }
}
