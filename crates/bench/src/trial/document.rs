//! A trial's document, `trial.json`: what was run where, what it measured, and whether it is valid.
//!
//! It is written when the trial starts and again when it ends, so that a trial that was killed says so. The
//! [driver's journal](crate::driver) beside it holds every second's histograms; the document holds what a person,
//! a night's history or another tool asks for.

use crate::validity::{Check, Judgement};
use facts::series::Better;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of the document.
pub const SCHEMA: &str = "trimtab.trial/1";

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of trimtab.
    pub tool_version: String,
    /// Identifies the trial: `20261123T020000Z-5f1c`.
    pub id: String,
    /// Name of the track.
    pub track: String,
    /// CRC-32 of the track as it was run, in hexadecimal: trials of different tracks are not repetitions.
    pub track_crc32: String,
    /// The server, without credentials.
    pub target: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended; `null` while it runs, or if it was killed.
    pub ended_at: Option<Timestamp>,
    /// IANA name of the host's time zone.
    pub time_zone: Option<String>,
    /// How it went.
    pub state: State,
    /// What else is known of a state, such as why a trial failed.
    pub state_detail: Option<String>,
    /// The environment: `kernel`, `server version`, `mount options`, `governor`, ...
    pub environment: BTreeMap<String, String>,
    /// The operations of the measured phases, in order.
    pub operations: Vec<OperationResult>,
    /// What the servers counted within the measured time, by name with its unit: `merge_time_s`.
    pub server: BTreeMap<String, f64>,
    /// What the host counted within the measured time: `written_bytes`, `discarded_bytes`, `cpu_steal`.
    pub host: BTreeMap<String, f64>,
    /// Scheduled jobs around the measured time.
    pub jobs: Vec<JobRun>,
    /// Whether it is valid; `null` while it runs, or if it was killed.
    pub judgement: Option<Judgement>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// How a trial went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs, or was killed: the journal holds what it measured.
    Running,
    /// Everything planned was sent and answered.
    Complete,
    /// It was stopped by a signal.
    Stopped,
    /// The server did not answer everything in time.
    Overloaded,
    /// It could not be written, or a part of the driver failed.
    Failed,
}

/// One operation of the measured phases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationResult {
    /// The phase.
    pub phase: String,
    /// The operation.
    pub operation: String,
    /// Whether requests were planned at a rate (an open loop).
    pub open: bool,
    /// Length of the phase.
    pub duration_s: f64,
    /// Requests answered successfully.
    pub succeeded: u64,
    /// Requests that failed, by class.
    pub errors: BTreeMap<String, u64>,
    /// Requests without an answer at the end.
    pub unfinished: u64,
    /// Successful requests per second.
    pub requests_per_s: f64,
    /// Documents written per second; `null` if it writes none.
    pub documents_per_s: Option<f64>,
    /// From the planned start to the end; `null` if none succeeded.
    pub latency: Option<Latency>,
    /// From sending to the end, in an open loop.
    pub service: Option<Latency>,
    /// From the planned start to sending, in an open loop.
    pub lateness: Option<Latency>,
}

/// Times of requests, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile; `null` with fewer than 4,603 samples, which do not tell it.
    pub p99_9_ms: Option<f64>,
    /// Longest.
    pub max_ms: f64,
}

/// A run of a scheduled job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobRun {
    /// The job.
    pub name: String,
    /// When it started, or was due.
    pub started_at: Timestamp,
    /// Whether a log shows it, rather than the schedule alone.
    pub is_logged: bool,
    /// Whether it fell into the measured time.
    pub is_within: bool,
}

/// One value of a trial, for histories.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The operation; `server` or `host` for what those count.
    pub of: String,
    /// The metric: `throughput`, `latency p99`.
    pub metric: String,
    /// Its unit.
    pub unit: &'static str,
    /// Whether higher or lower is better; `None` if neither is.
    pub better: Option<Better>,
    /// The value.
    pub value: f64,
}

impl TrialDocument {
    /// Whether it ended and nothing speaks against it.
    pub fn is_valid(&self) -> bool {
        self.judgement.as_ref().is_some_and(Judgement::is_valid)
    }

    /// `VALID`, or `INVALID: ` and what speaks against it.
    pub fn verdict(&self) -> String {
        let reasons = self.judgement.iter().flat_map(|judged| &judged.reasons);
        let found: Vec<&str> = reasons.map(|reason| reason.found.as_str()).collect();
        match (self.is_valid(), found.is_empty()) {
            (true, _) => "VALID".to_owned(),
            (false, true) => "INVALID: it did not end".to_owned(),
            (false, false) => format!("INVALID: {}", found.join("; ")),
        }
    }

    /// Whether it tells how much the servers usually merge: what else disturbs a trial changes that little.
    pub(super) fn has_usual_merges(&self) -> bool {
        self.state == State::Complete
            && self.judgement.as_ref().is_some_and(|judgement| {
                let mut checks = judgement.reasons.iter().map(|reason| reason.check);
                !checks.any(|check| matches!(check, Check::Merges | Check::Errors))
            })
    }

    /// Length of the measured phases together, in seconds.
    pub fn measured_s(&self) -> f64 {
        // Operations of the same phase have the same length.
        let mut phases: BTreeMap<&str, f64> = BTreeMap::new();
        for operation in &self.operations {
            phases.insert(&operation.phase, operation.duration_s);
        }
        phases.values().sum()
    }

    /// Its values: of each operation first, then the servers' and the host's.
    pub fn values(&self) -> Vec<Value> {
        let mut values = Vec::new();
        for operation in &self.operations {
            let same = |other: &&OperationResult| other.operation == operation.operation;
            let name = if self.operations.iter().filter(same).count() > 1 {
                format!("{} in {}", operation.operation, operation.phase)
            } else {
                operation.operation.clone()
            };
            operation.values(&name, &mut values);
        }
        for (of, counts) in [("server", &self.server), ("host", &self.host)] {
            values.extend(counts.iter().map(|(name, value)| {
                let (metric, unit) = split_unit(name);
                Value {
                    of: of.to_owned(),
                    metric,
                    unit,
                    better: None,
                    value: *value,
                }
            }));
        }
        values
    }
}

impl OperationResult {
    fn values(&self, name: &str, values: &mut Vec<Value>) {
        let mut add = |metric: &str, unit, better, value| {
            values.push(Value {
                of: name.to_owned(),
                metric: metric.to_owned(),
                unit,
                better: Some(better),
                value,
            });
        };
        // The rate of an open loop is given, not measured.
        if !self.open {
            match self.documents_per_s {
                Some(rate) => add("throughput", "docs/s", Better::Higher, rate),
                None => add("throughput", "ops/s", Better::Higher, self.requests_per_s),
            }
        }
        if let Some(latency) = &self.latency {
            for (metric, value) in [
                ("latency mean", Some(latency.mean_ms)),
                ("latency p50", Some(latency.p50_ms)),
                ("latency p90", Some(latency.p90_ms)),
                ("latency p99", Some(latency.p99_ms)),
                ("latency p99.9", latency.p99_9_ms),
                ("latency max", Some(latency.max_ms)),
            ] {
                if let Some(value) = value {
                    add(metric, "ms", Better::Lower, value);
                }
            }
        }
        let failed: u64 = self.errors.values().sum();
        #[allow(clippy::cast_precision_loss)] // a share
        if failed + self.succeeded > 0 {
            let share = failed as f64 / (failed + self.succeeded) as f64;
            add("error share", "", Better::Lower, share);
        }
    }
}

/// `merge_time_s` is the metric `merge time` in s.
fn split_unit(name: &str) -> (String, &'static str) {
    let (metric, unit) = [("_bytes", "B"), ("_s", "s")]
        .into_iter()
        .find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, unit)))
        .unwrap_or((name, ""));
    (metric.replace('_', " "), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_in_the_names() {
        assert_eq!(split_unit("merge_time_s"), ("merge time".to_owned(), "s"));
        assert_eq!(split_unit("discarded_bytes"), ("discarded".to_owned(), "B"));
        assert_eq!(split_unit("merges"), ("merges".to_owned(), ""));
    }
}
