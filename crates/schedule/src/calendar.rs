//! Calendar event expressions of systemd timers, `OnCalendar=` (systemd.time(7)).

mod next;
mod parse;

use crate::cron::CronSpec;
use crate::window::SECOND_US;
use jiff::tz::TimeZone;
use std::fmt;

/// A calendar event expression.
///
/// Parsed and printed as systemd 252 does (`calendarspec.c`), within the grammar of
/// systemd.time(7). A trailing abbreviation of the host's own zone (`CEST`) is rejected, because
/// its meaning depends on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    /// Bit n is day n of the week, 0 for Monday; no bits set means every day.
    weekdays: u8,
    year: Vec<Part>,
    month: Vec<Part>,
    day: Vec<Part>,
    /// Days count from the end of the month, 1 for the last.
    from_month_end: bool,
    hour: Vec<Part>,
    minute: Vec<Part>,
    /// In microseconds.
    second: Vec<Part>,
    /// The time zone in the expression; the host's zone if it has none.
    zone: Option<TimeZone>,
}

/// One element of a list. An empty list matches everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    start: i64,
    /// Last value of the range; `None` if the repetition is open-ended.
    stop: Option<i64>,
    /// 0 for a single value.
    repeat: i64,
}

impl Part {
    /// A single value.
    fn only(start: i64) -> Self {
        Self {
            start,
            stop: None,
            repeat: 0,
        }
    }
}

/// `*` in the seconds field.
const EVERY_SECOND: Part = Part {
    start: 0,
    stop: None,
    repeat: SECOND_US,
};

/// Monday first, matching the bits of `weekdays`.
const WEEKDAY_NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

impl Calendar {
    /// Converts a crontab line to events: one, or two if either the day or the weekday has to
    /// match.
    pub(crate) fn of_crontab(spec: &CronSpec) -> Vec<Self> {
        let list = |bits: u64, unit: i64| {
            (0..64)
                .filter(|bit| bits & (1 << bit) != 0)
                .map(|value: i64| Part::only(value * unit))
                .collect::<Vec<Part>>()
        };
        // Sunday comes last here; all seven days set means every day.
        let from_monday =
            u8::try_from((spec.weekdays & 0x7f) >> 1 | (spec.weekdays & 1) << 6).unwrap_or(0);
        let both = Self {
            weekdays: if from_monday == 0x7f { 0 } else { from_monday },
            year: Vec::new(),
            month: list(spec.months, 1),
            day: list(spec.days, 1),
            from_month_end: false,
            hour: list(spec.hours, 1),
            minute: list(spec.minutes, 1),
            second: list(1, SECOND_US),
            zone: None,
        };
        if !spec.either_day {
            return vec![both];
        }
        let by_day = Self {
            weekdays: 0,
            ..both.clone()
        };
        let by_weekday = Self {
            day: Vec::new(),
            ..both
        };
        vec![by_day, by_weekday]
    }

    /// The time zone named in the expression itself.
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }
}

/// Formats the normalized form, as printed by `systemd-analyze calendar`.
impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.weekdays != 0 {
            write_weekdays(f, self.weekdays)?;
            f.write_str(" ")?;
        }
        write_numbers(f, &self.year, 4)?;
        f.write_str("-")?;
        write_numbers(f, &self.month, 2)?;
        f.write_str(if self.from_month_end { "~" } else { "-" })?;
        write_numbers(f, &self.day, 2)?;
        f.write_str(" ")?;
        write_numbers(f, &self.hour, 2)?;
        f.write_str(":")?;
        write_numbers(f, &self.minute, 2)?;
        f.write_str(":")?;
        write_seconds(f, &self.second)?;
        match self.zone.as_ref().and_then(TimeZone::iana_name) {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

/// Writes three or more consecutive days as `Mon..Wed`, others as a list.
fn write_weekdays(f: &mut fmt::Formatter<'_>, bits: u8) -> fmt::Result {
    let is_set = |day: usize| day < WEEKDAY_NAMES.len() && bits & (1 << day) != 0;
    let mut comma = "";
    let mut day = 0;
    while day < WEEKDAY_NAMES.len() {
        if !is_set(day) {
            day += 1;
            continue;
        }
        let mut last = day;
        while is_set(last + 1) {
            last += 1;
        }
        write!(f, "{comma}{}", WEEKDAY_NAMES[day])?;
        if last > day {
            let joint = if last > day + 1 { ".." } else { "," };
            write!(f, "{joint}{}", WEEKDAY_NAMES[last])?;
        }
        comma = ",";
        day = last + 1;
    }
    Ok(())
}

fn write_numbers(f: &mut fmt::Formatter<'_>, parts: &[Part], width: usize) -> fmt::Result {
    if parts.is_empty() {
        return f.write_str("*");
    }
    for (index, part) in parts.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma}{:0width$}", part.start)?;
        if let Some(stop) = part.stop {
            write!(f, "..{stop:0width$}")?;
        }
        // The default step of a range is 1.
        if part.repeat > 0 && !(part.stop.is_some() && part.repeat == 1) {
            write!(f, "/{}", part.repeat)?;
        }
    }
    Ok(())
}

fn write_seconds(f: &mut fmt::Formatter<'_>, parts: &[Part]) -> fmt::Result {
    if parts.contains(&EVERY_SECOND) {
        return f.write_str("*");
    }
    let fraction = |f: &mut fmt::Formatter<'_>, value_us: i64| match value_us % SECOND_US {
        0 => Ok(()),
        rest => write!(f, ".{rest:06}"),
    };
    for (index, part) in parts.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma}{:02}", part.start / SECOND_US)?;
        fraction(f, part.start)?;
        if let Some(stop) = part.stop {
            write!(f, "..{:02}", stop / SECOND_US)?;
            fraction(f, stop)?;
        }
        if part.repeat > 0 && !(part.stop.is_some() && part.repeat == SECOND_US) {
            write!(f, "/{}", part.repeat / SECOND_US)?;
            fraction(f, part.repeat)?;
        }
    }
    Ok(())
}
