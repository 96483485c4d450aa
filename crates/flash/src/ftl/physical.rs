//! Page invalidation.

use super::BlockState;
use super::candidates::Candidates;

/// Marks "no page" or "no block".
pub(super) const NONE: u32 = u32::MAX;
/// Bits per word of the bitmap.
pub(super) const WORD_BITS: u32 = u64::BITS;

/// The tables of physical pages and blocks, borrowed for the duration of a loop.
pub(super) struct PhysicalTables<'a> {
    pub(super) valid: &'a mut [u64],
    pub(super) count: &'a mut [u16],
    pub(super) state: &'a [BlockState],
    pub(super) candidates: &'a mut Candidates,
    pub(super) page_bits: u32,
    /// A copy of `candidates.below()`, which invalidating a page does not change.
    pub(super) below: u32,
}

impl PhysicalTables<'_> {
    /// Marks a physical page as invalid.
    #[inline]
    pub(super) fn invalidate(&mut self, place: u32) {
        self.valid[(place / WORD_BITS) as usize] &= !(1 << (place % WORD_BITS));
        let block = place >> self.page_bits;
        let count = &mut self.count[block as usize];
        *count -= 1;
        let level = u32::from(*count);
        if level < self.below {
            self.move_down(block, level);
        }
    }

    /// Moves a block down to `level`, its number of valid pages after losing one, in the candidate
    /// lists.
    #[cold]
    fn move_down(&mut self, block: u32, level: u32) {
        if self.state[block as usize] == BlockState::Closed {
            if level + 1 < self.below {
                self.candidates.remove(block, level + 1);
            }
            self.candidates.insert(block, level);
        }
    }

    /// Unmaps a logical page; returns whether it was mapped.
    #[inline]
    pub(super) fn unmap(&mut self, entry: &mut u32) -> bool {
        let old = std::mem::replace(entry, NONE);
        if old != NONE {
            self.invalidate(old);
        }
        old != NONE
    }
}
