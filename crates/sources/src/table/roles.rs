//! Assigns roles to columns: as the user says, or else by the first rows.

use super::cells::{Role, begins_as_number, is_missing, number, number_hint, numeric};
use super::{Sample, Table};
use crate::SourceError;
use crate::times;
use facts::InputError;
use std::collections::BTreeSet;

/// Names of columns that are likely to hold times, most likely first.
const TIME_NAMES: &[&str] = &[
    "@timestamp",
    "timestamp",
    "time",
    "datetime",
    "date",
    "ts",
    "race-timestamp",
    "race_timestamp",
    "when",
    "epoch",
    "unix",
    "unixtime",
    "unix_time",
    "created_at",
    "start_time",
    "start",
    "t",
];

/// Maximum number of columns that are taken as labels if the user names none.
const LABELS_MAX: usize = 64;

/// The same limit including constant columns, which distinguish nothing: a metrics document describes its
/// origin in a hundred fields, and each series keeps them all.
const LABELS_OF_ALL_MAX: usize = 256;

impl Table<'_> {
    /// Finds a column that the user named, by its name or its number from 1.
    pub(super) fn named(&self, name: &str, what: &str, line: usize) -> Result<usize, InputError> {
        let by_name = self.names.get(name).copied().or_else(|| {
            self.columns
                .iter()
                .position(|column| column.name.eq_ignore_ascii_case(name))
        });
        let by_number = || {
            let number: usize = name.parse().ok()?;
            (1..=self.columns.len())
                .contains(&number)
                .then(|| number - 1)
        };
        by_name.or_else(by_number).ok_or_else(|| {
            self.error(format!("a column {name} ({what})"), &self.column_list())
                .at_line(line)
        })
    }

    pub(super) fn column_list(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|one| one.name.as_str()).collect();
        format!("the columns {}", names.join(", "))
    }

    pub(super) fn find_time(&mut self, sample: &Sample, line: usize) -> Result<usize, SourceError> {
        if let Some(name) = &self.options.time_column {
            return Ok(self.named(name, "times", line)?);
        }
        let mut found: Vec<(usize, bool, usize)> = Vec::new();
        let mut clocks: Vec<usize> = Vec::new();
        // Columns named like times, and their first text, which is not a time.
        let mut named: Vec<(usize, usize, &str)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let mut texts = sample.texts(index).take(100).peekable();
            let Some(&first) = texts.peek() else {
                continue;
            };
            let name = column.name.to_ascii_lowercase();
            // The last part of `metrics.timestamp` counts.
            let last = name.rsplit('.').next().unwrap_or(&name);
            let likely = TIME_NAMES
                .iter()
                .position(|&one| one == name || one == last);
            // A user's format is applied to the columns that match it.
            let fits = match &self.options.time_format {
                Some(_) => self.options.time_reader().read_us(first).is_ok(),
                None => times::looks_like_time(first),
            };
            // Without such a name it is a duration.
            let says_clock = ["time", "clock", "zeit", "column "]
                .iter()
                .any(|word| name.contains(word));
            if times::clock(first).is_some() && !fits && says_clock {
                clocks.push(index);
            }
            // A bare number is a time only if the column's name suggests it.
            let bare = texts.all(times::is_bare_number);
            // Without a header, the first column is the best guess.
            if fits && (!bare || likely.is_some() || name == "column 1") {
                found.push((likely.unwrap_or(TIME_NAMES.len()), bare, index));
            } else if let Some(likely) = likely {
                named.push((likely, index, first));
            }
        }
        found.sort_unstable();
        let Some(&(.., time)) = found.first() else {
            let error = match named.iter().min() {
                Some((_, index, text)) => {
                    let name = &self.columns[*index].name;
                    let expected = match &self.options.time_format {
                        Some(format) => format!("times of the format {format} in column {name}"),
                        None => {
                            format!("times in column {name}; name their format, or another column")
                        }
                    };
                    self.error(expected, text)
                }
                None => self.error(
                    "a column of times; name it, or the format of its times",
                    &self.column_list(),
                ),
            };
            return Err(error.at_line(line).into());
        };
        if found.len() > 1 {
            let name = &self.columns[time].name;
            self.collector.warnings.push(format!(
                "{} columns hold times; those of {name} are used",
                found.len()
            ));
        }
        // A column of dates is combined with one of times of day.
        let first = sample.texts(time).next();
        let date_only = first.is_some_and(|text| {
            let mut probe = self.options.time_reader();
            probe.detect_format(std::iter::once(text)).is_ok() && !text.contains(':')
        });
        if date_only
            && self.options.time_format.is_none()
            && let Some(&clock) = clocks.first()
            && !first.is_some_and(times::is_bare_number)
        {
            self.columns[clock].role = Some(Role::Clock);
        }
        Ok(time)
    }

    pub(super) fn find_values(&mut self, sample: &Sample, line: usize) -> Result<(), SourceError> {
        let named_as = |names: &[String], what: &str| -> Result<BTreeSet<usize>, InputError> {
            let columns = names.iter().map(|name| self.named(name, what, line));
            columns.collect()
        };
        let mut named = named_as(&self.options.value_columns, "values")?;
        let counters = named_as(&self.options.counter_columns, "values")?;
        let label_columns = self.options.label_columns.as_deref().unwrap_or_default();
        let labels = named_as(label_columns, "labels")?;
        named.extend(&counters);
        self.counters = counters;
        let only_named = !self.options.value_columns.is_empty();
        for index in 0..self.columns.len() {
            if self.columns[index].role.is_some() || labels.contains(&index) {
                continue;
            }
            if only_named && !named.contains(&index) {
                continue;
            }
            let role = numeric(sample.cells(index), self.comma_allowed);
            // In a column named by the user, text that is not a number is an error.
            self.columns[index].role = match role {
                None if named.contains(&index) => Some(Role::Value { comma: false }),
                role => role,
            };
        }
        let any = self
            .columns
            .iter()
            .any(|column| matches!(column.role, Some(Role::Value { .. })));
        if any {
            return Ok(());
        }
        let error = self.almost_numeric(sample, &labels).unwrap_or_else(|| {
            self.error("a column of numbers", &self.column_list())
                .at_line(line)
        });
        Err(error.into())
    }

    /// Returns an error for a column that begins with a number but is not numeric, at the first cell that is none.
    fn almost_numeric(&self, sample: &Sample, labels: &BTreeSet<usize>) -> Option<InputError> {
        let is_open = |column: usize| self.columns[column].role.is_none();
        (0..self.columns.len())
            .filter(|column| is_open(*column) && !labels.contains(column))
            .find_map(|column| {
                let cells = sample.rows.iter().filter_map(|row| {
                    let mut cells = row.cells();
                    let cell = cells.find(|one| one.column == column && !is_missing(one.text))?;
                    Some((row.line, cell))
                });
                let (_, first) = cells.clone().next()?;
                if !begins_as_number(first.text) || times::looks_like_time(first.text) {
                    return None;
                }
                let mut others = cells.skip_while(|(_, cell)| number(cell, false).is_ok());
                let (line, cell) = others.next()?;
                let name = &self.columns[column].name;
                let way = number_hint(cell.text, false);
                let expected = format!("a number in column {name}{way}");
                let error = self.error(expected, cell.text).at_line(line);
                Some(match cell.at {
                    Some(at) => error.at_column(at),
                    None => error,
                })
            })
    }

    pub(super) fn find_labels(
        &mut self,
        sample: &Sample,
        time: usize,
        line: usize,
    ) -> Result<(), SourceError> {
        if let Some(names) = &self.options.label_columns {
            for name in names {
                let index = self.named(name, "labels", line)?;
                self.columns[index].role = Some(Role::Label);
            }
            return Ok(());
        }
        let mut distinct_times = BTreeSet::new();
        let mut rows = 0;
        for text in sample.texts(time) {
            rows += 1;
            distinct_times.insert(text);
        }
        let times_repeat = distinct_times.len() < rows;
        let (mut found, mut constant) = (0, 0);
        for index in 0..self.columns.len() {
            if self.columns[index].role.is_some() {
                continue;
            }
            let texts: Vec<&str> = sample.texts(index).collect();
            let distinct = texts.iter().collect::<BTreeSet<_>>().len();
            // Text with recurring values is a label; if times repeat, so is text that distinguishes rows
            // with the same time.
            let recurs = distinct > 0 && distinct * 2 <= texts.len();
            let separates = times_repeat && distinct > 1 && distinct < rows.max(3);
            if recurs || separates {
                self.columns[index].role = Some(Role::Label);
                if distinct > 1 {
                    found += 1;
                } else {
                    constant += 1;
                }
                if !times_repeat && distinct > 1 {
                    let name = &self.columns[index].name;
                    self.collector.warnings.push(format!(
                        "column {name} is taken to tell series apart, although no time occurs \
                         twice; name the columns of labels, if it does not"
                    ));
                }
            }
        }
        // Each series keeps all of its labels.
        if found > LABELS_MAX || found + constant > LABELS_OF_ALL_MAX {
            let expected = format!(
                "at most {LABELS_MAX} columns of text that recurs and differs, and \
                 {LABELS_OF_ALL_MAX} with those of one text: name those that tell series apart"
            );
            let found = format!("{found}, and {constant} of one text");
            return Err(self.error(expected, &found).at_line(line).into());
        }
        Ok(())
    }
}
