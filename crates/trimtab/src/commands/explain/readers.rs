//! Calls the readers of `sources` with what the command line asks for.

use super::args::{Aggregate, FileArgs};
use crate::error::{CommandError, Kind};
use bounded_http::{Client, Endpoint};
use facts::Skipped;
use sources::elastic::{self, Figure};
use sources::{FileOptions, Limits, Reading, SourceError, Times, prometheus as prom};
use std::path::Path;
use std::time::Duration;

fn options(
    select: &[String],
    arguments: &FileArgs,
    step: Option<Duration>,
    times: &Times,
) -> FileOptions {
    FileOptions {
        select: select.to_vec(),
        times: times.clone(),
        time_column: arguments.time_column.clone(),
        time_format: arguments.time_format.clone(),
        value_columns: arguments.column.clone(),
        label_columns: (!arguments.label_column.is_empty()).then(|| arguments.label_column.clone()),
        counter_columns: arguments.counter.clone(),
        date: arguments.date,
        step_s: step.map(|step| step.as_secs_f64()),
        ..FileOptions::default()
    }
}

/// Maximum size of one recorded curve in an archive: `sar -A` of a day has some 20 MB.
const CURVE_BYTES_MAX: usize = 96 << 20;

/// Reads the curves that were recorded in a support archive; days of the same curve become one.
///
/// # Errors
/// When none of its curves can be read.
pub fn archive(
    path: &Path,
    source: &dyn host::Source,
    select: &[String],
    arguments: &FileArgs,
    times: &Times,
) -> Result<Reading, CommandError> {
    let shown = path.display();
    let curves = source.curves();
    if curves.is_empty() {
        let message = format!("{shown}: the archive holds no history that trimtab reads");
        return Err(CommandError::new(Kind::Input, message)
            .hint("it reads sar's text (sarNN) and iostat's; `check --bundle` reads the rest of an archive"));
    }
    let options = options(select, arguments, None, times);
    let mut all = Reading::default();
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for curve in curves.iter().cloned() {
        match source.read(&curve, CURVE_BYTES_MAX) {
            Ok(bytes) => texts.push((curve, bytes)),
            Err(unread) => all
                .skipped
                .push(Skipped::new(curve, unread.to_string(), None)),
        }
    }
    // Days of sar are read as one log, since some of their dates tell how all are written.
    let read = |name: &str, text: &[u8]| sources::read_bytes(name, text, &options);
    let days: Vec<&[u8]> = texts.iter().map(|(_, text)| text.as_slice()).collect();
    let is_long = days.iter().map(|day| day.len()).sum::<usize>() > CURVE_BYTES_MAX;
    let glued = match &texts[..] {
        [(first, _), .., (last, _)] if !is_long => {
            read(&format!("{first} to {last}"), &days.join(&b"\n\n"[..])).ok()
        }
        _ => None,
    };
    if let Some(reading) = glued {
        all.append(reading);
    } else {
        for (curve, text) in &texts {
            match read(curve, text) {
                Ok(reading) => all.append(reading),
                Err(error) => all
                    .skipped
                    .push(Skipped::new(curve, error.to_string(), None)),
            }
        }
    }
    all.join();
    all.select(&options.select);
    if all.series.is_empty() {
        let why = all
            .skipped
            .first()
            .map_or("no samples", |skipped| &skipped.why);
        return Err(CommandError::new(Kind::Input, format!("{shown}: {why}")));
    }
    Ok(all)
}

/// Reads what lies at a path; `-` is standard input.
///
/// # Errors
/// As [`sources::read_path`].
pub fn file(
    path: &Path,
    select: &[String],
    arguments: &FileArgs,
    step: Option<Duration>,
    times: &Times,
) -> Result<Reading, SourceError> {
    let options = options(select, arguments, step, times);
    if path.as_os_str() == "-" {
        let mut reading = sources::read_bytes("stdin", std::io::stdin().lock(), &options)?;
        reading.select(&options.select);
        return Ok(reading);
    }
    sources::read_path(path, &options)
}

/// Runs queries on a Prometheus server, one after another.
///
/// # Errors
/// As [`sources::prometheus::read`]; stops at the first error.
pub fn prometheus(
    client: &Client,
    endpoint: &Endpoint,
    queries: &[String],
    step: Duration,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut all = Reading::default();
    for promql in queries {
        let query = prom::Query {
            promql: promql.clone(),
            step_s: whole_seconds(step),
        };
        let reading = prom::read(client, endpoint, &query, times, limits)?;
        all.series.extend(reading.series);
        all.skipped.extend(reading.skipped);
        all.warnings.extend(reading.warnings);
    }
    Ok(all)
}

/// Asks a Prometheus server for the discards of the disks, of series with certain labels.
///
/// # Errors
/// As [`sources::prometheus::read_disks`].
pub fn prometheus_disks(
    client: &Client,
    endpoint: &Endpoint,
    filter: Option<&str>,
    step: Duration,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let asked = prom::DiskQuery {
        step_s: whole_seconds(step),
        filter: filter.map(str::to_owned),
    };
    prom::read_disks(client, endpoint, &asked, times, limits)
}

/// A query for Elasticsearch or OpenSearch.
#[derive(Debug, Clone, Copy)]
pub struct IndexQuery<'a> {
    /// Index pattern.
    pub index: &'a str,
    /// Field with the values.
    pub field: &'a str,
    /// Field to split the series by.
    pub split_by: Option<&'a str>,
    /// Aggregation of the values in each step.
    pub aggregate: Aggregate,
    /// Query string that filters documents.
    pub filter: Option<&'a str>,
}

/// Puts a query as `sources` takes it.
pub fn index_query(asked: &IndexQuery<'_>, step: Duration) -> elastic::Query {
    elastic::Query {
        figure: match asked.aggregate {
            Aggregate::Avg => Figure::Mean,
            Aggregate::Min => Figure::Min,
            Aggregate::Max => Figure::Max,
            Aggregate::Sum => Figure::Sum,
            Aggregate::P99 => Figure::Percentile(99.0),
            Aggregate::Rate => Figure::Rate,
        },
        split_by: asked.split_by.map(str::to_owned),
        filter: asked.filter.map(str::to_owned),
        ..elastic::Query::new(asked.index, asked.field, whole_seconds(step))
    }
}

/// Asks an Elasticsearch or OpenSearch server for the time of the disks' discards, of an index and with a filter.
///
/// # Errors
/// As [`sources::elastic::read_disks`].
pub fn disks(
    client: &Client,
    endpoint: &Endpoint,
    (index, filter): (&str, Option<&str>),
    step: Duration,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let asked = elastic::DiskQuery {
        index: index.to_owned(),
        step_s: whole_seconds(step),
        filter: filter.map(str::to_owned),
    };
    elastic::read_disks(client, endpoint, &asked, times, limits)
}

/// Rounds a step down to whole seconds, but at least 1: servers and FTDC support no fractions.
fn whole_seconds(step: Duration) -> u32 {
    u32::try_from(step.as_secs()).unwrap_or(u32::MAX).max(1)
}
