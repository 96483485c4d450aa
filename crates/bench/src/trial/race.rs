//! A trial as a race of Rally, for everything that reads race.json.

use super::document::{Latency, TrialDocument};
use crate::results::{ClusterResults, Race, Task, Throughput, Times};
use std::collections::BTreeMap;

/// The name of the race in a trial's folder.
pub const RACE_FILE: &str = "race.json";

/// Returns the trial as a race: each operation of a measured phase is a task. Rally has no place for a verdict; it is
/// a user tag.
pub(super) fn race(trial: &TrialDocument) -> Race {
    let verdict = if trial.is_valid() { "VALID" } else { "INVALID" };
    let mut properties = trial.environment.clone();
    if let Some(server) = properties.remove("server") {
        let version = server.rsplit(' ').next().unwrap_or_default().to_owned();
        properties.insert("cluster.distribution-version".to_owned(), version);
    }
    Race {
        rally_version: format!("trimtab {}", trial.tool_version),
        environment: "local".to_owned(),
        race_id: trial.id.clone(),
        started: trial.started_at,
        pipeline: "benchmark-only".to_owned(),
        user_tags: [("verdict".to_owned(), verdict.to_owned())].into(),
        track: trial.track.clone(),
        challenge: None,
        car: vec!["external".to_owned()],
        track_params: BTreeMap::new(),
        properties,
        results: vec![ClusterResults {
            cluster: None,
            tasks: tasks(trial),
            totals: totals(trial),
        }],
    }
}

#[allow(clippy::cast_precision_loss)] // a share
fn tasks(trial: &TrialDocument) -> Vec<Task> {
    let mut tasks = Vec::new();
    for operation in &trial.operations {
        let (rate, unit) = match operation.documents_per_s {
            Some(rate) => (rate, "docs/s"),
            None => (operation.requests_per_s, "ops/s"),
        };
        let mut times = BTreeMap::new();
        let service = if operation.open {
            &operation.service
        } else {
            &operation.latency
        };
        for (name, of) in [("latency", &operation.latency), ("service_time", service)] {
            if let Some(of) = of {
                times.insert(name.to_owned(), percentiles(of));
            }
        }
        let failed: u64 = operation.errors.values().sum();
        let all = failed + operation.succeeded;
        tasks.push(Task {
            task: operation.operation.clone(),
            operation: operation.operation.clone(),
            throughput: Some(Throughput {
                mean: Some(rate),
                unit: Some(unit.to_owned()),
                ..Throughput::default()
            }),
            times,
            error_rate: (all > 0).then(|| failed as f64 / all as f64),
            duration_ms: Some(operation.duration_s * 1e3),
        });
    }
    tasks
}

fn percentiles(latency: &Latency) -> Times {
    let of = [
        (50.0, Some(latency.p50_ms)),
        (90.0, Some(latency.p90_ms)),
        (99.0, Some(latency.p99_ms)),
        (99.9, latency.p99_9_ms),
        (100.0, Some(latency.max_ms)),
    ];
    Times {
        percentiles: of
            .into_iter()
            .filter_map(|(share, time)| Some((share, time?)))
            .collect(),
        mean: Some(latency.mean_ms),
        unit: Some("ms".to_owned()),
    }
}

/// What both count, under Rally's names and in its units.
fn totals(trial: &TrialDocument) -> BTreeMap<String, f64> {
    [
        ("merge_time_s", "merge_time", 1e3),
        ("merges", "merge_count", 1.0),
        ("refresh_time_s", "refresh_time", 1e3),
        ("refreshes", "refresh_count", 1.0),
        ("flushes", "flush_count", 1.0),
        ("indexing_time_s", "total_time", 1e3),
        ("indexing_throttled_s", "indexing_throttle_time", 1e3),
        ("store_bytes", "store_size", 1.0),
        ("translog_bytes", "translog_size", 1.0),
    ]
    .into_iter()
    .filter_map(|(ours, theirs, factor)| {
        Some((theirs.to_owned(), trial.server.get(ours)? * factor))
    })
    .collect()
}
