//! Heat maps on a terminal: each value beside its shade.

use super::wrap::wrap;
use crate::chart::{HeatCell, HeatGrid, HeatPanel};
use units::escape::{cut, display_width, escape};

/// Maximum width of a name; longer ones are truncated.
const NAME_COLUMNS_MAX: usize = 20;
/// Blanks between columns.
const GAP: usize = 2;

/// Draws the grids, without the title, in lines of at most `width` columns. Grid columns that do not fit
/// beside each other continue below. Empty if there is nothing to draw.
pub(crate) fn heat(grid: &HeatGrid, width: usize, unicode: bool) -> Vec<String> {
    let Some(highest) = grid.highest() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for panel in &grid.panels {
        if !out.is_empty() {
            out.push(String::new());
        }
        if !panel.name.is_empty() {
            out.push(escape(&panel.name).into_owned());
        }
        one(grid, panel, highest, width, unicode, &mut out);
    }
    if !grid.legend.is_empty() {
        out.push(String::new());
        out.extend(wrap(&escape(&grid.legend), width));
    }
    for line in &mut out {
        let shown = cut(line.trim_end(), width).into_owned();
        *line = shown;
    }
    out
}

fn one(
    grid: &HeatGrid,
    panel: &HeatPanel,
    highest: f64,
    width: usize,
    unicode: bool,
    out: &mut Vec<String>,
) {
    let corner = escape(&grid.corner()).into_owned();
    let names: Vec<String> = grid
        .rows
        .iter()
        .map(|row| escape(row).into_owned())
        .collect();
    let widest = names
        .iter()
        .chain([&corner])
        .map(|name| display_width(name))
        .max();
    let left = widest.unwrap_or(0).min(NAME_COLUMNS_MAX);
    // Two lines: the value, and the text below it.
    let cells: Vec<Vec<[String; 2]>> = panel
        .cells
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| words(grid, cell.as_ref(), highest, unicode))
                .collect()
        })
        .collect();
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let heads: Vec<String> = (0..columns)
        .map(|index| {
            grid.columns
                .get(index)
                .map_or(String::new(), |name| escape(name).into_owned())
        })
        .collect();
    let widths: Vec<usize> = (0..columns)
        .map(|index| {
            let below = cells.iter().filter_map(|row| row.get(index)).flatten();
            let all = below.chain([&heads[index]]).map(|text| display_width(text));
            all.max().unwrap_or(0)
        })
        .collect();
    let mut first = 0;
    while first < columns {
        // At least one column, however narrow the terminal is.
        let mut end = first;
        let mut used = left;
        while end < columns && (end == first || used + GAP + widths[end] <= width) {
            used += GAP + widths[end];
            end += 1;
        }
        if first > 0 {
            out.push(String::new());
        }
        out.push(line(
            &corner,
            left,
            (first..end).map(|index| (heads[index].as_str(), widths[index])),
        ));
        for (index, row) in cells.iter().enumerate() {
            let name = names.get(index).map_or("", String::as_str);
            for (part, name) in [(0, name), (1, "")] {
                let texts = || {
                    (first..end).map(|at| {
                        (
                            row.get(at).map_or("", |cell| cell[part].as_str()),
                            widths[at],
                        )
                    })
                };
                if part == 0 || texts().any(|(text, _)| !text.is_empty()) {
                    out.push(line(name, left, texts()));
                }
            }
        }
        first = end;
    }
}

/// Formats a line with a name at the left and right-aligned cells.
fn line<'a>(name: &str, left: usize, cells: impl Iterator<Item = (&'a str, usize)>) -> String {
    let name = cut(name, left);
    let mut line = format!(
        "{name}{}",
        " ".repeat(left.saturating_sub(display_width(&name)))
    );
    for (text, width) in cells {
        let fill = GAP + width.saturating_sub(display_width(text));
        line.extend(std::iter::repeat_n(' ', fill));
        line.push_str(text);
    }
    line
}

/// Returns the two lines of a cell: its shade and value, and the text below.
fn words(grid: &HeatGrid, cell: Option<&HeatCell>, highest: f64, unicode: bool) -> [String; 2] {
    let Some(cell) = cell else {
        return ["no value".to_owned(), String::new()];
    };
    let shades = if unicode {
        [' ', '░', '▒', '▓', '█']
    } else {
        [' ', '.', ':', '*', '#']
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 4
    let step = (grid.shade(cell.value, highest) * 4.0).round() as usize;
    let shade = shades[step.min(4)].to_string().repeat(2);
    let value = grid.format.write(cell.value);
    [format!("{shade} {value}"), escape(&cell.below).into_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(values: &[&[Option<f64>]], below: &str) -> HeatGrid {
        let cell = |value: &Option<f64>| {
            value.map(|value| HeatCell {
                value,
                below: below.to_owned(),
            })
        };
        HeatGrid {
            columns_name: "spare".to_owned(),
            columns: vec!["7 %".to_owned(), "28 %".to_owned()],
            rows_name: "fill".to_owned(),
            rows: vec!["50 %".to_owned(), "90 %".to_owned()],
            base: 1.0,
            panels: vec![HeatPanel {
                name: "weekly".to_owned(),
                cells: values
                    .iter()
                    .map(|row| row.iter().map(cell).collect())
                    .collect(),
            }],
            ..HeatGrid::default()
        }
    }

    #[test]
    fn values_have_shades() {
        let grid = grid(&[&[Some(2.0), Some(1.0)], &[Some(4.0), None]], "");
        assert_eq!(
            heat(&grid, 80, false),
            [
                "weekly",
                "fill \\ spare   7 %      28 %",
                "50 %          :: 2         1",
                "90 %          ## 4  no value",
            ]
        );
        assert!(heat(&grid, 80, true)[3].contains("██ 4"));
    }

    #[test]
    fn columns_that_do_not_fit_continue_below() {
        let grid = grid(&[&[Some(2.0), Some(1.0)]], "364 MB/s");
        assert_eq!(
            heat(&grid, 24, false),
            [
                "weekly",
                "fill \\ spare       7 %",
                "50 %              ## 2",
                "              364 MB/s",
                "",
                "fill \\ spare      28 %",
                "50 %                 1",
                "              364 MB/s",
            ]
        );
        assert!(heat(&HeatGrid::default(), 80, true).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(
            values in prop::collection::vec(any::<f64>(), 4),
            words in ".{0,40}",
            width in 3_usize..130,
            unicode: bool,
        ) {
            let rows = [[Some(values[0]), Some(values[1])], [Some(values[2]), Some(values[3])]];
            let mut grid = grid(&[&rows[0], &rows[1]], &words);
            grid.legend = words;
            for line in heat(&grid, width, unicode) {
                prop_assert!(display_width(&line) <= width, "{line}");
            }
        }
    }
}
