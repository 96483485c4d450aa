//! Errors of the readers.

use bounded_http::{HttpError, shown};
use facts::InputError;

use serde::de::DeserializeOwned;

/// An error while reading a history.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The text is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A request to a server failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The source is readable but contains nothing that was requested; the text includes a hint.
    #[error("{source_name}: {reason}")]
    Empty {
        /// The file or URL.
        source_name: String,
        /// What is missing, and how to fix it.
        reason: String,
    },
    /// What sysstat collected, in a form that only its own programs read.
    #[error(
        "{path}: {kind}; sysstat's own sadf converts what it was collected in: sadf -j {datafile} -- -d -u \
         > sar.json"
    )]
    Sysstat {
        /// The file.
        path: String,
        /// What it is.
        kind: &'static str,
        /// The file to convert, as it stands in a command.
        datafile: String,
    },
    /// A server understood the query and refused it.
    #[error("{source_name}: {reason}")]
    Refused {
        /// The URL, without credentials and query.
        source_name: String,
        /// The server's message, sanitised.
        reason: String,
    },
    /// There is more data than the limits allow; the text includes a hint.
    #[error("{source_name}: {reason}")]
    TooMuch {
        /// The file or URL.
        source_name: String,
        /// What there is too much of, and how to fix it.
        reason: String,
    },
}

impl SourceError {
    /// An error for a source without what was requested.
    pub(crate) fn empty(source_name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Empty {
            source_name: source_name.into(),
            reason: reason.into(),
        }
    }

    /// An error for a query that was refused or a response that is invalid.
    pub(crate) fn refused(source_name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused {
            source_name: source_name.into(),
            reason: reason.into(),
        }
    }

    /// An error for a query whose result exceeds the limits.
    pub(crate) fn too_much(source_name: impl Into<String>, what: &str) -> Self {
        Self::TooMuch {
            source_name: source_name.into(),
            reason: format!("{what}: ask for fewer series, a longer step, or less time"),
        }
    }
}

/// Parses a saved response of a server.
pub(crate) fn parse_saved<T: DeserializeOwned>(
    body: &[u8],
    source_name: &str,
) -> Result<T, SourceError> {
    serde_json::from_slice(body).map_err(|error| {
        let words = shown(error.to_string().as_bytes());
        SourceError::refused(source_name, format!("unexpected JSON: {words}"))
    })
}
