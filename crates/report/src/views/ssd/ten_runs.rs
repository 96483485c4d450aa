//! Result and page of a benchmark that is run repeatedly, with and without trims.

use super::figures::{SCENARIO_LABEL, amplification_cell, rate};
use flash::scenario::{Run, Runs, RunsOutcome};
use page::chart::{Axis, Bar, BarChart, BarPanel, Curve, Format, LineChart, Scale};
use page::{Block, Page, Table};
use schemars::JsonSchema;
use serde::Serialize;
use units::percent;
use units::size::as_sold;

/// Result of ten runs in three ways.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TenRuns {
    /// `ten-runs`.
    #[schemars(extend("const" = "ten-runs"))]
    kind: &'static str,
    /// The cases: trimmed before the first run only, before each, and before each without reaching
    /// the drive.
    cases: Vec<TenRunsCase>,
    /// Description of the benchmark.
    #[serde(skip)]
    question: String,
}

/// A way to trim.
#[derive(Debug, Serialize, JsonSchema)]
struct TenRunsCase {
    /// Name of the case.
    name: &'static str,
    /// Throughput of the last run relative to the first.
    last_by_first: f64,
    /// The runs in order.
    runs: Vec<RunRow>,
}

/// One run of the benchmark.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TenRunsRun")]
struct RunRow {
    /// Number of the run, from 1.
    run: usize,
    /// Whether it was preceded by a trim.
    trimmed: bool,
    /// Throughput in 10^6 bytes per second.
    mb_s: f64,
    /// Duration.
    duration_s: f64,
    /// Bytes written by the host.
    written_bytes: u64,
    /// Pages programmed per page written; null if nothing was written.
    write_amplification: Option<f64>,
    /// 99th percentile of write latencies.
    write_p99_us: Option<f64>,
    /// Deleted but not discarded data at the start of the run, as a share of the capacity.
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

impl TenRuns {
    /// Builds the result from the named cases and their outcomes.
    pub fn of(cases: &[(&'static str, Runs)], outcomes: &[RunsOutcome]) -> Self {
        Self {
            kind: "ten-runs",
            cases: cases
                .iter()
                .zip(outcomes)
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
            question: cases
                .first()
                .map_or_else(String::new, |(_, runs)| question(runs)),
        }
    }

    /// Builds the page; a brief one has curves instead of bars, which take a line each.
    pub fn page(&self, brief: bool) -> Page {
        let mut page = Page {
            about: vec![SCENARIO_LABEL.to_owned()],
            ..Page::new("A benchmark, run again and again", self.last_runs())
        };
        page.push(Block::text(self.question.clone()));
        if brief {
            page.push(self.curves());
        } else {
            page.push(self.bars());
        }
        page.push(self.table());
        page
    }

    /// Compares the last run of each case with its first.
    fn last_runs(&self) -> String {
        let cases: Vec<String> = self
            .cases
            .iter()
            .map(|case| format!("{:.0} % if {}", 100.0 * case.last_by_first, case.name))
            .collect();
        let runs = self.cases.first().map_or(0, |case| case.runs.len());
        format!(
            "Throughput of run {runs} relative to run 1: {}.",
            cases.join("; ")
        )
    }

    fn curves(&self) -> LineChart {
        let curve = |case: &TenRunsCase| {
            #[allow(clippy::cast_precision_loss)] // a handful
            let points = case.runs.iter().map(|run| (run.run as f64, run.mb_s * 1e6));
            Curve::line(case.name, points)
        };
        LineChart {
            title: "Throughput of each run".to_owned(),
            x: Axis::new("run", Scale::Number),
            y_label: "throughput".to_owned(),
            y_format: Format::BytesPerSecond,
            y_from: Some(0.0),
            curves: self.cases.iter().map(curve).collect(),
            ..LineChart::default()
        }
    }

    fn bars(&self) -> BarChart {
        let panel = |case: &TenRunsCase| BarPanel {
            name: case.name.to_owned(),
            bars: case
                .runs
                .iter()
                .map(|run| Bar {
                    marked: run.trimmed,
                    ..Bar::new(run.run.to_string(), run.mb_s * 1e6)
                })
                .collect(),
        };
        BarChart {
            title: "Throughput of each run".to_owned(),
            x_label: "run".to_owned(),
            format: Format::BytesPerSecond,
            mark_label: "trimmed before".to_owned(),
            panels: self.cases.iter().map(panel).collect(),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "run",
            "first only",
            "write ampl.",
            "before each",
            "write ampl.",
            "dropped",
            "write ampl.",
        ]);
        let runs = self.cases.first().map_or(0, |case| case.runs.len());
        for index in 0..runs {
            let mut row = vec![(index + 1).to_string()];
            for case in &self.cases {
                let run = &case.runs[index];
                row.push(rate(run.mb_s));
                row.push(amplification_cell(run.write_amplification));
            }
            table.row(row);
        }
        table
    }
}

fn question(runs: &Runs) -> String {
    format!(
        "A benchmark of a database is run {} times on a {} drive with {} spare. Each run writes {} of \
         the drive and deletes its files in the end; {} of the drive holds other data.",
        runs.runs,
        as_sold(runs.drive.capacity_bytes),
        percent(runs.drive.over_provisioning),
        percent(runs.written),
        percent(runs.others)
    )
}
