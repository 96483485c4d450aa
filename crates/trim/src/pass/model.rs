//! What a pass works with, tells, and ends with.

use crate::account::{Discarded, Layers, Swallowed};
use crate::child::Trimmer;
use crate::clock::Clock;
use crate::counters::Watch;
use crate::geometry::{Survey, Walk};
use crate::pace::{QuietLevel, Settings};
use crate::probe::Probe;
use crate::range::Step;
use crate::state::{Checkpoint, State};
use crate::stop::{Stop, StopRequest};
use crate::target::Target;
use jiff::Timestamp;
use std::time::Duration;

/// What a middling drive is taken to discard per second before anything was measured, when a step
/// that cannot be split is weighed.
pub const ASSUMED_BYTES_PER_S: u64 = 2 << 30;

/// For how long a step that cannot be split may lock its space unless [`Options::accept_stall`] says
/// otherwise. Asked of a free extent that this kernel takes whole (XFS), of Btrfs' unallocated space
/// and of filesystems without a known geometry; a walk that locks one free extent at a time (block
/// groups of ext4 and Btrfs, see [`Walk::locks_one_extent_at_a_time`]) is not asked at all.
pub const STALL_UNASKED: Duration = Duration::from_millis(250);

/// Why a pass ended whose time was over.
pub const DEADLINE_PASSED: &str = "the deadline has passed; the next call goes on from here";

/// Says when a pass may work: windows of the wall clock.
pub trait Gate {
    /// `None` while open; a reason and when it opens next while closed.
    fn closed(&mut self, now: Timestamp) -> Option<Closed>;
}

/// A closed gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// For people: `outside of --window 01:00-05:00`.
    pub reason: String,
    /// When it opens; `None`: the pass stops and is resumed by another call.
    pub opens_at: Option<Timestamp>,
}

/// Everything that a pass works with.
pub struct Parts<'a> {
    /// What is trimmed.
    pub target: &'a Target,
    /// The layers below it.
    pub layers: &'a Layers,
    /// Its steps, from the checkpoint's cursor on.
    pub walk: Box<dyn Walk>,
    /// The checkpoint that `walk` begins at; `None` for a new pass.
    pub resume: Option<Checkpoint>,
    /// Hands them to the kernel.
    pub trimmer: Box<dyn Trimmer>,
    /// Counters of all layers.
    pub watch: Box<dyn Watch>,
    /// What others feel; the first is the drive probe.
    pub probes: Vec<Box<dyn Probe>>,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Checkpoints.
    pub state: &'a State,
    /// Being asked to stop.
    pub stop: Stop,
    /// Windows.
    pub gate: Box<dyn Gate>,
    /// Called between steps: keeps the guardian alive, and whatever else needs looking after.
    pub run_housekeeping: Box<dyn FnMut() -> Result<(), String> + 'a>,
}

/// How a pass is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// What the user allows.
    pub settings: Settings,
    /// `--accept-stall`: for how long a step that cannot be split may lock its space; `None`:
    /// [`STALL_UNASKED`].
    pub accept_stall: Option<Duration>,
    /// How long the quiet level is measured.
    pub quiet: Duration,
    /// Longest duration of this session.
    pub deadline: Option<Duration>,
    /// How long to wait for the drives after a step before going on, slower.
    pub settle_timeout: Duration,
}

/// What happens during a pass, for whoever draws it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The quiet level is being measured.
    Measuring {
        /// How long that takes.
        takes: Duration,
    },
    /// The pass begins, or goes on from a checkpoint.
    Begins {
        /// What there is to do.
        survey: Survey,
        /// Quiet level by probe label.
        quiet: Vec<(String, QuietLevel)>,
        /// Budgets in words.
        budgets: Vec<String>,
        /// Bytes visited in earlier sessions.
        resumed_bytes: u64,
    },
    /// A step is about to be made that cannot be split.
    Unsplittable {
        /// What.
        what: String,
        /// Free bytes that the call discards.
        bytes: u64,
        /// How long it may lock its space: as measured in this pass, or else at
        /// [`ASSUMED_BYTES_PER_S`].
        predicted: Duration,
    },
    /// A step was made.
    Stepped {
        /// Which.
        step: Step,
        /// How long its discards were in flight.
        locked: Duration,
        /// So far.
        progress: Progressed,
    },
    /// Nothing is done for a while.
    Waiting {
        /// How long, at least.
        pause: Duration,
        /// Why.
        reason: String,
        /// So far.
        progress: Progressed,
    },
    /// Something is worth knowing, but does not stop the pass.
    Warning(String),
}

/// How far a pass is.
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
    /// Time left, where it can be estimated.
    pub left: Option<Duration>,
    /// Bytes discarded (or visited, where not measurable) per second over the last minute.
    pub rate_bytes_per_s: f64,
    /// Latency seen by each probe during the pass.
    pub latency: Vec<(String, QuietLevel)>,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// Everything was visited.
    Complete,
    /// The budget cannot be kept, a step would stall others, time is over: resumable.
    Stopped {
        /// Why, and the way out.
        reason: String,
    },
    /// A signal: resumable.
    Signal(i32),
    /// `--cancel`: the checkpoint is gone.
    Cancelled,
    /// The stack swallows discards.
    Swallowed(Swallowed),
    /// The mount, a device or the child is not what it was, or a file could not be written.
    Failed {
        /// What happened.
        reason: String,
        /// Whether a later call can go on from the checkpoint.
        resumable: bool,
    },
}

/// What a pass did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// How far it came.
    pub progress: Progressed,
    /// Free bytes surveyed, and the filesystem's size.
    pub survey: Option<Survey>,
    /// Quiet level by probe.
    pub quiet: Vec<(String, QuietLevel)>,
    /// Longest time from a call of FITRIM to its last discard.
    pub longest_step: Duration,
    /// All the space of a step was locked for so long (XFS), not one free extent after the other.
    pub locks_whole_steps: bool,
    /// Kernels before 4.18 do not count discards.
    pub measurable: bool,
}

/// Hears of events.
pub trait Progress {
    /// Something happened.
    fn event(&mut self, event: &Event);
}

/// How a pass ends that somebody wants to end; `None` while nobody does. `key` is
/// [`crate::target::Identity::key`]. `--cancel` leaves its request with the state first and then
/// sends a signal: a signal alone is no cancel.
pub fn asked_to_end(stop: &Stop, state: &State, key: &str) -> Option<Ended> {
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
    /// One word for it, for programs.
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

    /// Whether the same command resumes the pass from where it was.
    pub fn is_resumable(&self) -> bool {
        match self {
            Self::Complete | Self::Cancelled | Self::Swallowed(_) => false,
            Self::Stopped { .. } | Self::Signal(_) => true,
            Self::Failed { resumable, .. } => *resumable,
        }
    }

    /// Why it ended, where it is not complete.
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

/// A checkpoint's reason, for people and programs: it has signals by their numbers.
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
