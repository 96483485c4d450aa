//! Prometheus and compatible servers: `query_range`, in parts.

mod answer;
mod disks;
mod jobs;

#[cfg(test)]
mod tests;

use crate::clean::{self, Samples};
use crate::error::parse_saved;
use crate::reading::SERIES_SAMPLES_MAX;
use crate::{Limits, Reading, SourceError, Times};
use answer::{Answer, Data};
use bounded_http::{Client, Endpoint, ErrorKind, Response, shown};
use facts::Skipped;
use facts::series::{Dating, SampleOf, Series};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub use disks::{DiskQuery, read_disks};
pub use jobs::{JobStarts, job_starts};

/// Maximum number of points per series in a response ("exceeded maximum resolution of 11,000 points per
/// timeseries").
const POINTS_MAX: i64 = 11_000;
/// Maximum length of a query in bytes, because it is part of a URL.
const QUERY_BYTES_MAX: usize = 4096;
/// Default time range in days.
const DAYS: i64 = 30;
/// Maximum number of requests per query.
const REQUESTS_MAX: i64 = 100_000;
/// Maximum number of warnings reported.
const WARNINGS_MAX: usize = 20;
/// Maximum length of a name in characters; longer ones are truncated.
const NAME_CHARS_MAX: usize = 120;

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// A `PromQL` expression that yields a scalar or an instant vector:
    /// `rate(node_disk_reads_completed_total[5m])`.
    pub promql: String,
    /// Seconds per point, at least 1.
    pub step_s: u32,
}

/// Reads the result of a query over a time range, by default the last 30 days.
///
/// Points are at whole multiples of the step. They are requested in parts of 11,000, or fewer if a response
/// is larger than the client accepts or more than the server may load. Where Prometheus has no point (a
/// series was stale), there is none.
///
/// # Errors
/// When there is no complete response, when the server refuses the query (with its message), when the
/// result is empty, or when there is more than `limits` allow.
pub fn read(
    client: &Client,
    endpoint: &Endpoint,
    query: &Query,
    times: &Times,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut collector = Collector::new(endpoint, query, limits)?;
    let step_s = i64::from(query.step_s);
    let until = times.until.unwrap_or_else(Timestamp::now);
    let since = times.since.unwrap_or_else(|| {
        let days = SignedDuration::from_hours(24 * DAYS);
        until.checked_sub(days).unwrap_or(Timestamp::UNIX_EPOCH)
    });
    // Whole steps within [since, until).
    let first = since.as_second().max(0).div_euclid(step_s)
        + i64::from(since.as_second().max(0) % step_s > 0 || since.subsec_nanosecond() > 0);
    let end = until.as_second().div_euclid(step_s)
        + i64::from(until.as_second() % step_s > 0 || until.subsec_nanosecond() > 0);
    let mut points = POINTS_MAX;
    let mut next = first;
    if (end - first) / points > REQUESTS_MAX {
        return Err(collector.too_much("too many points"));
    }
    while next < end {
        let last = end.min(next + points) - 1;
        match collector.ask(client, endpoint, next * step_s, last * step_s) {
            Ok(()) => next = last + 1,
            // A request for fewer points may succeed.
            Err(RequestError::TooLarge(_)) if points > 1 => points /= 2,
            Err(RequestError::TooLarge(error) | RequestError::Other(error)) => return Err(error),
        }
    }
    let mut reading = collector.finish()?;
    if times.since.is_none() {
        reading.warnings.push(format!(
            "no beginning was named: the last {DAYS} days were asked for"
        ));
    }
    Ok(reading)
}

/// Reads a saved response of `query_range`, as [`read`] does from the server.
///
/// # Errors
/// Same as [`read`].
pub fn read_answer(
    body: &[u8],
    source_name: &str,
    limits: &Limits,
) -> Result<Reading, SourceError> {
    let mut collector = Collector::of(source_name, "answer", 0, limits);
    match collector.take(parse_saved(body, source_name)?) {
        Ok(()) => collector.finish(),
        Err(RequestError::TooLarge(error) | RequestError::Other(error)) => Err(error),
    }
}

enum RequestError {
    /// A request for a shorter time range may succeed.
    TooLarge(SourceError),
    Other(SourceError),
}

impl<E: Into<SourceError>> From<E> for RequestError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

struct Collector {
    source_name: String,
    promql: String,
    step_s: u32,
    limits: Limits,
    /// Samples by the label set that identifies a series.
    streams: BTreeMap<BTreeMap<String, String>, Samples>,
    samples: usize,
    /// The times that a request asked for, inclusive, in microseconds; `None` for a saved answer.
    asked_us: Option<(i64, i64)>,
    /// Number of samples outside those times.
    outside: usize,
    warnings: BTreeSet<String>,
    histograms: usize,
    too_many: BTreeSet<String>,
}

impl Collector {
    fn new(endpoint: &Endpoint, query: &Query, limits: &Limits) -> Result<Self, SourceError> {
        let refused = |reason: &str| SourceError::refused(endpoint.to_string(), reason);
        if query.step_s == 0 {
            return Err(refused("the step has to be at least 1 s"));
        }
        if query.promql.trim().is_empty() {
            return Err(refused("there is no query: give one in PromQL, such as up"));
        }
        if query.promql.len() > QUERY_BYTES_MAX {
            return Err(refused("the query is longer than 4096 bytes"));
        }
        let source_name = endpoint.to_string();
        Ok(Self::of(
            &source_name,
            query.promql.trim(),
            query.step_s,
            limits,
        ))
    }

    fn of(source_name: &str, promql: &str, step_s: u32, limits: &Limits) -> Self {
        Self {
            source_name: source_name.to_owned(),
            promql: promql.to_owned(),
            step_s,
            limits: *limits,
            streams: BTreeMap::new(),
            samples: 0,
            asked_us: None,
            outside: 0,
            warnings: BTreeSet::new(),
            histograms: 0,
            too_many: BTreeSet::new(),
        }
    }

    fn ask(
        &mut self,
        client: &Client,
        endpoint: &Endpoint,
        start_s: i64,
        end_s: i64,
    ) -> Result<(), RequestError> {
        self.asked_us = Some((
            start_s.saturating_mul(1_000_000),
            end_s.saturating_mul(1_000_000),
        ));
        let path = format!(
            "/api/v1/query_range?query={}&start={start_s}&end={end_s}&step={}",
            encoded(&self.promql),
            self.step_s
        );
        let response = match client.get(endpoint, &path) {
            Ok(response) => response,
            Err(error) if matches!(error.kind, ErrorKind::TooLarge { .. }) => {
                return Err(RequestError::TooLarge(error.into()));
            }
            Err(error) => return Err(error.into()),
        };
        // Prometheus reports errors (400, 422, 503) in the same form; proxies and others do not.
        if response.status >= 400 {
            let refusal = response.json::<Answer>();
            return match refusal {
                Ok(answer) if answer.status == "error" => self.take(answer),
                _ => Err(response.success().map(drop).map_or_else(Into::into, |()| {
                    self.refused("an error without a word").into()
                })),
            };
        }
        let answer = Response::success(response)?.json()?;
        self.take(answer)
    }

    fn take(&mut self, answer: Answer) -> Result<(), RequestError> {
        for warning in answer.warnings.iter().chain(&answer.infos) {
            if self.warnings.len() < WARNINGS_MAX {
                self.warnings.insert(shown(warning.as_bytes()));
            }
        }
        if answer.status != "success" {
            let kind = shown(answer.error_type.unwrap_or_default().as_bytes());
            let words = shown(answer.error.unwrap_or_default().as_bytes());
            let error = self.refused(&format!("the query was refused: {kind}: {words}"));
            return Err(if words.contains("too many samples") {
                RequestError::TooLarge(error)
            } else {
                RequestError::Other(error)
            });
        }
        let Some(data) = answer.data else {
            return Err(self.refused("the answer has no data").into());
        };
        self.take_data(data)
    }

    fn take_data(&mut self, data: Data) -> Result<(), RequestError> {
        if data.result_type != "matrix" {
            let found = shown(data.result_type.as_bytes());
            let reason = format!("a matrix was expected, and a {found} came");
            return Err(self.refused(&reason).into());
        }
        for stream in data.result {
            self.histograms += usize::from(!stream.histograms.is_empty());
            if stream.values.is_empty() {
                continue;
            }
            if self.streams.len() >= self.limits.series_max
                && !self.streams.contains_key(&stream.metric)
            {
                if self.too_many.len() < WARNINGS_MAX {
                    self.too_many.insert(written(&stream.metric, |_| true));
                }
                continue;
            }
            self.samples += stream.values.len();
            let samples = self.streams.entry(stream.metric).or_default();
            let of_series = samples.len() + stream.values.len();
            if self.samples > self.limits.samples_max || of_series > SERIES_SAMPLES_MAX {
                return Err(self.too_much("too many samples").into());
            }
            for sample in stream.values {
                let Some(time_us) = answer::time_us(sample.0) else {
                    return Err(self.refused("a sample's time is no moment").into());
                };
                let is_asked = |(from, until): (i64, i64)| (from..=until).contains(&time_us);
                if self.asked_us.is_none_or(is_asked) {
                    samples.push(time_us, sample.1);
                } else {
                    self.outside += 1;
                }
            }
        }
        Ok(())
    }

    fn refused(&self, reason: &str) -> SourceError {
        SourceError::refused(&self.source_name, reason)
    }

    fn too_much(&self, what: &str) -> SourceError {
        SourceError::too_much(&self.source_name, what)
    }

    fn finish(self) -> Result<Reading, SourceError> {
        let mut reading = Reading::default();
        let varying = varying(self.streams.keys());
        for (labels, samples) in self.streams {
            let metric = labels.get("__name__");
            let base = metric.map_or(self.promql.as_str(), String::as_str);
            let curve = samples.clean();
            let apart = written(&labels, |label| varying.contains(label));
            let name = format!("{}{apart}", cut(base));
            let better = clean::better(base, None);
            let series = Series {
                name,
                source: self.source_name.clone(),
                labels: labels
                    .into_iter()
                    .map(|(label, value)| match label.as_str() {
                        "__name__" => ("metric".to_owned(), value),
                        _ => (label, value),
                    })
                    .collect(),
                unit: None,
                better,
                dating: Dating::Absolute,
                sample_of: sample_of(&self.promql),
                times_us: curve.times_us,
                values: curve.values,
                notes: curve.notes,
                discard_time: None,
            };
            if series.values.is_empty() {
                let why = "none of its values is a finite number";
                reading.skipped.push(Skipped::new(series.name, why, None));
            } else {
                reading.series.push(series);
            }
        }
        if self.outside > 0 {
            reading.skipped.push(Skipped::new(
                units::count(self.outside, "sample"),
                "outside the times that were asked for: the server answers what it was not asked",
                Some("a look at what stands between here and Prometheus"),
            ));
        }
        if self.histograms > 0 {
            let why = "samples of native histograms have no single value";
            let needs = Some("histogram_quantile(...) or histogram_avg(...) around it");
            let what = format!("histograms among the series of {}", cut(&self.promql));
            reading.skipped.push(Skipped::new(what, why, needs));
        }
        for labels in &self.too_many {
            let why = format!("more than {} series are not kept", self.limits.series_max);
            let needs = Some("a narrower query");
            reading
                .skipped
                .push(Skipped::new(labels.as_str(), why, needs));
        }
        if reading.series.is_empty() {
            return Err(SourceError::empty(
                self.source_name,
                format!(
                    "{} gives nothing within the times: check the names, or the times",
                    cut(&self.promql)
                ),
            ));
        }
        reading.warnings.extend(self.warnings);
        Ok(reading)
    }
}

/// Returns what the samples of a query say: rates and means are of an interval, and a metric alone is read at each moment.
fn sample_of(promql: &str) -> Option<SampleOf> {
    const OF_INTERVALS: [&str; 4] = ["rate(", "increase(", "avg_over_time(", "sum_over_time("];
    let name = promql.split('{').next().unwrap_or(promql);
    let is_name = |text: &str| {
        let is_part = |one: u8| one.is_ascii_alphanumeric() || b"_:".contains(&one);
        !text.is_empty() && text.bytes().all(is_part)
    };
    let is_selector = name.len() == promql.len() || promql.ends_with('}');
    if is_name(name) && is_selector {
        return Some(SampleOf::Moment);
    }
    let is_of_interval = OF_INTERVALS
        .iter()
        .any(|function| promql.contains(function));
    is_of_interval.then_some(SampleOf::Interval)
}

/// Returns the labels, other than the metric's name, whose values differ between series.
fn varying<'a>(mut all: impl Iterator<Item = &'a BTreeMap<String, String>>) -> BTreeSet<String> {
    let Some(first) = all.next() else {
        return BTreeSet::new();
    };
    let mut varying = BTreeSet::new();
    for labels in all {
        for label in first.keys().chain(labels.keys()) {
            if label != "__name__" && first.get(label) != labels.get(label) {
                varying.insert(label.clone());
            }
        }
    }
    varying
}

/// Formats the wanted labels as `{a="b",c="d"}`; empty if there are none.
fn written(labels: &BTreeMap<String, String>, wanted: impl Fn(&str) -> bool) -> String {
    let parts: Vec<String> = labels
        .iter()
        .filter(|(label, _)| wanted(label))
        .map(|(label, value)| format!("{label}={value:?}"))
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", parts.join(","))
    }
}

fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(NAME_CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

/// Percent-encodes text for a query string (RFC 3986: everything except unreserved characters).
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
