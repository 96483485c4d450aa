//! Buffer of a probe's readings.

use std::collections::VecDeque;
use std::time::Duration;

/// One reading of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// When the request was sent, on the monotonic clock.
    pub at: Duration,
    /// How long it took; for a pending one, how long it has been waiting.
    pub latency: Duration,
    /// Whether it failed (an error or timeout), which counts as over any budget.
    pub failed: bool,
    /// Whether it is still waiting for its answer.
    pub pending: bool,
}

/// Maximum number of readings kept until they are drained.
const READINGS_MAX: usize = 1 << 16;

/// The readings of an open loop. Requests wait in slots, one per slot; draining returns the
/// answered and the pending ones.
#[derive(Debug, Default)]
pub struct Readings {
    answered: VecDeque<Reading>,
    /// When each slot's pending request was sent.
    waiting: Vec<Option<Duration>>,
}

impl Readings {
    /// Adds a slot for one more pending request and returns its number.
    pub fn add_slot(&mut self) -> usize {
        self.waiting.push(None);
        self.waiting.len() - 1
    }

    /// Records that a request was sent from a slot.
    pub fn asked(&mut self, slot: usize, at: Duration) {
        if let Some(waiting) = self.waiting.get_mut(slot) {
            *waiting = Some(at);
        }
    }

    /// Records that the request of a slot was answered, or failed; ignored if none is pending
    /// there. The oldest readings are dropped if they are never drained.
    pub fn answered(&mut self, slot: usize, latency: Duration, failed: bool) {
        let Some(at) = self.waiting.get_mut(slot).and_then(Option::take) else {
            return;
        };
        if self.answered.len() >= READINGS_MAX {
            self.answered.pop_front();
        }
        self.answered.push_back(Reading {
            at,
            latency,
            failed,
            pending: false,
        });
    }

    /// Returns the readings for [`super::Probe::drain`]: the answers since the last call, then the
    /// requests pending now, which will be returned again. Both are in the order of sending.
    pub fn drain(&mut self, now: Duration) -> Vec<Reading> {
        let mut readings: Vec<Reading> = self.answered.drain(..).collect();
        let answers = readings.len();
        readings.extend(self.waiting.iter().flatten().map(|&at| Reading {
            at,
            latency: now.saturating_sub(at),
            failed: false,
            pending: true,
        }));
        let (answered, pending) = readings.split_at_mut(answers);
        answered.sort_by_key(|reading| reading.at);
        pending.sort_by_key(|reading| reading.at);
        readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn answers_are_returned_once_and_pending_ones_last_and_repeatedly() {
        let mut readings = Readings::default();
        for slot in 0..4 {
            assert_eq!(readings.add_slot(), slot);
        }
        for (slot, ms) in [(0, 40), (1, 10), (2, 30), (3, 20)] {
            readings.asked(slot, at(ms));
        }
        readings.answered(0, at(1), true);
        readings.answered(1, at(35), false);
        let drained = |now: Duration, readings: &mut Readings| -> Vec<(Duration, Duration, bool)> {
            let drained = readings.drain(now);
            assert!(
                drained
                    .iter()
                    .all(|reading| !reading.failed || reading.at == at(40))
            );
            drained
                .iter()
                .map(|reading| (reading.at, reading.latency, reading.pending))
                .collect()
        };
        assert_eq!(
            drained(at(50), &mut readings),
            [
                (at(10), at(35), false),
                (at(40), at(1), false),
                (at(20), at(30), true),
                (at(30), at(20), true),
            ]
        );
        readings.answered(3, at(60), false);
        assert_eq!(
            drained(at(90), &mut readings),
            [(at(20), at(60), false), (at(30), at(60), true)]
        );
    }

    #[test]
    fn unexpected_answer_is_ignored_and_the_newest_are_kept() {
        let mut readings = Readings::default();
        readings.asked(7, at(1));
        readings.answered(7, at(1), false);
        let slot = readings.add_slot();
        readings.answered(slot, at(1), false);
        assert_eq!(readings.drain(at(9)), []);
        let count = READINGS_MAX as u64 + 10;
        for ms in 0..count {
            readings.asked(slot, at(ms));
            readings.answered(slot, at(1), false);
        }
        let kept = readings.drain(at(count));
        assert_eq!(kept.len(), READINGS_MAX);
        assert_eq!(kept[0].at, at(10));
    }
}
