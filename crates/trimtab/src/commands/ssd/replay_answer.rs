//! A replay's answer: JSON, text, comma-separated values.

use super::args::Replay as Arguments;
use super::bare_answer::CountersRow;
use super::chart::{Chart, Curve};
use super::numbers::{bytes, fine, grouped, micros, percent};
use super::replay::Plan;
use super::spec::Basis;
use super::{table, values};
use crate::commands::trim::words::Page;
use crate::output;
use flash::drive::Device;
use flash::ftl::Counters;
use flash::time::{Flow, Percentiles};
use flash::trace::{Replayed, Stats, Tally};
use serde::Serialize;

/// A replay's answer.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// `replay`.
    kind: &'static str,
    /// Null where nothing was written.
    write_amplification: Option<f64>,
    drive: DriveRow,
    /// `recorded`, or `queue-depth:N`.
    pace: String,
    records: u64,
    /// Lines of the first round, by what they were.
    lines: LinesRow,
    reads: TallyRow,
    writes: TallyRow,
    discards: TallyRow,
    flushes: u64,
    out_of_range: TallyRow,
    other_devices: TallyRow,
    /// Pages of which a write covered a part only.
    partial_pages: u64,
    counters: CountersRow,
    /// From power-on to the end of the last request, in the drive's time.
    duration_s: f64,
    latency: Latencies,
    series: Vec<PointRow>,
}

#[derive(Debug, Serialize)]
struct DriveRow {
    capacity_bytes: u64,
    drives: u32,
    over_provisioning: f64,
    page_bytes: u32,
    pages_per_block: u32,
    policy: String,
    preset: String,
    dies: u32,
    channels: u32,
    seed: u64,
}

#[derive(Debug, Default, Serialize)]
struct LinesRow {
    lines: u64,
    records: u64,
    passed_over: u64,
    blank: u64,
    bad: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct TallyRow {
    requests: u64,
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
#[derive(Debug, Serialize)]
struct Latencies {
    reads: Option<PercentilesRow>,
    writes: Option<PercentilesRow>,
    discards: Option<PercentilesRow>,
}

/// In microseconds.
#[derive(Debug, Serialize)]
#[allow(clippy::struct_field_names)] // the unit belongs to the name
struct PercentilesRow {
    mean_us: f64,
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    p999_us: f64,
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

#[derive(Debug, Serialize)]
struct PointRow {
    start_s: f64,
    end_s: f64,
    read_mb_s: f64,
    write_mb_s: f64,
    discard_mb_s: f64,
    /// Null where there were none.
    read_p99_us: Option<f64>,
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

/// Text for a terminal.
#[allow(clippy::cast_precision_loss)] // three digits are shown
pub fn text(answer: &Answer, warnings: &[String]) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    let drive = &answer.drive;
    let drives = match drive.drives {
        1 => format!("a {} drive", bytes(drive.capacity_bytes as f64)),
        count => format!(
            "{count} striped {} drives",
            bytes(drive.capacity_bytes as f64)
        ),
    };
    page.head(&format!(
        "{} requests on {drives} with {} spare: write amplification {}.",
        grouped(answer.records),
        percent(drive.over_provisioning),
        fine(answer.write_amplification)
    ));
    let tally = |tally: TallyRow| {
        format!(
            "{} of {}",
            grouped(tally.requests),
            bytes(tally.bytes as f64)
        )
    };
    page.row(
        "requests",
        &format!(
            "reads {}, writes {}, discards {}, flushes {}",
            tally(answer.reads),
            tally(answer.writes),
            tally(answer.discards),
            grouped(answer.flushes)
        ),
    );
    let counters = &answer.counters;
    page.row(
        "flash",
        &format!(
            "{} pages written, {} moved, {} trimmed, {} blocks erased",
            grouped(counters.host_pages),
            grouped(counters.moved_pages),
            grouped(counters.trimmed_pages),
            grouped(counters.erased_blocks)
        ),
    );
    for (label, latency) in [
        ("reads", &answer.latency.reads),
        ("writes", &answer.latency.writes),
        ("discards", &answer.latency.discards),
    ] {
        if let Some(latency) = latency {
            page.row(
                label,
                &format!(
                    "mean {}, median {}, 99 % {}, 99.9 % {}, at most {}",
                    micros(latency.mean_us),
                    micros(latency.p50_us),
                    micros(latency.p99_us),
                    micros(latency.p999_us),
                    micros(latency.max_us)
                ),
            );
        }
    }
    page.row(
        "model",
        &format!(
            "{} with {} dies, pages of {}, {} collection, pace {}, seed {}",
            drive.preset,
            drive.dies,
            report::human_bytes(drive.page_bytes.into()),
            drive.policy,
            answer.pace,
            drive.seed
        ),
    );
    for warning in warnings {
        page.row("note", warning);
    }
    page.blank();
    page.finish() + &chart(answer).text(columns, output::use_unicode())
}

/// Throughput over time.
fn chart(answer: &Answer) -> Chart {
    let curve = |name: &str, of: fn(&PointRow) -> f64| Curve {
        name: name.to_owned(),
        points: answer
            .series
            .iter()
            .map(|point| (point.start_s, of(point)))
            .collect(),
    };
    let mut curves = vec![curve("writes", |point| point.write_mb_s)];
    if answer.reads.requests > 0 {
        curves.push(curve("reads", |point| point.read_mb_s));
    }
    if answer.discards.requests > 0 {
        curves.push(curve("discards", |point| point.discard_mb_s));
    }
    Chart {
        title: "MB/s".to_owned(),
        x_label: "seconds".to_owned(),
        curves,
        ..Chart::default()
    }
}
