//! Options for reading files.

use crate::times::TimeReader;
use crate::{Limits, Times};
use jiff::civil::Date;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Values separated by commas, semicolons, tabs or bars.
    Csv,
    /// One JSON object per line, or an array of objects.
    JsonLines,
    /// A race.json of Rally.
    RallyRace,
    /// The text output of `iostat`.
    Iostat,
    /// Copies of /proc/diskstats below a time each, as pt-stalk keeps them.
    Diskstats,
    /// The JSON output of `sadf -j`.
    Sadf,
    /// A saved answer of Prometheus' `query_range`.
    PrometheusAnswer,
    /// A saved answer to a search of Elasticsearch or OpenSearch.
    SearchAnswer,
}

impl Format {
    /// The formats, for error messages.
    pub(crate) const KNOWN_FORMATS: &str = "CSV or TSV with a column of times, JSON lines, Rally's race.json (or \
                             a directory of them), the text of iostat, sar or vmstat, the JSON of sadf -j or of iostat, \
                             pt-stalk's -diskstats, \
                             a saved answer of Prometheus' query_range or of a search with a date_histogram";
}

/// Options for reading files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileOptions {
    /// Patterns of the names of wanted series; if empty all of them, or a choice of the reader's.
    pub select: Vec<String>,
    /// The zone and range of times.
    pub times: Times,
    /// Limits on the data kept.
    pub limits: Limits,
    /// The format; detected if not given.
    pub format: Option<Format>,
    /// The column or field of times, by its name or its number from 1.
    pub time_column: Option<String>,
    /// The format of times: a strptime format, or `s`, `ms`, `us`, `ns` since 1970.
    pub time_format: Option<String>,
    /// The columns or fields of values; by default all numeric ones.
    pub value_columns: Vec<String>,
    /// The columns or fields that distinguish series, possibly none; detected if not given.
    pub label_columns: Option<Vec<String>>,
    /// Columns or fields that are counters, to be converted to rates per second.
    pub counter_columns: Vec<String>,
    /// The day of the first report of a log of disks that has no date of its own.
    pub date: Option<Date>,
    /// Seconds between reports, for an `iostat` log from which this cannot be determined.
    pub step_s: Option<f64>,
}

impl FileOptions {
    pub(crate) fn time_reader(&self) -> TimeReader {
        TimeReader::new(&self.times, self.time_format.as_deref())
    }
}
