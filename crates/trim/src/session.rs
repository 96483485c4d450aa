//! One session of one pass: locks, checkpoint, the pass itself, its end.

use crate::audit;
use crate::child::Child;
use crate::clock::{Clock, SystemClock};
use crate::counters::{CounterSource, HostCounters};
use crate::events::{EventSink, SessionEvent};
use crate::filesystem::Filesystem;
use crate::forecast::{self, Forecast};
use crate::geometry::{self, GeometryError, Walk};
use crate::kernel_log::KernelLog;
use crate::layers::{self, LayerCounters};
use crate::pass::{self, Ended, Event, Outcome, Parts, Progress, Progressed, describe_stop};
use crate::probe::{DriveProbe, DriveProbeOptions, Probe, ProbeError};
use crate::request::{QUIET, Request, SETTLE_TIMEOUT};
use crate::state::{Checkpoint, Locks, Phase, State, StateError};
use crate::step::Cursor;
use crate::stop::Stop;
use crate::summary::{EarlierSessions, PassSummary, layer_counts};
use crate::target::Target;
use crate::waiting::{self, Pending, Waited};
use facts::{Finding, Host};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a cluster that is not green is asked again.
const GREEN_INTERVAL: Duration = Duration::from_secs(30);
/// Read rate of the drive probe: too low to be noticed, and enough to judge by.
const PROBE_READS_PER_S: f64 = 20.0;

/// Why a session could not begin, or did not end properly.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The mounted filesystem could not be identified.
    #[error("{mount_point}: {reason}")]
    Unidentified {
        /// The mount point.
        mount_point: String,
        /// Why.
        reason: String,
    },
    /// The state or lock directory failed, or another pass holds a lock.
    #[error("{source}")]
    State {
        /// Mount point of the pass.
        mount_point: String,
        /// What happened.
        source: StateError,
    },
    /// The checkpoint of an earlier pass cannot be read.
    #[error("{0}")]
    Checkpoint(StateError),
    /// The filesystem's structures cannot be read.
    #[error("{mount_point}: {source}")]
    Geometry {
        /// The mount point.
        mount_point: String,
        /// Why.
        source: GeometryError,
    },
    /// The drives' latency cannot be measured.
    #[error("the drives' latency cannot be watched: {0}")]
    Probe(#[from] ProbeError),
    /// The locks cannot be passed to the child.
    #[error("locks for a child: {0}")]
    Locks(io::Error),
}

/// Services a session needs from outside this crate: querying servers and judging stacks.
pub trait Surroundings {
    /// Error of these services.
    type Error: From<SessionError>;

    /// Asks whether the cluster is green and at rest.
    ///
    /// # Errors
    /// If it cannot be queried.
    fn cluster(&self) -> Result<ClusterState<Self::Error>, Self::Error>;

    /// Starts the probes of stores.
    ///
    /// # Errors
    /// If a probe fails at once.
    fn store_probes(&self, clock: SystemClock) -> Result<Vec<Box<dyn Probe>>, Self::Error>;

    /// Explains a stack that swallowed discards, using freshly collected facts because it may have
    /// changed.
    fn explain_lost_discards(&self, filesystem: &Filesystem<'_>) -> Vec<Finding>;
}

/// Whether a cluster is in a state in which a pass may start.
#[derive(Debug)]
pub enum ClusterState<E> {
    /// This was not requested.
    NotAsked,
    /// It is green and at rest; its name.
    Green(String),
    /// It is not.
    NotGreen {
        /// What it is: `cluster "logs" is yellow: 3 unassigned shards`.
        why: String,
        /// The error where nothing is waited for.
        error: E,
    },
}

/// Hidden first arguments that run this program's binary as a helper of a pass.
#[derive(Debug, Clone, Copy)]
pub struct HelperNames {
    /// Calls [`crate::child::serve`].
    pub trimmer: &'static str,
}

/// What all passes of a run share.
pub struct Session<'a, S> {
    /// The collected facts.
    pub host: &'a Host,
    /// The user's request.
    pub request: &'a Request,
    /// Checkpoints and locks.
    pub state: &'a State,
    /// Stop requests.
    pub stop: &'a Stop,
    /// Clock started with the run.
    pub clock: SystemClock,
    /// Helpers provided by this program's binary.
    pub helpers: HelperNames,
    /// Version for the audit log.
    pub tool_version: &'static str,
    /// Services from outside this crate.
    pub surroundings: &'a S,
}

impl<S: Surroundings> Session<'_, S> {
    /// Returns the time until the deadline of the whole run: all its passes and waits.
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.request.deadline?;
        Some(deadline.saturating_sub(self.clock.elapsed()))
    }

    /// Runs or resumes the pass of one filesystem. `notes` are reported first.
    ///
    /// # Errors
    /// If it could not begin.
    pub fn trim(
        &self,
        filesystem: &Filesystem<'_>,
        forecast: &Forecast<'_>,
        notes: &[String],
        sink: &mut dyn EventSink,
    ) -> Result<Ended, S::Error> {
        let point = filesystem.mount_point();
        let target = forecast
            .target
            .clone()
            .ok_or_else(|| SessionError::Unidentified {
                mount_point: point.to_owned(),
                reason: forecast.unknown.clone().unwrap_or_default(),
            })?;
        if !filesystem.other_mount_points.is_empty() {
            let others = units::list(&filesystem.other_mount_points);
            sink.note(point, &format!("also mounted on {others}; trimmed once"));
        }
        for note in notes {
            sink.note(point, note);
        }
        let key = target.identity.key();
        let drives = layers::drives(&forecast.stacks);
        let state_error = |source| SessionError::State {
            mount_point: point.to_owned(),
            source,
        };
        let locks = self
            .state
            .lock(&target.identity, &drives)
            .map_err(state_error)?;
        let found = self.find_checkpoint(&key)?;
        let one = OnePass {
            session: self,
            filesystem,
            forecast,
            target: &target,
            counters: LayerCounters::new(&forecast.stacks, &forecast.layers),
            resume: self.resumable(filesystem, &target, found.as_ref(), sink),
            found,
        };
        let pending = one.pending();
        let waited = pending.wait_for_window(&self.request.windows, &|| self.time_left(), sink);
        match waited.map_err(state_error) {
            Ok(Waited::Open) => {}
            Ok(Waited::Ended(ended)) => return one.finish_early(ended, sink),
            Err(error) => return Err(one.undo_after(error.into(), sink)),
        }
        match one.wait_for_green(sink) {
            Ok(Waited::Open) => {}
            Ok(Waited::Ended(ended)) => return one.finish_early(ended, sink),
            Err(error) => return Err(one.undo_after(error, sink)),
        }
        let began_at = Timestamp::now();
        let ready = pending
            .begin()
            .map_err(|error| state_error(error).into())
            .and_then(|()| one.prepare(&locks))
            .map_err(|error| one.undo_after(error, sink))?;
        if let Some(checkpoint) = &one.resume {
            sink.note(point, &describe_resumed(checkpoint));
        }
        one.run(ready, began_at, sink)
    }

    /// Returns the checkpoint left by an earlier pass. With `--restart`, an unreadable one counts
    /// as none.
    fn find_checkpoint(&self, key: &str) -> Result<Option<Checkpoint>, SessionError> {
        match self.state.checkpoint(key) {
            Err(_) if self.request.restart => Ok(None),
            read => read.map_err(SessionError::Checkpoint),
        }
    }

    /// Returns the checkpoint to resume from, unless it is too old or `--restart` was given.
    fn resumable(
        &self,
        filesystem: &Filesystem<'_>,
        target: &Target,
        found: Option<&Checkpoint>,
        sink: &mut dyn EventSink,
    ) -> Option<Checkpoint> {
        let found = found.filter(|_| !self.request.restart)?;
        if let Some(why) = forecast::outdated(found, filesystem, target) {
            let text = format!("an earlier pass is not resumed: {why}");
            sink.note(filesystem.mount_point(), &text);
            return None;
        }
        Some(found.clone())
    }
}

/// The session's work for one filesystem.
struct OnePass<'a, S> {
    session: &'a Session<'a, S>,
    filesystem: &'a Filesystem<'a>,
    forecast: &'a Forecast<'a>,
    target: &'a Target,
    counters: LayerCounters,
    /// Checkpoint of an earlier pass: kept until this one has begun to work.
    found: Option<Checkpoint>,
    /// Checkpoint that this pass resumes from.
    resume: Option<Checkpoint>,
}

/// Everything that a pass needs.
struct Ready {
    walk: Box<dyn Walk>,
    trimmer: Child,
    watch: HostCounters<SystemClock>,
    probes: Vec<Box<dyn Probe>>,
    kernel_counts: bool,
}

impl<S: Surroundings> OnePass<'_, S> {
    fn mount_point(&self) -> &str {
        self.filesystem.mount_point()
    }

    fn pending(&self) -> Pending<'_> {
        Pending {
            target: self.target,
            resume: self.resume.as_ref(),
            state: self.session.state,
            stop: self.session.stop,
            clock: &self.session.clock,
        }
    }

    fn state_error(&self, source: StateError) -> SessionError {
        SessionError::State {
            mount_point: self.mount_point().to_owned(),
            source,
        }
    }

    /// Waits within the window until the cluster is green and at rest. Without a window it has to be so now.
    fn wait_for_green(&self, sink: &mut dyn EventSink) -> Result<Waited, S::Error> {
        let session = self.session;
        let mut answer = session.surroundings.cluster()?;
        let mut was_told = false;
        loop {
            let why = match answer {
                ClusterState::NotAsked => return Ok(Waited::Open),
                ClusterState::Green(name) => {
                    sink.note(self.mount_point(), &format!("cluster {name} is green"));
                    return Ok(Waited::Open);
                }
                ClusterState::NotGreen { error, .. } if session.request.windows.is_empty() => {
                    return Err(error);
                }
                ClusterState::NotGreen { why, .. } => why,
            };
            if !was_told {
                was_told = true;
                sink.note(self.mount_point(), &format!("waiting, {why}"));
            }
            let pending = self.pending();
            let waited = pending
                .pause(
                    GREEN_INTERVAL,
                    &session.request.windows,
                    &|| session.time_left(),
                    &why,
                )
                .map_err(|source| self.state_error(source))?;
            if let Waited::Ended(ended) = waited {
                return Ok(Waited::Ended(ended));
            }
            // One that does not answer for a while is no better than one that is not green.
            answer = match session.surroundings.cluster() {
                Ok(answer) => answer,
                Err(error) => ClusterState::NotGreen { why, error },
            };
        }
    }

    fn prepare(&self, locks: &Locks) -> Result<Ready, S::Error> {
        let session = self.session;
        let layers = &self.forecast.layers;
        let probes = self.probes(&layers.leaves())?;
        let resume = self.resume.as_ref();
        let cursor = resume.map_or_else(Cursor::default, |checkpoint| checkpoint.cursor);
        let walk = geometry::open(self.target, cursor, session.stop).map_err(|source| {
            SessionError::Geometry {
                mount_point: self.mount_point().to_owned(),
                source,
            }
        })?;
        let trimmer = self.child(locks)?;
        let mut watch = HostCounters::new(PathBuf::from("/proc"), layers.all(), session.clock);
        // Problems with the counters are detected and reported by the pass itself.
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
            kernel_counts,
        })
    }

    fn probes(&self, leaves: &[String]) -> Result<Vec<Box<dyn Probe>>, S::Error> {
        let nodes: Vec<PathBuf> = leaves.iter().map(|leaf| layers::node(leaf)).collect();
        let options = DriveProbeOptions {
            reads_per_s: PROBE_READS_PER_S,
            seed: u64::from(std::process::id()),
        };
        let clock = self.session.clock;
        let drives = DriveProbe::start(&nodes, options, clock).map_err(SessionError::Probe)?;
        let mut probes: Vec<Box<dyn Probe>> = vec![Box::new(drives)];
        probes.extend(self.session.surroundings.store_probes(clock)?);
        Ok(probes)
    }

    /// Creates the trimming process. It inherits the locks and keeps them if it gets stuck in the
    /// kernel.
    fn child(&self, locks: &Locks) -> Result<Child, SessionError> {
        // This binary, even if its file was replaced or PATH contains another.
        let helper = ["/proc/self/exe", self.session.helpers.trimmer].map(OsString::from);
        let inherited = locks.for_child().map_err(SessionError::Locks)?;
        let stop = self.session.stop.clone();
        Ok(Child::new(
            helper.into(),
            self.target.clone(),
            inherited,
            stop,
        ))
    }

    fn run(
        &self,
        ready: Ready,
        began_at: Timestamp,
        sink: &mut dyn EventSink,
    ) -> Result<Ended, S::Error> {
        let session = self.session;
        let request = session.request;
        let layers = &self.forecast.layers;
        let key = self.target.identity.key();
        let mut kernel_log = KernelLog::open(Path::new("/dev/kmsg"), layers.all());
        let mut windows = request.windows.clone();
        let parts = Parts {
            target: self.target,
            layers,
            walk: ready.walk,
            resume: self.resume.clone(),
            trimmer: Box::new(ready.trimmer),
            watch: Box::new(ready.watch),
            probes: ready.probes,
            clock: &session.clock,
            state: session.state,
            stop: session.stop.clone(),
            gate: Box::new(request.windows.clone()),
            run_housekeeping: Box::new(|| {
                if let Some(message) = kernel_log.failed_discard() {
                    return Err(format!(
                        "a drive refuses discards; the kernel's log says \"{message}\". Nothing \
                         is freed until that is fixed; --restart then begins the pass anew"
                    ));
                }
                waiting::remark(session.state, &key, &mut windows, session.clock.wall())
            }),
        };
        let options = pass::Options {
            settings: request.settings.clone(),
            accept_stall: request.accept_stall,
            quiet: QUIET,
            deadline: session.time_left(),
            settle_timeout: SETTLE_TIMEOUT,
        };
        let mut listener = Listener {
            sink,
            mount_point: self.mount_point(),
            drives: layers.leaves(),
            counters: &self.counters,
            warnings: Vec::new(),
        };
        let outcome = pass::run(parts, &options, &mut listener);
        let warnings = listener.warnings;
        if self.resume.is_none() && outcome.survey.is_none() && outcome.progress.steps == 0 {
            // A checkpoint written before the pass did any work is not worth keeping.
            self.undo(&outcome.ended)?;
        }
        let summary = self.summary(began_at, outcome, ready.kernel_counts, warnings);
        Ok(self.report_end(summary, sink))
    }

    /// Ends a pass that did not get to work in this session.
    fn finish_early(&self, ended: Ended, sink: &mut dyn EventSink) -> Result<Ended, S::Error> {
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
        let summary = PassSummary {
            is_resumed: false,
            earlier: EarlierSessions::default(),
            ..self.summary(Timestamp::now(), outcome, true, Vec::new())
        };
        Ok(self.report_end(summary, sink))
    }

    /// Restores the checkpoint that was found, unless the pass was cancelled.
    fn undo(&self, ended: &Ended) -> Result<(), SessionError> {
        let found = self.found.as_ref();
        let kept = found.filter(|_| *ended != Ended::Cancelled);
        waiting::undo(self.session.state, &self.target.identity.key(), kept)
            .map_err(|error| self.state_error(error))
    }

    /// Restores the checkpoint that was found, and returns the error that prevented the pass.
    fn undo_after(&self, error: S::Error, sink: &mut dyn EventSink) -> S::Error {
        let key = self.target.identity.key();
        if let Err(undone) = waiting::undo(self.session.state, &key, self.found.as_ref()) {
            sink.note(self.mount_point(), &undone.to_string());
        }
        error
    }

    fn summary(
        &self,
        began_at: Timestamp,
        outcome: Outcome,
        kernel_counts: bool,
        warnings: Vec<String>,
    ) -> PassSummary {
        let earlier = self.resume.as_ref().map(EarlierSessions::of);
        PassSummary {
            mount_point: self.mount_point().to_owned(),
            target: self.target.clone(),
            began_at,
            is_resumed: earlier.is_some(),
            earlier: earlier.unwrap_or_default(),
            layers: layer_counts(&self.counters, &outcome),
            top_devices: self.counters.top(),
            kernel_counts,
            measuring: QUIET,
            warnings,
            findings: Vec::new(),
            outcome,
        }
    }

    /// Writes the audit entry and emits the final event.
    fn report_end(&self, mut summary: PassSummary, sink: &mut dyn EventSink) -> Ended {
        let session = self.session;
        let entry = audit::entry(&summary, session.request, session.tool_version);
        if let Err(error) = session.state.audit(&entry) {
            let text = format!("the audit log could not be written: {error}");
            sink.note(self.mount_point(), &text);
        }
        if let Ended::Swallowed(_) = summary.outcome.ended {
            summary.findings = session.surroundings.explain_lost_discards(self.filesystem);
        }
        sink.event(SessionEvent::Ended(&summary));
        summary.outcome.ended
    }
}

/// Forwards the events of one pass and collects its warnings.
struct Listener<'a> {
    sink: &'a mut dyn EventSink,
    mount_point: &'a str,
    drives: Vec<String>,
    counters: &'a LayerCounters,
    warnings: Vec<String>,
}

impl Progress for Listener<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::Warning(text) = event {
            self.warnings.push(text.clone());
        }
        self.sink.event(SessionEvent::Pass {
            mount_point: self.mount_point,
            drives: &self.drives,
            counters: self.counters,
            event,
        });
    }
}

fn describe_resumed(checkpoint: &Checkpoint) -> String {
    let why = match &checkpoint.phase {
        Phase::Running => "it was killed, or the host went down".to_owned(),
        Phase::Stopped { reason } => describe_stop(reason),
    };
    format!(
        "resumes the pass of {} ({why}): {} of {} visited; --restart starts over",
        units::date::minute_in_zone(checkpoint.started_at, &TimeZone::UTC),
        units::bytes(checkpoint.visited_bytes),
        units::bytes(checkpoint.free_bytes)
    )
}
