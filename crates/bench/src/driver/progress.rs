//! What a trial tells while it runs.

use super::histogram::Times;
use super::interval::Interval;
use crate::track::PhaseKind;
use std::time::Duration;

/// Is told how a trial goes. It is called on the thread that called [`run`](super::run()), which also writes the
/// trial's file: a call that takes long delays the next one, but never a request.
pub trait Progress {
    /// A setup or teardown request has been answered, or a phase is about to be prepared or to begin.
    fn stage(&mut self, stage: Stage<'_>) {
        let _ = stage;
    }

    /// About a second has passed.
    fn second(&mut self, second: &Second<'_>) {
        let _ = second;
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

/// A step of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage<'a> {
    /// Bulk requests are being prepared.
    Preparing,
    /// This setup request is sent.
    Setup(&'a str),
    /// Nothing is sent for so long.
    Pause(Duration),
    /// This phase begins.
    Phase {
        /// Its name.
        name: &'a str,
        /// Whether its figures count.
        kind: PhaseKind,
    },
    /// This teardown request is sent.
    Teardown(&'a str),
}

/// What happened since the last call.
#[derive(Debug)]
pub struct Second<'a> {
    /// The phase.
    pub phase: &'a str,
    /// Whether its figures count.
    pub kind: PhaseKind,
    /// Time since the phase began.
    pub elapsed_ns: u64,
    /// Time for which requests are planned, if it is known.
    pub len_ns: Option<u64>,
    /// The operations, in the track's order.
    pub classes: &'a [ClassSecond],
}

/// An operation since the last call.
#[derive(Debug, Default)]
pub struct ClassSecond {
    /// Name of the operation.
    pub operation: String,
    /// Latencies of successful requests.
    pub latency: Times,
    /// Requests that failed.
    pub failed: u64,
    /// Documents written.
    pub documents_written: u64,
    /// How long ago the first request that still has no connection was planned: 0 if nothing waits.
    pub behind_ns: u64,
}

impl ClassSecond {
    pub(super) fn clear(&mut self) {
        self.latency.clear();
        self.failed = 0;
        self.documents_written = 0;
    }
}

/// Adds an interval to what is told next.
pub(super) fn add(classes: &mut [ClassSecond], interval: &Interval) {
    for (second, class) in classes.iter_mut().zip(&interval.classes) {
        second.latency.add(&class.latency);
        second.failed += class.failed();
        second.documents_written += class.documents_written;
    }
}
