//! Time zone names.

/// Whether a text may be the name of a time zone.
pub(crate) fn is_time_zone(zone: &str) -> bool {
    (1..=64).contains(&zone.len())
        && zone.starts_with(|c: char| c.is_ascii_alphabetic())
        && !zone.contains("..")
        && zone
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'+' | b'-'))
}
