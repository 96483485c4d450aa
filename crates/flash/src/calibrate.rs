//! Fits spare area and timing to a measured slowdown.
//!
//! The model is the rise of write amplification after a trim or on a fresh drive, under random
//! single-page writes: [`theory::over_writes`] for FIFO, simulated drives for greedy collection. A
//! drive's throughput falls with it,
//!
//! ```text
//! throughput = fresh / (1 + cost (A - 1))
//! ```
//!
//! where `fresh` is the throughput without collection, and `cost` the cost of a moved page relative
//! to a page the host writes: it is programmed like one, but has to be read before, so
//! `1 + read / program`. The time per byte is linear in `A`, so the mean over an interval requires
//! only the mean of `A`.
//!
//! Up to four parameters are fitted: over-provisioning, capacity (which converts bytes to drive
//! writes), `cost` and `fresh`. Known values should be given: each one is a parameter that the
//! series need not determine. The sum of squared relative residuals is minimized with Nelder and
//! Mead's simplex method, started from the best points of a grid; `fresh` follows from the other
//! parameters by linear regression. Ranges are profile likelihoods: a parameter is moved away from
//! its best value, all others are fitted again, until the sum of squares has grown by the threshold
//! for 95 % confidence in one parameter (Venzon, Moolgavkar 1988, "A method for computing
//! profile-likelihood-based confidence intervals"). The threshold accounts for autocorrelated
//! residuals, which reduce the number of independent points, and for the squares of [`MODEL_ERROR`]
//! and [`BEGIN_ERROR`]. A range that does not end within the [bounds](self#constants) is open; a
//! parameter whose range is open on both sides is not determined by the data, whatever its best
//! value. In long series, neighboring points are merged before fitting.
//!
//! Limitation: non-uniform writes look like a different spare area. Skewed writes mixed in the same
//! blocks make it look smaller, sequential writes larger. The result is the *effective* spare area:
//! that of a drive with uniform writes that slows down in the same way.

mod curves;
mod estimate;
mod input;
mod interval_means;
mod model;
mod points;
mod range;
mod simplex;
#[cfg(test)]
mod tests;

pub use estimate::Estimate;
pub use input::{
    BEGIN_ERROR, CAPACITY_WRITTEN, HostWrites, Known, MODEL_ERROR, MOVED_PAGE_COST,
    OVER_PROVISIONING, POINTS_MIN, Policy, Quantity, Series, Stamps,
};
pub use points::{POINTS_MAX, Points, PointsError};
use thiserror::Error;

use crate::ftl::Collection;
use crate::theory::{self, Start};
use model::{Model, Point};

/// Why a series cannot be fitted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CalibrateError {
    /// The numbers of times and values differ, or there are too few.
    #[error("{times} times and {values} values, expected as many of both, {POINTS_MIN} at least")]
    Points {
        /// Length of `time_s`.
        times: usize,
        /// Length of `value`.
        values: usize,
    },
    /// An invalid point.
    #[error("point {index}: {what} is {found}, expected {expected}")]
    Point {
        /// Index of the point, from 0.
        index: usize,
        /// The quantity, such as `time`.
        what: &'static str,
        /// The value given.
        found: f64,
        /// The allowed range, in words.
        expected: &'static str,
    },
    /// An invalid known value.
    #[error("{what} is {found}, expected {expected}")]
    Known {
        /// The quantity, such as `capacity`.
        what: &'static str,
        /// The value given.
        found: f64,
        /// The allowed range, in words.
        expected: &'static str,
    },
    /// A series of write amplification does not contain the amount written.
    #[error("a series of write amplification needs the rate of the host's writes")]
    RateWanted,
}

/// How much the fit is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All fitted parameters have a range.
    Determined,
    /// Some parameters have a range and others do not: see the estimates.
    Partly,
    /// The over-provisioning has no range at all: the series determines only its own level. It is
    /// too short, too flat, or does not begin and end like a slowdown.
    ScaleOnly,
    /// The model explains less than half of the variance of a series that varies by more than the
    /// model's own error: there is another cause, or the writes are not uniform. The ranges are
    /// meaningless.
    Unexplained,
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Effective over-provisioning.
    pub over_provisioning: Estimate,
    /// Capacity in bytes.
    pub capacity_bytes: Estimate,
    /// Throughput without collection, in bytes per second; `None` for a series of write
    /// amplification.
    pub fresh_bytes_per_s: Option<Estimate>,
    /// Cost of a moved page, relative to a page of the host; `None` for a series of write
    /// amplification.
    pub moved_page_cost: Option<Estimate>,
    /// Write amplification in the long run.
    pub equilibrium: f64,
    /// The model's values at the points of the series.
    pub fitted: Vec<f64>,
    /// Root mean square of the residuals, in the series' unit; for long series, of the merged
    /// points.
    pub residual_rms: f64,
    /// Share of the variance that the model explains; `None` for a constant series.
    pub r_squared: Option<f64>,
    /// How much the fit is worth.
    pub verdict: Verdict,
}

impl Verdict {
    /// Whether the over-provisioning is known.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Determined | Self::Partly)
    }
}

impl Calibration {
    /// Effective spare area in bytes, at the best values.
    pub fn spare_bytes(&self) -> f64 {
        self.over_provisioning.value * self.capacity_bytes.value
    }
}

/// Fits a series.
///
/// # Errors
/// [`CalibrateError`] if points or known values are invalid. A series that determines nothing is
/// not an error: see [`Calibration::verdict`].
pub fn calibrate(series: &Series, known: &Known) -> Result<Calibration, CalibrateError> {
    check(series, known)?;
    let model = Model::new(series, known);
    let best = simplex::from_grid(&model);
    let threshold = range::threshold(&model, &best);
    let estimate = |number| range::profile(&model, &best, number, threshold);

    let [op, capacity, cost] = best.point.numbers();
    let free = model.free();
    let of = |index: usize, value: f64| {
        if free.contains(&index) {
            estimate(range::Number::Fitted(index))
        } else {
            Estimate::given(value)
        }
    };
    let throughput = series.quantity == Quantity::Throughput;
    let over_provisioning = of(Point::OVER_PROVISIONING, op);
    let capacity_bytes = of(Point::CAPACITY, capacity);
    let moved_page_cost = throughput.then(|| of(Point::COST, cost));
    let fresh_bytes_per_s = throughput.then(|| estimate(range::Number::Fresh));
    let fit = model.fit(&best.point);
    let mut calibration = Calibration {
        over_provisioning,
        capacity_bytes,
        fresh_bytes_per_s,
        moved_page_cost,
        equilibrium: known.policy.equilibrium(op),
        residual_rms: model.rms(&fit),
        r_squared: model.r_squared(&fit),
        fitted: model.at_points(&best.point, fit.fresh),
        verdict: Verdict::Determined,
    };
    calibration.verdict = verdict(&calibration, &model);
    Ok(calibration)
}

fn verdict(found: &Calibration, model: &Model) -> Verdict {
    let unexplained = found.r_squared.is_some_and(|r| r < 0.5);
    if unexplained && model.variation() > 4.0 * MODEL_ERROR && found.residual_rms > 0.0 {
        // A constant level with noise is not a slowdown either, but needs no other cause.
        if model.is_noise_about_its_mean() {
            return Verdict::ScaleOnly;
        }
        return Verdict::Unexplained;
    }
    if found.over_provisioning.is_open() {
        return Verdict::ScaleOnly;
    }
    let fitted = [
        Some(found.over_provisioning),
        Some(found.capacity_bytes),
        found.fresh_bytes_per_s,
        found.moved_page_cost,
    ];
    if fitted.iter().flatten().all(Estimate::is_determined) {
        Verdict::Determined
    } else {
        Verdict::Partly
    }
}

impl Policy {
    /// The policy to fit; `None` for a collection policy without a curve.
    pub fn of(collection: Collection, pages_per_block: u32) -> Option<Self> {
        match collection {
            Collection::Fifo => Some(Self::Fifo),
            Collection::Greedy => Some(Self::Greedy { pages_per_block }),
            Collection::DChoices(_) => None,
        }
    }

    fn equilibrium(self, over_provisioning: f64) -> f64 {
        match self {
            Self::Fifo => theory::fifo(over_provisioning),
            Self::Greedy { pages_per_block } => theory::greedy(over_provisioning, pages_per_block),
        }
    }
}

fn check(series: &Series, known: &Known) -> Result<(), CalibrateError> {
    let (times, values) = (series.time_s.len(), series.value.len());
    if times != values || times < POINTS_MIN {
        return Err(CalibrateError::Points { times, values });
    }
    let mut before = f64::NEG_INFINITY;
    for (index, (&time, &value)) in series.time_s.iter().zip(series.value).enumerate() {
        let error = |what, found, expected| {
            Err(CalibrateError::Point {
                index,
                what,
                found,
                expected,
            })
        };
        if !(time.is_finite() && time > before) {
            return error("the time", time, "a number above the one before");
        }
        before = time;
        match series.quantity {
            Quantity::WriteAmplification if !(value.is_finite() && value >= 1.0) => {
                return error("the write amplification", value, "1 or more");
            }
            Quantity::Throughput if !(value.is_finite() && value > 0.0) => {
                return error("the throughput", value, "above 0");
            }
            _ => {}
        }
    }
    let above_0 = |what, found: f64| {
        if found.is_finite() && found > 0.0 {
            Ok(())
        } else {
            Err(CalibrateError::Known {
                what,
                found,
                expected: "above 0",
            })
        }
    };
    match (series.host_writes, series.quantity) {
        (HostWrites::Rate(rate), _) => above_0("the host's write rate", rate)?,
        (HostWrites::Saturated, Quantity::Throughput) => {}
        (HostWrites::Saturated, Quantity::WriteAmplification) => {
            return Err(CalibrateError::RateWanted);
        }
    }
    if let Some(capacity) = known.capacity_bytes {
        above_0("the capacity", capacity)?;
    }
    if let Some(cost) = known.moved_page_cost {
        above_0("the cost of a moved page", cost)?;
    }
    let (Start::Filled { mapped_share } | Start::Trimmed { mapped_share }) = known.start;
    if !(0.0..=1.0).contains(&mapped_share) {
        return Err(CalibrateError::Known {
            what: "the share of the capacity in use at the start",
            found: mapped_share,
            expected: "0 to 1",
        });
    }
    if known.policy == (Policy::Greedy { pages_per_block: 0 }) {
        return Err(CalibrateError::Known {
            what: "pages per block",
            found: 0.0,
            expected: "1 or more",
        });
    }
    Ok(())
}
