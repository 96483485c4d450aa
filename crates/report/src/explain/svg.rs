//! Charts as SVG. They stand without a script; the page's script moves the group `plot` when a stretch
//! is chosen, and finds what is under the pointer.

use super::chart::Span;
use super::columns::{Axis, Column, range, share_of};
use super::fold::FoldAxis;
use super::words::{Clock, number};
use crate::html_frame::{escape_html, scale_steps};
use std::fmt::Write as _;

/// Width of a chart, and of its rooms for numbers.
pub(super) const WIDTH: f64 = 780.0;
pub(super) const LEFT: f64 = 66.0;
const RIGHT: f64 = 12.0;
/// Width of the plot.
pub(super) const PLOT: f64 = WIDTH - LEFT - RIGHT;
const TOP: f64 = 18.0;
/// Heights of the plots.
const TALL: f64 = 210.0;
const LOW: f64 = 130.0;
/// Height of a row of marks below a plot.
const ROW: f64 = 14.0;
/// Samples that are drawn one by one as well.
const DOTS_MAX: usize = 500;

/// What a chart of a whole series shows.
pub(super) struct SeriesChart<'a> {
    /// What the picture is called for those who do not see it.
    pub title: &'a str,
    /// Unit of the values.
    pub unit: Option<&'a str>,
    /// The stretch of time.
    pub axis: Axis,
    /// The series in columns.
    pub columns: &'a [Option<Column>],
    /// Number of samples.
    pub samples: usize,
    /// A gap longer than this is no line.
    pub gap_us: i64,
    /// Stretches that are shaded.
    pub events: &'a [(i64, i64)],
    /// Stretches with a change in them.
    pub changes: &'a [(i64, i64)],
    /// Runs of classes, a row each.
    pub rows: &'a [Vec<(i64, i64)>],
    /// Words for times.
    pub clock: &'a Clock,
}

/// A scale of values.
#[derive(Debug, Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    step: f64,
    height: f64,
}

impl Scale {
    /// Round numbers around these values; the values themselves where they are too large for that.
    fn over(values: impl Iterator<Item = f64>, height: f64) -> Option<Self> {
        let (low, high) = range(values)?;
        let (round_low, round_high, step) = scale_steps((low, high));
        let is_sound = step > 0.0
            && round_low < round_high
            && [round_low, round_high, round_high - round_low, step]
                .iter()
                .all(|value| value.is_finite())
            && round_low + step > round_low
            && round_high - step < round_high;
        Some(if is_sound {
            Self {
                low: round_low,
                high: round_high,
                step,
                height,
            }
        } else {
            Self {
                low,
                high,
                step: f64::INFINITY,
                height,
            }
        })
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - share_of(value, (self.low, self.high))) * self.height
    }

    /// Lines and numbers.
    fn draw(&self, out: &mut String) {
        let mut values = vec![self.low];
        // Steps that are not lost beside the numbers come to at most a dozen.
        while values.len() < 12 && values[values.len() - 1] + self.step < self.high {
            values.push(values[values.len() - 1] + self.step);
        }
        values.push(self.high);
        for value in values {
            let at = self.y(value);
            // Sums of steps are not quite round.
            let shown = if self.step.is_finite() && value.abs() < self.step / 1e6 {
                0.0
            } else {
                value
            };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}h{PLOT}\"/><text x=\"{:.0}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                number(shown)
            );
        }
    }
}

/// The chart of a whole series; empty without samples. `id` names parts of it within the page.
pub(super) fn series(chart: &SeriesChart<'_>, id: &str) -> String {
    let columns: Vec<&Column> = chart.columns.iter().flatten().collect();
    let values = columns.iter().flat_map(|column| [column.low, column.high]);
    let Some(scale) = Scale::over(values, TALL) else {
        return String::new();
    };
    let rows = u16::try_from(chart.rows.len()).unwrap_or(u16::MAX);
    let below = TOP + TALL + 24.0;
    let height = below + f64::from(rows) * ROW + 4.0;
    let mut out = format!(
        "<svg class=\"series\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n\
         <clipPath id=\"{id}-clip\"><path d=\"M{LEFT} 0h{PLOT}v{height}h-{PLOT}z\"/></clipPath>\n",
        escape_html(chart.title)
    );
    if let Some(unit) = chart.unit {
        let unit = escape_html(&units::escape::cut(unit, 60));
        let _ = writeln!(out, "<text x=\"4\" y=\"11\">{unit}</text>");
    }
    scale.draw(&mut out);
    let _ = writeln!(
        out,
        "<g clip-path=\"url(#{id}-clip)\"><g class=\"plot\">{}{}",
        stretches("event", chart.events, &chart.axis, TOP, TALL),
        curve(chart, &columns, &scale)
    );
    let middles: Vec<i64> = chart
        .changes
        .iter()
        .map(|&(from, to)| i64::midpoint(from, to))
        .collect();
    out += &lines("change", &middles, &chart.axis, TOP, TALL);
    for (row, runs) in (0_u16..).zip(chart.rows) {
        let top = below + f64::from(row) * ROW;
        let class = format!("run c{}\" data-row=\"{row}", 1 + row % 4);
        out += &stretches(&class, runs, &chart.axis, top, ROW - 4.0);
    }
    out += "</g></g>\n";
    for (row, letter) in (0_u16..rows).zip('a'..='z') {
        let at = below + f64::from(row) * ROW + 9.0;
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{at:.1}\" text-anchor=\"end\">runs {letter}</text>",
            LEFT - 6.0
        );
    }
    let ends: &[(f64, &str)] = &[(0.0, "start"), (0.5, "middle"), (1.0, "end")];
    for (share, anchor) in ends {
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // between two times
        let at_us = {
            let span = i128::from(chart.axis.to_us) - i128::from(chart.axis.from_us);
            (i128::from(chart.axis.from_us) + (span as f64 * share) as i128) as i64
        };
        let _ = writeln!(
            out,
            "<text class=\"time\" data-share=\"{share}\" x=\"{:.0}\" y=\"{:.0}\" \
             text-anchor=\"{anchor}\">{}</text>",
            LEFT + share * PLOT,
            TOP + TALL + 16.0,
            escape_html(&chart.clock.end(at_us))
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"cursor\" d=\"M0 {TOP}v{TALL}\" visibility=\"hidden\"/>\n</svg>"
    );
    out
}

/// The range of each column, its mean as a line that gaps break, and few samples one by one.
fn curve(chart: &SeriesChart<'_>, columns: &[&Column], scale: &Scale) -> String {
    let x = |at_us: i64| LEFT + chart.axis.share(at_us) * PLOT;
    let span_us = chart.axis.to_us.saturating_sub(chart.axis.from_us);
    let column_us = span_us / i64::try_from(chart.axis.columns.max(1)).unwrap_or(i64::MAX);
    let gap_us = chart.gap_us.max(column_us.saturating_mul(3));
    let mut band = String::new();
    let mut line = String::new();
    for part in columns.chunk_by(|a, b| b.first_us.saturating_sub(a.last_us) <= gap_us) {
        if part.iter().any(|column| column.low < column.high) {
            let upper = part.iter().map(|column| (column, column.high));
            let lower = part.iter().rev().map(|column| (column, column.low));
            let mut pen = 'M';
            for (column, value) in upper.chain(lower) {
                let middle = i64::midpoint(column.first_us, column.last_us);
                let _ = write!(band, "{pen}{:.1} {:.1}", x(middle), scale.y(value));
                pen = 'L';
            }
            band.push('z');
        }
        let mut pen = 'M';
        for column in part {
            let middle = i64::midpoint(column.first_us, column.last_us);
            let _ = write!(line, "{pen}{:.1} {:.1}", x(middle), scale.y(column.mean));
            pen = 'L';
        }
        // A point by itself is no line.
        if let [column] = part {
            let _ = write!(
                line,
                "h0v0M{:.1} {:.1}h0",
                x(column.first_us),
                scale.y(column.mean)
            );
        }
    }
    let mut out = format!("<path class=\"band\" d=\"{band}\"/><path class=\"mean\" d=\"{line}\"/>");
    if chart.samples <= DOTS_MAX {
        let mut dots = String::new();
        for column in columns {
            let (x, y) = (x(column.first_us), scale.y(column.mean));
            let _ = write!(dots, "M{x:.1} {y:.1}h0");
        }
        let _ = write!(out, "<path class=\"sample\" d=\"{dots}\"/>");
    }
    out
}

/// Stretches of time as bars, at least so wide that they are seen; those that would be drawn over each
/// other are drawn once.
fn stretches(class: &str, stretches: &[(i64, i64)], axis: &Axis, top: f64, height: f64) -> String {
    const WIDTH_MIN: f64 = 1.2;
    let mut path = String::new();
    let mut drawn = f64::NEG_INFINITY;
    for &(from_us, to_us) in stretches {
        if axis.columns_of(from_us, to_us).is_none() {
            continue;
        }
        let from = axis.share(from_us.max(axis.from_us)) * PLOT;
        let to = axis.share(to_us.min(axis.to_us)) * PLOT;
        let wide = (to - from).max(WIDTH_MIN);
        if from + wide <= drawn + 0.2 {
            continue;
        }
        let _ = write!(
            path,
            "M{:.1} {top}h{wide:.1}v{height}h-{wide:.1}z",
            LEFT + from
        );
        drawn = from + wide;
    }
    if path.is_empty() {
        return path;
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// Moments as lines.
fn lines(class: &str, moments: &[i64], axis: &Axis, top: f64, height: f64) -> String {
    let mut path = String::new();
    for at_us in moments
        .iter()
        .filter(|at_us| axis.column(**at_us).is_some())
    {
        let x = LEFT + axis.share(*at_us) * PLOT;
        let _ = write!(path, "M{x:.1} {top}v{height}");
    }
    if path.is_empty() {
        return path;
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// A folded series; empty without a bin.
pub(super) fn folded(spans: &[Option<Span>], axis: &FoldAxis) -> String {
    let all = || spans.iter().flatten();
    let Some(scale) = Scale::over(
        all().flat_map(|span| [span.low, span.middle, span.high]),
        LOW,
    ) else {
        return String::new();
    };
    let height = TOP + LOW + 22.0;
    let title = escape_html(&axis.title);
    let mut out = format!(
        "<svg class=\"fold\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n"
    );
    scale.draw(&mut out);
    for (share, word) in &axis.words {
        let at = LEFT + share * PLOT;
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}v{LOW}\"/><text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            at + 2.0,
            TOP + LOW + 16.0,
            escape_html(word)
        );
    }
    #[allow(clippy::cast_precision_loss)] // bins
    let wide = PLOT / spans.len() as f64;
    let (mut band, mut line) = (String::new(), String::new());
    let mut is_open = false;
    let mut at = LEFT;
    for span in spans {
        if let Some(span) = span {
            let (low, high) = (scale.y(span.low), scale.y(span.high));
            if low > high {
                let _ = write!(band, "M{at:.1} {high:.1}h{wide:.2}V{low:.1}h-{wide:.2}z");
            }
            let pen = if is_open { 'L' } else { 'M' };
            let _ = write!(line, "{pen}{at:.1} {:.1}h{wide:.2}", scale.y(span.middle));
        }
        is_open = span.is_some();
        at += wide;
    }
    let _ = writeln!(
        out,
        "<path class=\"band\" d=\"{band}\"/><path class=\"mean\" d=\"{line}\"/>\n</svg>"
    );
    out
}
