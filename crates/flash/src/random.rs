//! The seeded generator.
//!
//! xoshiro256++ (Blackman, Vigna 2019): fast enough not to be seen beside a table of 256 MB, and the
//! same on every machine.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers that depends on its seed only.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound` (above 0), by multiplication (Lemire 2019); the bias is below
    /// `bound / 2^64`, and not corrected.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the high half of a product
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number below `bound` (above 0), as [`Random::below`].
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below `bound`
    pub fn below_u32(&mut self, bound: u32) -> u32 {
        self.below(u64::from(bound)) as u32
    }

    /// Uniform in [0, 1).
    #[inline]
    #[allow(clippy::cast_precision_loss)] // 53 bits are what an f64 holds
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
