//! A cluster from files, standard input, or a URL.

use super::args::StateArgs;
use crate::answer::generated_at;
use crate::commands::access::{http_options, parse_endpoint};
use crate::error::{CommandError, Kind};
use http::{Client, Endpoint, HttpError};
use serde::Deserialize;
use shards::model::Version;
use shards::nodes::RoutingError;
use shards::profile::{Product, Server};
use shards::state::{Source, State, StateError};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

// Requests whose answers are taken, for hints.
const STATE: &str = "GET _cluster/state";
const NODES: &str = "GET _nodes/stats (or _nodes)";
const SIZES: &str = "GET _stats?level=shards (or _cat/shards?bytes=b&format=json)";
const SETTINGS: &str = "GET _cluster/settings?include_defaults=true";

/// The longest answer of a server that is taken.
const ANSWER_BYTES_MAX: u64 = 1 << 30;
/// Files up to this size are read in memory, which is quicker; larger ones as a stream.
const IN_MEMORY_BYTES_MAX: u64 = 1 << 30;
/// A master may need a minute for a large state.
const DEADLINE: Duration = Duration::from_mins(3);

/// A cluster that was read.
pub struct Loaded {
    /// Its state, with disks, sizes and settings where they were given.
    pub state: State,
    /// What it runs.
    pub server: Server,
    /// Where it came from, for people.
    pub source: String,
    /// What had to be assumed.
    pub warnings: Vec<String>,
    /// Now, nanoseconds since 1970.
    pub now_nanos: i64,
}

/// Reads it.
///
/// # Errors
/// When a file or an answer cannot be had or understood.
pub fn load(arguments: &StateArgs) -> Result<Loaded, CommandError> {
    let (mut loaded, asked) = if arguments.state.contains("://") {
        from_url(arguments)?
    } else {
        (from_files(arguments)?, None)
    };
    let state = &mut loaded.state;
    for path in &arguments.nodes {
        read_file(path, NODES, |source| state.read_nodes(source))?;
    }
    for path in &arguments.sizes {
        read_file(path, SIZES, |source| state.read_sizes(source))?;
    }
    if let Some(path) = &arguments.settings {
        read_file(path, SETTINGS, |source| state.read_settings(source))?;
    }
    version(arguments, asked, &mut loaded)?;
    loaded.warnings.extend(loaded.server.warning.clone());
    loaded.warnings.extend(decisions_note(&loaded.server));
    loaded.warnings.append(&mut loaded.state.warnings);
    assumed(&mut loaded);
    Ok(loaded)
}

/// What the cluster runs: what was said, or what its nodes tell, or what the asked node told of itself.
fn version(
    arguments: &StateArgs,
    asked: Option<Server>,
    loaded: &mut Loaded,
) -> Result<(), CommandError> {
    let warnings = &mut loaded.warnings;
    let told = loaded.state.told_versions();
    let run = |(low, high): (Version, Version)| {
        if low == high {
            format!("the nodes run {low}")
        } else {
            format!("the nodes run {low} to {high}")
        }
    };
    loaded.server = match (&arguments.version, told) {
        (Some(server), told) => {
            if let Some(told) = told.filter(|&told| told != (server.version, server.version)) {
                warnings.push(format!(
                    "--version says {server}, but {}: what a reroute takes is told for {server}; for \
                     decisions, nodes keep the versions they tell.",
                    run(told)
                ));
            }
            server.clone()
        }
        (None, Some(told)) => {
            // OpenSearch began with 1.0, long after Elasticsearch of these numbers; at `/` it may pass
            // for Elasticsearch 7.10.2 (compatibility.override_main_response_version).
            let product = if told.0 < Version::release(4, 0, 0) {
                Product::OpenSearch
            } else {
                asked.map_or(Product::Elasticsearch, |server| server.product)
            };
            if told.0 != told.1 {
                warnings.push(format!(
                    "{}: the cluster is taken for one of {}, the lowest, whatever its master runs \
                     (--version says otherwise).",
                    capital(&run(told)),
                    told.0
                ));
            }
            Server::of(product, told.0).map_err(|error| {
                CommandError::new(Kind::Input, format!("{}: {error}", loaded.source))
                    .hint("--version takes the server for another one")
            })?
        }
        (None, None) => asked.unwrap_or_else(|| {
            warnings.push(
                "The version of the server was not told: it is taken for 7.4.0 (--nodes takes the answer \
                 of _nodes, and --version says it)."
                    .to_owned(),
            );
            default_server()
        }),
    };
    loaded.state.assume_version(loaded.server.version);
    Ok(())
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Said of servers that are none of 7.4, whose allocation is the one that is modelled.
pub fn decisions_note(server: &Server) -> Option<String> {
    let modelled = Version::release(7, 4, 0)..Version::release(7, 5, 0);
    let is_modelled =
        server.product == Product::Elasticsearch && modelled.contains(&server.version);
    (!is_modelled).then(|| {
        format!("Decisions are those of Elasticsearch 7.4.0: {server} may decide otherwise.")
    })
}

/// What was not told, and what it was taken for.
fn assumed(loaded: &mut Loaded) {
    let without_path = loaded.state.complete_paths();
    let state = &loaded.state;
    let unknown = state.nodes_of_unknown_role();
    if unknown > 0 {
        loaded.warnings.push(format!(
            "The state does not tell the roles of {unknown} nodes: they are taken for data nodes \
             (--nodes takes the answer of _nodes)."
        ));
    }
    let disks = state
        .cluster
        .info
        .as_ref()
        .is_some_and(|info| !info.is_empty());
    if !disks {
        loaded.warnings.push(
            "Disks were not told, so the disk decider allows everything (--nodes takes the answer of \
             _nodes/stats)."
                .to_owned(),
        );
    }
    if without_path > 0 {
        loaded.warnings.push(format!(
            "On which of its node's disks a shard lies was not told of {without_path}: they stay where \
             they are, however full it is (--sizes takes the answer of _stats?level=shards)."
        ));
    }
    let sized = state.cluster.routing.copies().any(|copy| {
        let info = state.cluster.info.as_ref();
        info.is_some_and(|info| info.size_bytes(copy.shard, copy.primary).is_some())
    });
    if !sized {
        loaded.warnings.push(
            "Sizes of shards were not told: they count as unknown (--sizes takes the answer of \
             _stats?level=shards or _cat/shards?bytes=b&format=json)."
                .to_owned(),
        );
    }
}

fn now_nanos() -> Result<i64, CommandError> {
    let nanos = generated_at()?.as_nanosecond();
    Ok(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn default_server() -> Server {
    Server::parse("7.4.0").expect("a version that is modelled")
}

fn from_files(arguments: &StateArgs) -> Result<Loaded, CommandError> {
    // Until the nodes are known.
    let server = arguments.version.clone().unwrap_or_else(default_server);
    let (state, source) = if arguments.state == "-" {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        let state = State::read(Source::Stream(&mut stdin), server.version)
            .map_err(|error| state_error("standard input", STATE, &error))?;
        (state, "standard input".to_owned())
    } else {
        let path = Path::new(&arguments.state);
        let state = read_file(path, STATE, |source| State::read(source, server.version))?;
        (state, format!("file {}", arguments.state))
    };
    Ok(Loaded {
        state,
        server,
        source,
        warnings: Vec::new(),
        now_nanos: now_nanos()?,
    })
}

/// Hands a file to a reader.
fn read_file<T>(
    path: &Path,
    request: &str,
    read: impl FnOnce(Source<'_>) -> Result<T, StateError>,
) -> Result<T, CommandError> {
    let shown = report::escape(&path.display().to_string()).into_owned();
    let unreadable = |error: std::io::Error| {
        CommandError::new(Kind::Environment, format!("{shown}: {error}"))
            .hint("name a file that is there and that you may read")
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    // Devices and pipes have no length, and may have no end.
    let value = if metadata.is_file() && metadata.len() <= IN_MEMORY_BYTES_MAX {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        read(Source::Bytes(&bytes))
    } else {
        read(Source::Stream(&mut BufReader::with_capacity(1 << 20, file)))
    };
    value.map_err(|error| state_error(&shown, request, &error))
}

fn state_error(source: &str, request: &str, error: &StateError) -> CommandError {
    let shown = CommandError::new(Kind::Input, format!("{source}: {error}"));
    match error {
        StateError::Json { .. } => {
            shown.hint(format!("save the whole answer of {request} as it came"))
        }
        StateError::NotJson { way_out, .. } => {
            shown.hint(format!("{way_out}; the answer of {request} is wanted"))
        }
        StateError::ErrorAnswer { .. } => shown.hint(format!(
            "ask {request} again, with credentials where the server wants them, and save that answer"
        )),
        StateError::Contradiction(_) => shown.hint(format!(
            "give the answer of {request}, of one moment and in one piece"
        )),
        _ => shown,
    }
}

/// A state that was read, and whose copies turn out not to fit together.
pub fn misfit(source: &str, error: &RoutingError) -> CommandError {
    CommandError::new(
        Kind::Input,
        format!(
            "{}: {}",
            report::escape(source),
            report::escape(&error.to_string())
        ),
    )
    .hint(format!(
        "give the answer of {STATE}, of one moment and in one piece"
    ))
}

/// What takes an answer in.
type Reader = fn(&mut State, Source<'_>) -> Result<(), StateError>;

/// `GET /`.
#[derive(Deserialize)]
struct Welcome {
    version: WelcomeVersion,
}

#[derive(Deserialize)]
struct WelcomeVersion {
    number: String,
    #[serde(default)]
    distribution: Option<String>,
}

/// The cluster, and what the asked node says that it runs.
fn from_url(arguments: &StateArgs) -> Result<(Loaded, Option<Server>), CommandError> {
    let endpoint = parse_endpoint(&arguments.state, "--state")?;
    let options = http_options(
        arguments.credentials_file.as_deref(),
        arguments.ca_file.as_deref(),
    )?;
    let client = Client::new(http::Options {
        deadline: DEADLINE,
        body_bytes_max: ANSWER_BYTES_MAX,
        ..options
    })
    .map_err(|error| http_error(&error))?;
    if client.sends_secrets_in_clear(&endpoint) {
        tracing::warn!("{endpoint}: the credentials travel unencrypted (https:// would hide them)");
    }
    let asked = match &arguments.version {
        Some(_) => None,
        None => Some(ask_version(&client, &endpoint)?),
    };
    let server = arguments.version.as_ref().or(asked.as_ref());
    let server = server.cloned().unwrap_or_else(default_server);
    let mut warnings = Vec::new();
    let answer = get(&client, &endpoint, "/_cluster/state")?;
    let source = endpoint.to_string();
    let mut state = State::read(Source::Bytes(&answer), server.version)
        .map_err(|error| state_error(&source, STATE, &error))?;
    drop(answer);
    // Without these the model still answers, and says what it had to assume.
    let more: [(&str, Reader); 4] = [
        ("/_nodes", State::read_nodes),
        ("/_nodes/stats/fs", State::read_nodes),
        ("/_stats/store?level=shards", State::read_sizes),
        (
            "/_cluster/settings?include_defaults=true&flat_settings=true",
            State::read_settings,
        ),
    ];
    for (path, read) in more {
        match get(&client, &endpoint, path) {
            Ok(bytes) => read(&mut state, Source::Bytes(&bytes))
                .map_err(|error| state_error(&source, &format!("GET {path}"), &error))?,
            Err(error) => warnings.push(error.message),
        }
    }
    let loaded = Loaded {
        state,
        server,
        source,
        warnings,
        now_nanos: now_nanos()?,
    };
    Ok((loaded, asked))
}

fn ask_version(client: &Client, endpoint: &Endpoint) -> Result<Server, CommandError> {
    let welcome: Welcome = client
        .get_json(endpoint, "/")
        .map_err(|error| http_error(&error))?;
    let product = match welcome.version.distribution.as_deref() {
        Some("opensearch") => Product::OpenSearch,
        _ => Product::Elasticsearch,
    };
    let name = format!("{product}-{}", welcome.version.number);
    Server::parse(&name).map_err(|error| {
        CommandError::new(Kind::Input, format!("{endpoint}: {error}"))
            .hint("--version takes the server for another one")
    })
}

fn get(client: &Client, endpoint: &Endpoint, path: &str) -> Result<Vec<u8>, CommandError> {
    let answer = client.get(endpoint, path).and_then(http::Response::success);
    answer
        .map(|response| response.body)
        .map_err(|error| http_error(&error))
}

fn http_error(error: &HttpError) -> CommandError {
    CommandError::new(Kind::Environment, error.to_string()).hint(error.hint())
}
