//! Tables.

use super::sheet::Sheet;
use super::wrap::wrap;
use crate::block::{Align, Column, Table, Tone};
use units::escape::{display_width, escape};

/// Blanks between columns.
const GAP: usize = 2;
/// Minimum width of a column of words; if there is less room, rows are stacked.
const WORDS_MIN: usize = 12;

pub(super) fn table(sheet: &mut Sheet, table: &Table) {
    sheet.paragraph(0, &table.title, Tone::Strong);
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let mut cells = row.iter().map(|cell| escape(&cell.text).into_owned());
            table
                .columns
                .iter()
                .map(|_| cells.next().unwrap_or_default())
                .collect()
        })
        .collect();
    match widths(&table.columns, &rows, sheet.width) {
        Some(widths) => columns(sheet, &table.columns, &rows, &widths),
        None => stacked(sheet, &table.columns, &rows),
    }
}

/// Returns the widths of the columns, such that they all fit in `width`: headings are broken first, then
/// the widest column of words. `None` if that is not enough.
fn widths(columns: &[Column], rows: &[Vec<String>], width: usize) -> Option<Vec<usize>> {
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = rows.iter().map(|row| display_width(&row[index]));
            cells.max().unwrap_or(0).max(longest_word(&column.name))
        })
        .collect();
    let room = width.checked_sub(GAP * columns.len().saturating_sub(1))?;
    // Headings take one line while there is room for them.
    for (index, column) in columns.iter().enumerate() {
        let all: usize = widths.iter().sum();
        let more = display_width(&escape(&column.name)).saturating_sub(widths[index]);
        if all + more <= room {
            widths[index] += more;
        }
    }
    loop {
        let all: usize = widths.iter().sum();
        if all <= room {
            return Some(widths);
        }
        let (widest, columns) = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.align == Align::Left)
            .map(|(index, _)| (index, widths[index]))
            .max_by_key(|(_, columns)| *columns)?;
        if columns <= WORDS_MIN {
            return None;
        }
        widths[widest] = columns.saturating_sub(all - room).max(WORDS_MIN);
    }
}

fn longest_word(name: &str) -> usize {
    name.split(' ').map(display_width).max().unwrap_or(0)
}

fn columns(sheet: &mut Sheet, columns: &[Column], rows: &[Vec<String>], widths: &[usize]) {
    let names: Vec<String> = columns
        .iter()
        .map(|column| escape(&column.name).into_owned())
        .collect();
    if names.iter().any(|name| !name.is_empty()) {
        row(sheet, columns, &names, widths, Tone::Dim);
    }
    for cells in rows {
        row(sheet, columns, cells, widths, Tone::Plain);
    }
}

fn row(sheet: &mut Sheet, columns: &[Column], cells: &[String], widths: &[usize], tone: Tone) {
    let wrapped: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, &width)| {
            if display_width(cell) <= width {
                vec![cell.clone()]
            } else {
                // Names are not code: a backtick in one must not prevent it from being broken.
                wrap(&cell.replace('`', "'"), width)
            }
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let is_head = tone == Tone::Dim;
    for line_index in 0..height {
        let mut line = String::new();
        for (index, (lines, &width)) in wrapped.iter().zip(widths).enumerate() {
            // Headings are bottom-aligned, cells top-aligned.
            let at = if is_head {
                (line_index + lines.len()).checked_sub(height)
            } else {
                Some(line_index)
            };
            let text = at.and_then(|at| lines.get(at)).map_or("", String::as_str);
            let fill = " ".repeat(width.saturating_sub(display_width(text)));
            let text = sheet.paint(text, tone);
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            match columns[index].align {
                Align::Left => line.extend([text, fill]),
                Align::Right => line.extend([fill, text]),
            }
        }
        sheet.line(&line);
    }
}

/// Writes each row as several lines, each cell after the name of its column.
fn stacked(sheet: &mut Sheet, columns: &[Column], rows: &[Vec<String>]) {
    let widest = columns
        .iter()
        .map(|column| display_width(&escape(&column.name)))
        .max();
    let at = (widest.unwrap_or(0) + 2 * GAP).min(sheet.width / 2);
    for (index, cells) in rows.iter().enumerate() {
        if index > 0 {
            sheet.blank();
        }
        let mut named = columns.iter().zip(cells);
        if let Some((_, name)) = named.next() {
            sheet.paragraph(0, name, Tone::Strong);
        }
        for (column, cell) in named.filter(|(_, cell)| !cell.is_empty()) {
            sheet.labelled(GAP, at, &column.name, cell, Tone::Dim);
        }
    }
}
