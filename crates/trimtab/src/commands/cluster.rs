//! Clusters, queried live or read from a bundle.

use crate::arguments::ClusterArgs;
use crate::commands::access::{self, parse_endpoint};
use crate::config::CheckConfig;
use crate::error::{CommandError, Kind};
use crate::input;
use cluster::{Answers, diagnostics};
use facts::cluster::MasterThreads;
use host::{Source, Unread};
use jiff::Timestamp;
use std::path::Path;

/// Path of the cluster's answers in a bundle, next to the host's files; no host has such a path.
pub const BUNDLE_PATH: &str = "trimtab/cluster.json";
/// Maximum size of the answers file, in bytes: the limit for one file in a bundle.
const ANSWERS_BYTES_MAX: usize = 16 << 20;
/// Maximum size of one answer in an archive of support-diagnostics: a cluster's whole state.
const SAVED_BYTES_MAX: usize = 1 << 30;
/// Maximum size of a thread dump, in bytes.
const THREADS_BYTES_MAX: u64 = 64 << 20;

/// The cluster to query and where its URL comes from, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// The URL of `--cluster`.
    Named(&'a str),
    /// The configured URL of the cluster this host belongs to.
    Configured(&'a str),
    /// No cluster.
    Nobody,
}

impl<'a> Asked<'a> {
    /// Uses the flag, or the configured cluster if only this host is checked.
    pub fn of(arguments: &'a ClusterArgs, config: &'a CheckConfig, this_host: bool) -> Self {
        match (&arguments.cluster, &config.cluster) {
            (Some(url), _) => Self::Named(url),
            (None, Some(url)) if this_host => Self::Configured(url),
            _ => Self::Nobody,
        }
    }

    /// As [`Self::of`].
    ///
    /// # Errors
    /// A usage error if access options are given but no cluster is queried.
    pub fn new(
        arguments: &'a ClusterArgs,
        config: &'a CheckConfig,
        this_host: bool,
    ) -> Result<Self, CommandError> {
        let asked = Self::of(arguments, config, this_host);
        let access = &arguments.access;
        let flags = [
            ("--timeout", access.timeout.is_some()),
            ("--credentials-file", access.credentials_file.is_some()),
            ("--ca-file", access.ca_file.is_some()),
        ];
        match flags.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) if asked == Self::Nobody => {
                Err(CommandError::usage(format!("{flag}: no cluster is given"))
                    .hint("name it with --cluster URL"))
            }
            _ => Ok(asked),
        }
    }

    /// The URL and the option or configuration key that set it.
    fn url(self) -> Option<(&'a str, &'static str)> {
        match self {
            Self::Named(url) => Some((url, "--cluster")),
            Self::Configured(url) => Some((url, "configuration: [check] cluster")),
            Self::Nobody => None,
        }
    }
}

/// Queries the cluster; `None` if there is none to query.
///
/// # Errors
/// When the cluster cannot be reached; parts it does not provide are not errors.
pub fn ask(
    asked: Asked<'_>,
    arguments: &ClusterArgs,
    config: &CheckConfig,
) -> Result<Option<Answers>, CommandError> {
    let Some((url, given_to)) = asked.url() else {
        return Ok(None);
    };
    let endpoint = parse_endpoint(url, given_to)?;
    let options = access::options(&arguments.access, config.into(), cluster::options)?;
    let client = access::client(options, &endpoint).map_err(|error| error.at(given_to))?;
    let start = std::time::Instant::now();
    let answers = cluster::ask(&client, &endpoint, Timestamp::now())
        .map_err(|error| CommandError::from(error).at(given_to))?;
    tracing::info!(
        time_ms = start.elapsed().as_secs_f64() * 1e3,
        "asked {endpoint}"
    );
    Ok(Some(answers))
}

/// Reads the cluster answers stored in a bundle, a directory or an archive of support-diagnostics,
/// `None` if there are none. `label` names the source.
///
/// # Errors
/// When they cannot be parsed.
pub fn stored(source: &dyn Source, label: &str) -> Result<Option<Answers>, CommandError> {
    if !source.holds_a_host() && source.stat(diagnostics::VERSION_FILE).is_ok() {
        let files = |name: &str| saved(source, name);
        let answers = diagnostics::from_diagnostics(&files, label)
            .map_err(|error| CommandError::because(Kind::Input, error).at(label))?;
        return Ok(Some(answers));
    }
    match source.read(BUNDLE_PATH, ANSWERS_BYTES_MAX) {
        Ok(bytes) => {
            let answers = Answers::from_json(&bytes, BUNDLE_PATH)
                .map_err(|error| CommandError::because(Kind::Input, error))?;
            Ok(Some(answers))
        }
        Err(Unread::NotFound | Unread::NotRecorded) => Ok(None),
        Err(unread) => Err(CommandError::input(format!("{BUNDLE_PATH}: {unread}"))),
    }
}

/// Reads one file of an archive of support-diagnostics.
///
/// # Errors
/// Why it cannot be read.
pub fn saved(source: &dyn Source, name: &str) -> Result<Vec<u8>, String> {
    let read = source.read(name, SAVED_BYTES_MAX);
    read.map_err(|unread| unread.to_string())
}

/// The facts of a cluster; a thread dump file replaces the cluster's own hot threads.
///
/// # Errors
/// When the answers contain no version, or the file no threads.
pub fn facts(
    answers: &Answers,
    hot_threads: Option<&Path>,
) -> Result<facts::Cluster, CommandError> {
    let mut cluster = answers
        .facts()
        .map_err(|error| CommandError::because(Kind::Input, error))?;
    if let Some(path) = hot_threads {
        cluster.master_threads = Some(read_threads(path)?);
        // The file supplies what the cluster did not provide.
        cluster
            .skipped
            .retain(|skipped| !skipped.what.contains("hot threads"));
    }
    Ok(cluster)
}

fn read_threads(path: &Path) -> Result<MasterThreads, CommandError> {
    let name = path.display().to_string();
    let bytes = input::bytes(path, &format!("--hot-threads {name}"), THREADS_BYTES_MAX)?;
    cluster::threads::from_file(&bytes, &name).map_err(|error| {
        CommandError::because(Kind::Input, error)
            .at("--hot-threads")
            .hint("on the master: jstack PID > FILE, as the user that runs the server")
    })
}
