//! One sitting of one pass: locks, leftovers, checkpoint, limits, the pass itself, its end.

use super::forecast::Forecast;
use super::options::{self, Options};
use super::plan::{self, Plan};
use super::store_probe::{self, StoreProbe, StoreProbeOptions};
use super::summary::{self, Ending};
use super::tell::{Ear, Teller};
use super::words::{Page, long};
use super::{audit, describe, layers, lines};
use crate::error::{CommandError, Kind};
use crate::{FITRIM_HELPER, GUARDIAN_HELPER, output};
use facts::{Finding, Host};
use jiff::Timestamp;
use report::human_bytes;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trim::Cursor;
use trim::child::Child;
use trim::clock::{Clock, SystemClock};
use trim::counters::HostCounters;
use trim::geometry;
use trim::kernel_log::KernelLog;
use trim::limits::{self, Guard, Lowered, Restored};
use trim::pass::{self, Ended, Gate, Outcome, Parts, Progressed};
use trim::probe::{DriveProbe, DriveProbeOptions, Probe};
use trim::state::{Checkpoint, Locks, Phase, State, StateError};
use trim::stop::{Stop, StopRequest};
use trim::target::Target;

/// Reads a second that ask the drives how they are: noticed by nobody, and enough to judge by.
const PROBE_READS_PER_S: f64 = 20.0;
/// How often a closed window is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What all passes of a run share.
pub struct Run<'a> {
    pub host: &'a Host,
    pub options: &'a Options,
    pub state: &'a State,
    pub stop: &'a Stop,
    pub clock: SystemClock,
}

/// Makes, or goes on with, the pass of one filesystem.
///
/// # Errors
/// Where it could not begin.
pub fn sit(
    run: &Run<'_>,
    plan: &Plan<'_>,
    forecast: &Forecast<'_>,
    deadline: Option<Duration>,
    teller: &mut Teller,
) -> Result<Ended, CommandError> {
    let point = plan.mount.mount_point.as_str();
    let target = forecast.target.clone().ok_or_else(|| {
        let reason = forecast.unknown.clone().unwrap_or_default();
        CommandError::new(Kind::Environment, format!("{}: {reason}", plan.name()))
    })?;
    announce(plan, forecast, run.options, teller);
    let key = target.identity.key();
    let locks = run
        .state
        .lock(&target.identity, &layers::drives(&forecast.stacks))
        .map_err(|error| busy(run, &error, plan, &key))?;
    if run.options.restart {
        run.state
            .forget(&key)
            .map_err(|error| state_error(&error))?;
    }
    let mut resume = run
        .state
        .checkpoint(&key)
        .map_err(|error| state_error(&error).hint("--restart starts over without it"))?;
    let now = Timestamp::now();
    let stack = plan.stack.as_ref();
    let size_bytes = stack.and_then(|stack| stack.top().size_bytes);
    if let Some(why) = resume
        .as_ref()
        .and_then(|checkpoint| checkpoint.outdated(&target.identity, size_bytes, now))
    {
        teller.say(point, &format!("an earlier pass is not resumed: {why}"));
        resume = None;
    }
    if let Some(checkpoint) = &resume {
        teller.say(point, &resumed(checkpoint));
    }
    if let Some(ended) = wait_for_window(run, &target, resume.as_ref(), teller)? {
        return finish_early(run, plan, forecast, &target, ended, resume.as_ref(), teller);
    }
    require_green(run, point, teller)?;
    let began_at = Timestamp::now();
    let leaves = forecast.layers.leaves();
    let probes = probes(run, &leaves)?;
    let cursor = resume
        .as_ref()
        .map_or_else(Cursor::default, |checkpoint| checkpoint.cursor);
    let walk = geometry::open(&target, cursor).map_err(|error| {
        CommandError::new(Kind::Environment, format!("{}: {error}", plan.name()))
    })?;
    let trimmer = child(run, &target, &locks)?;
    let watch = HostCounters::new(PathBuf::from("/proc"), forecast.layers.all(), run.clock);
    let guard = RefCell::new(lower(run, &leaves, teller)?);
    let mut kernel_log = KernelLog::open(Path::new("/dev/kmsg"), forecast.layers.all());
    let resumed_bytes = resume
        .as_ref()
        .map_or(0, |checkpoint| checkpoint.visited_bytes);
    let is_new = resume.is_none();
    let parts = Parts {
        target: &target,
        layers: &forecast.layers,
        walk,
        resume,
        trimmer: Box::new(trimmer),
        watch: Box::new(watch),
        probes,
        clock: &run.clock,
        state: run.state,
        stop: run.stop.clone(),
        gate: Box::new(run.options.windows.clone()),
        tend: Box::new(|| {
            if let Some(message) = kernel_log.failed_discard() {
                return Err(format!(
                    "a drive refuses discards; the kernel's log says \"{message}\". Nothing is \
                     freed until that is mended; --restart then begins the pass anew"
                ));
            }
            match guard.borrow_mut().as_mut() {
                Some(guard) => guard.keep_guarded().map_err(|error| error.to_string()),
                None => Ok(()),
            }
        }),
    };
    let pass_options = pass::Options {
        settings: run.options.settings.clone(),
        quiet: options::QUIET,
        deadline,
        settle_timeout: options::SETTLE_TIMEOUT,
    };
    let mut ear = Ear::new(teller, point, leaves, run.options.settings.clone());
    let outcome = pass::run(parts, &pass_options, &mut ear);
    let mut warnings = ear.warnings;
    if is_new && outcome.survey.is_none() && outcome.progress.steps == 0 {
        // What was written while it waited is no checkpoint worth keeping.
        run.state
            .forget(&key)
            .map_err(|error| state_error(&error))?;
    }
    if let Some(guard) = guard.into_inner() {
        put_back(guard, point, teller, &mut warnings);
    }
    let over = Over {
        target: &target,
        began_at,
        outcome: &outcome,
        resumed_bytes,
        warnings: &warnings,
    };
    close(run, plan, forecast, &over, teller)?;
    Ok(outcome.ended)
}

/// A pass that is over.
struct Over<'a> {
    target: &'a Target,
    began_at: Timestamp,
    outcome: &'a Outcome,
    resumed_bytes: u64,
    warnings: &'a [String],
}

/// The audit line and the summary.
fn close(
    run: &Run<'_>,
    plan: &Plan<'_>,
    forecast: &Forecast<'_>,
    over: &Over<'_>,
    teller: &mut Teller,
) -> Result<(), CommandError> {
    let point = plan.mount.mount_point.as_str();
    let outcome = over.outcome;
    let entry = audit::entry(
        over.target,
        run.options,
        over.began_at,
        outcome,
        over.resumed_bytes,
        over.warnings,
    );
    if let Err(error) = run.state.audit(&entry) {
        teller.say(
            point,
            &format!("the audit log could not be written: {error}"),
        );
    }
    let explained = match outcome.ended {
        Ended::Swallowed(_) => explain(plan),
        _ => Vec::new(),
    };
    let took = over.outcome.progress.active;
    teller.emit(
        "ended",
        lines::ended(point, outcome, &forecast.layers, &explained, took),
    );
    let mut page = Page::new(usize::from(output::terminal_columns()));
    summary::write(
        &mut page,
        &Ending {
            mount: &plan.name(),
            outcome,
            layers: &forecast.layers,
            explained: &explained,
            command: &format!("trimtab trim {}", plan.name()),
            resumed_bytes: over.resumed_bytes,
            measuring: options::QUIET,
        },
    );
    teller.print(&page.finish())
}

/// What the rules say of a stack that swallows discards, read afresh: it may have been changed.
fn explain(plan: &Plan<'_>) -> Vec<Finding> {
    let opened = crate::commands::source::live();
    let reader = host::Reader::new(opened.source.as_ref());
    let now = host::read_host(&reader, &host::Options::default(), Timestamp::now());
    let Some(mount) = now
        .mounts
        .iter()
        .find(|mount| mount.device_number == plan.mount.device_number)
    else {
        return Vec::new();
    };
    let mut findings = plan::rules_on(&now, mount).findings;
    findings.retain(|finding| ["TRIM001", "TRIM008", "TRIM009"].contains(&finding.rule.as_str()));
    findings
}

/// Says first what will be done and changed.
fn announce(plan: &Plan<'_>, forecast: &Forecast<'_>, options: &Options, teller: &mut Teller) {
    let point = plan.mount.mount_point.as_str();
    if !plan.others.is_empty() {
        teller.say(
            point,
            &format!("also mounted on {}; trimmed once", plan.others.join(", ")),
        );
    }
    for note in &plan.notes {
        teller.say(point, note);
    }
    if let Some(changes) = describe::lowers(forecast, options) {
        teller.say(point, &changes);
    }
}

fn resumed(checkpoint: &Checkpoint) -> String {
    let why = match &checkpoint.phase {
        Phase::Running => "it was killed, or the host went down".to_owned(),
        Phase::Stopped { reason } => reason.clone(),
    };
    format!(
        "goes on with the pass of {} ({why}): {} of {} visited; --restart starts over",
        checkpoint.started_at.strftime("%Y-%m-%d %H:%M UTC"),
        human_bytes(checkpoint.visited_bytes),
        human_bytes(checkpoint.free_bytes)
    )
}

fn busy(run: &Run<'_>, error: &StateError, plan: &Plan<'_>, key: &str) -> CommandError {
    let StateError::Busy {
        what,
        pid,
        same_filesystem,
    } = error
    else {
        return state_error(error);
    };
    let name = plan.name();
    // A drive below is found locked first, by the pass of this very filesystem.
    let is_own = *same_filesystem || run.state.holder(key).ok().flatten() == Some(*pid);
    if is_own {
        return CommandError::new(
            Kind::Refused,
            format!("{name} is being trimmed by process {pid}"),
        )
        .hint("`trimtab trim --status` shows how far it is")
        .hint(format!(
            "`trimtab trim --cancel {name}` ends it for good; `kill {pid}` ends it so that it can \
             go on later"
        ));
    }
    CommandError::new(
        Kind::Refused,
        format!("{name}: {what} is below a filesystem that process {pid} is trimming"),
    )
    .hint("filesystems that share a drive are trimmed one after another: name them in one command, or wait")
}

/// An error of the state directory.
pub fn state_error(error: &StateError) -> CommandError {
    CommandError::new(Kind::Environment, error.to_string())
        .hint("--state DIR keeps checkpoints elsewhere")
}

fn require_green(run: &Run<'_>, point: &str, teller: &mut Teller) -> Result<(), CommandError> {
    let Some(url) = &run.options.require_green else {
        return Ok(());
    };
    let client = http::Client::new(http_options(run)?).map_err(|error| {
        CommandError::new(Kind::Environment, error.to_string()).hint(error.hint())
    })?;
    let name = store_probe::require_green(url, &client)?;
    teller.say(point, &format!("cluster {name} is green"));
    Ok(())
}

fn http_options(run: &Run<'_>) -> Result<http::Options, CommandError> {
    store_probe::http_options(
        run.options.credentials_file.as_deref(),
        run.options.ca_file.as_deref(),
    )
}

fn probes(run: &Run<'_>, leaves: &[String]) -> Result<Vec<Box<dyn Probe>>, CommandError> {
    let nodes: Vec<PathBuf> = leaves.iter().map(|leaf| layers::node(leaf)).collect();
    let options = DriveProbeOptions {
        reads_per_s: PROBE_READS_PER_S,
        seed: u64::from(std::process::id()),
    };
    let drives = DriveProbe::start(&nodes, options, run.clock).map_err(|error| {
        CommandError::new(
            Kind::Environment,
            format!("the drives' latency cannot be watched: {error}"),
        )
        .hint("a trim that is not watched would be noticed; is the device node there?")
    })?;
    let mut probes: Vec<Box<dyn Probe>> = vec![Box::new(drives)];
    if !run.options.probes.is_empty() {
        let options = StoreProbeOptions::new(http_options(run)?);
        for what in &run.options.probes {
            probes.push(Box::new(StoreProbe::start(what, &options, run.clock)?));
        }
    }
    Ok(probes)
}

/// This binary, by a path that is right even where it was replaced or PATH has another.
fn own_binary() -> OsString {
    OsString::from("/proc/self/exe")
}

/// The process that trims; it inherits the locks, and keeps them should it be stuck in the kernel.
fn child(run: &Run<'_>, target: &Target, locks: &Locks) -> Result<Child, CommandError> {
    let helper = vec![own_binary(), OsString::from(FITRIM_HELPER)];
    let inherited = locks.for_child().map_err(|error| {
        CommandError::new(Kind::Environment, format!("locks for a child: {error}"))
    })?;
    Ok(Child::new(
        helper,
        target.clone(),
        inherited,
        run.stop.clone(),
    ))
}
