//! Sizes and rates in bytes. Formatted in binary units, as the kernel and the databases do; parsed in
//! binary and decimal units.

use crate::{ValueError, digits};

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Formats a size with at most one decimal, as `lsblk` does: `512 B`, `1.8 TiB`, `2 GiB`. Rounded to the
/// nearest tenth, halves up.
pub fn bytes(bytes: u64) -> String {
    let bytes = u128::from(bytes);
    let mut unit = 0;
    while unit + 1 < UNITS.len() && tenths(bytes, unit) >= 10_240 {
        unit += 1;
    }
    let tenths = tenths(bytes, unit);
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{tenth} {}", UNITS[unit])
    }
}

/// Returns `bytes` in tenths of `1024^unit`, rounded.
fn tenths(bytes: u128, unit: usize) -> u128 {
    let size = 1_u128 << (10 * unit);
    (bytes * 10 + size / 2) / size
}

/// Decimal units in which drives are sold. Smaller round numbers could just as well be binary sizes.
const SOLD: [(&str, u64); 4] = [
    ("PB", 1_000_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
];

/// Formats a drive's nominal size, or one that a user typed: in decimal units if two decimals are exact
/// (`3.84 TB`, `960 GB`), otherwise like [`bytes`].
pub fn as_sold(size: u64) -> String {
    let unit = SOLD.iter().find(|(_, unit)| size >= *unit);
    match unit {
        Some((name, unit)) if size.is_multiple_of(unit / 100) => {
            let hundredths = size / (unit / 100);
            let decimals = format!(".{:02}", hundredths % 100);
            let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
            format!("{}{decimals} {name}", hundredths / 100)
        }
        _ => bytes(size),
    }
}

/// Formats an estimated size; a value that is not a valid size is shown as 0.
pub fn bytes_estimate(estimate: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    bytes(estimate.round() as u64)
}

/// Formats a rate: `1.5 MiB/s`.
pub fn bytes_per_s(rate: f64) -> String {
    format!("{}/s", bytes_estimate(rate))
}

/// Unit names in lower case. As in `fstrim`, a letter alone and `iB` mean powers of 1024, and `B` after a
/// letter means a power of 1000.
const FACTORS: &[(&str, u64)] = &[
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
    ("p", 1 << 50),
    ("pib", 1 << 50),
    ("pb", 1_000_000_000_000_000),
];

/// Parses a size above zero: `16MiB`, `500MB`, `1.5G`, `4096B`. Fractions of a byte are truncated.
///
/// # Errors
/// When `text` is not a size above zero, or has no unit.
pub fn parse(text: &str) -> Result<u64, ValueError> {
    let expected = || ValueError::new("a size such as 16MiB, 500MB or 4096B", text);
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim_start().to_ascii_lowercase();
    let plain = digits::ungrouped(number).ok_or_else(expected)?;
    if unit.is_empty() {
        return Err(expected().hint(format!(
            "{number} has no unit: write {number}GiB or {number}GB, for example"
        )));
    }
    let Some((_, factor)) = FACTORS.iter().find(|(name, _)| *name == unit) else {
        return Err(expected().hint(
            "K, M, G, T and P, alone or with iB, are powers of 1024; KB, MB, GB, TB and PB powers of 1000",
        ));
    };
    match digits::scaled(&plain, *factor) {
        Some((0, _)) => Err(ValueError::new("a size above zero", text)),
        Some((bytes, _)) => Ok(bytes),
        None => Err(expected().hint("a size is below 16 EiB")),
    }
}

/// Parses a rate in bytes per second: `500MiB/s`.
///
/// # Errors
/// When `text` is not a rate above zero, or has no unit.
pub fn parse_per_s(text: &str) -> Result<u64, ValueError> {
    let expected = || ValueError::new("a rate such as 500MiB/s", text);
    let size = text.trim().strip_suffix("/s").ok_or_else(expected)?;
    parse(size).map_err(|error| ValueError {
        hint: error.hint,
        ..expected()
    })
}

/// Formats a size in the syntax that [`parse`] accepts, in the largest unit that needs no fraction:
/// `16MiB`, `500000000B`.
pub fn argument(bytes: u64) -> String {
    [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")]
        .iter()
        .find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits))
        .map_or_else(
            || format!("{bytes}B"),
            |(bits, unit)| format!("{}{unit}", bytes >> bits),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nominal_drive_sizes() {
        for (size, words) in [
            (3_840_000_000_000, "3.84 TB"),
            (15_360_000_000_000, "15.36 TB"),
            (1_900_000_000_000, "1.9 TB"),
            (960_000_000_000, "960 GB"),
            (250_000_000_000, "250 GB"),
            (40 << 10, "40 KiB"),
            // The kernel's size of a drive sold as 3.84 TB.
            (3_840_755_982_336, "3.5 TiB"),
            (1 << 40, "1 TiB"),
            (16 << 10, "16 KiB"),
            (512, "512 B"),
        ] {
            assert_eq!(as_sold(size), words);
        }
    }

    #[test]
    fn sizes_are_formatted() {
        for (size, words) in [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            // Discard limit that an NVMe drive reports: 2 TiB less one sector.
            (2_199_023_255_040, "2 TiB"),
            // A "2 TB" drive.
            (2_000_398_934_016, "1.8 TiB"),
            (1 << 40, "1 TiB"),
            // Just below the next unit: 1023.96 KiB is not "1024 KiB".
            (1_048_535, "1 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(size), words, "{size}");
        }
        assert_eq!(bytes_per_s(1.5 * 1024.0 * 1024.0), "1.5 MiB/s");
        assert_eq!(bytes_per_s(-1.0), "0 B/s");
        assert_eq!(bytes_per_s(f64::NAN), "0 B/s");
    }

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("16MiB", 16 << 20),
            ("16M", 16 << 20),
            ("16 mib", 16 << 20),
            ("500MB", 500_000_000),
            ("1.5G", 3 << 29),
            ("4096B", 4096),
            ("1,024 KiB", 1 << 20),
            ("1.9TB", 1_900_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "4096",
            "1.9",
            "0",
            "0B",
            "-1B",
            "MiB",
            "1.MiB",
            "16EiB",
            "1e3B",
            "1..5G",
            "0,5G",
            "99999999999999999999B",
            "9999999PiB",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("expected a size"), "{text}: {error}");
        }
        assert!(
            parse("1.9")
                .unwrap_err()
                .to_string()
                .contains("1.9 has no unit")
        );
        assert_eq!(parse_per_s("500MiB/s"), Ok(500 << 20));
        for text in ["500MiB", "500", "500/s", "fast"] {
            assert!(
                parse_per_s(text)
                    .unwrap_err()
                    .to_string()
                    .starts_with("expected a rate")
            );
        }
    }

    proptest! {
        #[test]
        fn sizes_stay_within_a_tenth_of_their_unit(size: u64) {
            let words = bytes(size);
            let (number, unit) = words.split_once(' ').unwrap();
            let power = UNITS.iter().position(|known| *known == unit).unwrap();
            let number: f64 = number.parse().unwrap();
            #[allow(clippy::cast_precision_loss)] // a tenth is far coarser than f64's 53 bits
            let exact = size as f64 / 1024_f64.powi(i32::try_from(power).unwrap());
            prop_assert!((number - exact).abs() <= 0.0501, "{size} became {words}");
            prop_assert!(number < 1024.0);
        }

        #[test]
        fn arguments_round_trip(size in 1..=u64::MAX) {
            prop_assert_eq!(parse(&argument(size)), Ok(size));
        }

        #[test]
        fn any_input_is_handled_without_panic(text in ".*") {
            let _ = parse(&text);
            let _ = parse_per_s(&text);
        }
    }
}
