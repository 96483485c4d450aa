//! Seeded random numbers.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream that depends only on a seed and a number (xoshiro256++, Blackman and Vigna 2019).
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Uniform in (0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns an index below `bound`, which is not 0; the bias is below `bound / 2^53`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "0 or more, and below `bound`"
    )]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.unit() * bound as f64) as usize).min(bound - 1)
    }

    /// Standard normal (Box, Muller 1958).
    #[cfg(test)]
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}
