//! One metric over all nights.

use super::night::{Night, Outcome};
use crate::trial::Value;
use facts::series::{Better, Dating, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Metrics that are looked at first.
const PRIMARY: [&str; 3] = ["throughput", "latency p50", "latency p99"];

/// A metric over all nights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Metric {
    /// Its name, unique within the history: `bulk throughput`, or `logs: bulk throughput` if there are trials of
    /// several tracks.
    pub name: String,
    /// The track.
    pub track: String,
    /// The operation; `server` or `host` for what those count.
    pub operation: String,
    /// The metric: `throughput`, `latency p99`.
    pub metric: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Whether higher or lower is better; null if neither is.
    pub better: Option<Better>,
    /// Whether it is one to look at first: throughput, or the 50th or 99th percentile of the latency.
    pub is_primary: bool,
    /// Its values, in the order of the nights.
    pub samples: Vec<Sample>,
}

/// A value of a night.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// Index of the trial in the history.
    pub trial: usize,
    /// The value.
    pub value: f64,
}

impl Metric {
    pub(super) fn new(track: &str, value: &Value, has_many_tracks: bool) -> Self {
        let (operation, metric) = (&value.of, &value.metric);
        Self {
            name: if has_many_tracks {
                format!("{track}: {operation} {metric}")
            } else {
                format!("{operation} {metric}")
            },
            track: track.to_owned(),
            operation: operation.clone(),
            metric: metric.clone(),
            unit: value.unit.to_owned(),
            better: value.better,
            is_primary: PRIMARY.contains(&metric.as_str()),
            samples: Vec::new(),
        }
    }

    /// Its values as a series: those of valid trials, dated by the trials' ends.
    pub fn series(&self, nights: &[Night], source: &str) -> Series {
        let mut series = Series {
            name: self.name.clone(),
            source: source.to_owned(),
            labels: BTreeMap::from([("operation".to_owned(), self.operation.clone())]),
            unit: (!self.unit.is_empty()).then(|| self.unit.clone()),
            better: self.better,
            dating: Dating::Absolute,
            sample_of: None,
            times_us: Vec::new(),
            values: Vec::new(),
            notes: Vec::new(),
            discard_time: None,
        };
        let mut doubles = 0_u64;
        for sample in &self.samples {
            let night = &nights[sample.trial];
            if night.outcome != Outcome::Valid {
                continue;
            }
            let at_us = night.at().as_microsecond();
            // The nights ascend, but several may have ended at the same time.
            if series.times_us.last().is_some_and(|last| *last >= at_us) {
                doubles += 1;
                continue;
            }
            series.times_us.push(at_us);
            series.values.push(sample.value);
        }
        if doubles > 0 {
            let trials = units::count(doubles, "trial");
            series
                .notes
                .push(format!("{trials} that ended when another did: left out"));
        }
        series
    }
}
