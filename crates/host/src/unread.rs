//! Why something on a host could not be read: the error type of filters, sources and readers.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// It does not exist.
    #[error("not found")]
    NotFound,
    /// Permission denied.
    #[error("permission denied")]
    Denied,
    /// No answer within the deadline.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// It exceeds the limit.
    #[error("larger than {0} bytes")]
    TooLarge(usize),
    /// It was not read when the bundle was made.
    #[error("not in this bundle")]
    NotRecorded,
    /// It is not in a format that the secrets filter can parse.
    #[error("{0}")]
    Malformed(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl Unread {
    /// Creates a [`Self::Timeout`].
    pub(crate) fn no_answer_within(time: Duration) -> Self {
        Self::Timeout(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether it is known not to exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NotFound)
    }
}

/// Converts an operating system error to the reason why something was not read.
impl From<&std::io::Error> for Unread {
    fn from(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotFound,
            ErrorKind::PermissionDenied => Self::Denied,
            // The process ended between listing /proc and reading.
            _ if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Self::NotFound
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}
