//! Charts for a terminal: plain characters, told apart without colour.

use super::columns::{Axis, range, share_of};
use super::words::number;
use units::escape::display_width;

/// What one column shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    /// Lower end.
    pub low: f64,
    /// What is drawn strongest: a mean or a median.
    pub middle: f64,
    /// Upper end.
    pub high: f64,
}

/// Columns of numbers at the left, at least.
pub(super) const LABEL_MIN: usize = 7;

/// The characters of a chart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    unicode: bool,
}

impl Marks {
    /// Blocks and lines, or ASCII.
    pub fn new(unicode: bool) -> Self {
        Self { unicode }
    }

    fn bar(self) -> char {
        if self.unicode { '│' } else { '|' }
    }

    fn corner(self) -> char {
        if self.unicode { '└' } else { '+' }
    }

    fn dash(self) -> char {
        if self.unicode { '─' } else { '-' }
    }

    /// What fills the range of a column.
    fn shade(self) -> char {
        if self.unicode { '░' } else { ':' }
    }

    /// What the marks mean, for a legend.
    pub fn legend(self, middle: &str, range: &str) -> String {
        let mark = if self.unicode { "▀" } else { "*" };
        format!("{mark} {middle}, {} {range}", self.shade())
    }

    /// A cell: `place` is where the middle lies in it, 0 the upper half, 1 the lower.
    fn middle(self, place: usize) -> char {
        match (self.unicode, place) {
            (false, _) => '*',
            (true, 0) => '▀',
            (true, _) => '▄',
        }
    }

    /// Places of a cell that can be told apart.
    fn places(self) -> usize {
        if self.unicode { 2 } else { 1 }
    }
}

/// Numbers for the rows of a chart, from the top; rows between them have none.
fn labels((low, high): (f64, f64), rows: usize) -> Vec<String> {
    let last = rows - 1;
    (0..rows)
        .map(|row| {
            if row % 3 != 0 && row != last {
                return String::new();
            }
            #[allow(clippy::cast_precision_loss)] // rows
            let part = (last - row) as f64 / last as f64;
            let value = low * (1.0 - part) + high * part;
            // What is finer than a hundredth of the plot is noise; what is less than it is 0.
            let step = high / 100.0 - low / 100.0;
            number(rounded(value, step))
        })
        .collect()
}

fn rounded(value: f64, step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let rounded = (value / power).round() * power;
    if rounded.is_finite() { rounded } else { value }
}

/// The widest number beside a plot, or [`LABEL_MIN`].
pub(super) fn label_columns(spans: &[Option<Span>], rows: usize) -> usize {
    let widest = bounds(spans).map(|range| {
        let labels = labels(range, rows);
        labels.iter().map(String::len).max().unwrap_or(0)
    });
    widest.unwrap_or(0).max(LABEL_MIN)
}

fn bounds(spans: &[Option<Span>]) -> Option<(f64, f64)> {
    range(
        spans
            .iter()
            .flatten()
            .flat_map(|span| [span.low, span.middle, span.high]),
    )
}

/// A plot with its numbers and the line below it; empty where there is nothing to draw.
pub(super) fn plot(
    spans: &[Option<Span>],
    rows: usize,
    label_columns: usize,
    marks: Marks,
) -> Vec<String> {
    let Some(range) = bounds(spans) else {
        return Vec::new();
    };
    let places = rows * marks.places();
    let place = |value: f64| {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // a share of a few rows
        let place = ((1.0 - share_of(value, range)) * (places - 1) as f64).round() as usize;
        place.min(places - 1)
    };
    let mut cells = vec![vec![' '; spans.len()]; rows];
    for (column, span) in spans.iter().enumerate() {
        let Some(span) = span else { continue };
        let (top, bottom) = (place(span.high), place(span.low));
        for row in &mut cells[top / marks.places()..=bottom / marks.places()] {
            row[column] = marks.shade();
        }
        let middle = place(span.middle);
        cells[middle / marks.places()][column] = marks.middle(middle % marks.places());
    }
    let mut lines: Vec<String> = labels(range, rows)
        .into_iter()
        .zip(cells)
        .map(|(label, cells)| {
            let cells: String = cells.into_iter().collect();
            format!("{label:>label_columns$} {}{cells}", marks.bar())
        })
        .collect();
    let dashes: String = std::iter::repeat_n(marks.dash(), spans.len()).collect();
    lines.push(format!("{:label_columns$} {}{dashes}", "", marks.corner()));
    lines
}

/// A row of marks below a plot for stretches of time; `None` where none of them lies within.
pub(super) fn ticks(
    label: &str,
    stretches: &[(i64, i64)],
    axis: &Axis,
    label_columns: usize,
    mark: char,
) -> Option<String> {
    let mut cells = vec![' '; axis.columns];
    let mut any = false;
    for &(from_us, to_us) in stretches {
        if let Some((first, last)) = axis.columns_of(from_us, to_us) {
            cells[first..=last].fill(mark);
            any = true;
        }
    }
    let cells: String = cells.into_iter().collect();
    any.then(|| format!("{label:>label_columns$}  {cells}"))
}

/// Words below a plot, each from the column on that its share of the width tells; those that have no
/// room are left out. The last one may end at the right edge.
pub(super) fn below(words: &[(f64, String)], columns: usize, label_columns: usize) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (share, word) in words {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // a share of the columns
        let at = (share.clamp(0.0, 1.0) * columns as f64).round() as usize;
        let wide = display_width(word);
        let at = if *share >= 1.0 {
            columns.saturating_sub(wide)
        } else {
            at
        };
        let is_first = used == 0 && line.is_empty();
        if at + wide > columns || (!is_first && at < used + 1) {
            continue;
        }
        line.extend(std::iter::repeat_n(' ', at - used));
        line.push_str(word);
        used = at + wide;
    }
    format!("{:label_columns$}  {line}", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dot(value: f64) -> Span {
        Span {
            low: value,
            middle: value,
            high: value,
        }
    }

    #[test]
    fn a_range_and_its_middle() {
        let spans = [
            Some(dot(0.0)),
            Some(Span {
                low: 0.0,
                middle: 2.0,
                high: 3.0,
            }),
            None,
            Some(dot(3.0)),
        ];
        assert_eq!(
            plot(&spans, 4, 3, Marks::new(false)),
            ["  3 | : *", "    | *", "    | :", "  0 |*:", "    +----"].map(|line| {
                // Every row is as wide as the plot.
                if line.starts_with("    +") {
                    line.to_owned()
                } else {
                    format!("{line:<9}")
                }
            })
        );
        assert_eq!(
            plot(&spans, 2, 3, Marks::new(true)),
            ["  3 │ ▄ ▀", "  0 │▄░  ", "    └────"]
        );
        assert!(plot(&[None, None], 4, 3, Marks::new(true)).is_empty());
    }

    #[test]
    fn marks_and_words_below() {
        let axis = Axis {
            from_us: 0,
            to_us: 99,
            columns: 10,
        };
        assert_eq!(
            ticks("runs", &[(0, 0), (25, 44), (200, 300)], &axis, 5, '^'),
            Some(" runs  ^ ^^^     ".to_owned())
        );
        assert_eq!(ticks("runs", &[(200, 300)], &axis, 5, '^'), None);
        let words = [
            (0.0, "Mon".to_owned()),
            (0.2, "hidden".to_owned()),
            (0.5, "Tue".to_owned()),
            (1.0, "We".to_owned()),
        ];
        assert_eq!(below(&words, 12, 2), "    Mon   Tue We");
    }

    proptest! {
        #[test]
        fn every_line_is_as_wide_as_asked(
            values in prop::collection::vec(any::<f64>().prop_filter("finite", |value| value.is_finite()), 1..80),
            unicode: bool,
        ) {
            let spans: Vec<Option<Span>> = values.iter().map(|&value| Some(dot(value))).collect();
            let wide = label_columns(&spans, 10);
            prop_assert!(wide <= 11);
            for line in plot(&spans, 10, wide, Marks::new(unicode)) {
                prop_assert_eq!(display_width(&line), wide + 2 + spans.len(), "{}", line);
            }
        }
    }
}
