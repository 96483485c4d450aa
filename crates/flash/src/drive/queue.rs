//! Arrival times of requests: closed and open loops.

use crate::time::Slots;

/// Decides when the host submits its next request: a closed loop whenever one of `depth` requests
/// is done, an open loop at a steady rate regardless of the device.
#[derive(Debug, Clone)]
pub struct Queue {
    load: Load,
    not_before_ns: u64,
}

#[derive(Debug, Clone)]
enum Load {
    Closed(Slots),
    Open {
        /// Requests submitted since `from_ns`.
        submitted: u64,
        from_ns: u64,
        gap_ns: f64,
    },
}

impl Queue {
    /// Creates a closed loop that keeps `depth` requests (at least one) in flight, like fio's
    /// `iodepth`.
    pub fn closed(depth: usize) -> Self {
        Self {
            load: Load::Closed(Slots::new(depth)),
            not_before_ns: 0,
        }
    }

    /// Creates an open loop with evenly spaced arrivals, starting at 0. A rate not above 0 counts
    /// as one request per day.
    pub fn open(requests_per_second: f64) -> Self {
        const SLOWEST: f64 = 1.0 / 86_400.0;
        Self {
            load: Load::Open {
                submitted: 0,
                from_ns: 0,
                // `max` returns the other operand for NaN
                gap_ns: 1e9 / requests_per_second.max(SLOWEST),
            },
            not_before_ns: 0,
        }
    }

    /// Submits nothing before `ns`: a pause, or a later start.
    pub fn pause_until(&mut self, ns: u64) {
        if ns <= self.next_ns() {
            return;
        }
        self.not_before_ns = ns;
        if let Load::Open {
            submitted, from_ns, ..
        } = &mut self.load
        {
            (*submitted, *from_ns) = (0, ns);
        }
    }

    /// The arrival of the next request.
    #[inline]
    #[allow(
        clippy::cast_precision_loss,      // a nanosecond in 104 days
        clippy::cast_possible_truncation, // saturates after 584 years
        clippy::cast_sign_loss            // never negative
    )]
    pub fn next_ns(&self) -> u64 {
        match &self.load {
            Load::Closed(slots) => slots.earliest().max(self.not_before_ns),
            Load::Open {
                submitted,
                from_ns,
                gap_ns,
            } => from_ns + (*submitted as f64 * gap_ns) as u64,
        }
    }

    /// Reports when the request that arrived at [`Queue::next_ns`] is done.
    #[inline]
    pub fn complete(&mut self, done_ns: u64) {
        match &mut self.load {
            Load::Closed(slots) => slots.replace_earliest(done_ns),
            Load::Open { submitted, .. } => *submitted += 1,
        }
    }

    /// The slots of a closed loop, and the time before which nothing is submitted.
    pub(super) fn closed_loop(&mut self) -> Option<(&mut Slots, u64)> {
        match &mut self.load {
            Load::Closed(slots) => Some((slots, self.not_before_ns)),
            Load::Open { .. } => None,
        }
    }

    /// When all requests of a closed loop are done; for an open loop, the next arrival.
    pub fn drained_ns(&self) -> u64 {
        match &self.load {
            Load::Closed(slots) => slots.latest().max(self.not_before_ns),
            Load::Open { .. } => self.next_ns(),
        }
    }
}
