//! All nights, sorted: a curve per metric, and what changed.

use super::annotation::{Annotation, Changes, Within};
use super::metric::{Metric, Sample};
use super::night::Night;
use crate::trial::{TrialDocument, Value};
use facts::Skipped;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of metrics: a page with more charts is not read, and each takes a second to explain.
const METRICS_MAX: usize = 400;
/// Maximum number of changes and notes: more are a key whose value is never the same.
const CHANGES_MAX: usize = 200;

/// A history of trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// The trials, oldest first.
    pub trials: Vec<Night>,
    /// The metrics: those to look at first, then the others by operation.
    pub metrics: Vec<Metric>,
    /// What changed between trials, by time.
    pub annotations: Vec<Annotation>,
    /// Jobs that ran within trials.
    pub within: Vec<Within>,
    /// IANA name of the time zone of the last trial's host.
    pub time_zone: Option<String>,
}

impl History {
    /// Sorts what was read: each folder's name, the files in it, and its document. Adds to `skipped` what is left
    /// out.
    pub fn new(
        read: Vec<(String, Vec<String>, TrialDocument)>,
        skipped: &mut Vec<Skipped>,
    ) -> Self {
        let mut found: Vec<(Night, TrialDocument)> = read
            .into_iter()
            .map(|(folder, files, document)| (Night::new(&folder, files, &document), document))
            .collect();
        found.sort_by(|(a, _), (b, _)| (a.at(), &a.id, &a.folder).cmp(&(b.at(), &b.id, &b.folder)));
        let mut ids: HashMap<String, String> = HashMap::new();
        found.retain(|(night, _)| {
            let known = ids
                .entry(night.id.clone())
                .or_insert_with(|| night.folder.clone());
            let is_first = *known == night.folder;
            if !is_first {
                let why = format!("it holds the same trial as {known}");
                skipped.push(Skipped::new(&night.folder, why, None));
            }
            is_first
        });
        let mut changes = Changes::default();
        for (night, document) in &found {
            changes.add(document, night.at());
        }
        let (annotations, within) = changes.finish();
        let metrics = metrics(&found, skipped);
        let mut history = Self {
            metrics,
            annotations,
            within,
            time_zone: found
                .iter()
                .rev()
                .find_map(|(_, document)| document.time_zone.clone()),
            trials: found.into_iter().map(|(night, _)| night).collect(),
        };
        history.add_notes(Vec::new(), skipped);
        history
    }

    /// Adds notes to what changed. Of too many, the newest are kept.
    pub fn add_notes(&mut self, notes: Vec<Annotation>, skipped: &mut Vec<Skipped>) {
        self.annotations.extend(notes);
        self.annotations.sort_by_key(|one| (one.to, one.from));
        let left_out = self.annotations.len().saturating_sub(CHANGES_MAX);
        if left_out > 0 {
            let what = units::count(left_out, "older change");
            let why = format!("only the last {CHANGES_MAX} changes and notes are shown");
            skipped.push(Skipped::new(what, why, None));
            self.annotations.drain(..left_out);
        }
    }
}

fn metrics(found: &[(Night, TrialDocument)], skipped: &mut Vec<Skipped>) -> Vec<Metric> {
    let tracks: BTreeSet<&str> = found
        .iter()
        .map(|(night, _)| night.track.as_str())
        .collect();
    let values: Vec<Vec<Value>> = found
        .iter()
        .map(|(_, document)| document.values())
        .collect();
    let mut all: Vec<Metric> = Vec::new();
    let mut places: HashMap<(String, String, String), usize> = HashMap::new();
    let mut left_out = BTreeSet::new();
    // The newest trial says in which order they are shown; what only older ones measured comes after.
    for ((night, _), values) in found.iter().zip(&values).rev() {
        for value in values {
            let key = (night.track.clone(), value.of.clone(), value.metric.clone());
            if places.contains_key(&key) {
                continue;
            }
            if all.len() == METRICS_MAX {
                left_out.insert(key);
                continue;
            }
            places.insert(key, all.len());
            all.push(Metric::new(&night.track, value, tracks.len() > 1));
        }
    }
    let mut doubles: BTreeMap<String, usize> = BTreeMap::new();
    for (trial, ((night, _), values)) in found.iter().zip(values).enumerate() {
        for value in values.into_iter().filter(|value| value.value.is_finite()) {
            let key = (night.track.clone(), value.of, value.metric);
            let Some(metric) = places.get(&key).and_then(|place| all.get_mut(*place)) else {
                continue;
            };
            if metric
                .samples
                .last()
                .is_some_and(|last| last.trial == trial)
            {
                *doubles.entry(metric.name.clone()).or_default() += 1;
                continue;
            }
            metric.samples.push(Sample {
                trial,
                value: value.value,
            });
        }
    }
    if !left_out.is_empty() {
        skipped.push(Skipped::new(
            units::count(left_out.len(), "metric"),
            format!("only {METRICS_MAX} are shown"),
            None,
        ));
    }
    skipped.extend(doubles.into_iter().map(|(name, trials)| {
        let trials = units::count(trials, "trial");
        let why = format!("{trials} hold it more than once: the first is shown");
        Skipped::new(name, why, None)
    }));
    in_order(all)
}

/// Puts the primary metrics first, and those of each operation together.
fn in_order(all: Vec<Metric>) -> Vec<Metric> {
    let mut operations: Vec<(String, String)> = Vec::new();
    let mut place = |metric: &Metric| {
        let operation = (metric.track.clone(), metric.operation.clone());
        let known = operations.iter().position(|one| *one == operation);
        known.unwrap_or_else(|| {
            operations.push(operation);
            operations.len() - 1
        })
    };
    let mut numbered: Vec<(usize, Metric)> = all
        .into_iter()
        .map(|metric| (place(&metric), metric))
        .collect();
    numbered.retain(|(_, metric)| !metric.samples.is_empty());
    numbered.sort_by_key(|(operation, metric)| (!metric.is_primary, *operation));
    numbered.into_iter().map(|(_, metric)| metric).collect()
}

#[cfg(test)]
#[path = "history_tests.rs"]
pub(super) mod tests;
