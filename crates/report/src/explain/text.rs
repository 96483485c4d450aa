//! The answers as they stand on a terminal: sentences first, then what they rest on.

use super::chart::{LABEL_MIN, Marks, Span, below, label_columns, plot, ticks};
use super::columns::{Axis, reduce};
use super::fold::{FoldAxis, spans};
use super::rows::{self, EXPLANATION_HEAD, Explanation};
use super::words::{self, Clock, micros};
use super::{ExplainReport, Told, counts, disk_log};
use crate::escape::{cut, display_width, escape};
use crate::text::TextOptions;
use crate::wrap::wrap;
use explain::disk_log::DiskLog;
use explain::verdict::{Kind, SeriesVerdict};
use std::fmt::Write as _;

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

const WIDTH_MIN: usize = 40;
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
        out: String::new(),
        options: options.text,
        width: options.text.width.max(WIDTH_MIN),
    };
    let (told, summed_up) = report.parted(options.details_max == usize::MAX);
    for warning in report.warnings {
        page.labelled(0, "caution", warning, Style::Bold);
    }
    if !report.warnings.is_empty() {
        page.blank();
    }
    for (index, log) in report.disk_logs.iter().enumerate() {
        if index > 0 || report.disk_logs.len() + told.len() > 1 {
            page.heading(&log.source);
        }
        page.disk_log(log);
    }
    match told.as_slice() {
        [] if !report.disk_logs.is_empty() || !summed_up.is_empty() => {}
        [] => page.paragraph(0, "No series: there is nothing to explain.", Style::Bold),
        [one] => {
            if !report.disk_logs.is_empty() {
                page.heading(&one.verdict.name);
            }
            page.series(report, one, 1);
        }
        all => {
            if !report.disk_logs.is_empty() {
                page.blank();
            }
            page.summary(report, all);
            for one in all.iter().take(options.details_max) {
                page.heading(&one.verdict.name);
                page.series(report, one, all.len());
            }
            let rest = all.len().saturating_sub(options.details_max);
            if rest > 0 {
                page.blank();
                let words = format!(
                    "{} more series; `--all` tells them in full, `--select` chooses.",
                    crate::units::grouped(rest as u64)
                );
                page.paragraph(0, &words, Style::Dim);
            }
        }
    }
    if !summed_up.is_empty() {
        let words = disk_log::summed_up(&summed_up);
        if !page.out.is_empty() {
            page.blank();
        }
        page.paragraph(0, &words, Style::Dim);
    }
    page.close(report);
    page.out
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Dim,
    Kind(Kind),
}

struct Page {
    out: String,
    options: TextOptions,
    width: usize,
}

impl Page {
    /// A log of disks: its sentences, its figures, and what stays open.
    fn disk_log(&mut self, log: &DiskLog) {
        self.paragraph(0, &log.sentences.join(" "), Style::Kind(Kind::Change));
        self.blank();
        let source = escape(&log.source);
        let about = format!(
            "{}: {}",
            cut(&source, NAME_COLUMNS_MAX),
            disk_log::about(log)
        );
        self.paragraph(INDENT, &about, Style::Dim);
        self.blank();
        // A narrow terminal has room for what is written.
        let columns: &[usize] = if self.width < WIDTH_TABLE {
            &[0, 1, 2]
        } else {
            &[0, 1, 2, 3, 4]
        };
        let rows: Vec<[String; 6]> = log.devices.iter().map(disk_log::row).collect();
        let widths: Vec<usize> = columns
            .iter()
            .map(|&column| {
                let cells = rows.iter().map(|row| display_width(&row[column]));
                cells
                    .chain([disk_log::HEAD[column].len()])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let room = self
            .width
            .saturating_sub(INDENT + widths.iter().map(|wide| wide + 2).sum::<usize>());
        let shown = if self.options.verbose {
            rows.len()
        } else {
            rows.len().min(SUMMARY_MAX)
        };
        let line = |cells: &[&str]| {
            let mut line = " ".repeat(INDENT);
            for (&column, wide) in columns.iter().zip(&widths) {
                let _ = write!(line, "{:>wide$}  ", cells[column]);
            }
            let device = escape(cells[5]);
            line + &cut(&device, room.max(6))
        };
        let head = self.paint(&line(&disk_log::HEAD), Style::Dim);
        self.line(&head);
        for row in &rows[..shown] {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            self.line(&line(&cells));
        }
        if shown < rows.len() {
            let words = format!("and {} more (-v lists them all)", rows.len() - shown);
            self.paragraph(INDENT, &words, Style::Dim);
        }
        for (title, lines) in disk_log::lists(log) {
            self.list(title, lines, usize::MAX);
        }
    }

    /// One line for each series, the largest effect first.
    fn summary(&mut self, report: &ExplainReport<'_>, told: &[Told<'_>]) {
        let words = format!(
            "{} series: {}.",
            crate::units::grouped(told.len() as u64),
            counts(told)
        );
        let worst = if report.is_trouble() {
            Style::Kind(Kind::Periodic)
        } else {
            Style::Bold
        };
        self.paragraph(0, &words, worst);
        self.blank();
        let shown = if self.options.verbose {
            told.len()
        } else {
            told.len().min(SUMMARY_MAX)
        };
        let head: &[&str] = if self.width < WIDTH_TABLE {
            &["effect", "verdict"]
        } else {
            &["effect", "verdict", "period", "q"]
        };
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
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                let cells = cells.iter().map(|row| display_width(&row[column]));
                cells.chain([head[column].len()]).max().unwrap_or(0)
            })
            .collect();
        let room = self
            .width
            .saturating_sub(widths.iter().sum::<usize>() + 2 * head.len() + INDENT)
            .max(10);
        let mut line = String::from("  ");
        for (column, name) in head.iter().enumerate() {
            let _ = write!(line, "{name:>wide$}  ", wide = widths[column]);
        }
        let line = self.paint(&format!("{line}series"), Style::Dim);
        self.line(&line);
        for (row, one) in cells.iter().zip(told) {
            let mut line = " ".repeat(INDENT);
            for (column, cell) in row.iter().enumerate().take(head.len()) {
                let cell = escape(cell);
                line += &" ".repeat(widths[column].saturating_sub(display_width(&cell)));
                line += &if column == 1 {
                    self.paint(&cell, Style::Kind(one.verdict.verdict.kind))
                } else {
                    cell.into_owned()
                };
                line += "  ";
            }
            line += &cut(&escape(&one.verdict.name), room);
            self.line(&line);
        }
        if shown < told.len() {
            let words = format!("and {} more (-v lists them all)", told.len() - shown);
            self.paragraph(INDENT, &words, Style::Dim);
        }
    }

    /// One series in full, its sentence first.
    fn series(&mut self, report: &ExplainReport<'_>, told: &Told<'_>, all: usize) {
        let series = told.verdict;
        let verdict = &series.verdict;
        let clock = rows::clock(report, told);
        self.paragraph(0, &verdict.sentence, Style::Kind(verdict.kind));
        self.blank();
        let name = escape(&series.name);
        let source = escape(&series.source);
        let about = format!(
            "{} of {}: {}",
            cut(&name, NAME_COLUMNS_MAX),
            cut(&source, NAME_COLUMNS_MAX),
            rows::about(series, &clock)
        );
        self.paragraph(INDENT, &about, Style::Dim);
        if let Some(words) = words::dating(series.dating) {
            self.paragraph(INDENT, &words, Style::Dim);
        }
        self.chart(report, told, &clock);
        self.folded(report, series);
        let facts = rows::facts(series, all, &clock);
        self.blank();
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
            self.paragraph(INDENT, &format!("its value is {value}"), Style::Dim);
            return;
        }
        // The widest number is known once there are columns; so many are sure to fit.
        let full = self.width - INDENT - 2;
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
        let marks = Marks::new(self.options.unicode);
        self.blank();
        if let Some(unit) = &series.unit {
            let unit = escape(unit).into_owned();
            let unit = cut(&unit, full - label);
            self.line(&format!("  {unit:>label$}"));
        }
        for line in plot(&spans, ROWS, label, marks) {
            self.line(&format!("  {line}"));
        }
        let ends = [(0.0, clock.end(axis.from_us)), (1.0, clock.end(axis.to_us))];
        let line = below(&ends, axis.columns, label);
        self.line(&format!("  {line}"));
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
                self.line(&format!("  {line}"));
            }
        }
        for ((_, class), letter) in rows::classes(verdict, CLASSES_DRAWN).zip('a'..) {
            let runs = report.runs_of(class);
            if let Some(line) = ticks("runs", &runs, &axis, label, letter) {
                self.line(&format!("  {line}"));
                legend.push(format!("{letter} {}", class.jobs.join(", ")));
            }
        }
        for line in legend {
            let indent = INDENT + label + 2;
            let line = escape(&line);
            self.paragraph(indent, &cut(&line, self.width - indent), Style::Dim);
        }
    }

    fn folded(&mut self, report: &ExplainReport<'_>, series: &SeriesVerdict) {
        let Some(folded) = &series.verdict.folded else {
            return;
        };
        let full = self.width - INDENT - 2;
        let label = label_columns(&spans(folded, full - LABEL_MIN), FOLD_ROWS).max(8);
        let spans = spans(folded, full - label);
        let marks = Marks::new(self.options.unicode);
        let lines = plot(&spans, FOLD_ROWS, label, marks);
        if lines.is_empty() {
            return;
        }
        let axis = FoldAxis::of(folded, report.zone, series.dating);
        self.blank();
        let title = format!(
            "{}, folded: {}",
            axis.title,
            marks.legend("median", "the middle half")
        );
        self.paragraph(INDENT, &title, Style::Bold);
        for line in lines {
            self.line(&format!("  {line}"));
        }
        let line = below(&axis.words, spans.len(), label);
        self.line(&format!("  {line}"));
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
                self.options.verbose || *index < EXPLANATIONS_MAX || row.class.is_none()
            })
            .map(|(_, row)| row)
            .collect();
        self.blank();
        let cells = |row: &Explanation| {
            [
                row.score.clone(),
                row.matched.clone(),
                row.missed.clone(),
                row.idle.clone(),
                row.role.to_owned(),
            ]
        };
        // Columns without a number in them say nothing; a narrow terminal has room for the first ones.
        let with_runs = shown.iter().any(|row| row.class.is_some());
        let columns: &[usize] = match (with_runs, self.width < WIDTH_TABLE) {
            (false, _) => &[0],
            (true, true) => &[0, 1, 2],
            (true, false) => &[0, 1, 2, 3, 4],
        };
        let wide = |column: usize| {
            let cells = shown.iter().map(|row| display_width(&cells(row)[column]));
            let head = EXPLANATION_HEAD[column].len();
            cells.chain([head]).max().unwrap_or(head)
        };
        let widths: Vec<usize> = columns.iter().map(|&column| wide(column)).collect();
        let mut head = " ".repeat(INDENT);
        for (&column, wide) in columns.iter().zip(&widths) {
            let _ = write!(head, "{:>wide$}  ", EXPLANATION_HEAD[column]);
        }
        let at = display_width(&head);
        head += EXPLANATION_HEAD[5];
        let head = self.paint(&head, Style::Dim);
        self.line(&head);
        for row in &shown {
            let cells = cells(row);
            let mut line = " ".repeat(INDENT);
            for (&column, wide) in columns.iter().zip(&widths) {
                let _ = write!(line, "{:>wide$}  ", cells[column]);
            }
            let names = wrap(&row.name, self.width.saturating_sub(at).max(10));
            for (index, name) in names.iter().enumerate() {
                let start = if index == 0 {
                    line.clone()
                } else {
                    " ".repeat(at)
                };
                self.line(&format!("{start}{name}"));
            }
            if names.is_empty() {
                self.line(&line);
            }
        }
        if shown.len() < all.len() {
            let words = format!("and {} more (-v lists them all)", all.len() - shown.len());
            self.paragraph(at, &words, Style::Dim);
        }
        let all_classes = &series.verdict.classes;
        let told: Vec<usize> = if self.options.verbose {
            (0..all_classes.len()).collect()
        } else {
            rows::classes(&series.verdict, CLASSES_DRAWN)
                .map(|(index, _)| index)
                .collect()
        };
        for class in told.into_iter().map(|index| &all_classes[index]) {
            self.list(&class.jobs.join(", "), &class.evidence, EVIDENCE_MAX);
            if let Some(experiment) = &class.separate_by {
                self.paragraph(
                    2 * INDENT,
                    &format!("to tell apart: {experiment}"),
                    Style::Plain,
                );
            }
        }
    }

    /// A heading and its lines, each with a dash; nothing without lines.
    fn list(&mut self, title: &str, lines: &[String], max: usize) {
        if lines.is_empty() {
            return;
        }
        self.blank();
        let name = escape(title);
        self.paragraph(INDENT, &cut(&name, NAME_COLUMNS_MAX), Style::Bold);
        let shown = if self.options.verbose {
            lines.len()
        } else {
            lines.len().min(max)
        };
        for line in &lines[..shown] {
            for (index, line) in wrap(line, self.width - INDENT - 2).iter().enumerate() {
                let dash = if index == 0 { "- " } else { "  " };
                self.line(&format!("  {dash}{line}"));
            }
        }
        if shown < lines.len() {
            let words = format!("and {} more (-v lists them all)", lines.len() - shown);
            self.paragraph(INDENT + 2, &words, Style::Dim);
        }
    }

    /// What holds for all series.
    fn close(&mut self, report: &ExplainReport<'_>) {
        self.blank();
        let words = format!("{}; {}", report.zone_words(), report.jobs_words());
        self.paragraph(0, &words, Style::Dim);
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
        self.blank();
        let name = escape(name);
        let name = cut(&name, self.width - 4).into_owned();
        let dash = if self.options.unicode { "─" } else { "-" };
        let rest = self.width.saturating_sub(display_width(&name) + 4);
        let line = format!("{} {name} {}", dash.repeat(2), dash.repeat(rest));
        let line = self.paint(&line, Style::Bold);
        self.line(&line);
    }

    /// Wrapped text behind a label.
    fn labelled(&mut self, indent: usize, label: &str, text: &str, style: Style) {
        for (index, line) in wrap(text, self.width - LABEL).iter().enumerate() {
            let shown = if index == 0 { label } else { "" };
            let fill = " ".repeat((LABEL - indent).saturating_sub(shown.len()));
            let shown = self.paint(shown, style);
            self.line(&format!("{}{shown}{fill}{line}", " ".repeat(indent)));
        }
    }

    /// Wrapped text at a column.
    fn paragraph(&mut self, indent: usize, text: &str, style: Style) {
        for line in wrap(text, self.width - indent) {
            let line = self.paint(&line, style);
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    fn paint(&self, text: &str, style: Style) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Bold | Style::Kind(Kind::None) => "1",
            Style::Dim => "2",
            Style::Kind(Kind::Periodic | Kind::Unattributed | Kind::Change) => "1;33",
            Style::Kind(Kind::Undecided) => "36",
        };
        if self.options.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn blank(&mut self) {
        self.out.push('\n');
    }
}
