//! The field syntax that mountinfo, fstab and crypttab share: octal escapes and option lists.

use facts::InputError;

/// Malformed lines that are reported one by one; what comes after them is reported as "more".
const ERRORS_MAX: usize = 20;

/// Adds an error, bounded: a hostile file can consist of malformed lines only.
pub(crate) fn note(errors: &mut Vec<InputError>, error: InputError) {
    match errors.len() {
        n if n < ERRORS_MAX => errors.push(error),
        ERRORS_MAX => errors.push(InputError {
            expected: format!("at most {ERRORS_MAX} malformed lines"),
            found: "more from here on, not listed".to_owned(),
            ..error
        }),
        _ => {}
    }
}

/// Undoes octal escapes (`\040` is a space), as the kernel's `mangle_path` and mount(8) write them.
/// A backslash that no octal number below 256 follows stands for itself. Bytes that are not UTF-8
/// become U+FFFD.
pub fn unescape(field: &str) -> String {
    if !field.contains('\\') {
        return field.to_owned();
    }
    let bytes = field.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] = bytes[at..] {
            out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Splits an option list at its commas. A comma between double quotes belongs to its value
/// (`context="system_u:object_r:x:s0:c1,c2"`); where the quotes do not pair up they mean nothing.
pub fn split_options(list: &str) -> Vec<&str> {
    let quotes_pair = list.matches('"').count().is_multiple_of(2);
    let mut quoted = false;
    list.split(|c: char| {
        quoted ^= c == '"' && quotes_pair;
        c == ',' && !quoted
    })
    .filter(|option| !option.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_undone_and_other_backslashes_stay() {
        assert_eq!(unescape(r"/mnt/my\040disk"), "/mnt/my disk");
        assert_eq!(unescape(r"a\134b\011c\012"), "a\\b\tc\n");
        assert_eq!(unescape(r"\303\244"), "ä");
        // 0o777 is no byte, and an escape needs three digits.
        assert_eq!(unescape(r"\777 \04 \"), r"\777 \04 \");
    }

    #[test]
    fn a_quoted_comma_does_not_split() {
        assert_eq!(
            split_options(r#"rw,context="a:s0:c1,c2",discard"#),
            ["rw", r#"context="a:s0:c1,c2""#, "discard"]
        );
        assert_eq!(split_options(r#"a="b,c"#), [r#"a="b"#, "c"]);
        assert_eq!(split_options(",rw,,"), ["rw"]);
    }

    #[test]
    fn errors_are_bounded() {
        let mut errors = Vec::new();
        for line in 1..=1000 {
            note(&mut errors, InputError::new("f", "x", "y").at_line(line));
        }
        assert_eq!(errors.len(), ERRORS_MAX + 1);
        assert_eq!(errors[ERRORS_MAX].line, Some(21));
        assert!(errors[ERRORS_MAX].found.contains("more"));
    }

    /// What the kernel's `mangle_path` writes for a string, escaping every byte of `" \t\n\\#"`.
    fn escape(text: &str) -> String {
        text.chars()
            .map(|c| match c {
                ' ' | '\t' | '\n' | '\\' | '#' => format!("\\{:03o}", u32::from(c)),
                _ => c.to_string(),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in any::<String>()) {
            prop_assert_eq!(unescape(&escape(&text)), text);
        }

        #[test]
        fn anything_is_unescaped_and_split(text in any::<String>()) {
            let _ = unescape(&text);
            let options = split_options(&text);
            prop_assert!(options.iter().all(|option| !option.is_empty()));
        }
    }
}
