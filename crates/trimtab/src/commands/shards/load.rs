//! A cluster from files, standard input, or a URL.

use super::args::StateArgs;
use crate::answer::generated_at;
use crate::commands::access::{self, http_options, parse_endpoint};
use crate::commands::cluster::saved;
use crate::error::CommandError;
use crate::progress::Draw;
use ::cluster::{Root, ShardAnswer, ask_root, ask_shards, shard_options};
use bounded_http::{Client, Endpoint};
use host::source::is_archive;
use shards::model::{Product, Version};
use shards::nodes::RoutingError;
use shards::profile::Server;
use shards::reading;
use shards::state::{Source, State, StateError};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

// Requests whose responses are accepted as input, named in hints.
const STATE: &str = "GET _cluster/state";
const NODES: &str = "GET _nodes/stats (or _nodes)";
const SIZES: &str = "GET _stats?level=shards (or _cat/shards?bytes=b&format=json)";
const DESIRED: &str = "GET _internal/desired_balance";
const SETTINGS: &str = "GET _cluster/settings?include_defaults=true";

/// Files up to this size are read into memory, which is faster; larger ones are streamed.
const IN_MEMORY_BYTES_MAX: u64 = 1 << 30;

/// A cluster as read from files or a server.
pub struct Loaded {
    /// Cluster state, with disks, sizes and settings if given.
    pub state: State,
    /// Product and version.
    pub server: Server,
    /// Whether the version was given or reported, not assumed.
    pub server_is_known: bool,
    /// Description of the source for the user.
    pub source: String,
    /// Assumptions and other warnings.
    pub warnings: Vec<String>,
    /// Current time, nanoseconds since 1970.
    pub now_nanos: i64,
}

impl Loaded {
    /// `server` is provisional until the nodes are known.
    fn of(state: State, server: Server, source: String, now_nanos: i64) -> Self {
        Self {
            state,
            server,
            server_is_known: false,
            source,
            warnings: Vec::new(),
            now_nanos,
        }
    }
}

/// Reads the cluster from a file, standard input or a URL.
///
/// # Errors
/// When a file or response cannot be read or parsed.
pub fn load(arguments: &StateArgs, quiet: bool) -> Result<Loaded, CommandError> {
    let mut draw = Draw::new(quiet);
    draw.show("reading the cluster state");
    let from = arguments
        .state
        .as_deref()
        .ok_or_else(|| CommandError::usage("--state is needed"))?;
    let (mut loaded, asked) = if from.contains("://") {
        from_url(from, arguments)?
    } else if let Some(archive) = archive(from)? {
        (from_archive(from, archive.as_ref(), arguments)?, None)
    } else {
        (from_file(from, arguments)?, None)
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
    if let Some(path) = &arguments.desired {
        read_file(path, DESIRED, |source| state.read_desired(source))?;
    }
    loaded.server_is_known =
        arguments.version.is_some() || asked.is_some() || state.known_versions().is_some();
    let (server, warnings) = reading::determine_server(state, arguments.version.as_ref(), asked)
        .map_err(|error| not_modelled(&loaded.source, &error))?;
    loaded.server = server;
    loaded.warnings.extend(warnings);
    loaded.warnings.extend(loaded.server.warning.clone());
    loaded
        .warnings
        .extend(reading::decisions_note(&loaded.server));
    loaded.warnings.append(&mut loaded.state.warnings);
    loaded
        .warnings
        .extend(reading::assumptions(&mut loaded.state));
    Ok(loaded)
}

fn not_modelled(source: &str, error: &impl std::fmt::Display) -> CommandError {
    CommandError::input(format!("{source}: {error}"))
        .hint("--version takes the server for another one")
}

fn now_nanos() -> Result<i64, CommandError> {
    let nanos = generated_at()?.as_nanosecond();
    Ok(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn from_file(from: &str, arguments: &StateArgs) -> Result<Loaded, CommandError> {
    let server = arguments.version.clone().unwrap_or_default();
    let (state, source) = if from == "-" {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        let state = State::read(Source::Stream(&mut stdin), server.version)
            .map_err(|error| state_error("standard input", STATE, &error))?;
        (state, "standard input".to_owned())
    } else {
        let path = Path::new(from);
        let state = read_file(path, STATE, |source| State::read(source, server.version))?;
        (state, format!("file {from}"))
    };
    Ok(Loaded::of(state, server, source, now_nanos()?))
}

/// The files of support-diagnostics that supplement the state, and what is read from them.
const SUPPLEMENTS: &[(&str, ShardAnswer)] = &[
    ("nodes.json", ShardAnswer::Roles),
    ("nodes_stats.json", ShardAnswer::Disks),
    ("indices_stats.json", ShardAnswer::Sizes),
    ("cluster_settings_defaults.json", ShardAnswer::Settings),
    ("internal_desired_balance.json", ShardAnswer::Desired),
];

fn supplement(state: &mut State, answer: ShardAnswer, body: &[u8]) -> Result<(), StateError> {
    let body = Source::Bytes(body);
    match answer {
        ShardAnswer::Roles | ShardAnswer::Disks => state.read_nodes(body),
        ShardAnswer::Sizes => state.read_sizes(body),
        ShardAnswer::Settings => state.read_settings(body),
        ShardAnswer::Desired => state.read_desired(body),
        ShardAnswer::State => Ok(()),
    }
}

/// Opens a directory or an archive; `None` if it is the file of an answer.
fn archive(from: &str) -> Result<Option<Box<dyn host::Source>>, CommandError> {
    let path = Path::new(from);
    if !path.is_dir() && !is_archive(path) {
        return Ok(None);
    }
    let source = crate::commands::source::stored(path, "--state")?.source;
    if source.stat("cluster_state.json").is_err() {
        let message = format!("--state {from}: it holds no cluster_state.json");
        return Err(CommandError::input(message).hint(format!(
            "give an archive of support-diagnostics (its full mode), or the answer of {STATE}"
        )));
    }
    Ok(Some(source))
}

/// Reads the cluster from an archive of support-diagnostics. Files that are named besides add to what
/// is in it.
fn from_archive(
    from: &str,
    archive: &dyn host::Source,
    arguments: &StateArgs,
) -> Result<Loaded, CommandError> {
    let server = arguments.version.clone().unwrap_or_default();
    let unread =
        |name: &str, why: String| CommandError::input(format!("--state {from}: {name}: {why}"));
    let name = "cluster_state.json";
    let body = saved(archive, name).map_err(|why| {
        unread(name, why)
            .hint("unpack the archive and name the directory: files are not limited there")
    })?;
    let mut state = State::read(Source::Bytes(&body), server.version)
        .map_err(|error| state_error(&format!("{from}: {name}"), STATE, &error))?;
    drop(body);
    let mut warnings = Vec::new();
    for &(name, answer) in SUPPLEMENTS {
        let body = match saved(archive, name) {
            Ok(body) => body,
            // Servers before 8.6 have none.
            Err(_) if answer == ShardAnswer::Desired => continue,
            // These are optional: without them the model states its assumptions.
            Err(why) => {
                warnings.push(format!("{name}: {why}"));
                continue;
            }
        };
        if let Err(why) = supplement(&mut state, answer, &body) {
            warnings.push(format!("{name}: {why}"));
        }
    }
    let now_nanos = archive
        .collected_at()
        .and_then(|at| i64::try_from(at.as_nanosecond()).ok())
        .map_or_else(now_nanos, Ok)?;
    let source = format!("support-diagnostics {from}");
    let mut loaded = Loaded::of(state, server, source, now_nanos);
    loaded.warnings = warnings;
    Ok(loaded)
}

/// Opens a file and passes it to `read`.
fn read_file<T>(
    path: &Path,
    request: &str,
    read: impl FnOnce(Source<'_>) -> Result<T, StateError>,
) -> Result<T, CommandError> {
    let shown = units::escape::escape(&path.display().to_string()).into_owned();
    let unreadable = |error| CommandError::unreadable(&shown, error);
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    // Devices and pipes have no length and may be endless.
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
    let shown = CommandError::input(format!("{source}: {error}"));
    match error {
        StateError::Json { .. } => {
            shown.hint(format!(
                "save the whole answer of {request} as it came: uncompressed JSON in UTF-8, without a byte order mark"
            ))
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

/// The error for a state whose shard copies are inconsistent.
pub fn misfit(source: &str, error: &RoutingError) -> CommandError {
    CommandError::input(format!(
        "{}: {}",
        units::escape::escape(source),
        units::escape::escape(&error.to_string())
    ))
    .hint(format!(
        "give the answer of {STATE}, of one moment and in one piece"
    ))
}

/// The cluster, and the product and version reported by the queried node.
fn from_url(from: &str, arguments: &StateArgs) -> Result<(Loaded, Option<Server>), CommandError> {
    let endpoint = parse_endpoint(from, "--state")?;
    let options = http_options(
        arguments.credentials_file.as_deref(),
        arguments.ca_file.as_deref(),
    )?;
    let client = access::client(shard_options(options), &endpoint)?;
    let asked = match &arguments.version {
        Some(_) => None,
        None => Some(ask_server(&client, &endpoint)?),
    };
    let has_desired = |server: &Server| {
        server.product == Product::Elasticsearch && server.version >= Version::release(8, 6, 0)
    };
    let server = arguments.version.as_ref().or(asked.as_ref());
    let has_desired = server.is_some_and(has_desired);
    let server = server.cloned().unwrap_or_default();
    let source = endpoint.to_string();
    let ask = |answer| ask_shards(&client, &endpoint, answer);
    let answer = ask(ShardAnswer::State)?;
    let mut state = State::read(Source::Bytes(&answer), server.version)
        .map_err(|error| state_error(&source, STATE, &error))?;
    drop(answer);
    let mut warnings = Vec::new();
    // These are optional: without them the model states its assumptions.
    for wanted in ShardAnswer::OPTIONAL {
        if wanted == ShardAnswer::Desired && !has_desired {
            continue;
        }
        let bytes = match ask(wanted) {
            Ok(bytes) => bytes,
            Err(error) => {
                warnings.push(error.to_string());
                continue;
            }
        };
        supplement(&mut state, wanted, &bytes)
            .map_err(|error| state_error(&source, &format!("GET {}", wanted.path()), &error))?;
    }
    let mut loaded = Loaded::of(state, server, source, now_nanos()?);
    loaded.warnings = warnings;
    Ok((loaded, asked))
}

fn ask_server(client: &Client, endpoint: &Endpoint) -> Result<Server, CommandError> {
    let Root {
        flavour, version, ..
    } = ask_root(client, endpoint)?;
    let product = flavour.label().to_ascii_lowercase();
    Server::parse(&format!("{product}-{version}"))
        .map_err(|error| not_modelled(&endpoint.to_string(), &error))
}
