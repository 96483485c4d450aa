//! Parsers for `ssd` values within their bounds. Workloads, policies and states are parsed by `flash`.

use crate::values;
use flash::drive_file::PAGES_PER_BLOCK;
use std::ops::RangeInclusive;
use units::ValueError;

pub use flash::drive_file::{over_provisioning, page_bytes, preset};

/// Allowed interval of a series, in hours.
const INTERVAL_HOURS: RangeInclusive<u64> = 1..=168;

/// Parses a fill level: above 0, below 100 %.
///
/// # Errors
/// If the text is not such a value.
pub fn fill(text: &str) -> Result<f64, ValueError> {
    bounded(
        values::share(text)?,
        text,
        "a share above 0 and below 100%",
        |value| value > 0.0 && value < 1.0,
    )
}

/// Parses a number of pages: above 0.
///
/// # Errors
/// If the text is not such a value.
pub fn pages(text: &str) -> Result<u64, ValueError> {
    let expected = "a number of pages above 0, such as 1000000, 16M or 16Mi";
    let pages = values::count(text).map_err(|error| ValueError {
        expected: expected.to_owned(),
        ..error
    })?;
    bounded(pages, text, expected, |pages| pages > 0)
}

/// Parses pages per block: `256`, `16Ki`.
///
/// # Errors
/// If the text is not such a value.
pub fn pages_per_block(text: &str) -> Result<u32, ValueError> {
    let expected = || ValueError::new("1 to 65535 pages such as 256 or 16Ki", text);
    let pages = values::count(text).map_err(|_| expected())?;
    let pages = u32::try_from(pages).ok();
    pages
        .filter(|pages| PAGES_PER_BLOCK.contains(pages))
        .ok_or_else(expected)
}

/// Parses a whole number from `LOW` to `HIGH`, such as days or drives.
///
/// # Errors
/// If the text is not such a value.
pub fn whole<const LOW: u32, const HIGH: u32>(text: &str) -> Result<u32, ValueError> {
    let number = values::count(text).ok();
    number
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| (LOW..=HIGH).contains(number))
        .ok_or_else(|| ValueError::new(format!("a whole number of {LOW} to {HIGH}"), text))
}

/// Parses bytes read per byte written: 0 to 1000.
///
/// # Errors
/// If the text is not such a value.
pub fn reads(text: &str) -> Result<f64, ValueError> {
    let value = text.trim().parse::<f64>().ok();
    value
        .filter(|value| (0.0..=1000.0).contains(value))
        .ok_or_else(|| ValueError::new("bytes read by byte written, 0 to 1000", text))
}

/// Parses the interval of a series in whole hours, 1 to 168: `6h`, `1d`.
///
/// # Errors
/// If the text is not such a value.
pub fn hours(text: &str) -> Result<u32, ValueError> {
    let expected = || ValueError::new("whole hours of 1h to 168h", text);
    let seconds = values::duration(text)?.as_secs_f64();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of a duration
    let hours = (seconds / 3600.0) as u64;
    #[allow(clippy::cast_precision_loss)] // whole hours
    let is_whole = (hours as f64 * 3600.0 - seconds).abs() < 1e-6;
    if !is_whole || !INTERVAL_HOURS.contains(&hours) {
        return Err(expected());
    }
    u32::try_from(hours).map_err(|_| expected())
}

fn bounded<T: Copy>(
    value: T,
    text: &str,
    expected: &str,
    is_within: impl Fn(T) -> bool,
) -> Result<T, ValueError> {
    if is_within(value) {
        Ok(value)
    } else {
        Err(ValueError::new(expected, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn complaint<T: std::fmt::Debug>(found: Result<T, ValueError>) -> String {
        found.unwrap_err().to_string()
    }

    #[test]
    fn shares() {
        assert_eq!(over_provisioning("150%"), Ok(1.5));
        assert_eq!(over_provisioning("0.28"), Ok(0.28));
        assert!(complaint(over_provisioning("7")).contains("7%"));
        assert!(over_provisioning("0").is_err() && over_provisioning("2000%").is_err());
        assert!(fill("100%").is_err() && fill("0").is_err());
        assert_eq!(fill("62%"), Ok(0.62));
    }

    #[test]
    fn numbers_of_pages() {
        for (text, number) in [
            ("1000000", 1_000_000),
            ("1_048_576", 1 << 20),
            ("25,000", 25_000),
            ("25k", 25_000),
            ("16M", 16_000_000),
            ("16Mi", 16 << 20),
        ] {
            assert_eq!(pages(text), Ok(number), "{text}");
        }
        for text in ["", "0", "-1", "16MB", "16MiB", "many", "1e6"] {
            assert!(complaint(pages(text)).contains("number of pages"), "{text}");
        }
    }

    #[test]
    fn whole_numbers() {
        assert_eq!(pages_per_block("16Ki"), Ok(16_384));
        for text in ["0", "1M", "-1", "65536", "abc"] {
            let error = complaint(pages_per_block(text));
            assert!(error.contains("1 to 65535"), "{error}");
        }
        assert_eq!(whole::<1, 3660>("1,000"), Ok(1000));
        for text in ["0", "0.0001", "169", "-3", "x"] {
            let error = complaint(whole::<1, 168>(text));
            assert!(error.contains("of 1 to 168, found"), "{error}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(hours("6h"), Ok(6));
        assert_eq!(hours("7d"), Ok(168));
        for text in ["6", "0.5h", "90min", "169h", "0h"] {
            assert!(hours(text).is_err(), "{text}");
        }
        assert!(complaint(hours("6")).contains("6 has no unit"));
    }

    #[test]
    fn the_rest() {
        assert_eq!(preset("TLC"), Ok("tlc".to_owned()));
        assert!(complaint(preset("plc")).contains("qlc"));
        assert!(reads("-1").is_err());
        assert_eq!(page_bytes("16KiB"), Ok(16_384));
        assert!(complaint(page_bytes("16384")).contains("has no unit"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|[a-z]{0,8}[:@ /,0-9.%]{0,12}") {
            let _ = (over_provisioning(&text), pages(&text), fill(&text), hours(&text));
            let _ = (reads(&text), preset(&text), page_bytes(&text));
        }

        #[test]
        fn percent_and_plain_agree(percent in 0.0_f64..100.0) {
            let a = fill(&format!("{percent:.4}%"));
            let b = fill(&format!("{:.6}", percent / 100.0));
            if let (Ok(a), Ok(b)) = (a, b) {
                prop_assert!((a - b).abs() < 1e-6);
            }
        }
    }
}
