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

/// Waits until a window opens, the stop flag in view; `Some` where the wait was ended.
fn wait_for_window(
    run: &Run<'_>,
    target: &Target,
    resume: Option<&Checkpoint>,
    teller: &mut Teller,
) -> Result<Option<Ended>, CommandError> {
    let mut windows = run.options.windows.clone();
    let point = target.mount_point.display().to_string();
    let mut told = false;
    while let Some(closed) = windows.closed(run.clock.wall()) {
        let key = target.identity.key();
        if let Some(request) = run.stop.requested() {
            return Ok(Some(match request {
                StopRequest::Cancel => Ended::Cancelled,
                _ if run.state.cancel_requested(&key) => Ended::Cancelled,
                StopRequest::Signal(number) => Ended::Signal(number),
                StopRequest::Deadline => Ended::Stopped {
                    reason: trim::pass::DEADLINE_PASSED.to_owned(),
                },
            }));
        }
        let Some(opens_at) = closed.opens_at else {
            return Ok(Some(Ended::Stopped {
                reason: format!("{}, which never opens", closed.reason),
            }));
        };
        if !told {
            told = true;
            let opens = windows.local(opens_at);
            let reason = format!("{}; it opens at {opens}", closed.reason);
            let waiting = waiting(target, resume, &reason, run.clock.wall());
            run.state
                .save(&waiting)
                .map_err(|error| state_error(&error))?;
            let pause = opens_at.duration_since(run.clock.wall());
            teller.emit(
                "waiting",
                serde_json::json!({
                    "mount_point": point,
                    "reason": reason,
                    "pause_s": pause.as_secs_f64(),
                }),
            );
            let pause = Duration::try_from(pause).unwrap_or_default();
            teller.say(&point, &format!("waiting, {reason} ({})", long(pause)));
        }
        run.clock.sleep(LOOK_EVERY);
    }
    Ok(None)
}

/// For `--status`: a pass that has not begun, or not gone on yet.
fn waiting(
    target: &Target,
    resume: Option<&Checkpoint>,
    reason: &str,
    now: Timestamp,
) -> Checkpoint {
    let mut checkpoint = resume.cloned().unwrap_or_else(|| Checkpoint {
        schema: trim::state::CHECKPOINT_SCHEMA.to_owned(),
        identity: target.identity.clone(),
        mount_point: target.mount_point.display().to_string(),
        started_at: now,
        updated_at: now,
        cursor: Cursor::default(),
        steps: 0,
        free_bytes: 0,
        visited_bytes: 0,
        discarded_bytes: std::collections::BTreeMap::new(),
        active_s: 0.0,
        phase: Phase::Running,
        remark: None,
        left_s: None,
    });
    checkpoint.updated_at = now;
    checkpoint.phase = Phase::Running;
    checkpoint.remark = Some(format!("waiting, {reason}"));
    checkpoint
}

/// Ends a pass that did not get to work in this sitting.
fn finish_early(
    run: &Run<'_>,
    plan: &Plan<'_>,
    forecast: &Forecast<'_>,
    target: &Target,
    ended: Ended,
    resume: Option<&Checkpoint>,
    teller: &mut Teller,
) -> Result<Ended, CommandError> {
    let kept = match (resume, &ended) {
        (Some(checkpoint), ended) if *ended != Ended::Cancelled => run.state.save(checkpoint),
        _ => run.state.forget(&target.identity.key()),
    };
    kept.map_err(|error| state_error(&error))?;
    let outcome = Outcome {
        ended,
        progress: Progressed::default(),
        survey: None,
        quiet: Vec::new(),
        longest_step: Duration::ZERO,
        locks_whole_steps: false,
        measurable: false,
    };
    let over = Over {
        target,
        began_at: Timestamp::now(),
        outcome: &outcome,
        resumed_bytes: 0,
        warnings: &[],
    };
    close(run, plan, forecast, &over, teller)?;
    Ok(outcome.ended)
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

fn lower(
    run: &Run<'_>,
    leaves: &[String],
    teller: &mut Teller,
) -> Result<Option<Guard>, CommandError> {
    let Some(max_request) = run.options.max_request else {
        return Ok(None);
    };
    let state_dir = run.state.state_dir.as_path();
    let guardian = vec![
        own_binary(),
        OsString::from(GUARDIAN_HELPER),
        state_dir.as_os_str().to_owned(),
    ];
    let guard = Guard::lower(state_dir, Path::new("/sys"), leaves, max_request, guardian).map_err(
        |error| {
            CommandError::new(Kind::Environment, format!("--max-request: {error}"))
                .hint("nothing is left lowered; the pass works without --max-request, too")
        },
    )?;
    for Lowered {
        device,
        old_bytes,
        new_bytes,
        ..
    } in guard.lowered()
    {
        teller.remark(&format!(
            "{device}: discard_max_bytes {} -> {}",
            human_bytes(*old_bytes),
            human_bytes(*new_bytes)
        ));
    }
    Ok(Some(guard))
}

/// Puts the limits back, and says how it went.
fn put_back(guard: Guard, point: &str, teller: &mut Teller, warnings: &mut Vec<String>) {
    let restored = match guard.restore() {
        Ok(restored) => restored,
        Err(error) => {
            let text = format!(
                "the limits could not be put back: {error}; try `trimtab trim --restore-limits`"
            );
            teller.say(point, &text);
            warnings.push(text);
            return;
        }
    };
    for (lowered, outcome) in &restored {
        let text = restored_words(lowered, outcome);
        if !matches!(outcome, Restored::Restored | Restored::Nearest { .. }) {
            warnings.push(text.clone());
        }
        teller.say(point, &text);
    }
}

/// What became of a limit.
pub fn restored_words(lowered: &Lowered, restored: &Restored) -> String {
    let device = report::escape(&lowered.device);
    match restored {
        Restored::Restored => format!(
            "{device}: discard_max_bytes is back at {}",
            human_bytes(lowered.old_bytes)
        ),
        Restored::ChangedByOthers { found_bytes } => format!(
            "{device}: discard_max_bytes is {} now, which is not what trimtab wrote: left alone",
            human_bytes(*found_bytes)
        ),
        Restored::Nearest { found_bytes } => format!(
            "{device}: discard_max_bytes is back at {}, the nearest that the kernel allows to {}",
            human_bytes(*found_bytes),
            human_bytes(lowered.old_bytes)
        ),
        Restored::Obsolete => {
            format!("{device}: the lowered discard_max_bytes is gone with an earlier boot or drive")
        }
    }
}

/// Puts back what a pass that died has left.
///
/// # Errors
/// Where the journal cannot be read, or a value not be written.
pub fn restore_leftovers(state_dir: &Path, teller: &mut Teller) -> Result<usize, CommandError> {
    let restored = limits::restore_leftovers(state_dir, Path::new("/sys")).map_err(|error| {
        CommandError::new(
            Kind::Environment,
            format!("limits that an earlier pass had lowered: {error}"),
        )
        .hint("the journal says what to write into queue/discard_max_bytes of which drive")
    })?;
    for (lowered, outcome) in &restored {
        teller.remark(&format!(
            "left by a pass that died: {}",
            restored_words(lowered, outcome)
        ));
    }
    Ok(restored.len())
}
