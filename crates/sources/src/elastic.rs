//! Elasticsearch (from 6 on) and OpenSearch: curves that the engine itself makes of documents, so that
//! only one figure for each step crosses the network.

mod answer;
pub mod rally;

#[cfg(test)]
mod tests;

use crate::samples::{mended, rates};
use crate::server::Server;
use crate::{Limits, Reading, SourceError, Times, identify};
use answer::{Bucket, FieldCaps, Search};
use facts::Skipped;
use facts::series::{Dating, Series};
use http::{Client, Endpoint, Response, shown};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most buckets of one request: the default of `search.max_buckets` in 6.8 and up to 7.15; later, and
/// in OpenSearch, it is 65,535.
const BUCKETS_MAX: i64 = 10_000;
/// The most requests for one question.
const PIECES_MAX: i64 = 100_000;
/// The most values of a field that series are split by.
const SPLIT_MAX: u32 = 1000;
/// The most similar names that an error lists.
const NEAR_MAX: usize = 5;
/// The most reasons of failed shards that are passed on.
const WARNINGS_MAX: usize = 20;

/// What is made of the values within a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their sum.
    Sum,
    /// A percentile, from 0 to 100; an estimate of the engine (t-digest).
    Percentile(f64),
    /// For a counter: what it grew by a second. The largest of each step is asked for, and
    /// differences are formed here; where it began anew there is no value.
    Rate,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Index, alias or pattern: `metricbeat-*`. Several with commas.
    pub index: String,
    /// A number: `system.cpu.total.pct`.
    pub field: String,
    /// What is made of it.
    pub figure: Figure,
    /// One point for so many seconds, at least 1.
    pub step_s: u32,
    /// When the documents' values were taken. `None`: `@timestamp`, else the only date there is.
    pub time_field: Option<String>,
    /// One series for each value of this field: `host.name`.
    pub split_by: Option<String>,
    /// How many values, those with the most documents first. At most 1,000.
    pub split_max: u32,
    /// Only documents that fit this, in the engine's `query_string` syntax: `host.name:db1`.
    pub filter: Option<String>,
}

impl Query {
    /// The mean of a field over steps, not split.
    pub fn new(index: &str, field: &str, step_s: u32) -> Self {
        Self {
            index: index.to_owned(),
            field: field.to_owned(),
            figure: Figure::Mean,
            step_s,
            time_field: None,
            split_by: None,
            split_max: 20,
            filter: None,
        }
    }
}

/// Reads a field's curve.
///
/// Points lie in the middle of their steps, which begin at whole multiples of the step; those of
/// [`Figure::Rate`] at the steps' ends. Steps without a value are left out.
///
/// # Errors
/// Where no complete answer came, where a field is missing or of another type (with similar names), where
/// the server refuses the question (in its own words), where nothing lies within the times, and where it
/// is more than `limits` allow.
pub fn read(
    client: &Client,
    endpoint: &Endpoint,
    query: &Query,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut session = Session::open(client, endpoint, &query.index)?;
    if query.step_s == 0 {
        return Err(session.refused("the step has to be at least 1 s"));
    }
    let time_field = session.fields(query)?;
    let scope = scope(query, &time_field, times);
    let Some((first_ms, last_ms)) = session.extent(&scope, &time_field)? else {
        return Err(SourceError::Empty {
            source_name: session.source_name(),
            reason: format!(
                "no document with {} within the times: check the index, the filter, or the times",
                query.field
            ),
        });
    };
    let mut reading = Reading::default();
    let groups = match &query.split_by {
        Some(field) => session.groups(&scope, field, query, limits, &mut reading)?,
        None => vec![Group::all()],
    };
    let step_ms = i64::from(query.step_s) * 1000;
    let steps = BUCKETS_MAX / i64::try_from(groups.len() + 1).unwrap_or(BUCKETS_MAX);
    let (first, last) = (first_ms.div_euclid(step_ms), last_ms.div_euclid(step_ms));
    if (last - first) / steps.max(1) > PIECES_MAX {
        return Err(session.too_much("too many steps"));
    }
    let mut samples: Vec<Vec<(i64, f64)>> = vec![Vec::new(); groups.len()];
    let mut kept = 0_usize;
    let mut next = first;
    while next <= last {
        let end = (next + steps - 1).min(last + 1);
        let piece = json!({"range": {&time_field: {
            "gte": next * step_ms, "lt": end * step_ms, "format": "epoch_millis"}}});
        let body = question(&scope, piece, &time_field, query, &groups, session.interval);
        let answer = session.search(&body)?;
        for (group, samples) in samples.iter_mut().enumerate() {
            let Some(found) = points(&answer, group, query) else {
                return Err(session.refused("the answer has no buckets with times"));
            };
            kept += found.len();
            samples.extend(found);
        }
        if kept > limits.samples_max {
            return Err(session.too_much("too many samples"));
        }
        next = end;
    }
    let source_name = session.source_name();
    for (group, samples) in groups.iter().zip(samples) {
        reading.add(series(&source_name, query, group, samples));
    }
    reading.warnings.extend(session.warnings);
    whole(reading, source_name, query)
}

/// Reads one saved answer to the question that [`read`] asks of documents that are not split.
///
/// # Errors
/// Where it is no such answer, holds no value, or is more than `limits` allow.
pub fn read_answer(
    body: &[u8],
    source_name: &str,
    query: &Query,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let refused = |reason: String| SourceError::Refused {
        source_name: source_name.to_owned(),
        reason,
    };
    let answer: Search = serde_json::from_slice(body).map_err(|error| {
        let words = shown(error.to_string().as_bytes());
        refused(format!("unexpected JSON: {words}"))
    })?;
    let Some(samples) = points(&answer, 0, query) else {
        return Err(refused("the answer has no buckets with times".to_owned()));
    };
    if samples.len() > limits.samples_max {
        return Err(SourceError::TooMuch {
            source_name: source_name.to_owned(),
            reason: "too many samples".to_owned(),
        });
    }
    let mut reading = Reading::default();
    reading.add(series(source_name, query, &Group::all(), samples));
    whole(reading, source_name.to_owned(), query)
}

/// The reading, if anything is in it.
fn whole(reading: Reading, source_name: String, query: &Query) -> Result<Reading, SourceError> {
    if reading.series.is_empty() {
        let reason = format!("no value of {} within the times", query.field);
        return Err(SourceError::Empty {
            source_name,
            reason,
        });
    }
    Ok(reading)
}

/// The samples that an answer holds for one group; `None` where it is no such answer.
fn points(answer: &Search, group: usize, query: &Query) -> Option<Vec<(i64, f64)>> {
    let step_us = i64::from(query.step_s) * 1_000_000;
    let place_us = match query.figure {
        Figure::Rate => step_us,
        _ => step_us / 2,
    };
    let groups = answer.aggregations.get("groups")?;
    let buckets = Bucket::list(groups.pointer(&format!("/buckets/{group}/over_time"))?)?;
    let mut samples = Vec::with_capacity(buckets.len());
    for bucket in buckets {
        let start_us = bucket.start_ms()?.saturating_mul(1000);
        if let Some(value) = bucket.figure() {
            samples.push((start_us.saturating_add(place_us), value));
        }
    }
    Some(samples)
}

impl Reading {
    /// Takes a series, or tells that it has no value.
    fn add(&mut self, series: Series) {
        if series.values.is_empty() {
            let why = "it has no value within the times";
            self.skipped.push(Skipped::new(series.name, why, None));
        } else {
            self.series.push(series);
        }
    }
}

/// One value of the field that series are split by; or all documents.
struct Group {
    name: Option<String>,
    /// What fits its documents.
    clause: Value,
}

impl Group {
    fn all() -> Self {
        Self {
            name: None,
            clause: json!({"match_all": {}}),
        }
    }
}

/// The clauses that all documents have to fit.
fn scope(query: &Query, time_field: &str, times: &Times) -> Vec<Value> {
    let mut scope = vec![json!({"exists": {"field": query.field}})];
    let mut range = serde_json::Map::new();
    range.insert("format".to_owned(), json!("epoch_millis"));
    if let Some(since) = times.since {
        // Whole milliseconds: what lies before the moment does not come in.
        let ceiling = since.as_microsecond().div_euclid(1000)
            + i64::from(since.as_microsecond().rem_euclid(1000) > 0);
        range.insert("gte".to_owned(), json!(ceiling));
    }
    if let Some(until) = times.until {
        let ceiling = until.as_microsecond().div_euclid(1000)
            + i64::from(until.as_microsecond().rem_euclid(1000) > 0);
        range.insert("lt".to_owned(), json!(ceiling));
    }
    if range.len() > 1 {
        scope.push(json!({"range": {time_field: range}}));
    }
    if let Some(filter) = &query.filter {
        scope.push(json!({"query_string": {"query": filter}}));
    }
    scope
}

/// The question for one piece of time.
fn question(
    scope: &[Value],
    piece: Value,
    time_field: &str,
    query: &Query,
    groups: &[Group],
    interval: &str,
) -> Value {
    let mut clauses = scope.to_vec();
    clauses.push(piece);
    let field = &query.field;
    let figure = match query.figure {
        Figure::Mean => json!({"avg": {"field": field}}),
        Figure::Min => json!({"min": {"field": field}}),
        Figure::Max | Figure::Rate => json!({"max": {"field": field}}),
        Figure::Sum => json!({"sum": {"field": field}}),
        Figure::Percentile(percent) => {
            json!({"percentiles": {"field": field, "percents": [percent], "keyed": false}})
        }
    };
    let filters: Vec<&Value> = groups.iter().map(|group| &group.clause).collect();
    json!({
        "size": 0,
        "query": {"bool": {"filter": clauses}},
        "aggs": {"groups": {
            "filters": {"filters": filters},
            "aggs": {"over_time": {
                "date_histogram": {
                    "field": time_field,
                    interval: format!("{}s", query.step_s),
                    // Empty steps are no buckets, neither here nor in what the server counts.
                    "min_doc_count": 1,
                },
                "aggs": {"figure": figure},
            }},
        }},
    })
}

/// A conversation with one server about one index.
struct Session<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    index: &'a str,
    /// What the step of a histogram over time is called.
    interval: &'static str,
    warnings: Vec<String>,
}

impl<'a> Session<'a> {
    fn open(
        client: &'a Client,
        endpoint: &'a Endpoint,
        index: &'a str,
    ) -> Result<Self, SourceError> {
        let interval = match identify(client, endpoint)? {
            Server::Elasticsearch { version } if is_before_7_2(&version) => "interval",
            Server::Elasticsearch { .. } | Server::OpenSearch { .. } => "fixed_interval",
            other @ Server::Prometheus { .. } => {
                return Err(SourceError::Refused {
                    source_name: endpoint.to_string(),
                    reason: format!("this is {other}, neither Elasticsearch nor OpenSearch"),
                });
            }
        };
        let session = Self {
            client,
            endpoint,
            index,
            interval,
            warnings: Vec::new(),
        };
        // What a name of an index may hold, and what patterns are made of.
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*,+@".contains(&byte);
        if index.is_empty() || index.starts_with('_') || !index.bytes().all(known) {
            return Err(session.refused("name an index, or a pattern such as metricbeat-*"));
        }
        Ok(session)
    }

    fn source_name(&self) -> String {
        format!("{} {}", self.endpoint, self.index)
    }

    fn refused(&self, reason: &str) -> SourceError {
        SourceError::Refused {
            source_name: self.source_name(),
            reason: reason.to_owned(),
        }
    }

    fn too_much(&self, what: &str) -> SourceError {
        SourceError::TooMuch {
            source_name: self.source_name(),
            reason: format!("{what}: ask for fewer series, a longer step, or less time"),
        }
    }

    /// An answer, or the server's own words.
    fn checked(&self, response: Response) -> Result<Response, SourceError> {
        // 401 and 403 have a better hint of their own.
        if (400..600).contains(&response.status)
            && !matches!(response.status, 401 | 403)
            && let Ok(body) = response.json::<Value>()
            && let Some(reason) = answer::reason(&body)
        {
            return Err(self.refused(&format!("status {}: {reason}", response.status)));
        }
        Ok(response.success()?)
    }

    fn search(&mut self, body: &Value) -> Result<Search, SourceError> {
        // What is missing or closed among many indices is no matter; that nothing fits is told.
        let path = format!("/{}/_search?ignore_unavailable=true", self.index);
        let response = self.client.post_json(self.endpoint, &path, body)?;
        let answer: Search = self.checked(response)?.json()?;
        if answer.timed_out {
            return Err(self.refused("the search was not done in the server's own time limit"));
        }
        if answer.shards.failed > 0 {
            let failure = answer.shards.failures.first();
            let why = failure
                .and_then(|failure| failure.pointer("/reason/reason")?.as_str())
                .unwrap_or("no reason given");
            let warning = format!(
                "{} of {} shards failed, so values are incomplete: {}",
                answer.shards.failed,
                answer.shards.total,
                shown(why.as_bytes())
            );
            if self.warnings.len() < WARNINGS_MAX && !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(answer)
    }

    fn field_caps(&self, fields: &str) -> Result<FieldCaps, SourceError> {
        let path = format!(
            "/{}/_field_caps?ignore_unavailable=true&fields={fields}",
            self.index
        );
        let response = self.client.get(self.endpoint, &path)?;
        Ok(self.checked(response)?.json()?)
    }

    /// The time field, once all fields are known to be of use.
    fn fields(&self, query: &Query) -> Result<String, SourceError> {
        let named = query.time_field.as_deref();
        let wanted = [
            Some(query.field.as_str()),
            Some(named.unwrap_or("@timestamp")),
            query.split_by.as_deref(),
        ];
        for field in wanted.into_iter().flatten() {
            let known = |byte: u8| byte.is_ascii_graphic() && !b"&#?*,%+".contains(&byte);
            if field.is_empty() || !field.bytes().all(known) {
                let field = shown(field.as_bytes());
                return Err(self.refused(&format!("{field:?} is no name of a field")));
            }
        }
        let wanted: Vec<&str> = wanted.into_iter().flatten().collect();
        let mut caps = self.field_caps(&wanted.join(","))?;
        let time = named.unwrap_or("@timestamp");
        let complete = caps.is_number(&query.field)
            && caps.is_time(time)
            && query
                .split_by
                .as_deref()
                .is_none_or(|by| caps.is_grouping(by));
        if complete {
            return Ok(time.to_owned());
        }
        caps = self.field_caps("*")?;
        if !caps.is_number(&query.field) {
            return Err(self.no_field(&caps, &query.field, "number", FieldCaps::is_number));
        }
        if let Some(by) = &query.split_by
            && !caps.is_grouping(by)
        {
            let kind = "field that can be split by";
            return Err(self.no_field(&caps, by, kind, FieldCaps::is_grouping));
        }
        if caps.is_time(time) {
            return Ok(time.to_owned());
        }
        let all = caps.fields.keys().map(String::as_str);
        let dates: Vec<&str> = all.filter(|field| caps.is_time(field)).collect();
        match (named, dates.as_slice()) {
            (None, [only]) => Ok((*only).to_owned()),
            (None, []) => Err(self.refused("no field of these documents is a date")),
            (None, several) => {
                let several = several.iter().take(NEAR_MAX).copied().collect::<Vec<_>>();
                let reason = format!(
                    "several fields are dates: name one of {}",
                    several.join(", ")
                );
                Err(self.refused(&shown(reason.as_bytes())))
            }
            (Some(named), _) => Err(self.no_field(&caps, named, "date", FieldCaps::is_time)),
        }
    }

    /// Tells that a field is not what it should be, and which similar ones are.
    fn no_field(
        &self,
        caps: &FieldCaps,
        field: &str,
        kind: &str,
        fits: impl Fn(&FieldCaps, &str) -> bool,
    ) -> SourceError {
        let fault = match caps.fields.get(field) {
            None => "there is no field".to_owned(),
            Some(types) => {
                let types: Vec<&str> = types.keys().map(String::as_str).collect();
                format!("no {kind}, but {}:", types.join(", "))
            }
        };
        let names = caps.fields.keys().map(String::as_str);
        let near = near(field, names.filter(|name| fits(caps, name)));
        let near = match near.as_slice() {
            [] if caps.fields.is_empty() => "no index fits the pattern, or it is empty".to_owned(),
            [] => format!("no {kind} is there"),
            some => format!("similar: {}", some.join(", ")),
        };
        self.refused(&shown(format!("{fault} {field}; {near}").as_bytes()))
    }

    /// The times of the first and the last document, in milliseconds.
    fn extent(
        &mut self,
        scope: &[Value],
        time_field: &str,
    ) -> Result<Option<(i64, i64)>, SourceError> {
        let body = json!({
            "size": 0,
            "query": {"bool": {"filter": scope}},
            "aggs": {
                "first": {"min": {"field": time_field}},
                "last": {"max": {"field": time_field}},
            },
        });
        let answer = self.search(&body)?;
        if !["first", "last"]
            .iter()
            .all(|name| answer.aggregations.contains_key(*name))
        {
            return Err(self.refused("the answer has not the times that were asked for"));
        }
        let value = |name: &str| {
            #[allow(clippy::cast_possible_truncation)]
            answer
                .aggregations
                .get(name)?
                .get("value")?
                .as_f64()
                // From the year 0 to 9999.
                .filter(|value| (-6.3e13..2.6e14).contains(value))
                .map(|value| value as i64)
        };
        Ok(value("first").zip(value("last")))
    }

    /// The values of the field that series are split by, the most frequent first.
    fn groups(
        &mut self,
        scope: &[Value],
        field: &str,
        query: &Query,
        limits: &Limits,
        reading: &mut Reading,
    ) -> Result<Vec<Group>, SourceError> {
        let most = query.split_max.clamp(1, SPLIT_MAX);
        let most = most
            .min(u32::try_from(limits.series_max).unwrap_or(most))
            .max(1);
        let body = json!({
            "size": 0,
            "query": {"bool": {"filter": scope}},
            "aggs": {"values": {"terms": {"field": field, "size": most + 1}}},
        });
        let answer = self.search(&body)?;
        let list = answer.aggregations.get("values").and_then(Bucket::list);
        let Some(mut list) = list else {
            return Err(self.refused("the answer has no buckets"));
        };
        if list.len() > most as usize {
            list.truncate(most as usize);
            let what = format!("further values of {field}");
            let why = format!("more than the {most} with the most documents");
            let needs = Some("a filter, or a higher limit");
            reading.skipped.push(Skipped::new(what, why, needs));
        }
        let groups = list.into_iter().map(|bucket| {
            let text = bucket.key_as_string.or_else(|| match &bucket.key {
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            });
            // A boolean's key is 0 or 1, but only its text is taken in a question.
            let value = match (&bucket.key, &text) {
                (Value::Number(_), Some(text)) => json!(text),
                (key, _) => key.clone(),
            };
            Group {
                name: text,
                clause: json!({"term": {field: {"value": value}}}),
            }
        });
        Ok(groups.collect())
    }
}

/// The series of one group.
fn series(source_name: &str, query: &Query, group: &Group, samples: Vec<(i64, f64)>) -> Series {
    let mut samples = mended(samples);
    if query.figure == Figure::Rate {
        samples = rates(samples);
    }
    let figure = match query.figure {
        Figure::Mean => "mean".to_owned(),
        Figure::Min => "min".to_owned(),
        Figure::Max => "max".to_owned(),
        Figure::Sum => "sum".to_owned(),
        Figure::Percentile(percent) => format!("p{percent}"),
        Figure::Rate => "rate".to_owned(),
    };
    let mut labels = BTreeMap::from([
        ("metric".to_owned(), query.field.clone()),
        ("figure".to_owned(), figure.clone()),
        ("index".to_owned(), query.index.clone()),
    ]);
    let mut name = format!("{} {figure}", query.field);
    if let (Some(by), Some(value)) = (&query.split_by, &group.name) {
        name = format!("{name} {by}={}", shown(value.as_bytes()));
        labels.insert(by.clone(), value.clone());
    }
    Series {
        name,
        source: source_name.to_owned(),
        labels,
        unit: (query.figure == Figure::Rate).then(|| "1/s".to_owned()),
        better: None,
        dating: Dating::Absolute,
        times_us: samples.times_us,
        values: samples.values,
        notes: samples.notes,
    }
}

/// Whether a histogram's step is still called `interval`: `fixed_interval` came with 7.2.
fn is_before_7_2(version: &str) -> bool {
    let mut parts = version
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < (7, 2)
}

/// The names most like one that is not there: those that hold its parts, the most of them first.
fn near<'a>(field: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = field.to_ascii_lowercase();
    let parts: Vec<&str> = lower
        .split(['.', '_', '-', '@'])
        .filter(|part| part.len() > 1)
        .collect();
    let mut ranked: Vec<(usize, &str)> = names
        .map(|name| {
            let lower = name.to_ascii_lowercase();
            let shared = parts.iter().filter(|part| lower.contains(**part)).count();
            (shared, name)
        })
        .collect();
    // Where nothing is alike, the first few show what there is.
    ranked.sort_by_key(|(shared, name)| (std::cmp::Reverse(*shared), *name));
    let best = ranked.first().map_or(0, |(shared, _)| *shared);
    let alike = ranked
        .into_iter()
        .filter(|(shared, _)| best == 0 || *shared > 0);
    alike.take(NEAR_MAX).map(|(_, name)| name).collect()
}
