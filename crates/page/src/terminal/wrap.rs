//! Line breaking.

use textwrap::core::{Fragment, Word};
use textwrap::wrap_algorithms::wrap_first_fit;
use units::escape::{display_width, escape};

/// Breaks `text` into lines of at most `width` columns. Line breaks and control characters in it are
/// escaped.
///
/// A `code span` between two backticks is never broken, because people copy it; one that is too long goes
/// on a line of its own and exceeds the width. A number is kept with its unit. Other words that are too
/// long are broken.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let shown = escape(text);
    let pieces: Vec<Piece<'_>> = words(&shown)
        .flat_map(|word| {
            if word.contains('`') {
                vec![Piece(Word::from(word))]
            } else {
                Word::from(word).break_apart(width).map(Piece).collect()
            }
        })
        .collect();
    #[allow(clippy::cast_precision_loss)] // columns of a terminal
    let columns = [width as f64];
    wrap_first_fit(&pieces, &columns)
        .iter()
        .map(|line| {
            let mut text = String::new();
            for (index, piece) in line.iter().enumerate() {
                text.push_str(piece.0.word);
                if index + 1 < line.len() {
                    text.push_str(piece.0.whitespace);
                }
            }
            text
        })
        .filter(|line| !line.is_empty())
        .collect()
}

/// A word followed by one blank.
#[derive(Debug)]
struct Piece<'a>(Word<'a>);

#[allow(clippy::cast_precision_loss)] // columns of a terminal
impl Fragment for Piece<'_> {
    fn width(&self) -> f64 {
        display_width(self.0.word) as f64
    }

    fn whitespace_width(&self) -> f64 {
        self.0.whitespace.len() as f64
    }

    fn penalty_width(&self) -> f64 {
        0.0
    }
}

/// Splits after blanks, but neither between two backticks nor between a number and its unit. Each word
/// includes the blanks after it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = quantity_end(rest, word_end(rest, 0));
        let blanks = blanks(&rest[end..]);
        let (word, behind) = rest.split_at(end + blanks);
        rest = behind;
        Some(word)
    })
    .map(one_blank)
}

/// Returns the end of a quantity whose first word ends at `end`, such as `1 h 40 min` for the word `1`.
fn quantity_end(text: &str, mut end: usize) -> usize {
    let mut begin = 0;
    while text[begin..end].bytes().any(|b| b.is_ascii_digit()) {
        let unit = end + blanks(&text[end..]);
        let unit_end = word_end(text, unit);
        if unit == end || !is_unit(&text[unit..unit_end]) {
            break;
        }
        end = unit_end;
        begin = end + blanks(&text[end..]);
        let next = word_end(text, begin);
        if begin == end || next == begin {
            return end;
        }
        end = next;
    }
    if begin == 0 {
        return end;
    }
    // A number without a unit is not part of the quantity before it.
    text[..begin].trim_end().len()
}

/// Collapses trailing blanks into one.
fn one_blank(word: &str) -> &str {
    let end = word.trim_end().len();
    &word[..(end + word[end..].chars().next().map_or(0, char::len_utf8))]
}

/// Returns the length of the leading blanks in bytes.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Returns the end of the word that begins at `from`.
fn word_end(text: &str, mut from: usize) -> usize {
    while let Some(found) = text[from..].find(|c: char| c.is_whitespace() || c == '`') {
        let at = from + found;
        if !text[at..].starts_with('`') {
            return at;
        }
        // An unpaired backtick is an ordinary character.
        from = match text[at + 1..].find('`') {
            Some(close) => at + 1 + close + 1,
            None => at + 1,
        };
    }
    text.len()
}

/// Returns whether a word, ignoring punctuation after it, is a unit that the crate `units` writes.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ';', ':', ')']);
    matches!(
        word.strip_suffix("/s").unwrap_or(word),
        "%" | "B" | "KiB" | "MiB" | "GiB" | "TiB" | "PiB" | "EiB" | "us" | "ms" | "s" | "min" | "h"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prose_is_wrapped() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one  two   three", 20), ["one two three"]);
        assert!(wrap("  ", 10).is_empty());
    }

    #[test]
    fn long_words_are_broken_and_code_is_not() {
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(
            wrap("run `mount -o remount /x`, then", 10),
            ["run", "`mount -o remount /x`,", "then"]
        );
        // Unpaired: not code.
        assert_eq!(wrap("a ` b", 3), ["a `", "b"]);
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(wrap("takes 0.4 ms each", 9), ["takes", "0.4 ms", "each"]);
        assert_eq!(
            wrap("for about 1 h 40 min, no more", 14),
            ["for about", "1 h 40 min, no", "more"]
        );
        assert_eq!(wrap("7 days", 4), ["7", "days"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long(text in "[^`0-9]*", width in 4_usize..100) {
            for line in wrap(&text, width) {
                prop_assert!(display_width(&line) <= width, "{line:?}");
                prop_assert!(!line.is_empty());
            }
        }

        #[test]
        fn wrapping_keeps_every_word(text in "[a-z0-9` %]*", width in 1_usize..30) {
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&wrap(&text, width).concat()), letters(&text));
        }
    }
}
