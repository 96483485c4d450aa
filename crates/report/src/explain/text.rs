//! The answers as they stand on a terminal: sentences first, then what they rest on.

use super::chart::{LABEL_MIN, Marks, Span, below, label_columns, plot, ticks};
use super::columns::{Axis, reduce};
use super::fold::{FoldAxis, spans};
use super::rows::{self, EXPLANATION_HEAD, Explanation};
use super::table::{Table, plain};
use super::words::{self, Clock, micros};
use super::{ExplainReport, Told, counts, disk_log, titles};
use crate::render::TextOptions;
use crate::sheet::{Sheet, Style};
use ::page::wrap;
use explain::disk_log::DiskLog;
use explain::verdict::{Kind, SeriesVerdict};
use units::escape::{cut, display_width, escape};

/// How the text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExplainTextOptions {
    /// Columns, colours, characters; verbose: lists in full.
    pub text: TextOptions,
    /// Series that are told in full; of the others there is a line in the summary. `usize::MAX`: all,
    /// those of short logs of disks too, which are summed up otherwise.
    pub details_max: usize,
}

impl Default for ExplainTextOptions {
    fn default() -> Self {
        Self {
            text: TextOptions::default(),
            details_max: 5,
        }
    }
}

/// Narrower, tables leave columns out.
const WIDTH_TABLE: usize = 64;
/// Columns before everything but sentences and headings.
const INDENT: usize = 2;
/// Where labelled text starts.
const LABEL: usize = 12;
/// Rows of the chart of a series, and of a folded one.
const ROWS: usize = 10;
const FOLD_ROWS: usize = 7;
/// Classes whose runs are drawn, each marked by its letter.
const CLASSES_DRAWN: usize = 3;
/// Lines of lists that are not asked for in full.
const EXPLANATIONS_MAX: usize = 8;
const EVIDENCE_MAX: usize = 3;
const NOTES_MAX: usize = 5;
const CHANGES_MAX: usize = 8;
/// Lines of the summary that are not asked for in full.
const SUMMARY_MAX: usize = 40;
/// Columns of a name in a heading; JSON has all of it.
const NAME_COLUMNS_MAX: usize = 200;

/// Renders a report for a terminal.
pub fn text(report: &ExplainReport<'_>, options: &ExplainTextOptions) -> String {
    let mut page = Page {
        sheet: Sheet::new(&options.text),
    };
    let (told, summed_up) = report.parted(options.details_max == usize::MAX);
    for warning in report.warnings {
        page.labelled(0, "caution", warning, Style::Bold);
    }
    if !report.warnings.is_empty() {
        page.sheet.blank();
    }
    for (index, log) in report.disk_logs.iter().enumerate() {
        if index > 0 || report.disk_logs.len() + told.len() > 1 {
            page.heading(&log.source);
        }
        page.disk_log(log);
    }
    match told.as_slice() {
        [] if !report.disk_logs.is_empty() || !summed_up.is_empty() => {}
        [] => page
            .sheet
            .paragraph(0, "No series: there is nothing to explain.", Style::Bold),
        [one] => {
            if !report.disk_logs.is_empty() {
                page.heading(&one.verdict.name);
            }
            page.series(report, one, 1);
        }
        all => {
            if !report.disk_logs.is_empty() {
                page.sheet.blank();
            }
            let titles = titles(all);
            page.summary(report, all, &titles);
            for (one, title) in all.iter().zip(&titles).take(options.details_max) {
                page.heading(title);
                page.series(report, one, all.len());
            }
            let rest = all.len().saturating_sub(options.details_max);
            if rest > 0 {
                page.sheet.blank();
                let words = format!(
                    "{} more series; `--all` tells them in full, `--select` chooses.",
                    crate::words::grouped(rest as u64)
                );
                page.sheet.paragraph(0, &words, Style::Dim);
            }
        }
    }
    if !summed_up.is_empty() {
        let words = disk_log::summed_up(&summed_up);
        if !page.sheet.out.is_empty() {
            page.sheet.blank();
        }
        page.sheet.paragraph(0, &words, Style::Dim);
    }
    page.close(report);
    page.sheet.out
}

fn style_of(kind: Kind) -> Style {
    match kind {
        Kind::Periodic | Kind::Unattributed | Kind::Change => Style::Warning,
        Kind::None => Style::Bold,
        Kind::Undecided => Style::Note,
    }
}

struct Page {
    sheet: Sheet,
}

impl Page {
    /// A log of disks: its sentences, its figures, and what stays open.
    fn disk_log(&mut self, log: &DiskLog) {
        self.sheet
            .paragraph(0, &log.sentences.join(" "), style_of(Kind::Change));
        self.sheet.blank();
        let source = escape(&log.source);
        let about = format!(
            "{}: {}",
            cut(&source, NAME_COLUMNS_MAX),
            disk_log::about(log)
        );
        self.sheet.paragraph(INDENT, &about, Style::Dim);
        self.sheet.blank();
        // A narrow terminal has room for what is written.
        let columns = if self.sheet.width < WIDTH_TABLE { 3 } else { 5 };
        let rows: Vec<[String; 6]> = log.devices.iter().map(disk_log::row).collect();
        let table = Table::of(&disk_log::HEAD[..columns], &rows);
        let room = table.room(self.sheet.width);
        self.head(&table, &disk_log::HEAD);
        for row in &rows[..self.shown(rows.len(), SUMMARY_MAX)] {
            let device = escape(&row[5]);
            self.sheet
                .line(&(table.line(row, plain) + &cut(&device, room)));
        }
        self.more(INDENT, rows.len(), SUMMARY_MAX);
        for (title, lines) in disk_log::lists(log) {
            self.list(title, lines, usize::MAX);
        }
    }

    /// One line for each series, the largest effect first.
    fn summary(&mut self, report: &ExplainReport<'_>, told: &[Told<'_>], titles: &[String]) {
        let words = format!(
            "{} series: {}.",
            crate::words::grouped(told.len() as u64),
            counts(told)
        );
        let worst = if report.is_trouble() {
            style_of(Kind::Periodic)
        } else {
            Style::Bold
        };
        self.sheet.paragraph(0, &words, worst);
        self.sheet.blank();
        let shown = self.shown(told.len(), SUMMARY_MAX);
        let columns = if self.sheet.width < WIDTH_TABLE { 2 } else { 4 };
        let cells: Vec<[String; 4]> = told[..shown]
            .iter()
            .map(|one| {
                let verdict = &one.verdict.verdict;
                [
                    rows::effect(one.verdict),
                    words::kind(verdict.kind).to_owned(),
                    verdict.period_s.map_or("-".to_owned(), words::duration),
                    verdict.q.map_or("-".to_owned(), words::probability),
                ]
            })
            .collect();
        let table = Table::of(&rows::SUMMARY_HEAD[..columns], &cells);
        let room = table.room(self.sheet.width);
        self.head(&table, &rows::SUMMARY_HEAD);
        for ((row, one), title) in cells.iter().zip(told).zip(titles) {
            let line = table.line(row, |column, cell| match column {
                1 => self.sheet.paint(cell, style_of(one.verdict.verdict.kind)),
                _ => cell.to_owned(),
            });
            self.sheet.line(&(line + &cut(&escape(title), room)));
        }
        self.more(INDENT, told.len(), SUMMARY_MAX);
    }

    /// One series in full, its sentence first.
    fn series(&mut self, report: &ExplainReport<'_>, told: &Told<'_>, all: usize) {
        let series = told.verdict;
        let verdict = &series.verdict;
        let clock = rows::clock(report, told);
        self.sheet
            .paragraph(0, &verdict.sentence, style_of(verdict.kind));
        self.sheet.blank();
        let name = escape(&series.name);
        let source = escape(&series.source);
        let about = format!(
            "{} of {}: {}",
            cut(&name, NAME_COLUMNS_MAX),
            cut(&source, NAME_COLUMNS_MAX),
            rows::about(series, &clock)
        );
        self.sheet.paragraph(INDENT, &about, Style::Dim);
        if let Some(words) = words::dating(series.dating) {
            self.sheet.paragraph(INDENT, &words, Style::Dim);
        }
        self.chart(report, told, &clock);
        self.folded(report, series);
        let facts = rows::facts(series, all, &clock);
        self.sheet.blank();
        for (label, words) in facts {
            self.labelled(INDENT, &label, &words, Style::Dim);
        }
        self.labelled(INDENT, "values", &rows::values(series), Style::Dim);
        self.changes(series, &clock);
        self.explanations(series);
        let also: Vec<String> = verdict.also.iter().map(rows::other).collect();
        self.list("Also", &also, NOTES_MAX);
        self.list("Notes", &series.notes, NOTES_MAX);
        self.list(
            "What would change this verdict",
            &verdict.would_change,
            usize::MAX,
        );
    }

    fn chart(&mut self, report: &ExplainReport<'_>, told: &Told<'_>, clock: &Clock) {
        let Some(series) = told.series else { return };
        if let [value] = series.values[..] {
            let unit = series.unit.as_deref();
            let value = words::with_unit(&words::number(value), unit);
            self.sheet
                .paragraph(INDENT, &format!("its value is {value}"), Style::Dim);
            return;
        }
        // The widest number is known once there are columns; so many are sure to fit.
        let full = self.sheet.width - INDENT - 2;
        let spans_of = |columns: usize| -> Option<(Axis, Vec<Option<Span>>)> {
            let axis = Axis::over(&series.times_us, columns)?;
            let columns = reduce(&series.times_us, &series.values, &axis);
            let spans = columns
                .into_iter()
                .map(|column| {
                    column.map(|column| Span {
                        low: column.low,
                        middle: column.mean,
                        high: column.high,
                    })
                })
                .collect();
            Some((axis, spans))
        };
        let Some((_, first)) = spans_of(full - LABEL_MIN) else {
            return;
        };
        let label = label_columns(&first, ROWS).max(8);
        let Some((axis, spans)) = spans_of(full - label) else {
            return;
        };
        let marks = Marks::new(self.sheet.options.unicode);
        self.sheet.blank();
        if let Some(unit) = &series.unit {
            let unit = escape(unit).into_owned();
            let unit = cut(&unit, full - label);
            self.sheet.line(&format!("  {unit:>label$}"));
        }
        for line in plot(&spans, ROWS, label, marks) {
            self.sheet.line(&format!("  {line}"));
        }
        let ends = [(0.0, clock.end(axis.from_us)), (1.0, clock.end(axis.to_us))];
        let line = below(&ends, axis.columns, label);
        self.sheet.line(&format!("  {line}"));
        let is_range = spans.iter().flatten().any(|span| span.low < span.high);
        let mut legend = Vec::new();
        if is_range {
            legend.push(marks.legend("mean", "lowest to highest of each column"));
        }
        let verdict = &told.verdict.verdict;
        let events: Vec<(i64, i64)> = verdict
            .events
            .iter()
            .map(|event| (micros(event.from), micros(event.to)))
            .collect();
        let changes: Vec<(i64, i64)> = verdict
            .changes
            .iter()
            .map(|change| (micros(change.from), micros(change.to)))
            .collect();
        let rows = [
            (words::event(verdict.shape), &events, '^'),
            ("changes", &changes, '#'),
        ];
        for (label_words, stretches, mark) in rows {
            if let Some(line) = ticks(label_words, stretches, &axis, label, mark) {
                self.sheet.line(&format!("  {line}"));
            }
        }
        for ((_, class), letter) in rows::classes(verdict, CLASSES_DRAWN).zip('a'..) {
            let runs = report.runs_of(class);
            if let Some(line) = ticks("runs", &runs, &axis, label, letter) {
                self.sheet.line(&format!("  {line}"));
                legend.push(format!("{letter} {}", class.jobs.join(", ")));
            }
        }
        for line in legend {
            let indent = INDENT + label + 2;
            let line = escape(&line);
            self.sheet
                .paragraph(indent, &cut(&line, self.sheet.width - indent), Style::Dim);
        }
    }

    fn folded(&mut self, report: &ExplainReport<'_>, series: &SeriesVerdict) {
        let Some(folded) = &series.verdict.folded else {
            return;
        };
        let full = self.sheet.width - INDENT - 2;
        let label = label_columns(&spans(folded, full - LABEL_MIN), FOLD_ROWS).max(8);
        let spans = spans(folded, full - label);
        let marks = Marks::new(self.sheet.options.unicode);
        let lines = plot(&spans, FOLD_ROWS, label, marks);
        if lines.is_empty() {
            return;
        }
        let axis = FoldAxis::of(folded, report.zone, series.dating);
        self.sheet.blank();
        let title = format!(
            "{}, folded: {}",
            axis.title,
            marks.legend("median", "the middle half")
        );
        self.sheet.paragraph(INDENT, &title, Style::Bold);
        for line in lines {
            self.sheet.line(&format!("  {line}"));
        }
        let line = below(&axis.words, spans.len(), label);
        self.sheet.line(&format!("  {line}"));
    }

    fn changes(&mut self, series: &SeriesVerdict, clock: &Clock) {
        let unit = series.unit.as_deref();
        let changes = &series.verdict.changes;
        let lines: Vec<String> = changes
            .iter()
            .map(|change| rows::change(change, unit, clock))
            .collect();
        self.list("Changes", &lines, CHANGES_MAX);
    }

    /// The table of explanations, with what the first classes rest on.
    fn explanations(&mut self, series: &SeriesVerdict) {
        let all = rows::explanations(&series.verdict);
        let shown: Vec<&Explanation> = all
            .iter()
            .enumerate()
            .filter(|(index, row)| {
                self.sheet.options.verbose || *index < EXPLANATIONS_MAX || row.class.is_none()
            })
            .map(|(_, row)| row)
            .collect();
        self.sheet.blank();
        let cells: Vec<[String; 5]> = shown
            .iter()
            .map(|row| {
                [
                    row.score.clone(),
                    row.matched.clone(),
                    row.missed.clone(),
                    row.idle.clone(),
                    row.role.to_owned(),
                ]
            })
            .collect();
        // Columns without a number in them say nothing; a narrow terminal has room for the first ones.
        let with_runs = shown.iter().any(|row| row.class.is_some());
        let columns = match (with_runs, self.sheet.width < WIDTH_TABLE) {
            (false, _) => 1,
            (true, true) => 3,
            (true, false) => 5,
        };
        let table = Table::of(&EXPLANATION_HEAD[..columns], &cells);
        let at = table.at();
        self.head(&table, &EXPLANATION_HEAD);
        for (row, cells) in shown.iter().zip(&cells) {
            let mut start = table.line(cells, plain);
            let names = wrap(&row.name, table.room(self.sheet.width));
            if names.is_empty() {
                self.sheet.line(&start);
            }
            for name in names {
                self.sheet.line(&format!("{start}{name}"));
                start = " ".repeat(at);
            }
        }
        if shown.len() < all.len() {
            let words = format!("and {} more (-v lists them all)", all.len() - shown.len());
            self.sheet.paragraph(at, &words, Style::Dim);
        }
        let all_classes = &series.verdict.classes;
        let told: Vec<usize> = if self.sheet.options.verbose {
            (0..all_classes.len()).collect()
        } else {
            rows::classes(&series.verdict, CLASSES_DRAWN)
                .map(|(index, _)| index)
                .collect()
        };
        for class in told.into_iter().map(|index| &all_classes[index]) {
            self.list(&class.jobs.join(", "), &class.evidence, EVIDENCE_MAX);
            if let Some(experiment) = &class.separate_by {
                self.sheet.paragraph(
                    2 * INDENT,
                    &format!("to tell apart: {experiment}"),
                    Style::Plain,
                );
            }
        }
    }

    /// The names of a table's columns; the last of them is that of its last one.
    fn head(&mut self, table: &Table, names: &[&str]) {
        let last = names.last().unwrap_or(&"");
        let head = self
            .sheet
            .paint(&(table.line(names, plain) + last), Style::Dim);
        self.sheet.line(&head);
    }

    /// How many of so many lines are shown.
    fn shown(&self, all: usize, max: usize) -> usize {
        if self.sheet.options.verbose {
            all
        } else {
            all.min(max)
        }
    }

    /// A word about the lines that are not.
    fn more(&mut self, indent: usize, all: usize, max: usize) {
        let left = all - self.shown(all, max);
        if left > 0 {
            let words = format!("and {left} more (-v lists them all)");
            self.sheet.paragraph(indent, &words, Style::Dim);
        }
    }

    /// A heading and its lines, each with a dash; nothing without lines.
    fn list(&mut self, title: &str, lines: &[String], max: usize) {
        if lines.is_empty() {
            return;
        }
        self.sheet.blank();
        let name = escape(title);
        self.sheet
            .paragraph(INDENT, &cut(&name, NAME_COLUMNS_MAX), Style::Bold);
        for line in &lines[..self.shown(lines.len(), max)] {
            for (index, line) in wrap(line, self.sheet.width - INDENT - 2).iter().enumerate() {
                let dash = if index == 0 { "- " } else { "  " };
                self.sheet.line(&format!("  {dash}{line}"));
            }
        }
        self.more(INDENT + 2, lines.len(), max);
    }

    /// What holds for all series.
    fn close(&mut self, report: &ExplainReport<'_>) {
        self.sheet.blank();
        let words = format!("{}; {}", report.zone_words(), report.jobs_words());
        self.sheet.paragraph(0, &words, Style::Dim);
        let unknown: Vec<String> = report
            .jobs
            .iter()
            .flat_map(|job| {
                let name = &job.name;
                job.unknown
                    .iter()
                    .map(move |reason| format!("{name}: {reason}"))
            })
            .collect();
        self.list("Runs that are not known", &unknown, NOTES_MAX);
        let skipped: Vec<String> = report
            .skipped
            .iter()
            .map(|skipped| {
                let needs = skipped
                    .needs
                    .as_deref()
                    .map_or(String::new(), |needs| format!(" (needs {needs})"));
                format!("{}: {}{needs}", skipped.what, skipped.why)
            })
            .collect();
        self.list("Skipped", &skipped, NOTES_MAX);
    }

    /// A name between blank lines.
    fn heading(&mut self, name: &str) {
        self.sheet.blank();
        let name = escape(name);
        let name = cut(&name, self.sheet.width - 4).into_owned();
        let dash = if self.sheet.options.unicode {
            "─"
        } else {
            "-"
        };
        let rest = self.sheet.width.saturating_sub(display_width(&name) + 4);
        let line = format!("{} {name} {}", dash.repeat(2), dash.repeat(rest));
        let line = self.sheet.paint(&line, Style::Bold);
        self.sheet.line(&line);
    }

    /// Wrapped text behind a label.
    fn labelled(&mut self, indent: usize, label: &str, text: &str, style: Style) {
        for (index, line) in wrap(text, self.sheet.width - LABEL).iter().enumerate() {
            let shown = if index == 0 { label } else { "" };
            let fill = " ".repeat((LABEL - indent).saturating_sub(shown.len()));
            let shown = self.sheet.paint(shown, style);
            self.sheet
                .line(&format!("{}{shown}{fill}{line}", " ".repeat(indent)));
        }
    }
}
