//! What becomes invalid.

use super::BlockState;
use super::candidates::Candidates;
use super::tables::{NONE, WORD_BITS};

/// What is kept of physical pages and blocks, borrowed for a loop.
pub(super) struct Books<'a> {
    pub(super) valid: &'a mut [u64],
    pub(super) count: &'a mut [u16],
    pub(super) state: &'a [BlockState],
    pub(super) candidates: &'a mut Candidates,
    pub(super) page_bits: u32,
    /// `candidates.below()`, which no loss of a page changes.
    pub(super) below: u32,
}

impl Books<'_> {
    /// A physical page holds nothing any more.
    #[inline]
    pub(super) fn invalidate(&mut self, place: u32) {
        self.valid[(place / WORD_BITS) as usize] &= !(1 << (place % WORD_BITS));
        let block = place >> self.page_bits;
        let count = &mut self.count[block as usize];
        *count -= 1;
        let level = u32::from(*count);
        if level < self.below {
            self.sink(block, level);
        }
    }

    /// A block among the candidates, or that becomes one, has lost a page and has `level` left.
    #[cold]
    fn sink(&mut self, block: u32, level: u32) {
        if self.state[block as usize] == BlockState::Closed {
            if level + 1 < self.below {
                self.candidates.remove(block, level + 1);
            }
            self.candidates.insert(block, level);
        }
    }

    /// Takes a logical page from its entry; whether there was any.
    #[inline]
    pub(super) fn unmap(&mut self, entry: &mut u32) -> bool {
        let old = std::mem::replace(entry, NONE);
        if old != NONE {
            self.invalidate(old);
        }
        old != NONE
    }
}
