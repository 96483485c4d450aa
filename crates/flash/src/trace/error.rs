//! What is wrong with a trace, and where.

use super::Format;
use std::fmt;
use std::io;

/// Longest piece of a line that an error repeats.
const FOUND_BYTES_MAX: usize = 32;

/// Something in a trace that is not of its format, or a reader that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// Line, counted from 1 over the whole stream.
    pub line: u64,
    /// Byte within the line, counted from 1; `None` where the line as a whole is meant.
    pub column: Option<u32>,
    /// What it is.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Something else than the format has in this place.
    Expected {
        /// In words.
        expected: &'static str,
        /// A piece of the line, bytes that are no ASCII escaped; `end of line`.
        found: String,
    },
    /// A number, or what follows of it in nanoseconds or bytes, is 2^64 or more.
    TooLarge {
        /// Which number.
        what: &'static str,
        /// As written.
        found: String,
    },
    /// The line has no end within the limit.
    LineTooLong {
        /// The limit, in bytes.
        max_bytes: usize,
    },
    /// A trace of so many devices is none.
    TooManyDevices {
        /// The limit.
        max: u32,
    },
    /// More bad lines than were to be skipped: this one is the first too many.
    TooManyBadLines {
        /// So many were skipped before.
        skipped: u64,
        /// What is wrong with this one.
        last: Box<Problem>,
    },
    /// The first lines are of no known format.
    UnknownFormat {
        /// A piece of the first line.
        found: String,
    },
    /// The first lines can be read in several formats: one has to be named.
    AmbiguousFormat {
        /// Which.
        formats: Vec<Format>,
    },
    /// There is no line that could tell a format.
    Empty,
    /// The reader failed.
    Io {
        /// Its kind.
        kind: io::ErrorKind,
        /// Its words.
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

/// What a parser found wrong: small, because it is made for every line of the wrong format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Byte within the line, from 0.
    pub at: usize,
    pub what: WrongWhat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrongWhat {
    /// Not this.
    Expected(&'static str),
    /// This, but 2^64 or more.
    TooLarge(&'static str),
}

impl Wrong {
    /// With its place and the words of the line.
    pub(crate) fn explain(self, number: u64, line: &[u8]) -> TraceError {
        let found = excerpt(line.get(self.at..).unwrap_or_default());
        TraceError {
            line: number,
            column: Some(u32::try_from(self.at + 1).unwrap_or(u32::MAX)),
            problem: match self.what {
                WrongWhat::Expected(expected) => Problem::Expected { expected, found },
                WrongWhat::TooLarge(what) => Problem::TooLarge { what, found },
            },
        }
    }
}

/// The field that begins here, shortened, fit to be printed.
pub(crate) fn excerpt(rest: &[u8]) -> String {
    if rest.is_empty() {
        return "end of line".to_owned();
    }
    let separator = |byte: &u8| matches!(byte, b',' | b' ' | b'\t' | b'\r' | b'\n');
    // A separator itself is shown with what follows.
    let len = rest
        .iter()
        .skip(1)
        .position(separator)
        .map_or(rest.len(), |at| at + 1);
    let cut = len.min(FOUND_BYTES_MAX);
    let dots = if cut < len { "..." } else { "" };
    format!("\"{}{dots}\"", rest[..cut].escape_ascii())
}
