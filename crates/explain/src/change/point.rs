//! Change points and segments.

/// Microseconds per day.
const DAY_US: f64 = 86_400e6;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakKind {
    /// The level.
    Level,
    /// The slope.
    Slope,
}

/// Options for change detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeOptions {
    /// A change with fewer samples after it is provisional; in series of more than 16,384 samples, with
    /// fewer blocks. A possible bend must also be three times as old as its position is uncertain.
    pub lag_samples: usize,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self { lag_samples: 14 }
    }
}

/// A change of level or slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first sample after it.
    pub index: usize,
    /// [`BreakKind::Level`]: a jump, whatever the slopes. [`BreakKind::Slope`]: a bend.
    pub kind: BreakKind,
    /// Level just before the change, in the unit of the values: that of the segment's line at `index`.
    pub level_before: f64,
    /// Level just after the change.
    pub level_after: f64,
    /// Slope before, in units per day; 0 if a level alone explains the segment.
    pub slope_before_per_day: f64,
    /// Slope after.
    pub slope_after_per_day: f64,
    /// Whether more samples may move or remove it: there are few after it, or it is worth little more than
    /// its cost.
    pub provisional: bool,
    /// Log-likelihood gain of the change, in nats, minus its cost.
    pub gain_nats: f64,
}

/// A straight segment between two changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Index of its first sample.
    pub from: usize,
    /// Index after its last sample.
    pub to: usize,
    /// Time of its first sample, in microseconds since the epoch.
    pub start_us: i64,
    /// Level at that time, in the unit of the values.
    pub level: f64,
    /// Slope in units per day; 0 if a level alone explains the segment.
    pub slope_per_day: f64,
}

impl Segment {
    /// Returns the line's value at a time in microseconds since the epoch.
    pub fn at(&self, time_us: i64) -> f64 {
        self.level + self.slope_per_day * (time_us as f64 - self.start_us as f64) / DAY_US
    }
}

/// A piecewise linear fit to a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// The changes between segments, oldest first.
    pub changes: Vec<ChangePoint>,
    /// One more than there are changes; empty if there are no samples.
    pub segments: Vec<Segment>,
    /// AR(1) coefficient of the residuals, from one sample or block to the next; 0 if there was nothing to
    /// fit.
    pub phi: f64,
}
