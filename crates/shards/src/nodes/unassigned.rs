//! Unassigned copies and those ignored for the rest of the round (`UnassignedShards`).

use super::CopyIndex;
use crate::copy::ShardCopy;

/// The unassigned copies, and those ignored for the rest of the round.
#[derive(Debug, Clone, Default)]
pub struct Unassigned {
    pub(super) list: Vec<CopyIndex>,
    pub(super) ignored: Vec<CopyIndex>,
    pub(super) primaries: u32,
    pub(super) ignored_primaries: u32,
}

impl Unassigned {
    /// Copies still to be allocated, in order.
    pub fn list(&self) -> &[CopyIndex] {
        &self.list
    }

    /// Ignored copies, in the order in which they were ignored.
    pub fn ignored(&self) -> &[CopyIndex] {
        &self.ignored
    }

    /// Number of primaries still to be allocated.
    pub fn primaries(&self) -> u32 {
        self.primaries
    }

    /// Number of ignored primaries.
    pub(crate) fn ignored_primaries(&self) -> u32 {
        self.ignored_primaries
    }

    pub(super) fn add(&mut self, handle: CopyIndex, copy: &ShardCopy) {
        self.primaries += u32::from(copy.primary);
        self.list.push(handle);
    }
}
