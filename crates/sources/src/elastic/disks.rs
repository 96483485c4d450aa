//! The time of discards and flushes of each disk, from the documents of Metricbeat and Elastic Agent. They have no field
//! for it, but its parts: the mean length of the queue, and the time of reads and writes
//! (`metric/system/diskio/diskstat_linux.go` of elastic-agent-system-metrics).

use super::query::Group;
use super::session::Session;
use super::{Figure, Query, extent_or_empty, pieces, scope};
use crate::collector::make_names_unique;
use crate::{Limits, Reading, SourceError, Times, discard_time};
use bounded_http::{Client, Endpoint};
use facts::series::{Dating, SampleOf, Series};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const QUEUE: &str = "system.diskio.iostat.queue.avg_size";
const DISK: &str = "system.diskio.name";
const HOST: &str = "host.name";
/// Counters of the kernel.
const COUNTERS: [&str; 3] = [
    "system.diskio.read.time",
    "system.diskio.write.time",
    "system.diskio.write.count",
];
/// Over a longer time without documents, a rate would not describe any particular moment.
const GAP_MS: i64 = 600_000;

/// A query for the disks of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskQuery {
    /// Index, alias or pattern: `metricbeat-*`, `metrics-system.diskio-*`.
    pub index: String,
    /// Seconds per point, at least 1.
    pub step_s: u32,
    /// Restricts the documents, in the server's `query_string` syntax: `host.name:db1`.
    pub filter: Option<String>,
}

/// What the documents of a disk within a step say.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    start_ms: i64,
    /// The time of the last of them.
    last_ms: i64,
    queue: f64,
    counters: [f64; 3],
}

/// Reads the time of discards and flushes, in milliseconds per second, of each disk of each host.
///
/// A rate is the growth of a counter from the last document of a step to that of the next one, so that it is about the same
/// documents as the mean queue, however many a step has.
///
/// # Errors
/// As [`super::read`].
pub fn read_disks(
    client: &Client,
    endpoint: &Endpoint,
    asked: &DiskQuery,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut session = Session::open(client, endpoint, &asked.index)?;
    if asked.step_s == 0 {
        return Err(session.refused("the step has to be at least 1 s"));
    }
    let query = |field: &str, split_by: &str| Query {
        split_by: Some(split_by.to_owned()),
        filter: asked.filter.clone(),
        figure: Figure::Mean,
        ..Query::new(&asked.index, field, asked.step_s)
    };
    for field in COUNTERS {
        session.fields(&query(field, DISK))?;
    }
    let query = query(QUEUE, HOST);
    let time_field = session.fields(&query)?;
    let scope = scope(&query, &time_field, times);
    let (first_ms, last_ms) = extent_or_empty(&mut session, &scope, &time_field, &query)?;
    let mut reading = Reading::default();
    let mut series = Vec::new();
    for host in session.groups(&scope, HOST, &query, limits, &mut reading)? {
        let mut scope = scope.clone();
        scope.push(host.clause.clone());
        let disks = session.groups(&scope, DISK, &query, limits, &mut reading)?;
        let mut rows: Vec<Vec<Row>> = vec![Vec::new(); disks.len()];
        let spans = (time_field.as_str(), first_ms, last_ms);
        pieces(
            &mut session,
            &scope,
            spans,
            asked.step_s,
            &disks,
            &figures(&time_field),
            |answer, session| {
                for (disk, rows) in rows.iter_mut().enumerate() {
                    let buckets = answer
                        .aggregations
                        .get("groups")
                        .and_then(|groups| {
                            groups.pointer(&format!("/buckets/{disk}/over_time/buckets"))
                        })
                        .and_then(Value::as_array)
                        .ok_or_else(|| session.refused(super::NO_BUCKETS))?;
                    rows.extend(buckets.iter().filter_map(row));
                }
                if rows.iter().map(Vec::len).sum::<usize>() * 4 > limits.samples_max {
                    return Err(session.too_much("too many samples"));
                }
                Ok(())
            },
        )?;
        for (disk, rows) in disks.iter().zip(rows) {
            series.extend(parts(&session.source_name(), asked, [&host, disk], &rows));
        }
    }
    let (series, skipped) = discard_time::of_disks(&series, &session.source_name())?;
    reading.series = series;
    make_names_unique(&mut reading.series);
    reading.skipped.extend(skipped);
    reading.warnings.extend(session.warnings.clone());
    Ok(reading)
}

/// Returns the aggregations of each step.
fn figures(time_field: &str) -> Value {
    json!({
        "queue": {"avg": {"field": QUEUE}},
        "0": {"max": {"field": COUNTERS[0]}},
        "1": {"max": {"field": COUNTERS[1]}},
        "2": {"max": {"field": COUNTERS[2]}},
        "last": {"max": {"field": time_field}},
    })
}

/// Returns what a bucket says; `None` if one of its figures is missing.
fn row(bucket: &Value) -> Option<Row> {
    let figure = |name: &str| bucket.get(name)?.get("value")?.as_f64();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a time in milliseconds; saturates"
    )]
    let whole = |value: f64| value as i64;
    Some(Row {
        start_ms: whole(bucket.get("key")?.as_f64()?),
        last_ms: whole(figure("last")?),
        queue: figure("queue")?,
        counters: [figure("0")?, figure("1")?, figure("2")?],
    })
}

/// Returns the series of which that of discards is computed.
fn parts(source_name: &str, asked: &DiskQuery, of: [&Group; 2], rows: &[Row]) -> Vec<Series> {
    let step_ms = i64::from(asked.step_s) * 1000;
    let mut times_us = Vec::new();
    let mut values: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::new());
    for pair in rows.windows(2) {
        let (before, row) = (pair[0], pair[1]);
        let elapsed_ms = row.last_ms.saturating_sub(before.last_ms);
        let grown: [f64; 3] = std::array::from_fn(|at| row.counters[at] - before.counters[at]);
        if grown.iter().any(|grown| *grown < 0.0) {
            // The step before held the restart, and what was counted after it.
            times_us.pop();
            for values in &mut values {
                values.pop();
            }
            continue;
        }
        if elapsed_ms <= 0 || elapsed_ms > GAP_MS.max(step_ms * 2) {
            continue;
        }
        let end_ms = row.start_ms.saturating_add(step_ms);
        times_us.push(end_ms.saturating_mul(1000));
        #[expect(clippy::cast_precision_loss, reason = "minutes, in milliseconds")]
        let seconds = elapsed_ms as f64 / 1e3;
        values[0].push(row.queue);
        for (values, grown) in values[1..].iter_mut().zip(grown) {
            values.push(grown / seconds);
        }
    }
    let mut labels = BTreeMap::from([("index".to_owned(), asked.index.clone())]);
    for (label, group) in [HOST, DISK].iter().zip(of) {
        labels.extend(group.name.clone().map(|name| ((*label).to_owned(), name)));
    }
    std::iter::once(QUEUE)
        .chain(COUNTERS)
        .zip(values)
        .map(|(field, values)| {
            let mut labels = labels.clone();
            labels.insert("metric".to_owned(), field.to_owned());
            Series {
                name: field.to_owned(),
                source: source_name.to_owned(),
                labels,
                unit: None,
                better: None,
                dating: Dating::Absolute,
                sample_of: Some(SampleOf::Interval),
                times_us: times_us.clone(),
                values,
                notes: Vec::new(),
                discard_time: None,
            }
        })
        .collect()
}
