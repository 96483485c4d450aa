//! Timestamps, days and weekdays.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

/// `2026-10-25`.
pub fn day(at: Timestamp, zone: &TimeZone) -> String {
    formatted(at, zone, "%Y-%m-%d")
}

/// `2026-10-25 06:47`.
pub fn minute(at: Timestamp, zone: &TimeZone) -> String {
    formatted(at, zone, "%Y-%m-%d %H:%M")
}

/// `2026-10-25 06:47:12`.
pub fn second(at: Timestamp, zone: &TimeZone) -> String {
    formatted(at, zone, "%Y-%m-%d %H:%M:%S")
}

/// `Sun 2026-10-25 06:47`, for use where the day of the week matters.
pub fn weekday_minute(at: Timestamp, zone: &TimeZone) -> String {
    formatted(at, zone, "%a %Y-%m-%d %H:%M")
}

/// `2026-10-25 06:47 CEST`, for use where the zone is not known from the context.
pub fn minute_in_zone(at: Timestamp, zone: &TimeZone) -> String {
    formatted(at, zone, "%Y-%m-%d %H:%M %Z")
}

/// Formats a timestamp with [`jiff`]'s strftime.
pub fn formatted(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

/// `Monday`.
pub fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// `Mon`, for axes and tables.
pub fn weekday_short(day: Weekday) -> &'static str {
    &weekday(day)[..3]
}

/// Formats a set of weekdays as part of a sentence: `from Monday to Friday`, `on Tuesday and Thursday`,
/// `every day but Wednesday`. Days are numbered from Monday.
pub fn on_weekdays(days: &[Weekday]) -> String {
    let has = |index: i8| days.contains(&nth(index));
    let count = (0..7).filter(|&index| has(index)).count();
    if count == 7 {
        return "every day".to_owned();
    }
    if let (6, Some(missing)) = (count, (0..6).find(|&index| !has(index))) {
        return format!("every day but {}", weekday(nth(missing)));
    }
    // First days of runs of consecutive days; Monday follows Sunday.
    let firsts: Vec<i8> = (0..7)
        .filter(|&index| has(index) && !has(index + 6))
        .collect();
    if let ([first], 3..) = (firsts.as_slice(), count) {
        let last = (*first..).take(count).last().unwrap_or(*first);
        return format!("from {} to {}", weekday(nth(*first)), weekday(nth(last)));
    }
    let names: Vec<&str> = (0..7)
        .filter(|&index| has(index))
        .map(|index| weekday(nth(index)))
        .collect();
    format!("on {}", crate::list(&names))
}

/// Returns the day of the week with a given number, 0 for Monday; numbers beyond 6 wrap around.
fn nth(index: i8) -> Weekday {
    Weekday::from_monday_zero_offset(index.rem_euclid(7)).unwrap_or(Weekday::Monday)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let zone = crate::zone::parse("Europe/Berlin").unwrap();
        let at: Timestamp = "2026-10-25T04:47:12Z".parse().unwrap();
        assert_eq!(day(at, &zone), "2026-10-25");
        assert_eq!(minute(at, &zone), "2026-10-25 05:47");
        assert_eq!(second(at, &TimeZone::UTC), "2026-10-25 04:47:12");
        assert_eq!(weekday_minute(at, &zone), "Sun 2026-10-25 05:47");
        assert_eq!(minute_in_zone(at, &zone), "2026-10-25 05:47 CET");
    }

    #[test]
    fn consecutive_weekdays_are_grouped() {
        let of = |days: &[i8]| on_weekdays(&days.iter().copied().map(nth).collect::<Vec<_>>());
        assert_eq!(of(&[0, 1, 2, 3, 4]), "from Monday to Friday");
        assert_eq!(of(&[0, 1, 2, 3, 6]), "from Sunday to Thursday");
        assert_eq!(of(&[1, 3]), "on Tuesday and Thursday");
        assert_eq!(of(&[0, 2, 4]), "on Monday, Wednesday and Friday");
        assert_eq!(of(&[5, 6]), "on Saturday and Sunday");
        assert_eq!(of(&[2]), "on Wednesday");
        assert_eq!(of(&[0, 1, 3, 4, 5, 6]), "every day but Wednesday");
        assert_eq!(of(&[0, 1, 2, 3, 4, 5]), "from Monday to Saturday");
        assert_eq!(of(&[0, 1, 2, 3, 4, 5, 6]), "every day");
        assert_eq!(weekday_short(Weekday::Sunday), "Sun");
    }
}
