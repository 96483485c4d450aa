//! What `date +FORMAT` prints, as GNU's date does in the C locale, and what the shell makes of it.

use crate::civil::{
    DAY_S, WEEKDAYS, date_of_days, days_of_date, weekday_from_monday, weekday_from_sunday,
};
use crate::zone::Clock;
use facts::host::{ClockDate, ClockStep};

/// Why a condition has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoValue {
    /// It cannot be told.
    Unknown,
    /// It is no number: `test` fails, and the shell goes on.
    NoNumber,
    /// The shell ends with an error: `$((09 % 2))`.
    Stops,
}

/// Returns the text, without the space in front of ` 7` (`%e`).
pub(super) fn text(date: &ClockDate, at_s: i64, clock: &mut Clock) -> Result<String, NoValue> {
    if date.steps.is_empty() {
        let printed = printed(date, at_s, clock).ok_or(NoValue::Unknown)?;
        return Ok(printed.trim().to_owned());
    }
    match number(date, at_s, clock) {
        Err(NoValue::NoNumber) => Err(NoValue::Stops),
        value => value.map(|value| value.to_string()),
    }
}

/// Returns the number.
pub(super) fn number(date: &ClockDate, at_s: i64, clock: &mut Clock) -> Result<i64, NoValue> {
    let text = printed(date, at_s, clock).ok_or(NoValue::Unknown)?;
    let text = text.trim();
    let radix = if date.is_octal && text.starts_with('0') {
        8
    } else {
        10
    };
    let mut value = i64::from_str_radix(text, radix).map_err(|_| match date.steps.as_slice() {
        [] => NoValue::NoNumber,
        _ => NoValue::Stops,
    })?;
    for (step, by) in &date.steps {
        value = match step {
            ClockStep::Add => value.checked_add(*by),
            ClockStep::Subtract => value.checked_sub(*by),
            ClockStep::Multiply => value.checked_mul(*by),
            ClockStep::Divide => value.checked_div(*by),
            ClockStep::Remainder => value.checked_rem(*by),
        }
        .ok_or(NoValue::Unknown)?;
    }
    Ok(value)
}

/// Returns what `date` prints; `None` if the format has directives that are not known.
fn printed(date: &ClockDate, at_s: i64, clock: &mut Clock) -> Option<String> {
    let mut at_s = at_s;
    if date.days != 0 {
        // Days are counted on the calendar: a day on which clocks change is one day.
        let wall_s = at_s.checked_add(clock.offset_at(at_s))?;
        at_s = clock.instant_of(wall_s.checked_add(date.days.checked_mul(DAY_S)?)?);
    }
    let moment = Moment::of(at_s, clock);
    let mut out = String::new();
    for directive in date.format.split('%').skip(1) {
        let (is_plain, letter) = match directive.strip_prefix('-') {
            Some(letter) => (true, letter),
            None => (false, directive),
        };
        let shown = moment.shown(letter)?;
        match shown.trim_start_matches(['0', ' ']) {
            "" if is_plain => out.push('0'),
            trimmed if is_plain => out.push_str(trimmed),
            _ => out.push_str(&shown),
        }
    }
    Some(out)
}

struct Moment {
    at_s: i64,
    year: i64,
    month: i64,
    day: i64,
    /// Days since 1970-01-01.
    days: i64,
    hour: i64,
    minute: i64,
}

impl Moment {
    fn of(at_s: i64, clock: &mut Clock) -> Self {
        let wall_s = at_s + clock.offset_at(at_s);
        let days = wall_s.div_euclid(DAY_S);
        let (year, month, day) = date_of_days(days);
        let second = wall_s.rem_euclid(DAY_S);
        Self {
            at_s,
            year,
            month,
            day,
            days,
            hour: second / 3_600,
            minute: second / 60 % 60,
        }
    }

    /// Days since 1 January.
    fn day_of_year(&self) -> i64 {
        self.days - days_of_date(self.year, 1, 1)
    }

    /// The ISO 8601 week: that of the week's Thursday.
    fn iso_week(&self) -> i64 {
        let thursday = self.days - weekday_from_monday(self.days) + 3;
        let (year, _, _) = date_of_days(thursday);
        (thursday - days_of_date(year, 1, 1)) / 7 + 1
    }

    fn shown(&self, letter: &str) -> Option<String> {
        let from_monday = weekday_from_monday(self.days);
        let from_sunday = weekday_from_sunday(self.days);
        // Weeks that begin on Sundays and on Mondays; the days before the first are week 0.
        let week = |weekday: i64| (self.day_of_year() + 7 - weekday) / 7;
        Some(match letter {
            "a" => {
                let name = WEEKDAYS.get(usize::try_from(from_monday).ok()?)?;
                name.get(..3)?.to_owned()
            }
            "d" => format!("{:02}", self.day),
            "e" => format!("{:2}", self.day),
            "m" => format!("{:02}", self.month),
            "Y" => format!("{:04}", self.year),
            "H" => format!("{:02}", self.hour),
            "k" => format!("{:2}", self.hour),
            "M" => format!("{:02}", self.minute),
            "s" => self.at_s.to_string(),
            "j" => format!("{:03}", self.day_of_year() + 1),
            "u" => (from_monday + 1).to_string(),
            "w" => from_sunday.to_string(),
            "U" => format!("{:02}", week(from_sunday)),
            "W" => format!("{:02}", week(from_monday)),
            "V" => format!("{:02}", self.iso_week()),
            _ => return None,
        })
    }
}
