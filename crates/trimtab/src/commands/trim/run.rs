//! `trimtab trim`: runs passes as the arguments say, reports their events and maps results to exit codes.

use super::args::Trim;
use super::errors::{self, PassError};
use super::options::{self, Options};
use super::output::Output;
use super::store_probe::{self, StoreProbeOptions};
use crate::arguments::AccessArgs;
use crate::commands::{access, source};
use crate::config::{Config, TrimConfig};
use crate::error::CommandError;
use crate::helper::FITRIM_HELPER;
use crate::output;
use facts::{Finding, Host};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::trim::lines::{self, Kind as LineKind};
use report::trim::{PassEnd, Plan, missing_consent};
use rules::{TrimRefusal, TrimRequest, TrimVerdict};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use trim::clock::SystemClock;
use trim::events::EventSink;
use trim::filesystem::{self, Filesystem};
use trim::forecast::{self, Depth, Forecast};
use trim::pace::Settings;
use trim::pass::Ended;
use trim::probe::Probe;
use trim::request::{self, Request};
use trim::resume::ResumeCommand;
use trim::session::{ClusterState, HelperNames, Session, Surroundings};
use trim::state::State;
use trim::stop::Stop;
use trim::{privilege, signals};
use units::escape;

const HELPERS: HelperNames = HelperNames {
    trimmer: FITRIM_HELPER,
};

/// Runs `trimtab trim`. `config_path` is the path given with `--config`.
///
/// # Errors
/// When the command cannot run or is refused; the result of a pass is the exit code.
pub fn run(
    arguments: &Trim,
    config: &Config,
    config_path: Option<&Path>,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    // Before the host is read: the deadline applies to the whole call.
    let clock = SystemClock::start();
    if arguments.answer.output.schema {
        output::print(lines::JSON_SCHEMA)?;
        return Ok(ExitCode::SUCCESS);
    }
    let resume = options::resume_command(arguments, config_path);
    let new_output = |settings| Output::new(&arguments.answer, config.trim.format, quiet, settings);
    if arguments.cancel || arguments.status {
        let mut output = new_output(Settings::default())?;
        let state_dir = options::state_dir(arguments, &config.trim);
        let done = if arguments.cancel {
            cancel(state_dir, arguments, config, &mut output)
        } else {
            show_status(state_dir, arguments, config, &resume, &mut output)
        };
        output.finish(done.is_err())?;
        return done;
    }
    let zone = TimeZone::try_system().map_err(|error| error.to_string());
    let options = Options::resolve(arguments, zone, &config.trim)?;
    let mut output = new_output(options.request.settings.clone())?;
    let host = read(config)?;
    let call = Call {
        host: &host,
        resume: &resume,
        wiring: Wiring {
            options: &options,
            arguments,
            config: &config.trim,
        },
        clock,
    };
    let code = call.run(&mut output);
    output.finish(code.is_err())?;
    code
}

fn read(config: &Config) -> Result<Host, CommandError> {
    let (host, _) = source::read(&source::live(), &[], &config.check.data_paths, false)?;
    if host.mounts.is_empty() {
        return Err(CommandError::environment(
            "no mounts are known: /proc/self/mountinfo could not be read",
        ));
    }
    Ok(host)
}

fn judge(host: &Host, filesystem: &Filesystem<'_>, force: bool) -> TrimVerdict {
    let request = TrimRequest {
        force,
        is_directory: &|path| filesystem::is_directory(path).map_err(|error| error.to_string()),
    };
    rules::trim_verdict(host, filesystem.mount, &request)
}

fn show_status(
    state_dir: PathBuf,
    arguments: &Trim,
    config: &Config,
    resume: &ResumeCommand,
    output: &mut Output<'_>,
) -> Result<ExitCode, CommandError> {
    let state = request::state_at(state_dir);
    let meant = if arguments.mounts.is_empty() {
        None
    } else {
        let keys = trim::status::keys(&state, &read(config)?, &arguments.mounts);
        Some(keys?)
    };
    let found = trim::status::status(&state, meant.as_deref());
    for pass in &found.passes {
        output.emit(LineKind::Pass, lines::pass_status(pass));
    }
    let is_complete = found.unreadable.is_empty();
    let now = Timestamp::now();
    let mut page = report::trim::status(&found.passes, is_complete, resume, now);
    for error in &found.unreadable {
        let text = format!("not looked at: {error}");
        output.emit(LineKind::Note, lines::note(None, &text));
        if output.is_document() {
            page.cautions.push(text);
        }
    }
    output.show(page)?;
    // Standard error names all; what could not be read is not "nothing".
    let mut errors = found.unreadable.into_iter().map(errors::unreadable);
    let last = errors.next_back();
    errors.for_each(|error| output::complain(&error));
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn cancel(
    state_dir: PathBuf,
    arguments: &Trim,
    config: &Config,
    output: &mut Output<'_>,
) -> Result<ExitCode, CommandError> {
    let state = request::state_at(state_dir);
    let cancelled = trim::status::cancel(&state, &read(config)?, &arguments.mounts)?;
    for request in &cancelled {
        output.emit(LineKind::Cancelled, lines::cancelled(request));
    }
    output.show(report::trim::cancelled(&cancelled))?;
    let missed = cancelled
        .iter()
        .any(|request| request.outcome == trim::status::CancelOutcome::NothingThere);
    Ok(ExitCode::from(u8::from(missed)))
}

/// A filesystem and the verdict whether it may be trimmed.
struct Judged<'a> {
    filesystem: Filesystem<'a>,
    verdict: TrimVerdict,
}

/// What a session needs from this binary.
#[derive(Clone, Copy)]
struct Wiring<'a> {
    options: &'a Options,
    arguments: &'a Trim,
    config: &'a TrimConfig,
}

impl Wiring<'_> {
    fn http_options(&self) -> Result<bounded_http::Options, CommandError> {
        let flags = AccessArgs {
            timeout: None,
            credentials_file: self.arguments.credentials_file.clone(),
            ca_file: self.arguments.ca_file.clone(),
        };
        access::options(&flags, self.config.into(), |options| options)
    }
}

impl Surroundings for Wiring<'_> {
    type Error = PassError;

    fn cluster(&self) -> Result<ClusterState<PassError>, PassError> {
        let Some(url) = &self.options.require_green else {
            return Ok(ClusterState::NotAsked);
        };
        Ok(store_probe::cluster_state(url, self.http_options()?)?)
    }

    fn store_probes(&self, clock: SystemClock) -> Result<Vec<Box<dyn Probe>>, PassError> {
        let mut probes: Vec<Box<dyn Probe>> = Vec::new();
        if self.options.probes.is_empty() {
            return Ok(probes);
        }
        let options = StoreProbeOptions::new(self.http_options()?);
        for what in &self.options.probes {
            probes.push(Box::new(store_probe::start(what, &options, clock)?));
        }
        Ok(probes)
    }

    fn explain_lost_discards(&self, filesystem: &Filesystem<'_>) -> Vec<Finding> {
        let opened = source::live();
        let reader = host::Reader::new(opened.source.as_ref());
        let now = host::read_host(&reader, &host::Options::default(), Timestamp::now());
        let device_number = filesystem.mount.device_number;
        now.mounts
            .iter()
            .find(|mount| mount.device_number == device_number)
            .map_or_else(Vec::new, |mount| rules::lost_discards(&now, mount))
    }
}

/// One call of `trimtab trim`: options, host and start time.
struct Call<'a> {
    host: &'a Host,
    resume: &'a ResumeCommand,
    wiring: Wiring<'a>,
    clock: SystemClock,
}

impl<'a> Call<'a> {
    fn run(&self, output: &mut Output<'_>) -> Result<ExitCode, CommandError> {
        let arguments = self.wiring.arguments;
        let wanted = if arguments.all {
            filesystem::all(self.host)
        } else {
            filesystem::named(self.host, &arguments.mounts)?
        };
        let judged: Vec<Judged<'_>> = wanted
            .into_iter()
            .map(|filesystem| Judged {
                verdict: judge(self.host, &filesystem, arguments.force),
                filesystem,
            })
            .collect();
        if arguments.dry_run {
            self.show_plans(&judged, Depth::Survey, output)?;
            // A refusal is an error for a named mount, but not for one that --all found.
            let refused = !arguments.all && judged.iter().any(|one| !one.verdict.may_trim());
            return Ok(ExitCode::from(if refused { 2 } else { 0 }));
        }
        self.trim(&judged, output)
    }

    fn request(&self) -> &'a Request {
        &self.wiring.options.request
    }

    fn forecast(&self, one: &Judged<'a>, depth: Depth) -> Forecast<'a> {
        let may_trim = one.verdict.may_trim();
        forecast::forecast(self.host, &one.filesystem, may_trim, self.request(), depth)
    }

    /// Shows what would be done.
    fn show_plans(
        &self,
        judged: &[Judged<'a>],
        depth: Depth,
        output: &mut Output<'_>,
    ) -> Result<(), CommandError> {
        let forecasts: Vec<Forecast<'a>> =
            judged.iter().map(|one| self.forecast(one, depth)).collect();
        let each = judged.iter().zip(&forecasts);
        let plans: Vec<Plan<'_>> = each
            .map(|(one, forecast)| self.plan(one, forecast))
            .collect();
        for plan in &plans {
            output.emit(LineKind::Plan, lines::plan(plan));
        }
        output.show(report::trim::dry_run(&plans, Timestamp::now()))
    }

    fn plan<'p>(&'p self, one: &'p Judged<'a>, forecast: &'p Forecast<'a>) -> Plan<'p> {
        Plan {
            filesystem: &one.filesystem,
            verdict: &one.verdict,
            forecast,
            request: self.request(),
        }
    }

    fn trim(
        &self,
        judged: &[Judged<'a>],
        output: &mut Output<'_>,
    ) -> Result<ExitCode, CommandError> {
        let arguments = self.wiring.arguments;
        if !arguments.all {
            refuse(judged, output)?;
        }
        let wanted: Vec<&Judged<'a>> = judged.iter().filter(|one| one.verdict.may_trim()).collect();
        if arguments.all && !arguments.yes {
            self.show_plans(judged, Depth::Facts, output)?;
        }
        self.require_consent(&wanted)?;
        if wanted.is_empty() {
            return Err(CommandError::refused("nothing here can be trimmed")
                .hint("`trimtab trim --all --dry-run` gives the reasons"));
        }
        if !privilege::may_trim() {
            return Err(
                CommandError::refused("Trimming needs root (CAP_SYS_ADMIN).")
                    .hint("run it with sudo; --dry-run works without"),
            );
        }
        let environment = |what: &str, error: std::io::Error| {
            CommandError::environment(format!("{what}: {error}"))
        };
        let stop = Stop::default();
        signals::listen(&stop).map_err(|error| environment("signal handlers", error))?;
        let state = State::open(self.request().state_dir.clone(), request::RUN_DIR.into())?;
        let session = Session {
            host: self.host,
            request: self.request(),
            state: &state,
            stop: &stop,
            clock: self.clock,
            helpers: HELPERS,
            tool_version: crate::version::VERSION,
            surroundings: &self.wiring,
        };
        if let Some(left) = session.time_left() {
            signals::end_after(&stop, left).map_err(|error| environment("--deadline", error))?;
        }
        if wanted.len() > 1 {
            let points: Vec<&str> = wanted
                .iter()
                .map(|one| one.filesystem.mount_point())
                .collect();
            output.remark(&format!(
                "{} filesystems, one after another: {}",
                points.len(),
                points.join(", ")
            ));
        }
        self.passes(&session, &wanted, output)
    }

    /// Refuses to start without required consent.
    fn require_consent(&self, wanted: &[&Judged<'_>]) -> Result<(), CommandError> {
        let arguments = self.wiring.arguments;
        let missing: Vec<String> = wanted
            .iter()
            .filter_map(|one| missing_consent(&one.filesystem, self.request()))
            .collect();
        if !missing.is_empty() {
            let message = "a trim below a running store needs --window or --now";
            return Err(CommandError::refused(message).hints(missing));
        }
        if arguments.all && !arguments.yes {
            let mounts = match wanted.len() {
                1 => "this filesystem".to_owned(),
                number => format!("these {number} filesystems, one after another"),
            };
            return Err(
                CommandError::refused(format!("--all needs --yes to trim {mounts}"))
                    .hint("the plan is above; nothing was changed"),
            );
        }
        Ok(())
    }

    /// Runs the passes in the given order and returns the combined exit code.
    fn passes(
        &self,
        session: &Session<'_, Wiring<'_>>,
        wanted: &[&Judged<'a>],
        output: &mut Output<'_>,
    ) -> Result<ExitCode, CommandError> {
        let mut code = 0;
        for (index, one) in wanted.iter().enumerate() {
            let point = one.filesystem.mount_point();
            if session.time_left() == Some(Duration::ZERO) {
                output.note(point, "not begun: the deadline has passed");
                output.show_end(not_begun(point, "the deadline has passed", &[]))?;
                code = code.max(1);
                continue;
            }
            let forecast = self.forecast(one, Depth::Facts);
            output.emit(LineKind::Plan, lines::plan(&self.plan(one, &forecast)));
            let ended = session.trim(&one.filesystem, &forecast, &one.verdict.notes, output);
            if let Some(summary) = output.ended.take() {
                output.show_end(PassEnd::Ended {
                    summary: Box::new(summary),
                    resume: self.resume.resume(point),
                })?;
            }
            match ended {
                Ok(Ended::Signal(number)) => {
                    for one in &wanted[index + 1..] {
                        let point = one.filesystem.mount_point();
                        output.note(point, "not begun");
                        output.show_end(not_begun(point, "the call was ended by a signal", &[]))?;
                    }
                    let number = u8::try_from(number).unwrap_or(0);
                    return Ok(ExitCode::from(128u8.saturating_add(number)));
                }
                Ok(Ended::Complete) => {}
                Ok(Ended::Failed { .. }) => code = 2,
                Ok(Ended::Cancelled) => {
                    // Cancelling applies to this filesystem only, not to those that follow.
                    session.stop.clear();
                    code = code.max(1);
                }
                Ok(Ended::Stopped { .. } | Ended::Swallowed(_)) => code = code.max(1),
                Err(error) => {
                    let error = error.explain(self.resume);
                    let fields = lines::not_begun(point, &error.message, &error.hints);
                    output.emit(LineKind::Ended, fields);
                    output.show_end(not_begun(point, &error.message, &error.hints))?;
                    if wanted.len() == 1 {
                        return Err(error);
                    }
                    output.clear();
                    output::complain(&error);
                    code = 2;
                }
            }
        }
        Ok(ExitCode::from(code))
    }
}

fn not_begun(mount_point: &str, reason: &str, hints: &[String]) -> PassEnd {
    PassEnd::NotBegun {
        mount_point: mount_point.to_owned(),
        reason: reason.to_owned(),
        hints: hints.to_vec(),
    }
}

/// Refuses the whole call if one of the named mounts cannot be trimmed: a partial result could be mistaken
/// for a complete one.
fn refuse(judged: &[Judged<'_>], output: &mut Output<'_>) -> Result<(), CommandError> {
    let refused: Vec<(&str, &TrimRefusal)> = judged
        .iter()
        .filter_map(|one| Some((one.filesystem.mount_point(), one.verdict.refusal.as_ref()?)))
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    let mut reasons = Vec::new();
    let mut hints = Vec::new();
    for (point, refusal) in &refused {
        output.emit(LineKind::Ended, lines::refused(point, refusal));
        reasons.push(format!("{}: {}", escape(point), refusal.reason));
        hints.extend(refusal.hints.iter().cloned());
    }
    let in_full = output.is_document();
    output.show(report::trim::refused(&refused, in_full))?;
    if judged.len() > 1 {
        hints.push("no other mount of this call was trimmed either".to_owned());
    }
    Err(CommandError::refused(reasons.join("; ")).hints(hints))
}
