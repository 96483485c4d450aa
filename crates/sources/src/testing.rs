//! Helpers for the tests of several readers.

use facts::series::Series;
use jiff::Timestamp;

/// Formats the times of a series as RFC 3339.
pub(crate) fn times(series: &Series) -> Vec<String> {
    series
        .times_us
        .iter()
        .map(|&us| Timestamp::from_microsecond(us).unwrap().to_string())
        .collect()
}
