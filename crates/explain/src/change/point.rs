//! Change points and segments.

/// Microseconds per day.
pub(super) const DAY_US: f64 = 86_400e6;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakKind {
    /// The level.
    Level,
    /// The slope.
    Slope,
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
}

impl Segments {
    /// Returns the values minus the line of their segment.
    pub(crate) fn without(&self, times_us: &[i64], values: &[f64]) -> Vec<f64> {
        let mut level = values.to_vec();
        for segment in &self.segments {
            for i in segment.from..segment.to {
                level[i] -= segment.at(times_us[i]);
            }
        }
        level
    }

    /// Returns the only segment, if it has a slope.
    pub(crate) fn trend(&self) -> Option<&Segment> {
        match &self.segments[..] {
            [only] => Some(only).filter(|only| only.slope_per_day != 0.0),
            _ => None,
        }
    }
}
