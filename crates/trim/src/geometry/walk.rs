//! The interface of every walk through a filesystem.

use crate::step::{Cursor, Step, StepBudget};
use crate::target::TargetError;

/// The structure of a filesystem, as far as it matters for a trim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Human-readable description: `ext4: 80 block groups of 128 MiB`,
    /// `XFS: 4 allocation groups of 1 GiB, free extents listed by the kernel`.
    pub description: String,
    /// Free bytes, from the filesystem's own structures (or statfs).
    pub free_bytes: u64,
    /// Number of free extents; `None` if the filesystem does not tell.
    pub free_extents: Option<u64>,
    /// Size of the largest free extent.
    pub largest_extent_bytes: Option<u64>,
    /// Approximate number of steps for the given budget.
    pub steps: u64,
    /// What cannot be split: Btrfs' unallocated space, an allocation group on a kernel that does
    /// not list extents, or the whole filesystem if its type is unknown.
    pub unsplittable: Vec<Unsplittable>,
    /// Size of the filesystem.
    pub size_bytes: u64,
}

/// A step that cannot be paced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsplittable {
    /// Description of the step.
    pub what: String,
    /// Free bytes that one call discards.
    pub bytes: u64,
    /// Whether it is Btrfs' unallocated space, which is locked until its last discard is done.
    pub is_unallocated: bool,
}

impl Unsplittable {
    /// Block groups that are larger than a step is to be, the largest of which has this many free bytes.
    pub(super) fn groups(count: u64, largest_bytes: u64, why: &str) -> Self {
        let exceed = if count == 1 { "exceeds" } else { "exceed" };
        let groups = units::count(count, "block group");
        Self {
            what: format!("{groups} {exceed} the step size: {why}"),
            bytes: largest_bytes,
            is_unallocated: false,
        }
    }
}

/// Why the geometry could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GeometryError {
    /// The mount has changed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A stop was requested meanwhile.
    #[error("the geometry was not read to its end: a stop was asked for")]
    Stopped,
    /// The filesystem's structures could not be read.
    #[error("{what}: {source}")]
    Unreadable {
        /// What was being read.
        what: String,
        /// Error from the kernel.
        source: std::io::Error,
    },
    /// The structures are invalid.
    #[error("{what}: {message}")]
    Invalid {
        /// What was being read.
        what: String,
        /// What is wrong with it.
        message: String,
    },
}

impl GeometryError {
    pub(super) fn unreadable(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Unreadable {
            what: what.into(),
            source,
        }
    }

    pub(super) fn invalid(what: &str, message: impl std::fmt::Display) -> Self {
        Self::Invalid {
            what: what.to_owned(),
            message: message.to_string(),
        }
    }
}

/// Walks a filesystem in steps, in ascending order. A survey and a search for the next step may
/// take thousands of system calls each: they end with [`GeometryError::Stopped`] soon after a stop
/// was requested, and can be called again.
pub trait Walk {
    /// Surveys the whole filesystem, regardless of the cursor. May take a while on a filesystem
    /// with millions of extents.
    ///
    /// # Errors
    /// If the structures cannot be read.
    fn survey(&mut self, budget: StepBudget) -> Result<Survey, GeometryError>;

    /// Returns the next step, no larger than the budget if the geometry allows it; `None` at the
    /// end. The step counts as done at the next call.
    ///
    /// # Errors
    /// If the structures cannot be read.
    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError>;

    /// Reports what the last step discarded on the mounted device, where that can be measured. It
    /// reveals kernels that discard overlapping extents whole.
    fn observed(&mut self, discarded_bytes: Option<u64>) {
        let _ = discarded_bytes;
    }

    /// Returns the position after the steps returned so far, including the last one.
    fn cursor(&self) -> Cursor;

    /// Returns `minlen` for every call of this pass. It is constant, because ext4 trims everything
    /// again when it is lowered.
    fn minlen_bytes(&self) -> u64 {
        0
    }

    /// Returns whether the last step locks one free extent at a time, so that others can allocate
    /// meanwhile, whatever its size (block groups of ext4 and Btrfs). XFS locks all extents of a
    /// call.
    fn locks_one_extent_at_a_time(&self) -> bool {
        false
    }
}
