//! A chart for a terminal: 80 columns, plain characters, told apart without colour.

use super::numbers::digits;
use std::fmt::Write as _;

/// Columns of the numbers at the left.
const LABEL: usize = 7;
/// Rows of the plot.
const ROWS: usize = 12;
/// Marks of the curves, the first one on top.
pub const MARKS: [char; 5] = ['*', 'o', '+', 'x', '-'];

/// A curve: its name and points in ascending order of x.
#[derive(Debug, Clone)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
    /// Pages show the points one by one: they were measured.
    pub dots: bool,
}

impl Curve {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            dots: false,
        }
    }

    /// Points that were measured.
    #[cfg(test)]
    pub fn dots(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            dots: true,
            ..Self::line(name, points)
        }
    }
}

/// What a chart shows.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// Above the plot.
    pub title: String,
    /// Below it.
    pub x_label: String,
    /// The curves; the first is drawn last, over the others.
    pub curves: Vec<Curve>,
    /// Moments that are marked below the plot.
    pub ticks: Vec<f64>,
    /// What the marks mean.
    pub tick_label: String,
    /// The plot begins at this y, if no point is below.
    pub floor: f64,
}

impl Chart {
    /// The chart in so many columns, with a line break at its end; empty where there is nothing to
    /// draw.
    pub fn text(&self, columns: usize, unicode: bool) -> String {
        let width = columns.clamp(40, 120) - LABEL - 2;
        let Some((x, y)) = self.bounds() else {
            return String::new();
        };
        let mut cells = vec![vec![' '; width]; ROWS];
        for (index, curve) in self.curves.iter().enumerate().rev() {
            draw(&mut cells, curve, MARKS[index % MARKS.len()], x, y);
        }
        let (bar, corner, dash) = if unicode {
            ('│', '└', '─')
        } else {
            ('|', '+', '-')
        };
        let mut out = format!("{}\n", self.title);
        for (row, cells) in cells.iter().enumerate() {
            // A number every third row, and at both ends.
            let label = if row % 3 == 0 || row + 1 == ROWS {
                let part = share(ROWS - 1 - row, ROWS - 1);
                digits(round_to(y.0 + (y.1 - y.0) * part, (y.1 - y.0) / 100.0))
            } else {
                String::new()
            };
            let line: String = cells.iter().collect();
            out += format!("{label:>LABEL$} {bar}{}", line.trim_end()).trim_end();
            out.push('\n');
        }
        let _ = write!(out, "{:>LABEL$} {corner}", "");
        out.extend(std::iter::repeat_n(dash, width));
        out.push('\n');
        if !self.ticks.is_empty() {
            let mut line = vec![' '; width];
            for tick in self.ticks.iter().filter(|tick| (x.0..=x.1).contains(*tick)) {
                line[column(*tick, x, width)] = '^';
            }
            let line: String = line.into_iter().collect();
            out += format!("{:>LABEL$}  {line}", "").trim_end();
            out.push('\n');
        }
        let (left, right) = (digits(x.0), digits(x.1));
        let gap = width.saturating_sub(left.len() + right.len());
        let _ = writeln!(out, "{:>LABEL$}  {left}{:^gap$}{right}", "", self.x_label);
        for line in self.legend(columns, &cells) {
            let _ = writeln!(out, "{:>LABEL$}  {line}", "");
        }
        out
    }

    fn legend(&self, columns: usize, cells: &[Vec<char>]) -> Vec<String> {
        let names = self.curves.iter().enumerate();
        let mut entries: Vec<String> = names
            .map(|(index, curve)| {
                let mark = MARKS[index % MARKS.len()];
                let is_seen = cells.iter().flatten().any(|cell| *cell == mark);
                let hidden = if is_seen { "" } else { " (behind the others)" };
                format!("{mark} {}{hidden}", curve.name)
            })
            .collect();
        if !self.ticks.is_empty() {
            entries.push(format!("^ {}", self.tick_label));
        }
        let mut lines: Vec<String> = Vec::new();
        for entry in entries {
            match lines.last_mut() {
                Some(line)
                    if LABEL + 2 + line.chars().count() + 3 + entry.chars().count() <= columns =>
                {
                    let _ = write!(line, "   {entry}");
                }
                _ => lines.push(entry),
            }
        }
        lines
    }

    /// The ranges of x and y; `None` without a finite point.
    fn bounds(&self) -> Option<((f64, f64), (f64, f64))> {
        let points = || {
            self.curves
                .iter()
                .flat_map(|curve| &curve.points)
                .filter(|(x, y)| x.is_finite() && y.is_finite())
        };
        points().next()?;
        let range = |of: fn(&(f64, f64)) -> f64, low: f64, high: f64| {
            points().fold((low, high), |(low, high), point| {
                (low.min(of(point)), high.max(of(point)))
            })
        };
        let x = range(|point| point.0, f64::INFINITY, f64::NEG_INFINITY);
        let y = range(|point| point.1, self.floor, self.floor);
        Some((widened(x, 1.0), widened(y, 1.0)))
    }
}

/// A range of no width is a range around it.
fn widened((low, high): (f64, f64), by: f64) -> (f64, f64) {
    if high - low > 1e-9 {
        (low, high)
    } else {
        (low, low + by)
    }
}

/// For each column the mean of its points; a column without takes the one before.
fn draw(cells: &mut [Vec<char>], curve: &Curve, mark: char, x: (f64, f64), y: (f64, f64)) {
    let width = cells[0].len();
    let mut columns = vec![(0.0, 0.0); width];
    for (at, value) in curve.points.iter().filter(|point| point.1.is_finite()) {
        let column = &mut columns[column(*at, x, width)];
        *column = (column.0 + value, column.1 + 1.0);
    }
    let filled = |&(_, count): &(f64, f64)| count > 0.0;
    let (Some(first), Some(last)) = (
        columns.iter().position(filled),
        columns.iter().rposition(filled),
    ) else {
        return;
    };
    let mut value = f64::NAN;
    let mut before = None;
    for (index, &(sum, count)) in columns.iter().enumerate().take(last + 1).skip(first) {
        if count > 0.0 {
            value = sum / count;
        }
        let row = row(value, y, cells.len());
        // A jump is filled, so that the eye can follow it.
        let (from, to) = match before {
            Some(before) if before < row => (before + 1, row),
            Some(before) if before > row => (row, before - 1),
            _ => (row, row),
        };
        for cells in &mut cells[from..=to] {
            cells[index] = mark;
        }
        before = Some(row);
    }
}

#[allow(clippy::cast_precision_loss)] // columns and rows
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // clamped to the columns
fn column(at: f64, x: (f64, f64), width: usize) -> usize {
    let place = (at - x.0) / (x.1 - x.0) * (width - 1) as f64;
    (place.round().max(0.0) as usize).min(width - 1)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // clamped to the rows
fn row(value: f64, y: (f64, f64), rows: usize) -> usize {
    let place = (y.1 - value) / (y.1 - y.0) * (rows - 1) as f64;
    (place.round().max(0.0) as usize).min(rows - 1)
}

/// Digits below the resolution of the plot are noise.
fn round_to(value: f64, step: f64) -> f64 {
    if step <= 0.0 || !step.is_finite() {
        return value;
    }
    let power = 10_f64.powf(step.log10().floor());
    (value / power).round() * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chart(curves: &[&[(f64, f64)]]) -> Chart {
        Chart {
            title: "write amplification".to_owned(),
            x_label: "days".to_owned(),
            curves: curves
                .iter()
                .enumerate()
                .map(|(index, points)| Curve::line(format!("curve {index}"), points.to_vec()))
                .collect(),
            ticks: vec![5.0],
            tick_label: "trim".to_owned(),
            floor: 1.0,
        }
    }

    #[test]
    fn a_sawtooth() {
        let saw: Vec<(f64, f64)> = (0..=60)
            .map(|x| (f64::from(x) / 3.0, 1.0 + f64::from(x % 20) / 10.0))
            .collect();
        let flat = [(0.0, 1.2), (20.0, 1.2)];
        insta::assert_snapshot!(chart(&[&saw, &flat]).text(80, false));
    }

    #[test]
    fn nothing_to_draw() {
        assert_eq!(chart(&[]).text(80, true), "");
        assert_eq!(chart(&[&[(1.0, f64::NAN)]]).text(80, true), "");
    }

    proptest! {
        #[test]
        fn it_fits(points in prop::collection::vec((0.0_f64..1e9, 0.0_f64..1e6), 1..200), columns in 40_usize..120) {
            let mut points = points;
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            for unicode in [false, true] {
                let text = chart(&[&points]).text(columns, unicode);
                for line in text.lines() {
                    prop_assert!(line.chars().count() <= columns, "{line:?}");
                }
            }
        }
    }
}
