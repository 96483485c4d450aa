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
use sources::{Limits, Reading, SourceError, Times, gaps};
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
    let mut left_out = Vec::new();
    for (source, text) in parsed.iter().zip(&arguments.sources) {
        let mut is_chosen = false;
        let outcome = match source {
            Source::Path(path) => {
                draw.show(&format!("reading {}", units::escape::escape(text)));
                is_chosen = readers::is_store(path) || readers::is_ftdc(path);
                file(path, arguments, times).map_err(CommandError::from)
            }
            Source::Prometheus(url) | Source::Index(url) => {
                let endpoint = parse_endpoint(url, "SOURCE")?;
                draw.show(&format!("asking {endpoint}"));
                loaded.is_remote |= !endpoint.is_loopback();
                server(&endpoint, source, arguments, config, times)
            }
        };
        match outcome {
            Ok(reading) if is_chosen => loaded.add(reading),
            Ok(reading) => loaded.add(choose(reading, &arguments.select, &mut left_out)),
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
        return Err(failed.unwrap_or_else(|| nothing(arguments, &left_out)));
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
    }
}

fn file(path: &Path, arguments: &Explain, times: &Times) -> Result<Reading, SourceError> {
    let limits = Limits::default();
    if readers::is_store(path) {
        return readers::store(path, &arguments.select, times, &limits);
    }
    let step = arguments.servers.step;
    if readers::is_ftdc(path) {
        return readers::ftdc(path, &arguments.select, step, times, &limits);
    }
    readers::file(path, &arguments.files, step, times, limits)
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
fn nothing(arguments: &Explain, left_out: &[String]) -> CommandError {
    if left_out.is_empty() {
        return CommandError::new(Kind::Input, "the sources hold no series")
            .hint("--since and --until may leave out too much");
    }
    let patterns = arguments.select.join(" ");
    CommandError::new(
        Kind::Usage,
        format!("--select {patterns}: no series has such a name"),
    )
    .hint(format!("names are as {}", left_out.join(", ")))
}

/// Keeps the series whose names fit one of the patterns; the first names that do not are examples for a
/// message.
fn choose(mut reading: Reading, patterns: &[String], left_out: &mut Vec<String>) -> Reading {
    const EXAMPLES: usize = 5;
    reading.series.retain(|series| {
        let name = &series.name;
        let fits = patterns.is_empty() || patterns.iter().any(|one| is_match(one, name));
        if !fits && left_out.len() < EXAMPLES {
            left_out.push(units::escape::cut(&units::escape::escape(name), 60).into_owned());
        }
        fits
    });
    reading
}

/// Whether a name fits a pattern: `*` stands for any characters, `?` for one. Never slower than the
/// product of both lengths.
fn is_match(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Where to go on if what follows the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&c) if c == '?' || c == name[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    at = after + 1;
                    read = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
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

    #[test]
    fn names_and_patterns() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("*latency*", "read latency ms", true),
            ("nvme?n1 *", "nvme1n1 kB_wrtn/s", true),
            ("nvme?n1", "nvme10n1", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("", "x", false),
            ("ü?", "üß", true),
        ] {
            assert_eq!(is_match(pattern, name), fits, "{pattern} {name}");
        }
        // Many stars are no trouble.
        assert!(!is_match(&"*a".repeat(200), &"a".repeat(150)));
    }
}
