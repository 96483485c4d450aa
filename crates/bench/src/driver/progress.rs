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
    /// Time that the figures of the operations cover: a second, unless a thread was late or the phase ends.
    pub covered_ns: u64,
    /// Time for which requests are planned, if it is known.
    pub len_ns: Option<u64>,
    /// The operations, in the track's order.
    pub classes: &'a [ClassSecond],
}

impl Second<'_> {
    /// A count of the operations as a rate.
    #[allow(clippy::cast_precision_loss)] // of what one second counts
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * SECOND_NS as f64 / self.covered_ns.max(1) as f64
    }
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
}

impl ClassSecond {
    fn clear(&mut self) {
        self.latency.clear();
        self.failed = 0;
        self.documents_written = 0;
    }
}

const SECOND_NS: u64 = 1_000_000_000;
/// So long after a whole second, what threads hand on at that second has arrived. Otherwise it would be told with the next:
/// a second without requests, then one with twice as many.
const HANDED_ON_NS: u64 = 100_000_000;
/// The last part of a phase is told if it is at least this long: what a few requests say is no rate.
const LAST_MIN_NS: u64 = SECOND_NS / 2;

/// What is told next.
pub(super) struct Next {
    /// The operations, in the track's order.
    pub classes: Vec<ClassSecond>,
    /// What has been told covers so much of the phase.
    told_ns: u64,
}

impl Next {
    /// Of a phase that begins with these operations.
    pub fn new(operations: impl Iterator<Item = String>) -> Self {
        let of = |operation| ClassSecond {
            operation,
            ..ClassSecond::default()
        };
        Self {
            classes: operations.map(of).collect(),
            told_ns: 0,
        }
    }

    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        for (second, class) in self.classes.iter_mut().zip(&interval.classes) {
            second.latency.add(&class.latency);
            second.failed += class.failed();
            second.documents_written += class.documents_written;
        }
    }

    /// Time from `elapsed_ns` until it is due: 0 if it is.
    pub fn due_in_ns(&self, elapsed_ns: u64) -> u64 {
        (self.told_ns + SECOND_NS + HANDED_ON_NS).saturating_sub(elapsed_ns)
    }

    /// The time that it covers when it is told: whole seconds.
    pub fn covered_ns(&self, elapsed_ns: u64) -> u64 {
        let until_ns = elapsed_ns.saturating_sub(HANDED_ON_NS) / SECOND_NS * SECOND_NS;
        until_ns.saturating_sub(self.told_ns).max(SECOND_NS)
    }

    /// The time that the last one covers, after which nothing arrives; `None` if it is too short to be told.
    pub fn last_covered_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let covered_ns = elapsed_ns.saturating_sub(self.told_ns);
        (covered_ns >= LAST_MIN_NS).then_some(covered_ns)
    }

    /// Begins the next one.
    pub fn told(&mut self, covered_ns: u64) {
        self.classes.iter_mut().for_each(ClassSecond::clear);
        self.told_ns += covered_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::Recorder;
    use super::*;

    #[test]
    fn what_is_handed_on_at_a_second_is_told_with_it() {
        let mut next = Next::new(["search".to_owned()].into_iter());
        let handed_on = |ends: u64| {
            let mut interval = Recorder::interval(0, 0, 1);
            for _ in 0..ends {
                interval.classes[0].latency.record(1_000);
            }
            interval
        };
        let mut told = Vec::new();
        // Threads hand on a little after each second; the third time one is late by more than half a second.
        for (at_ms, requests) in [(1_003, 30), (2_090, 31), (3_600, 32), (4_001, 33)] {
            let at_ns = at_ms * 1_000_000;
            let due_ns = |next: &Next, at_ns| at_ns + next.due_in_ns(at_ns);
            let mut now_ns = due_ns(&next, 0);
            while now_ns <= at_ns {
                told.push(next.classes[0].latency.count());
                let covered_ns = next.covered_ns(now_ns);
                assert_eq!(covered_ns, SECOND_NS);
                next.told(covered_ns);
                now_ns = due_ns(&next, now_ns);
            }
            next.add(&handed_on(requests));
        }
        assert_eq!(told, [30, 31, 0]);
        // The phase ends soon after the fourth second, or somewhat before it.
        assert_eq!(next.classes[0].latency.count(), 65);
        assert_eq!(next.last_covered_ns(4_002_000_000), Some(1_002_000_000));
        assert_eq!(next.last_covered_ns(3_499_000_000), None);
        // Whoever tells late tells all the seconds that are over at once.
        assert_eq!(next.covered_ns(7_500_000_000), 4 * SECOND_NS);
        next.told(4 * SECOND_NS);
        assert_eq!(next.due_in_ns(7_500_000_000), 600_000_000);
    }
}
