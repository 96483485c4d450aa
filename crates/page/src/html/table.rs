//! Tables.

use super::text::{escaped, words};
use crate::block::{Align, Cell, Table};
use std::fmt::Write as _;

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

fn cell_words(cell: &Cell) -> String {
    match &cell.section {
        Some(id) => format!("<a href=\"#{}\">{}</a>", escaped(id), words(&cell.text)),
        None => words(&cell.text),
    }
}
