//! Clusters: asked live, kept in a bundle, read back.

use crate::arguments::ClusterArgs;
use crate::commands::access::{self, parse_endpoint};
use crate::config::CheckConfig;
use crate::error::{CommandError, Kind};
use crate::input;
use cluster::Answers;
use facts::cluster::MasterThreads;
use host::{Source, Unread};
use jiff::Timestamp;
use std::path::Path;

/// Where a bundle keeps the answers: beside the host's files, at a path that no host has.
pub const BUNDLE_PATH: &str = "trimtab/cluster.json";
/// The longest file of answers that is read, in bytes: what a bundle may hold in one file.
const ANSWERS_BYTES_MAX: usize = 16 << 20;
/// The longest thread dump that is read, in bytes.
const THREADS_BYTES_MAX: u64 = 64 << 20;

/// Which cluster is asked, and in whose words the errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// That of `--cluster`.
    Named(&'a str),
    /// That of the configuration, which this host belongs to.
    Configured(&'a str),
    /// None.
    Nobody,
}

impl<'a> Asked<'a> {
    /// The flag's; the configuration's where nothing but this host is looked at.
    ///
    /// # Errors
    /// A usage error where none is asked and yet it is said how.
    pub fn new(
        arguments: &'a ClusterArgs,
        config: &'a CheckConfig,
        this_host: bool,
    ) -> Result<Self, CommandError> {
        if let Some(url) = &arguments.cluster {
            return Ok(Self::Named(url));
        }
        if let (Some(url), true) = (&config.cluster, this_host) {
            return Ok(Self::Configured(url));
        }
        let access = &arguments.access;
        let flags = [
            ("--timeout", access.timeout.is_some()),
            ("--credentials-file", access.credentials_file.is_some()),
            ("--ca-file", access.ca_file.is_some()),
        ];
        match flags.into_iter().find(|(_, given)| *given) {
            None => Ok(Self::Nobody),
            Some((flag, _)) => Err(CommandError::new(
                Kind::Usage,
                format!("{flag}: no cluster is asked"),
            )
            .hint("name it with --cluster URL")),
        }
    }

    /// The URL, and what it was given to.
    fn url(self) -> Option<(&'a str, &'static str)> {
        match self {
            Self::Named(url) => Some((url, "--cluster")),
            Self::Configured(url) => Some((url, "configuration: [check] cluster")),
            Self::Nobody => None,
        }
    }
}

/// Asks a cluster; `None` where none is to be asked.
///
/// # Errors
/// Where it cannot be asked at all; what it does not tell is no error.
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

/// The answers that a bundle or directory holds; `None` where it holds none.
///
/// # Errors
/// Where they cannot be understood.
pub fn stored(source: &dyn Source) -> Result<Option<Answers>, CommandError> {
    match source.read(BUNDLE_PATH, ANSWERS_BYTES_MAX) {
        Ok(bytes) => {
            let answers = Answers::from_json(&bytes, BUNDLE_PATH)
                .map_err(|error| CommandError::because(Kind::Input, error))?;
            Ok(Some(answers))
        }
        Err(Unread::NotFound | Unread::NotRecorded) => Ok(None),
        Err(unread) => Err(CommandError::new(
            Kind::Input,
            format!("{BUNDLE_PATH}: {unread}"),
        )),
    }
}

/// The facts of a cluster, with the threads of a file in place of its own answer.
///
/// # Errors
/// Where the answers tell no version, or the file holds no threads.
pub fn facts(
    answers: &Answers,
    hot_threads: Option<&Path>,
) -> Result<facts::Cluster, CommandError> {
    let mut cluster = answers
        .facts()
        .map_err(|error| CommandError::because(Kind::Input, error))?;
    if let Some(path) = hot_threads {
        cluster.master_threads = Some(read_threads(path)?);
        // What was not told is now known from elsewhere.
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
