//! Elasticsearch (6 and later) and OpenSearch. The server aggregates documents into curves, so that only
//! one value per step crosses the network.

mod answer;
mod disks;
mod fold;
mod query;
mod session;

pub use disks::{DiskQuery, read_disks};
pub use fold::{Folds, fold};
pub use query::{Figure, Query};

#[cfg(test)]
mod tests;

use crate::clean::{self, Samples};
use crate::error::parse_saved;
use crate::reading::SERIES_SAMPLES_MAX;
use crate::{Limits, Reading, SourceError, Times};
use answer::{Bucket, Search};
use bounded_http::{Client, Endpoint, shown};
use facts::Skipped;
use facts::series::{Dating, SampleOf, Series};
use query::Group;
use serde_json::{Value, json};
use session::Session;
use std::collections::BTreeMap;

/// Maximum number of buckets per request: the default of `search.max_buckets` in 6.8 and up to 7.15; later,
/// and in OpenSearch, it is 65,535.
const BUCKETS_MAX: i64 = 10_000;
/// The error for a response without the requested aggregation.
const NO_BUCKETS: &str = "the answer has no buckets with times";
/// Maximum number of requests per query.
const REQUESTS_MAX: i64 = 100_000;

/// Reads the curve of a field.
///
/// Points are placed at the ends of their steps, which begin at whole multiples of the step, so that a mean
/// covers the time before it, as in every source. Steps without a value are left out.
///
/// # Errors
/// When there is no complete response, when a field is missing or has the wrong type (with similar names),
/// when the server refuses the query (with its message), when no document is within the time range, or when
/// there is more than `limits` allow.
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
    let (first_ms, last_ms) = extent_or_empty(&mut session, &scope, &time_field, query)?;
    let mut reading = Reading::default();
    let groups = match &query.split_by {
        Some(field) if !query.split_values.is_empty() => {
            let values = query.split_values.iter();
            values.map(|value| Group::of(field, value)).collect()
        }
        Some(field) => session.groups(&scope, field, query, limits, &mut reading)?,
        None => vec![Group::all()],
    };
    let mut samples = vec![Samples::default(); groups.len()];
    let mut kept = 0_usize;
    let spans = (time_field.as_str(), first_ms, last_ms);
    let figures = json!({"figure": figure(query)});
    let take = |answer: &Search, session: &Session<'_>| {
        for (group, samples) in samples.iter_mut().enumerate() {
            let Some(found) = points(answer, group, query) else {
                return Err(session.refused(NO_BUCKETS));
            };
            kept += found.len();
            samples.extend(found);
        }
        let is_long = |samples: &Samples| samples.len() > SERIES_SAMPLES_MAX;
        if kept > limits.samples_max || samples.iter().any(is_long) {
            return Err(session.too_much("too many samples"));
        }
        Ok(())
    };
    pieces(
        &mut session,
        &scope,
        spans,
        query.step_s,
        &groups,
        &figures,
        take,
    )?;
    let source_name = session.source_name();
    for (group, samples) in groups.iter().zip(samples) {
        reading.add(series(&source_name, query, group, samples));
    }
    reading.warnings.extend(session.warnings);
    non_empty(reading, source_name, query)
}

/// Returns the times of the first and the last document, in milliseconds.
fn extent_or_empty(
    session: &mut Session<'_>,
    scope: &[Value],
    time_field: &str,
    query: &Query,
) -> Result<(i64, i64), SourceError> {
    session.extent(scope, time_field)?.ok_or_else(|| {
        SourceError::empty(
            session.source_name(),
            format!(
                "no document with {} within the times: check the index, the filter, or the times",
                query.field
            ),
        )
    })
}

/// Asks for the steps of a time field between two times in milliseconds, in as many requests as the server's limit of
/// buckets needs, and hands on each answer.
fn pieces(
    session: &mut Session<'_>,
    scope: &[Value],
    (time_field, first_ms, last_ms): (&str, i64, i64),
    each_s: u32,
    groups: &[Group],
    figures: &Value,
    mut take: impl FnMut(&Search, &Session<'_>) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    let len_ms = i64::from(each_s) * 1000;
    let most = BUCKETS_MAX / i64::try_from(groups.len() + 1).unwrap_or(BUCKETS_MAX);
    let (first, last) = (first_ms.div_euclid(len_ms), last_ms.div_euclid(len_ms));
    if (last - first) / most.max(1) > REQUESTS_MAX {
        return Err(session.too_much("too many steps"));
    }
    let mut next = first;
    while next <= last {
        let end = (next + most - 1).min(last + 1);
        let piece = json!({"range": {time_field: {
            "gte": next * len_ms, "lt": end * len_ms, "format": "epoch_millis"}}});
        let interval = session.interval;
        let body = question(
            scope,
            piece,
            (time_field, interval, each_s),
            groups,
            figures,
        );
        let answer = session.search(&body)?;
        take(&answer, session)?;
        next = end;
    }
    Ok(())
}

/// Reads a saved response to the query that [`read`] sends for documents that are not split.
///
/// # Errors
/// When it is not such a response, contains no value, or exceeds `limits`.
pub fn read_answer(
    body: &[u8],
    source_name: &str,
    query: &Query,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let answer: Search = parse_saved(body, source_name)?;
    let Some(found) = points(&answer, 0, query) else {
        return Err(SourceError::refused(source_name, NO_BUCKETS));
    };
    if found.len() > limits.samples_max {
        return Err(SourceError::too_much(source_name, "too many samples"));
    }
    let mut samples = Samples::default();
    samples.extend(found);
    let mut reading = Reading::default();
    reading.add(series(source_name, query, &Group::all(), samples));
    non_empty(reading, source_name.to_owned(), query)
}

fn non_empty(reading: Reading, source_name: String, query: &Query) -> Result<Reading, SourceError> {
    if reading.series.is_empty() {
        let reason = format!("no value of {} within the times", query.field);
        return Err(SourceError::empty(source_name, reason));
    }
    Ok(reading)
}

/// Returns the samples of one group in a response; `None` if the response has no such buckets.
fn points(answer: &Search, group: usize, query: &Query) -> Option<Vec<(i64, f64)>> {
    let step_us = i64::from(query.step_s) * 1_000_000;
    let groups = answer.aggregations.get("groups")?;
    let buckets = Bucket::list(groups.pointer(&format!("/buckets/{group}/over_time"))?)?;
    let mut samples = Vec::with_capacity(buckets.len());
    for bucket in buckets {
        let start_us = bucket.start_ms()?.saturating_mul(1000);
        if let Some(value) = bucket.figure() {
            samples.push((start_us.saturating_add(step_us), value));
        }
    }
    Some(samples)
}

impl Reading {
    /// Adds a series, or reports that it has no value.
    fn add(&mut self, series: Series) {
        if series.values.is_empty() {
            let why = "it has no value within the times";
            self.skipped.push(Skipped::new(series.name, why, None));
        } else {
            self.series.push(series);
        }
    }
}

/// Returns the filter clauses that all documents have to match.
fn scope(query: &Query, time_field: &str, times: &Times) -> Vec<Value> {
    let mut scope = vec![json!({"exists": {"field": query.field}})];
    let mut range = serde_json::Map::new();
    range.insert("format".to_owned(), json!("epoch_millis"));
    if let Some(since) = times.since {
        // Rounded up to whole milliseconds, so that documents before `since` are excluded.
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

/// Returns the aggregation of a query.
fn figure(query: &Query) -> Value {
    let field = &query.field;
    match query.figure {
        Figure::Mean => json!({"avg": {"field": field}}),
        Figure::Min => json!({"min": {"field": field}}),
        Figure::Max | Figure::Rate => json!({"max": {"field": field}}),
        Figure::Sum => json!({"sum": {"field": field}}),
        Figure::Percentile(percent) => {
            json!({"percentiles": {"field": field, "percents": [percent], "keyed": false}})
        }
    }
}

/// Returns the request body for one part of the time range.
fn question(
    scope: &[Value],
    piece: Value,
    (time_field, interval, step_s): (&str, &str, u32),
    groups: &[Group],
    figures: &Value,
) -> Value {
    let mut clauses = scope.to_vec();
    clauses.push(piece);
    let filters: Vec<&Value> = groups.iter().map(|group| &group.clause).collect();
    json!({
        "size": 0,
        "query": {"bool": {"filter": clauses}},
        "aggs": {"groups": {
            "filters": {"filters": filters},
            "aggs": {"over_time": {
                "date_histogram": {
                    "field": time_field,
                    interval: format!("{step_s}s"),
                    // Empty steps produce no buckets, neither here nor towards the server's limit.
                    "min_doc_count": 1,
                },
                "aggs": figures,
            }},
        }},
    })
}

/// Builds the series of one group.
fn series(source_name: &str, query: &Query, group: &Group, samples: Samples) -> Series {
    let mut curve = samples.clean();
    if query.figure == Figure::Rate {
        curve = clean::rates(curve);
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
        better: clean::better(&query.field, None),
        dating: Dating::Absolute,
        sample_of: (query.figure == Figure::Rate).then_some(SampleOf::Interval),
        times_us: curve.times_us,
        values: curve.values,
        notes: curve.notes,
        discard_time: None,
    }
}
