//! What every reader takes and gives.

use facts::Skipped;
use facts::series::Series;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How times are read, and which are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The zone of times that do not name one.
    pub zone: TimeZone,
    /// Samples from here on; earlier ones are not kept.
    pub since: Option<Timestamp>,
    /// Samples until before here.
    pub until: Option<Timestamp>,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            since: None,
            until: None,
        }
    }
}

/// What a reader keeps at most, whatever its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Samples of all series together.
    pub samples_max: usize,
    /// Series.
    pub series_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            samples_max: 50_000_000,
            series_max: 10_000,
        }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The series, in the order of the source.
    pub series: Vec<Series>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What the user should know of the whole reading; what concerns one series is among its notes.
    pub warnings: Vec<String>,
}
