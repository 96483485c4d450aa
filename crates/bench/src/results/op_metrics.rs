//! Results of tasks as Rally and OpenSearch Benchmark write them: `op_metrics`.

use super::error::ResultsError;
use super::json::Place;
use crate::compare::{Metric, MetricKey, Rank, Trial};
use facts::InputError;
use facts::series::Better;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Most tasks of a race.
const TASKS_MAX: usize = 10_000;
/// Most percentiles of a metric.
const PERCENTILES_MAX: usize = 1_000;

/// Metrics that are times with percentiles. OpenSearch Benchmark has one more than Rally.
const TIMES: [&str; 4] = [
    "latency",
    "service_time",
    "processing_time",
    "client_processing_time",
];

/// Results of one task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Task {
    /// Its name within the race.
    pub task: String,
    /// The operation that it repeats.
    pub operation: String,
    /// Operations or documents per second.
    pub throughput: Option<Throughput>,
    /// Times of requests by name: `latency` from the planned start, `service_time` from the actual one,
    /// `processing_time` with the client's share.
    pub times: BTreeMap<String, Times>,
    /// Share of requests that failed, 0 to 1.
    pub error_rate: Option<f64>,
    /// How long the task took, in milliseconds.
    pub duration_ms: Option<f64>,
}

/// A task's throughput over its seconds.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Throughput {
    /// Least of all seconds.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Most of all seconds.
    pub max: Option<f64>,
    /// Unit: `docs/s`, `ops/s`.
    pub unit: Option<String>,
}

/// Times of a task's requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times {
    /// Percentiles (0 to 100) in ascending order, each with its time.
    pub percentiles: Vec<(f64, f64)>,
    /// Mean.
    pub mean: Option<f64>,
    /// Unit: `ms`.
    pub unit: Option<String>,
}

pub(crate) fn read_tasks(place: &Place<'_>) -> Result<Vec<Task>, ResultsError> {
    let tasks = place.elements(TASKS_MAX)?;
    Ok(tasks.iter().map(read_task).collect::<Result<_, _>>()?)
}

fn read_task(place: &Place<'_>) -> Result<Task, InputError> {
    place.object()?;
    // Races before Rally 0.8 have no tasks, only operations.
    let operation = place.text_of("operation")?;
    let task = place.text_of("task")?.or_else(|| operation.clone());
    let task = match task {
        Some(task) => task,
        None => place.require("task")?.text()?.to_owned(),
    };
    let throughput = place.get("throughput").map(|place| read_throughput(&place));
    let mut times = BTreeMap::new();
    for name in TIMES {
        if let Some(place) = place.get(name) {
            let read = read_times(&place)?;
            // Tasks without samples have an empty object.
            if read.mean.is_some() || !read.percentiles.is_empty() {
                times.insert(name.to_owned(), read);
            }
        }
    }
    Ok(Task {
        operation: operation.unwrap_or_else(|| task.clone()),
        task,
        throughput: throughput.transpose()?,
        times,
        error_rate: place.number_of("error_rate")?,
        duration_ms: place.number_of("duration")?,
    })
}

fn read_throughput(place: &Place<'_>) -> Result<Throughput, InputError> {
    place.object()?;
    Ok(Throughput {
        min: place.number_of("min")?,
        mean: place.number_of("mean")?,
        median: place.number_of("median")?,
        max: place.number_of("max")?,
        unit: place.text_of("unit")?,
    })
}

fn read_times(place: &Place<'_>) -> Result<Times, InputError> {
    let mut percentiles = Vec::new();
    for key in place.object()?.keys() {
        if !key.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let percentile: Option<f64> = key.replacen('_', ".", 1).parse().ok();
        let Some(percentile) = percentile.filter(|percentile| *percentile <= 100.0) else {
            let expected = "percentiles such as 99_9".to_owned();
            return Err(place.error(expected, key));
        };
        if let Some(value) = place.number_of(key)? {
            percentiles.push((percentile, value));
        }
        if percentiles.len() > PERCENTILES_MAX {
            let expected = format!("{PERCENTILES_MAX} percentiles at most");
            return Err(place.error(expected, "more"));
        }
    }
    percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(Times {
        percentiles,
        mean: place.number_of("mean")?,
        unit: place.text_of("unit")?,
    })
}

impl Task {
    pub(crate) fn to_json(&self) -> Value {
        let mut task = Map::new();
        task.insert("task".to_owned(), json!(self.task));
        task.insert("operation".to_owned(), json!(self.operation));
        let throughput = self.throughput.clone().unwrap_or_default();
        task.insert("throughput".to_owned(), json!(throughput));
        // Rally's own reader asks for the first three.
        for name in &TIMES[..3] {
            task.insert((*name).to_owned(), json!({}));
        }
        for (name, times) in &self.times {
            let mut object = Map::new();
            for (percentile, value) in &times.percentiles {
                object.insert(percentile_key(*percentile), json!(value));
            }
            object.insert("mean".to_owned(), json!(times.mean));
            object.insert("unit".to_owned(), json!(times.unit));
            task.insert(name.clone(), Value::Object(object));
        }
        task.insert("error_rate".to_owned(), json!(self.error_rate));
        task.insert("duration".to_owned(), json!(self.duration_ms));
        Value::Object(task)
    }

    /// Adds the task's metrics to a trial, under the name of an operation.
    pub(crate) fn add_to(&self, operation: &str, trial: &mut Trial) {
        let (lower, primary, secondary) = (Better::Lower, Rank::Primary, Rank::Secondary);
        let mut add = |metric: &str, value: Option<f64>, unit: Option<&str>, better, rank| {
            if let Some(value) = value {
                let scalar = Metric::scalar(value, unit, better, rank);
                let key = MetricKey::new(operation, metric);
                trial.metrics.insert(key, scalar);
            }
        };
        if let Some(throughput) = &self.throughput {
            let unit = throughput.unit.as_deref();
            for (name, value, rank) in [
                ("throughput mean", throughput.mean, primary),
                ("throughput median", throughput.median, secondary),
            ] {
                add(name, value, unit, Better::Higher, rank);
            }
        }
        for (name, times) in &self.times {
            let words = name.replace('_', " ");
            let unit = times.unit.as_deref();
            for (percentile, value) in &times.percentiles {
                let rank = percentile_rank(name, *percentile);
                let metric = format!("{words} p{percentile}");
                add(&metric, Some(*value), unit, lower, rank);
            }
            let metric = format!("{words} mean");
            add(&metric, times.mean, unit, lower, secondary);
        }
        add("error rate", self.error_rate, None, lower, primary);
        let ms = Some("ms");
        add("duration", self.duration_ms, ms, lower, secondary);
        if let Some(rate) = self.error_rate.filter(|rate| *rate > 0.0) {
            trial.notes.push(format!(
                "{} of the requests of {} failed; failed requests are often fast ones",
                units::percent(rate),
                units::escape(operation)
            ));
        }
    }
}

/// The median and p99 of latency decide; the rest explains.
pub(crate) fn percentile_rank(metric: &str, percentile: f64) -> Rank {
    let decides = [50.0, 99.0]
        .iter()
        .any(|one| (percentile - one).abs() < 1e-9);
    if metric == "latency" && decides {
        Rank::Primary
    } else {
        Rank::Secondary
    }
}

/// `99_9` for 99.9, `50_0` for 50 (`encode_float_key` of Rally).
fn percentile_key(percentile: f64) -> String {
    format!("{percentile:?}").replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_percentiles_are_rallys() {
        for (percentile, key) in [
            (50.0, "50_0"),
            (99.9, "99_9"),
            (99.99, "99_99"),
            (100.0, "100_0"),
        ] {
            assert_eq!(percentile_key(percentile), key);
        }
    }

    #[test]
    fn values_of_another_type_are_named_with_their_place() {
        for (json, expected) in [
            (
                json!([{"task": "a"}, {"task": "b", "latency": {"50_0": "fast"}}]),
                "x: expected a number at [1].latency.50_0, found \"\\\"fast\\\"\"",
            ),
            (
                json!([{"task": "a", "latency": {"9x": 1}}]),
                "x: expected percentiles such as 99_9 at [0].latency, found \"9x\"",
            ),
            (
                json!([{"task": "a", "throughput": 7}]),
                "x: expected an object at [0].throughput, found \"7\"",
            ),
            (json!([7]), "x: expected an object at [0], found \"7\""),
            (
                json!([{}]),
                "x: expected the key task at [0], found \"none\"",
            ),
        ] {
            let error = read_tasks(&Place::root("x", &json)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn tasks_without_samples_have_no_metrics() {
        // What Rally writes for an operation that measured nothing.
        let json = json!([{
            "task": "refresh", "operation": "refresh",
            "throughput": {"min": null, "mean": null, "median": null, "max": null, "unit": "ops/s"},
            "latency": {}, "service_time": {}, "processing_time": {}, "error_rate": 0.0, "duration": null
        }]);
        let tasks = read_tasks(&Place::root("x", &json)).unwrap();
        let mut trial = Trial::default();
        tasks[0].add_to("refresh", &mut trial);
        let metrics: Vec<&str> = trial
            .metrics
            .keys()
            .map(|key| key.metric.as_str())
            .collect();
        assert_eq!(metrics, ["error rate"]);
    }

    #[test]
    fn errors_are_noted() {
        let task = Task {
            error_rate: Some(0.25),
            ..Task::default()
        };
        let mut trial = Trial::default();
        task.add_to("search\u{1b}", &mut trial);
        assert_eq!(
            trial.notes,
            ["25 % of the requests of search\\u{1b} failed; failed requests are often fast ones"]
        );
    }
}
