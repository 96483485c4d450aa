//! Phrases that several pages share.

use jiff::Timestamp;
use page::Facts;
use std::time::Duration;

/// Formats milliseconds.
pub(super) fn milliseconds(ms: f64) -> String {
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

/// Formats how long ago a moment was, without fractions of a second.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let passed = Duration::try_from(now.duration_since(at)).unwrap_or_default();
    let passed = Duration::from_secs(passed.as_secs());
    format!("{} ago", units::duration(passed))
}

/// Lists how to proceed.
pub(super) fn hints(hints: &[String]) -> Facts {
    Facts::of(hints.iter().map(|hint| ("hint", hint)))
}

/// Formats a value for a cell of a table, which has a dash where it is not known.
pub(super) fn cell<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), format)
}

/// Returns the words if the condition holds, else nothing.
pub(super) fn words_if(condition: bool, words: &str) -> &str {
    if condition { words } else { "" }
}

/// Groups what has the same key, in the order of the first of each.
pub(super) fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ranges() {
        assert_eq!(milliseconds(0.42), "420 us");
        assert_eq!(milliseconds(7219.0), "7.22 s");
        assert_eq!(milliseconds(150_000.0), "2 min 30 s");
        assert_eq!(range("1", "1"), "1");
        assert_eq!(range("1 s", "2 s"), "1 s to 2 s");
    }
}
