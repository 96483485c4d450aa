//! An answer of `query_range` (prometheus.io/docs/prometheus/latest/querying/api).

use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// An answer, or an error in Prometheus' own words.
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
    /// Samples of native histograms: they have no single value.
    #[serde(default)]
    pub(super) histograms: Vec<serde::de::IgnoredAny>,
}

/// A moment in seconds, and the value there; `NaN`, `+Inf` and `-Inf` are values.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Sample(
    pub(super) f64,
    #[serde(deserialize_with = "value")] pub(super) f64,
);

/// Values are text, since JSON knows no infinity.
fn value<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let text = Cow::<str>::deserialize(input)?;
    text.parse()
        .map_err(|_| serde::de::Error::custom("a sample's value is no number"))
}

/// The moment in microseconds, where it is one: Prometheus counts milliseconds.
pub(super) fn time_us(seconds: f64) -> Option<i64> {
    // Up to the year 9999.
    (0.0..=253_402_300_799.0).contains(&seconds).then(|| {
        #[allow(clippy::cast_possible_truncation)]
        let milliseconds = (seconds * 1000.0).round() as i64;
        milliseconds * 1000
    })
}
