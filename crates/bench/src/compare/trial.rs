//! What is compared: sets of trials, and what each trial measured.

use facts::series::Better;
use std::collections::BTreeMap;

/// Trials of one system: a baseline, or a contender.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrialSet {
    /// Its name, for display: a folder, a branch.
    pub name: String,
    /// The trials, in any order.
    pub trials: Vec<Trial>,
}

/// One run of a benchmark from start to end, the unit of repetition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// Where it was read, for display.
    pub name: String,
    /// What identifies it whatever its name is, such as Rally's race id: the same trial must not count twice.
    pub id: Option<String>,
    /// When it started, in microseconds since the epoch. Trials that alternate in time are compared in pairs; those of
    /// one set after the other may differ by drift alone. Without it, they are taken as independent.
    pub started_us: Option<i64>,
    /// Its environment: `kernel`, `distribution-version`, `mount options`, `governor`.
    pub environment: BTreeMap<String, String>,
    /// What it measured.
    pub metrics: BTreeMap<MetricKey, Metric>,
    /// What a reader should know about it, such as a high error rate.
    pub notes: Vec<String>,
    /// Why it should not be compared, as its own judge found; empty if nothing speaks against it.
    pub invalid: Vec<String>,
}

/// What distinguishes a metric within a trial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricKey {
    /// The class of operations: a task of Rally, a command of hyperfine.
    pub operation: String,
    /// The metric of it: `throughput mean`, `latency p99`.
    pub metric: String,
}

impl MetricKey {
    /// Creates a key.
    pub fn new(operation: impl Into<String>, metric: impl Into<String>) -> Self {
        Self {
            operation: operation.into(),
            metric: metric.into(),
        }
    }
}

/// One metric of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Unit of the values, as the source writes it.
    pub unit: Option<String>,
    /// Whether higher or lower is better.
    pub better: Better,
    /// How much it decides.
    pub rank: Rank,
    /// The values.
    pub observations: Observations,
}

impl Metric {
    /// Creates a metric that has one value a trial.
    pub fn scalar(value: f64, unit: Option<&str>, better: Better, rank: Rank) -> Self {
        Self {
            unit: unit.map(str::to_owned),
            better,
            rank,
            observations: Observations::Scalar(value),
        }
    }
}

/// How much a metric decides. Primary and secondary metrics are separate families of tests, so that many details
/// do not cost the few metrics that matter their power.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// One of the few metrics that a benchmark is run for.
    Primary,
    /// A detail that may explain them.
    Secondary,
}

/// What a trial observed of a metric. Values must be finite, and those of a metric positive in sum, because
/// trials are compared by ratio.
#[derive(Debug, Clone, PartialEq)]
pub enum Observations {
    /// One value for the whole trial, as other tools' result files have.
    Scalar(f64),
    /// A value for each operation, second or block, in order of time. The trial's value is their mean.
    Values(Vec<f64>),
    /// A value for each second or block, in order, each with a weight of its own. The trial's value is their mean.
    Blocks {
        /// The values.
        values: Vec<f64>,
        /// How much each counts, such as the number of requests behind a mean latency.
        weights: Vec<f64>,
    },
    /// How often each value occurred, for each second or block, in order: what an HDR histogram a second holds.
    /// The trial's value is a quantile of all blocks together.
    Histograms {
        /// Values and their counts, in any order.
        blocks: Vec<Vec<(f64, u64)>>,
        /// The quantile, a share above 0 and up to 1.
        share: f64,
    },
}
