//! Fractions, percentages and scores.

use crate::ValueError;

/// Largest value accepted without a percent sign; larger ones are most likely percentages.
const BARE_SHARE_MAX: f64 = 3.0;

/// Formats a fraction as a percentage with at most one decimal: `7 %`, `62.5 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = if (percent - percent.round()).abs() < 0.05 {
        format!("{percent:.0}")
    } else {
        format!("{percent:.1}")
    };
    // Avoid "-0 %".
    format!("{} %", if text == "-0" { "0" } else { &text })
}

/// Formats a relative change with its sign and three significant digits: `-12 %`, `+0.4 %`.
pub fn percent_change(share: f64) -> String {
    crate::number::signed(share * 100.0, Some("%"))
}

/// Returns progress in whole percent, rounded down, so that 100 means complete.
pub fn percent_done(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    let share = u128::from(part) * 100 / u128::from(whole);
    u64::try_from(share.min(100)).unwrap_or(100)
}

/// Formats a score in whole percent, never rounded to certain or impossible: `62 %`, `>99 %`, `<1 %`.
pub fn score(score: f64) -> String {
    let percent = score * 100.0;
    if percent > 99.5 && score < 1.0 {
        ">99 %".to_owned()
    } else if percent < 0.5 && score > 0.0 {
        "<1 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}

/// Parses a fraction of zero or more: `7%`, `7 %`, `0.07`.
///
/// # Errors
/// When `text` is not a fraction, or most likely lacks a percent sign: `7`.
pub fn parse(text: &str) -> Result<f64, ValueError> {
    let expected = || ValueError::new("a share such as 7% or 0.07", text);
    let trimmed = text.trim();
    let (number, is_percent) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (trimmed, false),
    };
    // Rust parses "inf", "nan" and "1e3" as numbers; here they are errors.
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(expected());
    }
    let value: f64 = number.parse().map_err(|_| expected())?;
    if !is_percent && value > BARE_SHARE_MAX {
        return Err(expected().hint(format!("write {value} % as {value}%")));
    }
    Ok(if is_percent { value / 100.0 } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_formatted() {
        assert_eq!(percent(0.07), "7 %");
        assert_eq!(percent(0.625), "62.5 %");
        assert_eq!(percent(-0.0001), "0 %");
        assert_eq!(percent_change(-0.123), "-12.3 %");
        assert_eq!(score(0.9991), ">99 %");
        assert_eq!(score(1.0), "100 %");
        assert_eq!(score(0.002), "<1 %");
        assert_eq!(score(0.0), "0 %");
        assert_eq!(score(0.62), "62 %");
    }

    #[test]
    fn only_completion_is_a_hundred_percent() {
        assert_eq!(percent_done(999, 1000), 99);
        assert_eq!(percent_done(1000, 1000), 100);
        assert_eq!(percent_done(2000, 1000), 100);
        assert_eq!(percent_done(0, 0), 0);
        assert_eq!(percent_done(u64::MAX, u64::MAX), 100);
    }

    #[test]
    fn shares_are_parsed() {
        for (text, share) in [("7%", 0.07), (" 7 % ", 0.07), ("0.28", 0.28), ("150%", 1.5)] {
            assert!((parse(text).unwrap() - share).abs() < 1e-12, "{text}");
        }
        for text in [
            "", "%", "-7%", "7", "nan", "inf", "1e-2", "7%%", "0,07", "７%",
        ] {
            assert!(
                parse(text).unwrap_err().to_string().starts_with("expected"),
                "{text}"
            );
        }
        assert!(
            parse("7")
                .unwrap_err()
                .to_string()
                .ends_with("write 7 % as 7%")
        );
    }
}
