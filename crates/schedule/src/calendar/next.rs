//! The next moment of a calendar event.

use super::{Calendar, Part, SECOND_US};
use crate::civil::{DAY_S, date_of_days, days_of_date, month_len, weekday_from_monday};
use crate::zone::Clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// systemd gives up after as many turns (`MAX_CALENDAR_ITERATIONS`): the event never comes.
const TURNS_MAX: usize = 1_000;

/// systemd looks no further.
const YEAR_MAX: i64 = 2199;

/// The units of a wall time, from the largest to the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

const UNITS: [Unit; 6] = [
    Unit::Year,
    Unit::Month,
    Unit::Day,
    Unit::Hour,
    Unit::Minute,
    Unit::Second,
];

/// What each unit starts from.
const UNIT_STARTS: [i64; 6] = [1970, 1, 1, 0, 0, 0];

/// A wall time in parts, one for each unit. A part may exceed its unit until it is settled.
#[derive(Debug, Clone, Copy)]
struct Wall {
    parts: [i64; 6],
    /// Below the second.
    micros: i64,
    /// Whether daylight saving time is in force, where the clock has told; `None` leaves it open.
    dst: Option<bool>,
}

/// What the clock makes of a wall time.
enum Settled {
    /// It exists.
    Exists,
    /// It does not (30 February, 24:00, a time in a gap); the wall shows a later one.
    Later,
    /// It does not; the wall shows an earlier one.
    Earlier,
}

impl Calendar {
    /// The first moment of the event after `after`, in `zone` unless the event names its own;
    /// `None` when it never comes again (`*-02-30`, a year in the past, a year after 2199).
    ///
    /// As `calendar_spec_next_usec` of systemd 252: the units are matched from the year down, and
    /// whatever wall time that leads to must exist. So an event in the hour that a clock change
    /// skips does not happen that day, unless the next hour matches as well; an event in a repeated
    /// hour happens once, on the side where the search began.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut clock = self.clock(zone);
        let after_us = i64::try_from(after.as_nanosecond().div_euclid(1_000)).ok()?;
        Timestamp::from_microsecond(self.next_after_us(after_us, &mut clock)?).ok()
    }

    /// The clock that the event is read from on a host in `zone`.
    pub(crate) fn clock(&self, zone: &TimeZone) -> Clock {
        Clock::new(self.zone.as_ref().unwrap_or(zone).clone())
    }

    /// The first moment after another, both in microseconds since the epoch.
    pub(crate) fn next_after_us(&self, after_us: i64, clock: &mut Clock) -> Option<i64> {
        // systemd knows no time before the epoch.
        let from_us = after_us.max(-1).checked_add(1)?;
        let second = from_us.div_euclid(SECOND_US);
        clock.start_at(second);
        let mut wall = Wall::at(second, clock);
        wall.micros = from_us.rem_euclid(SECOND_US);
        let start = wall;
        // Where the clock takes the search back to its start (in Dublin, where winter time counts as
        // daylight saving, out of the gap of spring), systemd goes on an hour later and no longer
        // leaves open whether daylight saving time is in force.
        let mut is_stuck = false;
        for _ in 0..TURNS_MAX {
            match self.turn(&mut wall, clock) {
                Turn::Found if !wall.is_from(&start) => {
                    is_stuck = true;
                    wall.parts[Unit::Hour as usize] += 1;
                }
                Turn::Found => {
                    let wall_s = wall.seconds();
                    let instant_s = match wall.dst {
                        None => clock.instant_of(wall_s),
                        Some(dst) => clock.instant_of_dst(wall_s, dst),
                    };
                    return Some(instant_s * SECOND_US + wall.micros);
                }
                Turn::Again => {}
                Turn::Never => return None,
            }
            let instant_s = wall.show(clock);
            wall.dst = is_stuck.then(|| clock.is_dst(instant_s));
        }
        None
    }

    /// Goes through the units once, raising each to the next value that matches.
    fn turn(&self, wall: &mut Wall, clock: &mut Clock) -> Turn {
        for unit in UNITS {
            let current = wall.value(unit);
            match self.first_value(unit, wall) {
                None if unit == Unit::Year => return Turn::Never,
                None => {
                    wall.carry_into_unit_above(unit);
                    return Turn::Again;
                }
                Some(value) if value != current => {
                    wall.raise(unit, value);
                    match wall.settle(clock) {
                        Settled::Exists => {}
                        _ if unit == Unit::Year => return Turn::Never,
                        Settled::Later => return Turn::Again,
                        Settled::Earlier => {
                            wall.carry_into_unit_above(unit);
                            return Turn::Again;
                        }
                    }
                }
                Some(_) => {}
            }
            if unit == Unit::Year && wall.parts[0] > YEAR_MAX {
                return Turn::Never;
            }
            if unit == Unit::Day && !self.matches_weekday(wall) {
                wall.carry_into_unit_above(Unit::Hour);
                return Turn::Again;
            }
        }
        Turn::Found
    }

    /// The lowest matching value of a unit that is not below the wall's. It may exceed the unit
    /// where a repetition is open.
    fn first_value(&self, unit: Unit, wall: &Wall) -> Option<i64> {
        let value = wall.value(unit);
        let parts = match unit {
            Unit::Year => &self.year,
            Unit::Month => &self.month,
            Unit::Day if self.from_month_end => {
                let month_len = month_len(wall.parts[0], wall.parts[1]);
                let counted = self
                    .day
                    .iter()
                    .map(|part| from_month_start(*part, month_len));
                return counted.filter_map(|part| first_of_part(part, value)).min();
            }
            Unit::Day => &self.day,
            Unit::Hour => &self.hour,
            Unit::Minute => &self.minute,
            Unit::Second => &self.second,
        };
        if parts.is_empty() {
            return Some(value);
        }
        parts
            .iter()
            .filter_map(|part| first_of_part(*part, value))
            .min()
    }

    fn matches_weekday(&self, wall: &Wall) -> bool {
        let [year, month, day, ..] = wall.parts;
        self.weekdays == 0
            || self.weekdays & (1 << weekday_from_monday(days_of_date(year, month, day))) != 0
    }
}

enum Turn {
    /// The wall shows a moment of the event.
    Found,
    /// The wall was moved on; look again from there.
    Again,
    /// There is no such moment.
    Never,
}

/// A part that counts days from the end of the month, counted from its start. A range runs
/// backwards there, and its repetition counts from its earlier end.
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

/// The lowest value of a part that is not below `value`.
fn first_of_part(part: Part, value: i64) -> Option<i64> {
    if part.start >= value {
        return Some(part.start);
    }
    if part.repeat == 0 {
        return None;
    }
    let steps = (value - part.start + part.repeat - 1) / part.repeat;
    let next = part.start + part.repeat * steps;
    part.stop.is_none_or(|stop| next <= stop).then_some(next)
}

impl Wall {
    /// What the clock shows at an instant.
    fn at(instant_s: i64, clock: &mut Clock) -> Self {
        let wall_s = instant_s + clock.offset_at(instant_s);
        let (year, month, day) = date_of_days(wall_s.div_euclid(DAY_S));
        let second = wall_s.rem_euclid(DAY_S);
        Self {
            parts: [
                year,
                month,
                day,
                second / 3_600,
                second / 60 % 60,
                second % 60,
            ],
            micros: 0,
            dst: None,
        }
    }

    /// Seconds since 1970-01-01 00:00 on this wall.
    fn seconds(&self) -> i64 {
        let [year, month, day, hour, minute, second] = self.parts;
        days_of_date(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second
    }

    /// Whether it shows the same as a wall or later.
    fn is_from(&self, start: &Self) -> bool {
        (self.parts, self.micros) >= (start.parts, start.micros)
    }

    /// A unit's value; that of the second in microseconds.
    fn value(&self, unit: Unit) -> i64 {
        let part = self.parts[unit as usize];
        if unit == Unit::Second {
            part * SECOND_US + self.micros
        } else {
            part
        }
    }

    /// Sets a unit's value and starts those below it afresh.
    fn raise(&mut self, unit: Unit, value: i64) {
        if unit == Unit::Second {
            self.parts[unit as usize] = value.div_euclid(SECOND_US);
            self.micros = value.rem_euclid(SECOND_US);
        } else {
            self.parts[unit as usize] = value;
            self.start_from(unit as usize + 1);
            self.micros = 0;
        }
    }

    /// One more of the unit above, which is not the year's; `unit` and those below start afresh.
    fn carry_into_unit_above(&mut self, unit: Unit) {
        self.parts[unit as usize - 1] += 1;
        self.start_from(unit as usize);
        self.micros = 0;
    }

    fn start_from(&mut self, index: usize) {
        self.parts[index..].copy_from_slice(&UNIT_STARTS[index..]);
    }

    /// Shows what the clock makes of the parts; the instant that it means.
    fn show(&mut self, clock: &mut Clock) -> i64 {
        let instant_s = match self.dst {
            None => clock.instant_of(self.seconds()),
            Some(dst) => clock.instant_of_dst(self.seconds(), dst),
        };
        self.parts = Self::at(instant_s, clock).parts;
        instant_s
    }

    /// Checks that the wall time exists. Where the clock shows a later one instead, that is taken
    /// over, and the unit below the largest that differs starts afresh, so that nothing is passed
    /// over.
    ///
    /// systemd stops there: an open repetition that runs over by more than one unit leaves the
    /// smaller units where they came to lie, and a fraction of a second always stays. So `*:3,40/9`
    /// has no 00:03, because the minute after 23:58 is 23:67. Daylight saving time is taken over as
    /// well, although the unit below has changed: `*-1/5-1` runs over from November to April, which
    /// makes it 1 January in summer time, that is 31 December, and so in circles. Such a timer does
    /// not fire in Berlin before the next year has begun.
    fn settle(&mut self, clock: &mut Clock) -> Settled {
        let mut shown = *self;
        let instant_s = shown.show(clock);
        let differs = (0..6).find(|&index| shown.parts[index] != self.parts[index]);
        match differs {
            None => Settled::Exists,
            Some(index) if shown.parts[index] < self.parts[index] => Settled::Earlier,
            Some(index) => {
                if let Some(below) = shown.parts.get_mut(index + 1) {
                    *below = UNIT_STARTS[index + 1];
                }
                shown.dst = Some(clock.is_dst(instant_s));
                *self = shown;
                Settled::Later
            }
        }
    }
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
                "2024-01-01T00:01:20.25Z"
            ],
            "60.75 runs over; the next minute is searched from its .75 on, so that 00 is missed"
        );
    }

    #[test]
    fn a_repetition_that_runs_over_midnight_hides_a_minute() {
        assert_eq!(
            moments_after("*:3,40/9", "UTC", "2024-01-01T22:50:00Z", 3),
            [
                "2024-01-01T22:58:00Z",
                "2024-01-01T23:03:00Z",
                "2024-01-01T23:40:00Z"
            ]
        );
        assert_eq!(
            moments_after("*:3,40/9", "UTC", "2024-01-01T23:50:00Z", 2),
            ["2024-01-01T23:58:00Z", "2024-01-02T00:40:00Z"]
        );
    }

    #[test]
    fn a_repetition_that_runs_over_into_summer_goes_in_circles() {
        assert_eq!(
            moments_after("*-1/5-1", "UTC", "2024-06-02T00:00:00Z", 2),
            ["2024-11-01T00:00:00Z", "2025-01-01T00:00:00Z"]
        );
        assert_eq!(
            moments_after("*-1/5-1", "Europe/Berlin", "2024-06-02T00:00:00Z", 2),
            ["2024-10-31T23:00:00Z"]
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
    fn winter_time_that_counts_as_daylight_saving_is_no_trap() {
        // Dublin's zone as its own files have it: 01:00 in the gap of 2008-03-30 leads back to
        // 00:00, where the search began.
        let zone = TimeZone::posix("IST-1GMT0,M10.5.0,M3.5.0/1").expect("valid");
        let calendar = Calendar::parse("test", "Sat,Sun").expect("valid");
        let after: Timestamp = "2008-03-30T00:00:00Z".parse().expect("a timestamp");
        // As systemd-analyze 252 says.
        assert_eq!(
            calendar
                .next_after(after, &zone)
                .map(|at| at.to_string())
                .as_deref(),
            Some("2008-04-04T23:00:00Z")
        );
    }

    #[test]
    fn what_never_comes_is_found_out() {
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
    fn the_ends_of_time_are_no_trouble() {
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

    proptest! {
        /// Whatever is asked, the answer lies after the question.
        #[test]
        fn the_next_moment_lies_ahead(
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
