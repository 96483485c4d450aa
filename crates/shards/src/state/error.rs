//! Why an answer of a cluster cannot be used.

use crate::model::WatermarkOrderError;

/// An answer that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The JSON is malformed, or not of the expected shape.
    #[error("{what}, line {line}, column {column}{}: {problem}", at(*byte))]
    Json {
        /// The answer.
        what: &'static str,
        /// 1-based line.
        line: usize,
        /// 1-based column, in bytes.
        column: usize,
        /// 0-based offset in bytes, where it is known.
        byte: Option<u64>,
        /// What is wrong.
        problem: String,
    },
    /// Not JSON, by its first bytes.
    #[error("{what}: expected JSON, found {found}{}", first(bytes))]
    NotJson {
        /// The answer.
        what: &'static str,
        /// What it looks like.
        found: &'static str,
        /// The first bytes, in hexadecimal digits.
        bytes: String,
        /// What to do about it.
        way_out: &'static str,
    },
    /// The server's answer to a request that failed: `{"error": ..., "status": 401}`.
    #[error("{what}: expected an answer, found an error of the server: {error}")]
    ErrorAnswer {
        /// The answer that was to be read.
        what: &'static str,
        /// Status, type and reason, as far as they are told, cut.
        error: String,
    },
    /// The stream failed.
    #[error("{what}: {reason}")]
    Unreadable {
        /// The answer.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Well-formed, but it cannot be so.
    #[error("{0}")]
    Contradiction(String),
    /// A setting has a value that it does not take.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Disk watermarks were set that the server does not take together.
    #[error(transparent)]
    Watermarks(#[from] WatermarkOrderError),
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("setting {name}: expected {expected}, found {found:?}")]
pub struct SettingError {
    /// Its name.
    pub name: String,
    /// What would have been right.
    pub expected: &'static str,
    /// What stood there, cut.
    pub found: String,
}

fn first(bytes: &str) -> String {
    if bytes.is_empty() {
        String::new()
    } else {
        format!(" (it begins with the bytes {bytes})")
    }
}

fn at(byte: Option<u64>) -> String {
    byte.map_or_else(String::new, |byte| format!(" (byte {byte})"))
}
