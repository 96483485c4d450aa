//! Answers of `_field_caps` and `_search`, of Elasticsearch 6 on and OpenSearch.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// An answer of `_field_caps`: fields by name, each by type.
#[derive(Debug, Deserialize)]
pub(super) struct FieldCaps {
    pub(super) fields: BTreeMap<String, BTreeMap<String, FieldType>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FieldType {
    #[serde(default)]
    pub(super) aggregatable: bool,
}

/// Types that count as numbers.
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
    /// Whether a field is a number that can be summed up, in one index at least.
    pub(super) fn is_number(&self, field: &str) -> bool {
        self.has(field, |kind| NUMBERS.contains(&kind))
    }

    pub(super) fn is_time(&self, field: &str) -> bool {
        self.has(field, |kind| kind == "date" || kind == "date_nanos")
    }

    /// Whether buckets can be made of a field's values.
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

/// An answer of `_search` without documents.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    #[serde(default)]
    pub(super) timed_out: bool,
    #[serde(rename = "_shards", default)]
    pub(super) shards: Shards,
    #[serde(default)]
    pub(super) aggregations: BTreeMap<String, Value>,
    pub(super) hits: Option<Hits>,
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

#[derive(Debug, Default, Deserialize)]
pub(super) struct Hits {
    #[serde(default)]
    pub(super) hits: Vec<Hit>,
}

/// A document.
#[derive(Debug, Deserialize)]
pub(super) struct Hit {
    #[serde(rename = "_source", default)]
    pub(super) source: Value,
}

/// A bucket of a histogram or of terms.
#[derive(Debug, Deserialize)]
pub(super) struct Bucket {
    /// Milliseconds for a histogram over time; a value for terms.
    #[serde(default)]
    pub(super) key: Value,
    pub(super) key_as_string: Option<String>,
    /// What was asked for within it.
    pub(super) figure: Option<Value>,
}

impl Bucket {
    /// The list of buckets of an aggregation.
    pub(super) fn list(aggregation: &Value) -> Option<Vec<Self>> {
        Vec::deserialize(aggregation.get("buckets")?).ok()
    }

    /// The beginning of its time, in milliseconds.
    pub(super) fn start_ms(&self) -> Option<i64> {
        #[allow(clippy::cast_possible_truncation)]
        self.key
            .as_i64()
            .or_else(|| self.key.as_f64().map(|key| key as i64))
    }

    /// The figure of it, where a document had the field.
    pub(super) fn figure(&self) -> Option<f64> {
        let figure = self.figure.as_ref()?;
        // {"value": x}, or {"values": [{"key": 99.0, "value": x}]} of percentiles.
        let value = figure
            .get("value")
            .or_else(|| figure.get("values")?.get(0)?.get("value"));
        value?.as_f64()
    }
}

/// What an error says for itself: the innermost reason, which is the plainest.
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
    Some(http::shown(text.as_bytes()))
}
