//! Page of `trimtab explain`: the sentence, the curve with the runs of jobs, every explanation that
//! was compared, and the evidence.

mod causes;
mod chart;
mod clock;
mod detail;
mod disk_log;
mod fleet;
mod listing;
mod names;
mod series;

pub use detail::ExplainDetail;

use super::phrases::{cell, words_if};
use crate::explain::ExplainReport;
use explain::verdict::Kind;
use listing::ListedSeries;
use page::{Block, Cell, Level, Page, Section, Table, Text, Tone};
use units::cut;

/// Maximum number of rows of the summary and of lists on a terminal.
const SUMMARY_MAX: usize = 40;
const NOTES_MAX: usize = 5;
/// Maximum columns of a name in a heading; JSON has the full name.
const NAME_COLUMNS_MAX: usize = 200;

/// Builds the page of a report.
pub fn page(report: &ExplainReport<'_>, detail: ExplainDetail) -> Page {
    let (listed, summed_up) = listing::split_listed(report, detail.all);
    let mut view = View {
        report,
        detail,
        page: Page {
            title: format!("trimtab explain: {}", report.source),
            cautions: report.warnings.to_vec(),
            ..Page::default()
        },
    };
    match (report.disk_logs, listed.as_slice()) {
        ([], []) if summed_up.is_empty() => {
            view.lead("No series: there is nothing to explain.", Tone::Strong);
        }
        ([], []) => view.lead(&listing::summed_up(&summed_up), Tone::Level(Level::Note)),
        ([], [one]) => view.only_series(one),
        ([], all) => {
            let tone = if report.is_trouble() {
                names::tone(Kind::Periodic)
            } else {
                Tone::Strong
            };
            let is_undecided = |one: &ListedSeries<'_>| one.verdict.verdict.kind == Kind::Undecided;
            let lead = words_if(all.iter().all(is_undecided), "Cannot tell: ");
            let counts = listing::counts(all);
            match fleet::lead(report) {
                Some(common) => {
                    view.lead(&common, tone);
                    view.page.about.push(counts);
                }
                None => view.lead(&format!("{lead}{counts}."), tone),
            }
            let blocks = view.all_series(all);
            view.page.blocks.extend(blocks);
        }
        (_, all) => view.disk_logs(all),
    }
    let anything_else = !report.disk_logs.is_empty() || !listed.is_empty();
    if anything_else && !summed_up.is_empty() {
        view.page.push(Block::aside(listing::summed_up(&summed_up)));
    }
    view.close();
    view.page
}

struct View<'r, 'a> {
    report: &'r ExplainReport<'a>,
    detail: ExplainDetail,
    page: Page,
}

impl View<'_, '_> {
    fn lead(&mut self, lead: &str, tone: Tone) {
        lead.clone_into(&mut self.page.lead);
        self.page.tone = tone;
    }

    /// Handles a report with a single series, whose sentence is the answer.
    fn only_series(&mut self, listed: &ListedSeries<'_>) {
        let series = listed.verdict;
        self.page.title = name(&series.name);
        self.lead(&series.verdict.sentence, names::tone(series.verdict.kind));
        self.page.about.push(format!(
            "{} of {}: {}",
            name(&series.name),
            name(&series.source),
            series::about(self.report, series)
        ));
        self.page.blocks = series::blocks(self.report, listed, self.detail, false);
    }

    /// Adds disk logs, and below them the series that are shown individually.
    fn disk_logs(&mut self, listed: &[ListedSeries<'_>]) {
        let [first, others @ ..] = self.report.disk_logs else {
            return;
        };
        self.lead(&disk_log::lead(first), disk_log::tone(first));
        let about = format!("{}: {}", name(&first.source), disk_log::about(first));
        self.page.about.push(about);
        self.page.blocks = disk_log::blocks(first, self.detail);
        for log in others {
            let mut section = Section::new(name(&log.source));
            section.push(Text::new(disk_log::lead(log), disk_log::tone(log)));
            section.push(Block::aside(disk_log::about(log)));
            section.blocks.extend(disk_log::blocks(log, self.detail));
            self.page.push(section);
        }
        if !listed.is_empty() {
            let mut section = Section::with_aside("Series", listing::counts(listed));
            section.blocks = self.all_series(listed);
            self.page.push(section);
        }
    }

    /// Adds a table of all series, the largest effect first, and then the first of them in full.
    fn all_series(&self, listed: &[ListedSeries<'_>]) -> Vec<Block> {
        let max = self.detail.series_max();
        let rows = fleet::rows(self.report, listed);
        let mut table = Table::new(&["<series", "<verdict", "effect", "period", "q"]);
        let shown = self.detail.shown(rows.len(), SUMMARY_MAX);
        for (index, row) in rows.iter().take(shown).enumerate() {
            let verdict = &row.series.verdict.verdict;
            let title = Cell {
                text: name(&row.title),
                section: (index < max).then(|| id(index)),
                ..Cell::default()
            };
            let effect = series::effect(row.series.verdict);
            table.rows.push(vec![
                title,
                names::kind(verdict.kind).into(),
                match row.common {
                    Some(_) => format!("up to {effect}").into(),
                    None => effect.into(),
                },
                cell(verdict.period_s, units::seconds).into(),
                cell(verdict.q, units::number::probability).into(),
            ]);
        }
        let mut blocks = vec![table.into()];
        blocks.extend(self.detail.more(rows.len(), SUMMARY_MAX).map(Block::aside));
        for (index, row) in rows.iter().take(max).enumerate() {
            let one = &row.series;
            let verdict = &one.verdict.verdict;
            let mut section = Section::new(name(&row.title));
            section.id = id(index);
            if let Some(common) = row.common {
                section.push(Text::new(&common.sentence, names::tone(verdict.kind)));
                section.push(fleet::about(common, &name(&row.name)));
            }
            section.push(Text::new(&verdict.sentence, names::tone(verdict.kind)));
            let about = series::about(self.report, one.verdict);
            let source = name(&one.verdict.source);
            section.push(Block::aside(format!("{source}: {about}")));
            let blocks_of_one = series::blocks(self.report, one, self.detail, true);
            section.blocks.extend(blocks_of_one);
            blocks.push(section.into());
        }
        let rest = rows.len().saturating_sub(max);
        if rest > 0 {
            blocks.push(Block::aside(format!(
                "{} more series; `--all` shows them in full, `--select` chooses.",
                units::count::grouped_usize(rest)
            )));
        }
        blocks
    }

    /// Whether a trim that takes all of a filesystem at once is the likeliest cause of a pattern.
    fn blames_trim(&self) -> bool {
        let mut verdicts = self.report.analysis.series.iter();
        verdicts.any(|series| {
            let class = series.verdict.classes.first();
            let mut jobs = class.into_iter().flat_map(|class| &class.jobs);
            series.verdict.kind == Kind::Periodic
                && jobs.any(|job| job.contains("fstrim") || job.ends_with("-trim.timer"))
        })
    }

    /// Adds what applies to all series.
    fn close(&mut self) {
        let report = self.report;
        if self.blames_trim() {
            self.page.push(Block::text(
                "If it is the trim: `trimtab plan MOUNT` on its host puts one in its place that waits while the drives are \
                 busy. `trimtab bench compare` proves the gain.",
            ));
        }
        self.page.about.push(format!(
            "times in {} ({})",
            report.analysis.zone, report.zone_from
        ));
        let number = units::count(report.jobs.len(), "job");
        self.page.about.push(match &report.jobs_from {
            Some(from) => format!("{number} of {from}"),
            None if report.jobs.is_empty() => "no jobs were looked at".to_owned(),
            None => format!("{number} given by hand"),
        });
        if !self.detail.brief {
            self.page.about.push(format!(
                "made by trimtab {} at {}",
                report.tool_version,
                report.generated_at.strftime("%Y-%m-%d %H:%M UTC")
            ));
        }
        let unknown = report.jobs.iter().flat_map(|job| {
            let why = job.unknown.iter();
            why.map(|why| format!("{}: {why}", job.name))
        });
        let skipped = report.skipped.iter().map(|skip| match &skip.needs {
            Some(needs) => format!("{}: {} (needs {needs})", skip.what, skip.why),
            None => format!("{}: {}", skip.what, skip.why),
        });
        let unknown: Vec<String> = unknown.collect();
        let skipped: Vec<String> = skipped.collect();
        for (title, aside, items) in [
            ("Unknown runs", "when these jobs run is not known", unknown),
            ("Skipped", "skipped does not mean passed", skipped),
        ] {
            let Some(list) = self.detail.list("", &items, NOTES_MAX) else {
                continue;
            };
            let mut section = Section::with_aside(title, aside);
            section.push(list);
            self.page.push(section);
        }
    }
}

/// Shortens a name for a heading.
fn name(name: &str) -> String {
    cut(name, NAME_COLUMNS_MAX).into_owned()
}

/// Returns the ID of a series' section.
fn id(index: usize) -> String {
    format!("s{index}")
}
