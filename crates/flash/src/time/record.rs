//! Latencies and throughput, overall and per interval, in fixed memory plus one record per
//! interval.

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

/// Latency percentiles in nanoseconds, from arrival to acknowledgement; accurate within 1 % (two
/// digits), all 0 if there were no requests.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Percentiles {
    /// Exact mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// 99.99th percentile.
    pub p9999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl Percentiles {
    #[allow(clippy::similar_names)] // the field's
    fn of(histogram: &Histogram<u64>, sum_ns: u128) -> Self {
        if histogram.is_empty() {
            return Self::default(); // without walking it
        }
        let [p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns] =
            [0.5, 0.9, 0.99, 0.999, 0.9999].map(|quantile| histogram.value_at_quantile(quantile));
        Self {
            #[allow(clippy::cast_precision_loss)] // a mean
            mean_ns: sum_ns as f64 / histogram.len() as f64,
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
            max_ns: histogram.max(),
        }
    }
}

/// Completed requests of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    /// Number of requests.
    pub requests: u64,
    /// Bytes transferred or discarded.
    pub bytes: u64,
    /// Latencies.
    pub latency: Percentiles,
}

/// Requests completed within an interval of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Start of the interval.
    pub start_ns: u64,
    /// End of the interval.
    pub end_ns: u64,
    /// Reads.
    pub reads: Flow,
    /// Writes.
    pub writes: Flow,
    /// Discards.
    pub discards: Flow,
}

impl Interval {
    /// The requests of one kind.
    pub const fn flow(&self, kind: Kind) -> &Flow {
        match kind {
            Kind::Read => &self.reads,
            Kind::Write => &self.writes,
            Kind::Discard => &self.discards,
        }
    }

    /// Throughput of one kind, in bytes per second; 0 if the interval is empty.
    #[allow(clippy::cast_precision_loss)] // a rate
    pub fn bytes_per_second(&self, kind: Kind) -> f64 {
        match self.end_ns - self.start_ns {
            0 => 0.0,
            length_ns => self.flow(kind).bytes as f64 * 1e9 / length_ns as f64,
        }
    }
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

/// Requests of the current interval, added to a histogram later. A histogram updates its minimum,
/// maximum and total with every value, which costs more than the rest of processing a request.
#[derive(Debug, Clone)]
struct Tally {
    counts: Box<[u64; BUCKETS]>,
    requests: u64,
    bytes: u64,
    sum_ns: u128,
}

impl Tally {
    fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS]
                .into_boxed_slice()
                .try_into()
                .expect("of this length"),
            requests: 0,
            bytes: 0,
            sum_ns: 0,
        }
    }

    #[inline]
    fn record(&mut self, latency_ns: u64, bytes: u64) {
        let latency_ns = latency_ns.min(MAX_NS);
        self.counts[bucket(latency_ns)] += 1;
        self.requests += 1;
        self.bytes += bytes;
        self.sum_ns += u128::from(latency_ns);
    }

    #[inline]
    fn record_all(&mut self, served: &[Served], bytes: u64) {
        let mut sum_ns = 0;
        for one in served {
            let latency_ns = one.done_ns.saturating_sub(one.at_ns).min(MAX_NS);
            self.counts[bucket(latency_ns)] += 1;
            sum_ns += u128::from(latency_ns);
        }
        self.requests += served.len() as u64;
        self.bytes += served.len() as u64 * bytes;
        self.sum_ns += sum_ns;
    }

    fn clear(&mut self) {
        if self.requests > 0 {
            self.counts.fill(0);
            (self.requests, self.bytes, self.sum_ns) = (0, 0, 0);
        }
    }
}

/// All statistics of the requests of one kind.
#[derive(Debug, Clone)]
struct Total {
    bytes: u64,
    sum_ns: u128,
    latency: Histogram<u64>,
}

impl Total {
    fn new() -> Self {
        Self {
            bytes: 0,
            sum_ns: 0,
            latency: histogram(),
        }
    }

    fn add_tally(&mut self, tally: &Tally) {
        if tally.requests == 0 {
            return;
        }
        self.bytes += tally.bytes;
        self.sum_ns += tally.sum_ns;
        for (bucket, count) in tally.counts.iter().enumerate() {
            if *count > 0 {
                self.latency.saturating_record_n(shortest(bucket), *count);
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.sum_ns += other.sum_ns;
        self.latency
            .add(&other.latency)
            .expect("histograms of the same bounds");
    }

    fn clear(&mut self) {
        (self.bytes, self.sum_ns) = (0, 0);
        self.latency.reset();
    }

    fn flow(&self) -> Flow {
        Flow {
            requests: self.latency.len(),
            bytes: self.bytes,
            latency: Percentiles::of(&self.latency, self.sum_ns),
        }
    }
}

/// Records requests as they complete.
///
/// A request counts in the interval in which it completed. A request completed before the current
/// interval began counts in the current one, so nothing is lost. Intervals should be long compared
/// with latencies.
#[derive(Debug, Clone)]
pub struct Recorder {
    interval_ns: Option<u64>,
    /// Start of the current interval, or of everything if there are no intervals.
    start_ns: u64,
    end_ns: u64,
    last_done_ns: u64,
    first_ns: u64,
    open: [Tally; 3],
    /// Totals of all closed intervals.
    closed: Box<[Total; 3]>,
    /// Totals of the last closed interval; `None` for kinds without requests.
    last: [Option<Total>; 3],
    series: Vec<Interval>,
}

impl Recorder {
    /// Creates a recorder with an interval of `interval_ns`, or without intervals.
    pub fn new(interval_ns: Option<u64>) -> Self {
        let interval_ns = interval_ns.filter(|&length| length > 0);
        Self {
            interval_ns,
            start_ns: 0,
            end_ns: interval_ns.unwrap_or(u64::MAX),
            last_done_ns: 0,
            first_ns: 0,
            open: [Tally::new(), Tally::new(), Tally::new()],
            closed: Box::new([Total::new(), Total::new(), Total::new()]),
            last: [None, None, None],
            series: Vec::new(),
        }
    }

    /// Discards all records and starts again at `now_ns`.
    pub fn restart(&mut self, now_ns: u64) {
        self.open.iter_mut().for_each(Tally::clear);
        self.closed.iter_mut().for_each(Total::clear);
        self.last = [None, None, None];
        self.series.clear();
        self.start_ns = now_ns;
        self.first_ns = now_ns;
        self.last_done_ns = now_ns;
        self.end_ns = self
            .interval_ns
            .map_or(u64::MAX, |length| now_ns.saturating_add(length));
    }

    /// Records a completed request.
    #[inline]
    pub fn record(&mut self, kind: Kind, at_ns: u64, done_ns: u64, bytes: u64) {
        if done_ns >= self.end_ns {
            self.advance(done_ns);
        }
        self.last_done_ns = self.last_done_ns.max(done_ns);
        self.open[kind as usize].record(done_ns.saturating_sub(at_ns), bytes);
    }

    /// Records completed requests of `bytes` each, in order. Returns when the last one was done, or
    /// 0 for none.
    #[inline]
    pub fn record_all(&mut self, kind: Kind, served: &[Served], bytes: u64) -> u64 {
        let last_ns = served.iter().map(|one| one.done_ns).max().unwrap_or(0);
        if last_ns < self.end_ns {
            self.last_done_ns = self.last_done_ns.max(last_ns);
            self.open[kind as usize].record_all(served, bytes);
        } else {
            for one in served {
                self.record(kind, one.at_ns, one.done_ns, bytes);
            }
        }
        last_ns
    }

    /// Closes the current interval, and skips empty ones.
    #[cold]
    fn advance(&mut self, now_ns: u64) {
        let Some(interval_ns) = self.interval_ns else {
            return; // done at the end of time
        };
        self.close(self.end_ns);
        let skipped = (now_ns - self.end_ns) / interval_ns;
        self.start_ns = self.end_ns + skipped * interval_ns;
        self.end_ns = self.start_ns.saturating_add(interval_ns);
    }

    fn close(&mut self, end_ns: u64) {
        if self.open.iter().all(|tally| tally.requests == 0) {
            return;
        }
        self.last = [0, 1, 2].map(|kind: usize| {
            let open = &mut self.open[kind];
            if open.requests == 0 {
                return None;
            }
            let mut total = Total::new();
            total.add_tally(open);
            self.closed[kind].add(&total);
            open.clear();
            Some(total)
        });
        self.push(self.start_ns, end_ns);
    }

    /// Appends the last closed interval to the series.
    fn push(&mut self, start_ns: u64, end_ns: u64) {
        let flow = |total: &Option<Total>| total.as_ref().map_or_else(Flow::default, Total::flow);
        let [reads, writes, discards] = &self.last;
        self.series.push(Interval {
            start_ns,
            end_ns,
            reads: flow(reads),
            writes: flow(writes),
            discards: flow(discards),
        });
    }

    /// Closes the current interval at the last completed request. If it would be less than half as
    /// long as the others, so that its rates would come from few requests, it is merged with the
    /// previous interval; if that one does not end where this one begins, this one is extended
    /// backwards instead. Later requests open a new interval.
    pub fn finish(&mut self) {
        let Some(interval_ns) = self.interval_ns else {
            return;
        };
        let end_ns = self.last_done_ns.clamp(self.start_ns, self.end_ns);
        let before = self.series.last().map(|line| (line.start_ns, line.end_ns));
        let is_open = self.open.iter().any(|tally| tally.requests > 0);
        match before {
            Some(before) if is_open && end_ns - self.start_ns < interval_ns / 2 => {
                if before.1 == self.start_ns {
                    self.close_with_last(before.0, end_ns);
                } else {
                    self.start_ns = before.1.max(end_ns.saturating_sub(interval_ns));
                    self.close(end_ns);
                }
            }
            _ => self.close(end_ns),
        }
        self.start_ns = end_ns;
    }

    /// Merges the current interval into the last closed one.
    fn close_with_last(&mut self, start_ns: u64, end_ns: u64) {
        for kind in 0..3 {
            let open = &mut self.open[kind];
            if open.requests > 0 {
                self.closed[kind].add_tally(open);
                self.last[kind]
                    .get_or_insert_with(Total::new)
                    .add_tally(open);
                open.clear();
            }
        }
        self.series.pop();
        self.push(start_ns, end_ns);
    }

    /// The closed intervals, in order; empty ones are left out.
    pub fn intervals(&self) -> &[Interval] {
        &self.series
    }

    /// Everything since the start, as one interval that ends at the last completed request.
    pub fn whole(&self) -> Interval {
        let [reads, writes, discards] = [0, 1, 2].map(|kind: usize| {
            let mut total = self.closed[kind].clone();
            total.add_tally(&self.open[kind]);
            total.flow()
        });
        Interval {
            start_ns: self.first_ns,
            end_ns: self.last_done_ns,
            reads,
            writes,
            discards,
        }
    }

    /// The latency histogram of one kind since the start, in nanoseconds, for percentiles not in
    /// [`Percentiles`].
    pub fn histogram(&self, kind: Kind) -> Histogram<u64> {
        let mut total = self.closed[kind as usize].clone();
        total.add_tally(&self.open[kind as usize]);
        total.latency
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_count_when_completed() {
        let mut recorder = Recorder::new(Some(1_000_000));
        recorder.record(Kind::Write, 0, 400_000, 4096);
        recorder.record(Kind::Write, 100_000, 999_999, 4096);
        recorder.record(Kind::Read, 900_000, 1_000_000, 512);
        // two milliseconds without requests
        recorder.record(Kind::Write, 3_900_000, 4_000_000, 4096);
        recorder.record(Kind::Discard, 3_900_000, 4_500_000, 1 << 30);
        recorder.finish();
        let lines: Vec<_> = recorder
            .intervals()
            .iter()
            .map(|line| {
                let requests = Kind::ALL.map(|kind| line.flow(kind).requests);
                (line.start_ns, line.end_ns, requests)
            })
            .collect();
        assert_eq!(
            lines,
            [
                (0, 1_000_000, [0, 2, 0]),
                (1_000_000, 2_000_000, [1, 0, 0]),
                (4_000_000, 4_500_000, [0, 1, 1]),
            ]
        );
        let whole = recorder.whole();
        assert_eq!((whole.start_ns, whole.end_ns), (0, 4_500_000));
        assert_eq!(whole.writes.bytes, 3 * 4096);
        assert_eq!(whole.reads.latency.p50_ns / 1000, 100);
        assert_eq!(recorder.histogram(Kind::Write).len(), 3);
        let rate = recorder.intervals()[0].bytes_per_second(Kind::Write);
        assert!((rate - 8192e3).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn a_short_last_interval_is_merged() {
        let lines = |recorder: &Recorder| -> Vec<_> {
            let lines = recorder.intervals().iter();
            lines
                .map(|line| (line.start_ns, line.end_ns, line.reads.requests))
                .collect()
        };
        let mut recorder = Recorder::new(Some(1_000_000));
        recorder.record(Kind::Read, 0, 900_000, 4096);
        recorder.record(Kind::Read, 1_000_000, 1_900_000, 4096);
        recorder.record(Kind::Read, 1_999_000, 2_000_085, 4096);
        recorder.finish();
        assert_eq!(
            lines(&recorder),
            [(0, 1_000_000, 1), (1_000_000, 2_000_085, 2)]
        );
        let mean_ns = recorder.intervals()[1].reads.latency.mean_ns;
        assert!((mean_ns - 450_542.5).abs() < 1e-6, "{mean_ns}");
        assert_eq!(recorder.whole().reads.requests, 3);
        // After a pause it is extended backwards to the normal length.
        recorder.restart(0);
        recorder.record(Kind::Read, 0, 900_000, 4096);
        recorder.record(Kind::Read, 4_999_000, 5_000_085, 4096);
        recorder.finish();
        assert_eq!(
            lines(&recorder),
            [(0, 1_000_000, 1), (4_000_085, 5_000_085, 1)]
        );
        // The only interval is kept, however short.
        recorder.restart(0);
        recorder.record(Kind::Read, 0, 85, 4096);
        recorder.finish();
        assert_eq!(lines(&recorder), [(0, 85, 1)]);
    }

    #[test]
    fn latencies_above_all_bounds_count() {
        let mut recorder = Recorder::new(None);
        recorder.record(Kind::Write, 0, u64::MAX, 1);
        recorder.record(Kind::Write, 5, 5, 1);
        assert_eq!(recorder.whole().writes.requests, 2);
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
            let mut recorder = Recorder::new(Some(1_000_000));
            let mut expected = histogram();
            for (shift, latency) in latencies {
                let latency_ns = (latency >> shift >> 17).min(MAX_NS);
                recorder.record(Kind::Read, 0, latency_ns, 0);
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

        /// The intervals add up to the whole, which equals that of a recorder without intervals.
        #[test]
        fn intervals_add_up(
            interval_ns in 1..5000u64,
            requests in prop::collection::vec((0..3usize, 0..20_000u64, 0..9000u64, 1..99u64), 1..200),
        ) {
            let mut with = Recorder::new(Some(interval_ns));
            let mut without = Recorder::new(None);
            for (kind, at, takes, bytes) in requests {
                for recorder in [&mut with, &mut without] {
                    recorder.record(Kind::ALL[kind], at, at + takes, bytes);
                }
            }
            prop_assert_eq!(with.whole(), without.whole());
            with.finish();
            prop_assert_eq!(with.whole(), without.whole());
            for kind in Kind::ALL {
                let sum = with.intervals().iter().fold((0, 0), |sum, line| {
                    (sum.0 + line.flow(kind).requests, sum.1 + line.flow(kind).bytes)
                });
                let whole = without.whole();
                prop_assert_eq!(sum, (whole.flow(kind).requests, whole.flow(kind).bytes));
            }
            let mut end = 0;
            for line in with.intervals() {
                prop_assert!(line.start_ns >= end && line.end_ns >= line.start_ns);
                end = line.end_ns;
            }
        }
    }
}
