//! What may go wrong while a history is read.

use facts::InputError;
use http::{HttpError, shown};

use serde::de::DeserializeOwned;

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
    /// A log counts no time, and nothing in it tells how far apart its reports are.
    #[error(
        "{source_name}: nothing tells how far apart its reports are: name the seconds between them, or \
         let iostat print times (-t)"
    )]
    NoStep {
        /// The file.
        source_name: String,
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

impl SourceError {
    /// A question that is refused, or an answer that is none.
    pub(crate) fn refused(source_name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused {
            source_name: source_name.into(),
            reason: reason.into(),
        }
    }

    /// A question to a server whose answer is more than is kept.
    pub(crate) fn too_much(source_name: impl Into<String>, what: &str) -> Self {
        Self::TooMuch {
            source_name: source_name.into(),
            reason: format!("{what}: ask for fewer series, a longer step, or less time"),
        }
    }
}

/// A saved answer of a server.
pub(crate) fn saved<T: DeserializeOwned>(body: &[u8], source_name: &str) -> Result<T, SourceError> {
    serde_json::from_slice(body).map_err(|error| {
        let words = shown(error.to_string().as_bytes());
        SourceError::refused(source_name, format!("unexpected JSON: {words}"))
    })
}
