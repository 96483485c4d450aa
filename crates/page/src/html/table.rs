//! Tables.

use super::text::{escaped, words};
use crate::block::{Align, Cell, Table};
use std::fmt::Write as _;
use units::escape::percent_encoded;

/// Renders a table. Roles are explicit because rows that a narrow screen stacks lose their implicit ones;
/// cells carry the name of their column for the same reason.
pub(super) fn table(table: &Table) -> String {
    let mut out = String::from("<table role=\"table\">\n");
    if !table.title.is_empty() {
        let _ = writeln!(out, "<caption>{}</caption>", words(&table.title));
    }
    out += "<thead role=\"rowgroup\"><tr role=\"row\">";
    let class = |index: usize| match table.columns.get(index).map(|column| column.align) {
        Some(Align::Left) => " class=\"words\"",
        _ => "",
    };
    for (index, column) in table.columns.iter().enumerate() {
        let _ = write!(
            out,
            "<th role=\"columnheader\" scope=\"col\"{}>{}</th>",
            class(index),
            words(&column.name)
        );
    }
    out += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
    for row in &table.rows {
        out += "<tr role=\"row\">";
        for (index, cell) in row.iter().enumerate() {
            let name = table.columns.get(index).map_or("", |column| &column.name);
            let (tag, role) = match index {
                0 => ("th", "rowheader\" scope=\"row"),
                _ => ("td", "cell"),
            };
            let _ = write!(
                out,
                "<{tag} role=\"{role}\"{} data-column=\"{}\">{}</{tag}>",
                class(index),
                escaped(name),
                cell_words(cell)
            );
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table>\n"
}

/// Renders a table that no screen stacks, in as few bytes as HTML allows.
pub(super) fn bare(table: &Table) -> String {
    let mut out = String::from("<table class=\"bare\">");
    if !table.title.is_empty() {
        let _ = write!(out, "<caption>{}</caption>", words(&table.title));
    }
    out += "\n<tr>";
    for column in &table.columns {
        let _ = write!(out, "<th scope=\"col\">{}", words(&column.name));
    }
    for row in &table.rows {
        out += "\n<tr>";
        for (index, cell) in row.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            let _ = write!(out, "<{tag}>{}", cell_words(cell));
        }
    }
    out + "\n</table>\n"
}

fn cell_words(cell: &Cell) -> String {
    let words = words(&cell.text);
    match (&cell.section, &cell.file) {
        (Some(id), _) => format!("<a href=\"#{}\">{words}</a>", escaped(id)),
        (None, Some(path)) => format!("<a href=\"{}\">{words}</a>", relative(path)),
        (None, None) => words,
    }
}

/// Returns the URL of a file below the folder of the page: whatever its name is, no other scheme or host.
fn relative(path: &str) -> String {
    format!("./{}", percent_encoded(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_below_the_page_whatever_its_name() {
        assert_eq!(relative("a/trial.json"), "./a/trial.json");
        assert_eq!(
            relative("javascript:alert(1)"),
            "./javascript%3Aalert%281%29"
        );
        assert_eq!(relative("//host/x"), ".///host/x");
        assert_eq!(relative("a b\"é?#"), "./a%20b%22%C3%A9%3F%23");
        let mut table = Table::new(&["<a"]);
        table.rows.push(vec![Cell {
            text: "<x>".to_owned(),
            file: Some("x".to_owned()),
            ..Cell::default()
        }]);
        let shown = super::table(&table);
        assert!(shown.contains("<a href=\"./x\">&lt;x&gt;</a>"), "{shown}");
    }
}
