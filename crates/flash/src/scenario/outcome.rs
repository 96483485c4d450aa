//! What came of a scenario.

use std::ops::Range;

use hdrhistogram::Histogram;

use super::{DriveSpec, Scale};
use crate::ftl::Counters;
use crate::time::{SlcFull, Timing};

/// What came of a scenario. Shares and rates are those of the true drives; [`Counters`] are simulated
/// ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it was scaled.
    pub scale: Scale,
    /// Spare area as built: blocks are whole.
    pub over_provisioning: f64,
    /// Most pages of the workload's files at a time, by pages of the drives.
    pub peak_share: f64,
    /// The series, in order, without gaps.
    pub intervals: Vec<Interval>,
    /// Trims that ended in the series, in order.
    pub trims: Vec<TrimPass>,
    /// Over all intervals.
    pub total: Point,
    /// Reads over all intervals; `None` without any.
    pub reads: Option<Latency>,
    /// The same, counted.
    pub counters: Counters,
    /// Written by the host in all intervals, in bytes.
    pub written_bytes: u64,
    /// Erases of a block: the most and the fewest of any block, since power-on.
    pub erases: (u32, u32),
}

/// A stretch of the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its begin, in hours since the begin of the series.
    pub hour: u32,
    /// Its length.
    pub hours: u32,
    /// What was done.
    pub counters: Counters,
    /// Write amplification and what goes with it.
    pub point: Point,
    /// Reads; `None` without any.
    pub reads: Option<Latency>,
    /// Written by the host, in bytes.
    pub written_bytes: u64,
    /// What the load would have written, in bytes.
    pub wanted_bytes: u64,
    /// In some hour the drives were too slow for the load.
    pub throttled: bool,
    /// Live pages at its end, by pages of the drives.
    pub live_share: f64,
    /// Free pages that the drives still hold data for, at its end, by pages of the drives.
    pub free_untrimmed_share: f64,
    /// A trim began in it.
    pub trimmed: bool,
}

/// What a drive was like for a while. `None` where nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Pages programmed by page that the host wrote.
    pub write_amplification: Option<f64>,
    /// What the drives could take without an end, at this write amplification, in megabytes (10^6 bytes)
    /// a second: see [`sustained_mb_s`].
    pub sustained_mb_s: Option<f64>,
    /// Of writes.
    pub writes: Option<Latency>,
}

/// How long requests took, from when there was room for them in the queue, in microseconds. What the tail
/// means on a scaled drive, [`Scale`] says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// On average.
    pub mean_us: f64,
    /// Half of them at most.
    pub p50_us: f64,
    /// 99 % at most.
    pub p99_us: f64,
    /// 99.9 % at most.
    pub p999_us: f64,
    /// All.
    pub max_us: f64,
}

impl Latency {
    /// `None` without a request.
    #[allow(clippy::cast_precision_loss)] // two digits are exact anyhow
    pub(super) fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        (!histogram.is_empty()).then(|| Self {
            mean_us: histogram.mean() / 1e3,
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1e3,
        })
    }
}

/// A trim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimPass {
    /// Its begin, in hours since the begin of the series.
    pub hour: u32,
    /// Free extents (or pieces of them) that it discarded, in the simulation.
    pub ranges: u64,
    /// What it discarded, in bytes: what `fstrim` reports.
    pub bytes: u64,
    /// Of that, what the drives still held, in bytes.
    pub released_bytes: u64,
    /// How long it took, pauses included.
    pub seconds: f64,
}

/// From one trim to the next, on average over the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycle {
    /// So many of them.
    pub cycles: u32,
    /// After the trim: the first twelfth of the cycle (at least an interval), without the interval in
    /// which it began.
    pub after: Point,
    /// Before the next: the last twelfth.
    pub before: Point,
}

impl Cycle {
    /// By what share the sustained throughput falls between a trim and the next: 0.58 is 58 %.
    /// `None` where nothing was written.
    pub fn throughput_fall(&self) -> Option<f64> {
        Some(1.0 - self.before.sustained_mb_s? / self.after.sustained_mb_s?)
    }
}

/// What the drives can take without an end, in megabytes (10^6 bytes) a second, if collection goes on as
/// these counters say: the bytes written by the time that the busiest of dies, channels and link is
/// occupied with them. It is the time of [`crate::time::Clock`] without waiting: an upper bound that a deep
/// queue comes near to. An SLC cache counts as full. `None` if nothing was written.
#[allow(clippy::cast_precision_loss)] // a rate
pub fn sustained_mb_s(
    counters: &Counters,
    timing: &Timing,
    page_bytes: u32,
    pages_per_block: u32,
    drives: u32,
) -> Option<f64> {
    if counters.host_pages == 0 {
        return None;
    }
    let page = f64::from(page_bytes);
    let share = match timing.program_bytes {
        0 => 1.0,
        bytes => page / f64::from(bytes),
    };
    let (host, moved) = (counters.host_pages as f64, counters.moved_pages as f64);
    let blocks = counters.erased_blocks as f64;
    // Of a die, its part of a block.
    let erase_us = timing.erase_us
        * match timing.erase_bytes {
            0 => 1.0,
            bytes => page * f64::from(pages_per_block) / f64::from(timing.dies) / f64::from(bytes),
        };
    let program_us = timing.program_us * share;
    let host_us = match timing.slc.filter(|slc| slc.bytes > 0) {
        Some(slc) if slc.full == SlcFull::Fold => {
            (slc.program_us + slc.read_us) * share + program_us
        }
        _ => program_us,
    };
    // A victim is read page by page, or whole where that is less.
    let block_us = timing.read_us * share.min(1.0) * f64::from(pages_per_block);
    let reads_us = (moved * timing.read_us).min(blocks * block_us);
    let dies_us = (host * host_us + moved * program_us + reads_us) / f64::from(timing.dies)
        + blocks * erase_us;
    // Bytes by megabytes a second are microseconds.
    let channels_us = (host + 2.0 * moved) * page / timing.bus_mb_s / f64::from(timing.channels);
    let link_us = timing.link_mb_s.map_or(0.0, |rate| host * page / rate);
    let busiest_us = dies_us.max(channels_us).max(link_us);
    Some(host * page / busiest_us * f64::from(drives))
}

impl Outcome {
    /// From trim to trim, on average; `None` unless there are two trims with written intervals between
    /// them. The first trim of the series opens the first cycle: what was before it is left out.
    pub fn cycle(&self, drive: &DriveSpec) -> Option<Cycle> {
        let begins: Vec<usize> = (0..self.intervals.len())
            .filter(|&index| self.intervals[index].trimmed)
            .collect();
        let (mut after, mut before, mut cycles) = (Counters::default(), Counters::default(), 0);
        let (mut after_latency, mut before_latency) = (Vec::new(), Vec::new());
        for pair in begins.windows(2) {
            // The interval in which the trim began is neither; the one in which the next begins neither.
            let cycle = pair[0] + 1..pair[1];
            if cycle.is_empty() {
                continue;
            }
            let window = (cycle.len() / 12).max(1);
            for interval in &self.intervals[cycle.start..cycle.start + window] {
                add(&mut after, &interval.counters);
                after_latency.extend(interval.point.writes);
            }
            for interval in &self.intervals[cycle.end - window..cycle.end] {
                add(&mut before, &interval.counters);
                before_latency.extend(interval.point.writes);
            }
            cycles += 1;
        }
        let point = |counters: &Counters, latencies: &[Latency]| Point {
            writes: mean(latencies),
            ..self.point(counters, drive)
        };
        (cycles > 0).then(|| Cycle {
            cycles,
            after: point(&after, &after_latency),
            before: point(&before, &before_latency),
        })
    }

    /// Some intervals together: latencies are the mean of theirs.
    ///
    /// # Panics
    /// A range beyond the intervals.
    pub fn mean(&self, intervals: Range<usize>, drive: &DriveSpec) -> Point {
        let mut counters = Counters::default();
        let mut latencies = Vec::new();
        for interval in &self.intervals[intervals] {
            add(&mut counters, &interval.counters);
            latencies.extend(interval.point.writes);
        }
        Point {
            writes: mean(&latencies),
            ..self.point(&counters, drive)
        }
    }

    fn point(&self, counters: &Counters, drive: &DriveSpec) -> Point {
        point(counters, drive, &self.scale)
    }
}

/// Without latencies.
pub(super) fn point(counters: &Counters, drive: &DriveSpec, scale: &Scale) -> Point {
    Point {
        write_amplification: counters.write_amplification(),
        sustained_mb_s: sustained_mb_s(
            counters,
            &scale.timing(drive),
            drive.page_bytes,
            scale.pages_per_block,
            drive.drives,
        ),
        writes: None,
    }
}

pub(super) fn add(sum: &mut Counters, more: &Counters) {
    sum.host_pages += more.host_pages;
    sum.moved_pages += more.moved_pages;
    sum.trimmed_pages += more.trimmed_pages;
    sum.erased_blocks += more.erased_blocks;
}

pub(super) fn difference(now: &Counters, before: &Counters) -> Counters {
    Counters {
        host_pages: now.host_pages - before.host_pages,
        moved_pages: now.moved_pages - before.moved_pages,
        trimmed_pages: now.trimmed_pages - before.trimmed_pages,
        erased_blocks: now.erased_blocks - before.erased_blocks,
    }
}

#[allow(clippy::cast_precision_loss)] // a handful
fn mean(latencies: &[Latency]) -> Option<Latency> {
    let count = latencies.len() as f64;
    let of = |field: fn(&Latency) -> f64| latencies.iter().map(field).sum::<f64>() / count;
    (!latencies.is_empty()).then(|| Latency {
        mean_us: of(|latency| latency.mean_us),
        p50_us: of(|latency| latency.p50_us),
        p99_us: of(|latency| latency.p99_us),
        p999_us: of(|latency| latency.p999_us),
        max_us: latencies
            .iter()
            .map(|latency| latency.max_us)
            .fold(0.0, f64::max),
    })
}
