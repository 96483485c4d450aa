//! Spare area and timing that explain a measured decay.
//!
//! What is fitted is the climb of write amplification after a trim or on a fresh drive, under writes of single
//! pages at random: [`theory::over_writes`] for FIFO, simulated drives for greedy collection. A drive's throughput falls with it,
//!
//! ```text
//! throughput = fresh / (1 + cost (A - 1))
//! ```
//!
//! where `fresh` is what it takes when nothing is collected, and `cost` what a moved page takes, in
//! units of a page that the host writes: it is programmed like one and read before, `1 + read / program`.
//! The time that a byte takes is linear in `A`, so that a mean over an interval needs no more than the
//! mean of `A`.
//!
//! Up to four numbers are fitted: over-provisioning, capacity (which turns bytes into drive writes), `cost`,
//! `fresh`. What is known should be given: each known number is one that the series need not tell. The sum of
//! squares, each by what was measured, is minimised by Nelder and Mead's simplex from the best points of a
//! grid; `fresh` follows from the others by linear regression. Ranges are profiles: a number is moved away from
//! its best value, all others fitted again, until the sum of squares has grown by what 95 % confidence of one
//! number allows (Venzon, Moolgavkar 1988, "A method for computing profile-likelihood-based confidence
//! intervals"), with fewer independent points where neighbouring residuals resemble each other, and by the
//! squares of [`MODEL_ERROR`] and [`BEGIN_ERROR`] besides. A range that does not end within the
//! [bounds](self#constants) is open, and what is open on both sides is not determined by the data, whatever the
//! best value. Of a long series neighbouring points are joined before it is fitted.
//!
//! What this cannot see: writes that are not uniform look like other spare area. Skewed writes that are
//! mixed in the same blocks make it look smaller, sequential ones larger. It is the *effective* spare
//! area: that of a drive with uniform writes which decays the same way.

mod curves;
mod estimate;
mod input;
mod looks;
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

/// Why there is nothing to fit.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CalibrateError {
    /// Points and values do not go together.
    #[error("{times} times and {values} values, expected as many of both, {POINTS_MIN} at least")]
    Points {
        /// Of `time_s`.
        times: usize,
        /// Of `value`.
        values: usize,
    },
    /// A point that cannot be.
    #[error("point {index}: {what} is {found}, expected {expected}")]
    Point {
        /// From 0.
        index: usize,
        /// `time`.
        what: &'static str,
        /// As given.
        found: f64,
        /// In words.
        expected: &'static str,
    },
    /// A number beside the series that cannot be.
    #[error("{what} is {found}, expected {expected}")]
    Known {
        /// `capacity`.
        what: &'static str,
        /// As given.
        found: f64,
        /// In words.
        expected: &'static str,
    },
    /// Write amplification does not say how much was written.
    #[error("a series of write amplification needs the rate of the host's writes")]
    RateWanted,
}

/// What the fit is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All that was fitted has a range.
    Determined,
    /// Something has, something has not: see the estimates.
    Partly,
    /// The spare area has no range at all: the series tells its own level, and no more. It is too
    /// short, too flat, or its start and its end are not those of a decay.
    ScaleOnly,
    /// The model explains less than half of the variance of a series that varies by more than the
    /// model's own error: another cause, or writes that are not uniform. No range means anything.
    Unexplained,
}

/// A fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Effective spare area by logical capacity.
    pub over_provisioning: Estimate,
    /// Bytes that the host can address.
    pub capacity_bytes: Estimate,
    /// Throughput before anything is collected, in bytes per second; `None` for write amplification.
    pub fresh_bytes_per_s: Option<Estimate>,
    /// What a moved page costs, in pages of the host; `None` for write amplification.
    pub moved_page_cost: Option<Estimate>,
    /// Write amplification in the long run.
    pub equilibrium: f64,
    /// The model at the points of the series.
    pub fitted: Vec<f64>,
    /// Root of the mean square of what the model leaves, in the series' unit; of points that were joined,
    /// where there were many.
    pub residual_rms: f64,
    /// Share of the variance that the model explains; `None` for a series that does not vary.
    pub r_squared: Option<f64>,
    /// What to make of it.
    pub verdict: Verdict,
}

impl Verdict {
    /// Whether the spare area is known.
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
/// [`CalibrateError`]: points or known numbers that cannot be. A series that determines nothing is no
/// error: [`Calibration::verdict`].
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
        // A level and noise is no decay either, but nothing that another cause would have to explain.
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
    /// The policy of a fit; `None` for a collection that has no curve.
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
