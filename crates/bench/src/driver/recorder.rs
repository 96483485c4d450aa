//! What a thread measures, collected in memory that is used again.

use super::histogram::Times;
use super::interval::{ClassInterval, Interval, TailSample};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, Sender};

/// The first samples of an operation and thread in a phase are kept whatever they took: a short trial is known request
/// by request.
const FIRST_MAX: u64 = 10_000;
/// Tail samples after them in an interval: the longest ones.
const TAIL_MAX: usize = 256;
/// The tail begins here.
const TAIL_QUANTILE: f64 = 0.99;

/// A successful request, in nanoseconds since the phase's start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Success {
    pub(super) sample: TailSample,
    /// When its connection was free.
    pub(super) free_ns: u64,
}

/// Collects what a thread measures, and hands it on once a second.
///
/// It never waits: while the other side has not given an interval back, the present one goes on.
pub(super) struct Recorder {
    open: Vec<bool>,
    current: Box<Interval>,
    tails: Vec<Tail>,
    spare: Receiver<Box<Interval>>,
    full: Sender<Box<Interval>>,
}

#[derive(Debug, Default)]
struct Tail {
    /// All latencies so far, whose quantile is the threshold.
    all: Times,
    threshold_ns: u64,
    first: Vec<TailSample>,
    /// How many there were, also in earlier intervals.
    first_count: u64,
    longest: BinaryHeap<Reverse<(u64, u64, u64, u64)>>,
    left_out: u64,
}

impl Tail {
    fn push(&mut self, sample: &TailSample) {
        if self.first_count < FIRST_MAX {
            self.first_count += 1;
            self.first.push(*sample);
            return;
        }
        let latency_ns = sample.latency_ns();
        if latency_ns < self.threshold_ns {
            return;
        }
        let entry = Reverse((latency_ns, sample.sequence, sample.sent_ns, sample.end_ns));
        if self.longest.len() < TAIL_MAX {
            self.longest.push(entry);
            return;
        }
        self.left_out += 1;
        if self
            .longest
            .peek()
            .is_some_and(|shortest| shortest.0.0 < latency_ns)
        {
            self.longest.pop();
            self.longest.push(entry);
        }
    }

    /// Moves the samples of an interval, and learns from its latencies.
    fn finish(&mut self, class: &mut ClassInterval) {
        class.tail.append(&mut self.first);
        class.tail.extend(self.longest.drain().map(
            |Reverse((latency_ns, sequence, sent_ns, end_ns))| TailSample {
                sequence,
                planned_ns: end_ns - latency_ns,
                sent_ns,
                end_ns,
            },
        ));
        class.tail.sort_unstable_by_key(|sample| sample.end_ns);
        class.tail_left_out = std::mem::take(&mut self.left_out);
        self.all.add(&class.latency);
        self.threshold_ns = self.all.quantile_ns(TAIL_QUANTILE).unwrap_or(0);
    }
}

impl Recorder {
    /// Creates the recorder of a thread; `open` says which loads are open loops. `spare` holds intervals made
    /// by [`Recorder::interval`].
    pub(super) fn new(
        open: Vec<bool>,
        current: Box<Interval>,
        spare: Receiver<Box<Interval>>,
        full: Sender<Box<Interval>>,
    ) -> Self {
        Self {
            tails: open.iter().map(|_| Tail::default()).collect(),
            open,
            current,
            spare,
            full,
        }
    }

    /// An interval without measurements, for a recorder to fill.
    pub(super) fn interval(phase: u32, thread: u32, classes: usize) -> Box<Interval> {
        Box::new(Interval {
            phase,
            thread,
            classes: (0..classes).map(|_| ClassInterval::default()).collect(),
            ..Interval::default()
        })
    }

    /// The counters of a load.
    pub(super) fn class(&mut self, class: usize) -> &mut ClassInterval {
        &mut self.current.classes[class]
    }

    /// Adds a successful request.
    pub(super) fn success(&mut self, class: usize, success: &Success) {
        let TailSample {
            planned_ns,
            sent_ns,
            end_ns,
            ..
        } = success.sample;
        let of = &mut self.current.classes[class];
        of.latency.record(success.sample.latency_ns());
        if self.open[class] {
            of.service.record(end_ns.saturating_sub(sent_ns));
            of.lateness.record(sent_ns.saturating_sub(planned_ns));
            of.own_lateness
                .record(sent_ns.saturating_sub(planned_ns.max(success.free_ns)));
        }
        self.tails[class].push(&success.sample);
    }

    /// Adds how late the thread came to its timer.
    pub(super) fn heartbeat(&mut self, late_ns: u64) {
        self.current.heartbeat.record(late_ns);
    }

    /// Hands on what was measured until now, if there is room.
    pub(super) fn flush(&mut self, now_ns: u64) {
        if let Ok(spare) = self.spare.try_recv() {
            self.swap(spare, now_ns);
        }
    }

    /// Hands on the last interval.
    pub(super) fn finish(mut self, now_ns: u64) {
        self.swap(Box::default(), now_ns);
    }

    fn swap(&mut self, mut next: Box<Interval>, now_ns: u64) {
        self.current.to_ns = now_ns;
        for (tail, class) in self.tails.iter_mut().zip(&mut self.current.classes) {
            tail.finish(class);
        }
        next.from_ns = now_ns;
        next.phase = self.current.phase;
        next.thread = self.current.thread;
        next.heartbeat.clear();
        next.classes.iter_mut().for_each(ClassInterval::clear);
        let full = std::mem::replace(&mut self.current, next);
        // Nobody listens after a failure, which the other side has told.
        let _ = self.full.send(full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn success(sequence: u64, planned_ns: u64, latency_ns: u64) -> Success {
        Success {
            sample: TailSample {
                sequence,
                planned_ns,
                sent_ns: planned_ns + 10,
                end_ns: planned_ns + latency_ns,
            },
            free_ns: planned_ns + 4,
        }
    }

    #[test]
    fn the_first_requests_are_all_kept_and_then_the_longest() {
        let (full, received) = mpsc::channel();
        let (give, spare) = mpsc::channel();
        let mut recorder = Recorder::new(vec![true], Recorder::interval(0, 0, 1), spare, full);
        let before = FIRST_MAX;
        for sequence in 0..before + 1000 {
            let after = sequence.saturating_sub(before);
            recorder.success(0, &success(sequence, sequence * 100, 1000 + after * 10_000));
        }
        // No interval is there to go on with: nothing is lost.
        recorder.flush(1);
        assert!(received.try_recv().is_err());
        give.send(Recorder::interval(0, 0, 1)).unwrap();
        recorder.flush(2);
        let first = received.try_recv().unwrap();
        let class = &first.classes[0];
        assert_eq!(class.latency.count(), before + 1000);
        let (first, longest) = class.tail.split_at(usize::try_from(before).unwrap());
        assert!((0..before).eq(first.iter().map(|sample| sample.sequence)));
        assert_eq!(
            (longest.len(), class.tail_left_out),
            (TAIL_MAX, 1000 - TAIL_MAX as u64)
        );
        assert!(
            longest
                .iter()
                .all(|sample| sample.sequence >= before + 1000 - TAIL_MAX as u64)
        );
        assert_eq!(class.lateness.max_ns(), 10);
        assert_eq!(class.own_lateness.max_ns(), 6);
        // From now on, only what is above the 99th percentile: the 110th longest of 11,000, about 8.9 ms.
        for (sequence, latency_ns) in [(1000, 8_800_000), (1001, 9_000_000), (1002, 20_000_000)] {
            recorder.success(0, &success(sequence, 0, latency_ns));
        }
        recorder.finish(3);
        let last = received.try_recv().unwrap();
        let tail: Vec<u64> = last.classes[0]
            .tail
            .iter()
            .map(|sample| sample.sequence)
            .collect();
        assert_eq!(tail, [1001, 1002]);
        assert_eq!((last.from_ns, last.to_ns), (2, 3));
    }
}
