//! systemd's time spans and timestamps (systemd.time(7)).

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Units in seconds. A month is 30.44 days and a year 365.25 days, as defined in systemd.time(7).
const UNITS: &[(&str, f64)] = &[
    ("usec", 1e-6),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("msec", 1e-3),
    ("ms", 1e-3),
    ("seconds", 1.0),
    ("second", 1.0),
    ("sec", 1.0),
    ("s", 1.0),
    ("minutes", 60.0),
    ("minute", 60.0),
    ("min", 60.0),
    ("m", 60.0),
    ("hours", 3600.0),
    ("hour", 3600.0),
    ("hr", 3600.0),
    ("h", 3600.0),
    ("days", 86_400.0),
    ("day", 86_400.0),
    ("d", 86_400.0),
    ("weeks", 604_800.0),
    ("week", 604_800.0),
    ("w", 604_800.0),
    ("months", 2_630_016.0),
    ("month", 2_630_016.0),
    ("M", 2_630_016.0),
    ("years", 31_557_600.0),
    ("year", 31_557_600.0),
    ("y", 31_557_600.0),
];

/// Parses a time span to seconds: `1h 40min`, `90`, `2.5d`, `infinity`. A number without a unit is
/// in seconds. `None` if it is not a time span.
pub fn parse_span_s(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    if rest == "infinity" {
        return Some(f64::INFINITY);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let number_len = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_len);
        // `parse` also accepts forms such as `1.`, as systemd does.
        let number: f64 = number.parse().ok()?;
        let after = after.trim_start();
        let unit_len = after
            .find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let factor = if unit.is_empty() {
            1.0
        } else {
            UNITS.iter().find(|(name, _)| *name == unit)?.1
        };
        total += number * factor;
        rest = after.trim_start();
    }
    Some(total)
}

/// Parses a timestamp as written by `systemctl show`: `Mon 2026-11-23 00:04:50 UTC`, or
/// `@1795392290`. `None` for `n/a`, `0`, empty text, and any zone but UTC, because abbreviations
/// are ambiguous.
pub fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(seconds) = text.strip_prefix('@') {
        return Timestamp::from_second(seconds.parse().ok()?).ok();
    }
    let mut words = text.split_whitespace();
    let mut date = words.next()?;
    if date.chars().all(|c| c.is_ascii_alphabetic()) {
        date = words.next()?;
    }
    let time = words.next()?;
    let zone = words.next()?;
    if words.next().is_some() || !matches!(zone, "UTC" | "GMT") {
        return None;
    }
    let moment: DateTime = format!("{date}T{time}").parse().ok()?;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_of_the_manual() {
        // systemd.time(7), "Parsing time spans".
        for (text, expected) in [
            ("2 h", 7200.0),
            ("2hours", 7200.0),
            ("48hr", 172_800.0),
            ("1y 12month", 31_557_600.0 + 12.0 * 2_630_016.0),
            ("55s500ms", 55.5),
            ("300ms20s 5day", 0.3 + 20.0 + 432_000.0),
            ("1h 40min", 6000.0),
            ("6000", 6000.0),
            ("0", 0.0),
            ("1min 30s", 90.0),
            ("1.5h", 5400.0),
        ] {
            let seconds = parse_span_s(text).expect(text);
            assert!((seconds - expected).abs() < 1e-6, "{text}: {seconds}");
        }
        assert_eq!(parse_span_s("infinity"), Some(f64::INFINITY));
        for text in ["", "h", "5 parsecs", "-5", "1..2", "."] {
            assert_eq!(parse_span_s(text), None, "{text}");
        }
    }

    #[test]
    fn timestamps() {
        let at = parse_timestamp("Mon 2026-11-23 00:04:50 UTC").expect("a timestamp");
        assert_eq!(at.to_string(), "2026-11-23T00:04:50Z");
        assert_eq!(
            parse_timestamp("@86400").map(|t| t.to_string()).as_deref(),
            Some("1970-01-02T00:00:00Z")
        );
        for text in [
            "",
            "n/a",
            "0",
            "Mon 2026-11-23 00:04:50 CET",
            "Mon",
            "Mon 2026-13-01 00:00:00 UTC",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn total(text in "\\PC{0,40}") {
            parse_span_s(&text);
            parse_timestamp(&text);
        }

        #[test]
        fn parts_add_up(hours in 0_u32..1000, minutes in 0_u32..60, seconds in 0_u32..60) {
            let text = format!("{hours}h {minutes}min {seconds}s");
            let expected = f64::from(hours * 3600 + minutes * 60 + seconds);
            prop_assert_eq!(parse_span_s(&text), Some(expected));
        }
    }
}
