//! Pages of a drive, step by step, each a square: for pages of the browser. States differ by more than
//! colour, so that they can be told apart on paper.

use flash::block_mapped::{Cell, Picture};
use report::escape_html as escaped;
use std::fmt::Write as _;

/// Side of a square, and from one to the next.
const SIDE: f64 = 30.0;
const STEP: f64 = 34.0;

/// What is shown.
#[derive(Debug, Clone)]
pub struct Steps {
    /// Above it.
    pub caption: String,
    /// In order.
    pub rows: Vec<Step>,
    /// Names of the counters.
    pub counters: Vec<String>,
}

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// What the host did; the same for all steps of it.
    pub operation: String,
    /// What the drive did.
    pub words: String,
    /// The block after it.
    pub flash: Vec<Cell>,
    /// The buffer, where it is in use.
    pub buffer: Option<Vec<Cell>>,
    /// The counters after it.
    pub counters: Vec<String>,
}

impl Steps {
    /// The table.
    pub fn html(&self) -> String {
        let mut out = format!(
            "<div class=\"scroll\"><table class=\"steps\">\n<caption>{}</caption>\n<thead><tr><th \
             scope=\"col\">step</th><th scope=\"col\">block</th><th scope=\"col\">buffer</th>",
            escaped(&self.caption)
        );
        for name in &self.counters {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(name));
        }
        out += "</tr></thead>\n<tbody>\n";
        let mut before = None;
        for step in &self.rows {
            if before != Some(&step.operation) {
                let _ = writeln!(
                    out,
                    "<tr class=\"operation\"><th colspan=\"{}\" scope=\"rowgroup\">{}</th></tr>",
                    3 + self.counters.len(),
                    escaped(&step.operation)
                );
                before = Some(&step.operation);
            }
            let buffer = step.buffer.as_ref();
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
                escaped(&step.words),
                squares(&step.flash),
                buffer.map_or(String::new(), |cells| squares(cells))
            );
            for counter in &step.counters {
                let _ = write!(out, "<td>{}</td>", escaped(counter));
            }
            out += "</tr>\n";
        }
        out + "</tbody></table></div>\n" + &legend()
    }
}

/// What the squares mean.
fn legend() -> String {
    let kinds = [
        (Cell::Data("A".to_owned()), "data"),
        (
            Cell::Deleted("A".to_owned()),
            "deleted, and the drive does not know it",
        ),
        (Cell::Discarded("A".to_owned()), "known to be unused"),
        (Cell::Erased, "erased"),
    ];
    let mut out = String::from("<p class=\"legend\">");
    for (cell, words) in kinds {
        let _ = write!(out, "<span>{} {words}</span> ", squares(&[cell]));
    }
    out + "</p>\n"
}

/// Pages in a row.
#[allow(clippy::cast_precision_loss)] // a block's pages
fn squares(cells: &[Cell]) -> String {
    let width = STEP * cells.len() as f64;
    let words = Picture(cells.to_vec()).to_string();
    let mut out = format!(
        "<svg class=\"pages\" viewBox=\"0 0 {width} {STEP}\" width=\"{width}\" height=\"{STEP}\" \
         role=\"img\" aria-label=\"{}\">",
        escaped(&words)
    );
    for (index, cell) in cells.iter().enumerate() {
        square(&mut out, STEP * index as f64 + 2.0, cell);
    }
    out + "</svg>"
}

fn square(out: &mut String, left: f64, cell: &Cell) {
    let (class, name) = match cell {
        Cell::Erased => ("erased", String::new()),
        Cell::Data(name) => ("data", name.clone()),
        Cell::Deleted(name) => ("deleted", format!("({name})")),
        Cell::Discarded(name) => ("discarded", name.clone()),
    };
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{left}\" y=\"2\" width=\"{SIDE}\" height=\"{SIDE}\"/>"
    );
    let (right, bottom) = (left + SIDE, 2.0 + SIDE);
    match cell {
        // Hatched.
        Cell::Deleted(_) => {
            let _ = write!(
                out,
                "<path class=\"hatch\" d=\"M{left} 12L{} 2M{left} 22L{} 2M{left} {bottom}L{right} \
                 2M{} {bottom}L{right} 12M{} {bottom}L{right} 22\"/>",
                left + 10.0,
                left + 20.0,
                left + 10.0,
                left + 20.0
            );
        }
        // Crossed out.
        Cell::Discarded(_) => {
            let _ = write!(
                out,
                "<path class=\"cross\" d=\"M{left} 2L{right} {bottom}M{right} 2L{left} {bottom}\"/>"
            );
        }
        Cell::Data(_) | Cell::Erased => {}
    }
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{}\" y=\"22\" text-anchor=\"middle\">{}</text>",
        left + SIDE / 2.0,
        escaped(&name)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_differ_by_more_than_colour() {
        let name = || "A".to_owned();
        let shapes: Vec<String> = [
            Cell::Data(name()),
            Cell::Deleted(name()),
            Cell::Discarded(name()),
            Cell::Erased,
        ]
        .map(|cell| squares(&[cell]))
        .to_vec();
        assert!(shapes[0].contains(">A</text>") && !shapes[0].contains("<path"));
        assert!(shapes[1].contains("hatch") && shapes[1].contains(">(A)</text>"));
        assert!(shapes[2].contains("cross"));
        assert!(shapes[3].contains("></text>"));
        assert!(shapes[1].contains("aria-label=\"[(A)]\""));
    }
}
