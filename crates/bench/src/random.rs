//! The seeded random numbers of documents, parameters, planned starts and bootstraps.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator whose numbers depend only on its seed: xoshiro256++ (Blackman, Vigna 2019).
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Creates the generator of one `stream` of a seed, such as the n-th request of an operation. Streams
    /// are independent of each other, and any of them is found without those before it.
    pub fn stream(seed: u64, stream: u64) -> Self {
        Self::new(mixed(
            seed ^ mixed(stream.wrapping_add(0x9e37_79b9_7f4a_7c15)),
        ))
    }

    /// Returns a seed that belongs to `name`, so that a new operation in a track does not change others.
    pub fn seed_of(seed: u64, name: &str) -> u64 {
        // FNV-1a, 64 bits; its weak high bits are mixed.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        mixed(seed ^ mixed(hash))
    }

    /// Creates the generator of one bootstrap of a seed.
    pub(crate) fn numbered(seed: u64, number: u64) -> Self {
        Self::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound` (which must be above 0), by multiplication (Lemire 2019). The bias is
    /// below `bound / 2^64` and is not corrected.
    #[allow(clippy::cast_possible_truncation)] // the high half of a product
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from `low` up to, and without, `high`; `low` if there is none between.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).max(1))
    }

    /// Returns a number uniformly distributed in [0, 1).
    #[allow(clippy::cast_precision_loss)] // 53 bits are what an f64 holds
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number uniformly distributed in (0, 1). Bootstraps draw from this one, requests from
    /// [`Self::unit`]. Neither may change: a seed has to give the numbers that it gave in released versions.
    #[allow(clippy::cast_precision_loss)] // 53 bits are what an f64 holds
    pub(crate) fn open_unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns a normally distributed number, from [`Self::open_unit`].
    #[cfg(test)]
    pub(crate) fn open_normal(&mut self) -> f64 {
        let radius = (-2.0 * self.open_unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.open_unit()).cos()
    }

    /// Returns an index below `bound`, which is not 0; the bias is below `bound / 2^53`.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )] // 0 or more, and below `bound`
    pub(crate) fn index(&mut self, bound: usize) -> usize {
        ((self.open_unit() * bound as f64) as usize).min(bound - 1)
    }

    /// Returns an exponentially distributed number with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        // 1 - u is above 0, so that its logarithm is finite.
        -(1.0 - self.unit()).ln()
    }

    /// Returns a normally distributed number with mean 0 and variance 1 (Box, Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood 2014): every bit of the input changes half of the output.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of 100,000 numbers.
    #[allow(clippy::cast_precision_loss)]
    fn moments(mut next: impl FnMut() -> f64) -> (f64, f64) {
        let n = 100_000;
        let numbers: Vec<f64> = (0..n).map(|_| next()).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(n);
        let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, squares / f64::from(n))
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::new(7);
        // Five standard errors of each: 0.289, 1 and 1 over sqrt(100,000).
        let (mean, _) = moments(|| random.unit());
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
        let (mean, variance) = moments(|| random.exponential());
        assert!(
            (mean - 1.0).abs() < 0.016 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
        let (mean, variance) = moments(|| random.normal());
        assert!(
            mean.abs() < 0.016 && (variance - 1.0).abs() < 0.023,
            "{mean} {variance}"
        );
    }

    #[test]
    fn streams_differ_and_are_found_again() {
        let first: Vec<u64> = (0..100).map(|n| Random::stream(1, n).bits()).collect();
        let again: Vec<u64> = (0..100).map(|n| Random::stream(1, n).bits()).collect();
        assert_eq!(first, again);
        let distinct: std::collections::BTreeSet<u64> = first
            .into_iter()
            .chain((0..100).map(|n| Random::stream(2, n).bits()))
            .collect();
        assert_eq!(distinct.len(), 200);
    }

    #[test]
    fn neighbouring_streams_are_not_correlated() {
        // The first number of successive streams is as uniform as numbers of one stream.
        let mut n = 0;
        let (mean, variance) = moments(|| {
            n += 1;
            Random::stream(1, n).unit()
        });
        assert!((mean - 0.5).abs() < 0.0046 && (variance - 1.0 / 12.0).abs() < 0.002);
    }
}
