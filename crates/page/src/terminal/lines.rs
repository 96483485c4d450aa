//! Line charts on a terminal, in characters that can be told apart without colour.

use crate::chart::{Curve, CurveStyle, LineChart};
use crate::columns::Span;
use crate::scale::{YAxis, caption, share, widened, x_ticks, y_axis};
use units::escape::{cut, display_width, escape};

/// Minimum width of the y labels; the names of the rows below the plot share their column.
const LABEL_MIN: usize = 8;
/// Minimum width of a plot.
const PLOT_MIN: usize = 10;
/// Approximate number of rows between the ends of the y axis.
const ROWS: usize = 10;
/// Characters of the curves in a chart with several; the first one is drawn on top.
const CURVES: [char; 5] = ['*', 'o', '+', 'x', '-'];
/// Characters of the kinds of marks.
const MARKS: [char; 4] = ['^', '#', '!', '%'];
/// Maximum number of jobs drawn.
const RUNS_MAX: usize = 8;
/// Maximum width of a name in the legend; longer ones are truncated.
const NAME_COLUMNS_MAX: usize = 60;

/// Draws a chart, without its title, in lines of at most `width` columns; empty if there is nothing to
/// draw, or no room for it.
pub(crate) fn lines(chart: &LineChart, width: usize, unicode: bool) -> Vec<String> {
    let Some([x, y]) = chart.ends() else {
        return Vec::new();
    };
    let axis = y_axis(y, chart.y_format);
    let widest = axis
        .ticks
        .iter()
        .map(|(_, label)| display_width(label))
        .max();
    let label_columns = widest.unwrap_or(0).max(LABEL_MIN);
    let Some(columns) = width
        .checked_sub(label_columns + 2)
        .filter(|columns| *columns >= PLOT_MIN)
    else {
        return Vec::new();
    };
    let plot = Plot {
        x: widened(x),
        axis,
        label_columns,
        columns,
        chars: Chars { unicode },
    };
    let mut out = Vec::new();
    if !chart.y_label.is_empty() && !chart.y_label.eq_ignore_ascii_case(&chart.title) {
        out.push(cut(&escape(&chart.y_label), width).into_owned());
    }
    let mut legend = plot.curves(chart, &mut out);
    plot.rows_below(chart, &mut out, &mut legend);
    plot.labels_below(chart, &mut out);
    let indent = " ".repeat(label_columns + 2);
    for line in wrapped(&legend, columns) {
        out.push(format!("{indent}{line}"));
    }
    for line in &mut out {
        line.truncate(line.trim_end().len());
    }
    out
}

/// The character set of a chart.
#[derive(Debug, Clone, Copy)]
struct Chars {
    unicode: bool,
}

impl Chars {
    fn pick(self, unicode: char, ascii: char) -> char {
        if self.unicode { unicode } else { ascii }
    }

    fn shade(self) -> char {
        self.pick('░', ':')
    }

    /// Returns the number of points that fit in a cell vertically.
    fn places(self) -> usize {
        if self.unicode { 2 } else { 1 }
    }

    /// Returns the character for a cell with points in its upper or lower half; ASCII does not distinguish
    /// them.
    fn points(self, upper: bool, lower: bool) -> Option<char> {
        match (upper, lower) {
            (false, false) => None,
            _ if !self.unicode => Some('*'),
            (true, true) => Some('█'),
            (true, false) => Some('▀'),
            (false, true) => Some('▄'),
        }
    }
}

struct Plot {
    x: (f64, f64),
    axis: YAxis,
    label_columns: usize,
    columns: usize,
    chars: Chars,
}

impl Plot {
    /// Returns the column of a value; `None` if it is out of range.
    fn column(&self, x: f64) -> Option<usize> {
        (self.x.0..=self.x.1)
            .contains(&x)
            .then(|| nearest(share(x, self.x), self.columns))
    }

    /// Aggregates a curve into columns, as runs of consecutive ones. Columns of a line without a point of
    /// their own are interpolated.
    fn spans(&self, curve: &Curve) -> Vec<Vec<(usize, Span)>> {
        let mut stretches = Vec::new();
        for points in &curve.stretches {
            let mut spans: Vec<(usize, Span)> = Vec::new();
            for point in points.iter().filter(|point| point.is_finite()) {
                let Some(column) = self.column(point.x) else {
                    continue;
                };
                match spans.last_mut() {
                    // Points that are out of order count towards the previous column.
                    Some((last, span)) if *last >= column => span.add(point),
                    _ => spans.push((column, Span::of(point))),
                }
            }
            if curve.style == CurveStyle::Line {
                spans = filled(&spans);
            }
            stretches.push(spans);
        }
        stretches
    }

    /// Draws the curves and the axis; returns the legend entries.
    fn curves(&self, chart: &LineChart, out: &mut Vec<String>) -> Vec<String> {
        // One row per y tick.
        let steps = self.axis.ticks.len() - 1;
        let every = ((ROWS + steps / 2) / steps).max(1);
        let mut cells = vec![vec![' '; self.columns]; every * steps + 1];
        let legend = match chart.curves.as_slice() {
            [curve] => self.draw_single(curve, &chart.y_label, &mut cells),
            curves => self.draw_multiple(curves, &mut cells),
        };
        for (row, cells) in cells.iter().enumerate() {
            let label = if row % every == 0 {
                self.axis.ticks[steps - row / every].1.as_str()
            } else {
                ""
            };
            let cells: String = cells.iter().collect();
            let bar = self.chars.pick('│', '|');
            out.push(format!("{} {bar}{cells}", self.right(label)));
        }
        let mut line = vec![self.chars.pick('─', '-'); self.columns];
        let ticks = x_ticks(&chart.x.scale, self.x, self.letters());
        for share in ticks.iter().filter_map(|tick| tick.share) {
            line[nearest(share, self.columns)] = self.chars.pick('┬', '+');
        }
        let line: String = line.into_iter().collect();
        out.push(format!(
            "{} {}{line}",
            self.right(""),
            self.chars.pick('└', '+')
        ));
        legend
    }

    /// Draws a single curve, with its ranges shaded.
    fn draw_single(&self, curve: &Curve, y_label: &str, cells: &mut [Vec<char>]) -> Vec<String> {
        let places = (cells.len() - 1) * self.chars.places() + 1;
        let mut points = vec![vec![false; self.columns]; cells.len() * self.chars.places()];
        let mut has_ranges = false;
        if curve.style.is_of_points() {
            for point in curve.points() {
                if let Some(column) = self.column(point.x) {
                    points[self.row(point.y, places)][column] = true;
                }
            }
        } else {
            let stretches = self.spans(curve);
            has_ranges = stretches
                .iter()
                .flatten()
                .any(|(_, span)| span.low < span.high);
            for spans in &stretches {
                let mut before = None;
                for (column, span) in spans {
                    let middle = self.row(span.middle, places);
                    if has_ranges {
                        points[middle][*column] = true;
                        let top = self.row(span.high, places) / self.chars.places();
                        let bottom = self.row(span.low, places) / self.chars.places();
                        for row in &mut cells[top..=bottom] {
                            row[*column] = self.chars.shade();
                        }
                    } else {
                        for row in &mut points[joined(before, middle)] {
                            row[*column] = true;
                        }
                    }
                    before = Some(middle);
                }
            }
        }
        for (row, cells) in cells.iter_mut().enumerate() {
            let upper = &points[row * self.chars.places()];
            let lower = &points[(row + 1) * self.chars.places() - 1];
            for (column, cell) in cells.iter_mut().enumerate() {
                if let Some(mark) = self.chars.points(upper[column], lower[column]) {
                    *cell = mark;
                }
            }
        }
        let mark = self.chars.pick('▀', '*');
        let name = escape(&curve.name);
        let name = cut(&name, NAME_COLUMNS_MAX);
        if has_ranges {
            let range = if curve.range_name.is_empty() {
                "lowest to highest".into()
            } else {
                escape(&curve.range_name)
            };
            let name = if name.is_empty() { "mean".into() } else { name };
            vec![
                format!("{mark} {name}"),
                format!("{} {range}", self.chars.shade()),
            ]
        } else if name.is_empty() || curve.name == y_label {
            Vec::new()
        } else {
            vec![format!("{mark} {name}")]
        }
    }

    /// Draws several curves with a character each: lines over points, and the first over the others.
    fn draw_multiple(&self, curves: &[Curve], cells: &mut [Vec<char>]) -> Vec<String> {
        let rows = cells.len();
        let mark = |index: usize| CURVES[index % CURVES.len()];
        let numbered = || curves.iter().enumerate().rev();
        for (index, curve) in numbered().filter(|(_, curve)| curve.style.is_of_points()) {
            for point in curve.points() {
                if let Some(column) = self.column(point.x) {
                    cells[self.row(point.y, rows)][column] = mark(index);
                }
            }
        }
        for (index, curve) in numbered().filter(|(_, curve)| curve.style == CurveStyle::Line) {
            for spans in self.spans(curve) {
                let mut before = None;
                for (column, span) in spans {
                    let middle = self.row(span.middle, rows);
                    // Jumps are filled in, so that the eye can follow the line.
                    for row in &mut cells[joined(before, middle)] {
                        row[column] = mark(index);
                    }
                    before = Some(middle);
                }
            }
        }
        let entry = |(index, curve): (usize, &Curve)| {
            let name = escape(&curve.name);
            let name = cut(&name, NAME_COLUMNS_MAX);
            let is_seen = cells.iter().flatten().any(|cell| *cell == mark(index));
            let hidden = if is_seen { "" } else { " (behind the others)" };
            format!("{} {name}{hidden}", mark(index))
        };
        curves.iter().enumerate().map(entry).collect()
    }

    /// Draws a row for each kind of marks and each job.
    fn rows_below(&self, chart: &LineChart, out: &mut Vec<String>, legend: &mut Vec<String>) {
        for (marks, mark) in chart.marks.iter().zip(MARKS) {
            let Some(cells) = self.spans_below(&marks.spans, mark) else {
                continue;
            };
            let name = escape(&marks.name);
            if display_width(&name) <= self.label_columns {
                out.push(format!("{}  {cells}", self.right(&name)));
            } else {
                out.push(format!("{}  {cells}", self.right("")));
                legend.push(format!("{mark} {}", cut(&name, NAME_COLUMNS_MAX)));
            }
        }
        self.annotations_below(chart, out, legend);
        for (runs, letter) in chart.runs.iter().take(RUNS_MAX).zip('a'..) {
            if let Some(cells) = self.spans_below(&runs.spans, letter) {
                out.push(format!("{}  {cells}", self.right("runs")));
                let name = escape(&runs.name);
                legend.push(format!("{letter} {}", cut(&name, NAME_COLUMNS_MAX)));
            }
        }
        if chart.runs.len() > RUNS_MAX {
            legend.push(format!("and {} more jobs", chart.runs.len() - RUNS_MAX));
        }
    }

    /// Draws a row with the numbers of the annotations; those after the ninth share a character.
    fn annotations_below(
        &self,
        chart: &LineChart,
        out: &mut Vec<String>,
        legend: &mut Vec<String>,
    ) {
        let mut cells = vec![' '; self.columns];
        let all = chart.numbered(self.x);
        for (number, one) in &all {
            let digit = u32::try_from(*number)
                .ok()
                .and_then(|number| char::from_digit(number, 10));
            if let Some(column) = self.column(one.at) {
                cells[column] = digit.unwrap_or('+');
            }
            if let Some(digit) = digit {
                let text = escape(&one.text);
                legend.push(format!("{digit} {}", cut(&text, NAME_COLUMNS_MAX)));
            }
        }
        if !all.is_empty() {
            let cells: String = cells.into_iter().collect();
            out.push(format!("{}  {cells}", self.right("")));
        }
        if all.last().is_some_and(|(number, _)| *number > 9) {
            legend.push("+ later ones".to_owned());
        }
    }

    /// Draws a row of marks; `None` if no span is within the x range.
    fn spans_below(&self, spans: &[(f64, f64)], mark: char) -> Option<String> {
        let mut cells = vec![' '; self.columns];
        for &(from, to) in spans {
            if from <= to && from <= self.x.1 && to >= self.x.0 {
                let first = nearest(share(from, self.x), self.columns);
                let last = nearest(share(to, self.x), self.columns);
                cells[first..=last].fill(mark);
            }
        }
        cells.contains(&mark).then(|| cells.into_iter().collect())
    }

    /// Draws the labels and the caption of the x axis.
    fn labels_below(&self, chart: &LineChart, out: &mut Vec<String>) {
        let mut line = String::new();
        let mut used = 0;
        for tick in x_ticks(&chart.x.scale, self.x, self.letters()) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below the columns
            let at = (tick.label_share * self.letters() + 1e-6).floor() as usize;
            let wide = display_width(&tick.label);
            if wide == 0 || at < used || at + wide > self.columns {
                continue;
            }
            line.extend(std::iter::repeat_n(' ', at - used));
            line.push_str(&tick.label);
            used = at + wide;
        }
        if used > 0 {
            out.push(format!("{}  {line}", self.right("")));
        }
        let caption = caption(&chart.x, self.x);
        let caption = cut(&caption, self.columns);
        if !caption.is_empty() {
            let indent = (self.columns - display_width(&caption)) / 2;
            out.push(format!(
                "{}  {}{caption}",
                self.right(""),
                " ".repeat(indent)
            ));
        }
    }

    fn row(&self, value: f64, rows: usize) -> usize {
        nearest(1.0 - share(value, self.axis.range), rows)
    }

    /// Right-aligns text against the plot.
    fn right(&self, text: &str) -> String {
        let fill = self.label_columns.saturating_sub(display_width(text));
        format!("{}{text}", " ".repeat(fill))
    }

    #[allow(clippy::cast_precision_loss)] // columns of a terminal
    fn letters(&self) -> f64 {
        self.columns as f64
    }
}

/// Returns the nearest of `places` positions to a fraction of 0 to 1.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // clamped to the places
fn nearest(share: f64, places: usize) -> usize {
    let last = places.saturating_sub(1);
    ((share * last as f64).round().max(0.0) as usize).min(last)
}

/// Returns the rows that connect a row to the previous one.
fn joined(before: Option<usize>, row: usize) -> std::ops::RangeInclusive<usize> {
    match before {
        Some(before) if before < row => before + 1..=row,
        Some(before) if before > row => row..=before - 1,
        _ => row..=row,
    }
}

/// Returns the spans with the columns in between interpolated.
fn filled(spans: &[(usize, Span)]) -> Vec<(usize, Span)> {
    let mut all = Vec::new();
    for pair in spans.windows(2) {
        let [(from, first), (to, last)] = [pair[0], pair[1]];
        for column in from..to {
            #[allow(clippy::cast_precision_loss)] // columns of a terminal
            let part = (column - from) as f64 / (to - from) as f64;
            all.push((column, first.towards(&last, part)));
        }
    }
    all.extend(spans.last());
    all
}

/// Wraps the entries of a legend, as many on a line as fit.
pub(super) fn wrapped(entries: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for entry in entries {
        let entry = cut(entry, columns);
        match lines.last_mut() {
            Some(line) if display_width(line) + 3 + display_width(&entry) <= columns => {
                line.push_str("   ");
                line.push_str(&entry);
            }
            _ => lines.push(entry.into_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
