//! The step: one FITRIM call of a pass, and the budget that it is cut by.
//!
//! `pace/size.rs` sets the [budget](StepBudget), `geometry/` cuts the next [step](Step) to fit it (XFS:
//! `geometry/xfs.rs`), and `pass/engine/step.rs` decides whether a step that could not be cut that small
//! may be made.

use serde::{Deserialize, Serialize};

/// A range of a filesystem's own address space, as passed to FITRIM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// First byte.
    pub start_bytes: u64,
    /// Length; `u64::MAX` means "to the end".
    pub len_bytes: u64,
}

impl ByteRange {
    /// The whole filesystem.
    pub const WHOLE: Self = Self {
        start_bytes: 0,
        len_bytes: u64::MAX,
    };

    /// Returns the address after the last byte.
    pub fn end_bytes(self) -> u64 {
        self.start_bytes.saturating_add(self.len_bytes)
    }
}

/// One FITRIM call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The range to trim.
    pub range: ByteRange,
    /// Free extents that the step visits; `None` if the filesystem does not tell.
    pub free_extents: Option<u64>,
    /// Free bytes that the step is expected to discard; `None` if unknown. An upper bound: what was
    /// trimmed before (ext4), is busy (XFS) or is shorter than the drive's granularity is not
    /// discarded.
    pub free_bytes: Option<u64>,
    /// Why this step could not be made as small as requested; `None` if it is.
    pub unsplittable: Option<String>,
}

/// Size limit of the next step. At least one unit of the geometry is always taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepBudget {
    /// Maximum free bytes.
    pub free_bytes: u64,
    /// Maximum free extents.
    pub free_extents: u64,
}

/// Position of a pass. Steps are made in ascending order of addresses, so an address is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// Everything that begins below this address has been trimmed.
    pub next_bytes: u64,
    /// Btrfs: the unallocated space has been trimmed.
    #[serde(default)]
    pub unallocated_done: bool,
}
