//! A simulated scenario in a sentence, a chart, a table, a document.

use super::chart::{Chart, Curve};
use super::days::{Plan, Simulated};
use super::html::{self, Part};
use super::numbers::{amplification, bytes, digits, micros, percent, with_article};
use super::spec::spare_words;
use super::{blockmap, table, values};
use crate::commands::trim::words::Page;
use facts::Evidence;
use flash::filesystem::Reach;
use flash::scenario::{Interval, Latency, Trims};
use report::{count, grouped};
use std::fmt::Write as _;

/// What stands on every scenario that no measurement backs.
pub const LABEL: &str = "scenario, not prediction";
/// And on those that one stands beside.
const LABEL_MEASURED: &str = "scenario, beside measured media writes";
/// Where model and measurement are this far apart, it is said.
const DISAGREES: f64 = 0.25;

/// What was simulated, with all that is told of it.
#[derive(Debug)]
pub struct Story {
    /// What was asked.
    pub plan: Plan,
    /// What came of it.
    pub simulated: Simulated,
    /// What was compared with it.
    pub variants: Vec<(String, Plan, Simulated)>,
    /// It is about a host that was read.
    pub from_host: bool,
    /// What the host's numbers were read from.
    pub evidence: Vec<Evidence>,
    /// Host writes and media writes as the drive counts them.
    pub measured: Option<(u64, u64)>,
}

impl Story {
    /// `scenario, not prediction`.
    pub fn label(&self) -> &'static str {
        if self.measured.is_some() {
            LABEL_MEASURED
        } else {
            LABEL
        }
    }

    /// The drive's own account; `None` without one.
    #[allow(clippy::cast_precision_loss)] // a ratio
    pub fn measured_amplification(&self) -> Option<f64> {
        let (host, media) = self.measured?;
        Some(media as f64 / host as f64)
    }

    /// What happens, in sentences.
    pub fn sentences(&self) -> String {
        let scenario = &self.plan.scenario;
        let drive = &scenario.drive;
        let trimmed = match self.plan.when.trims {
            Trims::Never => "never trimmed".to_owned(),
            _ => format!("trimmed {}", self.plan.when),
        };
        let mut text = format!(
            "{} with {}, {} full, {trimmed}. ",
            load_words(&self.plan, self.from_host),
            spare_words(
                drive.over_provisioning,
                self.simulated.outcome.over_provisioning
            ),
            percent(scenario.fill),
        );
        text += &self.course();
        for (name, _, simulated) in &self.variants {
            let mut chars = name.chars();
            let first: String = chars
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .collect();
            let _ = write!(text, " {first}{}: {}.", chars.as_str(), range(simulated));
        }
        text
    }

    fn course(&self) -> String {
        let long_run = &self.simulated.long_run;
        let Some(cycle) = &self.simulated.cycle else {
            let (Some(found), Some(rate)) = (long_run.write_amplification, long_run.sustained_mb_s)
            else {
                return "Nothing was written.".to_owned();
            };
            return format!(
                "Write amplification is {} in the long run, and the sustained write throughput {}.",
                amplification(found),
                rate_of(rate)
            );
        };
        let (Some(after), Some(before)) = (
            cycle.after.write_amplification,
            cycle.before.write_amplification,
        ) else {
            return "Nothing was written.".to_owned();
        };
        let (from, to) = (amplification(after), amplification(before));
        if from == to {
            return format!("Write amplification stays at {from} from one trim to the next.");
        }
        let verb = if before > after { "climbs" } else { "falls" };
        let throughput = match cycle.throughput_fall() {
            Some(fall) if fall >= 0.005 => {
                format!(
                    "; sustained write throughput falls by {:.0} %",
                    fall * 100.0
                )
            }
            _ => String::new(),
        };
        format!(
            "Write amplification {verb} from {from} after a trim to {to} before the next{throughput}."
        )
    }

    /// What the user should know of the model.
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
        if self.plan.preset == "qlc" {
            warnings.push("the times of qlc are a guess: no source was found".to_owned());
        }
        if let (Some(measured), Some(found)) = (
            self.measured_amplification(),
            outcome.total.write_amplification,
        ) {
            if measured < 1.0 {
                warnings.push(format!(
                    "the drive's own account gives a write amplification of {measured:.2}: below 1 \
                     it compresses, or the two numbers are not of the same time"
                ));
            } else if (found / measured - 1.0).abs() > DISAGREES {
                warnings.push(format!(
                    "the model's {found:.2} and the drive's own {measured:.2} are far apart: \
                     the spare area, the workload or the years before are others than assumed"
                ));
            }
        }
        warnings
    }

    /// Text for a terminal.
    pub fn text(&self, columns: usize, unicode: bool) -> String {
        let mut page = Page::new(columns);
        page.head(&self.sentences());
        page.head(&format!("({}.)", self.label()));
        page.blank();
        let chart = self.chart();
        let mut out = page.finish() + &chart.text(columns, unicode);
        let mut page = Page::new(columns);
        for (label, words) in self.rows() {
            page.row(label, &words);
        }
        for warning in self.warnings() {
            page.row("note", &warning);
        }
        out.push('\n');
        out += &table::text(table_head(self.has_reads()), &self.table(), 1);
        out.push('\n');
        out + &page.finish()
    }

    /// Labelled facts.
    fn rows(&self) -> Vec<(&'static str, String)> {
        let outcome = &self.simulated.outcome;
        let scenario = &self.plan.scenario;
        let name = self
            .plan
            .drive_name
            .as_deref()
            .map_or(String::new(), |name| format!("{}; ", report::escape(name)));
        let mut rows = vec![(
            "model",
            format!(
                "{name}{} with {} dies, pages of {}, {} to a block, {} collection, workload {}, seed {}",
                self.plan.preset,
                scenario.drive.timing.dies,
                report::human_bytes(scenario.drive.page_bytes.into()),
                grouped(scenario.drive.pages_per_block.into()),
                values::policy_word(scenario.drive.collection),
                self.plan.workload,
                scenario.seed
            ),
        )];
        if outcome.scale.is_scaled() {
            rows.push((
                "scale",
                format!(
                    "{} pages of a drive, {} to a block, stand for {} times as many; {} of warm-up",
                    grouped(outcome.scale.pages.into()),
                    grouped(outcome.scale.pages_per_block.into()),
                    digits(outcome.scale.factor),
                    count(scenario.warm_up_days, "day")
                ),
            ));
        }
        if let Some(measured) = self.measured_amplification() {
            let model = outcome.total.write_amplification;
            rows.push((
                "measured",
                format!(
                    "{measured:.2} by the drive's own account; the model says {}",
                    super::numbers::fine(model)
                ),
            ));
        }
        for evidence in &self.evidence {
            rows.push((
                "from",
                format!(
                    "{}: {}",
                    report::escape(&evidence.source),
                    report::escape(&evidence.value)
                ),
            ));
        }
        rows
    }

    /// Whether reads were asked for, beside those that merges make.
    fn has_reads(&self) -> bool {
        self.plan.scenario.reads > 0.0
    }

    fn table(&self) -> Vec<Vec<String>> {
        let own = std::iter::once(("as asked".to_owned(), &self.simulated));
        let others = self.variants.iter();
        own.chain(others.map(|(name, _, simulated)| (name.clone(), simulated)))
            .map(|(name, simulated)| {
                let mut row = vec![name];
                row.extend(cells(simulated, self.has_reads()));
                row
            })
            .collect()
    }

    fn chart(&self) -> Chart {
        let own = std::iter::once(("as asked", &self.plan, &self.simulated));
        let others = self.variants.iter();
        let all = own.chain(others.map(|(name, plan, simulated)| (name.as_str(), plan, simulated)));
        let curves = all
            .map(|(name, plan, simulated)| {
                let points = amplifications(plan, simulated);
                if is_daily(plan) {
                    Curve::line(format!("{name} (mean of the day)"), points)
                } else {
                    Curve::line(name, points)
                }
            })
            .collect();
        let trims = match self.plan.when.trims {
            // Marks of every day would be a line.
            Trims::Periodic(_) if !is_daily(&self.plan) => self.simulated.outcome.intervals.iter(),
            _ => [].iter(),
        };
        Chart {
            title: format!("write amplification ({})", self.label()),
            x_label: "days".to_owned(),
            curves,
            ticks: trims
                .filter(|interval| interval.trimmed)
                .map(|interval| f64::from(interval.hour) / 24.0)
                .collect(),
            tick_label: match self.plan.when.reach {
                Reach::Heard => "trim".to_owned(),
                Reach::Ignored | Reach::Swallowed => "trim that no drive hears".to_owned(),
            },
            floor: 1.0,
        }
    }

    /// A series over time as comma-separated values.
    pub fn csv(&self) -> String {
        let mut out = table::csv_line(&[
            "scenario",
            "hour",
            "hours",
            "write_amplification",
            "sustained_mb_s",
            "written_bytes",
            "write_mean_us",
            "write_p50_us",
            "write_p99_us",
            "write_p999_us",
            "read_mean_us",
            "read_p50_us",
            "read_p99_us",
            "read_p999_us",
            "live_share",
            "free_untrimmed_share",
            "trimmed",
            "throttled",
        ]);
        let own = std::iter::once(("as asked", &self.simulated));
        let others = self.variants.iter();
        let all = own.chain(others.map(|(name, _, simulated)| (name.as_str(), simulated)));
        for (name, simulated) in all {
            for interval in &simulated.outcome.intervals {
                let latency = |of: fn(&Latency) -> f64| {
                    table::csv_number(interval.point.writes.as_ref().map(of))
                };
                let read =
                    |of: fn(&Latency) -> f64| table::csv_number(interval.reads.as_ref().map(of));
                out += &table::csv_line(&[
                    name.to_owned(),
                    interval.hour.to_string(),
                    interval.hours.to_string(),
                    table::csv_number(interval.point.write_amplification),
                    table::csv_number(interval.point.sustained_mb_s),
                    interval.written_bytes.to_string(),
                    latency(|latency| latency.mean_us),
                    latency(|latency| latency.p50_us),
                    latency(|latency| latency.p99_us),
                    latency(|latency| latency.p999_us),
                    read(|latency| latency.mean_us),
                    read(|latency| latency.p50_us),
                    read(|latency| latency.p99_us),
                    read(|latency| latency.p999_us),
                    interval.live_share.to_string(),
                    interval.free_untrimmed_share.to_string(),
                    interval.trimmed.to_string(),
                    interval.throttled.to_string(),
                ]);
            }
        }
        out
    }

    /// A page that loads nothing.
    pub fn html(&self) -> String {
        let over_time = |title: &str, of: fn(&Interval) -> Option<f64>| {
            let points = |simulated: &Simulated| {
                let intervals = simulated.outcome.intervals.iter();
                intervals
                    .filter_map(|interval| Some((f64::from(interval.hour) / 24.0, of(interval)?)))
                    .collect()
            };
            let mut chart = self.chart();
            title.clone_into(&mut chart.title);
            chart.floor = 0.0;
            let others = self.variants.iter();
            let all = std::iter::once(("as asked", &self.simulated))
                .chain(others.map(|(name, _, simulated)| (name.as_str(), simulated)));
            chart.curves = all
                .map(|(name, simulated)| Curve::line(name, points(simulated)))
                .collect();
            chart
        };
        let table = Part::Table(
            (table_head(self.has_reads()).iter())
                .map(|name| name.replace('\n', " "))
                .collect(),
            self.table(),
        );
        let mut parts = vec![
            Part::Chart(self.chart()),
            table,
            Part::Chart(over_time("sustained write throughput, MB/s", |interval| {
                interval.point.sustained_mb_s
            })),
            Part::Chart(over_time(
                "99th percentile of write latency, ms",
                |interval| Some(interval.point.writes?.p99_us / 1e3),
            )),
        ];
        if self.has_reads() {
            parts.push(Part::Chart(over_time(
                "99th percentile of read latency, ms",
                |interval| Some(interval.reads?.p99_us / 1e3),
            )));
        }
        parts.extend([
            Part::Chart(over_time(
                "deleted, and not known to the drive: percent of the drive",
                |interval| Some(interval.free_untrimmed_share * 100.0),
            )),
            Part::Film(blockmap::of_plan(&self.plan)),
        ]);
        let rows = self.rows();
        html::page(&html::Content {
            title: "What the drive will do".to_owned(),
            label: self.label().to_owned(),
            sentence: self.sentences(),
            notes: self.warnings(),
            parts,
            rows: rows
                .into_iter()
                .map(|(label, words)| (label.to_owned(), words))
                .collect(),
        })
    }
}

/// `This host writes 1.9 TB a day onto a 3.84 TB drive`.
pub fn load_words(plan: &Plan, from_host: bool) -> String {
    let drive = &plan.scenario.drive;
    let host = if from_host { "This host" } else { "A host" };
    let drives = match drive.drives {
        1 => format!("{} drive", with_article(&bytes_of(drive.capacity_bytes))),
        count => format!("{count} striped {} drives", bytes_of(drive.capacity_bytes)),
    };
    let per_day = bytes_of(plan.scenario.bytes_per_day);
    format!("{host} writes {per_day} a day onto {drives}")
}

/// `1.3 to 1.6`, `3.9`.
fn range(simulated: &Simulated) -> String {
    let ends = simulated.cycle.and_then(|cycle| {
        cycle
            .after
            .write_amplification
            .zip(cycle.before.write_amplification)
    });
    match (ends, simulated.long_run.write_amplification) {
        (Some((after, before)), _) => {
            let (from, to) = (amplification(after), amplification(before));
            if from == to {
                from
            } else {
                format!("{from} to {to}")
            }
        }
        (None, Some(found)) => amplification(found),
        (None, None) => "nothing written".to_owned(),
    }
}

/// Write amplification by day of the series. A curve that goes up and down every day is told by the
/// mean of each day: it would fill the chart.
fn amplifications(plan: &Plan, simulated: &Simulated) -> Vec<(f64, f64)> {
    let intervals = &simulated.outcome.intervals;
    let by_day = is_daily(plan);
    let same = |a: &Interval, b: &Interval| by_day && a.hour / 24 == b.hour / 24;
    intervals
        .chunk_by(same)
        .filter_map(|day| {
            let pages = |of: fn(&Interval) -> u64| day.iter().map(of).sum::<u64>();
            let host = pages(|interval| interval.counters.host_pages);
            let moved = pages(|interval| interval.counters.moved_pages);
            #[allow(clippy::cast_precision_loss)] // a ratio
            let found = (host > 0).then(|| (host + moved) as f64 / host as f64);
            Some((f64::from(day[0].hour) / 24.0, found?))
        })
        .collect()
}

fn is_daily(plan: &Plan) -> bool {
    matches!(plan.scenario.trims, Trims::Periodic(schedule) if schedule.every_days == 1)
}

/// Columns of a table of scenarios.
const TABLE_HEAD: [&str; 8] = [
    "scenario",
    "write\nampl.",
    "after\ntrim",
    "before\nnext",
    "sustained\nMB/s",
    "at worst\nMB/s",
    "write\np99",
    "read\np99",
];

/// The columns, the last only where reads were asked for.
pub fn table_head(reads: bool) -> &'static [&'static str] {
    &TABLE_HEAD[..TABLE_HEAD.len() - usize::from(!reads)]
}

/// Its cells, the name left out.
pub fn cells(simulated: &Simulated, reads: bool) -> Vec<String> {
    let total = &simulated.outcome.total;
    let rate =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    let cycle = simulated.cycle.as_ref();
    let intervals = simulated.outcome.intervals.iter();
    let worst = intervals
        .filter_map(|interval| interval.point.sustained_mb_s)
        .reduce(f64::min);
    let p99 = |latency: Option<Latency>| {
        latency.map_or_else(|| "-".to_owned(), |latency| micros(latency.p99_us))
    };
    let mut cells = vec![
        super::numbers::fine(total.write_amplification),
        super::numbers::fine(cycle.and_then(|cycle| cycle.after.write_amplification)),
        super::numbers::fine(cycle.and_then(|cycle| cycle.before.write_amplification)),
        rate(total.sustained_mb_s),
        rate(worst),
        p99(total.writes),
    ];
    if reads {
        cells.push(p99(simulated.outcome.reads));
    }
    cells
}

#[allow(clippy::cast_precision_loss)] // three digits are shown
fn bytes_of(count: u64) -> String {
    bytes(count as f64)
}

/// Megabytes a second: `840 MB/s`, `1.4 GB/s`.
fn rate_of(mb_s: f64) -> String {
    format!("{}/s", bytes(mb_s * 1e6))
}
