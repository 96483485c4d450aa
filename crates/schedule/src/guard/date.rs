//! What `date +FORMAT` prints, as GNU's date does in the C locale.

use crate::civil::{
    DAY_S, MONTHS, WEEKDAYS, date_of_days, days_of_date, weekday_from_monday, weekday_from_sunday,
};
use crate::zone::Clock;
use std::fmt::Write as _;

/// The widest field that is printed: `%010d`.
const WIDTH_MAX: usize = 32;

/// Returns the text of an instant that lies some days and seconds away; `None` if the format has
/// directives that are not known.
pub(super) fn text(
    format: &str,
    at_s: i64,
    days: i64,
    seconds: i64,
    clock: &mut Clock,
) -> Option<String> {
    let mut at_s = at_s;
    if days != 0 {
        // Days are counted on the calendar: a day on which clocks change is one day.
        let wall_s = at_s.checked_add(clock.offset_at(at_s))?;
        at_s = clock.instant_of(wall_s.checked_add(days.checked_mul(DAY_S)?)?);
    }
    at_s = at_s.checked_add(seconds)?;
    let moment = Moment::of(at_s, clock);
    let mut out = String::new();
    moment.print(format, &mut out)?;
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
    second: i64,
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
            second: second % 60,
        }
    }

    /// Days since 1 January.
    fn day_of_year(&self) -> i64 {
        self.days - days_of_date(self.year, 1, 1)
    }

    /// The ISO 8601 year and week: those of the week's Thursday.
    fn iso_week(&self) -> (i64, i64) {
        let thursday = self.days - weekday_from_monday(self.days) + 3;
        let (year, _, _) = date_of_days(thursday);
        (year, (thursday - days_of_date(year, 1, 1)) / 7 + 1)
    }

    fn print(&self, format: &str, out: &mut String) -> Option<()> {
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut flag = None;
            let mut is_upper = false;
            while let Some(&c) = rest.peek()
                && "-_0^#".contains(c)
            {
                match c {
                    '^' => is_upper = true,
                    '#' => return None,
                    c => flag = Some(c),
                }
                rest.next();
            }
            let mut width = 0;
            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                width = width * 10 + usize::try_from(digit).ok()?;
                rest.next();
                if width > WIDTH_MAX {
                    return None;
                }
            }
            let from = out.len();
            self.directive(rest.next()?, flag, width, out)?;
            if is_upper {
                let upper = out[from..].to_uppercase();
                out.truncate(from);
                out.push_str(&upper);
            }
        }
        Some(())
    }

    fn directive(&self, c: char, flag: Option<char>, width: usize, out: &mut String) -> Option<()> {
        let mut number = |value: i64, usual: usize, padding: char| {
            let width = if width > 0 { width } else { usual };
            let written = match (flag, padding) {
                (Some('-'), _) => write!(out, "{value}"),
                (Some('_'), _) | (None, ' ') => write!(out, "{value:width$}"),
                _ => write!(out, "{value:0width$}"),
            };
            written.ok()
        };
        let weekday = weekday_from_sunday(self.days);
        let hour_12 = (self.hour + 11) % 12 + 1;
        match c {
            'd' => number(self.day, 2, '0'),
            'e' => number(self.day, 2, ' '),
            'm' => number(self.month, 2, '0'),
            'Y' => number(self.year, 4, '0'),
            'y' => number(self.year.rem_euclid(100), 2, '0'),
            'C' => number(self.year.div_euclid(100), 2, '0'),
            'G' => number(self.iso_week().0, 4, '0'),
            'g' => number(self.iso_week().0.rem_euclid(100), 2, '0'),
            'H' => number(self.hour, 2, '0'),
            'k' => number(self.hour, 2, ' '),
            'I' => number(hour_12, 2, '0'),
            'l' => number(hour_12, 2, ' '),
            'M' => number(self.minute, 2, '0'),
            'S' => number(self.second, 2, '0'),
            's' => number(self.at_s, 1, '0'),
            'j' => number(self.day_of_year() + 1, 3, '0'),
            'q' => number((self.month + 2) / 3, 1, '0'),
            'u' => number(weekday_from_monday(self.days) + 1, 1, '0'),
            'w' => number(weekday, 1, '0'),
            // Weeks that begin on Sundays and on Mondays; the days before the first are week 0.
            'U' => number((self.day_of_year() + 7 - weekday) / 7, 2, '0'),
            'W' => number(
                (self.day_of_year() + 7 - weekday_from_monday(self.days)) / 7,
                2,
                '0',
            ),
            'V' => number(self.iso_week().1, 2, '0'),
            _ if width > 0 || flag.is_some() => None,
            'F' => self.print("%Y-%m-%d", out),
            'T' => self.print("%H:%M:%S", out),
            'R' => self.print("%H:%M", out),
            'D' => self.print("%m/%d/%y", out),
            'a' => Self::name(&WEEKDAYS, weekday_from_monday(self.days), 3, out),
            'A' => Self::name(&WEEKDAYS, weekday_from_monday(self.days), usize::MAX, out),
            'b' | 'h' => Self::name(&MONTHS, self.month - 1, 3, out),
            'B' => Self::name(&MONTHS, self.month - 1, usize::MAX, out),
            'p' => {
                out.push_str(if self.hour < 12 { "AM" } else { "PM" });
                Some(())
            }
            '%' => {
                out.push('%');
                Some(())
            }
            _ => None,
        }
    }

    fn name(names: &[&str], index: i64, len: usize, out: &mut String) -> Option<()> {
        let name = names.get(usize::try_from(index).ok()?)?;
        out.push_str(name.get(..len).unwrap_or(name));
        Some(())
    }
}
