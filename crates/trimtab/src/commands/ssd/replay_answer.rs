//! A replay's answer: JSON, text, comma-separated values, a page.

use super::args::Replay as Arguments;
use super::bare_answer::CountersRow;
use super::chart::{Chart, Curve};
use super::html::{self, Part};
use super::numbers::{bytes, fine, micros, with_article};
use super::replay::Plan;
use super::spec::{Basis, spare_words};
use super::{table, values};
use crate::commands::trim::words::Page;
use crate::output;
use flash::drive::Device;
use flash::ftl::Counters;
use flash::time::{Flow, Percentiles};
use flash::trace::{Replayed, Stats, Tally};
use report::{count, grouped};
use schemars::JsonSchema;
use serde::Serialize;

/// A replay's answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayAnswer")]
pub struct Answer {
    /// `replay`.
    #[schemars(extend("const" = "replay"))]
    kind: &'static str,
    /// Null where nothing was written.
    write_amplification: Option<f64>,
    /// The drive.
    drive: DriveRow,
    /// `recorded`, or `queue-depth:N`.
    pace: String,
    /// Requests that were replayed.
    records: u64,
    /// Lines of the first round, by what they were.
    lines: LinesRow,
    /// Of the requests, those that read.
    reads: TallyRow,
    /// Those that write.
    writes: TallyRow,
    /// Those that discard.
    discards: TallyRow,
    /// Those that flush.
    flushes: u64,
    /// Left out: beyond the drive.
    out_of_range: TallyRow,
    /// Left out: of devices that were not asked for.
    other_devices: TallyRow,
    /// Pages of which a write covered a part only.
    partial_pages: u64,
    /// Those of them that the drive held, and read to fill in the rest.
    fetched_pages: u64,
    /// What the drive counted.
    counters: CountersRow,
    /// From power-on to the end of the last request, in the drive's time.
    duration_s: f64,
    /// How long requests took.
    latency: Latencies,
    /// Over time.
    series: Vec<PointRow>,
}

/// The drive that a trace is replayed on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayDrive")]
struct DriveRow {
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
#[schemars(rename = "ReplayLines")]
struct LinesRow {
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
#[schemars(rename = "ReplayTally")]
struct TallyRow {
    /// How many.
    requests: u64,
    /// Their bytes.
    bytes: u64,
}

impl From<Tally> for TallyRow {
    fn from(tally: Tally) -> Self {
        Self {
            requests: tally.records,
            bytes: tally.bytes,
        }
    }
}

/// Null where there were no such requests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReplayLatencies")]
struct Latencies {
    /// Of reads.
    reads: Option<PercentilesRow>,
    /// Of writes.
    writes: Option<PercentilesRow>,
    /// Of discards.
    discards: Option<PercentilesRow>,
}

/// In microseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(clippy::struct_field_names)] // the unit belongs to the name
#[schemars(rename = "ReplayLatency")]
struct PercentilesRow {
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

fn percentiles(flow: &Flow) -> Option<PercentilesRow> {
    let of = |latency: &Percentiles| PercentilesRow {
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
#[schemars(rename = "ReplayInterval")]
struct PointRow {
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

impl Answer {
    #[allow(clippy::cast_precision_loss)] // rates
    /// What came of a replay.
    pub fn new(
        arguments: &Arguments,
        basis: &Basis,
        plan: &Plan,
        replayed: &Replayed,
        stats: &[Stats],
        device: &dyn Device,
    ) -> Self {
        let mut lines = LinesRow::default();
        for stats in stats {
            lines.lines += stats.lines;
            lines.records += stats.records;
            lines.passed_over += stats.passed_over;
            lines.blank += stats.blank;
            lines.bad += stats.bad_lines;
        }
        let whole = device.recorder().whole();
        let counters: Counters = replayed.counters;
        Self {
            kind: "replay",
            write_amplification: counters.write_amplification(),
            drive: DriveRow {
                capacity_bytes: plan.capacity_bytes,
                drives: plan.drives,
                over_provisioning: plan.geometry.over_provisioning(),
                over_provisioning_asked: basis.over_provisioning,
                page_bytes: plan.geometry.page_bytes,
                pages_per_block: plan.geometry.pages_per_block,
                policy: values::policy_word(basis.collection),
                preset: basis.preset.clone(),
                dies: plan.timing.dies,
                channels: plan.timing.channels,
                seed: arguments.seed,
            },
            pace: arguments.queue_depth.map_or_else(
                || "recorded".to_owned(),
                |depth| format!("queue-depth:{depth}"),
            ),
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
            counters: counters.into(),
            duration_s: replayed.done_ns as f64 / 1e9,
            latency: Latencies {
                reads: percentiles(&whole.reads),
                writes: percentiles(&whole.writes),
                discards: percentiles(&whole.discards),
            },
            series: device
                .recorder()
                .intervals()
                .iter()
                .map(|interval| {
                    let seconds = (interval.end_ns - interval.start_ns).max(1) as f64 / 1e9;
                    let rate = |flow: &Flow| flow.bytes as f64 / 1e6 / seconds;
                    let p99 =
                        |flow: &Flow| (flow.requests > 0).then(|| micros_of(flow.latency.p99_ns));
                    PointRow {
                        start_s: interval.start_ns as f64 / 1e9,
                        end_s: interval.end_ns as f64 / 1e9,
                        read_mb_s: rate(&interval.reads),
                        write_mb_s: rate(&interval.writes),
                        discard_mb_s: rate(&interval.discards),
                        read_p99_us: p99(&interval.reads),
                        write_p99_us: p99(&interval.writes),
                    }
                })
                .collect(),
        }
    }
}

/// The series.
pub fn csv(answer: &Answer) -> String {
    let mut out = table::csv_line(&[
        "start_s",
        "end_s",
        "read_mb_s",
        "write_mb_s",
        "discard_mb_s",
        "read_p99_us",
        "write_p99_us",
    ]);
    for point in &answer.series {
        out += &table::csv_line(&[
            point.start_s.to_string(),
            point.end_s.to_string(),
            point.read_mb_s.to_string(),
            point.write_mb_s.to_string(),
            point.discard_mb_s.to_string(),
            table::csv_number(point.read_p99_us),
            table::csv_number(point.write_p99_us),
        ]);
    }
    out
}

/// What happened, in a sentence.
#[allow(clippy::cast_precision_loss)] // three digits are shown
fn sentence(answer: &Answer) -> String {
    let drive = &answer.drive;
    let drives = match drive.drives {
        1 => format!(
            "{} drive",
            with_article(&bytes(drive.capacity_bytes as f64))
        ),
        count => format!(
            "{count} striped {} drives",
            bytes(drive.capacity_bytes as f64)
        ),
    };
    format!(
        "{} on {drives} with {}, in {} of the drive's time: {}.",
        count(answer.records, "request"),
        spare_words(drive.over_provisioning_asked, drive.over_provisioning),
        duration(answer.duration_s),
        match answer.write_amplification {
            Some(_) => format!("write amplification {}", fine(answer.write_amplification)),
            None => "nothing was written".to_owned(),
        }
    )
}

/// `85 s`, `7d 3h`.
fn duration(seconds: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, far below 2^64
    if seconds >= 120.0 {
        report::human_duration(seconds as u64)
    } else {
        micros(seconds * 1e6)
    }
}

/// Labelled facts.
#[allow(clippy::cast_precision_loss)] // three digits are shown
fn rows(answer: &Answer, traces: &str) -> Vec<(&'static str, String)> {
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
            format!("{requests} ({})", bytes(tally.bytes as f64))
        })
        .collect();
    if answer.flushes > 0 {
        let plural = if answer.flushes == 1 { "" } else { "es" };
        requests.push(format!("{} flush{plural}", grouped(answer.flushes)));
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
    vec![
        ("trace", traces.to_owned()),
        ("requests", requests.join(", ")),
        (
            "flash",
            format!(
                "{} pages written, {} moved, {} trimmed, {} blocks erased",
                grouped(counters.host_pages),
                grouped(counters.moved_pages),
                grouped(counters.trimmed_pages),
                grouped(counters.erased_blocks)
            ) + &in_part,
        ),
        (
            "model",
            format!(
                "{} with {} dies, pages of {}, {} collection, pace {}, seed {}",
                drive.preset,
                drive.dies,
                report::human_bytes(drive.page_bytes.into()),
                drive.policy,
                answer.pace,
                drive.seed
            ),
        ),
    ]
}

/// Kinds of requests by how long they took; those that there were.
fn latencies(answer: &Answer) -> Vec<Vec<String>> {
    let latency = &answer.latency;
    [
        ("reads", &latency.reads),
        ("writes", &latency.writes),
        ("discards", &latency.discards),
    ]
    .into_iter()
    .filter_map(|(name, latency)| Some((name, latency.as_ref()?)))
    .map(|(name, latency)| {
        let times = [
            latency.mean_us,
            latency.p50_us,
            latency.p99_us,
            latency.p999_us,
            latency.max_us,
        ];
        let mut row = vec![name.to_owned()];
        row.extend(times.map(micros));
        row
    })
    .collect()
}

/// Columns of that table.
const LATENCY_HEAD: [&str; 6] = ["latency of", "mean", "median", "99 %", "99.9 %", "at most"];

/// Text for a terminal.
pub fn text(answer: &Answer, traces: &str, warnings: &[String]) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    page.head(&sentence(answer));
    for (label, words) in rows(answer, traces) {
        page.row(label, &words);
    }
    for warning in warnings {
        page.row("note", warning);
    }
    let mut out = page.finish();
    let latencies = latencies(answer);
    if !latencies.is_empty() {
        out = out + "\n" + &table::text(&LATENCY_HEAD, &latencies, 1);
    }
    let chart = throughput(answer).text(columns, output::use_unicode());
    if chart.is_empty() {
        return out;
    }
    out + "\n" + &chart
}

/// A page that loads nothing.
pub fn page(answer: &Answer, traces: &str, warnings: Vec<String>) -> String {
    let mut parts = vec![Part::Chart(throughput(answer)), Part::Chart(waits(answer))];
    let latencies = latencies(answer);
    if !latencies.is_empty() {
        parts.push(Part::Table(
            LATENCY_HEAD.map(str::to_owned).to_vec(),
            latencies,
        ));
    }
    let rows = rows(answer, traces).into_iter();
    html::page(&html::Content {
        title: "A recorded load on a drive".to_owned(),
        label: "simulated".to_owned(),
        sentence: sentence(answer),
        notes: warnings,
        parts,
        rows: rows
            .map(|(label, words)| (label.to_owned(), words))
            .collect(),
    })
}

fn curve(answer: &Answer, name: &str, of: fn(&PointRow) -> Option<f64>) -> Curve {
    let points = answer.series.iter();
    let points = points.filter_map(|point| Some((point.start_s, of(point)?)));
    Curve::line(name, points.collect())
}

/// Throughput over time.
fn throughput(answer: &Answer) -> Chart {
    let mut curves = vec![curve(answer, "writes", |point| Some(point.write_mb_s))];
    if answer.reads.requests > 0 {
        curves.push(curve(answer, "reads", |point| Some(point.read_mb_s)));
    }
    if answer.discards.requests > 0 {
        curves.push(curve(answer, "discards", |point| Some(point.discard_mb_s)));
    }
    Chart {
        title: "throughput, MB/s".to_owned(),
        x_label: "seconds".to_owned(),
        curves,
        ..Chart::default()
    }
}

/// Latency over time.
fn waits(answer: &Answer) -> Chart {
    let mut curves = vec![curve(answer, "writes", |point| {
        Some(point.write_p99_us? / 1e3)
    })];
    if answer.reads.requests > 0 {
        curves.push(curve(answer, "reads", |point| {
            Some(point.read_p99_us? / 1e3)
        }));
    }
    Chart {
        title: "99th percentile of latency, ms".to_owned(),
        x_label: "seconds".to_owned(),
        curves,
        ..Chart::default()
    }
}
