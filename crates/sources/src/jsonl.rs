//! JSON lines (one object per line), or a JSON array of objects.

use crate::options::FileOptions;
use crate::table::{Cell, Table};
use crate::text::{Bounded, InputTracker, Lines, file_error, too_long};
use crate::{Reading, SourceError};
use facts::{InputError, Skipped};
use serde::Deserializer as _;
use serde::de::{self, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::io::BufRead;
use units::count;

/// The expectation stated in errors.
const ONE_A_LINE: &str = "one JSON object a line, or an array of them";

/// Maximum nesting depth of objects in a record.
const DEPTH_MAX: usize = 16;

pub(crate) fn read(
    source: &str,
    mut input: impl BufRead,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let is_array = first_byte(source, &mut input)? == Some(b'[');
    let mut records = Records {
        source: source.to_owned(),
        table: Table::new(source, options, false),
        texts: Vec::new(),
        lists: 0,
        beyond: 0,
    };
    if is_array {
        records.array(input)?;
    } else {
        let mut lines = Lines::new(source, input);
        while let Some((number, line)) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            let value = serde_json::from_str(&line)
                .map_err(|error| json_error(source, &error, ONE_A_LINE, Some(number)))?;
            records.take(number, &value)?;
        }
    }
    records.finish()
}

/// Returns the first byte that is not white space, without consuming it.
fn first_byte(source: &str, input: &mut impl BufRead) -> Result<Option<u8>, SourceError> {
    let buffer = input
        .fill_buf()
        .map_err(|error| file_error(source, error))?;
    Ok(buffer
        .iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace()))
}

/// Converts a JSON error; `line` is the line number if the text was a single line.
pub(crate) fn json_error(
    source: &str,
    error: &serde_json::Error,
    expected: &str,
    line: Option<usize>,
) -> SourceError {
    if error.is_io() {
        let text = error.to_string();
        return file_error(source, std::io::Error::other(text));
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string().replace(&place, "");
    InputError::new(source, expected, &text)
        .at_line(line.unwrap_or(error.line()))
        .at_column(error.column())
        .into()
}

struct Records<'o> {
    source: String,
    table: Table<'o>,
    /// The fields of a record: column, text, and whether it is a JSON string.
    texts: Vec<(usize, String, bool)>,
    lists: usize,
    beyond: usize,
}

impl Records<'_> {
    fn take(&mut self, line: usize, value: &Value) -> Result<(), SourceError> {
        let Value::Object(_) = value else {
            let found = value.to_string();
            return Err(InputError::new(self.source.as_str(), "an object", &found)
                .at_line(line)
                .into());
        };
        self.texts.clear();
        self.flatten("", value, 0);
        let cells = self.texts.iter().map(|(column, text, quoted)| Cell {
            column: *column,
            text,
            quoted: *quoted,
            at: None,
        });
        self.table.row(line, cells)
    }

    fn flatten(&mut self, path: &str, value: &Value, depth: usize) {
        let (text, quoted) = match value {
            Value::Object(fields) if depth < DEPTH_MAX => {
                for (key, value) in fields {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    self.flatten(&path, value, depth + 1);
                }
                return;
            }
            Value::Object(_) | Value::Array(_) => {
                self.lists += 1;
                return;
            }
            Value::Null => (String::new(), false),
            // A boolean is a curve of 0 and 1.
            Value::Bool(is) => (u8::from(*is).to_string(), false),
            Value::Number(number) => (number.to_string(), false),
            Value::String(text) => (text.clone(), true),
        };
        match self.table.column(path) {
            Some(column) => self.texts.push((column, text, quoted)),
            None => self.beyond += 1,
        }
    }

    fn array(&mut self, input: impl BufRead) -> Result<(), SourceError> {
        // The parser reads byte by byte, so the bytes counted as passed are exactly those it has parsed.
        let (bounded, passed) = Bounded::new(input);
        let mut json = serde_json::Deserializer::from_reader(bounded);
        let mut failed = None;
        let outcome = json.deserialize_seq(Elements {
            records: self,
            failed: &mut failed,
            passed: &passed,
        });
        let outcome = outcome.and_then(|()| json.end());
        match (failed, outcome) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            (None, Err(at)) if passed.is_too_long() => {
                Err(too_long(&self.source).at_line(at.line()).into())
            }
            (None, Err(at)) => Err(json_error(
                &self.source,
                &at,
                "an array of JSON objects",
                None,
            )),
        }
    }

    fn finish(mut self) -> Result<Reading, SourceError> {
        if self.beyond > 0 {
            self.table.warn(format!(
                "{} of further fields passed over",
                count(self.beyond, "value")
            ));
        }
        let lists = self.lists;
        let mut reading = self.table.finish()?;
        if lists > 0 {
            reading.skipped.push(Skipped::new(
                count(lists, "list"),
                "lists of values are no single value of a moment",
                None,
            ));
        }
        Ok(reading)
    }
}

/// Parses the elements of an array one by one.
struct Elements<'r, 'o> {
    records: &'r mut Records<'o>,
    failed: &'r mut Option<SourceError>,
    passed: &'r InputTracker,
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(value) = elements.next_element()? {
            self.passed.end_piece();
            // The line in which the record ends.
            let line = self.passed.line_at(u64::MAX);
            if let Err(error) = self.records.take(line, &value) {
                *self.failed = Some(error);
                return Err(de::Error::custom("a record"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "jsonl_tests.rs"]
mod tests;
