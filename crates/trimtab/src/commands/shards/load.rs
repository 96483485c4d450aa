//! A cluster from files, standard input, or a URL.

use super::args::StateArgs;
use crate::commands::check::generated_at;
use crate::commands::trim::store_probe::{http_options, parse_endpoint};
use crate::error::{CommandError, Kind};
use http::{Client, Endpoint, HttpError};
use serde::Deserialize;
use shards::profile::{Product, Server};
use shards::state::{Source, State, StateError};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

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
    let mut loaded = if arguments.state.contains("://") {
        from_url(arguments)?
    } else {
        from_files(arguments)?
    };
    let state = &mut loaded.state;
    for path in &arguments.nodes {
        read_file(path, |source| state.read_nodes(source))?;
    }
    for path in &arguments.sizes {
        read_file(path, |source| state.read_sizes(source))?;
    }
    if let Some(path) = &arguments.settings {
        read_file(path, |source| state.read_settings(source))?;
    }
    loaded.warnings.extend(loaded.server.warning.clone());
    loaded.warnings.append(&mut loaded.state.warnings);
    assumed(&mut loaded);
    Ok(loaded)
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

fn default_version(arguments: &StateArgs, warnings: &mut Vec<String>) -> Server {
    arguments.version.clone().unwrap_or_else(|| {
        warnings.push(
            "The state does not tell the version of the server: it is taken for 7.4.0 (--version says \
             otherwise)."
                .to_owned(),
        );
        Server::parse("7.4.0").expect("a version that is modelled")
    })
}

fn from_files(arguments: &StateArgs) -> Result<Loaded, CommandError> {
    let mut warnings = Vec::new();
    let server = default_version(arguments, &mut warnings);
    let (state, source) = if arguments.state == "-" {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        let state = State::read(Source::Stream(&mut stdin), server.version)
            .map_err(|error| state_error("standard input", &error))?;
        (state, "standard input".to_owned())
    } else {
        let path = Path::new(&arguments.state);
        let state = read_file(path, |source| State::read(source, server.version))?;
        (state, format!("file {}", arguments.state))
    };
    Ok(Loaded {
        state,
        server,
        source,
        warnings,
        now_nanos: now_nanos()?,
    })
}

/// Hands a file to a reader.
fn read_file<T>(
    path: &Path,
    read: impl FnOnce(Source<'_>) -> Result<T, StateError>,
) -> Result<T, CommandError> {
    let shown = path.display().to_string();
    let unreadable = |error: std::io::Error| {
        CommandError::new(Kind::Environment, format!("{shown}: {error}"))
            .hint("name a file that is there and that you may read")
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let value = if length <= IN_MEMORY_BYTES_MAX {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        read(Source::Bytes(&bytes))
    } else {
        read(Source::Stream(&mut BufReader::with_capacity(1 << 20, file)))
    };
    value.map_err(|error| state_error(&shown, &error))
}

fn state_error(source: &str, error: &StateError) -> CommandError {
    let shown = CommandError::new(Kind::Input, format!("{source}: {error}"));
    match error {
        StateError::Json { .. } => {
            shown.hint("save the whole answer of GET _cluster/state as it came")
        }
        StateError::Contradiction(_) => {
            shown.hint("the parts of an answer belong to one moment: save it in one piece")
        }
        _ => shown,
    }
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

fn from_url(arguments: &StateArgs) -> Result<Loaded, CommandError> {
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
    let server = match &arguments.version {
        Some(server) => server.clone(),
        None => ask_version(&client, &endpoint)?,
    };
    let mut warnings = Vec::new();
    let answer = get(&client, &endpoint, "/_cluster/state")?;
    let source = endpoint.to_string();
    let mut state = State::read(Source::Bytes(&answer), server.version)
        .map_err(|error| state_error(&source, &error))?;
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
                .map_err(|error| state_error(&source, &error))?,
            Err(error) => warnings.push(error.message),
        }
    }
    Ok(Loaded {
        state,
        server,
        source,
        warnings,
        now_nanos: now_nanos()?,
    })
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
