//! Parses times as people and programs write them.
//!
//! A column of times has one format, which is detected from the values or named by the user; a value that
//! does not match is an error, never a guess.

mod check;
mod plain;
mod slashes;

pub use check::check_format;
pub(crate) use plain::plain;
pub(crate) use slashes::{DayOrder, Slashes, clock};

use crate::Times;
use jiff::civil::{DateTime, Time};
use jiff::fmt::strtime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use std::borrow::Cow;
use std::collections::BTreeSet;
use units::count;

/// Maximum length of a time, in bytes.
const TEXT_BYTES_MAX: usize = 100;

/// Maximum number of UTC offsets listed in a note.
const OFFSETS_MAX: usize = 8;

/// The unit of times counted from 1970-01-01 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochUnit {
    /// Seconds, with or without a fraction.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl EpochUnit {
    /// Detects the unit by magnitude: between 1973 and 2286 the ranges of the units do not overlap.
    fn of(number: f64) -> Option<Self> {
        [
            (Self::Seconds, 1e8),
            (Self::Millis, 1e11),
            (Self::Micros, 1e14),
            (Self::Nanos, 1e17),
        ]
        .into_iter()
        .find(|(_, low)| number >= *low && number < low * 100.0)
        .map(|(unit, _)| unit)
    }

    /// Returns the number of units in a second, as a power of ten.
    fn digits(self) -> usize {
        match self {
            Self::Seconds => 0,
            Self::Millis => 3,
            Self::Micros => 6,
            Self::Nanos => 9,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
    }
}

/// The format of the times in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeFormat {
    /// RFC 3339 and ISO 8601 with an offset: `2016-10-03T01:30:00Z`, `20161003T013000+0200`.
    Zoned,
    /// The same without an offset: `2016-09-26 01:30:00`.
    Local,
    /// A date without a time, taken as its midnight.
    Date,
    /// A number counted from 1970-01-01 in UTC.
    Epoch(EpochUnit),
    /// `26/Sep/2016:01:30:00 +0000`, as in web server logs.
    Log,
    /// `04/13/2020 06:47:01 AM`, `13.04.2020`.
    Slashes(DayOrder),
    /// A strptime format named by the user.
    Named(String),
}

impl TimeFormat {
    /// Parses a format named by the user: `s`, `ms`, `us`, `ns`, or a strptime format.
    pub fn named(text: &str) -> Self {
        match text {
            "s" => Self::Epoch(EpochUnit::Seconds),
            "ms" => Self::Epoch(EpochUnit::Millis),
            "us" => Self::Epoch(EpochUnit::Micros),
            "ns" => Self::Epoch(EpochUnit::Nanos),
            _ => Self::Named(text.to_owned()),
        }
    }

    /// Describes a valid value, for errors.
    fn expected(&self) -> String {
        match self {
            Self::Zoned => "a time with its offset, like 2016-10-03T01:30:00Z".to_owned(),
            Self::Local => "a time without an offset, like 2016-09-26 01:30:00".to_owned(),
            Self::Date => "a date, like 2016-09-26".to_owned(),
            Self::Epoch(unit) => format!("{} since 1970", unit.name()),
            Self::Log => "a time like 26/Sep/2016:01:30:00 +0000".to_owned(),
            Self::Slashes(DayOrder::DayFirst) => {
                "a time with the day first, like 13/04/2020 06:47:01".to_owned()
            }
            Self::Slashes(DayOrder::MonthFirst) => {
                "a time with the month first, like 04/13/2020 06:47:01 AM".to_owned()
            }
            Self::Named(format) => format!("a time of the format {format}"),
        }
    }
}

/// The syntactic shape of a value; several formats may share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Zoned,
    Local,
    Date,
    Epoch(EpochUnit),
    Log,
    /// The numbers before and after the first separator, and whether the separator is `.`.
    Slashes(u32, u32, bool),
}

fn shape(text: &str) -> Option<Shape> {
    let text = text.trim();
    if text.len() > TEXT_BYTES_MAX || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some((_, offset, has_time)) = iso(text) {
        return Some(match (offset, has_time) {
            (Some(_), _) => Shape::Zoned,
            (None, true) => Shape::Local,
            (None, false) => Shape::Date,
        });
    }
    if let Ok(number) = text.parse::<f64>() {
        return EpochUnit::of(number).map(Shape::Epoch);
    }
    if log(text).is_some() {
        return Some(Shape::Log);
    }
    let slashes = Slashes::parse(text)?;
    Some(Shape::Slashes(slashes.first, slashes.second, slashes.dots))
}

/// Returns whether a text can be parsed as a time.
pub(crate) fn looks_like_time(text: &str) -> bool {
    shape(text).is_some()
}

/// Returns whether a time is written as a plain number, which may just as well be a value: seconds since
/// 1970, `20160926`.
pub(crate) fn is_bare_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// Parses ISO 8601 and RFC 3339; also `/` or nothing between the parts of the date, a space before the time
/// or the offset, and `UTC` for `Z`.
fn iso(text: &str) -> Option<(DateTime, Option<Offset>, bool)> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || !text.is_ascii() {
        return None;
    }
    if text.contains('[') {
        let zoned: Zoned = text.parse().ok()?;
        return Some((zoned.datetime(), Some(zoned.offset()), true));
    }
    let mut text = Cow::Borrowed(text);
    if bytes.iter().all(u8::is_ascii_digit) {
        match bytes.len() {
            8 => {}
            14 => text = Cow::Owned(format!("{}T{}", &text[..8], &text[8..])),
            _ => return None,
        }
        // Other numbers with as many digits are not dates.
        if !(1900..2200).contains(&text[..4].parse::<i32>().ok()?) {
            return None;
        }
    } else if bytes[4] == b'/' && bytes.get(7) == Some(&b'/') {
        text = Cow::Owned(format!("{}-{}-{}", &text[..4], &text[5..7], &text[8..]));
    }
    for utc in [" UTC", " GMT", "UTC", " Z"] {
        if let Some(rest) = text.strip_suffix(utc) {
            text = Cow::Owned(format!("{rest}Z"));
            break;
        }
    }
    if let Some(at) = text.rfind([' ']).filter(|&at| at > 10)
        && text[at + 1..].starts_with(['+', '-'])
    {
        text = Cow::Owned(format!("{}{}", &text[..at], &text[at + 1..]));
    }
    let pieces = Pieces::parse(text.as_bytes()).ok()?;
    let date = pieces.date();
    let time = pieces.time();
    let datetime = date.to_datetime(time.unwrap_or_default());
    Some((datetime, pieces.to_numeric_offset(), time.is_some()))
}

fn log(text: &str) -> Option<Timestamp> {
    // Cheap checks first, because this runs on every text of a table.
    let bytes = text.as_bytes();
    let slash = bytes.get(2) == Some(&b'/') || bytes.get(1) == Some(&b'/');
    if !slash || !bytes.iter().any(u8::is_ascii_alphabetic) {
        return None;
    }
    strtime::parse("%d/%b/%Y:%H:%M:%S %z", text)
        .ok()?
        .to_timestamp()
        .ok()
}

/// Parses the times of one column in order.
#[derive(Debug, Clone)]
pub struct TimeReader {
    zone: TimeZone,
    format: Option<TimeFormat>,
    /// Whether the format was named by the user rather than detected.
    named: bool,
    last_us: i64,
    gaps: usize,
    folds: usize,
    offsets: BTreeSet<i32>,
}

impl TimeReader {
    /// Creates a reader for times in the zone of `times`, with the format that the user named, if any.
    pub fn new(times: &Times, named: Option<&str>) -> Self {
        Self {
            zone: times.zone.clone(),
            format: named.map(TimeFormat::named),
            named: named.is_some(),
            last_us: i64::MIN,
            gaps: 0,
            folds: 0,
            offsets: BTreeSet::new(),
        }
    }

    /// Returns the format, once it is known.
    pub fn format(&self) -> Option<&TimeFormat> {
        self.format.as_ref()
    }

    /// Detects the format from the first values of a column, unless the user has named one.
    ///
    /// # Errors
    /// When no format matches the first value, or when all values leave open whether the day or the month
    /// comes first. The error says what would be valid.
    pub fn detect_format<'t>(
        &mut self,
        sample: impl Iterator<Item = &'t str>,
    ) -> Result<(), String> {
        if self.format.is_some() {
            return Ok(());
        }
        let mut shapes = sample
            .filter(|text| !text.trim().is_empty())
            .map(shape)
            .peekable();
        let Some(Some(first)) = shapes.peek().copied() else {
            return Err("a time".to_owned());
        };
        self.format = Some(match first {
            Shape::Zoned => TimeFormat::Zoned,
            Shape::Local => TimeFormat::Local,
            Shape::Date => TimeFormat::Date,
            Shape::Epoch(unit) => TimeFormat::Epoch(unit),
            Shape::Log => TimeFormat::Log,
            Shape::Slashes(_, _, true) => TimeFormat::Slashes(DayOrder::DayFirst),
            Shape::Slashes(..) => {
                let order = shapes.find_map(|shape| match shape {
                    Some(Shape::Slashes(13.., _, _)) => Some(DayOrder::DayFirst),
                    Some(Shape::Slashes(_, 13.., _)) => Some(DayOrder::MonthFirst),
                    _ => None,
                });
                TimeFormat::Slashes(order.ok_or_else(|| {
                    "a time whose day and month can be told apart; name its format, like \
                     %m/%d/%Y %H:%M:%S"
                        .to_owned()
                })?)
            }
        });
        Ok(())
    }

    /// Parses a time into microseconds since the epoch.
    ///
    /// # Errors
    /// When the text does not match the column's format. The error says what would be valid.
    pub fn read_us(&mut self, text: &str) -> Result<i64, String> {
        let text = text.trim();
        if self.format.is_none() {
            self.detect_format(std::iter::once(text))?;
        }
        let Some(format) = self.format.take() else {
            return Err("a time".to_owned());
        };
        let read = self.read_as(&format, text).ok_or_else(|| format.expected());
        self.format = Some(format);
        self.last_us = *read.as_ref().unwrap_or(&self.last_us);
        read
    }

    fn read_as(&mut self, format: &TimeFormat, text: &str) -> Option<i64> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        match format {
            TimeFormat::Zoned | TimeFormat::Local | TimeFormat::Date => {
                let (datetime, offset, has_time) = iso(text)?;
                match (format, offset, has_time) {
                    (TimeFormat::Zoned, Some(offset), _) => {
                        if self.offsets.len() <= OFFSETS_MAX {
                            self.offsets.insert(offset.seconds());
                        }
                        offset
                            .to_timestamp(datetime)
                            .ok()
                            .map(Timestamp::as_microsecond)
                    }
                    (TimeFormat::Local, None, true) | (TimeFormat::Date, None, false) => {
                        self.local_us(datetime)
                    }
                    _ => None,
                }
            }
            TimeFormat::Epoch(unit) => epoch_us(text, *unit, self.named),
            TimeFormat::Log => log(text).map(Timestamp::as_microsecond),
            TimeFormat::Slashes(order) => {
                let datetime = Slashes::parse(text)?.datetime(*order)?;
                self.local_us(datetime)
            }
            TimeFormat::Named(format) => {
                let broken = strtime::parse(format, text).ok()?;
                if let Ok(timestamp) = broken.to_timestamp() {
                    return Some(timestamp.as_microsecond());
                }
                let datetime = broken
                    .to_datetime()
                    .or_else(|_| {
                        broken
                            .to_date()
                            .map(|date| date.to_datetime(Time::midnight()))
                    })
                    .ok()?;
                self.local_us(datetime)
            }
        }
    }

    /// Converts a local time in the reader's zone. A time that was skipped by the clock is moved forward by
    /// the length of the gap; of a time that occurs twice, the second occurrence is taken if the first
    /// would be earlier than the previous time.
    fn local_us(&mut self, datetime: DateTime) -> Option<i64> {
        let ambiguous = self.zone.to_ambiguous_timestamp(datetime);
        let us = |offset: Offset| {
            offset
                .to_timestamp(datetime)
                .ok()
                .map(Timestamp::as_microsecond)
        };
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset } => us(offset),
            AmbiguousOffset::Gap { before, .. } => {
                self.gaps += 1;
                us(before)
            }
            AmbiguousOffset::Fold { before, after } => {
                self.folds += 1;
                let (first, second) = (us(before)?, us(after)?);
                let take_second = first < self.last_us && second >= self.last_us;
                Some(if take_second { second } else { first })
            }
        }
    }

    /// Converts a local time that was parsed elsewhere.
    pub(crate) fn read_local_us(&mut self, datetime: DateTime) -> Option<i64> {
        let at_us = self.local_us(datetime)?;
        self.last_us = at_us;
        Some(at_us)
    }

    /// Describes anything unusual about the times.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.gaps > 0 {
            notes.push(format!(
                "{} in the hour that the clocks skipped: moved forward by as much",
                count(self.gaps, "local time")
            ));
        }
        if self.folds > 0 {
            notes.push(format!(
                "{} in the hour that came twice: told apart by the order of the lines",
                count(self.folds, "local time")
            ));
        }
        if self.offsets.len() > 1 {
            let shown: Vec<String> = self
                .offsets
                .iter()
                .take(OFFSETS_MAX)
                .filter_map(|&seconds| Offset::from_seconds(seconds).ok())
                .map(|offset| offset.to_string())
                .collect();
            let more = if self.offsets.len() > OFFSETS_MAX {
                " and more"
            } else {
                ""
            };
            notes.push(format!(
                "times name different offsets: {}{more}",
                shown.join(", ")
            ));
        }
        notes
    }
}

/// Converts a number of `unit` since 1970 to microseconds; unless `any` is set, only numbers whose
/// magnitude implies `unit` are accepted.
fn epoch_us(text: &str, unit: EpochUnit, any: bool) -> Option<i64> {
    let number: f64 = text.parse().ok()?;
    if !number.is_finite() || !(any || EpochUnit::of(number) == Some(unit)) {
        return None;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let us = if plain(whole) && plain(fraction) && whole.len() + fraction.len() < 30 {
        // Digit by digit, because a double lacks the precision for nanoseconds.
        let mut digits = format!("{whole}{fraction}");
        let point = whole.len() + 6;
        while digits.len() < point {
            digits.push('0');
        }
        let end = point.checked_sub(unit.digits())?;
        let kept = digits.get(..end).unwrap_or("");
        if kept.is_empty() {
            0
        } else {
            kept.parse().ok()?
        }
    } else {
        let us = number * 10_f64.powi(6 - i32::try_from(unit.digits()).ok()?);
        if us.abs() > 9e18 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 9e18")]
        let us = us.round() as i64;
        us
    };
    // Callers convert the times of a series to timestamps, so they must be in range.
    Timestamp::from_microsecond(us).ok().map(|_| us)
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;
