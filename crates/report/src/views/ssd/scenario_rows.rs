//! A scenario in numbers: what its JSON consists of.

use super::counters::DriveCounters;
use facts::Evidence;
use flash::scenario::{Cycle, Interval, Latency, Point, TrimPass};
use flash::setup::Simulated;
use schemars::JsonSchema;
use serde::Serialize;

/// A scenario's answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ScenarioAnswer {
    /// `scenario`.
    #[schemars(extend("const" = "scenario"))]
    pub kind: &'static str,
    /// What it is worth.
    pub label: &'static str,
    /// All of it in words.
    pub sentence: String,
    /// Pages programmed by page written, over the series.
    pub write_amplification: Option<f64>,
    /// What was asked.
    pub summary: Summary,
    /// What a change would bring.
    pub variants: Vec<VariantRow>,
    /// The drive's own account; null where it is not known.
    pub measured: Option<MeasuredRow>,
    /// What the host's numbers were read from.
    pub evidence: Vec<Evidence>,
    /// What was simulated.
    pub asked: ScenarioAsked,
    /// How it was scaled.
    pub scale: ScaleRow,
    /// Counters of the simulated drives, over the series.
    pub counters: DriveCounters,
    /// Written by the host over the series, in bytes of the true drives.
    pub written_bytes: u64,
    /// Erases of the block that was erased least, since power-on.
    pub block_erases_min: u32,
    /// And of the one that was erased most.
    pub block_erases_max: u32,
    /// Intervals in which the drives were too slow for the load.
    pub throttled_intervals: usize,
    /// Trims that ended in the series.
    pub trims: Vec<TrimRow>,
    /// Over time.
    pub series: Vec<SeriesRow>,
}

/// A scenario in a few numbers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioSummary")]
pub struct Summary {
    /// Over the series.
    pub mean: PointRow,
    /// The first twelfth after a trim, on average; null without trims.
    pub after_trim: Option<PointRow>,
    /// The last twelfth before the next; null without trims.
    pub before_next_trim: Option<PointRow>,
    /// By what share the sustained throughput falls between them.
    pub throughput_fall: Option<f64>,
    /// The last quarter of the series.
    pub long_run: PointRow,
    /// Latency of reads over the series; null without any.
    pub read_latency: Option<LatencyRow>,
}

impl Summary {
    /// Of a simulation.
    pub fn of(simulated: &Simulated) -> Self {
        let cycle = simulated.cycle.as_ref();
        Self {
            mean: PointRow::of(&simulated.outcome.total),
            after_trim: cycle.map(|cycle| PointRow::of(&cycle.after)),
            before_next_trim: cycle.map(|cycle| PointRow::of(&cycle.before)),
            throughput_fall: cycle.and_then(Cycle::throughput_fall),
            long_run: PointRow::of(&simulated.long_run),
            read_latency: simulated.outcome.reads.as_ref().map(LatencyRow::of),
        }
    }

    /// 99 % of reads took at most so long.
    pub fn read_p99_us(&self) -> Option<f64> {
        self.read_latency.as_ref().map(|latency| latency.p99_us)
    }
}

/// What a drive was like for a while.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioPoint")]
pub struct PointRow {
    /// Pages programmed by page written; null where nothing was.
    pub write_amplification: Option<f64>,
    /// What the drives could take without an end, in 10^6 bytes a second.
    pub sustained_mb_s: Option<f64>,
    /// Latency of writes.
    pub write_latency: Option<LatencyRow>,
}

impl PointRow {
    /// 99 % of writes took at most so long.
    pub fn write_p99_us(&self) -> Option<f64> {
        self.write_latency.as_ref().map(|latency| latency.p99_us)
    }

    fn of(point: &Point) -> Self {
        Self {
            write_amplification: point.write_amplification,
            sustained_mb_s: point.sustained_mb_s,
            write_latency: point.writes.as_ref().map(LatencyRow::of),
        }
    }
}

/// How long requests took, in microseconds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[allow(clippy::struct_field_names)] // the unit belongs to the name
#[schemars(rename = "ScenarioLatency")]
pub struct LatencyRow {
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
}

impl LatencyRow {
    fn of(latency: &Latency) -> Self {
        Self {
            mean_us: latency.mean_us,
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            p999_us: latency.p999_us,
            max_us: latency.max_us,
        }
    }
}

/// What a change would bring.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioVariant")]
pub struct VariantRow {
    /// `trimmed daily`.
    pub name: String,
    /// Its spare area.
    pub over_provisioning: f64,
    /// When it is trimmed.
    pub trim: String,
    /// What came of it.
    pub summary: Summary,
}

/// The drive's own account.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioMeasured")]
pub struct MeasuredRow {
    /// Written by the host.
    pub host_written_bytes: u64,
    /// Written to the flash.
    pub media_written_bytes: u64,
    /// The latter by the former.
    pub write_amplification: Option<f64>,
}

/// What was simulated.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ScenarioAsked {
    /// Of one drive.
    pub capacity_bytes: u64,
    /// Of the RAID-0.
    pub drives: u32,
    /// Of the RAID-0.
    pub chunk_bytes: u64,
    /// Spare area.
    pub over_provisioning: f64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Victims.
    pub policy: String,
    /// What its parts take.
    pub preset: String,
    /// Dies of a drive.
    pub dies: u32,
    /// Channels of a drive.
    pub channels: u32,
    /// Live data.
    pub fill: f64,
    /// Written on a mean day, to all drives.
    pub bytes_per_day: u64,
    /// Who writes.
    pub workload: String,
    /// When it is trimmed.
    pub trim: String,
    /// Days of the series.
    pub days: u32,
    /// Days before.
    pub warm_up_days: u32,
    /// Seed.
    pub seed: u64,
}

/// How it was scaled.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioScale")]
pub struct ScaleRow {
    /// The true drive is so many times larger, the true hour so many times longer.
    pub factor: f64,
    /// Pages of a simulated drive.
    pub simulated_pages: u32,
    /// Of a simulated block.
    pub pages_per_block: u32,
    /// Spare area as built.
    pub over_provisioning: f64,
}

/// A trim.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioTrim")]
pub struct TrimRow {
    /// Its begin, in hours of the series.
    pub hour: u32,
    /// What it discarded.
    pub bytes: u64,
    /// Of that, what the drives still held.
    pub released_bytes: u64,
    /// How long it took.
    pub duration_s: f64,
}

impl TrimRow {
    pub(super) fn of(pass: &TrimPass) -> Self {
        Self {
            hour: pass.hour,
            bytes: pass.bytes,
            released_bytes: pass.released_bytes,
            duration_s: pass.seconds,
        }
    }
}

/// A stretch of the series.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioInterval")]
pub struct SeriesRow {
    /// Its begin, in hours of the series.
    pub hour: u32,
    /// Its length in hours.
    pub hours: u32,
    /// What the drive was like.
    #[serde(flatten)]
    pub point: PointRow,
    /// Latency of reads; null without any.
    pub read_latency: Option<LatencyRow>,
    /// Written by the host.
    pub written_bytes: u64,
    /// What the load would have written.
    pub wanted_bytes: u64,
    /// The drives were too slow for the load in some hour of it.
    pub throttled: bool,
    /// Live data at its end, by capacity.
    pub live_share: f64,
    /// Deleted and not known to the drives at its end, by capacity.
    pub free_untrimmed_share: f64,
    /// A trim began in it.
    pub trimmed: bool,
}

impl SeriesRow {
    /// Of an interval.
    pub fn of(interval: &Interval) -> Self {
        Self {
            hour: interval.hour,
            hours: interval.hours,
            point: PointRow::of(&interval.point),
            read_latency: interval.reads.as_ref().map(LatencyRow::of),
            written_bytes: interval.written_bytes,
            wanted_bytes: interval.wanted_bytes,
            throttled: interval.throttled,
            live_share: interval.live_share,
            free_untrimmed_share: interval.free_untrimmed_share,
            trimmed: interval.trimmed,
        }
    }
}
