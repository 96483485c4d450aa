use serde::{Deserialize, Serialize};

/// A range of a filesystem's own address space, as FITRIM takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// First byte.
    pub start_bytes: u64,
    /// Length; `u64::MAX` stands for "to the end".
    pub len_bytes: u64,
}

impl ByteRange {
    /// The whole filesystem.
    pub const WHOLE: Self = Self {
        start_bytes: 0,
        len_bytes: u64::MAX,
    };

    /// The byte after the last.
    pub fn end_bytes(self) -> u64 {
        self.start_bytes.saturating_add(self.len_bytes)
    }
}

/// One call of FITRIM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What the kernel is asked to trim.
    pub range: ByteRange,
    /// Free extents that the step visits; `None` where the filesystem does not tell.
    pub free_extents: Option<u64>,
    /// Free bytes that the step is expected to discard; `None` where unknown. An upper bound: what
    /// was trimmed before (ext4), is busy (XFS) or is shorter than the drive's granularity is not
    /// discarded.
    pub free_bytes: Option<u64>,
    /// Why this step could not be made as small as it was asked to be; `None` where it is.
    pub unsplittable: Option<String>,
}

/// How large the next step may be. At least one unit of the geometry is always taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepBudget {
    /// Free bytes.
    pub free_bytes: u64,
    /// Free extents.
    pub free_extents: u64,
}

/// How far a pass has come. Steps are made in ascending order of addresses, so a position is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// Everything that begins below this address has been trimmed.
    pub next_bytes: u64,
    /// Btrfs: its unallocated space has been trimmed.
    #[serde(default)]
    pub unallocated_done: bool,
}
