//! Keys of which some are used more often than others.

use crate::random::Random;

/// Zipf's distribution over `0..keys`: key k is drawn in proportion to 1 / (k + 1)^exponent.
///
/// Rejection-inversion (Hörmann, Derflinger 1996): constant time and memory for any number of keys.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    keys: f64,
    exponent: f64,
    h_first: f64,
    h_last: f64,
    /// Below this distance from the key, a number is accepted without evaluating the density.
    squeeze: f64,
}

impl Zipf {
    /// Creates the distribution; `keys` above 0, `exponent` above 0.
    #[allow(clippy::cast_precision_loss)] // the difference is far below one key
    pub(super) fn new(keys: u64, exponent: f64) -> Self {
        let keys = keys as f64;
        let h_first = h(1.5, exponent) - 1.0;
        let squeeze = 2.0 - h_inverse(h(2.5, exponent) - 2.0_f64.powf(-exponent), exponent);
        Self {
            keys,
            exponent,
            h_first,
            h_last: h(keys + 0.5, exponent),
            squeeze,
        }
    }

    /// Draws a key.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 1 to `keys`
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.h_last + random.unit() * (self.h_first - self.h_last);
            let x = h_inverse(u, self.exponent);
            let k = x.round().clamp(1.0, self.keys);
            if k - x <= self.squeeze || u >= h(k + 0.5, self.exponent) - k.powf(-self.exponent) {
                return k as u64 - 1;
            }
        }
    }
}

/// An integral of x^-exponent.
fn h(x: f64, exponent: f64) -> f64 {
    if (exponent - 1.0).abs() < 1e-9 {
        x.ln()
    } else {
        x.powf(1.0 - exponent) / (1.0 - exponent)
    }
}

fn h_inverse(u: f64, exponent: f64) -> f64 {
    if (exponent - 1.0).abs() < 1e-9 {
        u.exp()
    } else {
        ((1.0 - exponent) * u).powf(1.0 / (1.0 - exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_formula() {
        for exponent in [0.6, 0.99, 1.0, 1.4] {
            let (keys, draws) = (50_u32, 200_000_u32);
            let zipf = Zipf::new(u64::from(keys), exponent);
            let mut random = Random::new(3);
            let mut seen = vec![0_u32; keys as usize];
            for _ in 0..draws {
                seen[usize::try_from(zipf.draw(&mut random)).unwrap()] += 1;
            }
            let total: f64 = (1..=keys).map(|k| f64::from(k).powf(-exponent)).sum();
            // Pearson's statistic with 49 degrees of freedom: above 94.6 with a probability of 0.0001.
            let chi_square: f64 = (1..=keys)
                .zip(&seen)
                .map(|(k, seen)| {
                    let expected = f64::from(draws) * f64::from(k).powf(-exponent) / total;
                    (f64::from(*seen) - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 94.6, "exponent {exponent}: {chi_square}");
        }
    }

    #[test]
    fn one_key_is_always_drawn() {
        let zipf = Zipf::new(1, 0.99);
        let mut random = Random::new(3);
        assert!((0..100).all(|_| zipf.draw(&mut random) == 0));
    }
}
