//! Results of hyperfine (`--export-json`): `src/benchmark/benchmark_result.rs` of version 1.20, which older ones
//! differ from only in what is missing. All times are in seconds.

use super::error::ResultsError;
use super::json::{Place, plain};
use crate::compare::{Metric, MetricKey, Observations, Rank, Trial};
use facts::InputError;
use facts::series::Better;
use serde_json::Value;
use std::collections::BTreeMap;

/// Most commands of a file, and most runs of a command.
const COMMANDS_MAX: usize = 10_000;
const RUNS_MAX: usize = 1_000_000;

/// One command's results.
struct Command {
    line: String,
    parameters: BTreeMap<String, String>,
    /// Mean over all runs, in seconds, of what has no values of single runs.
    means: Vec<(&'static str, f64)>,
    times_s: Vec<f64>,
    memory_bytes: Vec<f64>,
    /// Exit codes other than 0, as hyperfine writes them.
    failures: Vec<String>,
}

/// Returns whether a document is an export of hyperfine.
pub(crate) fn is_export(document: &Value) -> bool {
    document
        .get("results")
        .and_then(|results| results.get(0))
        .is_some_and(|first| first.get("command").is_some() && first.get("mean").is_some())
}

/// Reads an export: one trial. The tool repeats a command at once, under the same conditions of machine and caches, so
/// that its runs agree better than a later repetition would: they are samples.
pub(crate) fn read(source_name: &str, document: &Value) -> Result<Trial, ResultsError> {
    let root = Place::root(source_name, document);
    let commands: Vec<Command> = root
        .require("results")?
        .elements(COMMANDS_MAX)?
        .iter()
        .map(read_command)
        .collect::<Result<_, _>>()?;
    let mut whole = Trial {
        name: source_name.to_owned(),
        ..Trial::default()
    };
    if let [only] = commands.as_slice() {
        let parameters = only.parameters.iter();
        let parameters =
            parameters.map(|(name, value)| (format!("parameters.{name}"), value.clone()));
        let command = ("command".to_owned(), only.line.clone());
        whole.environment = parameters.chain([command]).collect();
    }
    for command in &commands {
        if !command.failures.is_empty() {
            whole.notes.push(format!(
                "{} of {} ended with an exit code other than 0 ({})",
                units::count(command.failures.len(), "run"),
                units::escape(&command.line),
                units::escape(&command.failures[0])
            ));
        }
        // The command is part of the environment if it is the only one, as A's and B's may be called differently.
        let operation = if commands.len() == 1 {
            "command"
        } else {
            &command.line
        };
        for (name, mean_s) in &command.means {
            let key = MetricKey::new(operation, *name);
            let observations = if *name == "time mean" && !command.times_s.is_empty() {
                Observations::Values(command.times_s.clone())
            } else {
                Observations::Scalar(*mean_s)
            };
            whole.metrics.insert(key, metric(name, observations));
        }
        if !command.memory_bytes.is_empty() {
            let key = MetricKey::new(operation, "memory mean");
            let values = Observations::Values(command.memory_bytes.clone());
            let metric = metric("memory mean", values);
            whole.metrics.insert(key, metric);
        }
    }
    Ok(whole)
}

fn metric(name: &str, observations: Observations) -> Metric {
    let (unit, rank) = match name {
        "time mean" => ("s", Rank::Primary),
        "memory mean" => ("bytes", Rank::Secondary),
        _ => ("s", Rank::Secondary),
    };
    Metric {
        unit: Some(unit.to_owned()),
        better: Better::Lower,
        rank,
        observations,
    }
}

fn read_command(place: &Place<'_>) -> Result<Command, InputError> {
    let numbers = |key: &str| -> Result<Vec<f64>, InputError> {
        match place.get(key) {
            Some(values) => {
                let values = values.elements(RUNS_MAX)?;
                values.iter().map(Place::number).collect()
            }
            None => Ok(Vec::new()),
        }
    };
    let mut means = vec![("time mean", place.require("mean")?.number()?)];
    for (key, name) in [
        ("median", "time median"),
        ("user", "user time mean"),
        ("system", "system time mean"),
    ] {
        means.extend(place.number_of(key)?.map(|value| (name, value)));
    }
    let failures = match place.get("exit_codes") {
        Some(codes) => codes
            .elements(RUNS_MAX)?
            .iter()
            .map(Place::value)
            .filter(|code| code.as_i64() != Some(0))
            // A process that a signal ended has no exit code.
            .map(|code| {
                if code.is_null() {
                    "a signal".to_owned()
                } else {
                    plain(code)
                }
            })
            .collect(),
        None => Vec::new(),
    };
    Ok(Command {
        line: place.require("command")?.text()?.to_owned(),
        parameters: place.texts_of("parameters")?,
        means,
        times_s: numbers("times")?,
        memory_bytes: numbers("memory_usage_byte")?,
        failures,
    })
}
