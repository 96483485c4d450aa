//! Counters of a simulated drive.

use flash::ftl::Counters;
use schemars::JsonSchema;
use serde::Serialize;

/// Counters of a simulated drive.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Counters")]
pub struct DriveCounters {
    /// Pages written by the host.
    pub host_pages: u64,
    /// Pages moved by garbage collection.
    pub moved_pages: u64,
    /// Mapped pages that a discard unmapped.
    pub trimmed_pages: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
}

impl From<Counters> for DriveCounters {
    fn from(counters: Counters) -> Self {
        Self {
            host_pages: counters.host_pages,
            moved_pages: counters.moved_pages,
            trimmed_pages: counters.trimmed_pages,
            erased_blocks: counters.erased_blocks,
        }
    }
}
