//! Result and page of `trimtab ssd run`: how a drive below a filesystem behaves over days, compared with
//! variants.

use super::figures::{SCENARIO_LABEL, amplification, amplification_cell, rate};
use super::scenario_rows::{
    MeasuredRow, ScaleRow, ScenarioAnswer, ScenarioAsked, SeriesRow, Summary, TrimRow, VariantRow,
};
use super::words::spare;
use crate::views::phrases::{self, cell};
use facts::{Evidence, Skipped};
use flash::filesystem::Reach;
use flash::scenario::{Interval, Latency, Trims};
use flash::setup::{Setup, Simulated, Variant};
use page::chart::{Axis, Curve, Format, LineChart, Scale, Spans};
use page::{Facts, List, Page, Table};
use std::fmt::Write as _;
use units::list::capitalised;
use units::number::{factor, with_article};
use units::size::as_sold;
use units::{bytes, count, grouped, percent, seconds};

/// Label of a scenario that is backed by a measurement.
const LABEL_MEASURED: &str = "scenario, beside measured media writes";
/// Relative difference from which a disagreement of model and measurement is reported.
const DISAGREEMENT_MIN: f64 = 0.25;
/// Name of the requested setup, next to its variants.
const AS_ASKED: &str = "as asked";
/// A smaller fall of the throughput is not mentioned.
const FALL_MIN: f64 = 0.005;

/// A simulated setup with its variants and sources.
#[derive(Debug)]
pub struct ScenarioResult {
    /// The requested setup.
    pub setup: Setup,
    /// Result of its simulation.
    pub simulated: Simulated,
    /// Variants compared with it.
    pub variants: Vec<(Variant, Simulated)>,
    /// Whether it describes a host whose data was read.
    pub from_host: bool,
    /// Evidence for the host's numbers.
    pub evidence: Vec<Evidence>,
    /// Values that could not be read from the host.
    pub skipped: Vec<Skipped>,
    /// Bytes of host writes and of media writes as counted by the drive.
    pub measured: Option<(u64, u64)>,
}

impl ScenarioResult {
    /// Builds the result for the JSON document.
    pub fn answer(&self) -> ScenarioAnswer {
        let scenario = &self.setup.scenario;
        let drive = &scenario.drive;
        let outcome = &self.simulated.outcome;
        ScenarioAnswer {
            kind: "scenario",
            label: self.label(),
            sentence: format!("{}. {}", self.question(), self.lead()),
            write_amplification: outcome.total.write_amplification,
            summary: Summary::of(&self.simulated),
            variants: self
                .variants
                .iter()
                .map(|(variant, simulated)| VariantRow {
                    name: variant.name.clone(),
                    over_provisioning: variant.setup.scenario.drive.over_provisioning,
                    trim: variant.setup.when.to_string(),
                    summary: Summary::of(simulated),
                })
                .collect(),
            measured: self.measured.map(|(host, media)| MeasuredRow {
                host_written_bytes: host,
                media_written_bytes: media,
                write_amplification: self.measured_amplification(),
            }),
            evidence: self.evidence.clone(),
            asked: ScenarioAsked {
                capacity_bytes: drive.capacity_bytes,
                drives: drive.drives,
                chunk_bytes: drive.chunk_bytes,
                over_provisioning: drive.over_provisioning,
                page_bytes: drive.page_bytes,
                pages_per_block: drive.pages_per_block,
                policy: drive.collection.to_string(),
                preset: self.setup.preset.clone(),
                dies: drive.timing.dies,
                channels: drive.timing.channels,
                fill: scenario.fill,
                bytes_per_day: scenario.bytes_per_day,
                workload: self.setup.workload.to_string(),
                trim: self.setup.when.to_string(),
                days: scenario.days,
                warm_up_days: scenario.warm_up_days,
                seed: scenario.seed,
            },
            scale: ScaleRow {
                factor: outcome.scale.factor,
                simulated_pages: outcome.scale.pages,
                pages_per_block: outcome.scale.pages_per_block,
                over_provisioning: outcome.over_provisioning,
            },
            counters: outcome.counters.into(),
            written_bytes: outcome.written_bytes,
            block_erases_min: outcome.erases.0.min(outcome.erases.1),
            block_erases_max: outcome.erases.0.max(outcome.erases.1),
            throttled_intervals: self.simulated.throttled_intervals(),
            trims: outcome.trims.iter().map(TrimRow::of).collect(),
            series: outcome.intervals.iter().map(SeriesRow::of).collect(),
        }
    }

    /// Returns warnings about the model.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let outcome = &self.simulated.outcome;
        let throttled = self.simulated.throttled_intervals();
        if throttled > 0 {
            warnings.push(format!(
                "the drives were too slow for the load in {throttled} of {} intervals: what could \
                 not be written within an hour is left out",
                outcome.intervals.len()
            ));
        }
        if self.setup.preset == "qlc" {
            warnings.push("the times of qlc are a guess: no source was found".to_owned());
        }
        if let (Some(measured), Some(found)) = (
            self.measured_amplification(),
            outcome.total.write_amplification,
        ) {
            if measured < 1.0 {
                warnings.push(format!(
                    "the drive's own counters give a write amplification of {measured:.2}: below 1, \
                     either it compresses or the two counters cover different periods"
                ));
            } else if (found / measured - 1.0).abs() > DISAGREEMENT_MIN {
                warnings.push(format!(
                    "the model's {found:.2} and the drive's own {measured:.2} are far apart: \
                     the spare area, the workload or the drive's past differ from what was assumed"
                ));
            }
        }
        warnings
    }

    /// Builds the page; a brief one has only the most informative chart.
    pub fn page(&self, brief: bool) -> Page {
        let mut page = Page {
            about: vec![self.question(), self.label().to_owned()],
            cautions: self.warnings(),
            ..Page::new("What the drive will do", self.lead())
        };
        page.push(self.amplifications());
        page.push(self.table());
        if !brief {
            self.further_charts(&mut page);
        }
        page.push(self.facts());
        if !self.skipped.is_empty() {
            let words = |skipped: &Skipped| {
                let needs = skipped.needs.as_deref();
                let needs = needs.map_or(String::new(), |needs| format!("; needs {needs}"));
                format!("{}: {}{needs}", skipped.what, skipped.why)
            };
            page.push(List::new(
                "Unknown, and left to what is usual",
                self.skipped.iter().map(words),
            ));
        }
        page
    }

    /// Returns the label, such as `scenario, not prediction`.
    fn label(&self) -> &'static str {
        if self.measured.is_some() {
            LABEL_MEASURED
        } else {
            SCENARIO_LABEL
        }
    }

    /// Returns the write amplification measured by the drive; `None` if unknown.
    #[allow(clippy::cast_precision_loss)] // a ratio
    fn measured_amplification(&self) -> Option<f64> {
        let (host, media) = self.measured?;
        Some(media as f64 / host as f64)
    }

    /// Returns the requested setup, then its variants.
    fn all(&self) -> impl Iterator<Item = (&str, &Setup, &Simulated)> {
        let asked = std::iter::once((AS_ASKED, &self.setup, &self.simulated));
        let others = self.variants.iter();
        asked.chain(
            others.map(|(variant, simulated)| (variant.name.as_str(), &variant.setup, simulated)),
        )
    }

    /// Describes the requested setup in a sentence without its full stop.
    fn question(&self) -> String {
        let scenario = &self.setup.scenario;
        let trimmed = match self.setup.when.trims {
            Trims::Never => "never trimmed".to_owned(),
            _ => format!("trimmed {}", self.setup.when),
        };
        format!(
            "{} with {}, {} full, {trimmed}",
            load_words(&self.setup, self.from_host),
            spare(
                scenario.drive.over_provisioning,
                self.simulated.outcome.over_provisioning
            ),
            percent(scenario.fill),
        )
    }

    /// Summarises what happens, and what would happen in the variants.
    fn lead(&self) -> String {
        let mut text = self.course();
        for (variant, simulated) in &self.variants {
            let _ = write!(
                text,
                " {}: {}.",
                capitalised(&variant.name),
                range(simulated)
            );
        }
        text
    }

    fn course(&self) -> String {
        let nothing = || "Nothing was written.".to_owned();
        let long_run = &self.simulated.long_run;
        let Some(cycle) = &self.simulated.cycle else {
            let (Some(found), Some(mb_s)) = (long_run.write_amplification, long_run.sustained_mb_s)
            else {
                return nothing();
            };
            return format!(
                "Write amplification is {} in the long run, and the sustained write throughput {}.",
                amplification(found),
                rate(mb_s)
            );
        };
        let (Some(after), Some(before)) = (
            cycle.after.write_amplification,
            cycle.before.write_amplification,
        ) else {
            return nothing();
        };
        let (from, to) = (amplification(after), amplification(before));
        if from == to {
            return format!("Write amplification stays at {from} from one trim to the next.");
        }
        let verb = if before > after { "climbs" } else { "falls" };
        let fall = cycle.throughput_fall().filter(|fall| *fall >= FALL_MIN);
        let throughput = fall.map_or(String::new(), |fall| {
            let fall = fall * 100.0;
            format!("; sustained write throughput falls by {fall:.0} %")
        });
        format!(
            "Write amplification {verb} from {from} after a trim to {to} before the next{throughput}."
        )
    }

    /// Returns whether reads were requested, besides those that merges make.
    fn has_reads(&self) -> bool {
        self.setup.scenario.reads > 0.0
    }

    fn table(&self) -> Table {
        let mut columns = vec!["<scenario"];
        columns.extend(cell_names(self.has_reads()));
        let mut table = Table::new(&columns);
        for (name, _, simulated) in self.all() {
            let mut row = vec![name.to_owned()];
            row.extend(cells(simulated, self.has_reads()));
            table.row(row);
        }
        table
    }

    fn amplifications(&self) -> LineChart {
        let curve = |(name, setup, simulated): (&str, &Setup, &Simulated)| {
            // A curve that goes up and down every day would fill the chart.
            let by_day = setup.is_trimmed_daily();
            let name = if by_day {
                format!("{name} (mean of the day)")
            } else {
                name.to_owned()
            };
            let points = simulated.write_amplification(by_day);
            Curve::line(
                name,
                points.into_iter().map(|(hour, value)| (day(hour), value)),
            )
        };
        LineChart {
            title: "Write amplification".to_owned(),
            y_label: "write amplification".to_owned(),
            y_from: Some(1.0),
            curves: self.all().map(curve).collect(),
            ..self.over_days()
        }
    }

    fn further_charts(&self, page: &mut Page) {
        let mut chart = |title: &str, y_format: Format, of: fn(&Interval) -> Option<f64>| {
            let curve = |(name, _, simulated): (&str, &Setup, &Simulated)| {
                let intervals = simulated.outcome.intervals.iter();
                let points =
                    intervals.filter_map(|interval| Some((day(interval.hour), of(interval)?)));
                Curve::line(name, points)
            };
            page.push(LineChart {
                title: title.to_owned(),
                y_label: title.to_owned(),
                y_format,
                y_from: Some(0.0),
                curves: self.all().map(curve).collect(),
                ..self.over_days()
            });
        };
        chart(
            "Sustained write throughput",
            Format::BytesPerSecond,
            |interval| Some(interval.point.sustained_mb_s? * 1e6),
        );
        chart(
            "99th percentile of write latency",
            Format::Seconds,
            |interval| Some(interval.point.writes?.p99_us / 1e6),
        );
        if self.has_reads() {
            chart(
                "99th percentile of read latency",
                Format::Seconds,
                |interval| Some(interval.reads?.p99_us / 1e6),
            );
        }
        chart(
            "Deleted data that the drive still keeps, by capacity",
            Format::Percent,
            |interval| Some(interval.free_untrimmed_share),
        );
    }

    /// Builds a chart over the days of the series, marking the trims of the requested setup.
    fn over_days(&self) -> LineChart {
        let is_shown = match self.setup.when.trims {
            // Daily marks would form a solid line.
            Trims::Periodic(_) => !self.setup.is_trimmed_daily(),
            Trims::Never | Trims::Online => false,
        };
        let intervals = self.simulated.outcome.intervals.iter();
        let trims = intervals
            .filter(|interval| is_shown && interval.trimmed)
            .map(|interval| (day(interval.hour), day(interval.hour)));
        let name = match self.setup.when.reach {
            Reach::Executed => "trim",
            Reach::Ignored | Reach::Swallowed => "trim without effect",
        };
        let mut marks = vec![Spans::new(name, trims)];
        marks.retain(|marks| !marks.spans.is_empty());
        LineChart {
            x: Axis::new("days", Scale::Number),
            marks,
            ..LineChart::default()
        }
    }

    fn facts(&self) -> Facts {
        let outcome = &self.simulated.outcome;
        let scenario = &self.setup.scenario;
        let drive = &scenario.drive;
        let name = self.setup.drive_name.as_deref();
        let name = name.map_or(String::new(), |name| format!("{name}; "));
        let model = format!(
            "{name}{} with {} dies, pages of {}, {} to a block, {} collection, workload {}, seed {}",
            self.setup.preset,
            drive.timing.dies,
            bytes(drive.page_bytes.into()),
            grouped(drive.pages_per_block.into()),
            drive.collection,
            self.setup.workload,
            scenario.seed
        );
        let mut facts = Facts::of([("model", model)]);
        if outcome.scale.is_scaled() {
            let scale = format!(
                "{} simulated pages, {} to a block, stand for a drive {} as large; {} of warm-up",
                grouped(outcome.scale.pages.into()),
                grouped(outcome.scale.pages_per_block.into()),
                factor(outcome.scale.factor),
                count(scenario.warm_up_days, "day")
            );
            facts.push("scale", scale);
        }
        if let Some(measured) = self.measured_amplification() {
            let model = amplification_cell(outcome.total.write_amplification);
            let words =
                format!("{measured:.2} by the drive's own counters; the model says {model}");
            facts.push("measured", words);
        }
        for Evidence { source, value } in &self.evidence {
            facts.push("from", format!("{source}: {value}"));
        }
        facts
    }
}

/// Converts an hour of the series to days.
fn day(hour: u32) -> f64 {
    f64::from(hour) / 24.0
}

/// Describes the load: `This host writes 1.9 TB a day onto a 3.84 TB drive`.
pub fn load_words(setup: &Setup, from_host: bool) -> String {
    let drive = &setup.scenario.drive;
    let host = if from_host { "This host" } else { "A host" };
    let capacity = as_sold(drive.capacity_bytes);
    let drives = match drive.drives {
        1 => format!("{} drive", with_article(&capacity)),
        count => format!("{count} striped {capacity} drives"),
    };
    let per_day = as_sold(setup.scenario.bytes_per_day);
    format!("{host} writes {per_day} a day onto {drives}")
}

/// Formats the range of write amplification: `1.3 to 1.6`, `3.9`.
fn range(simulated: &Simulated) -> String {
    let ends = simulated.cycle.and_then(|cycle| {
        cycle
            .after
            .write_amplification
            .zip(cycle.before.write_amplification)
    });
    match (ends, simulated.long_run.write_amplification) {
        (Some((after, before)), _) => phrases::range(&amplification(after), &amplification(before)),
        (None, Some(found)) => amplification(found),
        (None, None) => "nothing written".to_owned(),
    }
}

/// Returns the columns of a scenario table besides the name; the last only if reads were requested.
pub(super) fn cell_names(reads: bool) -> &'static [&'static str] {
    const NAMES: [&str; 7] = [
        "write ampl.",
        "after trim",
        "before next",
        "sustained",
        "at worst",
        "write p99",
        "read p99",
    ];
    &NAMES[..NAMES.len() - usize::from(!reads)]
}

/// Returns a cell for each of [`cell_names`].
pub(super) fn cells(simulated: &Simulated, reads: bool) -> Vec<String> {
    let total = &simulated.outcome.total;
    let cycle = simulated.cycle.as_ref();
    let p99 = |latency: Option<Latency>| cell(latency, |latency| seconds(latency.p99_us / 1e6));
    let mut cells = vec![
        amplification_cell(total.write_amplification),
        amplification_cell(cycle.and_then(|cycle| cycle.after.write_amplification)),
        amplification_cell(cycle.and_then(|cycle| cycle.before.write_amplification)),
        cell(total.sustained_mb_s, rate),
        cell(simulated.worst_mb_s(), rate),
        p99(total.writes),
    ];
    if reads {
        cells.push(p99(simulated.outcome.reads));
    }
    cells
}
