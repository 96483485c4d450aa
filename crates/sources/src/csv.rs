//! CSV and TSV (RFC 4180, and common deviations from it).

use crate::options::FileOptions;
use crate::table::{Cell, Table};
use crate::text::{Bounded, InputTracker, file_error, too_long};
use crate::times;
use crate::{Reading, SourceError};
use ::csv::{ByteRecord, ReaderBuilder, StringRecord};
use facts::InputError;
use std::io::{Cursor, Read};
use units::count;

/// Bytes at the start of a file from which the delimiter and the header are detected.
const HEAD_BYTES: usize = 64 << 10;

/// Maximum number of lines among them.
const HEAD_LINES: usize = 50;

/// Maximum number of columns, ten times as many as there are series. Each costs some hundred bytes.
const COLUMNS_MAX: usize = 100_000;

/// Appended to every text: the first line break ends an unterminated last line, so that only a record with
/// an unclosed quote consumes the second.
const END: &[u8] = b"\n\n";

/// Delimiters. The last one wins a tie, because commas may occur inside numbers.
const DELIMITERS: [u8; 4] = [b',', b'|', b'\t', b';'];

/// Detects the delimiter from the first lines of a text; `cut` means that the last line may be incomplete.
/// Returns `None` if no delimiter splits most lines into the same number of columns, at least two.
pub(crate) fn delimiter(head: &str, cut: bool) -> Option<u8> {
    let lines = first_lines(head, cut);
    let mut best = None;
    // Skip delimiters that do not occur.
    let occurs = |delimiter: &u8| lines.as_bytes().contains(delimiter);
    for delimiter in DELIMITERS.into_iter().filter(occurs) {
        let counts = field_counts(&lines, delimiter);
        let fields = most_common(&counts);
        let share = counts.iter().filter(|&&count| count == fields).count();
        if fields >= 2 && share * 2 >= counts.len() {
            let rank = (share, fields);
            if best.is_none_or(|(best, _)| rank >= best) {
                best = Some((rank, delimiter));
            }
        }
    }
    best.map(|(_, delimiter)| delimiter)
}

fn first_lines(head: &str, cut: bool) -> String {
    let mut lines: Vec<&str> = head.lines().collect();
    if cut && lines.len() > 1 {
        lines.pop();
    }
    lines.truncate(HEAD_LINES);
    let comments = has_comments(head);
    lines.retain(|line| !(comments && line.starts_with('#')));
    lines.join("\n")
}

fn field_counts(lines: &str, delimiter: u8) -> Vec<usize> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(lines.as_bytes())
        .byte_records()
        .map_while(Result::ok)
        .map(|record| record.len())
        .collect()
}

fn most_common(counts: &[usize]) -> usize {
    let of = |count: usize| counts.iter().filter(|&&one| one == count).count();
    counts
        .iter()
        .copied()
        .max_by_key(|&count| (of(count), count))
        .unwrap_or(0)
}

/// Returns whether lines that begin with `#` are comments; a header may begin with it too.
fn has_comments(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next() else {
        return false;
    };
    if !first.starts_with('#') {
        return lines.any(|line| line.starts_with('#'));
    }
    let separators = |line: &str| {
        line.bytes()
            .filter(|byte| DELIMITERS.contains(byte))
            .count()
    };
    let next = lines.next().unwrap_or("");
    next.starts_with('#') || separators(first) == 0 || separators(first) != separators(next)
}

pub(crate) fn read(
    source: &str,
    mut input: impl Read,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let mut head = Vec::new();
    (&mut input)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| file_error(source, error))?;
    let head_text = String::from_utf8_lossy(&head).into_owned();
    let delimiter = delimiter(&head_text, head.len() == HEAD_BYTES).ok_or_else(|| {
        InputError::new(
            source,
            "columns separated by a comma, a semicolon, a tab or a bar, a time and a value at least",
            "a text without them",
        )
        .at_line(1)
    })?;
    let comments = has_comments(&head_text);
    let input = Cursor::new(head).chain(input).chain(END);
    let (bounded, passed) = Bounded::new(input);
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .comment(comments.then_some(b'#'));
    let mut rows = Rows {
        source,
        passed,
        reader: builder.from_reader(bounded),
        record: ByteRecord::new(),
    };
    let mut table = Table::new(source, options, delimiter != b',');
    if comments {
        table.warn("lines that begin with # are passed over as remarks".to_owned());
    }
    let Some((first_line, first, _)) = rows.next()? else {
        return table.finish();
    };
    if first.len() > COLUMNS_MAX {
        let expected =
            format!("{COLUMNS_MAX} columns at most: cut the file to those that are wanted");
        let found = format!("{} columns", first.len());
        return Err(InputError::new(source, expected, &found)
            .at_line(first_line)
            .into());
    }
    let is_header = !first
        .iter()
        .any(|cell| times::looks_like_time(cell) || times::is_bare_number(&cell.replace(',', ".")));
    for (index, cell) in first.iter().enumerate() {
        let name = cell.trim().trim_start_matches('#').trim();
        if is_header && !name.is_empty() {
            table.add_column(name);
        } else {
            table.add_column(&format!("column {}", index + 1));
        }
    }
    if !is_header {
        table.row(first_line, cells(&first, false))?;
    }
    let mut repeated = 0;
    while let Some((line, record, quotes)) = rows.next()? {
        if is_header && record == first {
            repeated += 1;
            continue;
        }
        if record.len() != first.len() {
            let found = format!("{} columns", record.len());
            let way = if delimiter == b',' && has_decimal_commas(&record) {
                " (where commas are decimal, let semicolons or tabs separate columns, or write points)"
            } else {
                ""
            };
            let expected = format!("{} columns, as in line {first_line}{way}", first.len());
            return Err(InputError::new(source, expected, &found)
                .at_line(line)
                .into());
        }
        table.row(line, cells(&record, quotes))?;
    }
    if repeated > 0 {
        table.warn(format!(
            "{} of the header passed over",
            count(repeated, "repetition")
        ));
    }
    table.finish()
}

/// Returns whether two adjacent cells look like one number split at its decimal comma: `103` and `86`.
fn has_decimal_commas(record: &StringRecord) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let cells: Vec<&str> = record.iter().map(str::trim).collect();
    cells
        .windows(2)
        .any(|pair| is_digits(pair[0].trim_start_matches(['+', '-'])) && is_digits(pair[1]))
}

/// Returns the cells of a record; their positions in the line are known only if none is quoted.
fn cells(record: &StringRecord, quotes: bool) -> impl Iterator<Item = Cell<'_>> + Clone {
    let mut next = 1;
    record.iter().enumerate().map(move |(column, text)| {
        let at = next;
        next += text.chars().count() + 1;
        Cell {
            column,
            text,
            quoted: false,
            at: (!quotes).then_some(at),
        }
    })
}

/// The records of a text, with the lines in which they begin.
struct Rows<'s, R> {
    source: &'s str,
    passed: InputTracker,
    reader: ::csv::Reader<R>,
    record: ByteRecord,
}

impl<R: Read> Rows<'_, R> {
    /// Returns the next record, the line in which it begins, and whether it contains quotes.
    fn next(&mut self) -> Result<Option<(usize, StringRecord, bool)>, SourceError> {
        let before = self.reader.position().byte();
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                let long = self.passed.is_too_long();
                return Err(match error.into_kind() {
                    ::csv::ErrorKind::Io(error) if !long => file_error(self.source, error),
                    _ => too_long(self.source)
                        .at_line(self.passed.line_from(before))
                        .into(),
                });
            }
        }
        let end = self.reader.position().byte();
        let line = self.passed.line_at(end.saturating_sub(1));
        // The reader reads ahead: bytes it has buffered but not used count towards the next record.
        self.passed.end_piece();
        let record = StringRecord::from_byte_record_lossy(self.record.clone());
        let start = self.record.position().map_or(0, ::csv::Position::byte);
        let raw_len = end.saturating_sub(start);
        let plain_len = self.record.as_slice().len() + self.record.len();
        let breaks = self.record.as_slice().iter().filter(|&&byte| byte == b'\n');
        // The line of the record's end, minus the line breaks inside it.
        let line = line.saturating_sub(breaks.count());
        if self.passed.has_ended_at(end) {
            let expected = "a record whose quotes are closed";
            let found = "a quote that is still open at the end of the file";
            // The appended line break is counted as one inside the record.
            return Err(InputError::new(self.source, expected, found)
                .at_line(line + 1)
                .into());
        }
        // A line end, including blank lines before it, is at least one byte.
        let quotes = raw_len > plain_len as u64 + 1;
        Ok(Some((line, record, quotes)))
    }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
