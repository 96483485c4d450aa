//! Curves: values at moments, as histories hold them.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which way a series is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: throughput.
    Higher,
    /// Less is better: latency, waiting time.
    Lower,
}

/// What the times of a series are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dating {
    /// Moments.
    Absolute,
    /// The order and distances are known, and the local day on which the first sample was taken,
    /// but not its time of day. Times count from that day's midnight in UTC.
    Day(Date),
    /// Only the order and distances are known. Times count from 1970-01-01 in UTC.
    Undated,
}

/// A curve, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name for people, unique within one reading: `throughput`, `nvme1n1 kB_wrtn/s`.
    pub name: String,
    /// Where it came from: a file, or a URL without credentials.
    pub source: String,
    /// What tells it from others, in the terms of its source: `device`, `metric`, `host`, `task`.
    pub labels: BTreeMap<String, String>,
    /// Unit of the values as the source writes it: `ops/s`, `ms`.
    pub unit: Option<String>,
    /// Which way it is better, where the source or its unit tells.
    pub better: Option<Better>,
    /// What the times are worth.
    pub dating: Dating,
    /// When each sample was taken, in microseconds since the epoch, strictly ascending. What stands
    /// for a stretch of time, as a mean does, is dated by its end.
    pub times_us: Vec<i64>,
    /// The samples, finite, as many as there are times.
    pub values: Vec<f64>,
    /// What was mended while it was read, in plain words with counts: duplicates, values that are
    /// no numbers, counters that began anew, times out of order.
    pub notes: Vec<String>,
}
