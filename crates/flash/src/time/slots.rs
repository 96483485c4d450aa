//! A fixed number of slots and when each becomes free, for a queue's depth or a cache's pages.
//!
//! Implemented as an always sorted ring. A new time is nearly always among the latest (dies are
//! used in turn), so inserting it takes a step or two, where a heap would sift down to its leaves
//! each time.

/// A fixed number of slots, each free from some time on.
#[derive(Debug, Clone)]
pub struct Slots {
    /// Sorted from `head` on, `depth` of them; the length is a power of two.
    free_at: Box<[u64]>,
    head: usize,
    depth: usize,
}

impl Slots {
    /// Creates `depth` slots (at least one), free from 0 on.
    pub fn new(depth: usize) -> Self {
        let depth = depth.max(1);
        Self {
            free_at: vec![0; depth.next_power_of_two()].into_boxed_slice(),
            head: 0,
            depth,
        }
    }

    /// Number of slots.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// When the first slot becomes free.
    #[inline]
    pub fn earliest(&self) -> u64 {
        let mask = self.free_at.len() - 1;
        self.free_at[self.head & mask]
    }

    /// When all slots are free.
    pub fn latest(&self) -> u64 {
        let mask = self.free_at.len() - 1;
        self.free_at[(self.head + self.depth - 1) & mask]
    }

    /// Occupies the slot that is free first, until `free_at`.
    #[inline]
    pub fn replace_earliest(&mut self, free_at: u64) {
        let mask = self.free_at.len() - 1;
        let mut hole = self.head + self.depth;
        self.head += 1;
        while hole > self.head {
            let before = self.free_at[(hole - 1) & mask];
            if before <= free_at {
                break;
            }
            self.free_at[hole & mask] = before;
            hole -= 1;
        }
        self.free_at[hole & mask] = free_at;
    }

    /// Makes all slots free from 0 on.
    pub fn reset(&mut self) {
        self.free_at.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{cmp::Reverse, collections::BinaryHeap};

    proptest! {
        /// Behaves like a min-heap from which the smallest is taken.
        #[test]
        fn behaves_like_a_heap(depth in 1..40usize, times in prop::collection::vec(0..1000u64, 0..300)) {
            let mut slots = Slots::new(depth);
            let mut heap: BinaryHeap<_> = vec![Reverse(0); depth].into();
            for time in times {
                prop_assert_eq!(slots.earliest(), heap.pop().unwrap().0);
                heap.push(Reverse(time));
                slots.replace_earliest(time);
                prop_assert_eq!(slots.latest(), heap.iter().map(|slot| slot.0).max().unwrap());
            }
        }
    }
}
