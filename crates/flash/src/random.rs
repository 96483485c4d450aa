//! The seeded random number generator.
//!
//! xoshiro256++ (Blackman, Vigna 2019): negligible cost next to random access to a table of 256 MB,
//! and the same numbers on every machine.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A random number generator whose output depends only on its seed.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound` (which must be above 0), by multiplication (Lemire 2019). The
    /// bias is below `bound / 2^64` and is not corrected.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the high half of a product
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number below `bound` (which must be above 0), like [`Random::below`].
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below `bound`
    pub fn below_u32(&mut self, bound: u32) -> u32 {
        self.below(u64::from(bound)) as u32
    }

    /// Returns a number uniformly distributed in [0, 1).
    #[inline]
    #[allow(clippy::cast_precision_loss)] // 53 bits are what an f64 holds
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
