use std::time::Duration;

/// Sixteen buckets per doubling: quantiles are at most 6 % too high.
const SUB_BITS: u32 = 4;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

/// Latencies of a whole pass in bounded memory, using log-linear buckets as in `HdrHistogram`
/// (<https://hdrhistogram.org>).
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_s: f64,
    max_ns: u64,
}

fn bucket(ns: u64) -> usize {
    if ns < SUB {
        return usize::try_from(ns).unwrap_or(0);
    }
    let exponent = ns.ilog2() - SUB_BITS;
    let index = (u64::from(exponent) << SUB_BITS) + (ns >> exponent);
    usize::try_from(index).unwrap_or(BUCKETS - 1)
}

/// Returns the largest value of a bucket.
fn bucket_end(index: usize) -> u64 {
    let index = index as u64;
    if index < SUB {
        return index;
    }
    let exponent = (index >> SUB_BITS) - 1;
    let base = SUB + (index & (SUB - 1));
    (base << exponent).saturating_add((1u64 << exponent) - 1)
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            count: 0,
            sum_s: 0.0,
            max_ns: 0,
        }
    }

    pub(super) fn add(&mut self, latency: Duration) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.sum_s += latency.as_secs_f64();
        self.max_ns = self.max_ns.max(ns);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn mean(&self) -> Duration {
        #[allow(clippy::cast_precision_loss)] // a mean
        super::quiet::seconds(self.sum_s / self.count.max(1) as f64)
    }

    /// Returns the end of the first bucket at or below which at least `permille` of the latencies
    /// lie.
    pub(super) fn quantile(&self, permille: u64) -> Duration {
        let wanted = (u128::from(self.count) * u128::from(permille)).div_ceil(1000);
        let mut seen = 0u128;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= wanted && seen > 0 {
                return Duration::from_nanos(bucket_end(index).min(self.max_ns));
            }
        }
        Duration::from_nanos(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_and_the_mean_are_exact() {
        let mut histogram = Histogram::new();
        for ns in 1..=10 {
            histogram.add(Duration::from_nanos(ns));
        }
        assert_eq!(histogram.quantile(500), Duration::from_nanos(5));
        assert_eq!(histogram.quantile(990), Duration::from_nanos(10));
        assert_eq!(histogram.mean(), Duration::from_nanos(6)); // 5.5, rounded
        assert_eq!(histogram.count(), 10);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(ns in any::<u64>()) {
            let index = bucket(ns);
            prop_assert!(index < BUCKETS);
            prop_assert!(bucket_end(index) >= ns);
            prop_assert!(index == 0 || bucket_end(index - 1) < ns);
        }

        #[test]
        fn quantiles_are_at_most_a_bucket_too_high(
            mut values in prop::collection::vec(0u64..10_000_000_000, 1..300),
            permille in 1u64..1000,
        ) {
            let mut histogram = Histogram::new();
            for &ns in &values {
                histogram.add(Duration::from_nanos(ns));
            }
            values.sort_unstable();
            let rank = (values.len() as u64 * permille).div_ceil(1000).max(1);
            let exact = values[usize::try_from(rank).unwrap() - 1];
            let quantile = u64::try_from(histogram.quantile(permille).as_nanos()).unwrap();
            prop_assert!(quantile >= exact && quantile <= exact + exact / 16 + 1, "{quantile} {exact}");
        }
    }
}
