//! Heat maps as a table of shaded cells, which can be read without colour.

use super::text::{escaped, figure};
use crate::chart::{HeatCell, HeatGrid, HeatPanel};
use std::fmt::Write as _;

/// Number of distinct shades; the style sheet has a class for each.
const SHADES: u8 = 9;

/// Renders a heat map; empty if there is nothing to shade. `id` is unique within the page.
pub(crate) fn heat(grid: &HeatGrid, id: &str) -> String {
    let Some(highest) = grid.highest() else {
        return String::new();
    };
    let mut out = figure(id, &grid.title) + "<div class=\"panels\">\n";
    for panel in &grid.panels {
        one(&mut out, grid, panel, highest);
    }
    out += "</div>\n<p class=\"scale\">";
    let lowest = if grid.base > 0.0 {
        grid.base.min(highest)
    } else {
        grid.base
    };
    let _ = write!(out, "{} ", grid.format.write(lowest));
    for shade in 0..=SHADES {
        let _ = write!(out, "<i class=\"s{shade}\"></i>");
    }
    let _ = writeln!(out, " {}</p>", grid.format.write(highest));
    if !grid.legend.is_empty() {
        let _ = writeln!(out, "<p class=\"axis\">{}</p>", escaped(&grid.legend));
    }
    out + "</figure>\n"
}

fn one(out: &mut String, grid: &HeatGrid, panel: &HeatPanel, highest: f64) {
    *out += "<div class=\"scroll\"><table class=\"heat\" role=\"table\">\n";
    if !panel.name.is_empty() {
        let _ = writeln!(out, "<caption>{}</caption>", escaped(&panel.name));
    }
    let _ = write!(
        out,
        "<thead role=\"rowgroup\"><tr role=\"row\"><th scope=\"col\" role=\"columnheader\">{}</th>",
        escaped(&grid.corner())
    );
    for name in &grid.columns {
        let _ = write!(
            out,
            "<th scope=\"col\" role=\"columnheader\">{}</th>",
            escaped(name)
        );
    }
    *out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
    for (index, cells) in panel.cells.iter().enumerate() {
        let name = grid.rows.get(index).map_or("", String::as_str);
        let _ = write!(
            out,
            "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">{}</th>",
            escaped(name)
        );
        for cell in cells {
            square(out, grid, cell.as_ref(), highest);
        }
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table></div>\n";
}

fn square(out: &mut String, grid: &HeatGrid, cell: Option<&HeatCell>, highest: f64) {
    let Some(cell) = cell else {
        *out += "<td role=\"cell\" class=\"none\">no value</td>";
        return;
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to SHADES
    let shade = (grid.shade(cell.value, highest) * f64::from(SHADES)).round() as u8;
    let _ = write!(
        out,
        "<td role=\"cell\" class=\"s{shade}\"><b>{}</b>",
        grid.format.write(cell.value)
    );
    if !cell.below.is_empty() {
        let _ = write!(out, "<br><small>{}</small>", escaped(&cell.below));
    }
    *out += "</td>";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(values: &[Option<f64>], words: &str) -> HeatGrid {
        let cell = |value: &Option<f64>| {
            value.map(|value| HeatCell {
                value,
                below: words.to_owned(),
            })
        };
        HeatGrid {
            title: words.to_owned(),
            legend: words.to_owned(),
            columns_name: words.to_owned(),
            columns: vec![words.to_owned(); values.len()],
            rows_name: words.to_owned(),
            rows: vec![words.to_owned()],
            base: 1.0,
            panels: vec![HeatPanel {
                name: words.to_owned(),
                cells: vec![values.iter().map(cell).collect()],
            }],
            ..HeatGrid::default()
        }
    }

    #[test]
    fn shades_go_from_the_base_to_the_highest() {
        let text = heat(&grid(&[Some(1.0), Some(2.0), Some(4.0), None], "a"), "c");
        for part in [
            "class=\"s0\"><b>1</b>",
            "class=\"s5\"><b>2</b>",
            "class=\"s9\"><b>4</b>",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("no value").count(), 1);
        assert_eq!(heat(&grid(&[None], "a"), "c"), "");
        let odd = heat(
            &grid(&[Some(f64::NAN), Some(f64::INFINITY), Some(-1.0)], "a"),
            "c",
        );
        assert!(odd.contains("class=\"s0\"><b>-1</b>"));
    }

    #[test]
    fn names_are_escaped() {
        let text = heat(&grid(&[Some(1.0)], "<b x=\"'>&"), "c");
        assert!(!text.contains("<b x"));
    }
}
