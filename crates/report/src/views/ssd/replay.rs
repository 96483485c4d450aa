//! Result and page of replaying recorded requests on a drive: latencies, counters, and skipped
//! requests.

use super::counters::DriveCounters;
use super::csv;
use super::words::spare;
use flash::time::{Flow, Percentiles, Recorder, Timing};
use flash::trace::{Pace, Replayed, Stats, Tally, Target};
use page::chart::{Axis, Curve, Format, LineChart, Scale};
use page::{Block, Page, Table, Tone};
use schemars::JsonSchema;
use serde::Serialize;
use units::count::counted;
use units::number::with_article;
use units::{bytes, count, grouped, number, seconds};

/// A drive that finishes this much later than the recorded one was too slow.
const LATE_NS: u64 = 2_000_000_000;

/// Result of a replay.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplayAnswer {
    /// `replay`.
    #[schemars(extend("const" = "replay"))]
    kind: &'static str,
    /// Write amplification; null if nothing was written.
    write_amplification: Option<f64>,
    /// The drive.
    drive: ReplayDrive,
    /// `recorded`, or `queue-depth:N`.
    pace: String,
    /// Number of replayed requests.
    records: u64,
    /// Lines of the first round by kind.
    lines: ReplayLines,
    /// Replayed reads.
    reads: ReplayTally,
    /// Replayed writes.
    writes: ReplayTally,
    /// Replayed discards.
    discards: ReplayTally,
    /// Replayed flushes.
    flushes: u64,
    /// Skipped because they lie beyond the drive.
    out_of_range: ReplayTally,
    /// Skipped because they concern other devices.
    other_devices: ReplayTally,
    /// Pages that a write covered only in part.
    partial_pages: u64,
    /// Of these, pages that the drive held and had to read to fill in the rest.
    fetched_pages: u64,
    /// Counters of the drive.
    counters: DriveCounters,
    /// Time from power-on to the end of the last request, in the drive's time.
    duration_s: f64,
    /// Latencies of requests.
    latency: ReplayLatencies,
    /// Time series.
    series: Vec<ReplayInterval>,
}

/// The drive that a trace is replayed on.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayDrive {
    /// Capacity of one drive.
    capacity_bytes: u64,
    /// Number of drives in the RAID-0.
    drives: u32,
    /// Spare area as built.
    over_provisioning: f64,
    /// Requested spare area.
    over_provisioning_asked: f64,
    /// Bytes of a page.
    page_bytes: u32,
    /// Pages of a block.
    pages_per_block: u32,
    /// Victim selection policy.
    policy: String,
    /// Preset of the component timings.
    preset: String,
    /// Dies per drive.
    dies: u32,
    /// Channels per drive.
    channels: u32,
    /// Random seed.
    seed: u64,
}

/// Line counts of traces.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct ReplayLines {
    /// All lines.
    lines: u64,
    /// Lines with requests.
    records: u64,
    /// Lines that were understood but are not requests.
    passed_over: u64,
    /// Empty lines.
    blank: u64,
    /// Lines that could not be parsed and were skipped.
    bad: u64,
}

/// Number and size of requests.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct ReplayTally {
    /// Number of requests.
    requests: u64,
    /// Number of bytes.
    bytes: u64,
}

impl From<Tally> for ReplayTally {
    fn from(tally: Tally) -> Self {
        Self {
            requests: tally.records,
            bytes: tally.bytes,
        }
    }
}

/// Latencies by type of request; null if there were no such requests.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayLatencies {
    /// Of reads.
    reads: Option<ReplayLatency>,
    /// Of writes.
    writes: Option<ReplayLatency>,
    /// Of discards.
    discards: Option<ReplayLatency>,
}

/// Latency statistics in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(clippy::struct_field_names)] // the unit belongs to the name
struct ReplayLatency {
    /// Mean.
    mean_us: f64,
    /// Median.
    p50_us: f64,
    /// 90th percentile.
    p90_us: f64,
    /// 99th percentile.
    p99_us: f64,
    /// 99.9th percentile.
    p999_us: f64,
    /// Maximum.
    max_us: f64,
}

#[allow(clippy::cast_precision_loss)] // two digits count
fn micros_of(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn percentiles(flow: &Flow) -> Option<ReplayLatency> {
    let of = |latency: &Percentiles| ReplayLatency {
        mean_us: latency.mean_ns / 1e3,
        p50_us: micros_of(latency.p50_ns),
        p90_us: micros_of(latency.p90_ns),
        p99_us: micros_of(latency.p99_ns),
        p999_us: micros_of(latency.p999_ns),
        max_us: micros_of(latency.max_ns),
    };
    (flow.requests > 0).then(|| of(&flow.latency))
}

/// An interval of the replay.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayInterval {
    /// Start of the interval, in the drive's time.
    start_s: f64,
    /// End of the interval.
    end_s: f64,
    /// Read throughput in 10^6 bytes per second.
    read_mb_s: f64,
    /// Write throughput.
    write_mb_s: f64,
    /// Discard throughput.
    discard_mb_s: f64,
    /// 99th percentile of read latencies; null if there were none.
    read_p99_us: Option<f64>,
    /// 99th percentile of write latencies; null if there were none.
    write_p99_us: Option<f64>,
}

/// A replay and its parameters.
#[derive(Debug, Clone, Copy)]
pub struct ReplayRun<'a> {
    /// The drives.
    pub target: &'a Target,
    /// Name of the timing preset.
    pub preset: &'a str,
    /// The timings.
    pub timing: &'a Timing,
    /// How requests were paced.
    pub pace: Pace,
    /// Duration of the traces when they were recorded; 0 if unknown.
    pub recorded_ns: u64,
    /// Result of the replay.
    pub replayed: &'a Replayed,
    /// Statistics of reading each trace, in the first round.
    pub stats: &'a [Stats],
    /// The host's view of the drives.
    pub recorder: &'a Recorder,
}

impl ReplayAnswer {
    /// Builds the result of a replay.
    #[allow(clippy::cast_precision_loss)] // times and rates
    pub fn of(run: &ReplayRun<'_>) -> Self {
        let mut lines = ReplayLines::default();
        for stats in run.stats {
            lines.lines += stats.lines;
            lines.records += stats.records;
            lines.passed_over += stats.ignored;
            lines.blank += stats.blank;
            lines.bad += stats.bad_lines;
        }
        let whole = run.recorder.whole();
        let (replayed, spec) = (run.replayed, &run.target.spec);
        let geometry = &run.target.geometry;
        Self {
            kind: "replay",
            write_amplification: replayed.counters.write_amplification(),
            drive: ReplayDrive {
                capacity_bytes: run.target.capacity_bytes,
                drives: spec.drives,
                over_provisioning: geometry.over_provisioning(),
                over_provisioning_asked: spec.over_provisioning,
                page_bytes: geometry.page_bytes,
                pages_per_block: geometry.pages_per_block,
                policy: spec.collection.to_string(),
                preset: run.preset.to_owned(),
                dies: run.timing.dies,
                channels: run.timing.channels,
                seed: spec.seed,
            },
            pace: match run.pace {
                Pace::Recorded => "recorded".to_owned(),
                Pace::QueueDepth(depth) => format!("queue-depth:{depth}"),
            },
            records: replayed.records,
            lines,
            reads: replayed.reads.into(),
            writes: replayed.writes.into(),
            discards: replayed.discards.into(),
            flushes: replayed.flushes,
            out_of_range: replayed.out_of_range.into(),
            other_devices: replayed.other_devices.into(),
            partial_pages: replayed.partial_pages,
            fetched_pages: replayed.fetched_pages,
            counters: replayed.counters.into(),
            duration_s: replayed.done_ns as f64 / 1e9,
            latency: ReplayLatencies {
                reads: percentiles(&whole.reads),
                writes: percentiles(&whole.writes),
                discards: percentiles(&whole.discards),
            },
            series: run.recorder.intervals().iter().map(interval).collect(),
        }
    }

    /// Formats the series as comma-separated values.
    pub fn csv(&self) -> String {
        let mut out = csv::line(&[
            "start_s",
            "end_s",
            "read_mb_s",
            "write_mb_s",
            "discard_mb_s",
            "read_p99_us",
            "write_p99_us",
        ]);
        for point in &self.series {
            out += &csv::line(&[
                point.start_s.to_string(),
                point.end_s.to_string(),
                point.read_mb_s.to_string(),
                point.write_mb_s.to_string(),
                point.discard_mb_s.to_string(),
                csv::number(point.read_p99_us),
                csv::number(point.write_p99_us),
            ]);
        }
        out
    }
}

#[allow(clippy::cast_precision_loss)] // rates
fn interval(interval: &flash::time::Interval) -> ReplayInterval {
    let length_s = (interval.end_ns - interval.start_ns).max(1) as f64 / 1e9;
    let rate = |flow: &Flow| flow.bytes as f64 / 1e6 / length_s;
    let p99 = |flow: &Flow| (flow.requests > 0).then(|| micros_of(flow.latency.p99_ns));
    ReplayInterval {
        start_s: interval.start_ns as f64 / 1e9,
        end_s: interval.end_ns as f64 / 1e9,
        read_mb_s: rate(&interval.reads),
        write_mb_s: rate(&interval.writes),
        discard_mb_s: rate(&interval.discards),
        read_p99_us: p99(&interval.reads),
        write_p99_us: p99(&interval.writes),
    }
}

/// Returns warnings about a replay.
pub fn replay_warnings(run: &ReplayRun<'_>) -> Vec<String> {
    let replayed = run.replayed;
    let mut warnings = Vec::new();
    if replayed.records == 0 {
        warnings.push("the trace holds no requests".to_owned());
    }
    let late_ns = replayed.done_ns.saturating_sub(run.recorded_ns);
    if run.pace == Pace::Recorded && run.recorded_ns > 0 && late_ns > LATE_NS {
        #[allow(clippy::cast_precision_loss)] // two units are shown
        let late = seconds(late_ns as f64 / 1e9);
        warnings.push(format!(
            "the drive was slower than the recorded one and finished {late} after it: latencies are \
             those of a growing queue; --queue-depth N keeps the queue short"
        ));
    }
    let beyond = &replayed.out_of_range;
    if beyond.records > 0 {
        warnings.push(format!(
            "{} beyond the drive left out, the first in line {}: give a larger --capacity, \
             or --beyond wrap or scale",
            count(beyond.records, "request"),
            replayed.out_of_range_line.unwrap_or(0)
        ));
    }
    let other = &replayed.other_devices;
    if other.records > 0 {
        warnings.push(format!(
            "{} of other devices left out: --devices all takes them too",
            count(other.records, "request")
        ));
    }
    for stats in run.stats {
        warn_of_skipped_lines(stats, &mut warnings);
    }
    warnings
}

fn warn_of_skipped_lines(stats: &Stats, warnings: &mut Vec<String>) {
    for error in &stats.errors {
        warnings.push(format!("left out: {error}"));
    }
    let more = stats.bad_lines.saturating_sub(stats.errors.len() as u64);
    if more > 0 {
        warnings.push(format!("{} left out", count(more, "more line")));
    }
    if let Some(line) = stats.backwards_line {
        warnings.push(format!(
            "{} earlier than the one before, the first in line {line}: taken to be simultaneous with it",
            count(stats.backwards, "request")
        ));
    }
    if stats.unterminated {
        warnings.push("the last line has no line break: the trace may be truncated".to_owned());
    }
}

/// Builds the page of a replay of the named traces. `brief` leaves out the chart of latencies,
/// since the table shows most of it.
pub fn replay(answer: &ReplayAnswer, traces: &str, warnings: &[String], brief: bool) -> Page {
    let mut page = Page {
        title: "A recorded load on a drive".to_owned(),
        lead: lead(answer),
        tone: Tone::Strong,
        about: vec!["simulated".to_owned()],
        cautions: warnings.to_vec(),
        ..Page::default()
    };
    page.push(Block::Facts(facts(answer, traces)));
    let latencies = latencies(answer);
    if !latencies.rows.is_empty() {
        page.push(latencies);
    }
    page.push(throughput_chart(answer));
    if !brief {
        page.push(latency_chart(answer));
    }
    page
}

/// Summarises the replay in a sentence.
fn lead(answer: &ReplayAnswer) -> String {
    let drive = &answer.drive;
    let capacity = bytes(drive.capacity_bytes);
    let drives = match drive.drives {
        1 => format!("{} drive", with_article(&capacity)),
        count => format!("{count} striped {capacity} drives"),
    };
    format!(
        "{} on {drives} with {}, in {} of the drive's time: {}.",
        count(answer.records, "request"),
        spare(drive.over_provisioning_asked, drive.over_provisioning),
        seconds(answer.duration_s),
        match answer.write_amplification {
            Some(found) => format!("write amplification {}", number(found)),
            None => "nothing was written".to_owned(),
        }
    )
}

fn facts(answer: &ReplayAnswer, traces: &str) -> Vec<(String, String)> {
    let tallies = [
        ("read", answer.reads),
        ("write", answer.writes),
        ("discard", answer.discards),
    ];
    let mut requests: Vec<String> = tallies
        .into_iter()
        .filter(|(_, tally)| tally.requests > 0)
        .map(|(name, tally)| {
            let requests = count(tally.requests, name);
            format!("{requests} ({})", bytes(tally.bytes))
        })
        .collect();
    if answer.flushes > 0 {
        requests.push(counted(answer.flushes, "flush", "flushes"));
    }
    if requests.is_empty() {
        requests.push("none".to_owned());
    }
    let (counters, drive) = (&answer.counters, &answer.drive);
    let mut in_part = String::new();
    if answer.partial_pages > 0 {
        in_part = format!(
            "; {} of the pages were written in part, {} of them read first to fill in the rest",
            grouped(answer.partial_pages),
            grouped(answer.fetched_pages)
        );
    }
    let fact = |label: &str, text: String| (label.to_owned(), text);
    vec![
        fact("trace", traces.to_owned()),
        fact("requests", requests.join(", ")),
        fact(
            "flash",
            format!(
                "{} pages written, {} moved, {} trimmed, {} blocks erased{in_part}",
                grouped(counters.host_pages),
                grouped(counters.moved_pages),
                grouped(counters.trimmed_pages),
                grouped(counters.erased_blocks)
            ),
        ),
        fact(
            "model",
            format!(
                "{} with {} dies, pages of {}, {} collection, pace {}, seed {}",
                drive.preset,
                drive.dies,
                bytes(drive.page_bytes.into()),
                drive.policy,
                answer.pace,
                drive.seed
            ),
        ),
    ]
}

/// Builds a table of latencies by type of request, for the types that occurred.
fn latencies(answer: &ReplayAnswer) -> Table {
    let latency = &answer.latency;
    let mut table = Table::new(&["<latency of", "mean", "median", "99 %", "99.9 %", "longest"]);
    for (name, latency) in [
        ("reads", &latency.reads),
        ("writes", &latency.writes),
        ("discards", &latency.discards),
    ] {
        let Some(latency) = latency else { continue };
        let times = [
            latency.mean_us,
            latency.p50_us,
            latency.p99_us,
            latency.p999_us,
            latency.max_us,
        ];
        let times = times.map(|us| seconds(us / 1e6));
        table.row(std::iter::once(name.to_owned()).chain(times));
    }
    table
}

fn curve(answer: &ReplayAnswer, name: &str, of: fn(&ReplayInterval) -> Option<f64>) -> Curve {
    let points = answer.series.iter();
    Curve::line(
        name,
        points.filter_map(|point| Some((point.start_s, of(point)?))),
    )
}

fn chart(title: &str, y_format: Format, curves: Vec<Curve>) -> LineChart {
    LineChart {
        title: title.to_owned(),
        x: Axis {
            label: String::new(),
            scale: Scale::Elapsed,
            range: None,
        },
        y_label: title.to_lowercase(),
        y_format,
        y_from: Some(0.0),
        curves,
        ..LineChart::default()
    }
}

/// Builds the chart of throughput over time.
fn throughput_chart(answer: &ReplayAnswer) -> LineChart {
    let mut curves = vec![curve(answer, "writes", |point| {
        Some(point.write_mb_s * 1e6)
    })];
    if answer.reads.requests > 0 {
        curves.push(curve(answer, "reads", |point| Some(point.read_mb_s * 1e6)));
    }
    if answer.discards.requests > 0 {
        curves.push(curve(answer, "discards", |point| {
            Some(point.discard_mb_s * 1e6)
        }));
    }
    chart("Throughput", Format::BytesPerSecond, curves)
}

/// Builds the chart of latency over time.
fn latency_chart(answer: &ReplayAnswer) -> LineChart {
    let mut curves = vec![curve(answer, "writes", |point| {
        Some(point.write_p99_us? / 1e6)
    })];
    if answer.reads.requests > 0 {
        curves.push(curve(answer, "reads", |point| {
            Some(point.read_p99_us? / 1e6)
        }));
    }
    chart("99th percentile of latency", Format::Seconds, curves)
}
