//! The articles' stories.

use super::args::{Example, ExampleName, TableFormat};
use super::chart::{Chart, Curve};
use super::days::refused;
use super::document::Document;
use super::numbers::{bytes, digits, fine, percent};
use super::progress::Meter;
use super::table;
use crate::commands::trim::words::Page;
use crate::error::{CommandError, Kind};
use crate::output;
use flash::block_mapped::{Counters, Entry, FIVE_PAGES, five_pages};
use flash::filesystem::Reach;
use flash::scenario::runs::{Run, Runs, RunsOutcome};
use flash::scenario::{Interval, Outcome, Part, Scenario, Schedule, Trims};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// Runs `trimtab ssd example`.
///
/// # Errors
/// When it could not run.
pub fn run(arguments: &Example, quiet: bool) -> Result<(), CommandError> {
    let format = arguments.format.unwrap_or_default();
    match arguments.name {
        ExampleName::FivePages => pages(format),
        ExampleName::TenRuns => ten_runs(format, quiet),
        ExampleName::Schedules => schedules(format, quiet),
    }
}

/// The drive of five pages, with and without the trim known.
#[derive(Debug, Serialize)]
struct FivePages {
    /// `five-pages`.
    kind: &'static str,
    /// One that does not hear of deletes, one that does.
    drives: Vec<FivePagesDrive>,
}

#[derive(Debug, Serialize)]
struct FivePagesDrive {
    /// The drive hears of deletes.
    trims: bool,
    /// What the last write cost.
    stored_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// Programmed for that write by what it stores.
    write_amplification: f64,
    steps: Vec<FivePagesStep>,
}

#[derive(Debug, Serialize)]
struct FivePagesStep {
    operation: String,
    step: String,
    /// The block after it.
    flash: String,
    /// The RAM buffer, where it is in use.
    buffer: Option<String>,
}

fn pages(format: TableFormat) -> Result<(), CommandError> {
    let drives = [false, true]
        .map(|trims| {
            let entries = five_pages(trims)
                .map_err(|error| CommandError::new(Kind::Environment, error.to_string()))?;
            Ok(five_pages_drive(trims, &entries))
        })
        .into_iter()
        .collect::<Result<Vec<_>, CommandError>>()?;
    let answer = FivePages {
        kind: "five-pages",
        drives,
    };
    match format {
        TableFormat::Json => output::print(&Document::new("example".to_owned(), answer)?.json()),
        TableFormat::Csv => {
            let mut out = table::csv_line(&["trims", "operation", "step", "flash", "buffer"]);
            for drive in &answer.drives {
                for step in &drive.steps {
                    out += &table::csv_line(&[
                        drive.trims.to_string(),
                        step.operation.clone(),
                        step.step.clone(),
                        step.flash.clone(),
                        step.buffer.clone().unwrap_or_default(),
                    ]);
                }
            }
            output::print(&out)
        }
        TableFormat::Text => output::print(&five_pages_text(&answer)),
    }
}

fn five_pages_drive(trims: bool, entries: &[Entry]) -> FivePagesDrive {
    let mut steps = Vec::new();
    for entry in entries {
        let operation = entry.operation.to_string();
        if entry.steps.is_empty() {
            let flash: Vec<String> = entry.after.iter().map(ToString::to_string).collect();
            steps.push(FivePagesStep {
                operation,
                step: "the drive is not told".to_owned(),
                flash: flash.join(" "),
                buffer: None,
            });
            continue;
        }
        for told in &entry.steps {
            steps.push(FivePagesStep {
                operation: operation.clone(),
                step: told.text.clone(),
                flash: told.flash.to_string(),
                buffer: told.buffer.as_ref().map(ToString::to_string),
            });
        }
    }
    let cost = entries
        .last()
        .map_or(Counters::default(), |entry| entry.cost);
    let size = u64::from(FIVE_PAGES.page_bytes);
    #[allow(clippy::cast_precision_loss)] // a ratio
    let write_amplification = cost.programmed_pages as f64 / cost.host_pages.max(1) as f64;
    FivePagesDrive {
        trims,
        stored_bytes: cost.host_pages * size,
        read_bytes: cost.read_pages * size,
        written_bytes: cost.programmed_pages * size,
        write_amplification,
        steps,
    }
}

/// Pages are of 4096 bytes, and the articles call them 4 KB.
fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes / 1024)
}

fn five_pages_text(answer: &FivePages) -> String {
    let mut out = String::from(
        "A drive with one block of five pages of 4 KB left. Pages are programmed once and\n\
         erased by the block: [ A |(B)|-C-| . ] is data, data of a file that was deleted\n\
         without the drive's knowledge, data known to be unused, and an erased page.\n",
    );
    for drive in &answer.drives {
        out += if drive.trims {
            "\nThe drive is told of deletes (TRIM):\n"
        } else {
            "\nThe drive is not told of deletes:\n"
        };
        let mut before = "";
        for step in &drive.steps {
            if step.operation != before {
                let _ = writeln!(out, "  {}", step.operation);
                before = &step.operation;
            }
            let _ = writeln!(out, "    {:<50} {}", step.step, step.flash);
            if let Some(buffer) = &step.buffer {
                let _ = writeln!(out, "    {:>50} {buffer}", "buffer");
            }
        }
        let _ = writeln!(
            out,
            "  To store {}, it read {} and wrote {}: write amplification {}.",
            kilobytes(drive.stored_bytes),
            kilobytes(drive.read_bytes),
            kilobytes(drive.written_bytes),
            fine(Some(drive.write_amplification))
        );
    }
    out
}

/// Ten runs, three ways.
#[derive(Debug, Serialize)]
struct TenRuns {
    /// `ten-runs`.
    kind: &'static str,
    cases: Vec<TenRunsCase>,
}

#[derive(Debug, Serialize)]
struct TenRunsCase {
    name: &'static str,
    /// Throughput of the last run by that of the first.
    last_by_first: f64,
    runs: Vec<RunRow>,
}

#[derive(Debug, Serialize)]
struct RunRow {
    /// From 1.
    run: usize,
    trimmed: bool,
    mb_s: f64,
    duration_s: f64,
    written_bytes: u64,
    write_amplification: Option<f64>,
    write_p99_us: Option<f64>,
    /// Deleted and not known to the drive when it began, by capacity.
    free_untrimmed_share: f64,
}

impl RunRow {
    fn of(index: usize, run: &Run) -> Self {
        Self {
            run: index + 1,
            trimmed: run.trimmed,
            mb_s: run.mb_s,
            duration_s: run.seconds,
            written_bytes: run.written_bytes,
            write_amplification: run.point.write_amplification,
            write_p99_us: run.point.writes.map(|latency| latency.p99_us),
            free_untrimmed_share: run.free_untrimmed_share,
        }
    }
}

fn ten_runs(format: TableFormat, quiet: bool) -> Result<(), CommandError> {
    let base = Runs::default();
    let cases = [
        ("trimmed before the first only", base.clone()),
        (
            "trimmed before each",
            Runs {
                trim_every: Some(1),
                ..base.clone()
            },
        ),
        (
            "before each, and no drive hears",
            Runs {
                trim_every: Some(1),
                reach: Reach::Swallowed,
                ..base.clone()
            },
        ),
    ];
    let meter = Meter::new("ten runs", cases.len(), quiet);
    let outcomes = cases
        .par_iter()
        .enumerate()
        .map(|(index, (_, runs))| {
            let mut watch = |progress: flash::scenario::Progress| {
                meter.tell(index, progress.done, progress.total);
                ControlFlow::Continue(())
            };
            let outcome = runs.run(&mut watch).map_err(refused);
            meter.tell(index, 1, 1);
            outcome
        })
        .collect::<Result<Vec<RunsOutcome>, CommandError>>()?;
    drop(meter);
    let answer = TenRuns {
        kind: "ten-runs",
        cases: cases
            .iter()
            .zip(&outcomes)
            .map(|((name, _), outcome)| TenRunsCase {
                name,
                last_by_first: outcome.last_by_first(),
                runs: outcome
                    .runs
                    .iter()
                    .enumerate()
                    .map(|(index, run)| RunRow::of(index, run))
                    .collect(),
            })
            .collect(),
    };
    match format {
        TableFormat::Json => output::print(&Document::new("example".to_owned(), answer)?.json()),
        TableFormat::Csv => output::print(&ten_runs_csv(&answer)),
        TableFormat::Text => output::print(&ten_runs_text(&base, &answer)),
    }
}

fn ten_runs_csv(answer: &TenRuns) -> String {
    let mut out = table::csv_line(&[
        "case",
        "run",
        "trimmed",
        "mb_s",
        "duration_s",
        "written_bytes",
        "write_amplification",
        "write_p99_us",
        "free_untrimmed_share",
    ]);
    for case in &answer.cases {
        for run in &case.runs {
            out += &table::csv_line(&[
                case.name.to_owned(),
                run.run.to_string(),
                run.trimmed.to_string(),
                run.mb_s.to_string(),
                run.duration_s.to_string(),
                run.written_bytes.to_string(),
                table::csv_number(run.write_amplification),
                table::csv_number(run.write_p99_us),
                run.free_untrimmed_share.to_string(),
            ]);
        }
    }
    out
}

fn ten_runs_text(base: &Runs, answer: &TenRuns) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let capacity = base.drive.capacity_bytes as f64;
    page.head(&format!(
        "A benchmark is run {} times on a {} drive with {} spare. Each run writes {} of the \
         drive and deletes its files in the end; {} hold other data. Throughput:",
        base.runs,
        bytes(capacity),
        percent(base.drive.over_provisioning),
        percent(base.written),
        percent(base.others)
    ));
    for case in &answer.cases {
        page.row(
            &format!("run {}", case.runs.len()),
            &format!("{} of run 1, {}", percent(case.last_by_first), case.name),
        );
    }
    page.head("(Scenario, not prediction.)");
    page.blank();
    let chart = Chart {
        title: "throughput of a run, MB/s".to_owned(),
        x_label: "run".to_owned(),
        curves: answer
            .cases
            .iter()
            .map(|case| Curve {
                name: case.name.to_owned(),
                #[allow(clippy::cast_precision_loss)] // a handful
                points: case.runs.iter().map(|run| (run.run as f64, run.mb_s)).collect(),
            })
            .collect(),
        ..Chart::default()
    };
    let rows: Vec<Vec<String>> = (0..answer.cases.first().map_or(0, |case| case.runs.len()))
        .map(|index| {
            let mut row = vec![(index + 1).to_string()];
            for case in &answer.cases {
                let run = &case.runs[index];
                row.push(digits(run.mb_s));
                row.push(fine(run.write_amplification));
            }
            row
        })
        .collect();
    let head = [
        "run",
        "first only\nMB/s",
        "write\nampl.",
        "before each\nMB/s",
        "write\nampl.",
        "not heard\nMB/s",
        "write\nampl.",
    ];
    page.finish()
        + &chart.text(columns, output::use_unicode())
        + "\n"
        + &table::text(&head, &rows, 0)
}

/// The articles' change of schedule: four weeks weekly, four weeks daily.
#[derive(Debug, Serialize)]
struct Schedules {
    /// `schedules`.
    kind: &'static str,
    label: &'static str,
    cases: Vec<ScheduleCase>,
}

#[derive(Debug, Serialize)]
struct ScheduleCase {
    name: &'static str,
    write_amplification: Option<f64>,
    after_trim: Option<f64>,
    before_next_trim: Option<f64>,
    throughput_fall: Option<f64>,
    series: Vec<super::scenario_answer::SeriesRow>,
}

/// The articles' nightly benchmark hosts, as far as they are known: logs and indices that fill
/// a drive and go again, trimmed weekly until somebody makes it daily.
fn host(trims: Trims) -> Scenario {
    let parts = Runs::default().parts;
    Scenario {
        fill: 0.62,
        parts: parts.iter().map(|part| Part { ..*part }).collect(),
        bytes_per_day: 120_000_000_000,
        trims,
        warm_up_days: 28,
        days: 28,
        interval_hours: 6,
        ..Scenario::default()
    }
}

fn schedules(format: TableFormat, quiet: bool) -> Result<(), CommandError> {
    let daily = Schedule {
        every_days: 1,
        first_day: 0,
        ..Schedule::WEEKLY
    };
    let cases = [
        ("weekly", host(Trims::Periodic(Schedule::WEEKLY))),
        ("daily", host(Trims::Periodic(daily))),
        ("never", host(Trims::Never)),
    ];
    let meter = Meter::new("schedules", cases.len(), quiet);
    let outcomes = cases
        .par_iter()
        .enumerate()
        .map(|(index, (_, scenario))| {
            let mut watch = |progress: flash::scenario::Progress| {
                if !progress.loading {
                    meter.tell(index, progress.done, progress.total);
                }
                ControlFlow::Continue(())
            };
            scenario.run(&mut watch).map_err(refused)
        })
        .collect::<Result<Vec<Outcome>, CommandError>>()?;
    drop(meter);
    let drive = &cases[0].1.drive;
    let answer = Schedules {
        kind: "schedules",
        label: super::story::LABEL,
        cases: cases
            .iter()
            .zip(&outcomes)
            .map(|((name, _), outcome)| {
                let cycle = outcome.cycle(drive);
                ScheduleCase {
                    name,
                    write_amplification: outcome.total.write_amplification,
                    after_trim: cycle.and_then(|cycle| cycle.after.write_amplification),
                    before_next_trim: cycle.and_then(|cycle| cycle.before.write_amplification),
                    throughput_fall: cycle.and_then(|cycle| cycle.throughput_fall()),
                    series: outcome
                        .intervals
                        .iter()
                        .map(super::scenario_answer::SeriesRow::of)
                        .collect(),
                }
            })
            .collect(),
    };
    match format {
        TableFormat::Json => output::print(&Document::new("example".to_owned(), answer)?.json()),
        TableFormat::Csv => {
            let mut out = table::csv_line(&[
                "schedule",
                "hour",
                "write_amplification",
                "sustained_mb_s",
                "free_untrimmed_share",
                "trimmed",
            ]);
            for ((name, _), outcome) in cases.iter().zip(&outcomes) {
                for interval in &outcome.intervals {
                    out += &table::csv_line(&[
                        (*name).to_owned(),
                        interval.hour.to_string(),
                        table::csv_number(interval.point.write_amplification),
                        table::csv_number(interval.point.sustained_mb_s),
                        interval.free_untrimmed_share.to_string(),
                        interval.trimmed.to_string(),
                    ]);
                }
            }
            output::print(&out)
        }
        TableFormat::Text => output::print(&schedules_text(&cases[0].1, &answer, &outcomes)),
    }
}

fn schedules_text(host: &Scenario, answer: &Schedules, outcomes: &[Outcome]) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let (capacity, per_day) = (host.drive.capacity_bytes as f64, host.bytes_per_day as f64);
    let falls: Vec<String> = answer
        .cases
        .iter()
        .filter_map(|case| Some((case.name, case.throughput_fall?)))
        .map(|(name, fall)| format!("falls by {:.0} % if trimmed {name}", fall * 100.0))
        .collect();
    page.head(&format!(
        "A host writes {} of indices and logs a day onto a {} drive with {} spare, {} full. What is \
         deleted stays valid data to the drive until the next trim. From one trim to the next, \
         sustained write throughput {}.",
        bytes(per_day),
        bytes(capacity),
        percent(host.drive.over_provisioning),
        percent(host.fill),
        falls.join(", ")
    ));
    page.head(&format!("({}.)", super::story::LABEL));
    page.blank();
    let mut out = page.finish();
    let points = |outcome: &Outcome, of: fn(&Interval) -> Option<f64>| {
        let intervals = outcome.intervals.iter();
        intervals
            .filter_map(|interval| Some((f64::from(interval.hour) / 24.0, of(interval)?)))
            .collect()
    };
    let ticks = outcomes[0]
        .intervals
        .iter()
        .filter(|interval| interval.trimmed);
    let chart = Chart {
        title: "sustained write throughput, MB/s".to_owned(),
        x_label: "days".to_owned(),
        curves: answer
            .cases
            .iter()
            .zip(outcomes)
            .map(|(case, outcome)| Curve {
                name: case.name.to_owned(),
                points: points(outcome, |interval| interval.point.sustained_mb_s),
            })
            .collect(),
        ticks: ticks
            .map(|interval| f64::from(interval.hour) / 24.0)
            .collect(),
        tick_label: "weekly trim".to_owned(),
        floor: 0.0,
    };
    out += &chart.text(columns, output::use_unicode());
    out.push('\n');
    let rows: Vec<Vec<String>> = answer
        .cases
        .iter()
        .map(|case| {
            vec![
                case.name.to_owned(),
                fine(case.write_amplification),
                fine(case.after_trim),
                fine(case.before_next_trim),
                case.throughput_fall.map_or_else(|| "-".to_owned(), percent),
            ]
        })
        .collect();
    let head = [
        "trimmed",
        "write\nampl.",
        "after\ntrim",
        "before\nnext",
        "throughput\nfalls by",
    ];
    out + &table::text(&head, &rows, 1)
}
