//! One trial on one server: finds the server, hands this host in, and draws progress.

use super::host::{ThisHost, is_here, trim_debt};
use crate::arguments::AccessArgs;
use crate::commands::access::{self, parse_endpoint};
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use bench::driver::{Control, Options, Progress, Second, Stage, Target};
use bench::host::cgroups_of;
use bench::track::{PhaseKind, Track};
use bench::trial::{self, Identity, Place, Request, ServerReader, TrialError};
use bounded_http::ErrorKind;
use facts::host::Host;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trim::signals;

/// As --timeout says.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The servers' figures are asked for once a second.
const FIGURES_TIMEOUT: Duration = Duration::from_secs(5);
const OF_MONGODB: &str = "bench loads Elasticsearch and OpenSearch; for MongoDB time your own load, such as YCSB or \
    mongo-perf, with `hyperfine --export-json`, and compare the files with `trimtab bench compare`";

/// A server, as it was found before the first trial.
#[derive(Clone)]
pub(super) struct Server {
    pub target: Target,
    pub reader: Option<ServerReader>,
    pub identity: Identity,
    pub is_here: bool,
    pub warning: Option<String>,
}

/// The first signal ends the trial, and what was measured is kept; another one, a second later, ends the process.
pub(super) fn stop_on_signals() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (is_set, set) = (stop.clone(), stop.clone());
    signals::on_end(
        move || is_set.load(Ordering::Relaxed),
        move |_| set.store(true, Ordering::Relaxed),
    )
    .map_err(|error| CommandError::because(Kind::Environment, error))?;
    Ok(stop)
}

impl Server {
    /// Asks the server who it is, and finds it on this host.
    pub(super) fn find(url: &str, flags: &AccessArgs) -> Result<Self, CommandError> {
        let endpoint =
            parse_endpoint(url, "--target").map_err(|error| match url.split_once("://") {
                Some(("mongodb" | "mongodb+srv", _)) => error.hint(OF_MONGODB),
                _ => error,
            })?;
        let mut options =
            access::http_options(flags.credentials_file.as_deref(), flags.ca_file.as_deref())?;
        let target = Target::at(&endpoint, &options)?;
        options.deadline = flags.timeout.unwrap_or(TIMEOUT).min(FIGURES_TIMEOUT);
        let client = access::client(options, &endpoint)?;
        let reader = ServerReader::new(client, endpoint.clone());
        let is_here = is_here(endpoint.host(), endpoint.port());
        let (reader, identity, warning) = match reader.identify() {
            Ok(identity) => (Some(reader), identity, None),
            // It answers, if not as Elasticsearch does.
            Err(error)
                if matches!(
                    error.kind,
                    ErrorKind::Json(_) | ErrorKind::TooLarge { .. } | ErrorKind::Status { .. }
                ) =>
            {
                let warning = format!(
                    "the server's own figures are missing: {}",
                    reader.describe(&error)
                );
                (None, Identity::default(), Some(warning))
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Server {
            target,
            reader,
            identity,
            is_here,
            warning,
        })
    }
}

/// Finds the server on this host.
fn place_of(host: &Host, identity: &Identity, is_here: bool) -> Place {
    let mut place = trial::place(host, identity, is_here);
    let pid = place.watched.server.first();
    place.watched.cgroups = pid.map_or_else(Vec::new, |pid| cgroups_of(Path::new("/"), *pid));
    place
}

/// A trial to run.
pub(super) struct Load<'a> {
    pub track: &'a Track,
    /// Its text.
    pub text: &'a str,
    pub server: &'a Server,
    /// The folder in which its folder is created.
    pub into: &'a Path,
    /// Threads that send.
    pub threads: u32,
    /// Timeout of a request, if not the usual one.
    pub timeout: Option<Duration>,
    /// What `trimtab bench facts` wrote of this host, if it is not to be read.
    pub facts: Option<&'a Path>,
    /// Whether server and drive are an experiment's own: each trial gets a drive that was discarded, and the driver goes
    /// before the server.
    pub is_of_experiment: bool,
}

impl Load<'_> {
    pub(super) fn run(
        &self,
        stop: &Arc<AtomicBool>,
        draw: &mut Draw,
    ) -> Result<(PathBuf, trial::TrialDocument), CommandError> {
        let server = self.server;
        // Free space, trims and governors are those of now, not of the first trial.
        let here = &ThisHost::read(self.facts)?;
        let place = place_of(&here.host, &server.identity, server.is_here);
        let request = Request {
            track: self.track,
            track_text: self.text,
            target: server.target.clone(),
            server: server.reader.clone(),
            identity: server.identity.clone(),
            host: &here.host,
            place: place.clone(),
            jobs: here.jobs().filter(|_| server.is_here),
            trim_debt: if self.is_of_experiment {
                None
            } else {
                trim_debt(here, &place)
            },
            options: Options {
                threads: self.threads,
                timeout: self.timeout.unwrap_or(TIMEOUT),
                is_preferred: self.is_of_experiment,
                ..Options::default()
            },
            control: Control {
                stop: stop.clone(),
                ..Control::default()
            },
            into: self.into,
            root: PathBuf::from("/"),
            tool_version: crate::version::VERSION,
        };
        trial::run(&request, &mut Shown { draw }).map_err(|error| {
            let kind = match &error {
                TrialError::Folder(_) => {
                    return CommandError::because(Kind::Environment, error)
                        .at("--into")
                        .hint("name a folder that you may write to");
                }
                TrialError::Driver(_) => Kind::Environment,
                _ => Kind::Input,
            };
            CommandError::because(kind, error)
        })
    }
}

/// Draws progress.
struct Shown<'a> {
    draw: &'a mut Draw,
}

impl Progress for Shown<'_> {
    fn stage(&mut self, stage: Stage<'_>) {
        match stage {
            Stage::Preparing => self.draw.show("preparing requests"),
            Stage::Setup(path) => self.draw.show(&format!("setup: {path}")),
            Stage::Teardown(path) => self.draw.show(&format!("teardown: {path}")),
            Stage::Pause(pause) => {
                self.draw
                    .show(&format!("a pause of {}", units::duration(pause)));
            }
            Stage::Phase { name, .. } => self.draw.show(name),
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // rates
    fn second(&mut self, second: &Second<'_>) {
        let elapsed = Duration::from_nanos(second.elapsed_ns);
        let of = second.len_ns.map_or(String::new(), |len_ns| {
            format!(" of {}", units::duration(Duration::from_nanos(len_ns)))
        });
        let counts = match second.kind {
            PhaseKind::WarmUp => " (does not count)",
            PhaseKind::Measured => "",
        };
        let classes: Vec<String> = second
            .classes
            .iter()
            .map(|class| {
                let p99 = class.latency.quantile_ns(0.99);
                let p99 = p99.map_or(String::new(), |ns| {
                    format!(" p99 {}", units::duration(Duration::from_nanos(ns)))
                });
                let failed = match class.failed {
                    0 => String::new(),
                    failed => format!(" {} failed", units::grouped(failed)),
                };
                format!(
                    "{} {}/s{p99}{failed}",
                    class.operation,
                    units::grouped(second.per_second(class.latency.count()).round() as u64)
                )
            })
            .collect();
        self.draw.show(&format!(
            "{}{counts} {}{of}: {}",
            second.phase,
            units::duration(Duration::from_secs(elapsed.as_secs())),
            classes.join(", ")
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_here() {
        assert!(is_here("127.0.0.1", 9));
        assert!(is_here("[::1]", 9));
        // Reserved for documentation (RFC 5737).
        assert!(!is_here("192.0.2.1", 9));
    }
}
