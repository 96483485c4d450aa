//! Loads time series: detects the kind of each SOURCE, reads it and applies `--select`.

use super::args::{Aggregate, Explain};
use super::{folds, readers};
use crate::commands::access::{self, parse_endpoint};
use crate::commands::source;
use crate::config::ExplainConfig;
use crate::error::CommandError;
use crate::progress::Draw;
use ::explain::disk_log::is_of_log;
use ::explain::folds::Folded;
use bounded_http::Endpoint;
use facts::Skipped;
use facts::series::Better;
use host::source::is_archive;
use jiff::tz::TimeZone;
use schedule::Log;
use sources::elastic::{self, Figure};
use sources::{Limits, Reading, Times, gaps, prometheus};
use std::path::Path;
use std::time::Duration;

/// What was read from all sources.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The series, in the order of the sources; a source that could not be read is skipped.
    pub reading: Reading,
    /// Whether a server other than this host was queried.
    pub is_remote: bool,
    /// When timers ran, where a Prometheus knows that.
    pub logs: Vec<Log>,
    /// What folded weeks tell of hosts that were not read whole.
    pub folded: Option<Folded>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source<'a> {
    /// A file or directory.
    Path(&'a Path),
    /// A support archive, with the curves in it.
    Archive(&'a Path),
    /// A Prometheus server.
    Prometheus(&'a str),
    /// An Elasticsearch or OpenSearch server.
    Index(&'a str),
}

impl<'a> Source<'a> {
    /// Detects the kind from the text and the other options.
    ///
    /// # Errors
    /// A usage error for a URL without a query or index.
    fn of(text: &'a str, arguments: &Explain) -> Result<Self, CommandError> {
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        if !is_url {
            let path = Path::new(text);
            return Ok(if is_archive(path) {
                Self::Archive(path)
            } else {
                Self::Path(path)
            });
        }
        if arguments.servers.index.is_some() {
            return Ok(Self::Index(text));
        }
        if arguments.servers.query.is_empty() && !arguments.servers.discards {
            // `Endpoint` never shows the URL's password.
            let endpoint = parse_endpoint(text, "SOURCE")?;
            return Err(
                CommandError::usage(format!("{endpoint}: nothing is asked for"))
                    .hint("of a Prometheus: --query PROMQL, or --discards")
                    .hint("of an Elasticsearch or OpenSearch: --index PATTERN --field F"),
            );
        }
        Ok(Self::Prometheus(text))
    }
}

/// Reads all sources, keeps the series that `--select` matches, and joins those that follow each other. If one of several
/// sources fails, it is skipped. `archive` is the only source, where its jobs were read already.
///
/// # Errors
/// When nothing could be read, or the query options do not fit the sources.
pub fn load(
    arguments: &Explain,
    config: &ExplainConfig,
    times: &Times,
    archive: Option<&dyn host::Source>,
    better: Option<Better>,
    draw: &mut Draw,
) -> Result<Loaded, CommandError> {
    let parsed: Vec<Source<'_>> = arguments
        .sources
        .iter()
        .map(|text| Source::of(text, arguments))
        .collect::<Result<_, _>>()?;
    let servers = &arguments.servers;
    let asks = !servers.query.is_empty() || servers.index.is_some() || servers.discards;
    let is_server = |one: &Source<'_>| matches!(one, Source::Prometheus(_) | Source::Index(_));
    if asks && !parsed.iter().any(is_server) {
        return Err(
            CommandError::usage("--query, --index and --discards: no SOURCE is a server")
                .hint("servers are named by their URL: http://localhost:9090"),
        );
    }
    let mut loaded = Loaded::default();
    let mut failed: Option<CommandError> = None;
    for (source, text) in parsed.iter().zip(&arguments.sources) {
        let outcome = match source {
            Source::Path(path) => {
                draw.show(&format!("reading {}", units::escape::escape(text)));
                let step = arguments.servers.step;
                readers::file(path, &arguments.select, &arguments.files, step, times)
                    .map_err(CommandError::from)
            }
            Source::Archive(path) => {
                draw.show(&format!("reading {}", units::escape::escape(text)));
                let read = |archive: &dyn host::Source| {
                    readers::archive(path, archive, &arguments.select, &arguments.files, times)
                };
                match archive {
                    Some(archive) => read(archive),
                    None => source::stored(path, "archive")
                        .and_then(|opened| read(opened.source.as_ref())),
                }
            }
            Source::Prometheus(url) | Source::Index(url) => {
                let endpoint = parse_endpoint(url, "SOURCE")?;
                draw.show(&format!("asking {endpoint}"));
                loaded.is_remote |= !endpoint.is_loopback();
                let asked = Asked {
                    endpoint: &endpoint,
                    arguments,
                    times,
                    better,
                };
                server(&asked, source, config, &mut loaded, draw)
            }
        };
        match outcome {
            Ok(reading) => loaded.reading.append(reading),
            Err(error) => {
                // If no source can be read, the first error is reported.
                let message = error.message.clone();
                let skipped = Skipped::new("a source", message, None);
                loaded.reading.skipped.push(skipped);
                failed.get_or_insert(error);
            }
        }
    }
    draw.clear();
    if loaded.reading.series.is_empty() {
        return Err(failed.unwrap_or_else(|| nothing(arguments, &loaded.reading.unselected)));
    }
    let joined = sources::join_successive(&mut loaded.reading.series, is_of_log);
    loaded.reading.warnings.extend(joined);
    Ok(loaded)
}

impl Loaded {
    /// Adds notes about long gaps in the series, with times in `zone`.
    pub fn note_gaps(&mut self, zone: &TimeZone) {
        for series in &mut self.reading.series {
            series.notes.extend(gaps::note(series, zone));
        }
    }
}

/// What a server is asked for.
struct Asked<'a> {
    endpoint: &'a Endpoint,
    arguments: &'a Explain,
    times: &'a Times,
    better: Option<Better>,
}

fn server(
    asked: &Asked<'_>,
    source: &Source<'_>,
    config: &ExplainConfig,
    loaded: &mut Loaded,
    draw: &mut Draw,
) -> Result<Reading, CommandError> {
    const STEP: Duration = Duration::from_mins(1);
    let Asked {
        endpoint,
        arguments,
        times,
        better,
    } = *asked;
    let servers = &arguments.servers;
    let options = access::options(&servers.access, config.into(), std::convert::identity)?;
    let client = access::client(options, endpoint)?;
    let step_s = whole_seconds(servers.step.unwrap_or(STEP));
    let limits = Limits::default();
    let filter = servers.filter.clone();
    let mut reading = match (source, &servers.index, &servers.field) {
        (Source::Index(_), Some(index), None) => {
            let index = index.clone();
            let asked = elastic::DiskQuery {
                index,
                step_s,
                filter,
            };
            elastic::read_disks(&client, endpoint, &asked, times, &limits)
        }
        (Source::Prometheus(_), ..) if servers.discards => {
            let asked = prometheus::DiskQuery { step_s, filter };
            prometheus::read_disks(&client, endpoint, &asked, times, &limits)
        }
        (Source::Index(_), Some(index), Some(field)) => {
            let query = elastic::Query {
                figure: figure(servers.agg.unwrap_or(Aggregate::Avg)),
                split_by: servers.split_by.clone(),
                filter,
                ..elastic::Query::new(index, field, step_s)
            };
            let many = folds::read(&client, endpoint, query, times, &limits, better, draw)?;
            loaded.folded = loaded.folded.take().or(many.folded);
            Ok(many.reading)
        }
        _ => {
            let mut all = Reading::default();
            for promql in by_label(&servers.query, servers.split_by.as_deref(), servers.agg)? {
                let query = prometheus::Query { promql, step_s };
                all.append(prometheus::read(&client, endpoint, &query, times, &limits)?);
            }
            Ok(all)
        }
    }?;
    reading.select(&arguments.select);
    if matches!(source, Source::Prometheus(_)) && !reading.series.is_empty() {
        match prometheus::job_starts(&client, endpoint, &reading.series, &limits) {
            Ok(found) => loaded.logs.extend(found.and_then(|found| {
                let times = (found.from, found.until);
                Log::of_metrics(&found.source_name, &found.host, times, &found.jobs)
            })),
            Err(error) => {
                let what = "when the jobs of the series' host ran";
                reading
                    .skipped
                    .push(Skipped::new(what, error.to_string(), None));
            }
        }
    }
    Ok(reading)
}

/// Rounds a step down to whole seconds, but at least 1: servers support no fractions.
fn whole_seconds(step: Duration) -> u32 {
    u32::try_from(step.as_secs()).unwrap_or(u32::MAX).max(1)
}

fn figure(aggregate: Aggregate) -> Figure {
    match aggregate {
        Aggregate::Avg => Figure::Mean,
        Aggregate::Min => Figure::Min,
        Aggregate::Max => Figure::Max,
        Aggregate::Sum => Figure::Sum,
        Aggregate::P99 => Figure::Percentile(99.0),
        Aggregate::Rate => Figure::Rate,
    }
}

/// Queries that aggregate the series of each value of a label.
fn by_label(
    queries: &[String],
    label: Option<&str>,
    how: Option<Aggregate>,
) -> Result<Vec<String>, CommandError> {
    let refused =
        |message: String, hint: &'static str| Err(CommandError::usage(message).hint(hint));
    let Some(label) = label else {
        return match how {
            None => Ok(queries.to_vec()),
            Some(_) => refused(
                "--agg: a Prometheus aggregates by a label, and none is named".to_owned(),
                "name it with --split-by, or aggregate in the query",
            ),
        };
    };
    // Prometheus' data model: `[a-zA-Z_][a-zA-Z0-9_]*`.
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !label.bytes().all(is_part)
        || label
            .bytes()
            .next()
            .is_none_or(|byte| byte.is_ascii_digit())
    {
        return refused(
            format!("--split-by {label}: expected a label of Prometheus"),
            "such as instance",
        );
    }
    let (function, more) = match how.unwrap_or(Aggregate::Avg) {
        Aggregate::Avg => ("avg", ""),
        Aggregate::Min => ("min", ""),
        Aggregate::Max => ("max", ""),
        Aggregate::Sum => ("sum", ""),
        Aggregate::P99 => ("quantile", "0.99, "),
        Aggregate::Rate => {
            return refused(
                "--agg rate: a Prometheus has a function for that".to_owned(),
                "write it into the query: 'rate(node_disk_io_time_seconds_total[5m])'",
            );
        }
    };
    // The line ends with the query, so that a comment at its end does not take the parenthesis.
    let wrapped = |query: &String| format!("{function} by ({label}) ({more}{query}\n)");
    Ok(queries.iter().map(wrapped).collect())
}

/// Explains why there are no series although every source could be read.
fn nothing(arguments: &Explain, unselected: &[String]) -> CommandError {
    const EXAMPLES: usize = 5;
    if unselected.is_empty() {
        return CommandError::input("the sources hold no series")
            .hint("--since and --until may leave out too much");
    }
    let patterns = arguments.select.join(" ");
    CommandError::usage(format!("--select {patterns}: no series has such a name")).hint(format!(
        "names are such as {}",
        unselected
            .iter()
            .take(EXAMPLES)
            .map(|name| units::escape::cut(&units::escape::escape(name), 60).into_owned())
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn arguments(words: &[&str]) -> Box<Explain> {
        let all = ["trimtab", "explain"].iter().chain(words);
        match Cli::try_parse_from(all).unwrap().command {
            Command::Explain(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn series_of_a_prometheus_are_split_by_a_label() {
        let queries = ["up # each".to_owned()];
        let split = |label, how| by_label(&queries, label, how);
        assert_eq!(split(None, None).unwrap(), queries);
        assert_eq!(
            split(Some("instance"), None).unwrap(),
            ["avg by (instance) (up # each\n)"]
        );
        assert_eq!(
            split(Some("instance"), Some(Aggregate::P99)).unwrap(),
            ["quantile by (instance) (0.99, up # each\n)"]
        );
        for (label, how, words) in [
            (None, Some(Aggregate::Max), "--agg: a Prometheus aggregates"),
            (Some("a) or vector(1"), None, "expected a label"),
            (Some("1st"), None, "expected a label"),
            (Some("instance"), Some(Aggregate::Rate), "--agg rate"),
        ] {
            let error = split(label, how).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn sources_by_their_form() {
        let plain = arguments(&["races/"]);
        assert_eq!(
            Source::of("races/", &plain).unwrap(),
            Source::Path(Path::new("races/"))
        );
        let error = Source::of("http://u:hunter2@prom:9090", &plain).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let asked = arguments(&["http://prom:9090", "--query", "up"]);
        assert_eq!(
            Source::of("http://prom:9090", &asked).unwrap(),
            Source::Prometheus("http://prom:9090")
        );
        let index = arguments(&["https://es1:9200", "--index", "m-*", "--field", "load"]);
        assert_eq!(
            Source::of("https://es1:9200", &index).unwrap(),
            Source::Index("https://es1:9200")
        );
        let disks = arguments(&["https://es1:9200", "--index", "m-*", "--discards"]);
        assert_eq!(
            Source::of("https://es1:9200", &disks).unwrap(),
            Source::Index("https://es1:9200")
        );
        let disks = arguments(&["http://prom:9090", "--discards", "--filter", "job=\"node\""]);
        assert_eq!(
            Source::of("http://prom:9090", &disks).unwrap(),
            Source::Prometheus("http://prom:9090")
        );
        let asked = ["trimtab", "explain", "https://es1:9200"];
        for more in [
            &["--index", "m-*"][..],
            &["--filter", "host.name:es1"],
            &["--query", "up", "--discards"],
            &["--query", "up", "--filter", "job=\"node\""],
            &["--index", "m-*", "--field", "load", "--discards"],
        ] {
            let words = asked.iter().chain(more);
            assert!(Cli::try_parse_from(words).is_err(), "{more:?}");
        }
    }
}
