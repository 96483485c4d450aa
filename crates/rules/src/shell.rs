//! Quotes names from the host for commands that users paste into a root shell.
//!
//! Names come from bundles, which are not trusted: a mount point may contain quotes, blanks, escape
//! sequences or characters that change the text direction. None of them may terminate a command
//! early or reach a terminal unescaped.

use std::fmt::Write as _;

/// Quotes a text as one word of a bash command line.
///
/// Plain names are left as they are; names with blanks or quotes get single quotes; names with
/// control or other invisible characters use bash's `$'...'` form, in which those are escaped.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if text.chars().all(is_visible) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if is_visible(c) => quoted.push(c),
            c => push_escape(&mut quoted, c),
        }
    }
    quoted.push('\'');
    quoted
}

/// Quotes an operand, with a preceding `--` if it begins with a hyphen.
pub(crate) fn operand(text: &str) -> String {
    let quoted = quote(text);
    if text.starts_with('-') {
        format!("-- {quoted}")
    } else {
        quoted
    }
}

/// A server as `trimtab bench filesystems --server` takes it: `elasticsearch-6.8.23`.
pub(crate) fn server_operand(product: &str, version: &str) -> String {
    operand(&format!("{}-{version}", product.to_lowercase()))
}

/// Escapes a text for use in a sentence: control and invisible characters are escaped, long text is
/// truncated.
pub(crate) fn printable(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let mut shown = String::new();
    for c in text.chars().take(CHARS_MAX) {
        if is_visible(c) {
            shown.push(c);
        } else {
            push_escape(&mut shown, c);
        }
    }
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a character is printable ASCII or shown unescaped by the standard library's Debug
/// format: no control characters, no direction marks, no blanks of other scripts.
fn is_visible(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && c.escape_debug().count() == 1)
}

/// Appends `\xHH` for ASCII, `\UHHHHHHHH` otherwise: both have a fixed length, so that a following
/// digit cannot be read as part of them.
fn push_escape(to: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a String cannot fail.
    let _ = if c.is_ascii() {
        write!(to, "\\x{code:02x}")
    } else {
        write!(to, "\\U{code:08x}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn plain_names_stay_plain() {
        assert_eq!(quote("/dev/mapper/vg-data_1"), "/dev/mapper/vg-data_1");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn quotes_and_substitutions_cannot_break_out() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("x'; reboot; '"), r"'x'\''; reboot; '\'''");
        assert_eq!(quote("$(reboot)"), "'$(reboot)'");
    }

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(quote("a\nb'"), r"$'a\x0ab\''");
        assert_eq!(quote("\u{202e}x"), r"$'\U0000202ex'");
        assert_eq!(printable("\u{1b}[31m"), r"\x1b[31m");
    }

    #[test]
    fn an_operand_is_no_option() {
        assert_eq!(operand("-rf"), "-- -rf");
        assert_eq!(operand("c0"), "c0");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_quoted_name_holds_control_characters(text in "\\PC{0,20}|[\\x00-\\x7f]{0,20}") {
            prop_assert!(!quote(&text).chars().any(char::is_control));
            prop_assert!(!printable(&text).chars().any(char::is_control));
        }

        /// bash itself reads the word back. NUL cannot occur in an argument.
        #[test]
        fn bash_reads_back_what_was_quoted(text in "[\\x01-\\x7f]{0,12}") {
            let script = format!("printf %s {}", quote(&text));
            let Ok(output) = Command::new("bash").args(["--norc", "-c", &script]).output() else {
                return Ok(()); // no bash on this machine
            };
            prop_assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
