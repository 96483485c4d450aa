//! Numbers and sentences as people read them.

use crate::commands::ssd::numbers::digits;

/// The width that everything fits into.
pub const COLUMNS: usize = 80;

/// Milliseconds: `0.4 ms`, `1,420 ms` becomes `1.42 s`, `2.5 min`.
pub fn ms(ms: f64) -> String {
    let (value, unit) = if ms < 999.5 {
        (ms, "ms")
    } else if ms < 119_500.0 {
        (ms / 1e3, "s")
    } else if ms < 7_170_000.0 {
        (ms / 60e3, "min")
    } else {
        (ms / 3600e3, "h")
    };
    format!("{} {unit}", digits(value))
}

/// A sentence after a mark, broken at spaces so that it fits, its later lines indented below the
/// first; with a line break at its end. Characters that steer a terminal or disguise text are escaped:
/// names come from outside.
pub fn wrapped(mark: &str, sentence: &str) -> String {
    let indent = mark.chars().count();
    let mut text = mark.to_owned();
    let mut column = indent;
    for (at, word) in sentence.split_whitespace().enumerate() {
        let word = report::escape(word);
        let length = word.chars().count();
        if at > 0 && column + 1 + length > COLUMNS {
            text += "\n";
            text.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text += &word;
        column += length;
    }
    text.push('\n');
    text
}

/// A name from outside, no longer than so many characters.
pub fn cut(name: &str, characters: usize) -> String {
    let shown: Vec<char> = report::escape(name).chars().collect();
    if shown.len() <= characters {
        return shown.into_iter().collect();
    }
    let kept = shown.into_iter().take(characters.saturating_sub(2));
    kept.chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (value, text) in [
            (0.42, "0.42 ms"),
            (17.2, "17.2 ms"),
            (999.4, "999 ms"),
            (7219.0, "7.22 s"),
            (58_000.0, "58 s"),
            (150_000.0, "2.5 min"),
            (7_200_000.0, "2 h"),
        ] {
            assert_eq!(ms(value), text);
        }
    }

    #[test]
    fn sentences_fit() {
        let text = wrapped("note: ", &"shards ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS));
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with("      shards"))
        );
        assert_eq!(text.matches("shards").count(), 40);
        assert_eq!(wrapped("- ", "a\u{1b}b"), "- a\\u{1b}b\n");
        assert_eq!(wrapped("", "a\u{202e}b"), "a\\u{202e}b\n");
    }

    #[test]
    fn names_are_cut_and_escaped() {
        assert_eq!(cut("node-1", 6), "node-1");
        assert_eq!(cut("node-10", 6), "node..");
        assert_eq!(cut("a\tb", 6), "a\\tb");
        assert_eq!(cut("a\u{202e}b", 20), "a\\u{202e}b");
    }
}
