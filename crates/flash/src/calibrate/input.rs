//! The input of a fit: a series, known numbers, and the bounds of the search.

use crate::theory::Start;

/// Search bounds of the over-provisioning.
pub const OVER_PROVISIONING: (f64, f64) = (0.005, 3.0);
/// Search bounds of the capacity, as a multiple of the bytes written during the series.
pub const CAPACITY_WRITTEN: (f64, f64) = (0.05, 200.0);
/// Search bounds of the cost of a moved page.
pub const MOVED_PAGE_COST: (f64, f64) = (0.2, 5.0);
/// Minimum number of points of a series.
pub const POINTS_MIN: usize = 8;
/// Error of the fitted curves against simulated drives: root mean square of the relative differences over five
/// drive writes. For FIFO as measured on drives of 4,000 blocks (at most 0.65 %), rounded up; for greedy the noise
/// of two simulations and of the interpolation between them. Fits that differ by less are equivalent.
pub const MODEL_ERROR: f64 = 0.01;
/// Error of the moment at which a fresh drive begins to collect, in drive writes: how many blocks a drive keeps
/// free or half written is not known. One point of a throughput may cover the whole time before it.
pub const BEGIN_ERROR: f64 = 0.005;

/// The quantity that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Pages programmed per page written, at least 1.
    WriteAmplification,
    /// Bytes per second that the drive took while it was kept busy.
    Throughput,
}

/// How much the host wrote between the points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostWrites {
    /// A constant rate, in bytes per second.
    Rate(f64),
    /// As much as the drive took: the series is a throughput, and its integral is what was written.
    Saturated,
}

/// Which moment of its interval the time of a point is. It does not matter if points are evenly spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamps {
    /// Its end: it begins at the time of the point before, and the first is as long as the second, as in the
    /// output of `iostat`, `fio` and most others.
    #[default]
    End,
    /// Its beginning: it ends at the time of the next point, and the last is as long as the one before.
    Begin,
    /// Its middle: it reaches from halfway after the point before to halfway to the next.
    Middle,
}

/// A series; each value is the mean over an interval, see [`Stamps`]. The decay starts where the first of these
/// intervals does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<'a> {
    /// Seconds, ascending.
    pub time_s: &'a [f64],
    /// Values, in the unit of [`Quantity`].
    pub value: &'a [f64],
    /// The quantity.
    pub quantity: Quantity,
    /// How time becomes writes.
    pub host_writes: HostWrites,
    /// The interval of a value.
    pub stamps: Stamps,
}

/// How the drive chooses victims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// [`crate::theory::fifo`].
    Fifo,
    /// [`crate::theory::greedy`].
    Greedy {
        /// Pages of a block.
        pages_per_block: u32,
    },
}

/// What is known and need not be fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// What the drive held at the first point.
    pub start: Start,
    /// The collection policy.
    pub policy: Policy,
    /// Bytes that the host can address and writes to.
    pub capacity_bytes: Option<f64>,
    /// Cost of a moved page in pages of the host; has no meaning for write amplification.
    pub moved_page_cost: Option<f64>,
}
