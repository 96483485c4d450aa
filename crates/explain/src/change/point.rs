//! Changes and segments, as values.

/// Microseconds of a day.
const DAY_US: f64 = 86_400e6;

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakKind {
    /// The level.
    Level,
    /// The slope.
    Slope,
}

/// Options of a search for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeOptions {
    /// A change with fewer samples after it is provisional; in series of more than 16,384 samples, with fewer blocks.
    /// A possible bend must also be three times as old as its place is uncertain.
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
    /// [`BreakKind::Level`]: it jumped, whatever the slopes. [`BreakKind::Slope`]: it bent.
    pub kind: BreakKind,
    /// Level just before, in the unit of the values: that of the stretch's line at `index`.
    pub level_before: f64,
    /// Level just after.
    pub level_after: f64,
    /// Slope before, in units a day; 0 where a level alone explains the stretch.
    pub slope_before_per_day: f64,
    /// Slope after.
    pub slope_after_per_day: f64,
    /// More samples may move or remove it: few came after it, or it is worth little more than its cost.
    pub provisional: bool,
    /// Log-likelihood gain of the change, in nats, less its cost.
    pub gain_nats: f64,
}

/// A stretch between two changes, and its line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Index of its first sample.
    pub from: usize,
    /// Index after its last one.
    pub to: usize,
    /// Time of its first sample, in microseconds since the epoch.
    pub start_us: i64,
    /// Level at that time, in the unit of the values.
    pub level: f64,
    /// Slope in units a day; 0 where a level alone explains it.
    pub slope_per_day: f64,
}

impl Segment {
    /// The line's value at a time in microseconds since the epoch.
    pub fn at(&self, time_us: i64) -> f64 {
        self.level + self.slope_per_day * (time_us as f64 - self.start_us as f64) / DAY_US
    }
}

/// A series as stretches.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// Where one ends and the next begins, oldest first.
    pub changes: Vec<ChangePoint>,
    /// One more than changes; empty without samples.
    pub segments: Vec<Segment>,
    /// Coefficient of AR(1) of what remains, from one sample to the next, or from one block to the
    /// next; 0 where nothing was to be fitted.
    pub phi: f64,
}
