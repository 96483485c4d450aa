//! The flash below a translation layer, and the counters of its work.

/// Work since the counters were reset, in pages except for `erased_blocks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Written by the host.
    pub host_pages: u64,
    /// Moved by collection.
    pub moved_pages: u64,
    /// Mapped pages that a discard unmapped.
    pub trimmed_pages: u64,
    /// Erased.
    pub erased_blocks: u64,
}

impl Counters {
    /// Pages programmed by page written; `None` before the first write.
    #[allow(clippy::cast_precision_loss)] // a ratio
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_pages > 0)
            .then(|| (self.host_pages + self.moved_pages) as f64 / self.host_pages as f64)
    }
}

/// Receives the operations of the flash, to compute their time. The default methods do nothing and cost
/// nothing. Consecutive places on the flash are on the dies in turn.
pub trait Medium {
    /// `pages` pages of the host were programmed in sequence, the first at `first_place`.
    #[inline]
    fn program(&mut self, first_place: u32, pages: u32) {
        let _ = (first_place, pages);
    }
    /// A victim's `valid` pages were read and programmed elsewhere, and it was erased.
    #[inline]
    fn collect(&mut self, valid: u32) {
        let _ = valid;
    }
}

/// A medium that takes no time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timeless;
impl Medium for Timeless {}
