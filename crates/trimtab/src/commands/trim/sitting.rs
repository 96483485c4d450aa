//! One sitting of one pass: locks, leftovers, checkpoint, limits, the pass itself, its end.

use super::again::Again;
use super::forecast::{self, Forecast};
use super::layers::Ways;
use super::options::{self, Options};
use super::over::{Earlier, Over};
use super::plan::Plan;
use super::store_probe::{self, StoreProbe, StoreProbeOptions};
use super::summary::{self, Ending};
use super::tell::{Ear, Teller};
use super::waiting::{self, Waited};
use super::words::Page;
use super::{audit, describe, layers, lines, lowering};
use crate::error::{CommandError, Kind};
use crate::{FITRIM_HELPER, output};
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
use trim::counters::{HostCounters, Watch};
use trim::geometry::{self, Walk};
use trim::kernel_log::KernelLog;
use trim::limits::Guard;
use trim::pass::{self, Ended, Outcome, Parts, Progressed};
use trim::probe::{DriveProbe, DriveProbeOptions, Probe};
use trim::state::{Checkpoint, Locks, Phase, State, StateError};
use trim::stop::Stop;
use trim::target::Target;

/// Reads a second that ask the drives how they are: noticed by nobody, and enough to judge by.
const PROBE_READS_PER_S: f64 = 20.0;

/// What all passes of a run share.
pub struct Run<'a> {
    pub host: &'a Host,
    pub options: &'a Options,
    pub state: &'a State,
    pub stop: &'a Stop,
    /// For who is told how to go on.
    pub again: &'a Again,
    /// Began with the call.
    pub clock: SystemClock,
}

impl Run<'_> {
    /// Until the deadline, which is that of the whole call: all its passes and waits.
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.options.deadline?;
        Some(deadline.saturating_sub(self.clock.elapsed()))
    }
}

/// Makes, or goes on with, the pass of one filesystem.
///
/// # Errors
/// Where it could not begin.
pub fn sit(
    run: &Run<'_>,
    plan: &Plan<'_>,
    forecast: &Forecast<'_>,
    teller: &mut Teller,
) -> Result<Ended, CommandError> {
    let target = forecast.target.clone().ok_or_else(|| {
        let reason = forecast.unknown.clone().unwrap_or_default();
        let text = format!("{}: {}", plan.name(), report::escape(&reason));
        CommandError::new(Kind::Environment, text)
    })?;
    announce(plan, forecast, run.options, teller);
    let key = target.identity.key();
    let locks = run
        .state
        .lock(&target.identity, &layers::drives(&forecast.stacks))
        .map_err(|error| busy(run, &error, plan))?;
    let found = found(run, &key)?;
    let sitting = Sitting {
        run,
        plan,
        forecast,
        target: &target,
        ways: Ways::new(&forecast.stacks, &forecast.layers),
        resume: resumable(run, plan, &target, found.as_ref(), teller),
        found,
    };
    let resume = sitting.resume.as_ref();
    match waiting::for_window(run, &target, resume, teller) {
        Ok(Waited::Open) => {}
        Ok(Waited::Ended(ended)) => return sitting.finish_early(ended, teller),
        Err(error) => return Err(sitting.undone(error, teller)),
    }
    let began_at = Timestamp::now();
    waiting::begin(run, &target, resume)
        .and_then(|()| sitting.ready(&locks, teller))
        .map_err(|error| sitting.undone(error, teller))
        .and_then(|ready| {
            if let Some(checkpoint) = resume {
                teller.say(&plan.mount.mount_point, &resumed(checkpoint));
            }
            sitting.pass(ready, began_at, teller)
        })
}

/// The checkpoint that an earlier pass left. With `--restart`, one that cannot be read is none.
fn found(run: &Run<'_>, key: &str) -> Result<Option<Checkpoint>, CommandError> {
    match run.state.checkpoint(key) {
        Err(_) if run.options.restart => Ok(None),
        read => read.map_err(|error| state_error(&error).hint("--restart starts over without it")),
    }
}

/// The checkpoint to go on from, unless it is too old, or `--restart` was given.
fn resumable(
    run: &Run<'_>,
    plan: &Plan<'_>,
    target: &Target,
    found: Option<&Checkpoint>,
    teller: &mut Teller,
) -> Option<Checkpoint> {
    let found = found.filter(|_| !run.options.restart)?;
    if let Some(why) = forecast::outdated(found, plan, target) {
        let point = plan.mount.mount_point.as_str();
        teller.say(point, &format!("an earlier pass is not resumed: {why}"));
        return None;
    }
    Some(found.clone())
}

/// One sitting: what is to be done.
struct Sitting<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan<'a>,
    forecast: &'a Forecast<'a>,
    target: &'a Target,
    ways: Ways,
    /// What an earlier pass left: stays until this one has begun to work.
    found: Option<Checkpoint>,
    /// What this pass goes on from.
    resume: Option<Checkpoint>,
}

/// All that a pass needs, at hand.
struct Ready {
    walk: Box<dyn Walk>,
    trimmer: Child,
    watch: HostCounters<SystemClock>,
    probes: Vec<Box<dyn Probe>>,
    guard: Option<Guard>,
    kernel_counts: bool,
}

impl Sitting<'_> {
    fn ready(&self, locks: &Locks, teller: &mut Teller) -> Result<Ready, CommandError> {
        let run = self.run;
        let layers = &self.forecast.layers;
        require_green(run, &self.plan.mount.mount_point, teller)?;
        let probes = probes(run, &layers.leaves())?;
        let resume = self.resume.as_ref();
        let cursor = resume.map_or_else(Cursor::default, |checkpoint| checkpoint.cursor);
        let walk = geometry::open(self.target, cursor, run.stop).map_err(|error| {
            let reason = error.to_string();
            let text = format!("{}: {}", self.plan.name(), report::escape(&reason));
            CommandError::new(Kind::Environment, text)
        })?;
        let trimmer = child(run, self.target, locks)?;
        let mut watch = HostCounters::new(PathBuf::from("/proc"), layers.all(), run.clock);
        // Whatever is wrong with the counters, the pass itself will find and say.
        let counters = watch.sample().unwrap_or_default();
        let kernel_counts = counters
            .devices
            .values()
            .any(|device| device.discarded_bytes.is_some());
        Ok(Ready {
            walk,
            trimmer,
            watch,
            probes,
            // The last: nothing fails after it.
            guard: lowering::lower(run, &layers.leaves(), teller)?,
            kernel_counts,
        })
    }

    fn pass(
        &self,
        ready: Ready,
        began_at: Timestamp,
        teller: &mut Teller,
    ) -> Result<Ended, CommandError> {
        let run = self.run;
        let point = self.plan.mount.mount_point.as_str();
        let key = self.target.identity.key();
        let layers = &self.forecast.layers;
        let guard = RefCell::new(ready.guard);
        let mut kernel_log = KernelLog::open(Path::new("/dev/kmsg"), layers.all());
        let mut windows = run.options.windows.clone();
        let earlier = self.resume.as_ref().map(Earlier::of);
        let parts = Parts {
            target: self.target,
            layers,
            walk: ready.walk,
            resume: self.resume.clone(),
            trimmer: Box::new(ready.trimmer),
            watch: Box::new(ready.watch),
            probes: ready.probes,
            clock: &run.clock,
            state: run.state,
            stop: run.stop.clone(),
            gate: Box::new(run.options.windows.clone()),
            tend: Box::new(|| {
                if let Some(message) = kernel_log.failed_discard() {
                    return Err(format!(
                        "a drive refuses discards; the kernel's log says \"{message}\". Nothing \
                         is freed until that is mended; --restart then begins the pass anew"
                    ));
                }
                waiting::remark(run.state, &key, &mut windows, run.clock.wall())?;
                match guard.borrow_mut().as_mut() {
                    Some(guard) => guard.keep_guarded().map_err(|error| error.to_string()),
                    None => Ok(()),
                }
            }),
        };
        let pass_options = pass::Options {
            settings: run.options.settings.clone(),
            accept_stall: run.options.accept_stall,
            quiet: options::QUIET,
            deadline: run.time_left(),
            settle_timeout: options::SETTLE_TIMEOUT,
        };
        let settings = run.options.settings.clone();
        let mut ear = Ear::new(teller, point, layers.leaves(), &self.ways, settings);
        let outcome = pass::run(parts, &pass_options, &mut ear);
        let mut warnings = ear.warnings;
        if let Some(guard) = guard.into_inner() {
            lowering::put_back(run, guard, point, teller, &mut warnings);
        }
        if earlier.is_none() && outcome.survey.is_none() && outcome.progress.steps == 0 {
            // What was written before it worked is no checkpoint worth keeping.
            self.undo(&outcome.ended)?;
        }
        let over = Over {
            target: self.target,
            began_at,
            outcome: &outcome,
            is_resumed: earlier.is_some(),
            earlier: earlier.unwrap_or_default(),
            ways: &self.ways,
            kernel_counts: ready.kernel_counts,
            warnings: &warnings,
        };
        self.close(&over, teller)?;
        Ok(outcome.ended)
    }

    /// Ends a pass that did not get to work in this sitting.
    fn finish_early(&self, ended: Ended, teller: &mut Teller) -> Result<Ended, CommandError> {
        self.undo(&ended)?;
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
            target: self.target,
            began_at: Timestamp::now(),
            outcome: &outcome,
            is_resumed: false,
            earlier: Earlier::default(),
            ways: &self.ways,
            kernel_counts: true,
            warnings: &[],
        };
        self.close(&over, teller)?;
        Ok(outcome.ended)
    }

    /// Leaves what was found, unless the pass was cancelled.
    fn undo(&self, ended: &Ended) -> Result<(), CommandError> {
        let found = self.found.as_ref();
        let kept = found.filter(|_| *ended != Ended::Cancelled);
        waiting::undo(self.run.state, &self.target.identity.key(), kept)
    }

    /// Leaves what was found, and hands on why nothing was done.
    fn undone(&self, error: CommandError, teller: &mut Teller) -> CommandError {
        let key = self.target.identity.key();
        if let Err(undone) = waiting::undo(self.run.state, &key, self.found.as_ref()) {
            teller.say(&self.plan.mount.mount_point, &undone.to_string());
        }
        error
    }

    /// The audit line and the summary.
    fn close(&self, over: &Over<'_>, teller: &mut Teller) -> Result<(), CommandError> {
        let point = self.plan.mount.mount_point.as_str();
        let entry = audit::entry(over, self.run.options);
        if let Err(error) = self.run.state.audit(&entry) {
            teller.say(
                point,
                &format!("the audit log could not be written: {error}"),
            );
        }
        let explained = match over.outcome.ended {
            Ended::Swallowed(_) => explain(self.plan),
            _ => Vec::new(),
        };
        teller.emit("ended", lines::ended(over, point, &explained));
        let mut page = Page::new(usize::from(output::terminal_columns()));
        summary::write(
            &mut page,
            &Ending {
                mount: &self.plan.name(),
                over,
                explained: &explained,
                to_go_on: &self.run.again.resume(point),
                measuring: options::QUIET,
            },
        );
        teller.print(&page.finish())
    }
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
    rules::lost_discards(&now, mount)
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
        Phase::Stopped { reason } => lines::stop_reason(reason),
    };
    format!(
        "goes on with the pass of {} ({why}): {} of {} visited; --restart starts over",
        checkpoint.started_at.strftime("%Y-%m-%d %H:%M UTC"),
        human_bytes(checkpoint.visited_bytes),
        human_bytes(checkpoint.free_bytes)
    )
}

fn busy(run: &Run<'_>, error: &StateError, plan: &Plan<'_>) -> CommandError {
    let StateError::Busy {
        what,
        pid,
        same_filesystem,
    } = error
    else {
        return state_error(error);
    };
    let name = plan.name();
    if *same_filesystem {
        return CommandError::new(
            Kind::Refused,
            format!("{name} is being trimmed by process {pid}"),
        )
        .hint(format!("{} shows how far it is", run.again.status()))
        .hint(format!(
            "{} ends it for good; `kill {pid}` ends it so that it can go on later",
            run.again.cancel(&plan.mount.mount_point)
        ));
    }
    CommandError::new(
        Kind::Refused,
        format!("{name}: {what} is below a filesystem that process {pid} is trimming"),
    )
    .hint("filesystems that share a drive are trimmed one after another: name them in one command, or wait")
}

/// An error of the state directory, or of that of the locks, with the way out.
pub fn state_error(error: &StateError) -> CommandError {
    let text = error.to_string();
    let shown = CommandError::new(Kind::Environment, report::escape(&text));
    let StateError::Io { path, source } = error else {
        // Its words have the way out.
        return shown;
    };
    let is_denied = source.kind() == std::io::ErrorKind::PermissionDenied;
    if is_denied && !super::signals::may_trim() {
        shown.hint("run it as root, with sudo")
    } else if path.starts_with(options::RUN_DIR) {
        shown.hint(format!(
            "locks are in {} whatever --state says; it has to be a directory of root's, on a \
             filesystem that can be written to and has room",
            options::RUN_DIR
        ))
    } else {
        shown.hint("--state DIR keeps checkpoints elsewhere")
    }
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
pub fn own_binary() -> OsString {
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
