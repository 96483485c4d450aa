//! Decimal numbers as people type them.

/// Maximum number of fractional digits parsed; a size in TiB that is exact to a byte needs thirteen.
const FRACTION_DIGITS_MAX: usize = 15;

/// Returns `plain` (digits and a point) times `factor`, truncated to a whole number, and whether the result
/// is exact; `None` if it is not a number or does not fit.
pub(crate) fn scaled(plain: &str, factor: u64) -> Option<(u64, bool)> {
    let (whole, fraction) = match plain.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (plain, ""),
    };
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty()
        || !are_digits(whole)
        || !are_digits(fraction)
        || fraction.len() > FRACTION_DIGITS_MAX
    {
        return None;
    }
    let factor = u128::from(factor);
    let mut product = u128::from(whole.parse::<u64>().ok()?) * factor;
    let mut is_whole = true;
    if !fraction.is_empty() {
        let part = fraction.parse::<u128>().ok()? * factor;
        let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        product += part / scale;
        is_whole = part.is_multiple_of(scale);
    }
    Some((u64::try_from(product).ok()?, is_whole))
}

/// Removes the commas or underscores between groups of three digits; returns `None` if they are elsewhere,
/// as in `0,07`, which is most likely a decimal comma.
pub(crate) fn ungrouped(digits: &str) -> Option<String> {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let mut groups = whole.split([',', '_']);
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    let well_grouped = rest.is_empty()
        || ((1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3));
    if !well_grouped || first.is_empty() {
        return None;
    }
    let mut plain = first.to_owned() + &rest.concat();
    if let Some(fraction) = fraction {
        plain = format!("{plain}.{fraction}");
    }
    Some(plain)
}
