//! Plain numbers.

/// Formats a number with three significant digits and no trailing zeros, in scientific notation where that
/// is shorter: `3.84`, `62`, `0.0712`, `51234`, `1.7e300`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.2e}");
        return match text.split_once('e') {
            Some((mantissa, power)) => format!("{}e{power}", without_zeros(mantissa)),
            None => text,
        };
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 6
    let decimals = (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    without_zeros(&format!("{value:.decimals$}")).to_owned()
}

/// Strips trailing zeros of the fraction: `12.50` becomes `12.5`, `3.00` becomes `3`.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// [`number`] with its sign and its unit, if any: `+3 ms`, `-0.4`.
pub fn signed(value: f64, unit: Option<&str>) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    with_unit(&format!("{sign}{}", number(value)), unit)
}

/// Appends the unit, if there is one.
pub fn with_unit(number: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{number} {unit}"),
        None => number.to_owned(),
    }
}

/// Formats a ratio: `2.5x`, `13,465x`.
pub fn factor(times: f64) -> String {
    if (1_000.0..1e15).contains(&times) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in range
        return format!("{}x", crate::grouped(times.round() as u64));
    }
    format!("{}x", number(times))
}

/// Formats a probability: `0.001`, `below 0.0001`.
pub fn probability(p: f64) -> String {
    if p > 0.0 && p < 1e-4 {
        "below 0.0001".to_owned()
    } else {
        number(p)
    }
}

/// Prepends the indefinite article, as the number is pronounced: `a 1 TiB`, `an 819 MiB`.
pub fn with_article(words: &str) -> String {
    let whole = words.split(|c: char| !c.is_ascii_digit()).next();
    let is_an = words.starts_with('8') || matches!(whole, Some("11" | "18"));
    format!("{} {words}", if is_an { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0712, "0.0712"),
            (62.0, "62"),
            (1234.5, "1234"),
            (51_234.0, "51234"),
            (-0.071, "-0.071"),
            (1.7e300, "1.7e300"),
            (2e7, "2e7"),
            (-3.25e-9, "-3.25e-9"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(signed(3.0, Some("ms")), "+3 ms");
        assert_eq!(factor(2.5), "2.5x");
        assert_eq!(factor(13_465.2), "13,465x");
        assert_eq!(probability(0.000_01), "below 0.0001");
    }

    #[test]
    fn articles() {
        for (words, expected) in [
            ("819 MiB", "an 819 MiB"),
            ("11.5 TiB", "an 11.5 TiB"),
            ("18 GiB", "an 18 GiB"),
            ("110 GiB", "a 110 GiB"),
            ("1.8 TiB", "a 1.8 TiB"),
        ] {
            assert_eq!(with_article(words), expected);
        }
    }

    proptest! {
        // From 1.795e308 on, two digits round to more than f64 holds.
        #[test]
        fn numbers_are_short_and_accurate(value in any::<f64>().prop_filter("finite", |v| v.abs() < 1.7e308)) {
            let text = number(value);
            prop_assert!(text.len() <= 11, "{text}");
            let back: f64 = text.parse().unwrap();
            prop_assert!((back - value).abs() <= value.abs() * 0.0051, "{value} became {text}");
        }
    }
}
