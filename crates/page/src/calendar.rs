//! Calendar ticks on an axis, in a time zone.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

const DAY_S: i64 = 86_400;
/// From this span on, days alone distinguish its ends.
const DAYS_S: f64 = 14.0 * 86_400.0;
/// Below this span, ticks show seconds, because minutes alone would repeat.
const MINUTES_S: f64 = 3_600.0;

/// The interval between ticks.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A fraction of a day.
    Seconds(i64),
    /// Days; multiples of a week begin on Mondays.
    Days(i32),
    /// Months of a year.
    Months(i16),
    /// Years.
    Years(i16),
}

const SECONDS: [i64; 17] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
];
const DAYS: [i32; 4] = [1, 2, 7, 14];
const MONTHS: [i16; 4] = [1, 2, 3, 6];
const YEARS: [i16; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

impl Step {
    /// Returns its approximate length.
    fn length_s(self) -> f64 {
        const DAY: f64 = 86_400.0;
        match self {
            #[allow(clippy::cast_precision_loss)] // a day at most
            Self::Seconds(seconds) => seconds as f64,
            Self::Days(days) => f64::from(days) * DAY,
            Self::Months(months) => f64::from(months) * 30.4 * DAY,
            Self::Years(years) => f64::from(years) * 365.25 * DAY,
        }
    }

    /// Returns the last wall time on this step's grid at or before `wall`.
    fn floor(self, wall: DateTime) -> Option<DateTime> {
        let date = wall.date();
        let midnight = match self {
            Self::Seconds(step) => {
                let time = wall.time();
                let since_midnight = i64::from(time.hour()) * 3_600
                    + i64::from(time.minute()) * 60
                    + i64::from(time.second());
                let seconds = since_midnight / step * step;
                return date
                    .at(0, 0, 0, 0)
                    .checked_add(SignedDuration::from_secs(seconds))
                    .ok();
            }
            Self::Days(days) => {
                // 1970-01-05 was a Monday.
                let monday = Date::constant(1970, 1, 5);
                let since = monday.until(date).ok()?.get_days();
                date.checked_sub(since.rem_euclid(days).days()).ok()?
            }
            Self::Months(step) => {
                let month = i16::from(date.month() - 1) / step * step + 1;
                Date::new(date.year(), i8::try_from(month).ok()?, 1).ok()?
            }
            Self::Years(step) => Date::new(date.year().div_euclid(step) * step, 1, 1).ok()?,
        };
        Some(midnight.at(0, 0, 0, 0))
    }

    fn next(self, wall: DateTime) -> Option<DateTime> {
        match self {
            Self::Seconds(seconds) => wall.checked_add(SignedDuration::from_secs(seconds)),
            Self::Days(days) => wall.checked_add(days.days()),
            Self::Months(months) => wall.checked_add(months.months()),
            Self::Years(years) => wall.checked_add(years.years()),
        }
        .ok()
    }

    fn label(self, at: &Zoned) -> String {
        let is_midnight = at.hour() == 0 && at.minute() == 0 && at.second() == 0;
        let format = match self {
            Self::Seconds(step) if step < DAY_S && !is_midnight => {
                if step < 60 {
                    "%H:%M:%S"
                } else {
                    "%H:%M"
                }
            }
            Self::Seconds(_) | Self::Days(_) => "%b %-d",
            Self::Months(_) if at.month() > 1 => "%b",
            Self::Months(_) | Self::Years(_) => "%Y",
        };
        at.strftime(format).to_string()
    }
}

/// Returns round timestamps within a range of seconds since 1970, with their labels, for steps from a
/// second up to years. Steps too fine for `columns` are skipped.
pub(crate) fn steps(
    zone: TimeZone,
    range: (f64, f64),
    columns: f64,
) -> impl Iterator<Item = Vec<(f64, String)>> {
    let seconds = SECONDS.into_iter().map(Step::Seconds);
    let days = DAYS.into_iter().map(Step::Days);
    let months = MONTHS.into_iter().map(Step::Months);
    let years = YEARS.into_iter().map(Step::Years);
    seconds
        .chain(days)
        .chain(months)
        .chain(years)
        .filter(move |step| (range.1 - range.0) / step.length_s() <= columns)
        .map(move |step| moments(step, &zone, range))
}

fn moments(step: Step, zone: &TimeZone, range: (f64, f64)) -> Vec<(f64, String)> {
    let Some(start) = zoned(range.0, zone) else {
        return Vec::new();
    };
    let mut found: Vec<(f64, String)> = Vec::new();
    let mut wall = step.floor(start.datetime());
    while let Some(at) = wall.and_then(|wall| wall.to_zoned(zone.clone()).ok()) {
        #[allow(clippy::cast_precision_loss)] // whole seconds
        let at_s = at.timestamp().as_second() as f64;
        if at_s > range.1 {
            break;
        }
        // An hour that the clock skips or repeats gets no tick of its own.
        let is_later = found.last().is_none_or(|(before, _)| *before < at_s);
        if at_s >= range.0 && is_later {
            found.push((at_s, step.label(&at)));
        }
        wall = wall.and_then(|wall| step.next(wall));
    }
    found
}

fn zoned(at_s: f64, zone: &TimeZone) -> Option<Zoned> {
    if !at_s.is_finite() {
        return None;
    }
    #[allow(clippy::cast_possible_truncation)] // saturates, and is refused then
    let second = at_s.floor() as i64;
    Some(Timestamp::from_second(second).ok()?.to_zoned(zone.clone()))
}

/// Formats a timestamp with the precision a table needs; `None` if it is out of range.
pub(crate) fn moment(at_s: f64, zone: &TimeZone) -> Option<String> {
    let at = zoned(at_s, zone)?;
    let format = if at.second() == 0 {
        "%Y-%m-%d %H:%M"
    } else {
        "%Y-%m-%d %H:%M:%S"
    };
    Some(at.strftime(format).to_string())
}

/// Formats both ends of a span and the zone they are in; `None` if they are not valid timestamps.
pub(crate) fn ends(range: (f64, f64), zone: &TimeZone) -> Option<String> {
    let span_s = range.1 - range.0;
    let format = if span_s >= DAYS_S {
        "%Y-%m-%d"
    } else if span_s >= MINUTES_S {
        "%Y-%m-%d %H:%M"
    } else {
        "%Y-%m-%d %H:%M:%S"
    };
    let (from, to) = (zoned(range.0, zone)?, zoned(range.1, zone)?);
    let from = from.strftime(format).to_string();
    let to = to.strftime(format).to_string();
    let zone = name(zone);
    if from == to {
        return Some(format!("{from}, {zone}"));
    }
    Some(format!("{from} to {to}, {zone}"))
}

pub(crate) fn name(zone: &TimeZone) -> String {
    match zone.iana_name() {
        Some(name) => name.to_owned(),
        None => zone.to_offset(Timestamp::UNIX_EPOCH).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        units::zone::parse("Europe/Berlin").unwrap()
    }

    fn second(text: &str) -> f64 {
        let at: Timestamp = text.parse().unwrap();
        #[allow(clippy::cast_precision_loss)]
        let second = at.as_second() as f64;
        second
    }

    fn labels(step: Step, from: &str, to: &str) -> String {
        let found = moments(step, &berlin(), (second(from), second(to)));
        let labels: Vec<String> = found.into_iter().map(|(_, label)| label).collect();
        labels.join(" ")
    }

    #[test]
    fn calendar_ticks_are_round() {
        // Mondays.
        assert_eq!(
            labels(
                Step::Days(7),
                "2015-12-30T00:00:00Z",
                "2016-01-20T00:00:00Z"
            ),
            "Jan 4 Jan 11 Jan 18"
        );
        assert_eq!(
            labels(
                Step::Months(3),
                "2015-12-30T00:00:00Z",
                "2016-08-01T00:00:00Z"
            ),
            "2016 Apr Jul"
        );
        assert_eq!(
            labels(
                Step::Years(5),
                "1999-06-01T00:00:00Z",
                "2011-01-01T00:00:00Z"
            ),
            "2000 2005 2010"
        );
        assert_eq!(
            labels(
                Step::Seconds(30),
                "2026-11-22T10:00:15Z",
                "2026-11-22T10:01:40Z"
            ),
            "11:00:30 11:01:00 11:01:30"
        );
    }

    #[test]
    fn midnights_follow_clock_changes() {
        // 2026-03-29 has 23 hours in Berlin; there is no 02:00.
        let day = moments(
            Step::Days(1),
            &berlin(),
            (
                second("2026-03-28T23:00:00Z"),
                second("2026-03-30T22:00:00Z"),
            ),
        );
        let distances: Vec<f64> = day.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert_eq!(distances.len(), 2);
        assert!((distances[0] - 23.0 * 3_600.0).abs() < 1.0);
        assert_eq!(
            labels(
                Step::Seconds(3_600),
                "2026-03-29T00:00:00Z",
                "2026-03-29T03:00:00Z"
            ),
            "01:00 03:00 04:00 05:00"
        );
        assert_eq!(
            labels(
                Step::Seconds(21_600),
                "2026-03-28T20:00:00Z",
                "2026-03-29T20:00:00Z"
            ),
            "Mar 29 06:00 12:00 18:00"
        );
    }

    #[test]
    fn ends_name_the_zone() {
        let words = |from: &str, to: &str| ends((second(from), second(to)), &berlin()).unwrap();
        assert_eq!(
            words("2016-01-03T23:00:00Z", "2016-03-27T00:00:00Z"),
            "2016-01-04 to 2016-03-27, Europe/Berlin"
        );
        assert_eq!(
            words("2016-01-03T23:00:00Z", "2016-01-04T09:30:00Z"),
            "2016-01-04 00:00 to 2016-01-04 10:30, Europe/Berlin"
        );
        assert_eq!(ends((0.0, 1e300), &TimeZone::UTC), None);
        assert_eq!(name(&TimeZone::UTC), "UTC");
        assert_eq!(
            moment(second("2016-01-03T23:00:07Z"), &berlin()).unwrap(),
            "2016-01-04 00:00:07"
        );
    }
}
