//! Input and output types common to all readers.

use facts::Skipped;
use facts::series::Series;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How times are interpreted, and which range is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The zone of times that do not name one.
    pub zone: TimeZone,
    /// Start of the range, inclusive.
    pub since: Option<Timestamp>,
    /// End of the range, exclusive.
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

/// Maximum number of samples of one series: its analysis takes up to 124 bytes for each. Beside as many others
/// as there may be, which take 16 bytes a sample, that is about a gigabyte.
pub(crate) const SERIES_SAMPLES_MAX: usize = 5_000_000;

/// Limits on what a reader keeps, whatever its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of samples, over all series.
    pub samples_max: usize,
    /// Maximum number of series.
    pub series_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            samples_max: 20_000_000,
            series_max: 10_000,
        }
    }
}

/// The result of reading a history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The series, in the order of the source.
    pub series: Vec<Series>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// Warnings about the whole reading; those about a single series are in its notes.
    pub warnings: Vec<String>,
    /// Examples of names of series that no pattern of a selection matched.
    pub unselected: Vec<String>,
}

impl Reading {
    /// Keeps the series whose names match one of the patterns; all of them if there are none.
    pub fn select(&mut self, patterns: &[String]) {
        const EXAMPLES: usize = 5;
        self.series.retain(|series| {
            let name = &series.name;
            let is_selected = patterns.is_empty()
                || patterns
                    .iter()
                    .any(|pattern| units::glob::matches(pattern, name));
            if !is_selected && self.unselected.len() < EXAMPLES {
                self.unselected.push(name.clone());
            }
            is_selected
        });
    }
}
