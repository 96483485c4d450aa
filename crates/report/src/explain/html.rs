//! A page that loads nothing: sentences, charts, tables. Its script adds what a pointer finds; without
//! it nothing is missing but that.

use super::columns::{Axis, Column, reduce};
use super::fold::{FoldAxis, spans};
use super::rows::{self, EXPLANATION_HEAD};
use super::svg::{self, SeriesChart};
use super::words::{self, Clock, micros};
use super::{ExplainReport, Told, counts, disk_log, titles};
use crate::html_frame::{PAGE_END, escape_html, page_start};
use crate::words::digits;
use explain::disk_log::DiskLog;
use explain::verdict::SeriesVerdict;
use facts::series::{Dating, Series};
use serde::Serialize;
use std::fmt::Write as _;
use units::escape::escape_json;

/// How the page is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// Series that are told in full; of the others there is a line in the summary. `usize::MAX`: all,
    /// those of short logs of disks too, which are summed up otherwise.
    pub details_max: usize,
}

impl Default for HtmlOptions {
    fn default() -> Self {
        Self { details_max: 20 }
    }
}

/// Columns of a series: four of them for each that can be told apart at first, for a closer look.
const COLUMNS: usize = 2_880;
/// Columns of a folded series.
const FOLD_COLUMNS: usize = 336;
/// Classes whose runs are drawn.
const CLASSES_DRAWN: usize = 4;
/// A longer gap than so many usual ones breaks a line.
const GAPS: f64 = 3.5;

/// What the script finds its way by. Times are in milliseconds since the epoch.
#[derive(Serialize)]
struct Data<'a> {
    zone: &'a str,
    absolute: bool,
    unit: Option<&'a str>,
    from: f64,
    to: f64,
    left: f64,
    width: f64,
    t: Vec<f64>,
    low: Vec<f64>,
    mean: Vec<f64>,
    high: Vec<f64>,
}

/// Renders a report as a page.
pub fn html(report: &ExplainReport<'_>, options: &HtmlOptions) -> String {
    let (told, summed_up) = report.parted(options.details_max == usize::MAX);
    let title = match told.as_slice() {
        [one] if report.disk_logs.is_empty() => one.verdict.name.clone(),
        _ => format!("What recurs in {}", report.source),
    };
    let mut out = page_start(&title, include_str!("page.css"), true);
    let _ = writeln!(out, "<h1>{}</h1>", escape_html(&title));
    let _ = writeln!(
        out,
        "<p class=\"label\">{}; {}; {}</p>",
        escape_html(&report.source),
        escape_html(&report.zone_words()),
        escape_html(&report.jobs_words())
    );
    for warning in report.warnings {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape_html(warning));
    }
    for log in report.disk_logs {
        section_of_log(&mut out, log);
    }
    let titles = titles(&told);
    match told.len() {
        0 if !report.disk_logs.is_empty() || !summed_up.is_empty() => {}
        0 => out += "<p class=\"sentence\">No series: there is nothing to explain.</p>\n",
        1 => {}
        _ => summary(&mut out, &told, &titles, options.details_max),
    }
    for (index, (one, title)) in told
        .iter()
        .zip(&titles)
        .take(options.details_max)
        .enumerate()
    {
        let all = told.len() + report.disk_logs.len();
        section(&mut out, report, one, (index, title), all);
    }
    if !summed_up.is_empty() {
        let words = disk_log::summed_up(&summed_up).replace('`', "");
        let _ = writeln!(out, "<p class=\"label\">{}</p>", escape_html(&words));
    }
    let unknown: Vec<String> = report
        .jobs
        .iter()
        .flat_map(|job| job.unknown.iter().map(|why| format!("{}: {why}", job.name)))
        .collect();
    list(&mut out, "h2", "Runs that are not known", &unknown);
    let skipped: Vec<String> = report
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.what, skipped.why))
        .collect();
    list(&mut out, "h2", "Skipped", &skipped);
    let made = report.generated_at.strftime("%Y-%m-%d %H:%M UTC");
    let _ = write!(
        out,
        "<p class=\"label\">Made by trimtab {} on {made}.</p>\n<script>\n{}</script>\n",
        escape_html(&report.tool_version),
        include_str!("page.js")
    );
    out + PAGE_END
}

/// A log of disks: its sentences, its figures, and what stays open.
fn section_of_log(out: &mut String, log: &DiskLog) {
    let _ = writeln!(
        out,
        "<section class=\"series\">\n<h2>{}</h2>\n<p class=\"sentence\">{}</p>\n\
         <p class=\"label\">{}</p>\n<div class=\"scroll\"><table>\n<thead><tr>",
        escape_html(&log.source),
        escape_html(&log.sentences.join(" ")),
        escape_html(&disk_log::about(log))
    );
    let class = |column: usize| if column == 5 { " class=\"name\"" } else { "" };
    for (column, name) in disk_log::HEAD.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{name}</th>", class(column));
    }
    *out += "</tr></thead>\n<tbody>\n";
    for device in &log.devices {
        *out += "<tr>";
        for (column, cell) in disk_log::row(device).iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape_html(cell));
        }
        *out += "</tr>\n";
    }
    *out += "</tbody></table></div>\n";
    for (title, lines) in disk_log::lists(log) {
        let lines: Vec<String> = lines.iter().map(|line| line.replace('`', "")).collect();
        list(out, "h3", title, &lines);
    }
    *out += "</section>\n";
}

/// One row for each series, the largest effect first.
fn summary(out: &mut String, told: &[Told<'_>], titles: &[String], details_max: usize) {
    let _ = writeln!(
        out,
        "<p class=\"sentence\">{} series: {}.</p>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th scope=\"col\">effect</th><th scope=\"col\">verdict</th><th scope=\"col\">period</th>\
         <th scope=\"col\">q</th><th scope=\"col\" class=\"name\">series</th></tr></thead>\n<tbody>",
        crate::words::grouped(told.len() as u64),
        escape_html(&counts(told))
    );
    for (index, (one, title)) in told.iter().zip(titles).enumerate() {
        let verdict = &one.verdict.verdict;
        let name = escape_html(title);
        let name = if index < details_max {
            format!("<a href=\"#s{index}\">{name}</a>")
        } else {
            name
        };
        let dash = || "-".to_owned();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"name\">{name}</td></tr>",
            escape_html(&rows::effect(one.verdict)),
            words::kind(verdict.kind),
            verdict.period_s.map_or_else(dash, words::duration),
            verdict.q.map_or_else(dash, words::probability),
        );
    }
    *out += "</tbody></table></div>\n";
}

/// One series in full, its sentence first; with its place among all, and what it is called there.
fn section(
    out: &mut String,
    report: &ExplainReport<'_>,
    told: &Told<'_>,
    (index, title): (usize, &str),
    all: usize,
) {
    let series = told.verdict;
    let verdict = &series.verdict;
    let clock = rows::clock(report, told);
    let id = format!("s{index}");
    let _ = writeln!(out, "<section class=\"series\" id=\"{id}\">");
    if all > 1 {
        let _ = writeln!(out, "<h2>{}</h2>", escape_html(title));
    }
    let _ = writeln!(
        out,
        "<p class=\"sentence\"><span class=\"kind\">{}.</span> {}</p>\n<p class=\"label\">{}: {}</p>",
        words::kind(verdict.kind),
        escape_html(&verdict.sentence),
        escape_html(&series.source),
        escape_html(&rows::about(series, &clock))
    );
    if let Some(words) = words::dating(series.dating) {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape_html(&words));
    }
    if let Some(samples) = told.series {
        whole(out, report, series, samples, &clock, &id);
    }
    if let Some(folded) = &verdict.folded {
        let axis = FoldAxis::of(folded, report.zone, series.dating);
        let columns = folded.median.len().min(FOLD_COLUMNS);
        let picture = svg::folded(&spans(folded, columns), &axis);
        if !picture.is_empty() {
            let _ = writeln!(
                out,
                "<figure><figcaption>{}, folded: the median and the middle half</figcaption>\n\
                 {picture}</figure>",
                escape_html(&axis.title)
            );
        }
    }
    *out += "<dl>\n";
    let mut facts = rows::facts(series, all, &clock);
    facts.push(("values".to_owned(), rows::values(series)));
    for (label, words) in facts {
        let words = escape_html(&words.replace('`', ""));
        let _ = writeln!(out, "<dt>{}</dt><dd>{words}</dd>", escape_html(&label));
    }
    *out += "</dl>\n";
    let unit = series.unit.as_deref();
    let lines: Vec<String> = verdict
        .changes
        .iter()
        .map(|change| rows::change(change, unit, &clock))
        .collect();
    list(out, "h3", "Changes", &lines);
    explanations(out, series);
    let also: Vec<String> = verdict.also.iter().map(rows::other).collect();
    list(out, "h3", "Also", &also);
    list(out, "h3", "Notes", &series.notes);
    list(
        out,
        "h3",
        "What would change this verdict",
        &verdict.would_change,
    );
    *out += "</section>\n";
}

/// The chart of all samples, with what the script needs.
fn whole(
    out: &mut String,
    report: &ExplainReport<'_>,
    verdict: &SeriesVerdict,
    series: &Series,
    clock: &Clock,
    id: &str,
) {
    let Some(axis) = Axis::over(&series.times_us, COLUMNS) else {
        return;
    };
    let columns = reduce(&series.times_us, &series.values, &axis);
    let answer = &verdict.verdict;
    let events: Vec<(i64, i64)> = answer
        .events
        .iter()
        .map(|event| (micros(event.from), micros(event.to)))
        .collect();
    let changes: Vec<(i64, i64)> = answer
        .changes
        .iter()
        .map(|change| (micros(change.from), micros(change.to)))
        .collect();
    let drawn = || rows::classes(answer, CLASSES_DRAWN);
    let runs: Vec<Vec<(i64, i64)>> = drawn().map(|(_, class)| report.runs_of(class)).collect();
    #[allow(clippy::cast_possible_truncation)] // saturates
    let gap_us = (verdict.gap_s.unwrap_or(0.0) * GAPS * 1e6) as i64;
    let picture = svg::series(
        &SeriesChart {
            title: &verdict.name,
            unit: series.unit.as_deref(),
            axis,
            columns: &columns,
            samples: series.times_us.len(),
            gap_us,
            events: &events,
            changes: &changes,
            rows: &runs,
            clock,
        },
        id,
    );
    if picture.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<figure><figcaption>All samples: mean and range{}</figcaption>\n{picture}\
         <p class=\"hover\"><span></span><button type=\"button\" hidden>All of it</button></p>\n\
         <p class=\"legend\">",
        how_coarse(series.values.len(), &columns)
    );
    if !events.is_empty() {
        let event = words::event(answer.shape);
        let _ = write!(out, "<span><i class=\"event\"></i> {event}</span> ");
    }
    if !changes.is_empty() {
        *out += "<span><i class=\"change\"></i> changes</span> ";
    }
    for (row, ((_, class), letter)) in drawn().zip('a'..).enumerate() {
        let _ = write!(
            out,
            "<label><input type=\"checkbox\" checked hidden data-row=\"{row}\"><i class=\"c{}\"></i> \
             runs {letter}: {}</label> ",
            1 + row % 4,
            escape_html(&class.jobs.join(", "))
        );
    }
    let data = Data::of(report, verdict, series, &axis, &columns);
    // No value of ours fails, and no text of theirs ends the script.
    let json = serde_json::to_string(&data).expect("strings and numbers");
    let json = escape_json(&json).replace('<', "\\u003c");
    let _ = writeln!(
        out,
        "</p>\n<script type=\"application/json\">{json}</script></figure>"
    );
}

/// What the picture does not tell apart, however close one looks; nothing where each sample has a column.
fn how_coarse(samples: usize, columns: &[Option<Column>]) -> String {
    let drawn = columns.iter().flatten().count();
    if samples <= drawn {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "two figures are shown")]
    let each = samples as f64 / drawn as f64;
    format!(
        " of columns of {} samples on average; a closer look shows no finer ones",
        digits(each)
    )
}

impl<'a> Data<'a> {
    fn of(
        report: &'a ExplainReport<'_>,
        verdict: &SeriesVerdict,
        series: &'a Series,
        axis: &Axis,
        columns: &[Option<Column>],
    ) -> Self {
        #[allow(clippy::cast_precision_loss)] // a quarter of a microsecond today
        let ms = |at_us: i64| at_us as f64 / 1e3;
        let all = || columns.iter().flatten();
        Self {
            zone: &report.analysis.zone,
            absolute: verdict.dating == Dating::Absolute,
            unit: series.unit.as_deref(),
            from: ms(axis.from_us),
            to: ms(axis.to_us),
            left: svg::LEFT,
            width: svg::PLOT,
            t: all().map(|column| ms(column.first_us)).collect(),
            low: all().map(|column| short(column.low)).collect(),
            mean: all().map(|column| short(column.mean)).collect(),
            high: all().map(|column| short(column.high)).collect(),
        }
    }
}

/// Six digits that count: more make a page long, and tell nobody more.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The table of explanations, with what each class rests on.
fn explanations(out: &mut String, series: &SeriesVerdict) {
    *out += "<h3>Explanations</h3>\n<div class=\"scroll\"><table>\n<thead><tr>";
    for (index, name) in EXPLANATION_HEAD.iter().enumerate() {
        let class = if index == 5 { " class=\"name\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{name}</th>");
    }
    *out += "</tr></thead>\n<tbody>\n";
    for row in rows::explanations(&series.verdict) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"name\">{}</td></tr>",
            escape_html(&row.score),
            row.matched,
            row.missed,
            row.idle,
            row.role,
            escape_html(&row.name)
        );
    }
    *out += "</tbody></table></div>\n";
    for (_, class) in rows::classes(&series.verdict, usize::MAX) {
        let mut lines = class.evidence.clone();
        if let Some(experiment) = &class.separate_by {
            lines.push(format!("To tell apart: {experiment}"));
        }
        list(out, "h3", &class.jobs.join(", "), &lines);
    }
}

/// A heading and its lines; nothing without lines.
fn list(out: &mut String, level: &str, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "<{level}>{}</{level}>\n<ul>", escape_html(title));
    for line in lines {
        let _ = writeln!(out, "<li>{}</li>", escape_html(line));
    }
    *out += "</ul>\n";
}
