//! Counts.

use crate::{ValueError, digits};

/// Formats a number with a comma as the thousands separator: `999`, `25,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// [`grouped`] for a `usize`.
pub fn grouped_usize(number: usize) -> String {
    grouped(u64::try_from(number).unwrap_or(u64::MAX))
}

/// Formats a number with its noun, adding an `s` to the noun unless the number is one: `1 error`,
/// `25,000 shards`.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    counted(number, noun, &format!("{noun}s"))
}

/// Formats a number with its noun, for irregular plurals: `1 index`, `12 indices`.
pub fn counted(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

/// Multipliers for count suffixes. A letter alone is decimal, as is usual for counts; with an `i` it is
/// binary, as for counts of pages and blocks.
const FACTORS: &[(&str, u64)] = &[
    ("", 1),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("b", 1_000_000_000),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
];

/// Parses a count: `25000`, `25,000`, `25_000`, `25k`, `1.5M`, `16Mi`.
///
/// # Errors
/// When `text` is not a count, is not a whole number, or does not fit in 64 bits.
pub fn parse(text: &str) -> Result<u64, ValueError> {
    let expected = || ValueError::new("a count such as 25000, 25,000, 25k or 1M", text);
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'))
        .unwrap_or(trimmed.len());
    let (number, letter) = trimmed.split_at(end);
    let letter = letter.trim_start().to_ascii_lowercase();
    let (_, factor) = FACTORS
        .iter()
        .find(|(name, _)| *name == letter)
        .ok_or_else(expected)?;
    let plain = digits::ungrouped(number).ok_or_else(expected)?;
    match digits::scaled(&plain, *factor) {
        Some((number, true)) => Ok(number),
        Some((_, false)) => Err(expected().hint("a count is whole")),
        None => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_formatted() {
        assert_eq!(count(1_usize, "error"), "1 error");
        assert_eq!(count(0_usize, "error"), "0 errors");
        assert_eq!(count(1_234_567_u64, "shard"), "1,234,567 shards");
        assert_eq!(counted(2_u64, "index", "indices"), "2 indices");
    }

    #[test]
    fn counts_are_parsed() {
        for (text, number) in [
            ("25000", 25_000),
            ("25,000", 25_000),
            ("25_000", 25_000),
            ("25k", 25_000),
            ("25 K", 25_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            ("16Mi", 16 << 20),
            ("0", 0),
            ("1,048,576", 1 << 20),
        ] {
            assert_eq!(parse(text), Ok(number), "{text}");
        }
        for text in [
            "",
            "k",
            "-1",
            "0,07",
            "1.2345k",
            "1.5",
            "1e6",
            "16MiB",
            "16MB",
            "many",
            "1,0000",
            ",100",
            "1,00",
            "99999999999999999999",
            "18446744073709551615k",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("expected a count"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn written_values_round_trip(number: u64) {
            prop_assert_eq!(parse(&grouped(number)), Ok(number));
        }

        #[test]
        fn any_input_is_handled_without_panic(text in ".*") {
            let _ = parse(&text);
        }
    }
}
