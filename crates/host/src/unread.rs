//! Why something of a host could not be read: the error of the filter, the sources and the readers.

use serde::{Deserialize, Serialize};

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// Not there.
    #[error("not found")]
    NotFound,
    /// Permission denied.
    #[error("permission denied")]
    Denied,
    /// No answer within the deadline.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// Larger than the limit.
    #[error("larger than {0} bytes")]
    TooLarge(usize),
    /// Not looked at when the bundle was made.
    #[error("not in this bundle")]
    NotRecorded,
    /// There, but not of the form that the filter for secrets can take apart.
    #[error("{0}")]
    Malformed(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl Unread {
    /// Whether it is known that nothing is there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NotFound)
    }
}

/// An error of the operating system as the reason why something was not read.
impl From<&std::io::Error> for Unread {
    fn from(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotFound,
            ErrorKind::PermissionDenied => Self::Denied,
            // A process that ended between the listing of /proc and the reading.
            _ if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Self::NotFound
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}
