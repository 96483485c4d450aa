//! What may be kept of a command's words: nothing that could be secret.

use super::words::{Segment, Word, is_name};

/// Returns the value of an assignment if it may be kept: an absolute path that is not secret.
pub(super) fn kept_value(word: &Word) -> Option<String> {
    let (name, len) = word.assigned_name()?;
    let text = word.text()?;
    let value = &text[len..];
    (is_safe_path(value) && !names_a_secret(name)).then(|| value.to_owned())
}

/// Whether this is an absolute path of plain characters.
pub(crate) fn is_safe_path(text: &str) -> bool {
    text.starts_with('/')
        && text.len() <= 256
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c))
}

/// Whether the name of a variable or option suggests a secret.
pub(super) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "pass", "pw", "secret", "token", "key", "auth", "cred", "login", "phrase", "private",
        "cookie", "bearer",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Whether this looks like the name of a program.
pub(super) fn is_safe_program(text: &str) -> bool {
    is_safe_path(text)
        || matches!(text, ":" | "[" | "[[")
        || (!text.is_empty()
            && text.len() <= 64
            && !text.starts_with('-')
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._+-/".contains(c)))
}

/// Returns what may be kept of an argument of a program whose arguments matter.
pub(super) fn kept_argument(word: &Word) -> Option<String> {
    let mut text = String::new();
    for segment in &word.segments {
        match segment {
            Segment::Literal { text: literal, .. }
                if literal
                    .chars()
                    .all(|c| c.is_alphanumeric() || "/._+-=:,%*?~^[]{}".contains(c)) =>
            {
                text.push_str(literal);
            }
            Segment::Variable(name) => {
                text.push('$');
                text.push_str(name);
            }
            _ => return None,
        }
    }
    let secret = text.contains("://")
        || text
            .split_once('=')
            .is_some_and(|(name, _)| names_a_secret(name));
    (text.len() <= 256 && !secret).then_some(text)
}

/// Whether an argument of `test` may be kept: options, operators, variables and paths.
pub(super) fn is_kept_in_test(word: &Word) -> bool {
    word.segments.iter().all(|segment| match segment {
        Segment::Variable(_) => true,
        Segment::Literal { text, .. } => {
            is_safe_path(text)
                || matches!(
                    text.as_str(),
                    "!" | "]" | "]]" | "(" | ")" | "=" | "==" | "!=" | "=~"
                )
                || (text.starts_with('-')
                    && text.len() <= 3
                    && text[1..].chars().all(|c| c.is_ascii_alphabetic()))
        }
        Segment::Script(_) | Segment::Arithmetic(_) | Segment::Opaque => false,
    })
}

/// Whether this is an I/O class, a priority or a nice value.
pub(super) fn is_priority_value(text: &str) -> bool {
    matches!(text, "idle" | "best-effort" | "realtime" | "none")
        || (text.len() <= 3
            && text
                .strip_prefix(['-', '+'])
                .unwrap_or(text)
                .chars()
                .all(|c| c.is_ascii_digit()))
}

/// Whether a kept argument is just a variable.
pub(super) fn is_variable(kept: &str) -> bool {
    kept.strip_prefix('$').is_some_and(is_name)
}
