//! A question, and the groups of documents that series are made of.

use serde_json::{Value, json};

/// What is made of the values within a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their sum.
    Sum,
    /// A percentile, from 0 to 100; an estimate of the engine (t-digest).
    Percentile(f64),
    /// For a counter: what it grew by a second. The largest of each step is asked for, and
    /// differences are formed here; where it began anew there is no value.
    Rate,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Index, alias or pattern: `metricbeat-*`. Several with commas.
    pub index: String,
    /// A number: `system.cpu.total.pct`.
    pub field: String,
    /// What is made of it.
    pub figure: Figure,
    /// One point for so many seconds, at least 1.
    pub step_s: u32,
    /// When the documents' values were taken. `None`: `@timestamp`, else the only date there is.
    pub time_field: Option<String>,
    /// One series for each value of this field: `host.name`.
    pub split_by: Option<String>,
    /// How many values, those with the most documents first. At most 1,000.
    pub split_max: u32,
    /// Only documents that fit this, in the engine's `query_string` syntax: `host.name:db1`.
    pub filter: Option<String>,
}

impl Query {
    /// The mean of a field over steps, not split.
    pub fn new(index: &str, field: &str, step_s: u32) -> Self {
        Self {
            index: index.to_owned(),
            field: field.to_owned(),
            figure: Figure::Mean,
            step_s,
            time_field: None,
            split_by: None,
            split_max: 20,
            filter: None,
        }
    }
}

/// One value of the field that series are split by; or all documents.
pub(super) struct Group {
    pub(super) name: Option<String>,
    /// What fits its documents.
    pub(super) clause: Value,
}

impl Group {
    pub(super) fn all() -> Self {
        Self {
            name: None,
            clause: json!({"match_all": {}}),
        }
    }
}
