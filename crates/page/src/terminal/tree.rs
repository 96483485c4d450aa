//! Trees, drawn with guides.

use super::sheet::Sheet;
use super::wrap::wrap;
use crate::block::{Level, Node, Tone, Tree};
use units::escape::{display_width, escape};

/// Maximum number of rows; further ones are summarised in one row, except for those that lead to a marked
/// node.
const ROWS_MAX: usize = 40;
/// Limit on the rows kept because of marks; a hostile bundle may mark every layer.
const MARKED_ROWS_MAX: usize = 120;
/// Maximum number of indentation levels on a wide page.
const INDENT_DEPTH_MAX: usize = 8;

pub(super) fn tree(sheet: &mut Sheet, tree: &Tree) {
    let label = escape(&tree.title).into_owned();
    let indent = if label.is_empty() {
        0
    } else {
        (display_width(&label) + 2).max(sheet.label_at)
    };
    let width = sheet.width - indent.min(sheet.width / 2);
    let glyphs = Glyphs::new(sheet.options.unicode, width);
    let mut rows = Vec::new();
    for node in &tree.nodes {
        flatten(node, &mut rows, "", Place::Top, 0, &glyphs);
    }
    for (index, line) in lay_out(&keep_readable(rows), width).into_iter().enumerate() {
        let label = if index == 0 { label.as_str() } else { "" };
        let mut drawn = if indent == 0 {
            String::new()
        } else {
            sheet.filled(label, indent, Tone::Dim)
        };
        drawn.push_str(&line.body);
        if !line.mark.is_empty() {
            let tone = Tone::Level(line.level.unwrap_or(Level::Note));
            drawn.push_str("  ");
            drawn.push_str(&sheet.paint(&line.mark, tone));
        }
        sheet.line(&drawn);
    }
}

/// One line of a drawing: its text, and the mark after it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    body: String,
    /// `<-- TRIM001`; empty if the node is not marked.
    mark: String,
    level: Option<Level>,
}

#[derive(Clone, Copy)]
enum Place {
    Top,
    Middle,
    Last,
}

struct Glyphs {
    tee: &'static str,
    corner: &'static str,
    pipe: &'static str,
    /// Maximum number of levels that are indented.
    indent_depth_max: usize,
}

impl Glyphs {
    fn new(unicode: bool, width: usize) -> Self {
        let (tee, corner, pipe) = if unicode {
            ("├─ ", "└─ ", "│  ")
        } else {
            ("|- ", "`- ", "|  ")
        };
        Self {
            tee,
            corner,
            pipe,
            // Three columns per level, leaving 20 for names.
            indent_depth_max: (width.saturating_sub(20) / 3).clamp(1, INDENT_DEPTH_MAX),
        }
    }
}

#[derive(Default)]
struct Row {
    /// Guides and branch before the name.
    head: String,
    /// Guides before the continuation on the next line.
    hang: String,
    text: String,
    note: String,
    mark: String,
    level: Option<Level>,
    /// Whether it or one of its descendants is marked.
    leads_to_mark: bool,
}

/// Adds the rows of a node and its descendants; returns whether one of them is marked.
fn flatten(
    node: &Node,
    rows: &mut Vec<Row>,
    guide: &str,
    place: Place,
    depth: usize,
    glyphs: &Glyphs,
) -> bool {
    let (branch, trunk) = match place {
        Place::Top => ("", ""),
        Place::Middle => (glyphs.tee, glyphs.pipe),
        Place::Last => (glyphs.corner, "   "),
    };
    let at = rows.len();
    let mark = escape(&node.mark);
    rows.push(Row {
        head: format!("{guide}{branch}"),
        hang: format!("{guide}{trunk}"),
        text: escape(&node.text).into_owned(),
        note: escape(&node.note).into_owned(),
        mark: if mark.is_empty() {
            String::new()
        } else {
            format!("<-- {mark}")
        },
        level: node.level,
        leads_to_mark: !mark.is_empty(),
    });
    let guide = if depth < glyphs.indent_depth_max {
        format!("{guide}{trunk}")
    } else {
        guide.to_owned()
    };
    let mut is_marked = rows[at].leads_to_mark;
    for (index, child) in node.below.iter().enumerate() {
        let place = if index + 1 == node.below.len() {
            Place::Last
        } else {
            Place::Middle
        };
        is_marked |= flatten(child, rows, &guide, place, depth + 1, glyphs);
    }
    rows[at].leads_to_mark = is_marked;
    is_marked
}

/// Drops rows that would make the tree unreadable, but none that leads to a marked node.
fn keep_readable(rows: Vec<Row>) -> Vec<Row> {
    let all = rows.len();
    let mut kept: Vec<Row> = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        if index < ROWS_MAX || (row.leads_to_mark && kept.len() < MARKED_ROWS_MAX) {
            kept.push(row);
        }
    }
    if kept.len() < all {
        kept.push(Row {
            text: format!(
                "... and {} (--format json shows all)",
                units::count(all - kept.len(), "more layer")
            ),
            ..Row::default()
        });
    }
    kept
}

/// Lays out the rows in two columns; a row that is too wide continues on a second line.
fn lay_out(rows: &[Row], width: usize) -> Vec<Line> {
    let lefts: Vec<String> = rows
        .iter()
        .map(|row| format!("{}{}", row.head, row.text))
        .collect();
    let sizes: Vec<(usize, usize)> = lefts
        .iter()
        .zip(rows)
        .map(|(left, row)| {
            let gap = if row.mark.is_empty() { 0 } else { 2 };
            let right = display_width(&row.note) + gap + display_width(&row.mark);
            (display_width(left), right)
        })
        .collect();
    let column = column(&sizes, width);
    let plain = |body: String| Line {
        body,
        ..Line::default()
    };
    let mut lines = Vec::new();
    for ((row, left), (left_columns, right_columns)) in rows.iter().zip(lefts).zip(sizes) {
        let marked = |body: String, mark: String| Line {
            body,
            mark,
            level: row.level,
        };
        if left_columns.max(column) + 2 + right_columns <= width {
            let gap = if row.note.is_empty() {
                0
            } else {
                column.saturating_sub(left_columns) + 2
            };
            let body = format!("{left}{}{}", " ".repeat(gap), row.note);
            lines.push(marked(body, row.mark.clone()));
            continue;
        }
        if left_columns <= width {
            lines.push(plain(left));
        } else {
            let bodies = broken(&row.head, &row.hang, &row.text, width);
            lines.extend(bodies.into_iter().map(plain));
        }
        let hang = format!("{}  ", row.hang);
        if !row.note.is_empty() && display_width(&hang) + right_columns <= width {
            let body = format!("{hang}{}", row.note);
            lines.push(marked(body, row.mark.clone()));
            continue;
        }
        let bodies = broken(&hang, &hang, &row.note, width);
        lines.extend(bodies.into_iter().map(plain));
        // A mark is set off by two more blanks.
        let room = width.saturating_sub(display_width(&hang) + 4).max(8);
        let marks = wrap(&row.mark.replace('`', "'"), room);
        lines.extend(marks.into_iter().map(|mark| marked(hang.clone(), mark)));
    }
    lines
}

/// Returns the start of the second column: the rightmost one for which every row to its left still fits, so
/// that one very long model name does not push every other row onto two lines.
fn column(sizes: &[(usize, usize)], width: usize) -> usize {
    let fits = |column: usize| {
        sizes
            .iter()
            .filter(|(left, _)| *left <= column)
            .all(|(_, right)| column + 2 + right <= width)
    };
    let candidates = sizes.iter().map(|(left, _)| *left);
    candidates.filter(|column| fits(*column)).max().unwrap_or(0)
}

/// Breaks one part of a row that is too wide.
fn broken(head: &str, hang: &str, text: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(display_width(head) + 2).max(8);
    // Names are not code: a backtick in one must not prevent it from being broken.
    let pieces = wrap(&text.replace('`', "'"), room);
    pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| match index {
            0 => format!("{head}{piece}"),
            _ => format!("{hang}  {piece}"),
        })
        .collect()
}
