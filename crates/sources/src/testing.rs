//! What the tests of several readers look at.

use facts::series::Series;
use jiff::Timestamp;

/// The times of a series, as RFC 3339 writes them.
pub(crate) fn times(series: &Series) -> Vec<String> {
    series
        .times_us
        .iter()
        .map(|&us| Timestamp::from_microsecond(us).unwrap().to_string())
        .collect()
}
