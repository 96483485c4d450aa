//! How a request ended.

use crate::names;
use serde::{Deserialize, Serialize};

/// Why a request does not count as answered. Its latency is in no histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// No connection.
    Connect,
    /// The connection ended or broke before the answer was complete, or the answer is not HTTP.
    Closed,
    /// No complete answer within the timeout.
    Timeout,
    /// Status 429: the server has no room in a queue.
    TooManyRequests,
    /// Another status from 400 to 499.
    Status4xx,
    /// A status from 500 to 599.
    Status5xx,
    /// Any other status that is not from 200 to 299, such as a redirect, which is not followed.
    StatusOther,
    /// A bulk request of which the server refused documents.
    BulkItems,
    /// A search that timed out in the server, or that shards failed in.
    PartialResult,
    /// The answer to a bulk request cannot be understood.
    Answer,
}

impl ErrorClass {
    /// All classes, in the order in which a trial counts them.
    pub const ALL: [Self; 10] = [
        Self::Connect,
        Self::Closed,
        Self::Timeout,
        Self::TooManyRequests,
        Self::Status4xx,
        Self::Status5xx,
        Self::StatusOther,
        Self::BulkItems,
        Self::PartialResult,
        Self::Answer,
    ];

    /// Its name in documents.
    pub fn id(self) -> String {
        names::in_documents(&self)
    }

    /// What it is, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::Closed => "connection closed",
            Self::Timeout => "timeout",
            Self::TooManyRequests => "status 429",
            Self::Status4xx => "status 4xx",
            Self::Status5xx => "status 5xx",
            Self::StatusOther => "another status",
            Self::BulkItems => "documents refused",
            Self::PartialResult => "partial result",
            Self::Answer => "no bulk answer",
        }
    }

    /// Its place in [`ErrorClass::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What became of a request's documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Documents {
    /// Written.
    pub(super) written: u64,
    /// Rejected because a queue was full.
    pub(super) rejected: u64,
    /// Refused for another reason.
    pub(super) failed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_places() {
        assert!(
            ErrorClass::ALL
                .iter()
                .enumerate()
                .all(|(place, class)| class.index() == place)
        );
    }
}
