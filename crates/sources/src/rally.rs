//! Races of Rally, Elasticsearch's benchmarking tool: race.json, one file per race; and test runs of
//! OpenSearch Benchmark, which descends from it: `test_run.json`, before version 2 `test_execution.json`.
//!
//! Rally's file store keeps them as `races/<race id>/race.json`. A race gives one sample, at its
//! `race-timestamp`, for each task and metric in `results.op_metrics`.

use crate::clean;
use crate::collector::{Draft, SeriesCollector};
use crate::jsonl::json_error;
use crate::options::FileOptions;
use crate::text::file_error;
use crate::times::TimeReader;
use crate::{Reading, SourceError};
use facts::series::Dating;
use facts::{InputError, Skipped};
use linux::regular_file;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of a race.json, in bytes.
const RACE_BYTES_MAX: u64 = 64 << 20;

/// Maximum depth of directories searched.
const DEPTH_MAX: usize = 8;

/// Maximum number of files examined.
const FILES_MAX: usize = 200_000;

/// Metrics that are reported as percentiles.
const SPREAD: [&str; 3] = ["latency", "service_time", "processing_time"];

/// Fields that must be equal for races to form one curve: Rally's, and OpenSearch Benchmark's.
const RACE_KEYS: [&str; 8] = [
    "environment",
    "track",
    "challenge",
    "car",
    "workload",
    "test_procedure",
    "cluster-config-instance",
    "provision-config-instance",
];

/// Fields with the time of a race: Rally's, and OpenSearch Benchmark's since version 2 and before.
pub(crate) const TIMESTAMPS: [&str; 3] = [
    "race-timestamp",
    "test-run-timestamp",
    "test-execution-timestamp",
];

/// Names of the files of races.
const FILE_NAMES: [&str; 3] = ["race.json", "test_run.json", "test_execution.json"];

/// What a text is if it is Rally's summary, as Markdown or CSV (`print_internal` in `esrally/reporter.py`):
/// it has neither times nor spread.
pub(crate) fn summary(text: &str) -> Option<&'static str> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_matches('|').replace('|', ",");
        line.split(',').map(|cell| cell.trim().to_owned()).collect()
    };
    let is_head = |line: &str| cells(line) == ["Metric", "Task", "Value", "Unit"];
    text.lines().take(40).any(is_head).then_some(
        "it is Rally's summary, which tells no time: name the race.json that it was made from, in \
         ~/.rally/benchmarks/races/RACE-ID/ (of OpenSearch Benchmark, the test_run.json in \
         ~/.benchmark/benchmarks/test_runs/ID/)",
    )
}

/// Reads one race.json.
pub(crate) fn read_file(
    source: &str,
    input: impl Read,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let mut collector = SeriesCollector::new(source, &options.times, options.limits);
    if let Some(why) = read_race(source, input, options, &mut collector)? {
        return Err(SourceError::empty(source, why));
    }
    collector.finish(Dating::Absolute)
}

/// Reads all races below a directory. Unreadable ones are skipped and reported.
pub(crate) fn read_directory(
    directory: &Path,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let source = directory.display().to_string();
    let mut collector = SeriesCollector::new(&source, &options.times, options.limits);
    let mut files = Vec::new();
    let mut beyond = 0;
    find(directory, 0, &mut files, &mut beyond)?;
    if files.is_empty() {
        return Err(SourceError::empty(
            source,
            format!(
                "a directory may hold races of Rally (race.json, or other names in .json at its \
                 top), MongoDB's diagnostic data (metrics.*) or pt-stalk's *-diskstats, and it holds no \
                 race.json of Rally and no such data{}; name a single file of another format",
                first_names(directory)
            ),
        ));
    }
    let mut first_error = None;
    let mut races = 0;
    for path in &files {
        let name = path.display().to_string();
        let outcome = regular_file::open(path)
            .map_err(|error| file_error(&name, error))
            .and_then(|file| read_race(&name, file, options, &mut collector));
        match outcome {
            Ok(None) => races += 1,
            Ok(Some(why)) => collector.skipped.push(Skipped::new(name, why, None)),
            Err(error) => {
                collector
                    .skipped
                    .push(Skipped::new(name, error.to_string(), None));
                first_error.get_or_insert(error);
            }
        }
    }
    if beyond > 0 {
        collector.skipped.push(Skipped::new(
            format!("{beyond} files or directories of {source}"),
            format!("{FILES_MAX} files, {DEPTH_MAX} directories deep, are looked at"),
            None,
        ));
    }
    if races == 0 {
        return Err(match (first_error, files.len()) {
            (Some(error), 1) => error,
            _ => nothing_understood(source, &files, &collector.skipped),
        });
    }
    collector.finish(Dating::Absolute)
}

/// Names the first files of a directory, to show what was looked at.
fn first_names(directory: &Path) -> String {
    const NAMED: usize = 3;
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .take(FILES_MAX)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    if names.is_empty() {
        return " (it is empty)".to_owned();
    }
    names.sort_unstable();
    format!(" (but {})", units::list::list_up_to(&names, NAMED))
}

/// The error for a directory with files of which none is a race.
fn nothing_understood(source: String, files: &[PathBuf], skipped: &[Skipped]) -> SourceError {
    const NAMED: usize = 3;
    let why = |skipped: &Skipped| {
        let name = skipped.what.rsplit('/').next().unwrap_or(&skipped.what);
        let why = skipped.why.rsplit(&format!("{}: ", skipped.what)).next();
        format!("{name} ({})", why.unwrap_or(&skipped.why))
    };
    let named: Vec<String> = skipped.iter().take(NAMED).map(why).collect();
    let more = files.len().saturating_sub(named.len());
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    SourceError::empty(
        source,
        format!(
            "none of its {} files was understood: {}{more}; name a single file of another format",
            files.len(),
            named.join(", "),
        ),
    )
}

/// Finds every race.json below a directory, sorted by path; in the directory itself, any file whose name
/// ends in `.json`. Links to directories are not followed, because they may form cycles.
pub(crate) fn find(
    directory: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    beyond: &mut usize,
) -> Result<(), SourceError> {
    let failed = |error| file_error(&directory.display().to_string(), error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        entries.push((entry.path(), entry.file_type().map_err(failed)?));
        if entries.len() > FILES_MAX {
            *beyond += 1;
            break;
        }
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (path, kind) in entries {
        if kind.is_dir() {
            if depth < DEPTH_MAX {
                find(&path, depth + 1, files, beyond)?;
            } else {
                *beyond += 1;
            }
            continue;
        }
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let is_race = path
            .file_name()
            .is_some_and(|name| FILE_NAMES.iter().any(|known| name == *known));
        if path.is_file() && (is_race || depth == 0 && is_json) {
            if files.len() < FILES_MAX {
                files.push(path);
            } else {
                *beyond += 1;
            }
        }
    }
    Ok(())
}

/// Reads the samples of one race; returns the reason if it has none.
fn read_race(
    name: &str,
    input: impl Read,
    options: &FileOptions,
    collector: &mut SeriesCollector,
) -> Result<Option<String>, SourceError> {
    let mut text = Vec::new();
    input
        .take(RACE_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|error| file_error(name, error))?;
    if text.len() as u64 > RACE_BYTES_MAX {
        let expected = format!("a race.json of {} at most", units::bytes(RACE_BYTES_MAX));
        return Err(InputError::new(name, expected, "a longer one").into());
    }
    let race: Value =
        serde_json::from_slice(&text).map_err(|error| json_error(name, &error, "JSON", None))?;
    let known = TIMESTAMPS
        .iter()
        .find_map(|name| Some((*name, race.get(name)?)));
    let Some((time_name, time)) = known else {
        return Ok(Some("it is no race: it has no race-timestamp".to_owned()));
    };
    let time_text = time.as_str().unwrap_or("");
    let time_us = TimeReader::new(&options.times, None)
        .read_us(time_text)
        .map_err(|_| {
            let line = line_of(&text, format!("\"{time_name}\"").as_bytes());
            let expected = format!("a {time_name} like 20161003T013000Z");
            InputError::new(name, expected, &time.to_string()).at_line(line)
        })?;
    let labels = race_labels(&race);
    let tasks = race
        .get("results")
        .and_then(|results| results.get("op_metrics"))
        .and_then(Value::as_array);
    let Some(tasks) = tasks.filter(|tasks| !tasks.is_empty()) else {
        return Ok(Some(
            "the race has no results: it was not finished".to_owned(),
        ));
    };
    let mut any = false;
    for task in tasks {
        let Some(task) = task.as_object() else {
            continue;
        };
        let mut sample = |metric: &str, statistic: Option<&str>, unit, value: &Value| {
            any |= value.is_number();
            let Some(value) = value.as_f64() else {
                return;
            };
            let draft = Draft::of_race(&labels, task, metric, statistic, unit);
            let key: Vec<&str> = draft.labels.values().map(String::as_str).collect();
            let key = format!("{}\u{1f}{}", draft.name, key.join("\u{1f}"));
            let id = collector.id(&key, || draft);
            collector.push(id, time_us, Some(value));
        };
        metrics(task, &mut sample);
    }
    Ok((!any).then(|| "the race's results hold no numbers".to_owned()))
}

/// Calls `sample` with each metric of a task: its name, which statistic of it, its unit, and its value.
fn metrics<'t>(
    task: &'t Map<String, Value>,
    sample: &mut impl FnMut(&str, Option<&str>, Option<&'t str>, &Value),
) {
    if let Some(throughput) = task.get("throughput").and_then(Value::as_object) {
        let unit = throughput.get("unit").and_then(Value::as_str);
        for statistic in ["mean", "median"] {
            if let Some(value) = throughput.get(statistic) {
                sample("throughput", Some(statistic), unit, value);
            }
        }
    }
    for metric in SPREAD {
        let Some(values) = task.get(metric).and_then(Value::as_object) else {
            continue;
        };
        let unit = values.get("unit").and_then(Value::as_str).or(Some("ms"));
        for (key, value) in values {
            if key == "mean" {
                sample(metric, Some("mean"), unit, value);
            } else if key.starts_with(|c: char| c.is_ascii_digit()) {
                sample(metric, Some(&percentile(key)), unit, value);
            }
        }
    }
    // Rally's duration is in milliseconds or microseconds, depending on its version.
    for metric in ["error_rate", "duration"] {
        if let Some(value) = task.get(metric) {
            sample(metric, None, None, value);
        }
    }
}

/// Formats a percentile: `p99.9` for `99_9`, `p50` for `50_0`.
fn percentile(key: &str) -> String {
    let text = key.replacen('_', ".", 1);
    let text = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole,
        _ => text.as_str(),
    };
    format!("p{text}")
}

fn race_labels(race: &Value) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for key in RACE_KEYS {
        let text = match race.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                parts.join("+")
            }
            _ => continue,
        };
        labels.insert(key.to_owned(), text);
    }
    labels
}

impl Draft {
    fn of_race(
        labels: &BTreeMap<String, String>,
        task: &Map<String, Value>,
        metric: &str,
        statistic: Option<&str>,
        unit: Option<&str>,
    ) -> Self {
        let text = |key: &str| task.get(key).and_then(Value::as_str);
        let task_name = text("task").or_else(|| text("operation")).unwrap_or("task");
        let mut labels = labels.clone();
        labels.insert("task".to_owned(), task_name.to_owned());
        labels.insert("metric".to_owned(), metric.to_owned());
        let mut name = format!("{task_name} {metric}");
        if let Some(statistic) = statistic {
            labels.insert("statistic".to_owned(), statistic.to_owned());
            name = format!("{name} {statistic}");
        }
        Self {
            name,
            labels,
            unit: unit.map(str::to_owned),
            // Judged by the metric alone, because a task may have any name.
            better: clean::better(metric, unit),
            counter: false,
        }
    }
}

/// Returns the line number, from 1, of the first occurrence of a text.
fn line_of(text: &[u8], part: &[u8]) -> usize {
    let at = text
        .windows(part.len())
        .position(|window| window == part)
        .unwrap_or(0);
    text[..at].split(|&byte| byte == b'\n').count()
}

#[cfg(test)]
#[path = "rally_tests.rs"]
mod tests;
