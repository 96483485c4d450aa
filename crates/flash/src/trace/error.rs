//! Errors in a trace, and their location.

use super::Format;
use std::fmt;
use std::io;

/// Maximum length of an excerpt quoted in an error.
const FOUND_BYTES_MAX: usize = 32;

/// A malformed trace, or a reader that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// Line number, from 1 over the whole stream.
    pub line: u64,
    /// Byte within the line, from 1; `None` if the line as a whole is wrong.
    pub column: Option<u32>,
    /// The problem.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Unexpected content.
    Expected {
        /// What the format requires here, in words.
        expected: &'static str,
        /// An excerpt with non-ASCII bytes escaped, or `end of line`.
        found: String,
    },
    /// A number, or its value in nanoseconds or bytes, is 2^64 or more.
    TooLarge {
        /// The quantity.
        what: &'static str,
        /// The number as written.
        found: String,
    },
    /// A line exceeds the length limit.
    LineTooLong {
        /// The limit in bytes.
        max_bytes: usize,
    },
    /// Too many devices.
    TooManyDevices {
        /// The limit.
        max: u32,
    },
    /// More bad lines than may be skipped; this is the first one over the limit.
    TooManyBadLines {
        /// Number of lines skipped before.
        skipped: u64,
        /// What is wrong with this line.
        last: Box<Problem>,
    },
    /// The first lines match no known format.
    UnknownFormat {
        /// An excerpt of the first line.
        found: String,
    },
    /// The first lines match several formats, so the user has to name one.
    AmbiguousFormat {
        /// The matching formats.
        formats: Vec<Format>,
    },
    /// There are no lines to detect the format from.
    Empty,
    /// The reader failed.
    Io {
        /// Kind of the I/O error.
        kind: io::ErrorKind,
        /// Message of the I/O error.
        message: String,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::TooLarge { what, found } => {
                write!(
                    f,
                    "{what} {found} is too large: 2^64 bytes or nanoseconds, or more"
                )
            }
            Self::LineTooLong { max_bytes } => {
                write!(
                    f,
                    "no end of line within {max_bytes} bytes: is this a text trace?"
                )
            }
            Self::TooManyDevices { max } => write!(f, "more than {max} devices"),
            Self::TooManyBadLines { skipped, last } => {
                write!(
                    f,
                    "{last} (bad lines skipped before: {skipped}; no more are allowed)"
                )
            }
            Self::UnknownFormat { found } => {
                write!(f, "no known format reads {found}: known are ")?;
                list(f, &Format::ALL)
            }
            Self::AmbiguousFormat { formats } => {
                write!(
                    f,
                    "the first lines can be read in several formats, name one: "
                )?;
                list(f, formats)
            }
            Self::Empty => f.write_str("no line that would tell the format"),
            Self::Io { message, .. } => write!(f, "cannot be read: {message}"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, formats: &[Format]) -> fmt::Result {
    for (index, format) in formats.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(f, "{separator}{format}")?;
    }
    Ok(())
}

impl std::error::Error for TraceError {}

/// A parser's error: small, because parsers of wrong formats return it for every line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParseError {
    /// Byte within the line, from 0.
    pub at: usize,
    pub what: ParseErrorKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParseErrorKind {
    /// The expected content is missing.
    Expected(&'static str),
    /// The number is 2^64 or more.
    TooLarge(&'static str),
}

impl ParseError {
    /// Adds the line number and an excerpt of the line.
    pub(crate) fn explain(self, number: u64, line: &[u8]) -> TraceError {
        let found = excerpt(line.get(self.at..).unwrap_or_default());
        TraceError {
            line: number,
            column: Some(u32::try_from(self.at + 1).unwrap_or(u32::MAX)),
            problem: match self.what {
                ParseErrorKind::Expected(expected) => Problem::Expected { expected, found },
                ParseErrorKind::TooLarge(what) => Problem::TooLarge { what, found },
            },
        }
    }
}

/// An excerpt of the field that begins here, shortened and printable.
pub(crate) fn excerpt(rest: &[u8]) -> String {
    if rest.is_empty() {
        return "end of line".to_owned();
    }
    let separator = |byte: &u8| matches!(byte, b',' | b' ' | b'\t' | b'\r' | b'\n');
    // A separator at the start is shown with what follows it.
    let len = rest
        .iter()
        .skip(1)
        .position(separator)
        .map_or(rest.len(), |at| at + 1);
    let cut = len.min(FOUND_BYTES_MAX);
    let dots = if cut < len { "..." } else { "" };
    format!("\"{}{dots}\"", rest[..cut].escape_ascii())
}
