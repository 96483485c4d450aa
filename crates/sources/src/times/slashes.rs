//! Times of day, and times whose dates have the day or the month first.

use jiff::civil::{Date, DateTime, Time};

/// Whether the day or the month comes first in `04/05/2020`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayOrder {
    /// `13/04/2020`, and always `13.04.2020`.
    DayFirst,
    /// `04/13/2020`.
    MonthFirst,
}

/// Years that only Thailand's calendar has now.
const BUDDHIST_YEARS: std::ops::RangeInclusive<i16> = 2513..=2700;

/// The parts of a time such as `04/13/2020 06:47:01 AM`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slashes {
    pub first: u32,
    pub second: u32,
    pub year: i16,
    /// Whether the year has only two digits.
    pub short_year: bool,
    /// Whether the separators are dots, so that the day is first.
    pub dots: bool,
    /// Whether it has AM or PM.
    pub has_am_pm: bool,
    pub time: Option<Time>,
}

impl Slashes {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let date_end = text.find([' ', ',', 'T']).unwrap_or(text.len());
        let (date, rest) = text.split_at(date_end);
        let separator = date.find(['/', '.', '-'])?;
        let separator = char::from(*date.as_bytes().get(separator)?);
        let mut parts = date.split(separator);
        let (first, second, year_text) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str, lens: &[usize]| {
            lens.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if parts.next().is_some()
            || !digits(first, &[1, 2])
            || !digits(second, &[1, 2])
            || !digits(year_text, &[2, 4])
        {
            return None;
        }
        let year: i16 = year_text.parse().ok()?;
        let short_year = year_text.len() == 2;
        let rest = rest.trim_start_matches([' ', ',', 'T']);
        let (time, has_am_pm) = if rest.is_empty() {
            (None, false)
        } else {
            let (time, has_am_pm) = clock(rest)?;
            (Some(time), has_am_pm)
        };
        Some(Self {
            first: first.parse().ok()?,
            second: second.parse().ok()?,
            // %y as in strptime (POSIX).
            year: match (short_year, year) {
                (true, ..69) => 2000 + year,
                (true, _) => 1900 + year,
                (false, _) => year,
            },
            short_year,
            dots: separator == '.',
            has_am_pm,
            time,
        })
    }

    /// Returns whether the day or the month comes first, if this time alone tells.
    pub fn order(&self) -> Option<DayOrder> {
        if self.dots || self.first > 12 {
            Some(DayOrder::DayFirst)
        } else if self.second > 12 || self.has_am_pm && !self.short_year {
            // Of the locales with slashes, only en_US has four-digit years and AM or PM.
            Some(DayOrder::MonthFirst)
        } else {
            None
        }
    }

    pub fn datetime(&self, order: DayOrder) -> Option<DateTime> {
        let (day, month) = match order {
            DayOrder::DayFirst => (self.first, self.second),
            DayOrder::MonthFirst => (self.second, self.first),
        };
        // Thailand's calendar counts from 543 years earlier.
        let year = if BUDDHIST_YEARS.contains(&self.year) {
            self.year - 543
        } else {
            self.year
        };
        let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        Some(date.ok()?.to_datetime(self.time.unwrap_or_default()))
    }
}

/// Parses a time of day, `06:47`, `06:47:01.5`, `6:47:01 AM`; also returns whether it has AM or PM.
pub(crate) fn clock(text: &str) -> Option<(Time, bool)> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let (digits, half) = if let Some(rest) = upper.strip_suffix("AM") {
        (rest, Some(0))
    } else if let Some(rest) = upper.strip_suffix("PM") {
        (rest, Some(12))
    } else {
        (upper.as_str(), None)
    };
    let digits = digits.trim_end();
    // Fractions are truncated to jiff's precision.
    let (whole, fraction) = match digits.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, fraction),
        None => (digits, ""),
    };
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos: i32 = format!("{fraction:0<9}").parse().ok()?;
    let mut parts = whole.split(':');
    let mut part = || -> Option<Option<i8>> {
        let Some(text) = parts.next() else {
            return Some(None);
        };
        let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok())
    };
    let (hour, minute, second) = (part()??, part()??, part()?.unwrap_or(0));
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(base) => hour % 12 + base,
    };
    Time::new(hour, minute, second, nanos)
        .ok()
        .map(|time| (time, half.is_some()))
}
