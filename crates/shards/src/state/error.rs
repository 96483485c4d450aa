//! Errors in a cluster's API responses.

use crate::model::WatermarkOrderError;

/// A response cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The JSON is malformed, or does not have the expected structure.
    #[error("{what}, line {line}, column {column}: {problem}")]
    Json {
        /// The response.
        what: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// The problem.
        problem: String,
    },
    /// The input is not JSON, judging by its first bytes.
    #[error("{what}: expected JSON, found {found}")]
    NotJson {
        /// The response.
        what: &'static str,
        /// The apparent format.
        found: &'static str,
        /// How to fix it.
        way_out: &'static str,
    },
    /// The server's response to a failed request: `{"error": ..., "status": 401}`.
    #[error("{what}: expected an answer, found an error of the server: {error}")]
    ErrorAnswer {
        /// The expected response.
        what: &'static str,
        /// Status, type and reason, as far as present, truncated.
        error: String,
    },
    /// Reading the stream failed.
    #[error("{what}: {reason}")]
    Unreadable {
        /// The response.
        what: &'static str,
        /// The cause.
        reason: String,
    },
    /// Well-formed but inconsistent.
    #[error("{0}")]
    Contradiction(String),
    /// A setting has an invalid value.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A combination of disk watermarks that the server rejects.
    #[error(transparent)]
    Watermarks(#[from] WatermarkOrderError),
}

/// A setting has an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("setting {name}: expected {expected}, found {found:?}")]
pub struct SettingError {
    /// The setting's name.
    pub name: String,
    /// The expected value.
    pub expected: &'static str,
    /// The value found, truncated.
    pub found: String,
}
