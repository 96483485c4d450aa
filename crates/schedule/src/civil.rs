//! Day numbers of the proleptic Gregorian calendar.
//!
//! The formulas are Howard Hinnant's ("chrono-Compatible Low-Level Date Algorithms"). Years start
//! on 1 March in eras of 400 years, so that a leap day is the last day of its year.

/// Seconds per day, ignoring clock changes.
pub(crate) const DAY_S: i64 = 86_400;
/// Names of the days of the week, Monday first, in the C locale.
pub(crate) const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
/// Names of the months in the C locale.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Returns the days from 1970-01-01 to a date. `month` may lie outside 1 to 12 and `day` outside
/// the month: they overflow into adjacent years and months, as in mktime(3).
pub(crate) fn days_of_date(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let march_year = if month <= 2 { year - 1 } else { year };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 + day - 1
}

/// Returns the year, month and day of a day number.
pub(crate) fn date_of_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Returns the number of days in a month; `month` is 1 to 12.
pub(crate) fn month_len(year: i64, month: i64) -> i64 {
    days_of_date(year, month + 1, 1) - days_of_date(year, month, 1)
}

/// Day of the week of a day number, 0 for Monday.
pub(crate) fn weekday_from_monday(days: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (days + 3).rem_euclid(7)
}

/// Day of the week of a day number, 0 for Sunday.
pub(crate) fn weekday_from_sunday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::{Date, date};

    #[test]
    fn agrees_with_jiff_over_two_eras() {
        let epoch = date(1970, 1, 1);
        let mut day: Date = date(1600, 1, 1);
        let mut number = days_of_date(1600, 1, 1);
        while day < date(2402, 1, 1) {
            assert_eq!(
                number,
                i64::from((day - epoch).get_days()),
                "day number of {day}"
            );
            assert_eq!(
                date_of_days(number),
                (
                    i64::from(day.year()),
                    i64::from(day.month()),
                    i64::from(day.day())
                )
            );
            assert_eq!(
                weekday_from_monday(number),
                i64::from(day.weekday().to_monday_zero_offset())
            );
            assert_eq!(
                weekday_from_sunday(number),
                i64::from(day.weekday().to_sunday_zero_offset())
            );
            assert_eq!(
                month_len(i64::from(day.year()), i64::from(day.month())),
                i64::from(day.days_in_month())
            );
            day = day.tomorrow().expect("far from the end of time");
            number += 1;
        }
    }

    #[test]
    fn months_and_days_overflow() {
        assert_eq!(days_of_date(2024, 13, 1), days_of_date(2025, 1, 1));
        assert_eq!(days_of_date(2024, 0, 1), days_of_date(2023, 12, 1));
        assert_eq!(days_of_date(2023, 2, 30), days_of_date(2023, 3, 2));
    }
}
