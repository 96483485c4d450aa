//! Answers of servers that somebody saved: Prometheus' `query_range`, and searches of Elasticsearch or
//! OpenSearch with a histogram over time.

use crate::clean;
use crate::collector::{Draft, SeriesCollector};
use crate::options::FileOptions;
use crate::text::file_error;
use crate::{Reading, SourceError, prometheus};
use facts::InputError;
use facts::series::Dating;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read;

/// Maximum size of an answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// How deep aggregations are nested in those that are followed.
const DEPTH_MAX: usize = 8;
/// What a search is expected to hold.
const EXPECTED: &str = "the answer to a search with a date_histogram and metrics in it";

/// Whether a text that begins with a JSON object is an answer of Prometheus; of errors, too.
pub(crate) fn is_of_prometheus(head: &str) -> bool {
    let head: String = head
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(256)
        .collect();
    head.starts_with("{\"status\":\"success\",") && head.contains("\"resultType\":")
        || head.starts_with("{\"status\":\"error\",\"errorType\":")
}

/// Whether a text that begins with a JSON object is the answer to a search.
pub(crate) fn is_of_search(head: &str) -> bool {
    let head: String = head
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(64)
        .collect();
    head.starts_with("{\"took\":") || head.starts_with("{\"aggregations\":")
}

fn whole(name: &str, input: impl Read) -> Result<Vec<u8>, SourceError> {
    let mut body = Vec::new();
    input
        .take(ANSWER_BYTES_MAX + 1)
        .read_to_end(&mut body)
        .map_err(|error| file_error(name, error))?;
    if body.len() as u64 > ANSWER_BYTES_MAX {
        let expected = format!("an answer of {} at most", units::bytes(ANSWER_BYTES_MAX));
        return Err(InputError::new(name, expected, "a longer one").into());
    }
    Ok(body)
}

/// Reads an answer of Prometheus.
pub(crate) fn read_prometheus(
    name: &str,
    input: impl Read,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    prometheus::read_answer(&whole(name, input)?, name, &options.limits)
}

/// Reads the answer to a search: each metric of each histogram over time is a series, and the buckets
/// around it are its labels. A sample is dated by the end of its bucket, as all means are.
pub(crate) fn read_search(
    name: &str,
    input: impl Read,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let body = whole(name, input)?;
    let answer: Value = serde_json::from_slice(&body).map_err(|error| {
        InputError::new(name, EXPECTED, &error.to_string())
            .at_line(error.line())
            .at_column(error.column())
    })?;
    let mut collector = SeriesCollector::new(name, &options.times, options.limits);
    if let Some(aggregations) = answer.get("aggregations").and_then(Value::as_object) {
        read_aggregations(aggregations, &BTreeMap::new(), &mut collector, 0);
    }
    if collector.is_empty() {
        let found = if answer.get("aggregations").is_some() {
            "aggregations without one"
        } else {
            "documents, or nothing"
        };
        return Err(InputError::new(name, EXPECTED, found).into());
    }
    collector.finish(Dating::Absolute)
}

fn read_aggregations(
    aggregations: &Map<String, Value>,
    labels: &BTreeMap<String, String>,
    collector: &mut SeriesCollector,
    depth: usize,
) {
    if depth >= DEPTH_MAX {
        return;
    }
    for (name, aggregation) in aggregations {
        let Some(aggregation) = aggregation.as_object() else {
            continue;
        };
        match aggregation.get("buckets") {
            Some(Value::Array(buckets)) => {
                let starts: Option<Vec<i64>> = buckets.iter().map(start_ms).collect();
                match starts.filter(|starts| starts.len() >= 2) {
                    Some(starts) => read_histogram(name, buckets, &starts, labels, collector),
                    None => {
                        for bucket in buckets {
                            let key = bucket.get("key").unwrap_or(&Value::Null);
                            let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                            read_bucket(name, &key, bucket, labels, collector, depth);
                        }
                    }
                }
            }
            // Filters and keyed ranges.
            Some(Value::Object(buckets)) => {
                for (key, bucket) in buckets {
                    read_bucket(name, key, bucket, labels, collector, depth);
                }
            }
            // A single bucket, such as of `filter` and `nested`.
            _ => read_aggregations(aggregation, labels, collector, depth + 1),
        }
    }
}

fn read_bucket(
    name: &str,
    key: &str,
    bucket: &Value,
    labels: &BTreeMap<String, String>,
    collector: &mut SeriesCollector,
    depth: usize,
) {
    if let Some(inside) = bucket.as_object() {
        let mut labels = labels.clone();
        labels.insert(name.to_owned(), key.to_owned());
        read_aggregations(inside, &labels, collector, depth + 1);
    }
}

/// Returns the start of a bucket of a histogram over time, which has its key in two forms.
fn start_ms(bucket: &Value) -> Option<i64> {
    bucket.get("key_as_string")?;
    let start_ms = bucket.get("key")?.as_i64()?;
    Timestamp::from_millisecond(start_ms).ok()?;
    Some(start_ms)
}

fn read_histogram(
    name: &str,
    buckets: &[Value],
    starts: &[i64],
    labels: &BTreeMap<String, String>,
    collector: &mut SeriesCollector,
) {
    // The last bucket is as long as the one before it.
    let lens = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let lens: Vec<i64> = lens.filter(|len| *len > 0).collect();
    let Some(&last) = lens.last() else {
        return;
    };
    let ends_us: Vec<i64> = (0..starts.len())
        .map(|at| {
            let end_ms = starts.get(at + 1).copied();
            let end_ms = end_ms.unwrap_or(starts[at].saturating_add(last));
            end_ms.min(Timestamp::MAX.as_millisecond()) * 1000
        })
        .collect();
    let mut push = |end_us: i64, metric: &str, value: Option<f64>| {
        let key = format!("{name}\u{1f}{metric}\u{1f}{labels:?}");
        let id = collector.id(&key, || draft(metric, labels));
        collector.push(id, end_us, value);
    };
    let mut any_metric = false;
    for (&end_us, bucket) in ends_us.iter().zip(buckets) {
        for (metric, value) in bucket.as_object().into_iter().flatten() {
            if let Some(single) = value.get("value") {
                any_metric = true;
                push(end_us, metric, single.as_f64());
            }
            for (key, value) in value
                .get("values")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                if value.is_number() || value.is_null() {
                    any_metric = true;
                    let metric = format!("{metric} p{}", key.trim_end_matches(".0"));
                    push(end_us, &metric, value.as_f64());
                }
            }
        }
    }
    // Without a metric, the number of documents is what was asked for.
    if !any_metric {
        for (&end_us, bucket) in ends_us.iter().zip(buckets) {
            let count = bucket.get("doc_count").and_then(Value::as_f64);
            push(end_us, "doc_count", count);
        }
    }
}

fn draft(metric: &str, labels: &BTreeMap<String, String>) -> Draft {
    let around: Vec<&str> = labels.values().map(String::as_str).collect();
    Draft {
        name: if around.is_empty() {
            metric.to_owned()
        } else {
            format!("{} {metric}", around.join(" "))
        },
        labels: labels.clone(),
        better: clean::better(metric, None),
        ..Draft::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_bytes;
    use crate::testing::names;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Reading, SourceError> {
        read_bytes("saved.json", text.as_bytes(), &FileOptions::default())
    }

    #[test]
    fn a_saved_range_of_prometheus_is_read() {
        let reading = read(
            r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"up","job":"es"},"values":[[1791000000,"1"],[1791000060,"0"]]}]}}"#,
        )
        .unwrap();
        assert_eq!(reading.series.len(), 1);
        assert_eq!(reading.series[0].values, [1.0, 0.0]);
        let error = read(r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#);
        assert!(error.unwrap_err().to_string().contains("parse error"));
    }

    const SEARCH: &str = r#"{"took":3,"hits":{"hits":[]},"aggregations":{"host":{"buckets":[
        {"key":"db1","doc_count":4,"t":{"buckets":[
            {"key_as_string":"2026-10-04T00:00:00.000Z","key":1791072000000,"doc_count":2,"busy":{"value":7.5},"wait":{"values":{"50.0":1,"99.0":9}}},
            {"key_as_string":"2026-10-04T00:01:00.000Z","key":1791072060000,"doc_count":2,"busy":{"value":null},"wait":{"values":{"50.0":2,"99.0":8}}}]}}]}}}"#;

    #[test]
    fn metrics_of_a_histogram_are_series() {
        let reading = read(SEARCH).unwrap();
        assert_eq!(
            names(&reading),
            ["db1 busy", "db1 wait p50", "db1 wait p99"]
        );
        // Dated by the end of the bucket; a bucket without a value has no sample.
        assert_eq!(reading.series[0].times_us, [1_791_072_060_000_000]);
        assert_eq!(reading.series[0].labels["host"], "db1");
        assert_eq!(reading.series[2].values, [9.0, 8.0]);
    }

    #[test]
    fn a_histogram_of_documents_counts_them_and_anything_else_is_named() {
        let counted = r#"{"took":1,"aggregations":{"2":{"buckets":[
            {"key_as_string":"a","key":1791072000000,"doc_count":5},
            {"key_as_string":"b","key":1791072060000,"doc_count":6}]}}}"#;
        assert_eq!(read(counted).unwrap().series[0].values, [5.0, 6.0]);
        for (other, found) in [
            (
                r#"{"took":1,"hits":{"hits":[{"_source":{"a":1}}]}}"#,
                "documents",
            ),
            (
                r#"{"took":1,"aggregations":{"a":{"value":7}}}"#,
                "aggregations without one",
            ),
        ] {
            let error = read(other).unwrap_err().to_string();
            assert!(
                error.contains("date_histogram") && error.contains(found),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn total(cut in 0..SEARCH.len(), byte in any::<u8>()) {
            let mut bytes = SEARCH.as_bytes().to_vec();
            bytes[cut] = byte;
            let options = FileOptions::default();
            let _ = read_search("x", bytes.as_slice(), &options);
            let _ = read_search("x", &bytes[..cut], &options);
        }
    }
}
