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
}
