//! Errors of the readers and of the writer.

use facts::InputError;
use units::escape;

/// Results that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A file or folder cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Its path, escaped.
        path: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The text is not what its format asks for.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The text is valid, and holds nothing to compare.
    #[error("{source_name}: {reason}")]
    Empty {
        /// The file or folder, escaped.
        source_name: String,
        /// What is missing, and how to get it.
        reason: String,
    },
}

impl ResultsError {
    pub(crate) fn file(path: &str, error: std::io::Error) -> Self {
        Self::File {
            path: escape(path).into_owned(),
            error,
        }
    }

    pub(crate) fn empty(source_name: &str, reason: impl Into<String>) -> Self {
        Self::Empty {
            source_name: escape(source_name).into_owned(),
            reason: reason.into(),
        }
    }
}

/// An error in the text of `source_name`; both texts may be foreign.
pub(crate) fn input_error(
    source_name: &str,
    expected: impl Into<String>,
    found: &str,
) -> InputError {
    InputError::new(escape(source_name), expected, &escape(found))
}
