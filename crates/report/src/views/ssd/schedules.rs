//! Result and page of a host that is trimmed weekly, daily and never.

use super::figures::{SCENARIO_LABEL, amplification_cell};
use super::scenario_rows::SeriesRow;
use crate::views::phrases::cell;
use flash::scenario::{Outcome, Scenario};
use page::chart::{Axis, Curve, Format, LineChart, Scale, Spans};
use page::{Block, Page, Table};
use schemars::JsonSchema;
use serde::Serialize;
use units::percent;
use units::size::as_sold;

/// Result of the articles' change of schedule: four weeks weekly, four weeks daily.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Schedules {
    /// `schedules`.
    #[schemars(extend("const" = "schedules"))]
    kind: &'static str,
    /// Label that states how reliable the numbers are.
    label: &'static str,
    /// The cases: weekly, daily, never.
    cases: Vec<ScheduleCase>,
    /// Description of the host.
    #[serde(skip)]
    question: String,
}

/// A schedule.
#[derive(Debug, Serialize, JsonSchema)]
struct ScheduleCase {
    /// Name of the schedule.
    name: &'static str,
    /// Pages programmed per page written, over the series.
    write_amplification: Option<f64>,
    /// Write amplification after a trim; null without trims.
    after_trim: Option<f64>,
    /// Write amplification before the next trim; null without trims.
    before_next_trim: Option<f64>,
    /// Share by which the sustained throughput falls between them; null without trims.
    throughput_fall: Option<f64>,
    /// Time series.
    series: Vec<SeriesRow>,
}

impl Schedules {
    /// Builds the result from the named cases and their outcomes.
    pub fn of(cases: &[(&'static str, Scenario)], outcomes: &[Outcome]) -> Self {
        let case = |((name, scenario), outcome): (&(&'static str, Scenario), &Outcome)| {
            let cycle = outcome.cycle(&scenario.drive);
            ScheduleCase {
                name,
                write_amplification: outcome.total.write_amplification,
                after_trim: cycle.and_then(|cycle| cycle.after.write_amplification),
                before_next_trim: cycle.and_then(|cycle| cycle.before.write_amplification),
                throughput_fall: cycle.and_then(|cycle| cycle.throughput_fall()),
                series: outcome.intervals.iter().map(SeriesRow::of).collect(),
            }
        };
        Self {
            kind: "schedules",
            label: SCENARIO_LABEL,
            cases: cases.iter().zip(outcomes).map(case).collect(),
            question: cases
                .first()
                .map_or_else(String::new, |(_, host)| question(host)),
        }
    }

    /// Builds the page; a brief one has a single chart.
    pub fn page(&self, brief: bool) -> Page {
        let mut page = Page {
            about: vec![self.label.to_owned()],
            ..Page::new("Trimmed weekly, daily, never", self.falls())
        };
        page.push(Block::text(self.question.clone()));
        page.push(LineChart {
            title: "Sustained write throughput".to_owned(),
            y_label: "sustained write throughput".to_owned(),
            y_format: Format::BytesPerSecond,
            y_from: Some(0.0),
            ..self.chart(|row| Some(row.point.sustained_mb_s? * 1e6))
        });
        if !brief {
            page.push(LineChart {
                title: "Write amplification".to_owned(),
                y_label: "write amplification".to_owned(),
                y_from: Some(1.0),
                ..self.chart(|row| row.point.write_amplification)
            });
        }
        page.push(self.table());
        page
    }

    fn falls(&self) -> String {
        let falls: Vec<String> = self
            .cases
            .iter()
            .filter_map(|case| Some((case.name, case.throughput_fall?)))
            .map(|(name, fall)| {
                let fall = (fall * 100.0).round().max(0.0);
                format!("by {fall:.0} % if trimmed {name}")
            })
            .collect();
        format!(
            "From one trim to the next, sustained write throughput falls {}.",
            falls.join(", ")
        )
    }

    fn chart(&self, of: fn(&SeriesRow) -> Option<f64>) -> LineChart {
        let day = |row: &SeriesRow| f64::from(row.hour) / 24.0;
        let curve = |case: &ScheduleCase| {
            let rows = case.series.iter();
            Curve::line(case.name, rows.filter_map(|row| Some((day(row), of(row)?))))
        };
        let weekly = self.cases.first().map_or(&[][..], |case| &case.series);
        let trims = weekly.iter().filter(|row| row.trimmed);
        LineChart {
            x: Axis::new("days", Scale::Number),
            curves: self.cases.iter().map(curve).collect(),
            marks: vec![Spans::new(
                "weekly trim",
                trims.map(|row| (day(row), day(row))),
            )],
            ..LineChart::default()
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "<trimmed",
            "write ampl.",
            "after trim",
            "before next",
            "throughput falls by",
        ]);
        for case in &self.cases {
            table.row([
                case.name.to_owned(),
                amplification_cell(case.write_amplification),
                amplification_cell(case.after_trim),
                amplification_cell(case.before_next_trim),
                cell(case.throughput_fall, percent),
            ]);
        }
        table
    }
}

fn question(host: &Scenario) -> String {
    format!(
        "A host writes {} of indices and logs a day onto a {} drive with {} spare, {} full. What is \
         deleted stays valid data to the drive until the next trim.",
        as_sold(host.bytes_per_day),
        as_sold(host.drive.capacity_bytes),
        percent(host.drive.over_provisioning),
        percent(host.fill),
    )
}
