//! Syslog files: the traditional format (RFC 3164, written by rsyslog and `journalctl`), with RFC
//! 3339 times, and RFC 5424.

use super::Log;
use super::message::MessageParser;
use super::pair::{REDACTED, RunPairer};
use crate::civil::{DAY_S, MONTHS, month_len};
use crate::run::Seen;
use crate::zone::wall_instants;
use facts::InputError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const EXPECTED: &str = "a line of syslog: `Jun  9 06:47:01 host program[1]: text`, or with a time such as 2024-06-09T06:47:01+02:00";

/// A line dated more than this many seconds after the next one is from the previous year.
const BACKWARDS_MAX_S: i64 = DAY_S;

/// The earliest year considered.
const YEAR_MIN: i64 = 1990;

/// When a line was written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stamp {
    At(Timestamp),
    /// Month, day and second of the day in the host's zone; the year is unknown.
    OfYear {
        month: i64,
        day: i64,
        second: i64,
    },
}

impl Stamp {
    /// Returns a number that increases within a year.
    fn order_s(self) -> Option<i64> {
        match self {
            Self::At(_) => None,
            Self::OfYear { month, day, second } => Some((month * 31 + day) * DAY_S + second),
        }
    }
}

pub(super) fn parse(
    source: &str,
    text: &str,
    zone: &TimeZone,
    ended: Timestamp,
    mut parser: MessageParser<'_>,
) -> Result<Log, InputError> {
    let mut pairs = RunPairer::new(source, Seen::Syslog);
    let mut years = Years::of(text, zone, ended);
    let mut before: Option<Timestamp> = None;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let read = split(line).and_then(|line| {
            let at = match line.stamp {
                Stamp::At(at) => at,
                Stamp::OfYear { month, day, second } => {
                    let year = years.of_line(index);
                    resolve((year, month, day, second), zone, before)?
                }
            };
            Some((at, line))
        });
        let Some((at, line)) = read else {
            pairs.count_unparsed(|| InputError::new(source, EXPECTED, REDACTED).at_line(index + 1));
            continue;
        };
        before = Some(at);
        let recorded = parser.event(line.program, line.message);
        if !pairs.push(at, index + 1, Some(line.host), recorded) {
            break;
        }
    }
    pairs.finish(EXPECTED)
}

/// Returns the instant of a wall time; if it is repeated, the first instant not before the previous
/// line.
fn resolve(
    (year, month, day, second): (i64, i64, i64, i64),
    zone: &TimeZone,
    before: Option<Timestamp>,
) -> Option<Timestamp> {
    let small = |value: i64| i8::try_from(value).ok();
    let wall = DateTime::new(
        i16::try_from(year).ok()?,
        small(month)?,
        small(day)?,
        small(second / 3_600)?,
        small(second / 60 % 60)?,
        small(second % 60)?,
        0,
    )
    .ok()?;
    let (first, second) = wall_instants(wall, zone)?;
    Some(match before {
        Some(before) if first < before && second >= before => second,
        _ => first,
    })
}

/// The years of lines that do not contain them.
struct Years {
    /// The index of the first line of each year, ascending, and the year.
    begins: Vec<(usize, i64)>,
    /// The entry used for the previous line.
    current: usize,
}

impl Years {
    /// Determines the years backward from the last line, which is in the latest year that puts it
    /// before the end of the file. A line dated well after the next one is from the previous year.
    fn of(text: &str, zone: &TimeZone, ended: Timestamp) -> Self {
        let ended_on = ended.to_zoned(zone.clone());
        let mut year = i64::from(ended_on.year());
        let mut below_s: Option<i64> = None;
        let mut begins = Vec::new();
        let count = text.lines().count();
        for (from_end, line) in text.lines().rev().enumerate() {
            let index = count - 1 - from_end;
            let Some(stamp @ Stamp::OfYear { month, day, second }) =
                split(line).map(|line| line.stamp)
            else {
                continue;
            };
            let Some(order_s) = stamp.order_s() else {
                continue;
            };
            let mut of_line = year;
            match below_s {
                Some(below_s) if order_s > below_s + BACKWARDS_MAX_S => of_line -= 1,
                Some(_) => {}
                None => {
                    // Allow a day of difference: clocks and zones may differ.
                    let at = resolve((year, month, day, second), zone, None);
                    let latest_s = ended.as_second().saturating_add(DAY_S);
                    if at.is_none_or(|at| at.as_second() > latest_s) {
                        of_line -= 1;
                    }
                }
            }
            while day > month_len(of_line, month) && of_line > YEAR_MIN {
                of_line -= 1;
            }
            if of_line != year {
                begins.push((index + 1, year));
                year = of_line;
            }
            if year <= YEAR_MIN {
                break;
            }
            below_s = Some(order_s);
        }
        begins.push((0, year));
        begins.reverse();
        Self { begins, current: 0 }
    }

    /// Returns the year of a line; lines must be queried in ascending order.
    fn of_line(&mut self, index: usize) -> i64 {
        while let Some((begin, _)) = self.begins.get(self.current + 1)
            && *begin <= index
        {
            self.current += 1;
        }
        self.begins[self.current].1
    }
}

/// A log line.
struct Line<'a> {
    stamp: Stamp,
    /// The text in the host field.
    host: &'a str,
    program: &'a str,
    message: &'a str,
}

fn split(line: &str) -> Option<Line<'_>> {
    let (line, is_rfc_5424) = without_priority(line.trim_end());
    if is_rfc_5424 {
        // Time, host, program, process, kind, data, text (RFC 5424, section 6).
        let (stamp, rest) = line.split_once(' ')?;
        let mut fields = rest.splitn(5, ' ');
        let (host, program, _process, _kind) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        let message = without_data(fields.next()?)?;
        return Some(Line {
            stamp: Stamp::At(stamp.parse().ok()?),
            host,
            program,
            message,
        });
    }
    let (stamp, rest) = match line.as_bytes().first()? {
        b'0'..=b'9' => {
            let (stamp, rest) = line.split_once(' ')?;
            (Stamp::At(stamp.parse().ok()?), rest)
        }
        _ => of_year(line)?,
    };
    let (host, rest) = rest.trim_start().split_once(' ')?;
    let (tag, message) = rest.trim_start().split_once(": ").or_else(|| {
        // A line without text.
        Some((rest.trim_start().strip_suffix(':')?, ""))
    })?;
    if tag.contains(char::is_whitespace) {
        // Text without a program is not parsed further.
        return Some(Line {
            stamp,
            host,
            program: "",
            message: rest,
        });
    }
    let program = tag.split_once('[').map_or(tag, |(program, _)| program);
    Some(Line {
        stamp,
        host,
        program,
        message: message.trim_start(),
    })
}

/// Strips `<78>`, or `<78>1 ` of RFC 5424; also returns whether it was the latter.
fn without_priority(line: &str) -> (&str, bool) {
    let priority = line
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .filter(|(number, _)| {
            (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
        });
    match priority {
        Some((_, rest)) => match rest.strip_prefix("1 ") {
            Some(rest) => (rest, true),
            None => (rest, false),
        },
        None => (line, false),
    }
}

/// Strips the structured data in front of the text.
fn without_data(rest: &str) -> Option<&str> {
    let text = if let Some(text) = rest.strip_prefix('-') {
        text
    } else {
        let mut end = None;
        let (mut quoted, mut escaped) = (false, false);
        for (at, c) in rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                ']' if !quoted && !rest[at + 1..].starts_with('[') => {
                    end = Some(at + 1);
                    break;
                }
                _ => {}
            }
        }
        rest.starts_with('[').then_some(&rest[end?..])?
    };
    // A byte order mark indicates that the text is UTF-8.
    Some(text.trim_start().trim_start_matches('\u{feff}'))
}

/// Parses `Jun  9 06:47:01` and returns the rest of the line.
fn of_year(line: &str) -> Option<(Stamp, &str)> {
    let (name, rest) = line.split_once(' ')?;
    let month = MONTHS.iter().position(|month| month[..3] == *name)?;
    let (day, rest) = rest.trim_start().split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let number = |text: &str, max: i64| -> Option<i64> {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i64>().ok().filter(|n| is_number && *n <= max)
    };
    // High-precision times have a fraction.
    let (time, _) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let stamp = Stamp::OfYear {
        month: i64::try_from(month).ok()? + 1,
        day: number(day, 31).filter(|day| *day > 0)?,
        second: number(hour, 23)? * 3_600 + number(minute, 59)? * 60 + number(second, 60)?.min(59),
    };
    parts.next().is_none().then_some((stamp, rest))
}
