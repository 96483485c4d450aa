use serde::Serialize;
use std::fmt;

/// Malformed input: its position, what was expected, and what was found.
///
/// Shared by every parser, so that errors about a crontab and a trace look alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct InputError {
    /// The file, URL or option that the input came from.
    pub source_name: String,
    /// 1-based line, if the input has lines.
    pub line: Option<u64>,
    /// 1-based column in characters, if known.
    pub column: Option<u64>,
    /// 0-based byte offset, if known.
    pub byte: Option<u64>,
    /// What would have been valid.
    pub expected: String,
    /// The offending input, truncated if long.
    pub found: String,
}

/// Maximum length of foreign input quoted in an error message, in characters.
const FOUND_CHARS_MAX: usize = 60;

impl InputError {
    /// Creates an error in `source_name`, with no position yet. `found` comes from outside, so it
    /// is truncated to a readable length and its control characters are escaped.
    pub fn new(source_name: impl Into<String>, expected: impl Into<String>, found: &str) -> Self {
        let mut shown = String::new();
        let mut chars = found.chars();
        for c in chars.by_ref().take(FOUND_CHARS_MAX) {
            if c.is_control() {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        if chars.next().is_some() {
            shown.push('…');
        }
        Self {
            source_name: source_name.into(),
            line: None,
            column: None,
            byte: None,
            expected: expected.into(),
            found: shown,
        }
    }

    /// Sets the 1-based line.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = u64::try_from(line).ok();
        self
    }

    /// Sets the 1-based column.
    #[must_use]
    pub fn at_column(mut self, column: usize) -> Self {
        self.column = u64::try_from(column).ok();
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source_name)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        } else if let Some(byte) = self.byte {
            write!(f, " at byte {byte}")?;
        }
        write!(f, ": expected {}, found {:?}", self.expected, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_contains_position_expected_and_found() {
        let error = InputError::new("etc/crontab", "a minute from 0 to 59", "61")
            .at_line(3)
            .at_column(1);
        assert_eq!(
            error.to_string(),
            "etc/crontab:3:1: expected a minute from 0 to 59, found \"61\""
        );
    }

    #[test]
    fn foreign_text_is_truncated_and_escaped() {
        let error = InputError::new("x", "y", &"\u{1b}[31m".repeat(40));
        assert!(!error.to_string().contains('\u{1b}'));
        assert!(error.found.ends_with('…'));
    }
}
