//! Formats times and names for the pages about shards.

use crate::views::phrases::range;

/// Maximum columns of an external name in a sentence.
const NAME_COLUMNS_MAX: usize = 40;

/// Shortens an external name for a sentence.
pub(super) fn name(name: &str) -> std::borrow::Cow<'_, str> {
    units::cut(name, NAME_COLUMNS_MAX)
}

/// The lead of an answer about a state that was misread.
pub(super) fn not_understood(why: &str) -> String {
    format!(
        "Not understood: {why}. No stable cluster looks like that, so ignore the results below: this server must \
         read some setting differently from this model."
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
    fn long_names_are_cut() {
        assert_eq!(name("node-1"), "node-1");
        assert_eq!(name(&"n".repeat(41)), format!("{}...", "n".repeat(37)));
    }
}
