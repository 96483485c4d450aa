//! Durations, sizes and rates as people write them.

use jiff::SignedDuration;
use std::fmt::Write as _;
use std::time::Duration;

/// A rate of discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesPerSecond(pub u64);

/// A duration: `5ms`, `4h`, `1h30m`. It must be above zero.
///
/// # Errors
/// A sentence that says what was expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a duration such as 5ms, 90s or 1h30m, found {text:?}");
    let text = text.trim();
    // jiff reads "5" in no way and "P1D" as ISO 8601, which nobody means here.
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(expected());
    }
    let parsed: SignedDuration = text.parse().map_err(|_| expected())?;
    let duration = Duration::try_from(parsed).map_err(|_| expected())?;
    if duration.is_zero() {
        return Err(format!("expected a duration above zero, found {text:?}"));
    }
    Ok(duration)
}

/// Units by their names in lower case. As in `fstrim`, a letter alone and `iB` are powers of 1024,
/// `B` after a letter makes it a power of 1000.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

/// Digits after the point that are looked at; a byte of a TiB needs thirteen.
const FRACTION_DIGITS_MAX: usize = 15;

/// A size in bytes: `16MiB`, `500MB`, `1.5G`, `4096`. It must be above zero; a fraction of a byte is
/// cut.
///
/// # Errors
/// A sentence that says what was expected.
pub fn size(text: &str) -> Result<u64, String> {
    let expected = || {
        format!(
            "expected a size such as 16MiB, 500MB or 4096, found {text:?}: K, M, G and T, alone or \
             with iB, are powers of 1024, KB, MB, GB and TB powers of 1000"
        )
    };
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| u128::from(*factor))
        .ok_or_else(expected)?;
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(expected()),
        None => (number, ""),
    };
    if whole.is_empty() || fraction.contains('.') || fraction.len() > FRACTION_DIGITS_MAX {
        return Err(expected());
    }
    let whole: u64 = whole.parse().map_err(|_| expected())?;
    let mut bytes = u128::from(whole) * factor;
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().map_err(|_| expected())?;
        let scale = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| expected())?);
        bytes += digits * factor / scale;
    }
    match u64::try_from(bytes) {
        Ok(0) => Err(format!("expected a size above zero, found {text:?}")),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(format!("expected a size below 16 EiB, found {text:?}")),
    }
}

/// A rate: a size with `/s`, as `500MiB/s`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn rate(text: &str) -> Result<BytesPerSecond, String> {
    text.trim()
        .strip_suffix("/s")
        .and_then(|text| size(text).ok())
        .map(BytesPerSecond)
        .ok_or_else(|| format!("expected a rate such as 500MiB/s, found {text:?}"))
}

/// A duration as [`duration`] reads it: `1h30m`.
pub fn written_duration(duration: Duration) -> String {
    const UNITS: &[(&str, u128)] = &[
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1000),
        ("ns", 1),
    ];
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

/// A size as [`size`] reads it, in the largest unit that needs no fraction: `16MiB`.
pub fn written_size(bytes: u64) -> String {
    [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")]
        .iter()
        .find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits))
        .map_or_else(
            || bytes.to_string(),
            |(bits, unit)| format!("{}{unit}", bytes >> bits),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_written_as_people_write_them() {
        assert_eq!(written_duration(Duration::from_mins(90)), "1h30m");
        assert_eq!(written_duration(Duration::from_millis(5)), "5ms");
        assert_eq!(written_duration(Duration::from_micros(1500)), "1ms500us");
        assert_eq!(written_size(16 << 20), "16MiB");
        assert_eq!(written_size(500_000_000), "500000000");
    }

    #[test]
    fn durations() {
        for (text, ms) in [
            ("5ms", 5),
            ("90s", 90_000),
            ("4h", 4 * 3_600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            (" 2s ", 2000),
            ("1.5s", 1500),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
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
            "99999999999999999999h",
        ] {
            let error = duration(text).unwrap_err();
            assert!(error.starts_with("expected a duration"), "{text}: {error}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("16MiB", 16 << 20),
            ("16M", 16 << 20),
            ("16mib", 16 << 20),
            ("500MB", 500_000_000),
            ("4096", 4096),
            ("512 B", 512),
            ("1.5G", 3 << 29),
            ("0.5KiB", 512),
            ("2TB", 2_000_000_000_000),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "MiB",
            "-1M",
            "0",
            "0.0001k",
            "1.M",
            ".5M",
            "1.2.3M",
            "16Mib/s",
            "16 XiB",
            "20000000T",
            "99999999999999999999",
            "１６M",
            "1.0000000000000000M",
        ] {
            assert!(
                size(text).unwrap_err().starts_with("expected a size"),
                "{text}"
            );
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("500MiB/s"), Ok(BytesPerSecond(500 << 20)));
        for text in ["500MiB", "500MiB/m", "/s", "0/s", ""] {
            assert!(
                rate(text).unwrap_err().starts_with("expected a rate"),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = (duration(&text), size(&text), rate(&text));
        }

        #[test]
        fn nearly_numbers_do_not_panic(text in "[0-9.]{0,40}[kKmMgGtTiIbBhs/ ]{0,4}") {
            let _ = (duration(&text), size(&text), rate(&text));
        }

        #[test]
        fn what_is_written_in_a_unit_is_read(number in 1_u64..10_000_000, unit in 0..UNITS.len()) {
            let (name, factor) = UNITS[unit];
            prop_assert_eq!(size(&format!("{number}{name}")), Ok(number * factor));
            prop_assert_eq!(
                rate(&format!("{number} {}/s", name.to_uppercase())),
                Ok(BytesPerSecond(number * factor))
            );
        }

        #[test]
        fn what_is_written_is_read_again(
            seconds in 0_u64..=u64::MAX / 2, ns in 1_u32..1_000_000_000, bytes in 1_u64..,
            bits in 0_u32..64,
        ) {
            let time = Duration::new(seconds, ns);
            prop_assert_eq!(duration(&written_duration(time)), Ok(time));
            let bytes = (bytes >> bits).max(1);
            prop_assert_eq!(size(&written_size(bytes)), Ok(bytes));
        }

        #[test]
        fn seconds_and_milliseconds_add_up(minutes in 0_u64..10_000, seconds in 0_u64..10_000, ms in 1_u64..10_000) {
            prop_assert_eq!(
                duration(&format!("{minutes}m{seconds}s{ms}ms")),
                Ok(Duration::from_millis((minutes * 60 + seconds) * 1000 + ms))
            );
        }
    }
}
