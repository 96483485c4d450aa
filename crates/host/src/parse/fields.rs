//! Field syntax shared by mountinfo, fstab and crypttab: option lists.

use facts::InputError;

/// Malformed lines reported one by one; any further ones are summarized as "more".
const ERRORS_MAX: usize = 20;

/// Adds an error up to a limit: a hostile file can consist of malformed lines only.
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

/// Splits an option list at its commas. A comma between double quotes is part of the value
/// (`context="system_u:object_r:x:s0:c1,c2"`); unbalanced quotes are treated as plain characters.
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

/// Returns the byte of an escape `\x2d`, of which the backslash was read.
pub(crate) fn hex_escape(after: &[u8]) -> Option<u8> {
    let digits = after.strip_prefix(b"x")?.get(..2)?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn anything_is_split(text in any::<String>()) {
            let options = split_options(&text);
            prop_assert!(options.iter().all(|option| !option.is_empty()));
        }
    }
}
