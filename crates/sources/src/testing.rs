//! Helpers for the tests of several readers.

use crate::{FileOptions, Format, Reading};
use facts::series::Series;
use jiff::Timestamp;

pub(crate) fn in_format(format: Format) -> FileOptions {
    FileOptions {
        format: Some(format),
        ..FileOptions::default()
    }
}

pub(crate) fn series<'r>(reading: &'r Reading, name: &str) -> &'r Series {
    let found = reading.series.iter().find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", names(reading)))
}

/// The names of all series.
pub(crate) fn names(reading: &Reading) -> Vec<&str> {
    reading.series.iter().map(|one| one.name.as_str()).collect()
}

/// Whether there is such a warning.
pub(crate) fn warns(reading: &Reading, of: impl Fn(&str) -> bool) -> bool {
    reading.warnings.iter().any(|text| of(text))
}

/// Formats the times of a series as RFC 3339.
pub(crate) fn times(series: &Series) -> Vec<String> {
    series
        .times_us
        .iter()
        .map(|&us| Timestamp::from_microsecond(us).unwrap().to_string())
        .collect()
}
