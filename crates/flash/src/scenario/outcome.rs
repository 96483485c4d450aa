//! Results of a scenario.

use std::ops::Range;

use hdrhistogram::Histogram;

use super::{DriveSpec, Scale};
use crate::ftl::Counters;
use crate::time::{SlcFull, Timing};

/// Results of a scenario. Shares and rates are those of the real drives; [`Counters`] are those of
/// the simulated ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The scale of the simulation.
    pub scale: Scale,
    /// Over-provisioning as built, with whole blocks.
    pub over_provisioning: f64,
    /// Peak size of the workload's files, as a share of the drives.
    pub peak_share: f64,
    /// The series, in order and without gaps.
    pub intervals: Vec<Interval>,
    /// Trims that ended within the series, in order.
    pub trims: Vec<TrimPass>,
    /// Averages over all intervals.
    pub total: Point,
    /// Latencies of reads over all intervals; `None` without reads.
    pub reads: Option<Latency>,
    /// Counters over all intervals.
    pub counters: Counters,
    /// Bytes written by the host in all intervals.
    pub written_bytes: u64,
    /// Erase counts of the most and the least erased block, since power-on.
    pub erases: (u32, u32),
}

/// An interval of the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Start, in hours since the start of the series.
    pub hour: u32,
    /// Length in hours.
    pub hours: u32,
    /// Work done.
    pub counters: Counters,
    /// Write amplification, throughput and write latencies.
    pub point: Point,
    /// Latencies of reads; `None` without reads.
    pub reads: Option<Latency>,
    /// Bytes written by the host.
    pub written_bytes: u64,
    /// Bytes the load would have written on fast enough drives.
    pub wanted_bytes: u64,
    /// Whether the drives were too slow for the load in any hour.
    pub throttled: bool,
    /// Live pages at the end of the interval, as a share of the drives.
    pub live_share: f64,
    /// Free pages for which the drives still hold data at the end of the interval, as a share of
    /// the drives.
    pub free_untrimmed_share: f64,
    /// Whether a trim began in the interval.
    pub trimmed: bool,
}

/// Write performance over a period. Fields are `None` if nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Pages programmed per page written by the host.
    pub write_amplification: Option<f64>,
    /// Sustained throughput at this write amplification, in megabytes (10^6 bytes) per second: see
    /// [`sustained_mb_s`].
    pub sustained_mb_s: Option<f64>,
    /// Latencies of writes.
    pub writes: Option<Latency>,
}

/// Latencies in microseconds, from the time the queue had room for the request. See [`Scale`] for
/// what the tail means on a scaled drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Maximum.
    pub max_us: f64,
}

impl Latency {
    /// `None` if there are no requests.
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

/// A completed trim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimPass {
    /// Start, in hours since the start of the series.
    pub hour: u32,
    /// Number of free extents (or parts of them) discarded in the simulation.
    pub ranges: u64,
    /// Bytes discarded, as `fstrim` reports them.
    pub bytes: u64,
    /// Bytes for which the drives held data until then.
    pub released_bytes: u64,
    /// Duration, including pauses.
    pub seconds: f64,
}

/// A trim cycle, from one trim to the next, averaged over the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycle {
    /// Number of cycles.
    pub cycles: u32,
    /// After the trim: the first twelfth of the cycle (at least an interval), without the interval
    /// in which the trim began.
    pub after: Point,
    /// Before the next trim: the last twelfth.
    pub before: Point,
}

impl Cycle {
    /// The share by which sustained throughput falls between a trim and the next: 0.58 is 58 %.
    /// `None` if nothing was written.
    pub fn throughput_fall(&self) -> Option<f64> {
        Some(1.0 - self.before.sustained_mb_s? / self.after.sustained_mb_s?)
    }
}

/// Sustained throughput in megabytes (10^6 bytes) per second if collection continues at the rate of
/// these counters: bytes written divided by the time for which the busiest of dies, channels and
/// link is occupied with them. It is the timing of [`crate::time::Clock`] without waiting, an upper
/// bound that a deep queue approaches. An SLC cache counts as full. `None` if nothing was written.
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
    // Each die's part of a block.
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
    // A victim is read page by page, or as a whole if that takes less time.
    let block_us = timing.read_us * share.min(1.0) * f64::from(pages_per_block);
    let reads_us = (moved * timing.read_us).min(blocks * block_us);
    let dies_us = (host * host_us + moved * program_us + reads_us) / f64::from(timing.dies)
        + blocks * erase_us;
    // Bytes divided by megabytes per second give microseconds.
    let channels_us = (host + 2.0 * moved) * page / timing.bus_mb_s / f64::from(timing.channels);
    let link_us = timing.link_mb_s.map_or(0.0, |rate| host * page / rate);
    let busiest_us = dies_us.max(channels_us).max(link_us);
    Some(host * page / busiest_us * f64::from(drives))
}

impl Outcome {
    /// The average trim cycle; `None` unless there are two trims with at least one interval between
    /// them. The first trim of the series starts the first cycle; everything before it is ignored.
    pub fn cycle(&self, drive: &DriveSpec) -> Option<Cycle> {
        let begins: Vec<usize> = (0..self.intervals.len())
            .filter(|&index| self.intervals[index].trimmed)
            .collect();
        let (mut after, mut before, mut cycles) = (Counters::default(), Counters::default(), 0);
        let (mut after_latency, mut before_latency) = (Vec::new(), Vec::new());
        for pair in begins.windows(2) {
            // Excludes the intervals in which this trim and the next one began.
            let cycle = pair[0] + 1..pair[1];
            if cycle.is_empty() {
                continue;
            }
            let window = (cycle.len() / 12).max(1);
            for interval in &self.intervals[cycle.start..cycle.start + window] {
                after += interval.counters;
                after_latency.extend(interval.point.writes);
            }
            for interval in &self.intervals[cycle.end - window..cycle.end] {
                before += interval.counters;
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

    /// Averages over several intervals; latencies are the mean of the intervals' latencies.
    ///
    /// # Panics
    /// If the range is beyond the intervals.
    pub fn mean(&self, intervals: Range<usize>, drive: &DriveSpec) -> Point {
        let mut counters = Counters::default();
        let mut latencies = Vec::new();
        for interval in &self.intervals[intervals] {
            counters += interval.counters;
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

/// A [`Point`] without latencies.
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
