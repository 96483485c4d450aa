//! The one key of LVM's configuration files (lvm.conf(5)) that matters here: `issue_discards` in the
//! section `devices`.
//!
//! Sections nest, a section may occur several times, `devices/issue_discards = 1` means the same as
//! the key inside its section, `#` starts a comment outside of strings, and the last value of a
//! repeated key wins (`libdm/libdm-config.c` of LVM2).

use facts::InputError;

/// Path without the leading slash.
pub const PATH: &str = "etc/lvm/lvm.conf";
/// Host-specific settings, which override those in [`PATH`].
pub const LOCAL_PATH: &str = "etc/lvm/lvmlocal.conf";
/// Whether `lvremove` and `lvreduce` discard the space they free; LVM's default is 0.
pub const ISSUE_DISCARDS: &str = "devices/issue_discards";

/// Returns [`ISSUE_DISCARDS`] of a file; `None` if it is not set. A value that is not a boolean means
/// LVM's default.
///
/// # Errors
/// If the braces do not match; LVM itself rejects such a file.
pub fn issue_discards(path: &str, text: &str) -> Result<Option<bool>, InputError> {
    // LVM treats a NUL as the end of the file.
    let text = text.split('\0').next().unwrap_or_default();
    let mut rest = text;
    let mut sections: Vec<&str> = Vec::new();
    let (mut name, mut found, mut awaits_value) = ("", None, false);
    while let Some(word) = next(&mut rest) {
        match word {
            Word::Symbol('{') => sections.push(name),
            Word::Symbol('}') if sections.pop().is_none() => {
                let line = 1 + text[..text.len() - rest.len()].matches('\n').count();
                let error = InputError::new(path, "a section or a key", "}");
                return Err(error.at_line(line));
            }
            Word::Symbol('=') => awaits_value = is_issue_discards(&sections, name),
            Word::Text(value) if awaits_value => {
                found = Some(boolean(value));
                awaits_value = false;
            }
            Word::Text(text) => name = text,
            Word::Symbol(_) => {}
        }
    }
    if sections.is_empty() {
        return Ok(found);
    }
    let error = InputError::new(path, "a key, a section or `}`", "the end of the file");
    Err(error.at_line(1 + text.matches('\n').count()))
}

fn is_issue_discards(sections: &[&str], name: &str) -> bool {
    let parts = sections.iter().chain([&name]);
    let parts = parts.flat_map(|part| part.split('/').filter(|part| !part.is_empty()));
    parts.eq(ISSUE_DISCARDS.split('/'))
}

/// Reads a boolean as LVM does.
fn boolean(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    (is_number && digits.bytes().any(|b| b != b'0'))
        || ["y", "yes", "on", "true"].contains(&value.to_ascii_lowercase().as_str())
}

enum Word<'t> {
    /// One of `{ } [ ] , =`.
    Symbol(char),
    /// A string without its quotes, or anything else.
    Text(&'t str),
}

/// Takes the next word that is no comment.
fn next<'t>(rest: &mut &'t str) -> Option<Word<'t>> {
    let mut text = rest.trim_start();
    while text.starts_with('#') {
        text = text[text.find('\n').unwrap_or(text.len())..].trim_start();
    }
    let first = text.chars().next()?;
    let (word, len) = match first {
        '{' | '}' | '[' | ']' | ',' | '=' => (Word::Symbol(first), 1),
        '"' | '\'' => {
            let mut escaped = false;
            let end = text[1..].find(|c| {
                let is_end = c == first && !escaped;
                escaped = c == '\\' && first == '"' && !escaped;
                is_end
            });
            let inside = end.map_or(&text[1..], |end| &text[1..=end]);
            (
                Word::Text(inside),
                inside.len() + 1 + usize::from(end.is_some()),
            )
        }
        _ => {
            let end = text.find(|c: char| c.is_whitespace() || "{}[],=#".contains(c));
            let word = &text[..end.unwrap_or(text.len())];
            (Word::Text(word), word.len())
        }
    };
    *rest = &text[len..];
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(text: &str) -> Option<bool> {
        issue_discards(PATH, text).expect(text)
    }

    #[test]
    fn comments_strings_and_arrays_do_not_confuse_sections() {
        // As Debian ships it, with traps: a key in a comment, `#` and `}` within a string, a key of
        // the same name in another section.
        let text = "# issue_discards = 1\n\
             config {\n\
             \tchecks = 1 # a comment with } and { in it\n\
             \tissue_discards = 1\n\
             }\n\
             devices {\n\
             \t# Configuration option devices/issue_discards.\n\
             \tdir = \"/dev\"\n\
             \tscan = [ \"/dev\", \"/mnt/#}1\" ]\n\
             \tfilter = [ \"a|.*\\\"/|\",\n\t\t'r|\\|' ]\n\
             \tignore_suspended_devices = 0 VALUE\n\
             }\n\
             allocation { cache_settings { smq { x = -3 y = 1.5 } } }\n";
        assert_eq!(
            word(&text.replace("VALUE", "issue_discards = 1")),
            Some(true)
        );
        assert_eq!(
            word(&text.replace("VALUE", "issue_discards = 0")),
            Some(false)
        );
        assert_eq!(word(&text.replace("VALUE", "")), None);
        assert_eq!(
            word("devices { use_devicesfile=0 }\nactivation { thin_check_executable=\"\" }\n"),
            None
        );
    }

    #[test]
    fn paths_repeats_and_words() {
        for (text, expected) in [
            ("devices/issue_discards=1", Some(true)),
            ("/devices//issue_discards=\"YES\"", Some(true)),
            (
                "devices { issue_discards = 1 }\ndevices { issue_discards = 0 }",
                Some(false),
            ),
            ("devices { issue_discards = off }", Some(false)),
            ("devices { issue_discards = [1] }", Some(true)),
            ("devices { issue_discards = 1.0 }", Some(false)),
            ("devices { issue_discards = maybe }", Some(false)),
            (
                "devices { \"issue_discards\" = 99999999999999999999 }",
                Some(true),
            ),
            ("devices { sub { issue_discards = 1 } }", None),
            ("issue_discards = 1", None),
            ("devices { }\0 devices/issue_discards = 1", None),
        ] {
            assert_eq!(word(text), expected, "{text}");
        }
    }

    #[test]
    fn broken_files_are_rejected_with_a_line_number() {
        let deep = "a { ".repeat(10_000);
        for (text, line, expected) in [
            (
                "devices {\n issue_discards = 1\n",
                3,
                "a key, a section or `}`",
            ),
            ("a = 1\n}\n", 2, "a section or a key"),
            (deep.as_str(), 1, "a key, a section or `}`"),
        ] {
            let error = issue_discards(PATH, text).unwrap_err();
            assert_eq!(
                (error.line, error.expected.as_str()),
                (Some(line), expected),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn other_keys_change_nothing(
            others in prop::collection::vec(("[a-z]{1,5}", "[a-z_]{1,8}", "[ -~äö]{0,12}"), 0..12),
            as_path in any::<bool>(),
            comment in "[ -~]{0,20}",
            set in any::<Option<bool>>(),
        ) {
            let mut text = String::new();
            for (section, key, value) in &others {
                let value = format!("[\"{}\"]", value.replace('\\', "\\\\").replace('"', "\\\""));
                if as_path {
                    text.extend([section, "/", key, " = ", &value, " # ", &comment, "\n"]);
                } else {
                    text.extend([section, " { # ", &comment, "\n", key, "=", &value, "\n}"]);
                }
            }
            text.push_str(match set {
                Some(true) => "devices { issue_discards=1 }",
                Some(false) => "devices { issue_discards=0 }",
                None => "",
            });
            prop_assert_eq!(word(&text), set);
        }

        #[test]
        fn never_panics(text in any::<String>(), parts in prop::collection::vec("[a{}=\\[\\],\"'#\\\\/.0-9+\n ä]{0,4}", 0..20)) {
            let _ = (issue_discards(PATH, &text), issue_discards(PATH, &parts.concat()));
        }
    }
}
