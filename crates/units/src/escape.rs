//! Escaping of characters that could control a terminal, and the display width of text.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Escapes characters that could control a terminal or disguise text: control characters, and characters
/// that are invisible or change the text direction. A line break becomes `\n`, an escape character
/// `\u{1b}`. Everything else, including backslashes, is unchanged, so that commands and paths can be
/// copied.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_unsafe(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Escapes serialised JSON in the same way: control and direction characters inside strings become
/// `\uXXXX`, which parses back to the same string. The line breaks and blanks between tokens are kept.
pub fn escape_json(json: &str) -> String {
    // serde_json escapes everything below U+0020, and JSON is ASCII outside strings.
    let mut safe = String::with_capacity(json.len());
    let mut units = [0_u16; 2];
    for c in json.chars() {
        if c != '\n' && is_unsafe(c) {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Encodes a path as a relative URI reference: all but unreserved characters and slashes are
/// percent-encoded (RFC 3986, sections 2.1 and 2.3).
pub fn percent_encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Control characters (Cc), line and paragraph separators, and the format characters (Cf) that hide
/// or reorder text ("Trojan source", CVE-2021-42574).
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns the number of terminal columns a text takes: two for East Asian wide characters and pictographs.
pub fn display_width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Truncates to `columns`, ending in an ellipsis if anything was cut.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if display_width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += UnicodeWidthChar::width(c).unwrap_or(0);
        if used + 3 > columns {
            break;
        }
        shown.push(c);
    }
    shown.push_str("...");
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_controls_and_overrides_are_escaped() {
        assert_eq!(escape("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(escape("x\u{202e}y\u{9b}"), "x\\u{202e}y\\u{9b}");
    }

    #[test]
    fn commands_are_unchanged() {
        let command = r"sed -i 's/^a\tb/ü/' '/mnt/日本 x'";
        assert!(matches!(escape(command), Cow::Borrowed(same) if same == command));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(display_width("ab"), 2);
        assert_eq!(display_width("日本"), 4);
        assert_eq!(cut("abcdefgh", 6), "abc...");
        assert_eq!(cut("abcdef", 6), "abcdef");
    }

    proptest! {
        #[test]
        fn no_unsafe_characters_remain(text in "\\PC*|.*|[\\x00-\\x9f\u{200b}-\u{2069}]*") {
            let shown = escape(&text);
            prop_assert!(!shown.chars().any(is_unsafe));
        }

        #[test]
        fn escaped_json_round_trips(text in ".*|[\\x00-\\x9f\u{200b}-\u{2069}\u{e0000}-\u{e007f}]*") {
            let json = serde_json::to_string_pretty(&[&text]).unwrap();
            let safe = escape_json(&json);
            prop_assert!(!safe.chars().any(|c| c != '\n' && is_unsafe(c)));
            let back: Vec<String> = serde_json::from_str(&safe).unwrap();
            prop_assert_eq!(&back[0], &text);
        }
    }
}
