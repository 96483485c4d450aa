//! What may go wrong while a history is read.

use facts::InputError;
use http::HttpError;

/// A history that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Its text could not be understood.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A server did not answer as asked.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// It could be read, but holds nothing that was asked for; the way out is part of the text.
    #[error("{source_name}: {reason}")]
    Empty {
        /// The file or URL.
        source_name: String,
        /// What is missing, and the way out.
        reason: String,
    },
    /// A server understood the question and refused it.
    #[error("{source_name}: {reason}")]
    Refused {
        /// The URL, without credentials and query.
        source_name: String,
        /// Its own words, tamed.
        reason: String,
    },
    /// More than is kept; the way out is part of the text.
    #[error("{source_name}: {reason}")]
    TooMuch {
        /// The file or URL.
        source_name: String,
        /// What there is too much of, and the way out.
        reason: String,
    },
}
