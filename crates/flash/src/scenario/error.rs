//! Errors of a scenario.

use thiserror::Error;

use crate::drive::{DriveError, Raid0Error};
use crate::filesystem::FilesystemError;

/// Why a scenario cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScenarioError {
    /// A number out of bounds.
    #[error("{what} is {found}, expected {expected}")]
    OutOfBounds {
        /// The quantity, in words.
        what: &'static str,
        /// The value given.
        found: String,
        /// The allowed range, in words.
        expected: &'static str,
    },
    /// Invalid drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Invalid array.
    #[error(transparent)]
    Raid0(#[from] Raid0Error),
    /// The files do not fit on the drive at their peak.
    #[error(
        "the workload's files take up to {peak_percent:.1} % of the drive at a time, and there is room \
         for 100 %: lower the fill, or make files, merges or tables smaller"
    )]
    DoesNotFit {
        /// Peak size in percent of the drive's pages.
        peak_percent: f64,
    },
    /// A file did not fit during the run.
    #[error(transparent)]
    Filesystem(#[from] FilesystemError),
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
}

pub(super) fn out_of_bounds(
    what: &'static str,
    found: impl std::fmt::Display,
    expected: &'static str,
) -> ScenarioError {
    ScenarioError::OutOfBounds {
        what,
        found: found.to_string(),
        expected,
    }
}
