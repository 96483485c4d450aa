//! The list of unassigned copies and those set aside for this round (`UnassignedShards`).

use super::CopyIndex;
use crate::copy::ShardCopy;

/// The unassigned copies, and those that this round ignores from here on.
#[derive(Debug, Clone, Default)]
pub struct Unassigned {
    pub(super) list: Vec<CopyIndex>,
    pub(super) ignored: Vec<CopyIndex>,
    pub(super) primaries: u32,
    pub(super) ignored_primaries: u32,
}

impl Unassigned {
    /// Those still to be allocated, in order.
    pub fn list(&self) -> &[CopyIndex] {
        &self.list
    }

    /// Those set aside, in the order in which they were.
    pub fn ignored(&self) -> &[CopyIndex] {
        &self.ignored
    }

    /// Primaries still to be allocated.
    pub fn primaries(&self) -> u32 {
        self.primaries
    }

    /// Primaries set aside.
    pub(crate) fn ignored_primaries(&self) -> u32 {
        self.ignored_primaries
    }

    pub(super) fn add(&mut self, handle: CopyIndex, copy: &ShardCopy) {
        self.primaries += u32::from(copy.primary);
        self.list.push(handle);
    }
}
