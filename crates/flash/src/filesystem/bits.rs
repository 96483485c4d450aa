//! A bitmap with one bit per page, set and counted by range.

#[derive(Debug, Clone)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Creates a bitmap with all bits clear.
    pub(super) fn new(bits: u32) -> Self {
        Self(vec![0; bits.div_ceil(64) as usize])
    }

    pub(super) fn set(&mut self, first: u32, count: u32) {
        for (word, mask) in words(first, count) {
            self.0[word] |= mask;
        }
    }

    pub(super) fn clear(&mut self, first: u32, count: u32) {
        for (word, mask) in words(first, count) {
            self.0[word] &= !mask;
        }
    }

    /// Counts the bits set in a range.
    pub(super) fn count(&self, first: u32, count: u32) -> u32 {
        words(first, count)
            .map(|(word, mask)| (self.0[word] & mask).count_ones())
            .sum()
    }
}

/// The words that a range touches, each with a mask of the bits in the range.
fn words(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let (first, end) = (u64::from(first), u64::from(first) + u64::from(count));
    (first / 64..end.div_ceil(64)).map(move |word| {
        let low = first.max(word * 64) - word * 64;
        let high = end.min(word * 64 + 64) - word * 64;
        let width = high.saturating_sub(low);
        let mask = if width == 0 {
            0
        } else {
            (u64::MAX >> (64 - width)) << low
        };
        #[allow(clippy::cast_possible_truncation)] // below 2^26
        (word as usize, mask)
    })
}
