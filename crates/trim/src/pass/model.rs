//! Inputs, events and results of a pass.

use crate::account::{Discarded, Layers, Swallowed};
use crate::child::Trimmer;
use crate::clock::Clock;
use crate::counters::CounterSource;
use crate::geometry::{Survey, Walk};
use crate::pace::{QuietLevel, Settings};
use crate::probe::Probe;
use crate::state::{Checkpoint, State};
use crate::step::Step;
use crate::stop::{Stop, StopRequest};
use crate::target::Target;
use jiff::Timestamp;
use std::time::Duration;

/// Assumed discard rate of an average drive before anything was measured, used to judge a step that
/// cannot be split.
pub const ASSUMED_BYTES_PER_S: u64 = 2 << 30;

/// How long a step that cannot be split may lock its space unless [`Options::accept_stall`] says
/// otherwise. Applies to a free extent that this kernel discards whole (XFS), to Btrfs' unallocated
/// space and to filesystems with unknown geometry; a walk that locks one free extent at a time
/// (block groups of ext4 and Btrfs, see [`Walk::locks_one_extent_at_a_time`]) is exempt.
pub const STALL_MAX_DEFAULT: Duration = Duration::from_millis(250);

/// Stop reason of a pass whose time is over.
pub const DEADLINE_PASSED: &str = "the deadline has passed; the next call goes on from here";

/// Decides when a pass may work: windows of the wall clock.
pub trait Gate {
    /// Returns `None` while open; while closed, the reason and when it opens next.
    fn closed(&mut self, now: Timestamp) -> Option<Closed>;
}

/// A closed gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Human-readable reason: `outside of --window 01:00-05:00`.
    pub reason: String,
    /// When it opens; `None` if the pass should stop and be resumed by another call.
    pub opens_at: Option<Timestamp>,
}

/// Everything that a pass works with.
pub struct Parts<'a> {
    /// The filesystem to trim.
    pub target: &'a Target,
    /// The layers below it.
    pub layers: &'a Layers,
    /// The walk that yields its steps, from the checkpoint's cursor on.
    pub walk: Box<dyn Walk>,
    /// The checkpoint at which `walk` begins; `None` for a new pass.
    pub resume: Option<Checkpoint>,
    /// Trims the ranges of the steps.
    pub trimmer: Box<dyn Trimmer>,
    /// Source of the counters of all layers.
    pub watch: Box<dyn CounterSource>,
    /// Latency probes; the first is the drive probe.
    pub probes: Vec<Box<dyn Probe>>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Store of checkpoints.
    pub state: &'a State,
    /// Stop requests.
    pub stop: Stop,
    /// Decides when the pass may work.
    pub gate: Box<dyn Gate>,
    /// Called between steps, for upkeep.
    pub run_housekeeping: Box<dyn FnMut() -> Result<(), String> + 'a>,
}

/// Options of a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Limits for the pacing.
    pub settings: Settings,
    /// `--accept-stall`: how long a step that cannot be split may lock its space; `None`:
    /// [`STALL_MAX_DEFAULT`].
    pub accept_stall: Option<Duration>,
    /// How long the quiet level is measured.
    pub quiet: Duration,
    /// Maximum duration of this session.
    pub deadline: Option<Duration>,
    /// How long to wait for the drives after a step before going on, slower.
    pub settle_timeout: Duration,
}

/// A progress event of a pass.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The quiet level is being measured.
    Measuring {
        /// How long that takes.
        takes: Duration,
    },
    /// The pass begins, or resumes from a checkpoint.
    Begins {
        /// Survey of the filesystem.
        survey: Survey,
        /// Quiet level by probe label.
        quiet: Vec<(String, QuietLevel)>,
        /// Budgets as sentences.
        budgets: Vec<String>,
        /// Bytes visited in earlier sessions.
        resumed_bytes: u64,
    },
    /// A step that cannot be split is about to be made.
    Unsplittable {
        /// Why it cannot be split.
        what: String,
        /// Free bytes that the call discards.
        bytes: u64,
        /// How long it may lock its space: as measured in this pass, or else at
        /// [`ASSUMED_BYTES_PER_S`].
        predicted: Duration,
    },
    /// A step was made.
    Stepped {
        /// The step.
        step: Step,
        /// How long its discards were in flight.
        locked: Duration,
        /// Progress so far.
        progress: Progressed,
    },
    /// The pass is waiting.
    Waiting {
        /// How long, at least.
        pause: Duration,
        /// Why.
        reason: String,
        /// Progress so far.
        progress: Progressed,
    },
    /// A warning that does not stop the pass.
    Warning(String),
}

/// Progress of a pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progressed {
    /// Steps made in all sessions.
    pub steps: u64,
    /// Free bytes to visit, as surveyed at the start.
    pub free_bytes: u64,
    /// Free bytes visited in all sessions.
    pub visited_bytes: u64,
    /// Bytes discarded by layer, in all sessions.
    pub discarded: Discarded,
    /// Time spent in this session.
    pub active: Duration,
    /// Estimated time left, if available.
    pub left: Option<Duration>,
    /// Bytes discarded (or visited, if not measurable) per second over the last minute.
    pub rate_bytes_per_s: f64,
    /// Latency of each probe during the pass.
    pub latency: Vec<(String, QuietLevel)>,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// Everything was visited.
    Complete,
    /// The budget cannot be kept, a step would stall others, or time is over: resumable.
    Stopped {
        /// Why, and how to proceed.
        reason: String,
    },
    /// Stopped by a signal: resumable.
    Signal(i32),
    /// Stopped by `--cancel`: the checkpoint is gone.
    Cancelled,
    /// The stack swallows discards.
    Swallowed(Swallowed),
    /// The mount, a device or the child has changed or failed, or a file could not be written.
    Failed {
        /// What happened.
        reason: String,
        /// Whether a later call can resume from the checkpoint.
        resumable: bool,
    },
}

/// Result of a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// How far it came.
    pub progress: Progressed,
    /// Survey from the start of the pass; `None` if it ended before.
    pub survey: Option<Survey>,
    /// Quiet level by probe.
    pub quiet: Vec<(String, QuietLevel)>,
    /// Longest time from a FITRIM call to its last discard.
    pub longest_step: Duration,
    /// Whether a step locks all of its space for that long (XFS), rather than one free extent at a
    /// time.
    pub locks_whole_steps: bool,
    /// Whether discards can be measured: kernels before 4.18 do not count them.
    pub measurable: bool,
}

/// Receives the events of a pass.
pub trait Progress {
    /// Handles one event.
    fn event(&mut self, event: &Event);
}

/// Returns how a pass should end if a stop was requested; `None` otherwise. `key` is
/// [`crate::target::Identity::key`]. `--cancel` first leaves its request with the state and then
/// sends a signal, so a signal alone is not a cancel.
pub fn requested_end(stop: &Stop, state: &State, key: &str) -> Option<Ended> {
    let request = stop.requested()?;
    if state.cancel_requested(key) {
        return Some(Ended::Cancelled);
    }
    Some(match request {
        StopRequest::Cancel => Ended::Cancelled,
        StopRequest::Signal(number) => Ended::Signal(number),
        StopRequest::Deadline => Ended::Stopped {
            reason: DEADLINE_PASSED.to_owned(),
        },
    })
}

impl Ended {
    /// A failure after which a later call can resume.
    pub(super) fn failed(reason: String) -> Self {
        Self::Failed {
            reason,
            resumable: true,
        }
    }

    /// Returns a machine-readable name.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stopped { .. } => "stopped",
            Self::Signal(_) => "signal",
            Self::Cancelled => "cancelled",
            Self::Swallowed(_) => "swallowed",
            Self::Failed { .. } => "failed",
        }
    }

    /// Returns whether the same command resumes the pass from where it was.
    pub fn is_resumable(&self) -> bool {
        match self {
            Self::Complete | Self::Cancelled | Self::Swallowed(_) => false,
            Self::Stopped { .. } | Self::Signal(_) => true,
            Self::Failed { resumable, .. } => *resumable,
        }
    }

    /// Returns why it ended, unless it is complete.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Complete => None,
            Self::Stopped { reason } | Self::Failed { reason, .. } => Some(reason.clone()),
            Self::Signal(number) => Some(signal_name(*number)),
            Self::Cancelled => Some("cancelled from another terminal".to_owned()),
            Self::Swallowed(swallowed) => Some(format!(
                "discards are swallowed: {} bytes taken, {} bytes reached the drives",
                swallowed.taken_bytes, swallowed.passed_bytes
            )),
        }
    }
}

/// Describes the stop reason of a checkpoint, which contains signals as numbers.
pub fn describe_stop(reason: &str) -> String {
    let number = reason.strip_prefix("signal ").and_then(|n| n.parse().ok());
    number.map_or_else(
        || reason.to_owned(),
        |number| format!("ended by {}", signal_name(number)),
    )
}

fn signal_name(number: i32) -> String {
    match number {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        15 => "SIGTERM".to_owned(),
        number => format!("signal {number}"),
    }
}
