//! Downsampling of long series for charts: the lowest, mean and highest value per column, so that no spike
//! is lost.

use crate::chart::{Curve, Point};

/// The aggregate of one column of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub low: f64,
    /// The mean.
    pub middle: f64,
    pub high: f64,
    count: f64,
}

impl Span {
    pub fn of(point: &Point) -> Self {
        let (low, high) = point.ends();
        Self {
            low,
            middle: point.y,
            high,
            count: 1.0,
        }
    }

    pub fn add(&mut self, point: &Point) {
        let (low, high) = point.ends();
        self.count += 1.0;
        self.low = self.low.min(low);
        self.high = self.high.max(high);
        // A running mean of weighted values: differences of huge values would overflow to infinity.
        let part = 1.0 / self.count;
        self.middle = self.middle * (1.0 - part) + point.y * part;
    }

    /// Interpolates linearly between this span and another.
    pub fn towards(&self, other: &Self, part: f64) -> Self {
        let between = |from: f64, to: f64| from * (1.0 - part) + to * part;
        Self {
            low: between(self.low, other.low),
            middle: between(self.middle, other.middle),
            high: between(self.high, other.high),
            count: 1.0,
        }
    }
}

/// One column, from its first x to its last.
#[derive(Debug, Clone, Copy)]
struct Column {
    first: f64,
    last: f64,
    span: Span,
}

impl Curve {
    /// Downsamples a series of ascending x to a line of at most `columns` points, each the mean and range
    /// of its column. The line is split where the distance from one sample to the next exceeds `gap`, in
    /// units of x.
    pub fn reduced(
        name: impl Into<String>,
        samples: impl IntoIterator<Item = (f64, f64)>,
        columns: usize,
        gap: f64,
    ) -> Self {
        let samples = samples.into_iter().map(|(x, y)| Point::new(x, y));
        let samples: Vec<Point> = samples.filter(Point::is_finite).collect();
        let point = |column: &Column| Point {
            x: f64::midpoint(column.first, column.last),
            y: column.span.middle,
            range: (column.span.count > 1.0).then_some((column.span.low, column.span.high)),
        };
        let stretches: Vec<Vec<Point>> = columns_of(&samples, columns)
            .chunk_by(|before, column| column.first - before.last <= gap)
            .map(|stretch| stretch.iter().map(point).collect())
            .collect();
        let has_ranges = stretches
            .iter()
            .flatten()
            .any(|point| point.range.is_some());
        Self {
            name: name.into(),
            range_name: if has_ranges {
                "lowest to highest".to_owned()
            } else {
                String::new()
            },
            stretches,
            ..Self::default()
        }
    }
}

/// Returns the non-empty columns, from left to right.
fn columns_of(samples: &[Point], columns: usize) -> Vec<Column> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let place = |x: f64| column(x, (first.x, last.x), columns);
    let mut found: Vec<(usize, Column)> = Vec::new();
    for sample in samples {
        let place = place(sample.x);
        match found.last_mut() {
            Some((before, column)) if *before >= place => {
                column.last = sample.x;
                column.span.add(sample);
            }
            _ => {
                let (first, last) = (sample.x, sample.x);
                let span = Span::of(sample);
                found.push((place, Column { first, last, span }));
            }
        }
    }
    found.into_iter().map(|(_, column)| column).collect()
}

/// Returns the column of a value within a range that is divided into `columns`.
fn column(x: f64, range: (f64, f64), columns: usize) -> usize {
    if range.0 >= range.1 {
        return 0;
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // a share of the columns
    let place = (crate::scale::share(x, range) * columns as f64) as usize;
    place.min(columns.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_spike_survives() {
        let samples = (0..100_000).map(|at| (f64::from(at), if at == 77_777 { 9.0 } else { 1.0 }));
        let curve = Curve::reduced("mean", samples, 70, 2.0);
        assert_eq!((curve.stretches.len(), curve.stretches[0].len()), (1, 70));
        let spikes = curve
            .points()
            .filter(|point| point.range == Some((1.0, 9.0)));
        assert_eq!(spikes.count(), 1);
        assert_eq!(curve.range_name, "lowest to highest");
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let samples = [(0.0, 1.0), (1.0, 2.0), (5.0, 3.0), (6.0, 4.0)];
        let curve = Curve::reduced("mean", samples, 100, 2.0);
        assert_eq!(curve.stretches.len(), 2);
        assert_eq!(curve.range_name, "");
        assert_eq!(curve.stretches[1][0], Point::new(5.0, 3.0));
    }

    #[test]
    fn extreme_values() {
        let huge = [
            (0.0, f64::MAX),
            (1.0, f64::MAX),
            (2.0, f64::MIN),
            (f64::NAN, 1.0),
        ];
        for columns in [0, 1, 2] {
            let curve = Curve::reduced("mean", huge, columns, 9.0);
            assert!(curve.points().all(|point| point.y.is_finite()));
        }
        let far = [(f64::MIN, 1.0), (f64::MAX, 2.0)];
        assert_eq!(Curve::reduced("mean", far, 3, 1e9).points().count(), 2);
        assert_eq!(Curve::reduced("mean", [], 3, 1.0).points().count(), 0);
    }

    proptest! {
        #[test]
        fn every_sample_falls_into_a_column(
            samples in prop::collection::btree_map(-1_000_i32..1_000, -1e9_f64..1e9, 1..200),
            columns in 1_usize..90,
        ) {
            let samples: Vec<(f64, f64)> = samples.into_iter().map(|(x, y)| (f64::from(x), y)).collect();
            let points: Vec<Point> = samples.iter().map(|(x, y)| Point::new(*x, *y)).collect();
            let found = columns_of(&points, columns);
            prop_assert!(found.len() <= columns);
            for (x, y) in samples {
                let holds = |column: &Column| {
                    column.first <= x && x <= column.last && column.span.low <= y && y <= column.span.high
                };
                prop_assert!(found.iter().any(holds));
            }
        }
    }
}
