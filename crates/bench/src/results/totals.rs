//! What servers count over a whole race, under the names that Rally and OpenSearch Benchmark share.

use crate::compare::{Metric, MetricKey, Rank, Trial};
use facts::series::Better;
use std::collections::BTreeMap;

/// Totals that are compared, with their units. Of others, such as the number of documents that went through an
/// ingest pipeline, neither more nor less is better.
const TOTALS: [(&str, Option<&str>); 19] = [
    ("total_time", Some("ms")),
    ("indexing_throttle_time", Some("ms")),
    ("merge_time", Some("ms")),
    ("merge_throttle_time", Some("ms")),
    ("merge_count", None),
    ("refresh_time", Some("ms")),
    ("refresh_count", None),
    ("flush_time", Some("ms")),
    ("flush_count", None),
    ("young_gc_time", Some("ms")),
    ("young_gc_count", None),
    ("old_gc_time", Some("ms")),
    ("old_gc_count", None),
    ("zgc_cycles_gc_time", Some("ms")),
    ("zgc_pauses_gc_time", Some("ms")),
    ("dataset_size", Some("bytes")),
    ("store_size", Some("bytes")),
    ("translog_size", Some("bytes")),
    ("segment_count", None),
];

/// Adds totals to a trial. All are details: less of them is better only if the work was the same.
pub(crate) fn add_to(totals: &BTreeMap<String, f64>, operation: &str, trial: &mut Trial) {
    for (name, unit) in TOTALS {
        if let Some(value) = totals.get(name) {
            let metric = if name == "total_time" {
                "indexing time".to_owned()
            } else {
                name.replace('_', " ")
            };
            trial.metrics.insert(
                MetricKey::new(operation, metric),
                Metric::scalar(*value, unit, Better::Lower, Rank::Secondary),
            );
        }
    }
}
