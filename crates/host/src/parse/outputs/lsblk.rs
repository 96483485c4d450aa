//! `lsblk -O -P`: one block device a line, as `NAME="value"` pairs. A device stands there once for
//! each device below it. Sizes are rounded to three digits unless `-b` was given (`size_to_human_string`
//! in util-linux's `lib/strutils.c`).

use crate::parse::fields::hex_escape;
use std::collections::HashMap;

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line<'t>(HashMap<&'t str, String>);

impl Line<'_> {
    /// Returns the value of a column, `None` if it is empty or not there.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.0
            .get(column)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns a number of bytes, as exact as it was printed.
    pub fn bytes(&self, column: &str) -> Option<u64> {
        bytes(self.get(column)?)
    }
}

/// Parses the first lines.
pub fn parse(text: &str, lines_max: usize) -> Vec<Line<'_>> {
    text.lines()
        .map(|line| Line(pairs(line)))
        .filter(|line| !line.0.is_empty())
        .take(lines_max)
        .collect()
}

fn pairs(mut line: &str) -> HashMap<&str, String> {
    let mut pairs = HashMap::new();
    while let Some((name, rest)) = line.split_once("=\"") {
        let Some((value, rest)) = rest.split_once('"') else {
            break;
        };
        pairs.insert(name.trim(), unescape(value));
        line = rest;
    }
    pairs
}

/// `\x22` stands for a quotation mark (`fputs_quoted` in `include/carefulputc.h`).
pub(super) fn unescape(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = hex_escape(after).filter(|_| first == b'\\');
        if let Some(byte) = escaped {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses a size: `512B`, `61.9M`, `2T`, or plain bytes; with a decimal comma in some locales.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "three digits are exact, and a float saturates when it becomes an integer"
)]
pub fn bytes(text: &str) -> Option<u64> {
    if let Ok(bytes) = text.parse() {
        return Some(bytes);
    }
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let power = "BKMGTPE".find(unit)?;
    let value: f64 = digits.replace(',', ".").parse().ok()?;
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    is_plain.then(|| (value * (1_u64 << (10 * power)) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_util_linux() {
        let text = "NAME=\"vg-lv\" KNAME=\"dm-0\" MAJ:MIN=\"253:0\" SIZE=\"61.9M\" MODEL=\"\" \
            DISC-GRAN=\"512B\" DISC-MAX=\"2T\" LABEL=\"a \\x22b\\x22\"\n\nlsblk: error\n";
        let lines = parse(text, 10);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].get("KNAME"), Some("dm-0"));
        assert_eq!(lines[0].get("MODEL"), None);
        assert_eq!(lines[0].get("LABEL"), Some("a \"b\""));
        assert_eq!(lines[0].bytes("DISC-GRAN"), Some(512));
        assert_eq!(lines[0].bytes("DISC-MAX"), Some(2 << 40));
        assert_eq!(lines[0].bytes("SIZE"), Some(64_906_854));
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0B", Some(0)),
            ("4096", Some(4096)),
            ("2G", Some(2 << 30)),
            ("1,5K", Some(1536)),
            ("", None),
            ("G", None),
            ("-1G", None),
            ("nanG", None),
            ("1é", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn total(text in "([A-Z:-]{1,5}=\"|\"|\\\\x[0-9a-f]{0,3}|é|[0-9.]{1,30}[BKMGTPE]?| |\n){0,40}") {
            for line in parse(&text, 10) {
                let _ = line.bytes("SIZE");
            }
            let _ = bytes(&text);
        }
    }
}
