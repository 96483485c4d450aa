//! Converts rows of named cells, from CSV or JSON lines, into series: decides which columns hold the times,
//! which hold values, and which distinguish series.

mod cells;
mod roles;
mod sample;

use crate::clean;
use crate::collector::{Draft, SeriesCollector};
use crate::options::FileOptions;
use crate::times::TimeReader;
use crate::{Reading, SourceError};
pub(crate) use cells::Cell;
use cells::{Role, is_missing, number, number_hint, unit_of};
use facts::series::Dating;
use facts::{InputError, Skipped};
use sample::{Row, Sample};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of rows from which the columns' roles are decided.
const SAMPLE_ROWS: usize = 1_000;

/// Maximum size of their text, in bytes.
const SAMPLE_BYTES: usize = 4 << 20;

/// Maximum number of skipped columns listed by name.
const NAMED_MAX: usize = 10;

#[derive(Debug)]
struct Column {
    name: String,
    role: Option<Role>,
}

/// What a row's labels say about its series.
#[derive(Debug, Default)]
struct RowLabels {
    labels: BTreeMap<String, String>,
    metric: Option<String>,
    unit: Option<String>,
}

/// A table that is being read.
pub(crate) struct Table<'o> {
    source: String,
    options: &'o FileOptions,
    columns: Vec<Column>,
    names: HashMap<String, usize>,
    /// Whether `1,5` may mean one and a half, in columns without decimal points.
    comma_allowed: bool,
    sample: Vec<Row>,
    sample_bytes: usize,
    roles_assigned: bool,
    clock: TimeReader,
    collector: SeriesCollector,
    /// Columns that are counters.
    counters: BTreeSet<usize>,
    /// For each combination of labels, the series by column; rejected series are absent.
    groups: HashMap<String, HashMap<usize, usize>>,
    without_time: usize,
}

impl<'o> Table<'o> {
    pub fn new(source: &str, options: &'o FileOptions, comma_allowed: bool) -> Self {
        Self {
            source: source.to_owned(),
            options,
            columns: Vec::new(),
            names: HashMap::new(),
            comma_allowed,
            sample: Vec::new(),
            sample_bytes: 0,
            roles_assigned: false,
            clock: options.time_reader(),
            collector: SeriesCollector::new(source, &options.times, options.limits),
            counters: BTreeSet::new(),
            groups: HashMap::new(),
            without_time: 0,
        }
    }

    /// Returns the index of the column with this name, adding it on first use; `None` if there are too many
    /// columns.
    pub fn column(&mut self, name: &str) -> Option<usize> {
        if let Some(&column) = self.names.get(name) {
            return Some(column);
        }
        // Columns of times and labels come on top of the series.
        if self.columns.len() > self.options.limits.series_max.saturating_add(64) {
            return None;
        }
        self.columns.push(Column {
            name: name.to_owned(),
            role: None,
        });
        self.names.insert(name.to_owned(), self.columns.len() - 1);
        Some(self.columns.len() - 1)
    }

    /// Adds a column, whatever its name.
    pub fn add_column(&mut self, name: &str) {
        self.names
            .entry(name.to_owned())
            .or_insert(self.columns.len());
        self.columns.push(Column {
            name: name.to_owned(),
            role: None,
        });
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When a cell does not match its column.
    pub fn row<'c>(
        &mut self,
        line: usize,
        cells: impl Iterator<Item = Cell<'c>> + Clone,
    ) -> Result<(), SourceError> {
        if self.roles_assigned {
            return self.emit(line, cells);
        }
        self.sample_bytes += cells
            .clone()
            .map(|cell| cell.text.len() + 48)
            .sum::<usize>();
        self.sample.push(Row::new(line, cells));
        if self.sample.len() >= SAMPLE_ROWS || self.sample_bytes >= SAMPLE_BYTES {
            self.assign_roles()?;
        }
        Ok(())
    }

    /// Returns the series.
    ///
    /// # Errors
    /// When the roles of the columns cannot be determined, or there are no values.
    pub fn finish(mut self) -> Result<Reading, SourceError> {
        if !self.roles_assigned {
            self.assign_roles()?;
        }
        if self.without_time > 0 {
            self.collector.skipped.push(Skipped::new(
                units::count(self.without_time, "row"),
                "without a time",
                None,
            ));
        }
        self.report_skipped_columns();
        self.collector.warnings.extend(self.clock.notes());
        self.collector.finish(Dating::Absolute)
    }

    pub fn warn(&mut self, warning: String) {
        self.collector.warnings.push(warning);
    }

    fn report_skipped_columns(&mut self) {
        let skipped: Vec<&str> = self
            .columns
            .iter()
            .filter(|column| column.role == Some(Role::Skipped))
            .map(|column| column.name.as_str())
            .collect();
        // Users who name the columns know that others are left out.
        if skipped.is_empty() || !self.options.value_columns.is_empty() {
            return;
        }
        let mut names = skipped[..skipped.len().min(NAMED_MAX)].join(", ");
        if skipped.len() > NAMED_MAX {
            names = format!("{names} and {} more", skipped.len() - NAMED_MAX);
        }
        self.collector.skipped.push(Skipped::new(
            format!("columns {names}"),
            "they hold no numbers, and do not tell series apart",
            None,
        ));
    }

    // --- Roles of the columns.

    fn assign_roles(&mut self) -> Result<(), SourceError> {
        self.roles_assigned = true;
        let rows = std::mem::take(&mut self.sample);
        let first_line = rows.first().map_or(1, |row| row.line);
        if rows.is_empty() {
            return Err(SourceError::empty(&self.source, "it has no rows"));
        }
        let sample = Sample::new(rows, self.columns.len());
        let time = self.find_time(&sample, first_line)?;
        self.columns[time].role = Some(Role::Time);
        self.find_values(&sample, first_line)?;
        self.find_labels(&sample, time, first_line)?;
        for column in &mut self.columns {
            column.role.get_or_insert(Role::Skipped);
        }
        let times: Vec<String> = sample
            .rows
            .iter()
            .map(|row| self.time_text(row.cells()))
            .collect();
        if let Err(expected) = self.clock.detect_format(times.iter().map(String::as_str)) {
            let at = times.iter().position(|text| !text.is_empty()).unwrap_or(0);
            return Err(self
                .error(expected, &times[at])
                .at_line(sample.rows[at].line)
                .into());
        }
        for row in &sample.rows {
            self.emit(row.line, row.cells())?;
        }
        Ok(())
    }

    fn error(&self, expected: impl Into<String>, found: &str) -> InputError {
        InputError::new(self.source.as_str(), expected, found)
    }

    fn time_text<'c>(&self, cells: impl Iterator<Item = Cell<'c>>) -> String {
        let mut date = "";
        let mut clock = "";
        for cell in cells {
            match self.columns.get(cell.column).and_then(|one| one.role) {
                Some(Role::Time) => date = cell.text.trim(),
                Some(Role::Clock) => clock = cell.text.trim(),
                _ => {}
            }
        }
        if clock.is_empty() || date.is_empty() {
            date.to_owned()
        } else {
            format!("{date} {clock}")
        }
    }

    fn emit<'c>(
        &mut self,
        line: usize,
        cells: impl Iterator<Item = Cell<'c>> + Clone,
    ) -> Result<(), SourceError> {
        let time = self.time_text(cells.clone());
        if is_missing(&time) {
            self.without_time += 1;
            return Ok(());
        }
        let role = |columns: &[Column], cell: &Cell| columns.get(cell.column)?.role;
        let time_us = self.clock.read_us(&time).map_err(|expected| {
            let mut error = self.error(expected, &time).at_line(line);
            let mut time_cells = cells.clone();
            let cell = time_cells.find(|cell| role(&self.columns, cell) == Some(Role::Time));
            if let Some(at) = cell.and_then(|cell| cell.at) {
                error = error.at_column(at);
            }
            error
        })?;
        let mut group = String::new();
        for cell in cells.clone() {
            if role(&self.columns, &cell) == Some(Role::Label) {
                group.push_str(cell.text.trim());
                group.push('\u{1f}');
            }
        }
        let mut ids = match self.groups.remove(&group) {
            Some(ids) => ids,
            // Limited to the number of series: further groups could only be counted as rejected.
            None if self.groups.len() >= self.options.limits.series_max => {
                let values = cells
                    .filter(|cell| matches!(role(&self.columns, cell), Some(Role::Value { .. })));
                for _ in values {
                    self.collector.push(None, time_us, None);
                }
                return self.collector.check_limits();
            }
            None => HashMap::new(),
        };
        let mut failed = Ok(());
        let mut about = None;
        for cell in cells.clone() {
            if self.columns[cell.column].role.is_none() {
                self.late_column(&cell);
            }
            let Some(Role::Value { comma }) = self.columns[cell.column].role else {
                continue;
            };
            let value = match number(&cell, comma) {
                Ok(value) => value,
                Err(expected) => {
                    let name = &self.columns[cell.column].name;
                    let way = number_hint(cell.text, comma);
                    let expected = format!("{expected} in column {name}{way}");
                    let mut error = self.error(expected, cell.text).at_line(line);
                    if let Some(at) = cell.at {
                        error = error.at_column(at);
                    }
                    failed = Err(error.into());
                    break;
                }
            };
            let mut id = ids.get(&cell.column).copied();
            if id.is_none() && !self.collector.is_full() {
                let about = about.get_or_insert_with(|| self.about(cells.clone()));
                let draft = self.draft(cell.column, about);
                id = self.collector.add(draft);
                ids.extend(id.map(|id| (cell.column, id)));
            }
            self.collector.push(id, time_us, value);
        }
        self.groups.insert(group, ids);
        failed.and_then(|()| self.collector.check_limits())
    }

    /// Assigns a role to a column that first appears after the roles were decided.
    fn late_column(&mut self, cell: &Cell) {
        let wanted = self.options.value_columns.is_empty();
        let is_number = number(cell, false).is_ok_and(|value| value.is_some());
        self.columns[cell.column].role = if wanted && is_number {
            Some(Role::Value { comma: false })
        } else if is_missing(cell.text) {
            None
        } else {
            Some(Role::Skipped)
        };
    }

    /// Extracts what a row's labels say about its series.
    fn about<'c>(&self, cells: impl Iterator<Item = Cell<'c>>) -> RowLabels {
        let mut about = RowLabels::default();
        for cell in cells {
            let one = &self.columns[cell.column];
            let text = cell.text.trim();
            if one.role != Some(Role::Label) || text.is_empty() {
                continue;
            }
            about.labels.insert(one.name.clone(), text.to_owned());
            match one.name.to_ascii_lowercase().as_str() {
                "metric" | "name" | "measurement" if about.metric.is_none() => {
                    about.metric = Some(text.to_owned());
                }
                "unit" | "units" => about.unit = Some(text.to_owned()),
                _ => {}
            }
        }
        about
    }

    fn draft(&self, column: usize, about: &RowLabels) -> Draft {
        let column_name = self.columns[column].name.as_str();
        let plain = matches!(
            column_name.to_ascii_lowercase().as_str(),
            "value" | "val" | "v"
        );
        let base = match &about.metric {
            Some(metric) if plain => metric.clone(),
            Some(metric) => format!("{metric} {column_name}"),
            None => column_name.to_owned(),
        };
        let unit = about.unit.clone().or_else(|| unit_of(column_name));
        let counter = self.counters.contains(&column);
        let mut labels = about.labels.clone();
        labels.insert("metric".to_owned(), base.clone());
        Draft {
            better: clean::better(&base, unit.as_deref()),
            name: base,
            labels,
            unit,
            counter,
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
