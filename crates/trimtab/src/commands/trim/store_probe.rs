//! `--probe URL|COMMAND` and `--require-green URL`: queries stores and clusters. A command never runs twice
//! at the same time, since concurrent runs might interfere.

#[cfg(test)]
mod tests;

use crate::commands::access::{self, parse_endpoint};
use crate::error::{CommandError, Kind};
use bounded_http::{Client, Endpoint};
use cluster::GreenError;
use std::time::Duration;
use trim::clock::SystemClock;
use trim::probe::store::command::{CommandError as ProgramError, CommandProbe};
use trim::probe::store::{Ask, Question, StoreProbe};
use trim::session::ClusterState;
use units::escape;

/// Maximum number of pending requests to a URL.
const WAITING_MAX: usize = 4;

/// How a store is probed.
#[derive(Debug, Clone)]
pub struct StoreProbeOptions {
    /// Requests per second.
    pub requests_per_s: f64,
    /// Time after which a request counts as failed, or a command is killed.
    pub time_limit: Duration,
    /// Credentials and certificates for URLs; `time_limit` replaces its deadline.
    pub http: bounded_http::Options,
}

impl StoreProbeOptions {
    /// Two requests per second, with a time limit of ten seconds.
    pub fn new(http: bounded_http::Options) -> Self {
        Self {
            requests_per_s: 2.0,
            time_limit: Duration::from_secs(10),
            http,
        }
    }
}

/// Queries the cluster of `--require-green` once.
///
/// # Errors
/// A usage or environment error if it cannot be queried.
pub fn cluster_state<E: From<CommandError>>(
    url: &str,
    options: bounded_http::Options,
) -> Result<ClusterState<E>, CommandError> {
    let endpoint = parse_endpoint(url, "--require-green")?;
    let client = access::client(options, &endpoint)?;
    match cluster::require_green(&client, &endpoint) {
        Ok(name) => Ok(ClusterState::Green(name)),
        Err(GreenError::NotGreen { name, why }) => {
            let error = GreenError::NotGreen { name, why };
            Ok(ClusterState::NotGreen {
                why: error.to_string(),
                error: CommandError::because(Kind::Refused, error)
                    .hint(
                        "wait until it is green, or start without --require-green; within a --window a pass waits by \
                         itself",
                    )
                    .into(),
            })
        }
        Err(GreenError::Http(error)) => Err(CommandError::from(error).at("--require-green")),
    }
}

struct UrlProbe {
    client: Client,
    endpoint: Endpoint,
}

impl UrlProbe {
    fn open(text: &str, options: &StoreProbeOptions) -> Result<Self, CommandError> {
        let endpoint = parse_endpoint(text, "--probe")?;
        let http = bounded_http::Options {
            deadline: options.time_limit,
            ..options.http.clone()
        };
        let client = access::client(http, &endpoint)?;
        // Connect now, so that no reading includes the connection setup.
        let first = client
            .get(&endpoint, "")
            .and_then(bounded_http::Response::success);
        first.map_err(|error| CommandError::from(error).at("--probe"))?;
        Ok(Self { client, endpoint })
    }
}

impl Ask for UrlProbe {
    fn ask(&self) -> Result<(), String> {
        let answer = self.client.get(&self.endpoint, "");
        let answered = answer.and_then(bounded_http::Response::success);
        answered.map(drop).map_err(|error| error.to_string())
    }

    fn abort(&self) {
        self.client.shut_down();
    }
}

/// Probes once and waits for the result, then keeps probing in the background at the configured rate.
///
/// # Errors
/// When `what` is neither a URL nor a command, or fails at once: a usage or environment error with a hint.
pub fn start(
    what: &str,
    options: &StoreProbeOptions,
    clock: SystemClock,
) -> Result<StoreProbe, CommandError> {
    launch(question(what, options)?, clock)
}

/// Probes once and waits for the result; returns what is asked from then on.
fn question(what: &str, options: &StoreProbeOptions) -> Result<Question, CommandError> {
    let (ask, label, waiting_max): (Box<dyn Ask>, _, _) = if is_url(what) {
        let probe = UrlProbe::open(what, options)?;
        let label = probe.endpoint.to_string();
        (Box::new(probe), label, WAITING_MAX)
    } else {
        let secrets = &bounded_http::SECRET_VARIABLES;
        let probe = CommandProbe::open(what, options.time_limit, secrets)
            .map_err(|error| program_error(&error))?;
        let label = probe.label();
        (Box::new(probe), label, 1)
    };
    let told = label.clone();
    Ok(Question {
        label,
        ask,
        waiting_max,
        requests_per_s: options.requests_per_s,
        warn: Box::new(move |reason| tracing::warn!("--probe {told}: {}", escape(reason))),
    })
}

fn launch(question: Question, clock: SystemClock) -> Result<StoreProbe, CommandError> {
    StoreProbe::start(question, clock).map_err(|error| {
        CommandError::because(Kind::Environment, error)
            .at("--probe: no thread")
            .hint("check the limit of processes: ulimit -u, TasksMax=")
    })
}

fn program_error(error: &ProgramError) -> CommandError {
    let text = format!("--probe: {error}");
    let text = escape(&text);
    match error {
        ProgramError::Unreadable { .. } => CommandError::usage(text)
            .hint("a URL (http://localhost:9200/) or a program with its arguments"),
        ProgramError::Failed { .. } => CommandError::environment(text)
            .hint("it has to exit with 0 while the store is well; try it by hand")
            .hint("no shell reads it: write sh -c '...' for pipes, variables and redirections"),
    }
}

/// Whether `what` is meant as a URL: a scheme and `://`, or a first word with an `@`, as in a URL without
/// its scheme. The latter is rejected without being repeated, as there may be a password before the `@`.
pub fn is_url(what: &str) -> bool {
    let what = what.trim_start();
    let first = what.split_whitespace().next().unwrap_or_default();
    let has_scheme = first.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    has_scheme || (first.contains('@') && !first.contains('/'))
}
