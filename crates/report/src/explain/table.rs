//! Tables on a terminal: columns of figures, right-aligned, before a last one that takes the room that is
//! left.

use units::escape::{display_width, escape};

/// Columns before everything, and between columns.
const INDENT: usize = 2;
/// The least that is left for the last column.
const ROOM_MIN: usize = 6;

/// The columns of figures, as wide as their widest cells.
pub(super) struct Table {
    widths: Vec<usize>,
}

impl Table {
    /// The table of these columns; rows may have more cells, which are not looked at.
    pub fn of<const N: usize>(head: &[&str], rows: &[[String; N]]) -> Self {
        let wide = |(column, name): (usize, &&str)| {
            let cells = rows.iter().map(|row| columns_of(&row[column]));
            cells.max().unwrap_or(0).max(columns_of(name))
        };
        Self {
            widths: head.iter().enumerate().map(wide).collect(),
        }
    }

    /// Where the last column starts.
    pub fn at(&self) -> usize {
        INDENT + self.widths.iter().map(|wide| wide + INDENT).sum::<usize>()
    }

    /// The columns of a terminal of `width` that are left for it.
    pub fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.at()).max(ROOM_MIN)
    }

    /// A line up to the last column, each cell as `paint` shows it.
    pub fn line<T: AsRef<str>>(
        &self,
        cells: &[T],
        paint: impl Fn(usize, &str) -> String,
    ) -> String {
        let mut line = " ".repeat(INDENT);
        for (column, (cell, wide)) in cells.iter().zip(&self.widths).enumerate() {
            let cell = escape(cell.as_ref());
            line += &" ".repeat(wide.saturating_sub(display_width(&cell)));
            line += &paint(column, &cell);
            line += &" ".repeat(INDENT);
        }
        line
    }
}

fn columns_of(cell: &str) -> usize {
    display_width(&escape(cell))
}

/// A cell without colour.
pub(super) fn plain(_column: usize, cell: &str) -> String {
    cell.to_owned()
}
