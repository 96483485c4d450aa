//! A host trimmed weekly, daily and never.

use super::SOURCE;
use crate::answer::envelope;
use crate::commands::ssd::args::SsdFormat;
use crate::commands::ssd::chart::{Chart, Curve};
use crate::commands::ssd::days::refused;
use crate::commands::ssd::document;
use crate::commands::ssd::html::{self, Part};
use crate::commands::ssd::numbers::{bytes, fine, percent};
use crate::commands::ssd::scenario_answer::SeriesRow;
use crate::commands::ssd::story::LABEL;
use crate::commands::ssd::table;
use crate::commands::trim::words::Page;
use crate::error::CommandError;
use crate::output;
use crate::progress::Meter;
use flash::scenario::{Interval, Outcome, Part as Load, Scenario, Schedule, Trims};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;

/// The articles' change of schedule: four weeks weekly, four weeks daily.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Schedules {
    /// `schedules`.
    #[schemars(extend("const" = "schedules"))]
    kind: &'static str,
    /// What it is worth.
    label: &'static str,
    /// Weekly, daily, never.
    cases: Vec<ScheduleCase>,
}

/// A schedule.
#[derive(Debug, Serialize, JsonSchema)]
struct ScheduleCase {
    /// When it is trimmed.
    name: &'static str,
    /// Pages programmed by page written, over the series.
    write_amplification: Option<f64>,
    /// The same after a trim; null without trims.
    after_trim: Option<f64>,
    /// The same before the next; null without trims.
    before_next_trim: Option<f64>,
    /// By what share the sustained throughput falls between them; null without trims.
    throughput_fall: Option<f64>,
    /// Over time.
    series: Vec<SeriesRow>,
}

/// The articles' nightly benchmark hosts, as far as they are known: logs and indices that fill
/// a drive and go again, trimmed weekly until somebody makes it daily.
fn host(trims: Trims) -> Scenario {
    Scenario {
        fill: 0.62,
        parts: Load::ELASTICSEARCH.to_vec(),
        bytes_per_day: 120_000_000_000,
        trims,
        warm_up_days: 28,
        days: 28,
        interval_hours: 6,
        ..Scenario::default()
    }
}

/// Runs it.
///
/// # Errors
/// When it could not run.
pub fn run(format: SsdFormat, quiet: bool) -> Result<(), CommandError> {
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
        label: LABEL,
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
                    series: outcome.intervals.iter().map(SeriesRow::of).collect(),
                }
            })
            .collect(),
    };
    match format {
        SsdFormat::Json => {
            let answer = document::Answer::Schedules(Box::new(answer));
            output::print(&envelope(SOURCE, answer)?.json())
        }
        SsdFormat::Html => output::print(&page(&cases[0].1, &answer, &outcomes)),
        SsdFormat::Csv => {
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
        SsdFormat::Text => output::print(&schedules_text(&cases[0].1, &answer, &outcomes)),
    }
}

fn sentence(host: &Scenario, answer: &Schedules) -> String {
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let (capacity, per_day) = (host.drive.capacity_bytes as f64, host.bytes_per_day as f64);
    let falls: Vec<String> = answer
        .cases
        .iter()
        .filter_map(|case| Some((case.name, case.throughput_fall?)))
        .map(|(name, fall)| {
            format!(
                "by {:.0} % if trimmed {name}",
                (fall * 100.0).round().max(0.0)
            )
        })
        .collect();
    format!(
        "A host writes {} of indices and logs a day onto a {} drive with {} spare, {} full. What is \
         deleted stays valid data to the drive until the next trim. From one trim to the next, \
         sustained write throughput falls {}.",
        bytes(per_day),
        bytes(capacity),
        percent(host.drive.over_provisioning),
        percent(host.fill),
        falls.join(", ")
    )
}

fn chart(title: &str, floor: f64, answer: &Answers<'_>, of: fn(&Interval) -> Option<f64>) -> Chart {
    let points = |outcome: &Outcome| {
        let intervals = outcome.intervals.iter();
        intervals
            .filter_map(|interval| Some((f64::from(interval.hour) / 24.0, of(interval)?)))
            .collect()
    };
    let weekly = answer
        .1
        .first()
        .map_or(&[][..], |outcome| &outcome.intervals);
    let ticks = weekly.iter().filter(|interval| interval.trimmed);
    Chart {
        title: title.to_owned(),
        x_label: "days".to_owned(),
        curves: answer
            .0
            .cases
            .iter()
            .zip(answer.1)
            .map(|(case, outcome)| Curve::line(case.name, points(outcome)))
            .collect(),
        ticks: ticks
            .map(|interval| f64::from(interval.hour) / 24.0)
            .collect(),
        tick_label: "weekly trim".to_owned(),
        floor,
    }
}

/// The answer, and what it was made of.
type Answers<'a> = (&'a Schedules, &'a [Outcome]);

fn throughput(answer: &Answers<'_>) -> Chart {
    chart(
        "sustained write throughput, MB/s",
        0.0,
        answer,
        |interval| interval.point.sustained_mb_s,
    )
}

/// Columns of the table.
const HEAD: [&str; 5] = [
    "trimmed",
    "write\nampl.",
    "after\ntrim",
    "before\nnext",
    "throughput\nfalls by",
];

/// Its rows.
fn rows(answer: &Schedules) -> Vec<Vec<String>> {
    answer
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
        .collect()
}

fn schedules_text(host: &Scenario, answer: &Schedules, outcomes: &[Outcome]) -> String {
    let columns = usize::from(output::terminal_columns());
    let mut page = Page::new(columns);
    page.head(&sentence(host, answer));
    page.head(&format!("({LABEL}.)"));
    page.blank();
    page.finish()
        + &throughput(&(answer, outcomes)).text(columns, output::use_unicode())
        + "\n"
        + &table::text(&HEAD, &rows(answer), 1)
}

/// A page that loads nothing.
fn page(host: &Scenario, answer: &Schedules, outcomes: &[Outcome]) -> String {
    let answers = (answer, outcomes);
    html::page(&html::Content {
        title: "Trimmed weekly, daily, never".to_owned(),
        label: LABEL.to_owned(),
        sentence: sentence(host, answer),
        notes: Vec::new(),
        parts: vec![
            Part::Chart(throughput(&answers)),
            Part::Chart(chart("write amplification", 1.0, &answers, |interval| {
                interval.point.write_amplification
            })),
            Part::Table(
                HEAD.map(|name| name.replace('\n', " ")).to_vec(),
                rows(answer),
            ),
        ],
        rows: Vec::new(),
    })
}
