//! Types of a scenario's JSON document.

use super::counters::DriveCounters;
use facts::Evidence;
use flash::scenario::{Cycle, Interval, Latency, Point, TrimPass};
use flash::setup::Simulated;
use schemars::JsonSchema;
use serde::Serialize;

/// Result of a scenario simulation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ScenarioAnswer {
    /// `scenario`.
    #[schemars(extend("const" = "scenario"))]
    pub kind: &'static str,
    /// Label that states how reliable the numbers are.
    pub label: &'static str,
    /// Summary as a sentence.
    pub sentence: String,
    /// Pages programmed per page written, over the series.
    pub write_amplification: Option<f64>,
    /// Key figures of the requested setup.
    pub summary: Summary,
    /// Variants compared with it.
    pub variants: Vec<VariantRow>,
    /// The drive's own counts; null if unknown.
    pub measured: Option<MeasuredRow>,
    /// Evidence for the host's numbers.
    pub evidence: Vec<Evidence>,
    /// The requested parameters.
    pub asked: ScenarioAsked,
    /// Scaling of the simulation.
    pub scale: ScaleRow,
    /// Counters of the simulated drives, over the series.
    pub counters: DriveCounters,
    /// Bytes written by the host over the series, at full scale.
    pub written_bytes: u64,
    /// Erase count of the least erased block since power-on.
    pub block_erases_min: u32,
    /// Erase count of the most erased block since power-on.
    pub block_erases_max: u32,
    /// Number of intervals in which the drives were too slow for the load.
    pub throttled_intervals: usize,
    /// Trims that ended within the series.
    pub trims: Vec<TrimRow>,
    /// Time series.
    pub series: Vec<SeriesRow>,
}

/// Key figures of a scenario.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioSummary")]
pub struct Summary {
    /// Mean over the series.
    pub mean: PointRow,
    /// Mean of the first twelfth of the cycle after a trim; null without trims.
    pub after_trim: Option<PointRow>,
    /// Mean of the last twelfth before the next trim; null without trims.
    pub before_next_trim: Option<PointRow>,
    /// Share by which the sustained throughput falls between them.
    pub throughput_fall: Option<f64>,
    /// Mean of the last quarter of the series.
    pub long_run: PointRow,
    /// Latency of reads over the series; null without reads.
    pub read_latency: Option<LatencyRow>,
}

impl Summary {
    /// Computes the key figures of a simulation.
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
}

/// State of a drive over some time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioPoint")]
pub struct PointRow {
    /// Pages programmed per page written; null if nothing was written.
    pub write_amplification: Option<f64>,
    /// Throughput that the drives could sustain, in 10^6 bytes per second.
    pub sustained_mb_s: Option<f64>,
    /// Latency of writes.
    pub write_latency: Option<LatencyRow>,
}

impl PointRow {
    fn of(point: &Point) -> Self {
        Self {
            write_amplification: point.write_amplification,
            sustained_mb_s: point.sustained_mb_s,
            write_latency: point.writes.as_ref().map(LatencyRow::of),
        }
    }
}

/// Latency of requests in microseconds.
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

/// A variant of the scenario.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioVariant")]
pub struct VariantRow {
    /// Name, such as `trimmed daily`.
    pub name: String,
    /// Its spare area.
    pub over_provisioning: f64,
    /// Trim schedule.
    pub trim: String,
    /// Key figures.
    pub summary: Summary,
}

/// Writes as counted by the drive itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioMeasured")]
pub struct MeasuredRow {
    /// Bytes written by the host.
    pub host_written_bytes: u64,
    /// Bytes written to the flash.
    pub media_written_bytes: u64,
    /// Bytes written to the flash per byte written by the host.
    pub write_amplification: Option<f64>,
}

/// Requested parameters.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ScenarioAsked {
    /// Capacity of one drive.
    pub capacity_bytes: u64,
    /// Number of drives in the RAID-0.
    pub drives: u32,
    /// Chunk size of the RAID-0.
    pub chunk_bytes: u64,
    /// Spare area.
    pub over_provisioning: f64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Victim selection policy.
    pub policy: String,
    /// Preset of the component timings.
    pub preset: String,
    /// Dies per drive.
    pub dies: u32,
    /// Channels per drive.
    pub channels: u32,
    /// Share of the capacity that holds live data.
    pub fill: f64,
    /// Bytes written to all drives on an average day.
    pub bytes_per_day: u64,
    /// Type of workload.
    pub workload: String,
    /// Trim schedule.
    pub trim: String,
    /// Days of the series.
    pub days: u32,
    /// Days of warm-up before the series.
    pub warm_up_days: u32,
    /// Random seed.
    pub seed: u64,
}

/// Scaling of the simulation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioScale")]
pub struct ScaleRow {
    /// Factor by which the real drive is larger, and the real hour longer, than the simulated one.
    pub factor: f64,
    /// Pages of a simulated drive.
    pub simulated_pages: u32,
    /// Pages per simulated block.
    pub pages_per_block: u32,
    /// Spare area as built.
    pub over_provisioning: f64,
}

/// A trim pass.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioTrim")]
pub struct TrimRow {
    /// Start of the trim, in hours of the series.
    pub hour: u32,
    /// Bytes discarded.
    pub bytes: u64,
    /// Discarded bytes that were still mapped on the drives.
    pub released_bytes: u64,
    /// Duration of the trim.
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

/// An interval of the series.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioInterval")]
pub struct SeriesRow {
    /// Start of the interval, in hours of the series.
    pub hour: u32,
    /// Length of the interval in hours.
    pub hours: u32,
    /// State of the drive.
    #[serde(flatten)]
    pub point: PointRow,
    /// Latency of reads; null without reads.
    pub read_latency: Option<LatencyRow>,
    /// Bytes written by the host.
    pub written_bytes: u64,
    /// Bytes that the load would have written without throttling.
    pub wanted_bytes: u64,
    /// Whether the drives were too slow for the load in some hour of the interval.
    pub throttled: bool,
    /// Live data at the end of the interval, as a share of the capacity.
    pub live_share: f64,
    /// Deleted but not discarded data at the end of the interval, as a share of the capacity.
    pub free_untrimmed_share: f64,
    /// Whether a trim began in the interval.
    pub trimmed: bool,
}

impl SeriesRow {
    /// Converts an interval of a simulation.
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
