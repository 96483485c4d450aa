//! Time series.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether higher or lower values of a series are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Higher is better: throughput.
    Higher,
    /// Lower is better: latency, waiting time.
    Lower,
}

/// How precisely the timestamps of a series are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dating {
    /// Absolute points in time.
    Absolute,
    /// Order and spacing are known, and the local date of the first sample, but not its time of
    /// day. Timestamps count from that date's midnight in UTC.
    Day(Date),
    /// Only order and spacing are known. Timestamps count from 1970-01-01 in UTC.
    Undated,
}

/// What a sample says of the time since the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleOf {
    /// The mean of that time, or a rate over it.
    Interval,
    /// The value at the sample's own moment, as a gauge is read.
    Moment,
}

/// What the values of a curve are like in each ten minutes of the week, over several weeks.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldedWeek {
    /// Whose curve it is: a host.
    pub name: String,
    /// A high percentile of each slot, in the unit of the curve; not a number where there are no values. The first slot
    /// begins on a Thursday at 00:00 UTC, as Unix time does.
    pub high: Vec<f32>,
    /// The low percentile on the other side.
    pub low: Vec<f32>,
}

impl FoldedWeek {
    /// Length of a slot, in seconds.
    pub const SLOT_S: u32 = 600;
    /// Slots of a week.
    pub const SLOTS: usize = 1008;
}

/// A time series with its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Display name, unique within one input: `throughput`, `nvme1n1 kB_wrtn/s`.
    pub name: String,
    /// Where it was read: a file, or a URL without credentials.
    pub source: String,
    /// Labels that distinguish it, in the source's terms: `device`, `metric`, `host`, `task`.
    pub labels: BTreeMap<String, String>,
    /// Unit of the values, as the source writes it: `ops/s`, `ms`.
    pub unit: Option<String>,
    /// Whether higher or lower is better, if the source or the unit tells.
    pub better: Option<Better>,
    /// How precisely the timestamps are known.
    pub dating: Dating,
    /// What a sample says, if the source tells.
    pub sample_of: Option<SampleOf>,
    /// Sample timestamps in microseconds since the epoch, strictly ascending. A value that covers
    /// an interval, such as a mean, is dated by the end of the interval.
    pub times_us: Vec<i64>,
    /// Sample values, all finite, one for each timestamp.
    pub values: Vec<f64>,
    /// What was cleaned up on reading, in plain language with counts: duplicates, values that are
    /// not numbers, counter resets, timestamps out of order.
    pub notes: Vec<String>,
    /// Set if the values are the time that a device's discards and flushes take together.
    pub discard_time: Option<DiscardTime>,
}

/// Labels that name the host of a series, as exporters, agents and archives write them.
pub const HOST_LABELS: &[&str] = &[
    "host",
    "hostname",
    "host.name",
    "host_name",
    "nodename",
    "node",
    "instance",
];

impl Series {
    /// The host that it is of, if its labels tell: without the port of an exporter.
    pub fn host(&self) -> Option<&str> {
        let mut labels = HOST_LABELS.iter();
        let named = labels.find_map(|label| self.labels.get(*label))?;
        Some(without_port(named))
    }

    /// The host of the exporter that a Prometheus scraped, by its label `instance`.
    pub fn scraped_host(&self) -> Option<&str> {
        self.labels.get("instance").map(|named| without_port(named))
    }
}

fn without_port(named: &str) -> &str {
    match named.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => named,
    }
}

/// What tells discards from flushes in a series of the time that both take together.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscardTime {
    /// The device's writes per second, one for each sample; `None` if the source does not tell.
    pub writes_per_s: Option<Vec<f64>>,
    /// Milliseconds that the flushes of one write usually take. They are not in the values.
    pub flush_ms_per_write: f64,
}
