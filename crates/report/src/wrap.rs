//! Breaks prose into lines.

use crate::escape::{char_width, display_width, escape};

/// Breaks `text` into lines of at most `width` columns. Line breaks in it are kept, blank lines are
/// dropped, control characters are shown.
///
/// A `code span` between two backticks is never broken, since people copy it: one that is too long
/// stands on a line of its own and exceeds the width. Other words that are too long are broken.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let shown = escape(paragraph.trim());
        let mut line = String::new();
        let mut used = 0;
        for word in words(&shown) {
            let columns = display_width(word);
            if used > 0 && used + 1 + columns <= width {
                line.push(' ');
                line.push_str(word);
                used += 1 + columns;
                continue;
            }
            if used > 0 {
                lines.push(std::mem::take(&mut line));
            }
            if columns <= width || word.contains('`') {
                line.push_str(word);
                used = columns;
            } else {
                let mut pieces = broken(word, width);
                line = pieces.pop().unwrap_or_default();
                used = display_width(&line);
                lines.append(&mut pieces);
            }
        }
        if used > 0 {
            lines.push(line);
        }
    }
    lines
}

/// Splits at blanks, but not at those between two backticks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        let mut from = 0;
        while let Some(found) = rest[from..].find(|c: char| c.is_whitespace() || c == '`') {
            let at = from + found;
            if !rest[at..].starts_with('`') {
                end = at;
                break;
            }
            // A backtick without its partner is an ordinary character.
            from = match rest[at + 1..].find('`') {
                Some(close) => at + 1 + close + 1,
                None => at + 1,
            };
        }
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        Some(word)
    })
}

/// Cuts a word into pieces of at most `width` columns, at least one character each.
fn broken(word: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut used = 0;
    for c in word.chars() {
        let columns = char_width(c);
        if used + columns > width && used > 0 {
            pieces.push(std::mem::take(&mut piece));
            used = 0;
        }
        piece.push(c);
        used += columns;
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prose_is_filled() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one\n\ntwo  three", 20), ["one", "two three"]);
        assert!(wrap("  \n ", 10).is_empty());
    }

    #[test]
    fn long_words_are_broken_and_code_is_not() {
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(
            wrap("run `mount -o remount /x`, then", 10),
            ["run", "`mount -o remount /x`,", "then"]
        );
        // No partner: not code.
        assert_eq!(wrap("a ` b", 3), ["a `", "b"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long(text in "[^`]*", width in 4_usize..100) {
            for line in wrap(&text, width) {
                prop_assert!(display_width(&line) <= width);
                prop_assert!(!line.is_empty());
            }
        }

        #[test]
        fn no_word_is_lost(text in "[a-z` \n]*", width in 1_usize..30) {
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&wrap(&text, width).concat()), letters(&text));
        }
    }
}
