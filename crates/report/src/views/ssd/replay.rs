//! Recorded requests on a drive: how it took them, how long they waited, what was left out.

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

/// A drive that ends this much later than the recorded one was too slow.
const LATE_NS: u64 = 2_000_000_000;

/// A replay's answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplayAnswer {
    /// `replay`.
    #[schemars(extend("const" = "replay"))]
    kind: &'static str,
    /// Null where nothing was written.
    write_amplification: Option<f64>,
    /// The drive.
    drive: ReplayDrive,
    /// `recorded`, or `queue-depth:N`.
    pace: String,
    /// Requests that were replayed.
    records: u64,
    /// Lines of the first round, by what they were.
    lines: ReplayLines,
    /// Of the requests, those that read.
    reads: ReplayTally,
    /// Those that write.
    writes: ReplayTally,
    /// Those that discard.
    discards: ReplayTally,
    /// Those that flush.
    flushes: u64,
    /// Left out: beyond the drive.
    out_of_range: ReplayTally,
    /// Left out: of devices that were not asked for.
    other_devices: ReplayTally,
    /// Pages of which a write covered a part only.
    partial_pages: u64,
    /// Those of them that the drive held, and read to fill in the rest.
    fetched_pages: u64,
    /// What the drive counted.
    counters: DriveCounters,
    /// From power-on to the end of the last request, in the drive's time.
    duration_s: f64,
    /// How long requests took.
    latency: ReplayLatencies,
    /// Over time.
    series: Vec<ReplayInterval>,
}

/// The drive that a trace is replayed on.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayDrive {
    /// Of one drive.
    capacity_bytes: u64,
    /// Of the RAID-0.
    drives: u32,
    /// Spare area as built.
    over_provisioning: f64,
    /// Spare area as asked.
    over_provisioning_asked: f64,
    /// Bytes of a page.
    page_bytes: u32,
    /// Pages of a block.
    pages_per_block: u32,
    /// Victims.
    policy: String,
    /// What its parts take.
    preset: String,
    /// Dies of a drive.
    dies: u32,
    /// Channels of a drive.
    channels: u32,
    /// Seed.
    seed: u64,
}

/// Lines of traces.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct ReplayLines {
    /// All.
    lines: u64,
    /// Requests.
    records: u64,
    /// Understood, and no requests.
    passed_over: u64,
    /// Empty.
    blank: u64,
    /// Could not be read, and were left out.
    bad: u64,
}

/// Requests and what they cover.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct ReplayTally {
    /// How many.
    requests: u64,
    /// Their bytes.
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

/// Null where there were no such requests.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayLatencies {
    /// Of reads.
    reads: Option<ReplayLatency>,
    /// Of writes.
    writes: Option<ReplayLatency>,
    /// Of discards.
    discards: Option<ReplayLatency>,
}

/// In microseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(clippy::struct_field_names)] // the unit belongs to the name
struct ReplayLatency {
    /// On average.
    mean_us: f64,
    /// Half of them took at most so long.
    p50_us: f64,
    /// 90 % of them.
    p90_us: f64,
    /// 99 % of them.
    p99_us: f64,
    /// 99.9 % of them.
    p999_us: f64,
    /// The longest.
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

/// A stretch of the replay.
#[derive(Debug, Serialize, JsonSchema)]
struct ReplayInterval {
    /// Its begin, in the drive's time.
    start_s: f64,
    /// Its end.
    end_s: f64,
    /// Read, in 10^6 bytes a second.
    read_mb_s: f64,
    /// Written.
    write_mb_s: f64,
    /// Discarded.
    discard_mb_s: f64,
    /// 99 % of the reads took at most so long; null where there were none.
    read_p99_us: Option<f64>,
    /// 99 % of the writes; null where there were none.
    write_p99_us: Option<f64>,
}

/// A replay, and what it ran on.
#[derive(Debug, Clone, Copy)]
pub struct ReplayRun<'a> {
    /// The drives.
    pub target: &'a Target,
    /// The name of the preset that their times are from.
    pub preset: &'a str,
    /// Their times.
    pub timing: &'a Timing,
    /// When requests arrived.
    pub pace: Pace,
    /// How long the traces took when they were recorded; 0 where that is not known.
    pub recorded_ns: u64,
    /// What was replayed.
    pub replayed: &'a Replayed,
    /// What was read, by trace, in the first round.
    pub stats: &'a [Stats],
    /// What the host saw of the drives.
    pub recorder: &'a Recorder,
}

impl ReplayAnswer {
    /// What came of a replay.
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

    /// The series as comma-separated values.
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

/// What a reader has to know of a replay.
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
        lines_left_out(stats, &mut warnings);
    }
    warnings
}

fn lines_left_out(stats: &Stats, warnings: &mut Vec<String>) {
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

/// The page of a replay of the named traces. `brief` leaves out the chart of latencies, whose table says
/// most of it.
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
    page.push(throughput(answer));
    if !brief {
        page.push(waits(answer));
    }
    page
}

/// What happened, in a sentence.
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

/// Kinds of requests by how long they took; those that there were.
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

/// Throughput over time.
fn throughput(answer: &ReplayAnswer) -> LineChart {
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

/// Latency over time.
fn waits(answer: &ReplayAnswer) -> LineChart {
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
