//! The flash below a translation layer, and its counters.

use std::ops::AddAssign;

/// Work done since the counters were reset, in pages except for `erased_blocks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Pages written by the host.
    pub host_pages: u64,
    /// Pages moved by garbage collection.
    pub moved_pages: u64,
    /// Mapped pages that a discard unmapped.
    pub trimmed_pages: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, more: Self) {
        self.host_pages += more.host_pages;
        self.moved_pages += more.moved_pages;
        self.trimmed_pages += more.trimmed_pages;
        self.erased_blocks += more.erased_blocks;
    }
}

impl Counters {
    /// The sum of several counters.
    pub fn sum(each: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        for counters in each {
            sum += counters;
        }
        sum
    }

    /// Pages programmed per page written by the host; `None` before the first write.
    #[allow(clippy::cast_precision_loss)] // a ratio
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_pages > 0)
            .then(|| (self.host_pages + self.moved_pages) as f64 / self.host_pages as f64)
    }
}

/// Receives flash operations to compute how long they take. The default methods do nothing.
/// Consecutive physical pages are striped across the dies.
pub trait Medium {
    /// The host programmed `pages` pages in sequence, starting at `first_place`.
    #[inline]
    fn program(&mut self, first_place: u32, pages: u32) {
        let _ = (first_place, pages);
    }
    /// A victim's `valid` pages were read and programmed elsewhere, and the victim was erased.
    #[inline]
    fn collect(&mut self, valid: u32) {
        let _ = valid;
    }
}

/// A medium that takes no time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timeless;
impl Medium for Timeless {}
