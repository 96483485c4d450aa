//! Who runs the trials of an experiment, and why one ends early.

use super::settle::SettleError;
use crate::disk::DiskError;
use crate::server::{Node, NodeError};
use crate::variant::Variant;
use bench::path_error::PathError;
use bench::trial::{State, TrialDocument};
use bounded_http::Endpoint;
use std::error::Error;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What an experiment is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Making and mounting the filesystem.
    Make,
    /// Starting the server.
    Start,
    /// Writing documents.
    Ingest,
    /// Waiting for merges.
    Settle,
    /// Copying segments.
    Copy,
    /// Querying.
    Query,
    /// Removing it all.
    Remove,
}

/// Runs trials and is told what happens. Which host, which jobs and which clock is not this crate's business.
pub trait Runs {
    /// Is told that a step of run `number` (from 0) of `variant` begins.
    fn step(&mut self, number: usize, variant: Variant, step: Step);

    /// Runs the track against the server, with the trial's folder in `into`.
    ///
    /// # Errors
    /// If nothing could be measured.
    fn trial(
        &mut self,
        track: &str,
        server: &Endpoint,
        into: &Path,
    ) -> Result<(PathBuf, TrialDocument), Box<dyn Error + Send + Sync>>;

    /// Whether the user wants an end.
    fn is_stopped(&self) -> bool;
}

/// Why a run ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The device or the filesystem.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The server.
    #[error(transparent)]
    Node(NodeError),
    /// The index does not come to rest.
    #[error(transparent)]
    Settle(SettleError),
    /// A trial.
    #[error("{0}")]
    Trial(#[source] Box<dyn Error + Send + Sync>),
    /// A trial ended, but not as planned.
    #[error("{}: {state}", units::escape(&folder.to_string_lossy()))]
    TrialState {
        /// Its folder.
        folder: PathBuf,
        /// How it ended.
        state: String,
    },
    /// The documents need more space than there is.
    #[error(
        "the filesystem is full, {} of {} are free: take a larger one (--size, --device), or write fewer --documents",
        units::bytes(*free_bytes),
        units::bytes(*len_bytes)
    )]
    Full {
        /// Bytes that can still be written.
        free_bytes: u64,
        /// Its size.
        len_bytes: u64,
    },
    /// Not all documents were taken.
    #[error("the index holds {found} of {written} documents: the server refused the others")]
    Documents {
        /// How many are there.
        found: u64,
        /// How many were sent.
        written: u64,
    },
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The user ended it.
    #[error("stopped")]
    Stopped,
}

impl RunError {
    /// The last lines of the server's output, if it is the cause.
    pub fn server_output(&self) -> &[String] {
        match self {
            Self::Node(error) => error.output(),
            _ => &[],
        }
    }
}

impl From<NodeError> for RunError {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::Stopped => Self::Stopped,
            other => Self::Node(other),
        }
    }
}

impl From<SettleError> for RunError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Stopped => Self::Stopped,
            other => Self::Settle(other),
        }
    }
}

/// Runs a trial that must come to its end. If the server died, that is the error.
pub(super) fn whole(
    runs: &mut dyn Runs,
    track: &str,
    node: &mut Node,
    into: &Path,
) -> Result<(PathBuf, TrialDocument), RunError> {
    match to_the_end(runs, track, node.endpoint(), into) {
        Err(RunError::Stopped) => Err(RunError::Stopped),
        Err(error) => Err(node.death().map_or(error, RunError::Node)),
        whole => whole,
    }
}

fn to_the_end(
    runs: &mut dyn Runs,
    track: &str,
    server: &Endpoint,
    into: &Path,
) -> Result<(PathBuf, TrialDocument), RunError> {
    let (folder, trial) = runs.trial(track, server, into).map_err(RunError::Trial)?;
    match trial.state {
        State::Complete => Ok((folder, trial)),
        State::Stopped => Err(RunError::Stopped),
        State::Running | State::Overloaded | State::Failed => Err(RunError::TrialState {
            folder,
            state: trial
                .state_detail
                .unwrap_or_else(|| "the server did not answer in time".to_owned()),
        }),
    }
}
