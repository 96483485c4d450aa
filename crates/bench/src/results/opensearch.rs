//! Test runs of OpenSearch Benchmark: `test_run.json`, before version 2 `test_execution.json`.
//!
//! The format is that of `TestRun.as_dict` in `osbenchmark/metrics.py` (2.4), and of `TestExecution.as_dict` in
//! 1.x, which has other names for the same. Results are Rally's, from which it descends.

use super::error::ResultsError;
use super::json::Place;
use super::race::{read_properties, read_results, read_time};
use crate::compare::Trial;
use serde_json::Value;

/// Names of the timestamp and the id: since version 2, and before.
const NAMES: [(&str, &str); 2] = [
    ("test-run-timestamp", "test-run-id"),
    ("test-execution-timestamp", "test-execution-id"),
];

/// Objects that hold properties of the environment.
const OBJECTS: [&str; 6] = [
    "cluster",
    "user-tags",
    "workload-params",
    "cluster-config-instance-params",
    "provision-config-instance-params",
    "plugin-params",
];

/// Single properties.
const PROPERTIES: [&str; 8] = [
    "benchmark-version",
    "environment",
    "pipeline",
    "workload",
    "workload-revision",
    "test_procedure",
    "cluster-config-instance",
    "provision-config-instance",
];

pub(crate) fn is_test_run(document: &Value) -> bool {
    NAMES.iter().any(|(time, _)| document.get(time).is_some())
}

/// Reads a test run.
pub(crate) fn read(source_name: &str, document: &Value) -> Result<Trial, ResultsError> {
    let root = Place::root(source_name, document);
    let (time, id) = NAMES
        .into_iter()
        .find(|(time, _)| document.get(time).is_some())
        .unwrap_or(NAMES[0]);
    let runs = root
        .get("user-tags")
        .and_then(|tags| tags.get("aggregation-of-runs"));
    if let Some(runs) = runs {
        let count = runs.value().as_array().map_or(0, Vec::len);
        return Err(ResultsError::empty(
            source_name,
            format!(
                "it is the mean of {}, whose spread is lost; name the files of these runs instead",
                units::count(count, "run")
            ),
        ));
    }
    let mut trial = Trial {
        name: source_name.to_owned(),
        id: Some(root.require(id)?.text()?.to_owned()),
        started_us: Some(read_time(&root, time)?.as_microsecond()),
        environment: read_properties(&root, &OBJECTS, &PROPERTIES)?,
        ..Trial::default()
    };
    for results in read_results(&root)? {
        results.add_to(&mut trial);
    }
    if trial.metrics.is_empty() {
        return Err(ResultsError::empty(
            source_name,
            "the test run has no results: it was not finished, or a task failed; see OpenSearch Benchmark's log",
        ));
    }
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn aggregated_runs_are_no_trial() {
        let document = json!({
            "test-run-id": "aggregate_results_big5", "test-run-timestamp": "20260721T120000Z",
            "user-tags": {"aggregation-of-runs": ["a", "b", "c"]}
        });
        let error = read("test_run.json", &document).unwrap_err();
        assert!(error.to_string().contains("mean of 3 runs"), "{error}");
    }

    #[test]
    fn an_unfinished_run_is_told() {
        let document =
            json!({"test-execution-id": "x", "test-execution-timestamp": "20230810T212711Z"});
        let error = read("test_execution.json", &document).unwrap_err();
        assert!(error.to_string().contains("not finished"), "{error}");
    }
}
