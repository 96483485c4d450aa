//! Latencies of completed requests, in fixed memory.

use hdrhistogram::Histogram;

/// Type of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard (TRIM, deallocate).
    Discard,
}

impl Kind {
    /// All kinds, in the order of the enum.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Discard];
}

/// Arrival and completion of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Served {
    /// Arrival, in nanoseconds since power-on.
    pub at_ns: u64,
    /// Acknowledgement, in nanoseconds since power-on.
    pub done_ns: u64,
}

/// Latencies above this (28 hours) are clamped: an open loop that demands more than the drive can
/// do has no bound.
const MAX_NS: u64 = 100_000_000_000_000;
const DIGITS: u8 = 2;
/// Buckets per octave of a histogram of two digits, as a power of two.
const OCTAVE_BITS: u32 = 7;
const BUCKETS: usize = bucket(MAX_NS) + 1;

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("constants in bounds")
}

/// Bucket of a latency, as in the histogram: one nanosecond wide up to 2^8, then 2^7 per octave.
#[inline]
#[allow(clippy::cast_possible_truncation)] // below 2^13
const fn bucket(latency_ns: u64) -> usize {
    let bits = (latency_ns | ((2 << OCTAVE_BITS) - 1)).ilog2() - OCTAVE_BITS;
    ((bits as usize) << OCTAVE_BITS) + (latency_ns >> bits) as usize
}

/// The shortest latency in a bucket.
const fn shortest(bucket: usize) -> u64 {
    let bits = (bucket >> OCTAVE_BITS).saturating_sub(1);
    ((bucket - (bits << OCTAVE_BITS)) as u64) << bits
}

/// Requests by bucket, added to a histogram later. A histogram updates its minimum, maximum and
/// total with every value, which costs more than the rest of processing a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tally(Box<[u64; BUCKETS]>);

impl Tally {
    fn new() -> Self {
        Self(
            vec![0; BUCKETS]
                .into_boxed_slice()
                .try_into()
                .expect("of this length"),
        )
    }

    #[inline]
    fn record(&mut self, at_ns: u64, done_ns: u64) {
        let latency_ns = done_ns.saturating_sub(at_ns).min(MAX_NS);
        self.0[bucket(latency_ns)] += 1;
    }
}

/// Records the latencies of requests, from arrival to acknowledgement, as they complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorder {
    tallies: [Tally; 3],
}

impl Recorder {
    /// Creates a recorder without records.
    pub fn new() -> Self {
        Self {
            tallies: [Tally::new(), Tally::new(), Tally::new()],
        }
    }

    /// Discards all records.
    pub fn restart(&mut self) {
        for tally in &mut self.tallies {
            tally.0.fill(0);
        }
    }

    /// Records a completed request.
    #[inline]
    pub fn record(&mut self, kind: Kind, at_ns: u64, done_ns: u64) {
        self.tallies[kind as usize].record(at_ns, done_ns);
    }

    /// Records completed requests. Returns when the last one was done, or 0 for none.
    #[inline]
    pub fn record_all(&mut self, kind: Kind, served: &[Served]) -> u64 {
        let tally = &mut self.tallies[kind as usize];
        let mut last_ns = 0;
        for one in served {
            tally.record(one.at_ns, one.done_ns);
            last_ns = last_ns.max(one.done_ns);
        }
        last_ns
    }

    /// The latencies of one kind since the start, in nanoseconds; accurate within 1 % (two digits).
    pub fn histogram(&self, kind: Kind) -> Histogram<u64> {
        let mut histogram = histogram();
        for (bucket, count) in self.tallies[kind as usize].0.iter().enumerate() {
            if *count > 0 {
                histogram.saturating_record_n(shortest(bucket), *count);
            }
        }
        histogram
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_are_counted_apart_until_a_restart() {
        let mut recorder = Recorder::new();
        recorder.record(Kind::Write, 0, 400_000);
        recorder.record(Kind::Read, 900_000, 1_000_000);
        let served = [(100_000, 999_999), (3_900_000, 4_000_000)]
            .map(|(at_ns, done_ns)| Served { at_ns, done_ns });
        assert_eq!(recorder.record_all(Kind::Write, &served), 4_000_000);
        assert_eq!(recorder.record_all(Kind::Discard, &[]), 0);
        let counts = |recorder: &Recorder| Kind::ALL.map(|kind| recorder.histogram(kind).len());
        assert_eq!(counts(&recorder), [1, 3, 0]);
        let median_ns = recorder.histogram(Kind::Read).value_at_quantile(0.5);
        assert_eq!(median_ns / 1000, 100);
        recorder.restart();
        assert_eq!(counts(&recorder), [0, 0, 0]);
    }

    #[test]
    fn latencies_above_all_bounds_count() {
        let mut recorder = Recorder::new();
        recorder.record(Kind::Write, 0, u64::MAX);
        recorder.record(Kind::Write, 5, 5);
        assert_eq!(recorder.histogram(Kind::Write).len(), 2);
    }

    #[test]
    fn buckets_match_the_histogram() {
        let histogram = histogram();
        let edges = (0..MAX_NS.ilog2()).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for latency_ns in edges.chain([1000, 123_456_789, MAX_NS - 1, MAX_NS]) {
            let bucket = bucket(latency_ns);
            assert_eq!(shortest(bucket), histogram.lowest_equivalent(latency_ns));
            assert!(bucket < BUCKETS);
        }
    }

    proptest! {
        /// Same result as recording every latency directly.
        #[test]
        fn tallies_match_direct_recording(
            latencies in prop::collection::vec((0..40u32, 0..u64::MAX), 1..200),
        ) {
            let mut recorder = Recorder::new();
            let mut expected = histogram();
            for (shift, latency) in latencies {
                let latency_ns = (latency >> shift >> 17).min(MAX_NS);
                recorder.record(Kind::Read, 0, latency_ns);
                expected.saturating_record(latency_ns);
            }
            let found = recorder.histogram(Kind::Read);
            let counts = |histogram: &Histogram<u64>| {
                histogram
                    .iter_recorded()
                    .map(|step| (step.value_iterated_to(), step.count_at_value()))
                    .collect::<Vec<_>>()
            };
            prop_assert_eq!(counts(&found), counts(&expected));
            prop_assert_eq!(found.len(), expected.len());
            prop_assert_eq!(found.max(), expected.max());
            prop_assert_eq!(found.min(), expected.min());
        }
    }
}
