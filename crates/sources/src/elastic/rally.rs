//! Rally's metrics store: the results of races (`rally-results-*`), one document per task and metric of a
//! race. Fields as in Rally's esrally/resources/results-template.json and `GlobalStats.as_flat_list` in
//! esrally/metrics.py.

use super::Session;
use super::answer::{Hit, Search};
use crate::clean::{self, Samples};
use crate::error::parse_saved;
use crate::{Limits, Reading, SourceError, Times};
use bounded_http::{Client, Endpoint, shown};
use facts::Skipped;
use facts::series::{Dating, Series};
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The indices to which Rally writes.
pub const INDEX: &str = "rally-results-*";
/// Documents per request: the default of `index.max_result_window`.
const PAGE: usize = 10_000;
/// Maximum number of requests.
const PAGES_MAX: usize = 10_000;
/// Fields that distinguish series.
const LABELS: &[&str] = &["track", "challenge", "car", "environment", "task", "name"];
/// Statistics taken from each metric: a single value, or else the median and the tail.
const FIGURES: &[&str] = &["single", "median", "50_0", "99_0", "100_0"];

/// Reads the results of all races, one series per metric and task; each race is one point, at the time at
/// which it began.
///
/// For throughput the median is used; for latencies the 50th and the 99th percentile, or the maximum if a
/// race had too few samples for these.
///
/// # Errors
/// When there is no complete response, or no race within the time range.
pub fn read(
    client: &Client,
    endpoint: &Endpoint,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut session = Session::open(client, endpoint, INDEX)?;
    let mut races = Races::default();
    let mut from_ms = times.since.map(Timestamp::as_millisecond);
    for _ in 0..PAGES_MAX {
        let mut range = json!({"format": "epoch_millis"});
        if let Some(from_ms) = from_ms {
            range["gte"] = json!(from_ms);
        }
        if let Some(until) = times.until {
            range["lt"] = json!(until.as_millisecond());
        }
        let clause = match range.as_object() {
            Some(range) if range.len() > 1 => json!({"range": {"race-timestamp": range}}),
            _ => json!({"exists": {"field": "race-timestamp"}}),
        };
        let wanted = [LABELS, &["race-timestamp", "value"]].concat();
        let body = json!({
            "size": PAGE,
            "query": {"bool": {"filter": [clause]}},
            // An empty store has no mapping for this field.
            "sort": [{"race-timestamp": {"order": "asc", "unmapped_type": "date"}}],
            "_source": wanted,
        });
        let Some(hits) = session.search(&body)?.hits else {
            return Err(session.refused("the answer has no documents"));
        };
        let hits = hits.hits;
        let full = hits.len() >= PAGE;
        let last = hits.iter().filter_map(time_us).max();
        let mut earlier = 0;
        for hit in &hits {
            // The last race of a full page may be incomplete; it comes again with the next page.
            if full && time_us(hit) == last {
                continue;
            }
            earlier += 1;
            races.take(hit, limits);
        }
        if races.samples > limits.samples_max {
            return Err(session.too_much("too many samples"));
        }
        match last {
            Some(last) if full && earlier > 0 => from_ms = Some(last.div_euclid(1000)),
            _ if full => {
                return Err(session.too_much("a race with more than 10,000 results"));
            }
            _ => break,
        }
    }
    let mut reading = races.finish(&session.source_name(), limits);
    let source_name = session.source_name();
    reading.warnings.extend(session.warnings);
    non_empty(reading, source_name)
}

/// Reads a saved response to a search for results.
///
/// # Errors
/// When it is not such a response, or contains no result.
pub fn read_answer(
    body: &[u8],
    source_name: &str,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let answer: Search = parse_saved(body, source_name)?;
    let mut races = Races::default();
    for hit in answer.hits.iter().flat_map(|hits| &hits.hits) {
        races.take(hit, limits);
    }
    non_empty(races.finish(source_name, limits), source_name.to_owned())
}

/// Returns the reading, or an error if it is empty.
fn non_empty(reading: Reading, source_name: String) -> Result<Reading, SourceError> {
    if reading.series.is_empty() {
        return Err(SourceError::Empty {
            source_name,
            reason: "no results of races within the times".to_owned(),
        });
    }
    Ok(reading)
}

#[derive(Default)]
struct Races {
    /// Keyed by the values of [`LABELS`], the statistic, and the unit.
    series: BTreeMap<(Vec<String>, &'static str, Option<String>), Samples>,
    samples: usize,
    unread: usize,
    too_many: usize,
}

impl Races {
    fn take(&mut self, hit: &Hit, limits: &Limits) {
        let value = hit.source.get("value");
        let (Some(time_us), Some(value)) = (time_us(hit), value) else {
            self.unread += 1;
            return;
        };
        let labels: Vec<String> = LABELS
            .iter()
            .map(|label| {
                hit.source
                    .get(*label)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            })
            .map(str::to_owned)
            .collect();
        let unit = value.get("unit").and_then(Value::as_str).map(str::to_owned);
        let has = |figure: &str| value.get(figure).and_then(Value::as_f64);
        let mut any = false;
        for figure in FIGURES {
            // The maximum is used only for short tasks, which have no other statistic.
            if *figure == "100_0" && any {
                continue;
            }
            let Some(number) = has(figure) else { continue };
            any = true;
            let key = (labels.clone(), *figure, unit.clone());
            if self.series.len() >= limits.series_max && !self.series.contains_key(&key) {
                self.too_many += 1;
                continue;
            }
            self.series.entry(key).or_default().push(time_us, number);
            self.samples += 1;
        }
        self.unread += usize::from(!any);
    }

    fn finish(self, source_name: &str, limits: &Limits) -> Reading {
        let mut reading = Reading::default();
        // Track, challenge and the like are shown only if there are several.
        let varies: Vec<bool> = (0..LABELS.len())
            .map(|at| {
                let mut values = self.series.keys().map(|(labels, _, _)| &labels[at]);
                let first = values.next();
                values.any(|value| Some(value) != first)
            })
            .collect();
        for ((values, figure, unit), samples) in self.series {
            let curve = samples.clean();
            let mut name = Vec::new();
            let mut labels = BTreeMap::new();
            for (at, label) in LABELS.iter().enumerate() {
                let value = &values[at];
                if value.is_empty() {
                    continue;
                }
                // Task and metric are always shown.
                if varies[at] || at >= LABELS.len() - 2 {
                    name.push(shown(value.as_bytes()));
                }
                let label = if *label == "name" { "metric" } else { label };
                labels.insert(label.to_owned(), value.clone());
            }
            if figure != "single" {
                name.push(figure.replace("_0", "%"));
            }
            labels.insert("figure".to_owned(), figure.to_owned());
            name.extend(unit.clone());
            let better = clean::better(&values[LABELS.len() - 1], unit.as_deref());
            reading.add(Series {
                name: name.join(" "),
                source: source_name.to_owned(),
                labels,
                unit,
                better,
                dating: Dating::Absolute,
                sample_of: None,
                times_us: curve.times_us,
                values: curve.values,
                notes: curve.notes,
                discard_time: None,
            });
        }
        if self.unread > 0 {
            let what = format!("{} results of {source_name}", self.unread);
            let why = "no time, or no value of a known kind";
            reading.skipped.push(Skipped::new(what, why, None));
        }
        if self.too_many > 0 {
            let what = format!("further series of {source_name}");
            let why = format!("more than {} are not kept", limits.series_max);
            reading.skipped.push(Skipped::new(what, why, None));
        }
        reading
    }
}

/// Returns when the race of a result began, in microseconds: `20160421T042749Z`.
pub(super) fn time_us(hit: &Hit) -> Option<i64> {
    let text = hit.source.get("race-timestamp")?.as_str()?;
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", text).ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_microsecond())
}
