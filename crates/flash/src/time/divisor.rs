//! Quotient and remainder by a runtime constant without a division: two multiplications (Lemire,
//! Kaser, Kurz 2019, "Faster remainder by direct computation").

/// A divisor for 32-bit numbers.
#[derive(Debug, Clone, Copy)]
pub struct Divisor {
    /// `ceil(2^64 / divisor)`; wraps to 0 for 1.
    reciprocal: u64,
    divisor: u32,
}

impl Divisor {
    /// Precomputes the reciprocal.
    ///
    /// # Panics
    /// If `divisor` is 0.
    pub const fn new(divisor: u32) -> Self {
        assert!(divisor > 0, "a divisor is above 0");
        Self {
            reciprocal: (u64::MAX / divisor as u64).wrapping_add(1),
            divisor,
        }
    }

    /// The divisor itself.
    pub const fn get(self) -> u32 {
        self.divisor
    }

    /// `number % divisor`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below the divisor
    pub const fn remainder(self, number: u32) -> u32 {
        let fraction = self.reciprocal.wrapping_mul(number as u64);
        ((fraction as u128 * self.divisor as u128) >> 64) as u32
    }

    /// `number / divisor`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // at most the number
    pub const fn quotient(self, number: u32) -> u32 {
        if self.divisor == 1 {
            return number;
        }
        ((self.reciprocal as u128 * number as u128) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn divides(number: u32, divisor in prop_oneof![1..=u32::MAX, 1..2000u32]) {
            let by = Divisor::new(divisor);
            prop_assert_eq!(by.remainder(number), number % divisor);
            prop_assert_eq!(by.quotient(number), number / divisor);
        }

        #[test]
        fn divides_at_multiples(factor in 0..70_000u32, divisor in 1..60_000u32) {
            let by = Divisor::new(divisor);
            let multiple = factor.saturating_mul(divisor);
            for number in [multiple.saturating_sub(1), multiple, multiple.saturating_add(1)] {
                prop_assert_eq!(by.remainder(number), number % divisor);
                prop_assert_eq!(by.quotient(number), number / divisor);
            }
        }
    }
}
