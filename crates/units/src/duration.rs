//! Durations, from microseconds to years.

use crate::ValueError;
use crate::count::{count, grouped};
use crate::number::number;
use std::fmt::Write as _;
use std::time::Duration;

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 60 * MINUTE_S;
const DAY_S: u64 = 24 * HOUR_S;
/// From this length on, hours are not shown.
const DAYS_ALONE_S: u64 = 100 * DAY_S;
/// From this length on, durations are shown in years of 365.25 days.
const YEARS_S: u64 = 2 * 365 * DAY_S;

/// Longest duration shown, a billion years; longer ones are clamped to it.
const LENGTH_MAX_S: f64 = 3e16;

/// [`seconds`] of a [`Duration`].
pub fn duration(duration: Duration) -> String {
    seconds(duration.as_secs_f64())
}

/// Formats a duration in seconds: three significant digits below a minute, then the two largest units,
/// rounded: `420 us`, `56 ms`, `4.2 s`, `1 min 30 s`, `1 h 40 min`, `5 days 2 h`, `120 days`, `2.5 years`.
/// A value that is not a valid duration is shown as 0.
pub fn seconds(seconds: f64) -> String {
    if seconds.is_nan() || seconds <= 0.0 {
        return "0 s".to_owned();
    }
    // A value that would round to 1000 of a unit is shown as 1 of the next.
    if seconds < 999.5e-6 {
        return format!("{} us", number(seconds * 1e6));
    }
    if seconds < 0.9995 {
        return format!("{} ms", number(seconds * 1e3));
    }
    if seconds < 59.95 {
        return format!("{} s", number(seconds));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    let whole = seconds.min(LENGTH_MAX_S).round() as u64;
    if whole < HOUR_S {
        return two(whole, MINUTE_S, "min", 1, "s");
    }
    let minutes = (whole + 30) / MINUTE_S * MINUTE_S;
    if minutes < DAY_S {
        return two(minutes, HOUR_S, "h", MINUTE_S, "min");
    }
    let hours = (whole + HOUR_S / 2) / HOUR_S * HOUR_S;
    if hours < DAYS_ALONE_S {
        let days = count(hours / DAY_S, "day");
        let rest_h = hours % DAY_S / HOUR_S;
        return if rest_h == 0 {
            days
        } else {
            format!("{days} {rest_h} h")
        };
    }
    if whole < YEARS_S {
        return count((whole + DAY_S / 2) / DAY_S, "day");
    }
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let years = whole as f64 / (365.25 * DAY_S as f64);
    format!("{} years", number(years))
}

fn two(length_s: u64, large_s: u64, large: &str, small_s: u64, small: &str) -> String {
    let rest = length_s % large_s / small_s;
    let first = format!("{} {large}", grouped(length_s / large_s));
    if rest == 0 {
        first
    } else {
        format!("{first} {rest} {small}")
    }
}

/// Units that [`parse`] accepts, in nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("m", MINUTE_S * 1_000_000_000),
    ("min", MINUTE_S * 1_000_000_000),
    ("h", HOUR_S * 1_000_000_000),
    ("d", DAY_S * 1_000_000_000),
    ("day", DAY_S * 1_000_000_000),
    ("days", DAY_S * 1_000_000_000),
    ("w", 7 * DAY_S * 1_000_000_000),
];

/// Parses a duration above zero, largest unit first: `5ms`, `90s`, `1h30m`, `1 h 30 min`, `90d`.
///
/// # Errors
/// When `text` is not a duration above zero, or has no unit.
pub fn parse(text: &str) -> Result<Duration, ValueError> {
    let expected = || ValueError::new("a duration such as 5ms, 90s, 1h30m or 2d", text);
    let mut rest = text.trim();
    let mut total_ns: u64 = 0;
    let mut smallest_ns = u64::MAX;
    if rest.is_empty() {
        return Err(expected());
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        let end = behind
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        if unit.is_empty() && !digits.is_empty() {
            return Err(expected().hint(format!(
                "{digits} has no unit: write {digits}s or {digits}min, for example"
            )));
        }
        let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(expected());
        };
        let part = crate::digits::scaled(digits, *unit_ns);
        let (part_ns, _) = part.ok_or_else(expected)?;
        // Units in ascending order, such as `30m1h`, are most likely a typo.
        if *unit_ns >= smallest_ns {
            return Err(expected());
        }
        smallest_ns = *unit_ns;
        total_ns = total_ns.checked_add(part_ns).ok_or_else(expected)?;
        rest = behind.trim_start();
    }
    if total_ns == 0 {
        return Err(ValueError::new("a duration above zero", text));
    }
    Ok(Duration::from_nanos(total_ns))
}

/// Formats a duration without loss in the syntax that [`parse`] accepts: `1h30m`, `1ms500us`; none is `0s`, which only some
/// options take.
pub fn argument(duration: Duration) -> String {
    const UNITS: &[(&str, u128)] = &[
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    if duration.is_zero() {
        return "0s".to_owned();
    }
    let mut left_ns = duration.as_nanos();
    let mut text = String::new();
    for (unit, ns) in UNITS {
        if left_ns >= *ns {
            let _ = write!(text, "{}{unit}", left_ns / ns);
            left_ns %= ns;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_formatted() {
        for (length_s, words) in [
            (0.0, "0 s"),
            (-1.0, "0 s"),
            (f64::NAN, "0 s"),
            (0.000_42, "420 us"),
            (0.000_999_6, "1 ms"),
            (0.056, "56 ms"),
            (0.999_6, "1 s"),
            (4.2, "4.2 s"),
            (45.0, "45 s"),
            (59.96, "1 min"),
            (61.0, "1 min 1 s"),
            (90.0, "1 min 30 s"),
            (3599.6, "1 h"),
            (6000.0, "1 h 40 min"),
            (12_000.0, "3 h 20 min"),
            (86_399.0, "1 day"),
            (86_400.0, "1 day"),
            (439_200.0, "5 days 2 h"),
            (604_800.0, "7 days"),
            (120.0 * 86_400.0, "120 days"),
            (730.0 * 86_400.0, "2 years"),
        ] {
            assert_eq!(seconds(length_s), words, "{length_s}");
        }
        assert!(seconds(f64::INFINITY).ends_with("years"));
        assert_eq!(duration(Duration::from_millis(5)), "5 ms");
    }

    #[test]
    fn durations_are_parsed() {
        for (text, ms) in [
            ("5ms", 5),
            ("90s", 90_000),
            ("4h", 4 * 3_600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("1 h 30 min", 5_400_000),
            (" 2s ", 2000),
            ("1.5s", 1500),
            ("90d", 90 * 86_400_000),
            ("5 days 2 h", 439_200_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "5",
            "-5ms",
            "0s",
            "5ms ago",
            "P1D",
            "PT5S",
            "ms",
            "5 lightyears",
            "1e9s",
            "30m1h",
            "1h1h",
            "1h30",
            "99999999999999999999h",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("expected a duration"), "{text}: {error}");
        }
        assert!(
            parse("5")
                .unwrap_err()
                .to_string()
                .contains("5 has no unit")
        );
    }

    #[test]
    fn arguments() {
        assert_eq!(argument(Duration::from_mins(90)), "1h30m");
        assert_eq!(argument(Duration::ZERO), "0s");
        assert_eq!(argument(Duration::from_micros(1500)), "1ms500us");
    }

    proptest! {
        #[test]
        fn arguments_round_trip(ns in 1..=u64::MAX) {
            let duration = Duration::from_nanos(ns);
            prop_assert_eq!(parse(&argument(duration)), Ok(duration));
        }

        #[test]
        fn durations_are_accurate_to_one_percent_or_a_unit(length_s in 1e-6..1e9_f64) {
            // Output parses back to the same value, except for years, which [`parse`] does not accept.
            let words = seconds(length_s);
            if !words.ends_with("years") {
                let back = parse(&words).unwrap().as_secs_f64();
                let step = (length_s * 0.006).max(0.0);
                prop_assert!((back - length_s).abs() <= step.max(length_s * 0.021), "{length_s} became {words}");
            }
        }

        #[test]
        fn any_input_is_handled_without_panic(text in ".*") {
            let _ = parse(&text);
        }
    }
}
