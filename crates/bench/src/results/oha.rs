//! Results of oha (`--output-format json`): `print_json` in `src/printer.rs` of version 1.15 and its schema.json.
//! Times are in seconds. Numbers that do not exist, such as a p99.99 of few requests, are `null`.

use super::error::ResultsError;
use super::json::Place;
use super::op_metrics::percentile_rank;
use crate::compare::{Metric, MetricKey, Rank, Trial};
use facts::series::Better;
use serde_json::Value;

/// What oha counts of requests that were under way when the time was up; they are no errors.
const DEADLINE: &str = "aborted due to deadline";

/// Returns whether a document is a result of oha.
pub(crate) fn is_result(document: &Value) -> bool {
    document
        .get("summary")
        .is_some_and(|summary| summary.get("requestsPerSec").is_some())
}

pub(crate) fn read(source_name: &str, document: &Value) -> Result<Trial, ResultsError> {
    let root = Place::root(source_name, document);
    let summary = root.require("summary")?;
    let mut trial = Trial {
        name: source_name.to_owned(),
        ..Trial::default()
    };
    let mut add = |metric: &str, value: Option<f64>, unit, better, rank| {
        if let Some(value) = value {
            let scalar = Metric::scalar(value, unit, better, rank);
            let key = MetricKey::new("requests", metric);
            trial.metrics.insert(key, scalar);
        }
    };
    let (second, lower, primary) = (Some("s"), Better::Lower, Rank::Primary);
    let rate = summary.number_of("requestsPerSec")?;
    let per_second = Some("requests/s");
    add("throughput mean", rate, per_second, Better::Higher, primary);
    for (key, metric) in [("average", "latency mean"), ("slowest", "latency p100")] {
        let value = summary.number_of(key)?;
        add(metric, value, second, lower, Rank::Secondary);
    }
    if let Some(percentiles) = root.get("latencyPercentiles") {
        for key in percentiles.object()?.keys() {
            let percentile: Option<f64> = key.strip_prefix('p').and_then(|text| text.parse().ok());
            let Some(percentile) = percentile.filter(|one| (0.0..=100.0).contains(one)) else {
                let expected = "percentiles such as p99.9".to_owned();
                return Err(percentiles.error(expected, key).into());
            };
            let rank = percentile_rank("latency", percentile);
            let value = percentiles.number_of(key)?;
            let metric = format!("latency p{percentile}");
            add(&metric, value, second, lower, rank);
        }
    }
    let success = summary.number_of("successRate")?;
    let failed = success.map(|share| 1.0 - share);
    add("error rate", failed, None, lower, primary);
    if trial.metrics.is_empty() || rate.is_none() {
        return Err(ResultsError::empty(
            source_name,
            "no request was answered, so that there is nothing to compare",
        ));
    }
    trial.notes = failures(&root)?;
    Ok(trial)
}

/// Answers with an error status count as success in oha's success rate, and are often fast.
fn failures(root: &Place<'_>) -> Result<Vec<String>, ResultsError> {
    let mut notes = Vec::new();
    for (key, what) in [
        (
            "statusCodeDistribution",
            "requests were answered with status",
        ),
        ("errorDistribution", "requests failed:"),
    ] {
        let Some(counts) = root.get(key) else {
            continue;
        };
        for (name, count) in counts.object()? {
            let is_failure = match key {
                "statusCodeDistribution" => !name.starts_with(['2', '3']),
                _ => name != DEADLINE,
            };
            if is_failure {
                let count = units::escape(&super::json::plain(count)).into_owned();
                notes.push(format!("{count} {what} {}", units::escape(name)));
            }
        }
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_that_count_as_success_are_noted() {
        let document = json!({
            "summary": {"successRate": 1.0, "requestsPerSec": 812.5, "average": 0.012, "slowest": null},
            "latencyPercentiles": {"p50": 0.011, "p99.99": null},
            "statusCodeDistribution": {"200": 10, "429": 90},
            "errorDistribution": {"aborted due to deadline": 4, "connection refused": 2}
        });
        let trial = read("oha.json", &document).unwrap();
        assert_eq!(
            trial.notes,
            [
                "90 requests were answered with status 429",
                "2 requests failed: connection refused"
            ]
        );
        let metrics: Vec<&str> = trial
            .metrics
            .keys()
            .map(|key| key.metric.as_str())
            .collect();
        assert_eq!(
            metrics,
            [
                "error rate",
                "latency mean",
                "latency p50",
                "throughput mean"
            ]
        );
    }

    #[test]
    fn a_run_without_answers_is_no_trial() {
        let document = json!({"summary": {"successRate": null, "requestsPerSec": null}});
        assert!(read("oha.json", &document).is_err());
    }
}
