//! What every walk through a filesystem tells and does.

use crate::range::{Cursor, Step, StepBudget};
use crate::target::TargetError;

/// What a filesystem is made of, as far as a trim is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// In words: `ext4: 80 block groups of 128 MiB`, `XFS: 4 allocation groups of 1 GiB, free
    /// extents listed by the kernel`.
    pub description: String,
    /// Free bytes, from the filesystem's own structures (or statfs).
    pub free_bytes: u64,
    /// Free extents; `None` where the filesystem does not tell.
    pub free_extents: Option<u64>,
    /// The largest of them.
    pub largest_extent_bytes: Option<u64>,
    /// Steps at a given budget, roughly.
    pub steps: u64,
    /// What cannot be split, with its bytes: Btrfs' unallocated space, an allocation group of a
    /// kernel that does not list extents, the whole filesystem of an unknown type.
    pub unsplittable: Vec<Unsplittable>,
    /// Size of the filesystem.
    pub size_bytes: u64,
}

/// A step that cannot be paced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsplittable {
    /// What it is.
    pub what: String,
    /// Free bytes that one call discards.
    pub bytes: u64,
    /// It is Btrfs' unallocated space, which is locked until its last discard is done.
    pub is_unallocated: bool,
}

/// Why the geometry could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GeometryError {
    /// The mount is not what it was.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A stop was asked for in the middle of it.
    #[error("the geometry was not read to its end: a stop was asked for")]
    Stopped,
    /// The filesystem's structures could not be read.
    #[error("{what}: {source}")]
    Unreadable {
        /// What was asked for.
        what: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// They make no sense.
    #[error("{what}: {message}")]
    Invalid {
        /// What was asked for.
        what: String,
        /// What was wrong.
        message: String,
    },
}

/// Walks a filesystem in steps, in ascending order. Either question may take thousands of calls of
/// the kernel: it ends with [`GeometryError::Stopped`] soon after a stop was asked for, and can be
/// asked again.
pub trait Walk {
    /// What there is to do in the whole filesystem, wherever the cursor is. May take a while on a
    /// filesystem with millions of extents.
    ///
    /// # Errors
    /// Where the structures cannot be read.
    fn survey(&mut self, budget: StepBudget) -> Result<Survey, GeometryError>;

    /// The next step, at most as large as the budget where the geometry allows it; `None` at the
    /// end. The step counts as done at the next call.
    ///
    /// # Errors
    /// Where the structures cannot be read.
    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError>;

    /// What the step handed out last discarded on the mounted device, where that can be measured:
    /// a kernel that takes overlapping extents whole shows itself here.
    fn observed(&mut self, discarded_bytes: Option<u64>);

    /// How far the steps handed out have come, the last one included.
    fn cursor(&self) -> Cursor;

    /// `minlen` for every call of this pass; constant, because ext4 trims everything again when it
    /// is lowered.
    fn minlen_bytes(&self) -> u64;

    /// Whether the step handed out last locks one free extent at a time, so that others can allocate
    /// beside it, whatever its size (block groups of ext4 and Btrfs). XFS locks all extents of a
    /// call.
    fn locks_one_extent_at_a_time(&self) -> bool {
        false
    }
}
