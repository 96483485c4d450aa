//! Numbers by two settings as shaded squares, in panels side by side: the number stands in each
//! square, so that it reads without colour.

use report::escape_html as escaped;
use std::fmt::Write as _;

/// Size of a cell.
const CELL: (f64, f64) = (92.0, 44.0);
/// Room for the names of columns.
const TOP: f64 = 40.0;
/// Width of a letter, about, and room for names of rows.
const LETTER: f64 = 7.0;
const LEFT_MIN: f64 = 40.0;
/// The strongest shade, and the one from which on words are written in the paper's colour.
const SHADE_MAX: f64 = 0.92;
const SHADE_DARK: f64 = 0.62;

/// What is drawn.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Above all panels.
    pub title: String,
    /// What the shade and the small words mean.
    pub legend: String,
    /// What the columns are.
    pub columns_name: String,
    /// From left to right.
    pub columns: Vec<String>,
    /// What the rows are.
    pub rows_name: String,
    /// From top to bottom.
    pub rows: Vec<String>,
    /// Side by side.
    pub panels: Vec<GridPanel>,
}

/// One grid.
#[derive(Debug, Clone)]
pub struct GridPanel {
    /// Above it.
    pub name: String,
    /// By row and column; `None` where there is no number.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// A square.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What its shade tells, 1 or more: logarithmic, from 1 to the largest of the grid.
    pub value: f64,
    /// The number.
    pub words: String,
    /// Small words below.
    pub below: String,
}

impl Grid {
    /// The figure; empty where there is nothing to draw.
    pub fn svg(&self) -> String {
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        let values = cells.flatten().flatten().map(|cell| cell.value);
        let highest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        if highest <= 0.0 {
            return String::new();
        }
        let mut out = format!(
            "<figure><figcaption>{}</figcaption>\n<div class=\"panels\">\n",
            escaped(&self.title)
        );
        for panel in &self.panels {
            self.draw(&mut out, panel, highest);
        }
        let _ = write!(
            out,
            "</div>\n<p class=\"legend\">{}</p></figure>\n",
            escaped(&self.legend)
        );
        out
    }

    #[allow(clippy::cast_precision_loss)] // some columns
    fn draw(&self, out: &mut String, panel: &GridPanel, highest: f64) {
        let longest = self.rows.iter().map(|row| row.chars().count()).max();
        let left = (longest.unwrap_or(0).max(self.rows_name.chars().count()) as f64 * LETTER + 8.0)
            .max(LEFT_MIN);
        let width = left + CELL.0 * self.columns.len() as f64 + 2.0;
        let height = TOP + CELL.1 * self.rows.len() as f64 + 2.0;
        let _ = write!(
            out,
            "<div class=\"panel\"><p class=\"name\">{}</p>\n<svg viewBox=\"0 0 {width:.0} \
             {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
             aria-label=\"{}: {}\">\n<text x=\"{:.1}\" y=\"14\" text-anchor=\"middle\">{}</text><text \
             x=\"0\" y=\"{:.0}\">{}</text>\n",
            escaped(&panel.name),
            escaped(&self.title),
            escaped(&panel.name),
            f64::midpoint(left, width),
            escaped(&self.columns_name),
            TOP - 8.0,
            escaped(&self.rows_name)
        );
        for (index, name) in self.columns.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                left + CELL.0 * (index as f64 + 0.5),
                TOP - 8.0,
                escaped(name)
            );
        }
        for (row, cells) in panel.cells.iter().enumerate() {
            let top = TOP + CELL.1 * row as f64;
            let name = self.rows.get(row).map_or("", String::as_str);
            let _ = writeln!(
                out,
                "<text x=\"0\" y=\"{:.1}\">{}</text>",
                top + CELL.1 / 2.0 + 4.0,
                escaped(name)
            );
            for (column, cell) in cells.iter().enumerate() {
                let at = left + CELL.0 * column as f64;
                square(out, (at, top), cell.as_ref(), highest);
            }
        }
        out.push_str("</svg></div>\n");
    }
}

fn square(out: &mut String, (left, top): (f64, f64), cell: Option<&Cell>, highest: f64) {
    let middle = left + CELL.0 / 2.0;
    let place = format!(
        "x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"",
        left + 1.0,
        top + 1.0,
        CELL.0 - 2.0,
        CELL.1 - 2.0
    );
    let Some(cell) = cell else {
        let _ = writeln!(
            out,
            "<rect class=\"none\" {place}/><text x=\"{middle:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">no answer</text>",
            top + CELL.1 / 2.0 + 4.0
        );
        return;
    };
    let shade = shade(cell.value, highest);
    let ink = if shade >= SHADE_DARK { "paper" } else { "ink" };
    let _ = writeln!(
        out,
        "<rect class=\"cell\" {place} fill-opacity=\"{shade:.2}\"/><text class=\"{ink} number\" \
         x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><text class=\"{ink}\" \
         x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        top + 20.0,
        escaped(&cell.words),
        top + 36.0,
        escaped(&cell.below)
    );
}

/// From 0 for 1 to [`SHADE_MAX`] for the highest.
fn shade(value: f64, highest: f64) -> f64 {
    if highest <= 1.0 || !value.is_finite() {
        return 0.0;
    }
    (value.max(1.0).ln() / highest.ln()).min(1.0) * SHADE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_one_to_the_highest() {
        assert!(shade(1.0, 4.0) < 1e-9);
        assert!((shade(2.0, 4.0) - SHADE_MAX / 2.0).abs() < 1e-9);
        assert!((shade(4.0, 4.0) - SHADE_MAX).abs() < 1e-9);
        // All of a grid at 1, and less than 1 by a rounding.
        assert!(shade(1.0, 1.0) < 1e-9 && shade(0.99, 2.0) < 1e-9);
    }

    #[test]
    fn what_has_no_number_says_so() {
        let cell = |value: f64| Cell {
            value,
            words: format!("{value:.2}"),
            below: "100 MB/s".to_owned(),
        };
        let grid = |cells| Grid {
            title: "write amplification".to_owned(),
            legend: String::new(),
            columns_name: "spare".to_owned(),
            columns: vec!["7 %".to_owned(), "28 %".to_owned()],
            rows_name: "fill".to_owned(),
            rows: vec!["50 %".to_owned()],
            panels: vec![GridPanel {
                name: "weekly".to_owned(),
                cells: vec![cells],
            }],
        };
        let text = grid(vec![Some(cell(2.5)), None]).svg();
        assert_eq!(text.matches("no answer").count(), 1);
        assert!(text.contains(">2.50</text>") && text.contains(">28 %</text>"));
        assert_eq!(grid(vec![None, None]).svg(), "");
    }
}
