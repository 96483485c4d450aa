//! Races of Rally, Elasticsearch's benchmarking tool: race.json, read and written.
//!
//! The format is that of `Race.as_dict` and `GlobalStats` in Rally's `esrally/metrics.py` (2.13, and before it
//! since 0.8). Durations are in milliseconds. Which percentiles there are depends on the number of samples
//! (`percentiles_for_sample_size`), and their keys are numbers with `_` for the point. A race that was not
//! finished has no results. A race on several clusters has a list of results, each with its `cluster_name`.

use super::error::{ResultsError, input_error};
use super::json::Place;
use super::op_metrics::{Task, read_tasks};
use crate::compare::Trial;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// Format of Rally's timestamps (`esrally/time.py`), which are in UTC.
const TIME_FORMAT: &str = "%Y%m%dT%H%M%SZ";

/// Most clusters of one race.
const CLUSTERS_MAX: usize = 100;

/// A race.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// Version of the program that ran it, in Rally's field for its own.
    pub rally_version: String,
    /// Name of the environment, such as `local` or `nightly`.
    pub environment: String,
    /// Identifies the race.
    pub race_id: String,
    /// When it started, to the second.
    pub started: Timestamp,
    /// Rally's pipeline: `benchmark-only` if it did not start the servers.
    pub pipeline: String,
    /// Tags given by the user.
    pub user_tags: BTreeMap<String, String>,
    /// The track.
    pub track: String,
    /// The challenge within it, if it has several.
    pub challenge: Option<String>,
    /// How the servers were configured: `external` if Rally did not start them.
    pub car: Vec<String>,
    /// Parameters of the track.
    pub track_params: BTreeMap<String, String>,
    /// What else is known of the environment: `cluster.distribution-version`, `cluster.revision`,
    /// `car-params.heap_size`, `track-revision`. Rally has no place for others, so they are written as user tags.
    pub properties: BTreeMap<String, String>,
    /// Results of each cluster.
    pub results: Vec<ClusterResults>,
}

/// Results on one cluster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClusterResults {
    /// The cluster's name; `None` in races on a single one.
    pub cluster: Option<String>,
    /// Results of each task.
    pub tasks: Vec<Task>,
    /// What the servers count over the whole race, by Rally's names: `merge_time` in ms, `merge_count`,
    /// `store_size` in bytes.
    pub totals: BTreeMap<String, f64>,
}

/// Objects that hold properties of the environment.
const PROPERTY_OBJECTS: [&str; 3] = ["cluster", "car-params", "plugin-params"];
/// Single properties.
const PROPERTIES: [&str; 2] = ["track-revision", "rally-revision"];

impl Race {
    /// Reads a race from JSON; `source_name` names it in errors.
    pub(crate) fn from_json(source_name: &str, document: &Value) -> Result<Self, ResultsError> {
        let root = Place::root(source_name, document);
        let started = read_time(&root, "race-timestamp")?;
        let text = |key: &str| {
            let text = root.text_of(key)?;
            Ok::<String, ResultsError>(text.unwrap_or_default())
        };
        let car = match root.get("car").map(|place| place.value()) {
            Some(Value::Array(parts)) => parts.iter().map(super::json::plain).collect(),
            Some(one) => vec![super::json::plain(one)],
            None => Vec::new(),
        };
        let race = Self {
            rally_version: text("rally-version")?,
            environment: text("environment")?,
            race_id: root.require("race-id")?.text()?.to_owned(),
            started,
            pipeline: text("pipeline")?,
            user_tags: root.texts_of("user-tags")?,
            track: text("track")?,
            challenge: root.text_of("challenge")?,
            car,
            track_params: root.texts_of("track-params")?,
            properties: read_properties(&root, &PROPERTY_OBJECTS, &PROPERTIES)?,
            results: read_results(&root)?,
        };
        if race.results.iter().all(|cluster| cluster.tasks.is_empty()) {
            return Err(ResultsError::empty(
                source_name,
                "the race has no results: it was not finished, or a task failed; see Rally's log and run it again",
            ));
        }
        Ok(race)
    }

    /// Returns the race as Rally's JSON.
    pub fn to_json(&self) -> Value {
        let mut race = Map::new();
        let started = self.started.to_zoned(TimeZone::UTC).datetime();
        let mut put = |key: &str, value: Value| race.insert(key.to_owned(), value);
        put("@timestamp", json!(self.started.as_millisecond()));
        put("rally-version", json!(self.rally_version));
        put("rally-revision", Value::Null);
        put("environment", json!(self.environment));
        put("race-id", json!(self.race_id));
        put(
            "race-timestamp",
            json!(started.strftime(TIME_FORMAT).to_string()),
        );
        put("pipeline", json!(self.pipeline));
        put("multi-cluster", json!(self.results.len() > 1));
        put("user-tags", json!(self.user_tags));
        put("track", json!(self.track));
        put("car", json!(self.car));
        put(
            "cluster",
            json!({
                "revision": null,
                "distribution-version": null,
                "distribution-flavor": null,
                "team-revision": null,
            }),
        );
        if let Some(challenge) = &self.challenge {
            put("challenge", json!(challenge));
        }
        if !self.track_params.is_empty() {
            put("track-params", json!(self.track_params));
        }
        for (key, value) in &self.properties {
            let (object, key) = match key.split_once('.') {
                Some((object, key)) if PROPERTY_OBJECTS.contains(&object) => (object, key),
                _ if PROPERTIES.contains(&key.as_str()) => {
                    race.insert(key.clone(), json!(value));
                    continue;
                }
                _ => ("user-tags", key.as_str()),
            };
            let object = race.entry(object).or_insert_with(|| json!({}));
            object[key] = json!(value);
        }
        let mut results: Vec<Value> = self.results.iter().map(ClusterResults::to_json).collect();
        let results = if results.len() == 1 {
            results.remove(0)
        } else {
            Value::Array(results)
        };
        race.insert("results".to_owned(), results);
        Value::Object(race)
    }

    /// Writes the race as Rally does, so that `esrally compare` and everything that reads race.json can read it:
    /// it belongs in `~/.rally/benchmarks/races/RACE-ID/race.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, mut output: impl Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut output, &self.to_json())?;
        output.write_all(b"\n")?;
        output.flush()
    }

    /// Returns the race as a trial.
    pub fn trial(&self, name: &str) -> Trial {
        let mut environment = self.properties.clone();
        let mut put = |key: String, value: String| {
            if !value.is_empty() {
                environment.insert(key, value);
            }
        };
        put("rally-version".to_owned(), self.rally_version.clone());
        put("environment".to_owned(), self.environment.clone());
        put("pipeline".to_owned(), self.pipeline.clone());
        put("track".to_owned(), self.track.clone());
        put("car".to_owned(), self.car.join("+"));
        put(
            "challenge".to_owned(),
            self.challenge.clone().unwrap_or_default(),
        );
        for (key, value) in &self.user_tags {
            put(format!("user-tags.{key}"), value.clone());
        }
        for (key, value) in &self.track_params {
            put(format!("track-params.{key}"), value.clone());
        }
        let mut trial = Trial {
            name: name.to_owned(),
            id: Some(self.race_id.clone()),
            started_us: Some(self.started.as_microsecond()),
            environment,
            ..Trial::default()
        };
        for results in &self.results {
            results.add_to(&mut trial);
        }
        trial
    }
}

impl ClusterResults {
    fn to_json(&self) -> Value {
        let tasks: Vec<Value> = self.tasks.iter().map(Task::to_json).collect();
        let mut results = Map::new();
        if let Some(cluster) = &self.cluster {
            results.insert("cluster_name".to_owned(), json!(cluster));
        }
        results.insert("op_metrics".to_owned(), Value::Array(tasks));
        for (name, value) in &self.totals {
            results.insert(name.clone(), json!(value));
        }
        Value::Object(results)
    }

    /// Adds the metrics to a trial; those of several clusters by their names.
    pub(crate) fn add_to(&self, trial: &mut Trial) {
        let named = |operation: &str| match &self.cluster {
            Some(cluster) => format!("{cluster}: {operation}"),
            None => operation.to_owned(),
        };
        for task in &self.tasks {
            task.add_to(&named(&task.task), trial);
        }
        super::totals::add_to(&self.totals, &named("servers"), trial);
    }

    /// Reads what Rally and OpenSearch Benchmark write as `results` of one cluster.
    pub(crate) fn from_place(place: &Place<'_>) -> Result<Self, ResultsError> {
        let tasks = match place.get("op_metrics") {
            Some(tasks) => read_tasks(&tasks)?,
            None => Vec::new(),
        };
        let totals = place
            .object()?
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
            .filter(|(_, value)| value.is_finite());
        Ok(Self {
            cluster: place.text_of("cluster_name")?,
            tasks,
            totals: totals.collect(),
        })
    }
}

/// Reads the results of one cluster or several; none of a race that was not finished.
pub(crate) fn read_results(root: &Place<'_>) -> Result<Vec<ClusterResults>, ResultsError> {
    let Some(results) = root.get("results") else {
        return Ok(Vec::new());
    };
    if results.value().is_array() {
        let clusters = results.elements(CLUSTERS_MAX)?;
        return clusters.iter().map(ClusterResults::from_place).collect();
    }
    Ok(vec![ClusterResults::from_place(&results)?])
}

/// Reads properties of the environment, those of objects with the object's name before theirs.
pub(crate) fn read_properties(
    root: &Place<'_>,
    objects: &[&str],
    keys: &[&str],
) -> Result<BTreeMap<String, String>, ResultsError> {
    let mut properties = BTreeMap::new();
    for object in objects {
        for (key, value) in root.texts_of(object)? {
            properties.insert(format!("{object}.{key}"), value);
        }
    }
    for key in keys {
        if let Some(place) = root.get(key) {
            properties.insert((*key).to_owned(), super::json::plain(place.value()));
        }
    }
    Ok(properties)
}

/// Reads a timestamp such as `20161003T013000Z`.
pub(crate) fn read_time(root: &Place<'_>, key: &str) -> Result<Timestamp, ResultsError> {
    let place = root.require(key)?;
    let text = place.text()?;
    DateTime::strptime(TIME_FORMAT, text)
        .and_then(|time| time.to_zoned(TimeZone::UTC))
        .map(|time| time.timestamp())
        .map_err(|_| {
            place
                .error("a time such as 20161003T013000Z".to_owned(), text)
                .into()
        })
}

/// Reads one race.json.
///
/// # Errors
/// When it is not the JSON of a finished race; `source_name` names it.
pub fn read_race(source_name: &str, bytes: &[u8]) -> Result<Race, ResultsError> {
    let document = super::document::parse(source_name, bytes)?;
    if document.get("race-timestamp").is_none() {
        let expected = "race.json of Rally, with a race-timestamp";
        return Err(input_error(source_name, expected, "another document").into());
    }
    Race::from_json(source_name, &document)
}

#[cfg(test)]
#[path = "race_tests.rs"]
mod tests;
