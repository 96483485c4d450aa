//! Histories: what each SOURCE is, how it is read, and what of it is wanted.

use super::args::{Aggregate, Explain};
use super::readers;
use crate::commands::access::{self, parse_endpoint};
use crate::config::ExplainConfig;
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use facts::Skipped;
use facts::series::Series;
use http::Endpoint;
use jiff::tz::TimeZone;
use sources::{Limits, Reading, Times, gaps};
use std::path::Path;
use std::time::Duration;

/// What was read of all sources.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The series, in the order of the sources.
    pub series: Vec<Series>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Examples of names that no pattern of `--select` matched.
    pub unselected: Vec<String>,
    /// A server that is not on this host was asked.
    pub is_remote: bool,
}

/// What a SOURCE is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source<'a> {
    /// A file, directory or store.
    Path(&'a Path),
    /// A Prometheus.
    Prometheus(&'a str),
    /// An Elasticsearch or OpenSearch.
    Index(&'a str),
}

impl<'a> Source<'a> {
    /// By its form and the options beside it.
    ///
    /// # Errors
    /// A usage error for a URL without anything to ask for.
    fn of(text: &'a str, arguments: &Explain) -> Result<Self, CommandError> {
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        if !is_url {
            return Ok(Self::Path(Path::new(text)));
        }
        if arguments.servers.index.is_some() {
            return Ok(Self::Index(text));
        }
        if arguments.servers.query.is_empty() {
            // Endpoint shows no password of the URL; an unreadable one is an error by itself.
            let endpoint = parse_endpoint(text, "SOURCE")?;
            return Err(CommandError::new(
                Kind::Usage,
                format!("{endpoint}: nothing is asked for"),
            )
            .hint("of a Prometheus: --query PROMQL")
            .hint("of an Elasticsearch or OpenSearch: --index PATTERN --field F"));
        }
        Ok(Self::Prometheus(text))
    }
}

/// Reads all sources, and keeps what `--select` wants. What one of several sources does not give is
/// skipped.
///
/// # Errors
/// When nothing could be read, or what is asked for does not fit the sources.
pub fn load(
    arguments: &Explain,
    config: &ExplainConfig,
    times: &Times,
    draw: &mut Draw,
) -> Result<Loaded, CommandError> {
    let parsed: Vec<Source<'_>> = arguments
        .sources
        .iter()
        .map(|text| Source::of(text, arguments))
        .collect::<Result<_, _>>()?;
    let asks = !arguments.servers.query.is_empty() || arguments.servers.index.is_some();
    if asks && parsed.iter().all(|one| matches!(one, Source::Path(_))) {
        return Err(
            CommandError::new(Kind::Usage, "--query and --index: no SOURCE is a server")
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
            Source::Prometheus(url) | Source::Index(url) => {
                let endpoint = parse_endpoint(url, "SOURCE")?;
                draw.show(&format!("asking {endpoint}"));
                loaded.is_remote |= !endpoint.is_loopback();
                server(&endpoint, source, arguments, config, times).map(|mut reading| {
                    reading.select(&arguments.select);
                    reading
                })
            }
        };
        match outcome {
            Ok(reading) => loaded.add(reading),
            Err(error) => {
                // The first one is the answer where nothing else is.
                let message = error.message.clone();
                loaded.skipped.push(Skipped::new("a source", message, None));
                failed.get_or_insert(error);
            }
        }
    }
    draw.clear();
    if loaded.series.is_empty() {
        return Err(failed.unwrap_or_else(|| nothing(arguments, &loaded.unselected)));
    }
    if let Some(path) = &arguments.save {
        save(path, &loaded)?;
    }
    Ok(loaded)
}

impl Loaded {
    /// Notes where series have no samples for long, its times in this zone.
    pub fn note_gaps(&mut self, zone: &TimeZone) {
        for series in &mut self.series {
            series.notes.extend(gaps::note(series, zone));
        }
    }

    fn add(&mut self, reading: Reading) {
        self.series.extend(reading.series);
        self.skipped.extend(reading.skipped);
        self.warnings.extend(reading.warnings);
        self.unselected.extend(reading.unselected);
    }
}

fn server(
    endpoint: &Endpoint,
    source: &Source<'_>,
    arguments: &Explain,
    config: &ExplainConfig,
    times: &Times,
) -> Result<Reading, CommandError> {
    const STEP: Duration = Duration::from_mins(1);
    let servers = &arguments.servers;
    let options = access::options(&servers.access, config.into(), std::convert::identity)?;
    let client = access::client(options, endpoint)?;
    let step = servers.step.unwrap_or(STEP);
    let limits = Limits::default();
    let reading = match (source, &servers.index, &servers.field) {
        (Source::Index(_), Some(index), Some(field)) => {
            let query = readers::IndexQuery {
                index,
                field,
                split_by: servers.split_by.as_deref(),
                aggregate: servers.agg.unwrap_or(Aggregate::Avg),
                filter: servers.filter.as_deref(),
            };
            readers::index(&client, endpoint, &query, step, times, &limits)
        }
        _ => readers::prometheus(&client, endpoint, &servers.query, step, times, &limits),
    };
    Ok(reading?)
}

fn save(path: &Path, loaded: &Loaded) -> Result<(), CommandError> {
    let reading = Reading {
        series: loaded.series.clone(),
        ..Reading::default()
    };
    let words = readers::save(path, &reading)
        .map_err(|error| CommandError::because(Kind::Environment, error).at("--save"))?;
    tracing::info!("{}: {words}", path.display());
    Ok(())
}

/// Why there is no series, although every source could be read.
fn nothing(arguments: &Explain, unselected: &[String]) -> CommandError {
    const EXAMPLES: usize = 5;
    if unselected.is_empty() {
        return CommandError::new(Kind::Input, "the sources hold no series")
            .hint("--since and --until may leave out too much");
    }
    let patterns = arguments.select.join(" ");
    CommandError::new(
        Kind::Usage,
        format!("--select {patterns}: no series has such a name"),
    )
    .hint(format!(
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
        let words = ["trimtab", "explain", "https://es1:9200", "--index", "m-*"];
        assert!(Cli::try_parse_from(words).is_err());
    }
}
