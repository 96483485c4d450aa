//! Series reduced to what a chart can show: the lowest, mean and highest value of each column, so that
//! no spike gets lost.

/// What lies in one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Column {
    /// Time of its first sample in microseconds since the epoch.
    pub first_us: i64,
    /// Time of its last sample.
    pub last_us: i64,
    /// Lowest value.
    pub low: f64,
    /// Mean.
    pub mean: f64,
    /// Highest value.
    pub high: f64,
}

/// A stretch of time in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// First moment.
    pub from_us: i64,
    /// Last moment.
    pub to_us: i64,
    /// Number of columns, at least one.
    pub columns: usize,
}

impl Axis {
    /// An axis over all of these times; `None` without any.
    pub fn over(times_us: &[i64], columns: usize) -> Option<Self> {
        Some(Self {
            from_us: *times_us.first()?,
            to_us: *times_us.last()?,
            columns: columns.max(1),
        })
    }

    /// The column of a moment; `None` outside.
    pub fn column(&self, at_us: i64) -> Option<usize> {
        if at_us < self.from_us || at_us > self.to_us {
            return None;
        }
        // Whole numbers: a difference of two times fits, a product of it with the columns may not.
        let span = i128::from(self.to_us) - i128::from(self.from_us) + 1;
        let place = (i128::from(at_us) - i128::from(self.from_us)) * self.columns as i128 / span;
        usize::try_from(place).ok()
    }

    /// The first and last column of a stretch of time; `None` where all of it lies outside.
    pub fn columns_of(&self, from_us: i64, to_us: i64) -> Option<(usize, usize)> {
        if to_us < self.from_us || from_us > self.to_us || to_us < from_us {
            return None;
        }
        Some((
            self.column(from_us.max(self.from_us))?,
            self.column(to_us.min(self.to_us))?,
        ))
    }

    /// Where a moment lies between both ends, from 0 to 1; beyond for what lies outside.
    #[allow(clippy::cast_precision_loss)] // a place on a chart
    pub fn share(&self, at_us: i64) -> f64 {
        let span = i128::from(self.to_us) - i128::from(self.from_us);
        (i128::from(at_us) - i128::from(self.from_us)) as f64 / span.max(1) as f64
    }
}

/// A series in columns; a column without samples is `None`.
pub(super) fn reduce(times_us: &[i64], values: &[f64], axis: &Axis) -> Vec<Option<Column>> {
    let mut columns: Vec<Option<(Column, f64)>> = vec![None; axis.columns];
    for (&at_us, &value) in times_us.iter().zip(values) {
        let Some(place) = axis.column(at_us).filter(|_| value.is_finite()) else {
            continue;
        };
        let (column, count) = columns[place].get_or_insert((
            Column {
                first_us: at_us,
                last_us: at_us,
                low: value,
                mean: 0.0,
                high: value,
            },
            0.0,
        ));
        *count += 1.0;
        column.last_us = at_us;
        column.low = column.low.min(value);
        column.high = column.high.max(value);
        // Not by differences: those of huge values would be infinite.
        column.mean = column.mean * ((*count - 1.0) / *count) + value / *count;
    }
    columns
        .into_iter()
        .map(|column| column.map(|(column, _)| column))
        .collect()
}

/// Where a value lies in a range, from 0 to 1. Halves keep the differences of huge values finite.
pub(super) fn share_of(value: f64, (low, high): (f64, f64)) -> f64 {
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.5
    }
}

/// The lowest and highest of finite values, apart from each other; `None` without values.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values.filter(|value| value.is_finite()).fold(
        None,
        |range: Option<(f64, f64)>, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        },
    )?;
    if low < high {
        return Some((low, high));
    }
    let by = (low.abs() * 0.05).max(f64::MIN_POSITIVE);
    let by = if low == 0.0 { 1.0 } else { by };
    Some(((low - by).max(f64::MIN), (high + by).min(f64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_spike_survives() {
        let times: Vec<i64> = (0..100_000).collect();
        let mut values = vec![1.0; 100_000];
        values[77_777] = 9.0;
        let axis = Axis::over(&times, 70).unwrap();
        let columns = reduce(&times, &values, &axis);
        let highest = columns.iter().flatten().map(|column| column.high);
        assert_eq!(highest.filter(|&high| high > 8.0).count(), 1);
        assert!(columns.iter().all(Option::is_some));
    }

    #[test]
    fn extreme_times_and_values_have_a_place() {
        let axis = Axis::over(&[i64::MIN, i64::MAX], 10).unwrap();
        assert_eq!(axis.column(i64::MIN), Some(0));
        assert_eq!(axis.column(i64::MAX), Some(9));
        assert_eq!(axis.column(0), Some(5));
        let columns = reduce(&[0, 1, 2], &[f64::MAX; 3], &Axis::over(&[0, 2], 1).unwrap());
        assert!(columns[0].unwrap().mean.is_finite());
        let all = range([f64::MIN, f64::MAX].into_iter()).unwrap();
        assert!((share_of(0.0, all) - 0.5).abs() < 1e-9);
        let flat = range([f64::MAX].into_iter()).unwrap();
        assert!(flat.0 < flat.1 && flat.1.is_finite());
        assert_eq!(range([f64::NAN].into_iter()), None);
    }

    proptest! {
        #[test]
        fn every_sample_is_within_its_column(
            samples in prop::collection::btree_map(-1_000_i64..1_000, -1e9_f64..1e9, 1..200),
            columns in 1_usize..90,
        ) {
            let times: Vec<i64> = samples.keys().copied().collect();
            let values: Vec<f64> = samples.values().copied().collect();
            let axis = Axis::over(&times, columns).unwrap();
            let reduced = reduce(&times, &values, &axis);
            for (at, value) in &samples {
                let column = reduced[axis.column(*at).unwrap()].unwrap();
                prop_assert!(column.low <= *value && *value <= column.high);
                prop_assert!(column.first_us <= *at && *at <= column.last_us);
                prop_assert!(column.low <= column.mean + 1e-3 && column.mean <= column.high + 1e-3);
            }
        }

        #[test]
        fn stretches_keep_their_order(from in -50_i64..150, len in 0_i64..200) {
            let axis = Axis { from_us: 0, to_us: 100, columns: 7 };
            match axis.columns_of(from, from + len) {
                Some((first, last)) => prop_assert!(first <= last && last < 7),
                None => prop_assert!(from > 100 || from + len < 0),
            }
        }
    }
}
