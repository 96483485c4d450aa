//! Waits until the drives have finished the discards of a step. FITRIM of XFS returns before its
//! discards complete (since kernel 6.6), and space is locked until they do.
//!
//! The kernel does not report the last discard. There are three signs, none of them sufficient:
//!
//! - **Bytes.** The bytes that the mounted device counts as discarded since before the call equal
//!   what the step was expected to free. Then everything is done. But a filesystem may discard less
//!   (blocks that were trimmed before, busy extents, ends that do not fill the drive's
//!   granularity).
//! - **In flight.** Requests at the drives are down to what is usual on this host. But a request
//!   that cgroup throttling holds back is not counted, nor is one that the filesystem has not sent
//!   yet.
//! - **Quiet.** The counters stand still. But behind a slow drive, or a throttle, they stand still
//!   between any two completions.
//!
//! So the wait ends with the bytes, or else once the counters have been still for a multiple of the
//! longest pause between two completions seen in this pass, with nothing unusual in flight. A
//! completion that arrives after the wait ended is noticed at the next step and makes the next
//! waits longer.
//!
//! Some layers never count discards although they pass them on: md RAID0, RAID5 and RAID10 hand
//! discards to the members before they reach the accounting (`raid0_make_request`,
//! drivers/md/raid0.c, since 5.14). If the drives count and the mounted device does not, the
//! drives' counters are used instead.
//!
//! Before kernel 4.18 discards are counted as writes: then the bytes written must stand still.

use crate::account::Discarded;
use crate::clock::Clock;
use crate::counters::{CounterSource, Sample};
use crate::stop::Stop;
use linux::counters::{CounterError, DeviceCounters};
use std::collections::BTreeMap;
use std::time::Duration;

/// What to wait for.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// Kernel names of the mounted devices.
    pub top: Vec<String>,
    /// Kernel names of the drives below.
    pub leaves: Vec<String>,
    /// Free bytes that the step visited, if known.
    pub free_bytes: Option<u64>,
    /// Number of requests usually in flight on the leaves, measured before the pass.
    pub quiet_in_flight: u64,
    /// Stop waiting after this long; the pass then goes on, slower.
    pub timeout: Duration,
}

/// Result of a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// Time from the call's return (the beginning of the wait) to the last discard seen, not to the
    /// end of the wait. Zero if none was seen after the return. Space was locked for this long plus
    /// the time of the call itself.
    pub took: Duration,
    /// Bytes discarded on the mounted device(s) since the sample before the step; `None` on kernels
    /// without discard counters. If the mounted device passes discards on without counting them:
    /// what the drives counted, at most the expected bytes (mirrors count each byte more than
    /// once).
    pub discarded_bytes: Option<u64>,
    /// Whether the counters were still moving when the time was over.
    pub timed_out: bool,
    /// The last sample.
    pub last: Sample,
}

/// Shortest and longest time without a completion that counts as quiet.
const QUIET_MIN: Duration = Duration::from_millis(20);
const QUIET_MAX: Duration = Duration::from_secs(2);
/// Quiet time before anything is known: longer than any completion of a healthy drive, and than
/// cgroup throttling's slice of 100 ms (block/blk-throttle.c).
const QUIET_UNKNOWN: Duration = Duration::from_millis(500);
/// Pauses between completions vary, so quiet is this multiple of the longest.
const GAPS: u32 = 4;
/// Interval between two samples: long while nothing moves.
const POLL_MIN: Duration = Duration::from_millis(2);
const POLL_MAX: Duration = Duration::from_millis(20);

/// Waits for the drives, and learns from step to step how long their pauses between two completions
/// are. One per pass.
#[derive(Debug, Clone)]
pub struct Settler {
    /// Longest pause between two completions, forgotten slowly.
    gap: Duration,
    /// Quiet time required until gaps are known: halved by each step after which nothing came.
    patience: Duration,
    /// Counters at the end of the last wait: any change since then came late.
    last: Option<Marks>,
    /// Whether a step discarded more than expected: this kernel discards overlapping extents whole,
    /// and reaching the expected bytes proves nothing.
    bytes_mislead: bool,
    top: Top,
}

/// Whether the mounted device's own counters can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Top {
    /// No discard has been seen yet.
    Unknown,
    /// It counts discards.
    Counts,
    /// The drives have counted discards that it did not count.
    DoesNotCount,
}

impl Default for Settler {
    fn default() -> Self {
        Self::new()
    }
}

impl Settler {
    /// Creates a settler that knows nothing about the drives yet and starts with a long quiet time.
    pub fn new() -> Self {
        Self {
            gap: Duration::ZERO,
            patience: QUIET_UNKNOWN,
            last: None,
            bytes_mislead: false,
            top: Top::Unknown,
        }
    }

    /// Learns whose counters show the discards of this filesystem.
    fn learn_top(&mut self, before: &Sample, now: &Sample, expect: &Expect) {
        let seen = Discarded::between(before, now);
        match (seen.sum(&expect.top), seen.sum(&expect.leaves)) {
            (Some(1..), _) => self.top = Top::Counts,
            (Some(0), Some(1..)) if self.top == Top::Unknown => self.top = Top::DoesNotCount,
            _ => {}
        }
    }

    /// Returns the devices whose counters show the discards of this filesystem.
    fn own<'e>(&self, expect: &'e Expect) -> &'e [String] {
        match self.top {
            Top::DoesNotCount => &expect.leaves,
            Top::Unknown | Top::Counts => &expect.top,
        }
    }

    fn discarded(&self, before: &Sample, after: &Sample, expect: &Expect) -> Option<u64> {
        let bytes = Discarded::between(before, after).sum(self.own(expect));
        match (self.top, expect.free_bytes) {
            (Top::DoesNotCount, Some(expected)) => bytes.map(|bytes| bytes.min(expected)),
            _ => bytes,
        }
    }

    /// Returns how long the counters currently must stand still.
    pub fn quiet(&self) -> Duration {
        (self.gap * GAPS)
            .max(self.patience)
            .clamp(QUIET_MIN, QUIET_MAX)
    }

    /// Waits until the discards of a step are done. `before` is the sample taken right before
    /// FITRIM was called. A timeout is not an error. Returns early when a stop is requested, with
    /// `timed_out` set.
    ///
    /// # Errors
    /// If the counters can no longer be read (a device is gone).
    pub fn settle(
        &mut self,
        watch: &mut dyn CounterSource,
        clock: &dyn Clock,
        stop: &Stop,
        before: &Sample,
        expect: &Expect,
    ) -> Result<Settled, CounterError> {
        let returned = clock.elapsed();
        self.detect_late_completions(before, expect);
        let mut now = watch.sample()?;
        self.learn_top(before, &now, expect);
        let mut marks = Marks::of(&now, expect, self.own(expect));
        // Movement during the call says nothing about gaps: the call may have waited for it.
        let mut moved_at = returned;
        // Drives may serve others, who write and discard as well: their movement counts for no
        // longer than the longest quiet time after the mounted device's own.
        let mut top_moved_at = returned;
        let mut took = Duration::ZERO;
        let mut moved_after_return = false;
        let mut was_usual = false;
        let mut poll = POLL_MIN;
        let timed_out = loop {
            let still = now.at.saturating_sub(moved_at);
            if !was_usual && in_flight(&now, &expect.leaves) <= expect.quiet_in_flight {
                was_usual = true;
                if marks.top_discards.is_none() {
                    took = now.at.saturating_sub(returned);
                }
            }
            if self.reached(before, &now, expect) {
                break false;
            }
            // Unusually many requests in flight may be others' work: a long quiet time overrules
            // them.
            let needed = if was_usual { self.quiet() } else { QUIET_MAX };
            if still >= needed || now.at.saturating_sub(top_moved_at) >= QUIET_MAX {
                break false;
            }
            let waited = now.at.saturating_sub(returned);
            if waited >= expect.timeout || stop.requested().is_some() {
                break true;
            }
            clock.sleep(poll.min(needed.saturating_sub(still)).max(POLL_MIN / 2));
            now = watch.sample()?;
            self.learn_top(before, &now, expect);
            let seen = Marks::of(&now, expect, self.own(expect));
            if seen == marks {
                poll = (poll * 5 / 4).min(POLL_MAX);
                continue;
            }
            poll = POLL_MIN;
            if seen.top_discards != marks.top_discards {
                self.gap = self.gap.max(now.at.saturating_sub(top_moved_at));
                top_moved_at = now.at;
                took = now.at.saturating_sub(returned);
                moved_after_return = true;
                was_usual = false;
            }
            marks = seen;
            moved_at = now.at;
        };
        let discarded_bytes = self.discarded(before, &now, expect);
        if !timed_out {
            self.learn(discarded_bytes, moved_after_return, expect);
        }
        self.last = Some(marks);
        Ok(Settled {
            took,
            discarded_bytes,
            timed_out,
            last: now,
        })
    }

    /// Returns whether the expected bytes have been discarded, by the mounted device's own count.
    fn reached(&self, before: &Sample, now: &Sample, expect: &Expect) -> bool {
        let (Some(expected), Some(seen)) = (
            expect.free_bytes.filter(|&bytes| bytes > 0),
            self.discarded(before, now, expect),
        ) else {
            return false;
        };
        let tolerance = tolerance_bytes(expected);
        // Mirrors reach the expected bytes when half of the work is done.
        if self.bytes_mislead
            || self.top == Top::DoesNotCount
            || seen < expected - tolerance
            || seen > expected.saturating_add(tolerance)
        {
            return false;
        }
        // A drive counts completed discards. Some layers above drives (md before 5.14) count
        // submitted ones: then the drives must be idle, too.
        expect.top.iter().all(|name| expect.leaves.contains(name))
            || in_flight(now, &expect.leaves) <= expect.quiet_in_flight
    }

    /// Detects completions after the end of the last wait, which was too short then.
    fn detect_late_completions(&mut self, before: &Sample, expect: &Expect) {
        let marks = Marks::of(before, expect, self.own(expect));
        // Only on the mounted device, if it counts: the drives below may serve others.
        let late = self.last.as_ref().is_some_and(|last| {
            marks.top_discards.is_some() && last.top_discards != marks.top_discards
        });
        if late {
            // As if a gap corresponding to twice the quiet time had been seen.
            self.gap = (self.quiet() * 2).min(QUIET_MAX) / GAPS;
        }
    }

    fn learn(&mut self, discarded_bytes: Option<u64>, moved_after_return: bool, expect: &Expect) {
        // By a quarter at least, because files may have been deleted on a mount with `discard`.
        if let (Some(seen), Some(expected)) = (discarded_bytes, expect.free_bytes)
            && seen > expected.saturating_add(expected / 4)
        {
            self.bytes_mislead = true;
        }
        // Drives recover: a long gap is remembered for some dozens of steps.
        self.gap = self.gap.mul_f64(0.97);
        if moved_after_return {
            // Gaps were seen and take over. The first ones are seldom the longest.
            self.patience = self.patience.mul_f64(0.7);
        } else {
            // Nothing came after the return: this filesystem waits by itself, or had nothing to do.
            self.patience /= 2;
        }
    }
}

/// Tolerance for ends that do not fill the drive's granularity.
fn tolerance_bytes(expected_bytes: u64) -> u64 {
    (expected_bytes / 1024).min(64 << 10)
}

/// Counters that move when discards complete.
#[derive(Debug, Clone, PartialEq)]
struct Marks {
    /// Discards and bytes on the mounted device (or those that count for it); `None` if they are
    /// not counted.
    top_discards: Option<(u64, u64)>,
    /// The same for all devices below, or bytes written if discards are not counted.
    all: BTreeMap<String, (u64, u64)>,
}

impl Marks {
    fn of(sample: &Sample, expect: &Expect, own: &[String]) -> Self {
        let mark = |device: &DeviceCounters| match (device.discards, device.discarded_bytes) {
            (Some(discards), Some(bytes)) => (discards, bytes),
            _ => (0, device.written_bytes),
        };
        let all = expect
            .top
            .iter()
            .chain(&expect.leaves)
            .filter_map(|name| Some((name.clone(), mark(sample.devices.get(name)?))))
            .collect();
        let top_discards = own.iter().try_fold((0u64, 0u64), |sum, name| {
            let device = sample.devices.get(name)?;
            Some((
                sum.0.saturating_add(device.discards?),
                sum.1.saturating_add(device.discarded_bytes?),
            ))
        });
        Self { top_discards, all }
    }
}

fn in_flight(sample: &Sample, devices: &[String]) -> u64 {
    devices
        .iter()
        .filter_map(|name| sample.devices.get(name))
        .fold(0, |sum, device| sum.saturating_add(device.in_flight))
}

#[cfg(test)]
mod tests;
