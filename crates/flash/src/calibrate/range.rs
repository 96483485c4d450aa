//! Profile likelihoods: how far a parameter can be moved before the fit becomes significantly
//! worse.

use super::Estimate;
use super::model::{Model, Point, autocorrelation};
use super::simplex::{Best, grid, search};

/// 95 % quantile of the chi-square distribution with one degree of freedom.
const CHI_SQUARE_95: f64 = 3.841;

/// The parameter whose range is determined.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    /// A parameter of [`Point`], by index.
    Fitted(usize),
    /// Throughput without collection.
    Fresh,
}

/// The sum of squares at which a range ends.
#[allow(clippy::cast_precision_loss)] // points
pub(super) fn threshold(model: &Model, best: &Best) -> f64 {
    let fit = model.fit(&best.point);
    let residuals = model.residuals(&fit);
    // Autocorrelated residuals count as fewer independent points (Bartlett).
    let alike = autocorrelation(&residuals).clamp(0.0, 0.95);
    let inflation = (1.0 + alike) / (1.0 - alike);
    let points = model.count() as f64;
    let degrees = (points - model.fitted_numbers() as f64).max(1.0);
    best.squares
        + CHI_SQUARE_95 * best.squares / degrees * inflation
        + model.model_error_squares(&best.point, &fit)
}

/// The range of a parameter around the best fit.
pub(super) fn profile(model: &Model, best: &Best, number: Number, threshold: f64) -> Estimate {
    let fresh = model.fit(&best.point).fresh;
    let (value, low, high) = match number {
        Number::Fitted(index) => {
            let (low, high) = model.bounds[index];
            (best.point.0[index], low, high)
        }
        // A factor of a hundred covers a drive that slows down to a hundredth.
        Number::Fresh => (fresh.ln(), (fresh / 100.0).ln(), (fresh * 100.0).ln()),
    };
    let end = |limit: f64| end(model, best, number, value, limit, threshold).map(f64::exp);
    Estimate {
        value: value.exp(),
        low: end(low),
        high: end(high),
        given: false,
    }
}

/// Moves from the best value towards a limit in growing steps until the sum of squares exceeds the
/// threshold, then bisects the last step. Returns `None` if it never does.
fn end(
    model: &Model,
    best: &Best,
    number: Number,
    value: f64,
    limit: f64,
    threshold: f64,
) -> Option<f64> {
    let mut at = *best;
    let mut inside = value;
    let mut step = 0.02;
    let mut outside = loop {
        if (limit - inside).abs() < 1e-9 {
            return None;
        }
        let next = if limit > value {
            (inside + step).min(limit)
        } else {
            (inside - step).max(limit)
        };
        let mut found = best_fit_with_fixed(model, at, number, next, false);
        if found.squares > threshold {
            // There may be another local minimum.
            found = best_fit_with_fixed(model, at, number, next, true);
        }
        if found.squares > threshold {
            break next;
        }
        at = found;
        inside = next;
        step *= 1.7;
    };
    while (outside - inside).abs() > 0.004 {
        let middle = 0.5 * (inside + outside);
        let found = best_fit_with_fixed(model, at, number, middle, false);
        if found.squares > threshold {
            outside = middle;
        } else {
            at = found;
            inside = middle;
        }
    }
    Some(0.5 * (inside + outside))
}

/// The best fit with one parameter fixed, searched near `start` or everywhere.
fn best_fit_with_fixed(
    model: &Model,
    start: Best,
    number: Number,
    value: f64,
    anywhere: bool,
) -> Best {
    let mut start = start;
    let mut rest = model.free().to_vec();
    let fresh = match number {
        Number::Fitted(index) => {
            start.point.0[index] = value;
            rest.retain(|&other| other != index);
            None
        }
        Number::Fresh => Some(value.exp()),
    };
    let squares = |point: &Point| model.fit_with(point, fresh).squares;
    if anywhere {
        start = grid(model, start.point, &rest, 8, &squares)[0];
    }
    search(model, start, &rest, 0.1, &squares)
}
