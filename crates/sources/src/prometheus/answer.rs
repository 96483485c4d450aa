//! The response of `query_range` (prometheus.io/docs/prometheus/latest/querying/api).

use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A result, or an error with Prometheus' message.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) data: Option<Data>,
    #[serde(rename = "errorType")]
    pub(super) error_type: Option<String>,
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    #[serde(default)]
    pub(super) infos: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Data {
    #[serde(rename = "resultType")]
    pub(super) result_type: String,
    #[serde(default)]
    pub(super) result: Vec<Stream>,
}

/// One series.
#[derive(Debug, Deserialize)]
pub(super) struct Stream {
    #[serde(default)]
    pub(super) metric: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) values: Vec<Sample>,
    /// Samples of native histograms, which have no single value.
    #[serde(default)]
    pub(super) histograms: Vec<serde::de::IgnoredAny>,
}

/// A time in seconds and its value, which may be `NaN`, `+Inf` or `-Inf`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Sample(
    pub(super) f64,
    #[serde(deserialize_with = "value")] pub(super) f64,
);

/// Parses a value; values are strings, because JSON cannot represent infinity.
fn value<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let text = Cow::<str>::deserialize(input)?;
    text.parse()
        .map_err(|_| serde::de::Error::custom("a sample's value is no number"))
}

/// Returns the time in microseconds, if it is valid; Prometheus has a resolution of milliseconds.
pub(super) fn time_us(seconds: f64) -> Option<i64> {
    // Up to the year 9999.
    (0.0..=253_402_300_799.0).contains(&seconds).then(|| {
        #[allow(clippy::cast_possible_truncation)]
        let milliseconds = (seconds * 1000.0).round() as i64;
        milliseconds * 1000
    })
}
