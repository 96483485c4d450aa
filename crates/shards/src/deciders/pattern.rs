//! Simple patterns with `*`, as node filters use them (`Regex.simpleMatch` of 7.4.0).

/// Whether the text matches the pattern, in which each `*` stands for any sequence of characters,
/// including none. Takes time at most proportional to the product of both lengths, whatever the number of
/// stars.
#[must_use]
pub(crate) fn simple_match(pattern: &str, text: &str) -> bool {
    let Some((prefix, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(prefix) else {
        return false;
    };
    let (middle, suffix) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(suffix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The recursive definition, as a reference.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|from| by_definition(rest, &text[from..])),
            Some((first, rest)) => text.first() == Some(first) && by_definition(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "[ab\u{e9}*]{0,8}", text in "[ab\u{e9}]{0,8}") {
            let chars = |s: &str| s.chars().collect::<Vec<_>>();
            prop_assert_eq!(simple_match(&pattern, &text), by_definition(&chars(&pattern), &chars(&text)));
        }
    }

    #[test]
    fn prefix_and_suffix_do_not_overlap() {
        assert!(!simple_match("ab*ba", "aba"));
        assert!(simple_match("ab*ba", "abba"));
        assert!(simple_match("*", ""));
        assert!(!simple_match("", "a"));
    }

    #[test]
    fn many_stars_are_cheap() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!simple_match(&pattern, &"a".repeat(10_000)));
    }
}
