//! The first rows of a table, from which the roles of its columns are decided.

use super::cells::Cell;

/// A row kept until the roles are known.
#[derive(Debug)]
pub(super) struct Row {
    pub line: usize,
    cells: Vec<(usize, String, bool, Option<usize>)>,
}

impl Row {
    pub fn new<'c>(line: usize, cells: impl Iterator<Item = Cell<'c>>) -> Self {
        let cells = cells
            .map(|cell| (cell.column, cell.text.to_owned(), cell.quoted, cell.at))
            .collect();
        Self { line, cells }
    }

    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> + Clone {
        (0..self.cells.len()).map(|place| self.cell(place))
    }

    fn cell(&self, place: usize) -> Cell<'_> {
        let (column, text, quoted, at) = &self.cells[place];
        Cell {
            column: *column,
            text,
            quoted: *quoted,
            at: *at,
        }
    }
}

/// Rows with an index by column: a table may have a million columns, and searching each row for each column
/// would take quadratic time.
#[derive(Debug)]
pub(super) struct Sample {
    pub rows: Vec<Row>,
    /// Row and position in it of every cell, sorted by column.
    places: Vec<(usize, usize)>,
    /// Start index of each column in `places`, followed by the end of the last.
    begins: Vec<usize>,
}

impl Sample {
    /// Builds the index for rows with cells in the first `columns` columns.
    pub fn new(rows: Vec<Row>, columns: usize) -> Self {
        let all = || {
            rows.iter().enumerate().flat_map(|(row, one)| {
                let cells = one.cells.iter().enumerate();
                cells.map(move |(place, cell)| (cell.0, (row, place)))
            })
        };
        let mut begins = vec![0; columns + 1];
        for (column, _) in all() {
            begins[column + 1] += 1;
        }
        for column in 0..columns {
            begins[column + 1] += begins[column];
        }
        let mut next = begins.clone();
        let mut places = vec![(0, 0); begins[columns]];
        for (column, place) in all() {
            places[next[column]] = place;
            next[column] += 1;
        }
        Self {
            rows,
            places,
            begins,
        }
    }

    /// Returns the cells of a column, from the first row to the last.
    pub fn cells(&self, column: usize) -> impl Iterator<Item = Cell<'_>> {
        self.of(column).map(|(_, cell)| cell)
    }

    /// Returns the non-empty texts of a column, one per row; of several cells in one row the first counts.
    pub fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        let mut before = None;
        self.of(column)
            .filter(move |(row, _)| before.replace(*row) != Some(*row))
            .map(|(_, cell)| cell.text.trim())
            .filter(|text| !text.is_empty())
    }

    fn of(&self, column: usize) -> impl Iterator<Item = (usize, Cell<'_>)> {
        self.places[self.begins[column]..self.begins[column + 1]]
            .iter()
            .map(|&(row, place)| (row, self.rows[row].cell(place)))
    }
}
