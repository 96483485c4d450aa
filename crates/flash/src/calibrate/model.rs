//! The model to be fitted: a series, and the predictions for given parameters.

use super::curves::Curves;
use super::interval_means::IntervalMeans;
use super::{
    BEGIN_ERROR, CAPACITY_WRITTEN, Known, MODEL_ERROR, MOVED_PAGE_COST, OVER_PROVISIONING,
    Quantity, Series,
};
use crate::theory::Curve;

/// Parameters in the search space, as logarithms: over-provisioning, capacity in bytes, cost of a
/// moved page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point(pub(super) [f64; 3]);

impl Point {
    pub(super) const OVER_PROVISIONING: usize = 0;
    pub(super) const CAPACITY: usize = 1;
    pub(super) const COST: usize = 2;

    pub(super) fn numbers(&self) -> [f64; 3] {
        self.0.map(f64::exp)
    }
}

/// The model's predictions for a point.
pub(super) struct Fit {
    pub(super) values: Vec<f64>,
    /// Throughput without collection; 1 for write amplification.
    pub(super) fresh: f64,
    /// Sum of squared relative residuals, because measurement errors are assumed to be
    /// proportional.
    pub(super) squares: f64,
}

pub(super) struct Model {
    quantity: Quantity,
    curves: Curves,
    /// All points of the series.
    points: IntervalMeans,
    /// The merged points that are fitted.
    merged: IntervalMeans,
    /// Search bounds of the logarithms.
    pub(super) bounds: [(f64, f64); 3],
    free: Vec<usize>,
}

impl Model {
    /// Creates the model of a validated series.
    pub(super) fn new(series: &Series, known: &Known) -> Self {
        let points = IntervalMeans::of(series);
        let merged = points.merged(series.quantity);
        let all = points.bytes();
        let log = |(low, high): (f64, f64)| (low.ln(), high.ln());
        let fixed = |value: f64| (value.ln(), value.ln());
        let capacity = log((all * CAPACITY_WRITTEN.0, all * CAPACITY_WRITTEN.1));
        let mut free = vec![Point::OVER_PROVISIONING];
        let capacity = known.capacity_bytes.map_or_else(
            || {
                free.push(Point::CAPACITY);
                capacity
            },
            fixed,
        );
        let cost = match (series.quantity, known.moved_page_cost) {
            (Quantity::WriteAmplification, _) => fixed(1.0),
            (Quantity::Throughput, Some(cost)) => fixed(cost),
            (Quantity::Throughput, None) => {
                free.push(Point::COST);
                log(MOVED_PAGE_COST)
            }
        };
        Self {
            quantity: series.quantity,
            curves: Curves::new(known.policy, known.start),
            points,
            merged,
            bounds: [log(OVER_PROVISIONING), capacity, cost],
            free,
        }
    }

    /// Indices of the parameters that are fitted.
    pub(super) fn free(&self) -> &[usize] {
        &self.free
    }

    /// Number of fitted parameters, including `fresh`.
    pub(super) fn fitted_numbers(&self) -> usize {
        self.free.len() + usize::from(self.is_throughput())
    }

    /// Number of values to fit.
    pub(super) fn count(&self) -> usize {
        self.merged.values.len()
    }

    pub(super) fn is_throughput(&self) -> bool {
        self.quantity == Quantity::Throughput
    }

    pub(super) fn fit(&self, point: &Point) -> Fit {
        self.fit_with(point, None)
    }

    /// Fits with `fresh` fixed, or with the best `fresh`.
    pub(super) fn fit_with(&self, point: &Point, fresh: Option<f64>) -> Fit {
        self.fit_later(point, fresh, 0.0)
    }

    /// Fits with collection beginning `later` drive writes later.
    fn fit_later(&self, point: &Point, fresh: Option<f64>, later: f64) -> Fit {
        let cost = point.numbers()[Point::COST];
        let means = self.means(point, &self.merged, later);
        let value = &self.merged.values;
        let (values, fresh) = if self.is_throughput() {
            let shape: Vec<f64> = means
                .iter()
                .map(|&a| relative_throughput(cost, a))
                .collect();
            let fresh = fresh.unwrap_or_else(|| {
                let both: f64 = shape.iter().zip(value).map(|(s, v)| s / v).sum();
                let own: f64 = shape.iter().zip(value).map(|(s, v)| (s / v).powi(2)).sum();
                both / own
            });
            (shape.iter().map(|s| s * fresh).collect(), fresh)
        } else {
            (means, 1.0)
        };
        let squares = (values.iter().zip(value))
            .map(|(m, v)| (m / v - 1.0).powi(2))
            .sum();
        Fit {
            values,
            fresh,
            squares,
        }
    }

    /// Mean write amplifications over the given intervals.
    fn means(&self, point: &Point, intervals: &IntervalMeans, later: f64) -> Vec<f64> {
        let [op, capacity, _] = point.numbers();
        let curve = self.curves.of(op, intervals.bytes() / capacity, later);
        means(
            &curve,
            intervals.borders.iter().map(|bytes| bytes / capacity),
        )
    }

    /// The model's values at the original points.
    pub(super) fn at_points(&self, point: &Point, fresh: f64) -> Vec<f64> {
        let mut values = self.means(point, &self.points, 0.0);
        if self.is_throughput() {
            let cost = point.numbers()[Point::COST];
            for a in &mut values {
                *a = fresh * relative_throughput(cost, *a);
            }
        }
        values
    }

    /// Root mean square of a fit's residuals, in the series' unit.
    pub(super) fn rms(&self, fit: &Fit) -> f64 {
        self.root_of_mean(self.residual_squares(fit))
    }

    /// Share of the variance that a fit explains.
    pub(super) fn r_squared(&self, fit: &Fit) -> Option<f64> {
        let total = self.total();
        (total > 0.0).then(|| 1.0 - self.residual_squares(fit) / total)
    }

    /// Sum of squared residuals, in the series' unit.
    fn residual_squares(&self, fit: &Fit) -> f64 {
        let pairs = fit.values.iter().zip(&self.merged.values);
        pairs.map(|(m, v)| (m - v).powi(2)).sum()
    }

    #[allow(clippy::cast_precision_loss)] // points
    fn root_of_mean(&self, squares: f64) -> f64 {
        (squares / self.count() as f64).sqrt()
    }

    /// Coefficient of variation: standard deviation divided by mean.
    pub(super) fn variation(&self) -> f64 {
        self.root_of_mean(self.total()) / self.mean()
    }

    /// Whether neighboring values are no more alike than by chance: the autocorrelation at lag 1 is
    /// below twice its standard error.
    #[allow(clippy::cast_precision_loss)] // points
    pub(super) fn is_noise_about_its_mean(&self) -> bool {
        let mean = self.mean();
        let rest: Vec<f64> = self.merged.values.iter().map(|v| v - mean).collect();
        autocorrelation(&rest) < 2.0 / (self.count() as f64).sqrt()
    }

    /// The sum of squares within which the model's own error cannot tell fits apart: the error of
    /// its values, and that of when a fresh drive begins to collect.
    pub(super) fn model_error_squares(&self, point: &Point, fit: &Fit) -> f64 {
        let later = self.fit_later(point, Some(fit.fresh), BEGIN_ERROR);
        let moved: f64 = (later.values.iter().zip(&fit.values))
            .map(|(later, now)| (later / now - 1.0).powi(2))
            .sum();
        #[allow(clippy::cast_precision_loss)] // points
        let count = self.count() as f64;
        count * MODEL_ERROR.powi(2) + moved
    }

    /// Relative residuals by point.
    pub(super) fn residuals(&self, fit: &Fit) -> Vec<f64> {
        let pairs = fit.values.iter().zip(&self.merged.values);
        pairs.map(|(m, v)| 1.0 - m / v).collect()
    }

    #[allow(clippy::cast_precision_loss)] // points
    fn mean(&self) -> f64 {
        self.merged.values.iter().sum::<f64>() / self.count() as f64
    }

    fn total(&self) -> f64 {
        let mean = self.mean();
        self.merged.values.iter().map(|v| (v - mean).powi(2)).sum()
    }
}

/// Throughput relative to a drive without collection.
fn relative_throughput(cost: f64, write_amplification: f64) -> f64 {
    1.0 / (1.0 + cost * (write_amplification - 1.0))
}

/// Autocorrelation at lag 1; 0 if nothing varies.
pub(super) fn autocorrelation(rest: &[f64]) -> f64 {
    let own: f64 = rest.iter().map(|r| r * r).sum();
    let next: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if own > 0.0 { next / own } else { 0.0 }
}

/// Mean write amplifications between ascending borders.
fn means(curve: &Curve, mut borders: impl Iterator<Item = f64>) -> Vec<f64> {
    // An empty curve: with so much spare area nothing is ever moved.
    if curve.writes.is_empty() {
        return borders.skip(1).map(|_| 1.0).collect();
    }
    let mut index = 0;
    // The integral up to `writes[index]`.
    let mut below = 0.0;
    let mut integral = |to: f64| {
        let (x, y) = (&curve.writes, &curve.write_amplification);
        while index + 1 < x.len() && x[index + 1] <= to {
            below += 0.5 * (y[index] + y[index + 1]) * (x[index + 1] - x[index]);
            index += 1;
        }
        below + 0.5 * (y[index] + curve.at(to)) * (to - x[index])
    };
    let Some(mut from) = borders.next() else {
        return Vec::new();
    };
    let mut before = integral(from);
    let mut means = Vec::new();
    for to in borders {
        let now = integral(to);
        means.push(if to > from {
            (now - before) / (to - from)
        } else {
            curve.at(to)
        });
        (from, before) = (to, now);
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_a_ramp() {
        let curve = Curve {
            writes: vec![0.0, 1.0, 2.0],
            write_amplification: vec![1.0, 3.0, 3.0],
        };
        let found = means(&curve, [0.0, 0.5, 1.5, 4.0].into_iter());
        for (found, expected) in found.into_iter().zip([1.5, 2.75, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
