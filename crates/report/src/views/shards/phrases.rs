//! Formats times, ranges and names for the pages about shards.

/// Formats milliseconds of CPU time.
pub(super) fn time(ms: f64) -> String {
    units::seconds(ms / 1e3)
}

/// Formats a range such as `3 to 11`, or a single value if both ends read the same.
pub(super) fn range(least: &str, most: &str) -> String {
    if least == most {
        least.to_owned()
    } else {
        format!("{least} to {most}")
    }
}

/// Maximum columns of an external name in a sentence.
const NAME_COLUMNS_MAX: usize = 40;

/// Shortens an external name for a sentence.
pub(super) fn name(name: &str) -> std::borrow::Cow<'_, str> {
    units::cut(name, NAME_COLUMNS_MAX)
}

/// The lead of an answer about a state that was misread.
pub(super) fn not_understood(why: &str) -> String {
    format!(
        "Not understood: {why}. No cluster at rest is like that, so what follows means nothing: some setting \
         means something else to this server."
    )
}

/// Formats an estimated time: `4 min` or `4 min to 6 min`.
pub(super) fn span([from, to]: [f64; 2]) -> String {
    // No more digits than an estimate has.
    let rough = |seconds: f64| {
        let step = match seconds {
            ..60.0 => 1.0,
            ..600.0 => 10.0,
            ..7_200.0 => 60.0,
            _ => 600.0,
        };
        units::seconds((seconds / step).ceil() * step)
    };
    range(&rough(from), &rough(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ranges() {
        assert_eq!(time(0.42), "420 us");
        assert_eq!(time(7219.0), "7.22 s");
        assert_eq!(time(150_000.0), "2 min 30 s");
        assert_eq!(range("1", "1"), "1");
        assert_eq!(range("1 s", "2 s"), "1 s to 2 s");
        assert_eq!(name("node-1"), "node-1");
        assert_eq!(name(&"n".repeat(41)), format!("{}...", "n".repeat(37)));
    }
}
