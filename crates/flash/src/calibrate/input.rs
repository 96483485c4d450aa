//! The input of a fit: a series, known values, and the bounds of the search.

use crate::theory::Start;

/// Search bounds of the over-provisioning.
pub const OVER_PROVISIONING: (f64, f64) = (0.005, 3.0);
/// Search bounds of the capacity, as a multiple of the bytes written during the series.
pub const CAPACITY_WRITTEN: (f64, f64) = (0.05, 200.0);
/// Search bounds of the cost of a moved page.
pub const MOVED_PAGE_COST: (f64, f64) = (0.2, 5.0);
/// Minimum number of points of a series.
pub const POINTS_MIN: usize = 8;
/// Relative error of the fitted curves compared with simulated drives: root mean square over five
/// drive writes. For FIFO it was measured on drives of 4,000 blocks (at most 0.65 %) and rounded
/// up; for greedy it is the noise of two simulations and of the interpolation. Fits that differ by
/// less are equivalent.
pub const MODEL_ERROR: f64 = 0.01;
/// Uncertainty of when a fresh drive begins to collect, in drive writes, because the number of
/// blocks it keeps free or half written is unknown. The first point of a throughput may cover the
/// whole time before it.
pub const BEGIN_ERROR: f64 = 0.005;

/// The quantity that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Pages programmed per page written, at least 1.
    WriteAmplification,
    /// Bytes per second that the drive accepted under full load.
    Throughput,
}

/// How much the host wrote between the points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostWrites {
    /// A constant rate, in bytes per second.
    Rate(f64),
    /// As much as the drive accepted: the series is a throughput, and its integral is the amount
    /// written.
    Saturated,
}

/// Which time of its interval a point is stamped with. It makes no difference if points are evenly
/// spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamps {
    /// The end: the interval begins at the previous point, and the first interval is as long as the
    /// second, as in the output of `iostat`, `fio` and most other tools.
    #[default]
    End,
    /// The beginning: the interval ends at the next point, and the last interval is as long as the
    /// previous one.
    Begin,
    /// The middle: the interval extends halfway to the neighboring points.
    Middle,
}

/// A series whose values are means over intervals, see [`Stamps`]. The slowdown begins with the
/// first of these intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<'a> {
    /// Seconds, ascending.
    pub time_s: &'a [f64],
    /// Values, in the unit of [`Quantity`].
    pub value: &'a [f64],
    /// The quantity.
    pub quantity: Quantity,
    /// How to convert time to bytes written.
    pub host_writes: HostWrites,
    /// Which interval a value covers.
    pub stamps: Stamps,
}

/// Victim selection policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// [`crate::theory::fifo`].
    Fifo,
    /// [`crate::theory::greedy`].
    Greedy {
        /// Pages per block.
        pages_per_block: u32,
    },
}

/// Known values, which are not fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// State of the drive at the first point.
    pub start: Start,
    /// The collection policy.
    pub policy: Policy,
    /// Capacity in bytes, all of which the host writes to.
    pub capacity_bytes: Option<f64>,
    /// Cost of a moved page relative to a page of the host; ignored for a series of write
    /// amplification.
    pub moved_page_cost: Option<f64>,
}
