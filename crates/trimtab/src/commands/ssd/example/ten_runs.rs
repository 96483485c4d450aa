//! Ten runs of a benchmark, without and with trims.

use super::SOURCE;
use crate::answer::envelope;
use crate::commands::ssd::args::SsdFormat;
use crate::commands::ssd::bars::{Bar, Bars, Panel};
use crate::commands::ssd::chart::{Chart, Curve};
use crate::commands::ssd::days::refused;
use crate::commands::ssd::document;
use crate::commands::ssd::html::{self, Part};
use crate::commands::ssd::numbers::{bytes, digits, fine, percent};
use crate::commands::ssd::story::LABEL;
use crate::commands::ssd::table;
use crate::commands::trim::words::Page;
use crate::error::CommandError;
use crate::output;
use crate::progress::Meter;
use flash::filesystem::Reach;
use flash::scenario::runs::{Run, Runs, RunsOutcome};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;

/// Ten runs, three ways.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TenRuns {
    /// `ten-runs`.
    #[schemars(extend("const" = "ten-runs"))]
    kind: &'static str,
    /// Trimmed before the first run only, before each, and before each without the drive hearing.
    cases: Vec<TenRunsCase>,
}

/// A way to trim.
#[derive(Debug, Serialize, JsonSchema)]
struct TenRunsCase {
    /// When it is trimmed.
    name: &'static str,
    /// Throughput of the last run by that of the first.
    last_by_first: f64,
    /// In order.
    runs: Vec<RunRow>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TenRunsRun")]
struct RunRow {
    /// From 1.
    run: usize,
    /// A trim came before it.
    trimmed: bool,
    /// Throughput in 10^6 bytes a second.
    mb_s: f64,
    /// How long it took.
    duration_s: f64,
    /// Written by the host.
    written_bytes: u64,
    /// Pages programmed by page written; null where nothing was.
    write_amplification: Option<f64>,
    /// 99 % of the writes took at most so long.
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

/// Runs it.
///
/// # Errors
/// When it could not run.
pub fn run(format: SsdFormat, quiet: bool) -> Result<(), CommandError> {
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
            "trimmed before each, and no drive hears",
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
        SsdFormat::Json => {
            let answer = document::Answer::TenRuns(Box::new(answer));
            output::print(&envelope(SOURCE, answer)?.json())
        }
        SsdFormat::Html => output::print(&page(&base, &answer)),
        SsdFormat::Csv => output::print(&ten_runs_csv(&answer)),
        SsdFormat::Text => output::print(&ten_runs_text(&base, &answer)),
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

fn sentence(base: &Runs) -> String {
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let capacity = base.drive.capacity_bytes as f64;
    format!(
        "A benchmark of a database is run {} times on a {} drive with {} spare. Each run writes {} of the drive \
         and deletes its files in the end; {} of the drive holds other data.",
        base.runs,
        bytes(capacity),
        percent(base.drive.over_provisioning),
        percent(base.written),
        percent(base.others)
    )
}

/// The last run of each case against its first.
fn last_runs(answer: &TenRuns) -> String {
    let cases: Vec<String> = answer
        .cases
        .iter()
        .map(|case| format!("{:.0} % if {}", 100.0 * case.last_by_first, case.name))
        .collect();
    let runs = answer.cases.first().map_or(0, |case| case.runs.len());
    format!(
        "Throughput of run {runs} by that of run 1: {}.",
        cases.join("; ")
    )
}

/// Columns of the table.
const HEAD: [&str; 7] = [
    "run",
    "first only\nMB/s",
    "write\nampl.",
    "before each\nMB/s",
    "write\nampl.",
    "not heard\nMB/s",
    "write\nampl.",
];

/// Its rows.
fn rows(answer: &TenRuns) -> Vec<Vec<String>> {
    let runs = answer.cases.first().map_or(0, |case| case.runs.len());
    (0..runs)
        .map(|index| {
            let mut row = vec![(index + 1).to_string()];
            for case in &answer.cases {
                let run = &case.runs[index];
                row.push(digits(run.mb_s));
                row.push(fine(run.write_amplification));
            }
            row
        })
        .collect()
}

fn ten_runs_text(base: &Runs, answer: &TenRuns) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    page.head(&format!("{} {}", sentence(base), last_runs(answer)));
    page.head(&format!("({LABEL}.)"));
    page.blank();
    let chart = Chart {
        title: "throughput of a run, MB/s".to_owned(),
        x_label: "run".to_owned(),
        curves: answer
            .cases
            .iter()
            .map(|case| {
                #[allow(clippy::cast_precision_loss)] // a handful
                let points = case.runs.iter().map(|run| (run.run as f64, run.mb_s));
                Curve::line(case.name, points.collect())
            })
            .collect(),
        ..Chart::default()
    };
    page.finish()
        + &chart.text(columns, output::use_unicode())
        + "\n"
        + &table::text(&HEAD, &rows(answer), 0)
}

/// A page that loads nothing.
fn page(base: &Runs, answer: &TenRuns) -> String {
    let panels = answer.cases.iter().map(|case| Panel {
        name: case.name.to_owned(),
        bars: case
            .runs
            .iter()
            .map(|run| Bar {
                label: run.run.to_string(),
                value: run.mb_s,
                marked: run.trimmed,
            })
            .collect(),
    });
    html::page(&html::Content {
        title: "A benchmark, run again and again".to_owned(),
        label: LABEL.to_owned(),
        sentence: format!("{} {}", sentence(base), last_runs(answer)),
        notes: Vec::new(),
        parts: vec![
            Part::Bars(Bars {
                title: "throughput of a run, MB/s".to_owned(),
                x_label: "run".to_owned(),
                mark_label: "trimmed before".to_owned(),
                panels: panels.collect(),
            }),
            Part::Table(
                HEAD.map(|name| name.replace('\n', " ")).to_vec(),
                rows(answer),
            ),
        ],
        rows: Vec::new(),
    })
}
