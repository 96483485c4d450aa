//! Parser for calendar event expressions.

use super::{Calendar, EVERY_SECOND, Part, WEEKDAY_NAMES};
use crate::civil::{DAY_S, WEEKDAYS, date_of_days};
use crate::parse_zone;
use crate::window::SECOND_US;
use facts::InputError;
use jiff::tz::TimeZone;

/// systemd's limit on the elements of one list.
const LIST_LEN_MAX: usize = 241;

/// Larger numbers (C's `int`) are outside the range of every unit.
const NUMBER_MAX: i64 = i32::MAX as i64;

/// Shorthands and their meaning (systemd.time(7)); `anually` is systemd's own old misspelling.
const WORDS: &[(&[&str], &str)] = &[
    (&["minutely"], "*-*-* *:*:00"),
    (&["hourly"], "*-*-* *:00:00"),
    (&["daily"], "*-*-* 00:00:00"),
    (&["weekly"], "Mon *-*-* 00:00:00"),
    (&["monthly"], "*-*-01 00:00:00"),
    (&["quarterly"], "*-01,04,07,10-01 00:00:00"),
    (
        &["semiannually", "semi-annually", "biannually", "bi-annually"],
        "*-01,07-01 00:00:00",
    ),
    (&["yearly", "annually", "anually"], "*-01-01 00:00:00"),
];

/// The unit of a list, which determines its range and its name in error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    Day,
    DayFromEnd,
    Hour,
    Minute,
    Second,
}

impl Unit {
    /// Returns the lowest and highest value, and the name for messages.
    fn bounds(self) -> (i64, i64, &'static str) {
        match self {
            Self::Year => (1970, 2199, "a year from 1970 to 2199, or of two digits"),
            Self::Month => (1, 12, "a month from 1 to 12"),
            Self::Day => (1, 31, "a day from 1 to 31"),
            Self::DayFromEnd => (1, 28, "a day from 1 (the last of the month) to 28"),
            Self::Hour => (0, 23, "an hour from 0 to 23"),
            Self::Minute => (0, 59, "a minute from 0 to 59"),
            Self::Second => (0, 60 * SECOND_US - 1, "a second from 0 to 59.999999"),
        }
    }
}

impl Calendar {
    /// Parses an `OnCalendar=` expression: `[weekdays] [date] [time] [zone]`, `@seconds`, or a
    /// shorthand such as `weekly`. `source` names the place for the error.
    ///
    /// # Errors
    /// If a value is outside the range of its unit, or the text does not follow the grammar of
    /// systemd.time(7). A trailing time zone abbreviation is also an error, although systemd
    /// accepts that of the host.
    pub fn parse(source: &str, text: &str) -> Result<Self, InputError> {
        let text = text.trim_ascii();
        if text.len() > crate::SCHEDULE_BYTES_MAX {
            let expected = format!(
                "a calendar event of at most {} bytes",
                crate::SCHEDULE_BYTES_MAX
            );
            return Err(InputError::new(source, expected, text));
        }
        let (rest, zone) = split_zone(text);
        for (words, meaning) in WORDS {
            if words.iter().any(|word| word.eq_ignore_ascii_case(rest)) {
                let mut calendar = Self::parse(source, meaning)?;
                calendar.zone = zone;
                return Ok(calendar);
            }
        }
        if rest.is_empty() {
            return Err(InputError::new(
                source,
                "a calendar event such as `Mon *-*-* 03:00`",
                text,
            ));
        }
        let mut cursor = Cursor { source, rest };
        let mut calendar = Self {
            weekdays: cursor.weekdays()?,
            year: Vec::new(),
            month: Vec::new(),
            day: Vec::new(),
            from_month_end: false,
            hour: Vec::new(),
            minute: Vec::new(),
            second: Vec::new(),
            zone,
        };
        if let Some(rest) = cursor.rest.strip_prefix('@') {
            cursor.rest = rest;
            calendar.set_instant(&mut cursor)?;
        } else {
            cursor.date(&mut calendar)?;
            cursor.time(&mut calendar)?;
        }
        if !cursor.rest.is_empty() {
            return Err(cursor.refuse("the end of the calendar event"));
        }
        calendar.check(source, text)?;
        Ok(calendar)
    }

    /// Parses `@` and seconds since the epoch: that instant in UTC, whatever zone is named.
    fn set_instant(&mut self, cursor: &mut Cursor<'_>) -> Result<(), InputError> {
        let instant_s = cursor.digits("seconds since 1970-01-01 UTC")?;
        let (year, month, day) = date_of_days(instant_s.div_euclid(DAY_S));
        let second = instant_s.rem_euclid(DAY_S);
        let only = |start| vec![Part::only(start)];
        self.year = only(year);
        self.month = only(month);
        self.day = only(day);
        self.hour = only(second / 3_600);
        self.minute = only(second / 60 % 60);
        self.second = only(second % 60 * SECOND_US);
        self.zone = Some(TimeZone::UTC);
        Ok(())
    }

    /// Normalizes every list and checks its values.
    fn check(&mut self, source: &str, text: &str) -> Result<(), InputError> {
        if self.weekdays == 0b111_1111 {
            self.weekdays = 0;
        }
        if self.day.is_empty() {
            self.from_month_end = false;
        }
        for part in &mut self.year {
            part.start = full_year(part.start);
            part.stop = part.stop.map(full_year);
        }
        let day = if self.from_month_end {
            Unit::DayFromEnd
        } else {
            Unit::Day
        };
        for (parts, unit) in [
            (&mut self.year, Unit::Year),
            (&mut self.month, Unit::Month),
            (&mut self.day, day),
            (&mut self.hour, Unit::Hour),
            (&mut self.minute, Unit::Minute),
            (&mut self.second, Unit::Second),
        ] {
            parts.iter_mut().for_each(normalise);
            parts.sort_unstable();
            parts.dedup();
            let (low, high, expected) = unit.bounds();
            let valid = parts
                .iter()
                .all(|part| is_valid(*part, low, high, unit == Unit::DayFromEnd));
            if !valid {
                return Err(InputError::new(
                    source,
                    format!(
                        "{expected}, a rising range of them, or a repetition that comes round at least once"
                    ),
                    text,
                ));
            }
        }
        Ok(())
    }
}

/// Expands a two-digit year: 12 is 2012, 89 is 1989.
fn full_year(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    }
}

/// Ends a range at its last repetition and turns a range of one value into that value.
fn normalise(part: &mut Part) {
    let Some(stop) = part.stop else {
        return;
    };
    let stop = if stop > part.start && part.repeat > 0 {
        stop - (stop - part.start) % part.repeat
    } else {
        stop
    };
    if stop == part.start {
        part.stop = None;
        part.repeat = 0;
    } else {
        part.stop = Some(stop);
    }
}

fn is_valid(part: Part, low: i64, high: i64, from_end: bool) -> bool {
    let within = |value: i64| (low..=high).contains(&value);
    let repeats = match part.stop {
        Some(stop) => within(stop) && part.start + part.repeat <= stop,
        None if from_end => part.start - part.repeat >= low,
        None => part.start + part.repeat <= high,
    };
    within(part.start) && part.repeat <= high - low && repeats
}

/// Splits off a trailing `UTC` (in any case) or time zone name.
fn split_zone(text: &str) -> (&str, Option<TimeZone>) {
    let Some((rest, last)) = text.rsplit_once(' ') else {
        return (text, None);
    };
    if last.eq_ignore_ascii_case("UTC") {
        return (rest, Some(TimeZone::UTC));
    }
    match parse_zone(last) {
        // systemd does not accept a colon in front of a zone.
        Ok(zone) if !last.starts_with(':') => (rest, Some(zone)),
        _ => (text, None),
    }
}

/// The unparsed rest of the text.
struct Cursor<'t> {
    source: &'t str,
    rest: &'t str,
}

impl Cursor<'_> {
    fn refuse(&self, expected: &str) -> InputError {
        InputError::new(self.source, expected, self.rest)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// Whether the cursor is at the end of a word.
    fn at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(' ')
    }

    /// Parses `Mon,Wed..Fri` in front of a date or time; returns 0 if there are no weekdays. A
    /// range may be written with `-`, and a trailing comma is allowed.
    fn weekdays(&mut self) -> Result<u8, InputError> {
        const EXPECTED: &str =
            "a weekday such as Mon or Monday, a list Mon,Fri or a rising range Mon..Fri";
        let mut bits = 0;
        let mut range_from: Option<usize> = None;
        loop {
            let Some((day, rest)) = weekday(self.rest) else {
                return if bits == 0 {
                    Ok(0)
                } else {
                    Err(self.refuse(EXPECTED))
                };
            };
            let from = range_from.unwrap_or(day);
            if from > day {
                return Err(self.refuse(EXPECTED));
            }
            bits = (from..=day).fold(bits, |bits, day| bits | 1 << day);
            self.rest = rest;
            if self.at_end() {
                break;
            }
            if self.eat(",") {
                range_from = None;
            } else if range_from.is_none() && (self.eat("..") || self.eat("-")) {
                range_from = Some(day);
            } else {
                return Err(self.refuse(EXPECTED));
            }
            if self.at_end() {
                if range_from.is_some() {
                    return Err(self.refuse(EXPECTED));
                }
                break;
            }
        }
        self.skip_blanks();
        Ok(bits)
    }

    /// Parses `[[YEAR-]MONTH-DAY]`, with `~` in front of a day that counts from the end of the
    /// month. Leaves a time untouched.
    fn date(&mut self, calendar: &mut Calendar) -> Result<(), InputError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let at_start = self.rest;
        let first = self.list(false)?;
        if self.rest.is_empty() || self.rest.starts_with(':') {
            self.rest = at_start;
            return Ok(());
        }
        let (second, from_end) = self.next_list()?;
        if self.at_end() {
            calendar.month = first;
            calendar.day = second;
            calendar.from_month_end = from_end;
        } else {
            if from_end {
                return Err(
                    self.refuse("the end of the date: `~` stands before the day, which comes last")
                );
            }
            let (third, from_end) = self.next_list()?;
            if !self.at_end() {
                return Err(self.refuse("a blank or the end after the date"));
            }
            calendar.year = first;
            calendar.month = second;
            calendar.day = third;
            calendar.from_month_end = from_end;
        }
        self.skip_blanks();
        Ok(())
    }

    /// Parses `-` or `~` followed by a list; also returns whether it was `~`.
    fn next_list(&mut self) -> Result<(Vec<Part>, bool), InputError> {
        let from_end = self.eat("~");
        if !from_end && !self.eat("-") {
            return Err(self.refuse("a date such as *-*-01, *-02~01, or a time such as 03:00"));
        }
        Ok((self.list(false)?, from_end))
    }

    /// Parses `HOUR:MINUTE[:SECOND]`; midnight if there is none.
    fn time(&mut self, calendar: &mut Calendar) -> Result<(), InputError> {
        let zero = vec![Part::only(0)];
        if self.rest.is_empty() {
            calendar.hour.clone_from(&zero);
            calendar.minute.clone_from(&zero);
            calendar.second = zero;
            return Ok(());
        }
        calendar.hour = self.list(false)?;
        if !self.eat(":") {
            return Err(self.refuse("a colon and the minute"));
        }
        calendar.minute = self.list(false)?;
        if self.rest.is_empty() {
            calendar.second = zero;
            return Ok(());
        }
        if !self.eat(":") {
            return Err(self.refuse("a colon and the second, or the end of the time"));
        }
        calendar.second = self.list(true)?;
        Ok(())
    }

    /// Parses `*`, or values, ranges `a..b` and repetitions `a/n` separated by commas. Seconds are
    /// converted to microseconds.
    fn list(&mut self, seconds: bool) -> Result<Vec<Part>, InputError> {
        if self.eat("*") {
            return Ok(if seconds {
                vec![EVERY_SECOND]
            } else {
                Vec::new()
            });
        }
        let mut parts = Vec::new();
        loop {
            if parts.len() == LIST_LEN_MAX {
                return Err(self.refuse("at most 241 elements in a list"));
            }
            parts.push(self.part(seconds)?);
            if !self.eat(",") {
                return Ok(parts);
            }
        }
    }

    fn part(&mut self, seconds: bool) -> Result<Part, InputError> {
        let start = self.value(seconds)?;
        let one = if seconds { SECOND_US } else { 1 };
        let mut part = Part::only(start);
        if self.eat("..") {
            part.stop = Some(self.value(seconds)?);
            part.repeat = one;
        }
        if self.eat("/") {
            part.repeat = self.value(seconds)?;
            if part.repeat == 0 {
                return Err(self.refuse("a repetition above 0"));
            }
        } else if seconds && part.stop.is_some_and(|stop| start + one > stop) {
            return Err(
                self.refuse("a range of a second or more, or a repetition below a second after it")
            );
        }
        if !(self.rest.is_empty() || self.rest.starts_with([' ', ',', '-', '~', ':'])) {
            return Err(self.refuse("`,`, `..`, `/`, `-`, `:` or a blank after a value"));
        }
        Ok(part)
    }

    /// Parses a number; a second may have a fraction, of which six digits are used.
    fn value(&mut self, seconds: bool) -> Result<i64, InputError> {
        let at_number = self.rest;
        let whole = self.digits("a number or *")?;
        if whole > NUMBER_MAX {
            self.rest = at_number;
            return Err(self.refuse("a number below 2147483648"));
        }
        if !seconds {
            return Ok(whole);
        }
        let mut value_us = whole.saturating_mul(SECOND_US);
        // One dot is a decimal point, two are a range.
        if self.rest.starts_with('.') && !self.rest.starts_with("..") {
            self.eat(".");
            let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (fraction, rest) = self.rest.split_at(len);
            if fraction.is_empty() {
                return Err(self.refuse("digits after the decimal point"));
            }
            let mut digits = fraction.bytes().map(|digit| i64::from(digit - b'0'));
            let fraction_us = (0..6).fold(0, |sum, _| sum * 10 + digits.next().unwrap_or(0));
            let round_up = digits.next().is_some_and(|seventh| seventh >= 5);
            value_us = value_us.saturating_add(fraction_us + i64::from(round_up));
            self.rest = rest;
        }
        if value_us > NUMBER_MAX {
            return Err(self.refuse("a second from 0 to 59.999999"));
        }
        Ok(value_us)
    }

    fn digits(&mut self, expected: &str) -> Result<i64, InputError> {
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(len);
        let value = digits.parse().map_err(|_| self.refuse(expected))?;
        self.rest = rest;
        Ok(value)
    }
}

/// Parses a weekday name at the start of the text, in full or its first three letters, in any case.
fn weekday(text: &str) -> Option<(usize, &str)> {
    let starts = |name: &str| {
        text.get(..name.len())
            .filter(|head| head.eq_ignore_ascii_case(name))
            .map(|_| &text[name.len()..])
    };
    (0..7).find_map(|day| {
        let rest = starts(WEEKDAYS[day]).or_else(|| starts(WEEKDAY_NAMES[day]))?;
        Some((day, rest))
    })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
