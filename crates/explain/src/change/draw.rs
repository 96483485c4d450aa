//! Random noise with and without memory, for the tests of change detection and for `examples/changes.rs`.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
pub(super) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(super) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller (1958).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with three degrees of freedom.
    pub(super) fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    /// Stationary AR(1) noise with innovations of variance 1; at a unit root it starts at 0.
    pub(super) fn memory(&mut self, len: usize, phi: f64) -> Vec<f64> {
        let mut now = if phi < 1.0 {
            self.normal() / (1.0 - phi * phi).sqrt()
        } else {
            0.0
        };
        (0..len)
            .map(|_| {
                let value = now;
                now = phi * now + self.normal();
                value
            })
            .collect()
    }

    pub(super) fn white(&mut self, len: usize) -> Vec<f64> {
        self.memory(len, 0.0)
    }
}
