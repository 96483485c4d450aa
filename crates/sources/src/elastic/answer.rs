//! Responses of `_field_caps` and `_search`, of Elasticsearch 6 and later and OpenSearch.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A `_field_caps` response: fields by name, with their capabilities by type.
#[derive(Debug, Deserialize)]
pub(super) struct FieldCaps {
    pub(super) fields: BTreeMap<String, BTreeMap<String, FieldType>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FieldType {
    #[serde(default)]
    pub(super) aggregatable: bool,
}

/// Numeric types.
const NUMBERS: &[&str] = &[
    "long",
    "integer",
    "short",
    "byte",
    "double",
    "float",
    "half_float",
    "scaled_float",
    "unsigned_long",
];

impl FieldCaps {
    /// Returns whether a field is an aggregatable number in at least one index.
    pub(super) fn is_number(&self, field: &str) -> bool {
        self.has(field, |kind| NUMBERS.contains(&kind))
    }

    pub(super) fn is_time(&self, field: &str) -> bool {
        self.has(field, |kind| kind == "date" || kind == "date_nanos")
    }

    /// Returns whether documents can be grouped by a field.
    pub(super) fn is_grouping(&self, field: &str) -> bool {
        self.has(field, |_| true)
    }

    fn has(&self, field: &str, wanted: impl Fn(&str) -> bool) -> bool {
        self.fields.get(field).is_some_and(|types| {
            types
                .iter()
                .any(|(kind, about)| about.aggregatable && wanted(kind))
        })
    }
}

/// A `_search` response without documents.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    #[serde(default)]
    pub(super) timed_out: bool,
    #[serde(rename = "_shards", default)]
    pub(super) shards: Shards,
    #[serde(default)]
    pub(super) aggregations: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Shards {
    #[serde(default)]
    pub(super) total: u64,
    #[serde(default)]
    pub(super) failed: u64,
    #[serde(default)]
    pub(super) failures: Vec<Value>,
}

/// A bucket of a date histogram or a terms aggregation.
#[derive(Debug, Deserialize)]
pub(super) struct Bucket {
    /// Milliseconds for a histogram over time; a field value for terms.
    #[serde(default)]
    pub(super) key: Value,
    pub(super) key_as_string: Option<String>,
    #[serde(default)]
    pub(super) doc_count: u64,
    /// The requested metric of the bucket.
    pub(super) figure: Option<Value>,
}

impl Bucket {
    /// Returns the buckets of an aggregation.
    pub(super) fn list(aggregation: &Value) -> Option<Vec<Self>> {
        Vec::deserialize(aggregation.get("buckets")?).ok()
    }

    /// Returns the start of the bucket, in milliseconds.
    pub(super) fn start_ms(&self) -> Option<i64> {
        #[allow(clippy::cast_possible_truncation)]
        self.key
            .as_i64()
            .or_else(|| self.key.as_f64().map(|key| key as i64))
    }

    /// Returns the metric's value, if any document had the field.
    pub(super) fn figure(&self) -> Option<f64> {
        let figure = self.figure.as_ref()?;
        // {"value": x}, or {"values": [{"key": 99.0, "value": x}]} for percentiles.
        let value = figure
            .get("value")
            .or_else(|| figure.get("values")?.get(0)?.get("value"));
        value?.as_f64()
    }
}

/// Returns the message of an error response: the innermost reason, which is the clearest.
pub(super) fn reason(body: &Value) -> Option<String> {
    let error = body.get("error")?;
    let cause = error
        .pointer("/failed_shards/0/reason/reason")
        .or_else(|| error.pointer("/root_cause/0/reason"))
        .or_else(|| error.get("reason"))
        .unwrap_or(error);
    let text = cause
        .as_str()
        .map_or_else(|| cause.to_string(), str::to_owned);
    Some(bounded_http::shown(text.as_bytes()))
}
