//! How files are read.

use crate::times::TimeReader;
use crate::{Limits, Times};

/// A format of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma, semicolon, tab or bar separated values.
    Csv,
    /// One JSON object a line, or one array of objects.
    JsonLines,
    /// A race.json of Rally.
    RallyRace,
    /// The text of `iostat`.
    Iostat,
    /// The JSON of `sadf -j`.
    Sadf,
}

impl Format {
    /// The formats, for people.
    pub(crate) const KNOWN: &str = "CSV or TSV with a column of times, JSON lines, Rally's race.json (or \
                             a directory of them), the text of iostat, the JSON of sadf -j";
}

/// How files are read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileOptions {
    /// The zone of times, and which are wanted.
    pub times: Times,
    /// What is kept at most.
    pub limits: Limits,
    /// The format; told by the content where it is not given.
    pub format: Option<Format>,
    /// The column or field of times, by its name or its number from 1.
    pub time_column: Option<String>,
    /// How times are written: a strptime format, or `s`, `ms`, `us`, `ns` since 1970.
    pub time_format: Option<String>,
    /// The columns or fields of values; all that hold numbers where none is given.
    pub value_columns: Vec<String>,
    /// The columns or fields that tell series apart, which may be none; found where nothing is said.
    pub label_columns: Option<Vec<String>>,
    /// Columns or fields that count up: their rate per second is read.
    pub counter_columns: Vec<String>,
    /// Seconds between reports, for an `iostat` log that does not tell.
    pub step_s: Option<f64>,
}

impl FileOptions {
    pub(crate) fn time_reader(&self) -> TimeReader {
        TimeReader::new(&self.times, self.time_format.as_deref())
    }
}
