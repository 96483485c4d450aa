//! Arrival times of requests.

use crate::time::Slots;

/// Decides when the host submits its next request: whenever one of `depth` requests is done (a
/// closed loop).
#[derive(Debug, Clone)]
pub struct Queue {
    slots: Slots,
    not_before_ns: u64,
}

impl Queue {
    /// Creates a closed loop that keeps `depth` requests (at least one) in flight, like fio's
    /// `iodepth`.
    pub fn closed(depth: usize) -> Self {
        Self {
            slots: Slots::new(depth),
            not_before_ns: 0,
        }
    }

    /// Submits nothing before `ns`: a pause, or a later start.
    pub fn pause_until(&mut self, ns: u64) {
        self.not_before_ns = self.not_before_ns.max(ns);
    }

    /// The arrival of the next request.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.slots.earliest().max(self.not_before_ns)
    }

    /// Reports when the request that arrived at [`Queue::next_ns`] is done.
    #[inline]
    pub fn complete(&mut self, done_ns: u64) {
        self.slots.replace_earliest(done_ns);
    }

    /// Its slots, and the time before which nothing is submitted.
    pub(super) fn slots(&mut self) -> (&mut Slots, u64) {
        (&mut self.slots, self.not_before_ns)
    }

    /// When all requests are done.
    pub fn drained_ns(&self) -> u64 {
        self.slots.latest().max(self.not_before_ns)
    }
}
