//! Runs `trimtab bench filesystems`.

use super::args::Filesystems;
use super::load::{Load, Server, stop_on_signals};
use super::workspace;
use crate::answer::{self, Delivery};
use crate::arguments::AccessArgs;
use crate::error::{CommandError, Kind};
use crate::progress::Draw;
use bench::track::Track;
use bench::trial::TrialDocument;
use bounded_http::Endpoint;
use experiments::filesystems::{self, Plan, RunError, Runs, Step, VariantRun};
use experiments::server::{Distribution, Named};
use experiments::{Place, Variant, Workspace};
use report::views::bench::{BenchAnswer, page};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Archives that were fetched.
const CACHE_DIR: &str = "/var/cache/trimtab/servers";

pub(super) fn run(arguments: &Filesystems, quiet: bool) -> Result<ExitCode, CommandError> {
    let delivery = Delivery::of(&arguments.answer, None)?;
    let mut seen = BTreeSet::new();
    let twice = arguments.variants.iter().map(Variant::to_string);
    if let Some(twice) = twice.into_iter().find(|name| !seen.insert(name.clone())) {
        let message = format!("expected each of --variants once, found {twice} twice");
        return Err(CommandError::usage(message));
    }
    if arguments.variants.len() < 2 && !arguments.candidates {
        return Err(CommandError::usage(format!(
            "expected two or more --variants, found {}",
            names(&arguments.variants)
        )));
    }
    let server = ServerSource::find(&arguments.server)?;
    let mut draw = Draw::new(quiet);
    let stop = stop_on_signals()?;
    let place = workspace::place(
        arguments.device.as_deref(),
        arguments.overwrite,
        arguments.size,
        &mut draw,
    )?;
    // Where trials go is looked at before the work.
    fs::create_dir_all(&arguments.into)
        .map_err(|error| CommandError::because(Kind::Environment, error).at("--into"))?;
    let plan = plan(arguments, place);
    let experiment = Experiment {
        arguments,
        server: &server,
        plan: &plan,
        stop: &stop,
    };
    let found = if arguments.candidates {
        experiment.rank(&mut draw)?
    } else {
        experiment.compare(&mut draw)?
    };
    let mut envelope = answer::envelope(found.source, found.answer)?;
    envelope.warnings = found.warnings;
    delivery.give_envelope(&envelope, page)?;
    Ok(ExitCode::from(found.code))
}

fn run_error(error: RunError) -> CommandError {
    let output = error.server_output().to_vec();
    CommandError::because(Kind::Environment, error).output(&output)
}

fn names(variants: &[Variant]) -> String {
    let names: Vec<String> = variants.iter().map(Variant::to_string).collect();
    units::list(&names)
}

fn plan(arguments: &Filesystems, place: Place) -> Plan {
    Plan {
        variants: arguments.variants.clone(),
        repeats: arguments.repeats,
        documents: arguments.documents,
        warm_up_queries: filesystems::WARM_UP_QUERIES,
        queries: filesystems::QUERIES,
        pause: arguments.pause,
        same_segments: arguments.same_segments,
        larger_than_memory: arguments.larger_than_memory,
        place,
        into: arguments.into.clone(),
    }
}

/// Where a server comes from.
enum ServerSource {
    /// An archive or a folder, as an absolute path: the server is started in a folder of its own.
    Path(PathBuf),
    /// Maven.
    Named(Named),
}

impl ServerSource {
    fn find(asked: &str) -> Result<Self, CommandError> {
        if Path::new(asked).exists() {
            let path = fs::canonicalize(asked);
            return Ok(Self::Path(
                path.map_err(|error| CommandError::unreadable(asked, error))?,
            ));
        }
        asked.parse().map(Self::Named).map_err(|error| {
            CommandError::because(Kind::Input, error)
                .hint("for example elasticsearch-6.8.23, elasticsearch-5.6.16 or opensearch-2.19.1")
        })
    }
}

struct Found {
    source: String,
    answer: BenchAnswer,
    warnings: Vec<String>,
    code: u8,
}

struct Experiment<'a> {
    arguments: &'a Filesystems,
    server: &'a ServerSource,
    plan: &'a Plan,
    stop: &'a Arc<AtomicBool>,
}

impl Experiment<'_> {
    /// Ranks what could make queries slow.
    fn rank(&self, draw: &mut Draw) -> Result<Found, CommandError> {
        let within = &self.arguments.loop_dir;
        let (outcome, warnings) = workspace::with(within, draw, |workspace, draw| {
            let server = self.server(workspace, draw)?;
            let mut trials = Trials {
                draw,
                stop: self.stop,
                all: 1,
            };
            filesystems::candidates(self.plan, &server, workspace, &mut trials).map_err(run_error)
        })?;
        Ok(Found {
            source: format!("{} on {}", outcome.server, outcome.filesystem),
            code: if outcome.comparison.is_some() { 0 } else { 2 },
            answer: BenchAnswer::Candidates(Box::new(outcome)),
            warnings,
        })
    }

    /// Compares the variants. Runs that are complete count, whatever ends the others.
    fn compare(&self, draw: &mut Draw) -> Result<Found, CommandError> {
        let within = &self.arguments.loop_dir;
        let all = self.plan.order().len();
        let mut runs: Vec<VariantRun> = Vec::new();
        let ((server, why), mut warnings) = workspace::with(within, draw, |workspace, draw| {
            let server = self.server(workspace, draw)?;
            let mut trials = Trials {
                draw,
                stop: self.stop,
                all,
            };
            let ended = filesystems::run(self.plan, &server, workspace, &mut trials, &mut |run| {
                runs.push(run);
            });
            match ended {
                Err(error) if runs.is_empty() => Err(run_error(error)),
                ended => Ok((server, ended.err())),
            }
        })?;
        let is_whole = why.is_none();
        if let Some(why) = why {
            let complete = units::count(runs.len() as u64, "run");
            warnings.push(format!("ended after {complete} of {all}: {why}"));
            let output = why.server_output().iter();
            warnings.extend(output.map(|line| format!("the server's output: {line}")));
        }
        let disk = match &self.arguments.device {
            Some(device) => device.display().to_string(),
            None => format!(
                "a loop device of {} in {}",
                units::bytes(self.arguments.size),
                within.display()
            ),
        };
        let mut trials = runs.iter().flat_map(|run| &run.trials);
        let all_valid = trials.all(|trial| trial.trial.is_valid());
        Ok(Found {
            source: format!("{server} on {}", names(&self.arguments.variants)),
            answer: BenchAnswer::Filesystems(Box::new(filesystems::outcome(
                server.to_string(),
                disk,
                (
                    self.arguments.same_segments,
                    self.arguments.larger_than_memory,
                ),
                runs,
                self.arguments.include_invalid,
            ))),
            warnings,
            code: if is_whole { u8::from(!all_valid) } else { 2 },
        })
    }

    /// The server, unpacked; fetched if it is a name.
    fn server(&self, workspace: &Workspace, draw: &mut Draw) -> Result<Distribution, CommandError> {
        let archive = match self.server {
            ServerSource::Path(path) => path.clone(),
            ServerSource::Named(named) => {
                draw.show(&format!("fetching {named}"));
                named
                    .fetch(Path::new(CACHE_DIR))
                    .map_err(|error| CommandError::because(Kind::Environment, error))?
            }
        };
        draw.show("unpacking the server");
        Distribution::open(&archive, workspace.folder())
            .map_err(|error| CommandError::because(Kind::Input, error).at("--server"))
    }
}

/// Runs trials, and draws progress.
struct Trials<'a> {
    draw: &'a mut Draw,
    stop: &'a Arc<AtomicBool>,
    all: usize,
}

impl Runs for Trials<'_> {
    fn step(&mut self, number: usize, variant: Variant, step: Step) {
        let step = match step {
            Step::Make => "making the filesystem",
            Step::Start => "starting the server",
            Step::Ingest => "writing documents",
            Step::Settle => "waiting for merges",
            Step::Copy => "copying segments",
            Step::Query => "querying",
            Step::Remove => "removing",
        };
        let line = format!("run {} of {}, {variant}: {step}", number + 1, self.all);
        self.draw.show(&line);
    }

    fn trial(
        &mut self,
        track: &str,
        server: &Endpoint,
        into: &Path,
    ) -> Result<(PathBuf, TrialDocument), Box<dyn Error + Send + Sync>> {
        let parsed: Track = track.parse()?;
        let server = Server::find(&server.to_string(), &AccessArgs::default())?;
        let load = Load {
            track: &parsed,
            text: track,
            server: &server,
            into,
            threads: 1,
            timeout: None,
            facts: None,
            is_of_experiment: true,
        };
        let (folder, trial) = load.run(self.stop, self.draw)?;
        self.draw
            .say(&format!("{}: {}", folder.display(), trial.verdict()));
        Ok((folder, trial))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
