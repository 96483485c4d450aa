//! Converts the points of a series to means over bytes written, and merges them if there are very
//! many.

use super::{HostWrites, Quantity, Series, Stamps};

/// Maximum number of means to fit. The curves have 32 parts per drive write: finer means contain no
/// more information on the over-provisioning, and show the sawtooth of single blocks, which the
/// curves lack.
const INTERVALS_MAX: usize = 128;

/// Means over consecutive intervals.
#[derive(Debug, Clone)]
pub(super) struct IntervalMeans {
    pub(super) values: Vec<f64>,
    /// Bytes written since the start at the interval borders; one more than there are values.
    pub(super) borders: Vec<f64>,
}

impl IntervalMeans {
    /// One mean per point.
    pub(super) fn of(series: &Series) -> Self {
        let mut sum = 0.0;
        let mut borders = vec![0.0];
        for (index, value) in series.value.iter().enumerate() {
            let rate = match series.host_writes {
                HostWrites::Rate(rate) => rate,
                HostWrites::Saturated => *value,
            };
            sum += rate * interval_s(series.time_s, index, series.stamps);
            borders.push(sum);
        }
        Self {
            values: series.value.to_vec(),
            borders,
        }
    }

    /// Merges neighbors until each mean covers an equal share of the bytes; unchanged if there are
    /// not too many.
    #[allow(clippy::cast_precision_loss)] // some dozens
    pub(super) fn merged(&self, quantity: Quantity) -> Self {
        if self.values.len() <= INTERVALS_MAX {
            return self.clone();
        }
        let part = self.bytes() / INTERVALS_MAX as f64;
        let mut merged = Self {
            values: Vec::new(),
            borders: vec![0.0],
        };
        let (mut from, mut sum) = (0.0, 0.0);
        for (pair, &value) in self.borders.windows(2).zip(&self.values) {
            let bytes = pair[1] - pair[0];
            // Averages over bytes: the time of a mean throughput is the sum of the parts' times.
            sum += match quantity {
                Quantity::WriteAmplification => bytes * value,
                Quantity::Throughput => bytes / value,
            };
            let to = pair[1];
            // The last mean takes the remainder.
            let next = (merged.values.len() + 1) as f64;
            if to >= part * next * (1.0 - 1e-9) || to >= self.bytes() {
                merged.values.push(match quantity {
                    Quantity::WriteAmplification => sum / (to - from),
                    Quantity::Throughput => (to - from) / sum,
                });
                merged.borders.push(to);
                (from, sum) = (to, 0.0);
            }
        }
        merged
    }

    /// Total bytes written.
    pub(super) fn bytes(&self) -> f64 {
        self.borders.last().copied().unwrap_or(0.0)
    }
}

/// Length of a point's interval, in seconds.
fn interval_s(time: &[f64], index: usize, stamps: Stamps) -> f64 {
    let before = (index > 0).then(|| time[index] - time[index - 1]);
    let after = time.get(index + 1).map(|next| next - time[index]);
    // Intervals at the ends are as long as their neighbors.
    match stamps {
        Stamps::End => before.or(after).unwrap_or(0.0),
        Stamps::Begin => after.or(before).unwrap_or(0.0),
        Stamps::Middle => 0.5 * (before.or(after).unwrap_or(0.0) + after.or(before).unwrap_or(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series<'a>(time_s: &'a [f64], value: &'a [f64], stamps: Stamps) -> Series<'a> {
        Series {
            time_s,
            value,
            quantity: Quantity::Throughput,
            host_writes: HostWrites::Saturated,
            stamps,
        }
    }

    #[test]
    fn stamps_determine_the_interval_of_a_value() {
        // 10, 30 and 60 seconds at 1, 2 and 3 bytes per second, stamped at the end.
        let (time, value) = ([10.0, 40.0, 100.0], [1.0, 2.0, 3.0]);
        let end = IntervalMeans::of(&series(&time, &value, Stamps::End));
        // The first interval is assumed to be as long as the second.
        assert_eq!(end.borders, [0.0, 30.0, 90.0, 270.0]);
        let begin = IntervalMeans::of(&series(&time, &value, Stamps::Begin));
        assert_eq!(begin.borders, [0.0, 30.0, 150.0, 330.0]);
        let middle = IntervalMeans::of(&series(&time, &value, Stamps::Middle));
        assert_eq!(middle.borders, [0.0, 30.0, 120.0, 300.0]);
    }

    #[test]
    fn stamps_do_not_matter_for_evenly_spaced_points() {
        let time: Vec<f64> = (0..20).map(f64::from).collect();
        let value: Vec<f64> = time.iter().map(|t| 1.0 + t).collect();
        let [end, begin, middle] = [Stamps::End, Stamps::Begin, Stamps::Middle]
            .map(|stamps| IntervalMeans::of(&series(&time, &value, stamps)).borders);
        assert_eq!(end, begin);
        assert_eq!(end, middle);
    }

    #[test]
    fn merged_means_preserve_bytes_and_time() {
        let time: Vec<f64> = (1..=1000).map(f64::from).collect();
        let value: Vec<f64> = time.iter().map(|t| 500.0 / (1.0 + t / 100.0)).collect();
        let means = IntervalMeans::of(&series(&time, &value, Stamps::End));
        let merged = means.merged(Quantity::Throughput);
        assert!(merged.values.len() <= INTERVALS_MAX && merged.values.len() > INTERVALS_MAX / 2);
        assert_eq!(merged.values.len() + 1, merged.borders.len());
        assert!((merged.bytes() / means.bytes() - 1.0).abs() < 1e-12);
        let seconds: f64 = (merged.borders.windows(2).zip(&merged.values))
            .map(|(pair, value)| (pair[1] - pair[0]) / value)
            .sum();
        assert!((seconds - 1000.0).abs() < 1e-6, "{seconds}");
        let few = IntervalMeans::of(&series(&time[..100], &value[..100], Stamps::End));
        assert_eq!(few.merged(Quantity::Throughput).borders, few.borders);
    }
}
