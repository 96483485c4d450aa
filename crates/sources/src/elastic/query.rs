//! Queries, and the groups of documents that become series.

use serde_json::{Value, json};

/// How the values within a step are aggregated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// The mean.
    Mean,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The sum.
    Sum,
    /// A percentile, from 0 to 100, as estimated by the server (t-digest).
    Percentile(f64),
    /// For counters: the increase per second. It is computed here from the maximum of each step; there is
    /// no value where the counter was reset.
    Rate,
}

/// A query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Index, alias or pattern: `metricbeat-*`. Several are separated by commas.
    pub index: String,
    /// A numeric field: `system.cpu.total.pct`.
    pub field: String,
    /// How it is aggregated.
    pub figure: Figure,
    /// Seconds per point, at least 1.
    pub step_s: u32,
    /// The time field of the documents. `None`: `@timestamp`, or else the only date field.
    pub time_field: Option<String>,
    /// Creates one series per value of this field: `host.name`.
    pub split_by: Option<String>,
    /// Maximum number of those values, most documents first; up to 1,000.
    pub split_max: u32,
    /// Only these of them, all of them; empty: any.
    pub split_values: Vec<String>,
    /// Restricts the documents, in the server's `query_string` syntax: `host.name:db1`.
    pub filter: Option<String>,
}

impl Query {
    /// Creates a query for the mean of a field over steps, not split.
    pub fn new(index: &str, field: &str, step_s: u32) -> Self {
        Self {
            index: index.to_owned(),
            field: field.to_owned(),
            figure: Figure::Mean,
            step_s,
            time_field: None,
            split_by: None,
            split_max: 20,
            split_values: Vec::new(),
            filter: None,
        }
    }
}

/// A value of the field by which series are split.
pub(super) struct SplitValue {
    pub(super) name: String,
    /// As a query takes it.
    pub(super) key: Value,
    pub(super) documents: u64,
}

/// One value of the field by which series are split, or all documents.
pub(super) struct Group {
    pub(super) name: Option<String>,
    /// The clause that matches its documents.
    pub(super) clause: Value,
}

impl Group {
    /// The documents with a value of a field.
    pub(super) fn of(field: &str, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            clause: json!({"term": {field: {"value": name}}}),
        }
    }

    pub(super) fn all() -> Self {
        Self {
            name: None,
            clause: json!({"match_all": {}}),
        }
    }
}
