//! Histograms of times, exact to a thousandth.

use super::varint;
use hdrhistogram::{Counter, Histogram};

/// Times are told apart from 100 ns on; a response over loopback takes some tens of microseconds.
const LOWEST_NS: u64 = 100;
/// Longer times are counted as this one in quantiles; the maximum and the mean are exact.
const HIGHEST_NS: u64 = 4 * 3600 * 1_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Times with their number, mean, extremes and quantiles, in constant memory: an HDR histogram.
#[derive(Debug, Clone)]
pub struct Times<C: Counter = u64> {
    histogram: Histogram<C>,
    sum_ns: u128,
    max_ns: u64,
}

impl<C: Counter> Default for Times<C> {
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
                .expect("valid bounds"),
            sum_ns: 0,
            max_ns: 0,
        }
    }
}

impl<C: Counter> Times<C> {
    /// Adds a time.
    pub fn record(&mut self, time_ns: u64) {
        // The histogram itself would tell apart times up to twice its limit.
        self.histogram.saturating_record(time_ns.min(HIGHEST_NS));
        self.sum_ns += u128::from(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
    }

    /// Adds all times of another histogram.
    pub fn add<D: Counter>(&mut self, other: &Times<D>) {
        for step in other.histogram.iter_recorded() {
            // Counts of a second fit in 32 bits, and sums in 64.
            let times = C::from_u64(step.count_at_value().as_u64()).unwrap_or_else(C::zero);
            self.histogram
                .saturating_record_n(step.value_iterated_to(), times);
        }
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Removes all times.
    pub fn clear(&mut self) {
        // Clearing touches all of it: 100 KB or more.
        if !self.histogram.is_empty() {
            self.histogram.reset();
        }
        self.sum_ns = 0;
        self.max_ns = 0;
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The longest time, exactly; 0 if there is none.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The mean, exactly; `None` if there is no time.
    #[allow(clippy::cast_precision_loss)] // relative error 10^-16
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The smallest time that at least a share `quantile` of all times does not exceed, 0.1 % too high at
    /// most; `None` if there is no time.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let found = || self.histogram.value_at_quantile(quantile).min(self.max_ns);
        (self.count() > 0).then(found)
    }

    /// The recorded times, in the histogram's resolution and ascending, each with how often it occurred.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value().as_u64()))
    }

    /// Appends it: sum, maximum, number of buckets, then each bucket's distance to the last and its count.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        #[allow(clippy::cast_possible_truncation)] // the two halves
        let (high, low) = ((self.sum_ns >> 64) as u64, self.sum_ns as u64);
        varint::put(high, out);
        varint::put(low, out);
        varint::put(self.max_ns, out);
        varint::put(self.histogram.iter_recorded().count() as u64, out);
        let mut last = 0;
        for step in self.histogram.iter_recorded() {
            varint::put(step.value_iterated_to() - last, out);
            varint::put(step.count_at_value().as_u64(), out);
            last = step.value_iterated_to();
        }
    }

    /// Takes one from the front of `bytes`; `None` if they are not one.
    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let high = varint::take(bytes)?;
        let low = varint::take(bytes)?;
        let mut times = Self {
            sum_ns: u128::from(high) << 64 | u128::from(low),
            max_ns: varint::take(bytes)?,
            ..Self::default()
        };
        let mut last = 0_u64;
        for _ in 0..varint::take(bytes)? {
            last = last.checked_add(varint::take(bytes)?)?;
            let count = C::from_u64(varint::take(bytes)?)?;
            if last > times.histogram.highest_equivalent(HIGHEST_NS) {
                return None;
            }
            times.histogram.saturating_record_n(last, count);
        }
        Some(times)
    }
}

impl<C: Counter> PartialEq for Times<C> {
    fn eq(&self, other: &Self) -> bool {
        self.histogram == other.histogram
            && self.sum_ns == other.sum_ns
            && self.max_ns == other.max_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_known_distribution() {
        let mut times = Times::<u64>::default();
        assert_eq!(
            (times.quantile_ns(0.5), times.mean_ns(), times.max_ns()),
            (None, None, 0)
        );
        for micros in 1..=100_000_u64 {
            times.record(micros * 1000);
        }
        assert_eq!(times.count(), 100_000);
        for (quantile, exact_ns) in [
            (0.5, 50_000_000.0),
            (0.99, 99_000_000.0),
            (1.0, 100_000_000.0),
        ] {
            #[allow(clippy::cast_precision_loss)]
            let found_ns = times.quantile_ns(quantile).unwrap() as f64;
            assert!(
                (found_ns / exact_ns - 1.0).abs() < 0.001,
                "{quantile}: {found_ns}"
            );
        }
        assert_eq!(times.max_ns(), 100_000_000);
        assert!((times.mean_ns().unwrap() - 50_000_500.0).abs() < 1e-6);
    }

    #[test]
    fn a_time_of_days_is_the_exact_maximum() {
        let mut times = Times::<u32>::default();
        times.record(u64::MAX);
        assert_eq!(times.max_ns(), u64::MAX);
        assert_eq!(times.count(), 1);
    }

    #[test]
    fn a_time_just_above_the_limit_is_read_again() {
        for above_ns in [1, 5_320_310_784, HIGHEST_NS / 2] {
            let mut times = Times::<u32>::default();
            times.record(HIGHEST_NS + above_ns);
            let mut out = Vec::new();
            times.encode(&mut out);
            assert_eq!(Times::decode(&mut out.as_slice()), Some(times));
        }
    }

    proptest! {
        #[test]
        fn histograms_round_trip(of in prop::collection::vec(prop_oneof![0_u64..1_000_000, any::<u64>()], 0..200)) {
            let mut times = Times::<u32>::default();
            for time_ns in &of {
                times.record(*time_ns);
            }
            let mut out = Vec::new();
            times.encode(&mut out);
            let mut rest = &out[..];
            let decoded = Times::<u32>::decode(&mut rest);
            prop_assert_eq!(decoded.as_ref(), Some(&times));
            prop_assert!(rest.is_empty());
            let mut sum = Times::<u64>::default();
            sum.add(&times);
            sum.add(&times);
            prop_assert_eq!(sum.count(), 2 * times.count());
            prop_assert_eq!(sum.quantile_ns(0.9), times.quantile_ns(0.9));
        }

        #[test]
        fn any_bytes_are_handled_without_panic(bytes: Vec<u8>) {
            let _ = Times::<u32>::decode(&mut &bytes[..]);
        }
    }
}
