//! Parses the lines of an `iostat` log: headers, reports, tables.

use super::columns::{DEVICE, Rows, draft};
use crate::collector::SeriesCollector;
use crate::times::{self, Slashes};
use crate::{Limits, SourceError, Times};
use facts::InputError;
use facts::series::SampleOf;
use std::collections::{BTreeSet, HashMap};

/// Columns that identify the heading of a device table in any language.
const DEVICE_COLUMNS: &[&str] = &[
    "tps",
    "r/s",
    "w/s",
    "rkB/s",
    "rMB/s",
    "rsec/s",
    "kB_read/s",
    "MB_read/s",
    "Blk_read/s",
    "kB/s",
    "MB/s",
    "aqu-sz",
    "avgqu-sz",
    "d/s",
    "wkB/s",
    "wMB/s",
    "dkB/s",
    "dMB/s",
    "f/s",
    "%util",
];

/// Maximum number of distinct tables (by columns or host) in one log.
const TABLES_MAX: usize = 1_000;

/// Maximum length of a foreign line quoted in a warning, in characters.
const REMARK_CHARS_MAX: usize = 40;

/// The line about the host: `Linux 4.4.0-1105-aws (mongo-03) 04/13/2020 _x86_64_ (64 CPU)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) line: usize,
    pub(super) kernel: String,
    pub(super) host: String,
    pub(super) date: String,
}

impl Header {
    fn parse(text: &str, line: usize) -> Option<Self> {
        let mut words = text.split_whitespace();
        let system = words.next()?;
        let kernel = words.next()?;
        let host = words.next()?.strip_prefix('(')?.strip_suffix(')')?;
        // Of the words of a date, only those of East Asia are several; `_x86_64_` comes next.
        let rest: Vec<&str> = words
            .clone()
            .take_while(|word| !word.starts_with('_'))
            .collect();
        let date = times::plain(&rest.join(" ")).into_owned();
        let date = date.split(' ').next()?;
        let is_date =
            date.starts_with(|c: char| c.is_ascii_digit()) && date.contains(['/', '-', '.']);
        // A date in digits that are not ours is none that can be read; the line is still about the host.
        let has_machine =
            words.any(|word| word.len() > 2 && word.starts_with('_') && word.ends_with('_'));
        (system == "Linux" && (is_date || has_machine)).then(|| Self {
            line,
            kernel: kernel.to_owned(),
            host: host.to_owned(),
            date: date.to_owned(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Report {
    pub(super) line: usize,
    /// Its timestamp, as written.
    pub(super) stamp: Option<(usize, String)>,
    /// The index of the header above it.
    pub(super) header: Option<usize>,
    /// Whether it is the first one below that header.
    pub(super) is_first: bool,
    pub(super) has_cpu: bool,
    pub(super) has_devices: bool,
    /// The interval that it covers in seconds, computed from totals and rates, and the possible error.
    pub(super) step_s: Option<(f64, f64)>,
}

/// The heading of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    columns: Vec<String>,
    kind: Rows,
}

/// A table of one host, with the series of its rows.
#[derive(Debug)]
pub(super) struct Table {
    head: Head,
    host: Option<(String, String)>,
    /// The number of the report in which it was last opened.
    opened_in: usize,
    /// For each column of totals, its column of rates.
    rates: Vec<Option<usize>>,
    series: HashMap<String, Vec<Option<usize>>>,
}

/// Returns whether a line begins a log or one of iostat's tables.
pub(super) fn is_head(line: &str, words: &[&str]) -> bool {
    Header::parse(line, 1).is_some() || processors(words).is_some() || devices(words).is_some()
}

fn processors(words: &[&str]) -> Option<Head> {
    let is_head = words.first()?.starts_with("avg-cpu") && words.contains(&"%idle");
    is_head.then(|| Head::new(&words[1..], Rows::Processors))
}

fn devices(words: &[&str]) -> Option<Head> {
    let known = words
        .iter()
        .filter(|word| DEVICE_COLUMNS.contains(word))
        .count();
    let (first, last) = (words.first()?, words.last()?);
    let device_last = *last == "Device";
    // The heading of the device column differs between languages.
    if known < 2 || DEVICE_COLUMNS.contains(first) != device_last || first.contains(',') {
        return None;
    }
    Some(if device_last {
        Head::new(&words[..words.len() - 1], Rows::Last(DEVICE))
    } else {
        Head::new(&words[1..], Rows::First(DEVICE))
    })
}

impl Table {
    pub(super) fn kind(&self) -> Rows {
        self.head.kind
    }

    /// Returns the number of columns.
    pub(super) fn columns(&self) -> usize {
        self.head.columns.len()
    }
}

impl Head {
    pub(super) fn new(columns: &[&str], kind: Rows) -> Self {
        Self {
            columns: columns.iter().map(|&word| word.to_owned()).collect(),
            kind,
        }
    }
}

pub(super) struct Log<'s> {
    pub(super) source: &'s str,
    pub(super) collector: SeriesCollector,
    pub(super) headers: Vec<Header>,
    pub(super) reports: Vec<Report>,
    /// All distinct tables, and the index of the current one.
    pub(super) tables: Vec<Table>,
    pub(super) table: Option<usize>,
    pub(super) reports_max: usize,
    /// Whether no report has followed the last header yet.
    pub(super) fresh_header: bool,
    /// Foreign lines between reports: index of the previous report, line number, text.
    pub(super) remarks: Vec<(usize, usize, String)>,
    pub(super) remark_count: usize,
    /// The interval in a command line found in the text: `$ sudo iostat 3`.
    pub(super) command_step_s: Option<f64>,
    /// Columns of totals, which are skipped.
    pub(super) totals: BTreeSet<String>,
    /// An incomplete row. That is fine for the last row of a log that is still being written.
    pub(super) broken: Option<InputError>,
    /// Whether lines begin with times, as sar's do, or are vmstat's.
    pub(super) layout: Layout,
    /// The report that is being read, and those of sar by the number of headers above them and time.
    pub(super) current: usize,
    pub(super) by_time: HashMap<(usize, String), usize>,
    /// Tables of sar that hold text, which are left out.
    pub(super) with_text: BTreeSet<String>,
}

/// How reports are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Tables with a heading, with a time above them if at all.
    Iostat,
    /// A time, of so many words, before each heading and row.
    Sar { time_words: usize },
    /// A report per row.
    Vmstat,
}

impl<'s> Log<'s> {
    pub(super) fn new(source: &'s str, limits: Limits) -> Self {
        // Report numbers stand in for times until the times are known.
        let everything = Times::default();
        let mut collector = SeriesCollector::new(source, &everything, limits);
        collector.sample_of = Some(SampleOf::Interval);
        Self {
            source,
            collector,
            headers: Vec::new(),
            reports: Vec::new(),
            tables: Vec::new(),
            table: None,
            reports_max: limits.samples_max,
            fresh_header: false,
            remarks: Vec::new(),
            remark_count: 0,
            command_step_s: None,
            totals: BTreeSet::new(),
            broken: None,
            layout: Layout::Iostat,
            current: 0,
            by_time: HashMap::new(),
            with_text: BTreeSet::new(),
        }
    }

    pub(super) fn line(&mut self, number: usize, line: &str) -> Result<(), SourceError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            // vmstat prints its heading only now and then.
            if self.layout != Layout::Vmstat {
                self.table = None;
            }
            return Ok(());
        }
        if let Some(error) = self.broken.take() {
            return Err(error.into());
        }
        if self.other_layout(number, line, &words)? {
            return Ok(());
        }
        if let Some(header) = Header::parse(line, number) {
            self.headers.push(header);
            self.table = None;
            self.fresh_header = true;
            return Ok(());
        }
        if let Some(head) = processors(&words) {
            if self.last(|report| report.has_cpu || report.has_devices) {
                self.begin(number, None)?;
            }
            self.report().has_cpu = true;
            return self.open(number, head);
        }
        if let Some(head) = devices(&words) {
            // With -h, reads, writes and discards have a table each.
            let is_next = |log: &Self| head.kind != Rows::Last(DEVICE) || log.was_open(&head);
            if self.last(|report| report.has_devices) && is_next(self) {
                self.begin(number, None)?;
            }
            self.report().has_devices = true;
            return self.open(number, head);
        }
        if words[0].starts_with('#') {
            self.table = None;
            self.remark(number, line);
            return Ok(());
        }
        let Some(table) = self.table else {
            if let Some(stamp) = stamp(line) {
                return self.begin(number, Some((number, stamp)));
            }
            self.remark(number, line);
            return Ok(());
        };
        let kind = self.tables[table].head.kind;
        if kind == Rows::Processors {
            self.table = None;
        }
        let (name, values) = kind.split(&words);
        self.row(number, line, table, name, values);
        Ok(())
    }

    /// Starts a table with this heading.
    pub(super) fn open(&mut self, line: usize, head: Head) -> Result<(), SourceError> {
        let header = self.headers.last();
        let host = header.map(|header| (header.kernel.clone(), header.host.clone()));
        let known = self
            .tables
            .iter()
            .position(|table| table.head == head && table.host == host);
        if known.is_none() {
            if self.tables.len() >= TABLES_MAX {
                let expected = format!("{TABLES_MAX} different tables at most");
                return Err(InputError::new(self.source, expected, "more")
                    .at_line(line)
                    .into());
            }
            let rate_of = |column: &String| rate_of_total(column, &head.columns);
            self.tables.push(Table {
                rates: head.columns.iter().map(rate_of).collect(),
                head,
                host,
                opened_in: 0,
                series: HashMap::new(),
            });
        }
        let table = known.unwrap_or(self.tables.len() - 1);
        self.tables[table].opened_in = self.reports.len();
        self.table = Some(table);
        Ok(())
    }

    /// Returns whether the current report has a table with this heading already.
    fn was_open(&self, head: &Head) -> bool {
        let report = self.reports.len();
        let mut tables = self.tables.iter();
        tables.any(|table| table.head == *head && table.opened_in == report)
    }

    /// Returns whether there is no current report, or the current one satisfies a condition.
    fn last(&self, is: impl Fn(&Report) -> bool) -> bool {
        self.fresh_header || self.reports.last().is_none_or(is)
    }

    pub(super) fn begin(
        &mut self,
        line: usize,
        stamp: Option<(usize, String)>,
    ) -> Result<(), SourceError> {
        if self.reports.len() >= self.reports_max {
            let expected = format!("{} reports at most", self.reports_max);
            return Err(InputError::new(self.source, expected, "more")
                .at_line(line)
                .into());
        }
        self.reports.push(Report {
            line,
            stamp,
            header: self.headers.len().checked_sub(1),
            is_first: self.fresh_header,
            ..Report::default()
        });
        self.fresh_header = false;
        self.current = self.reports.len() - 1;
        Ok(())
    }

    /// Returns the current report; a table without one starts one.
    pub(super) fn report(&mut self) -> &mut Report {
        if self.reports.is_empty() {
            self.reports.push(Report::default());
        }
        let current = self.current;
        &mut self.reports[current]
    }

    pub(super) fn remark(&mut self, number: usize, line: &str) {
        if let Some((_, arguments)) = line.split_once("iostat") {
            let step = arguments
                .split_whitespace()
                .find_map(|word| word.parse::<u32>().ok());
            self.command_step_s = self.command_step_s.or(step.map(f64::from));
        }
        self.remark_count += 1;
        if self.remarks.len() < 100 {
            let text = line.trim().chars().take(REMARK_CHARS_MAX).collect();
            self.remarks.push((self.reports.len(), number, text));
        }
    }

    pub(super) fn row(
        &mut self,
        number: usize,
        line: &str,
        table: usize,
        name: &str,
        words: &[&str],
    ) {
        let Table {
            head,
            host,
            rates,
            series,
            ..
        } = &mut self.tables[table];
        let columns = &head.columns;
        if words.len() != columns.len() {
            let expected = format!("{} numbers, as many as columns", columns.len());
            let found = format!("{} in {}", words.len(), line.trim());
            self.broken = Some(InputError::new(self.source, expected, &found).at_line(number));
            return;
        }
        let mut values = Vec::with_capacity(words.len());
        for (word, column) in words.iter().zip(columns) {
            let Some(value) = number_of(word) else {
                let at = line.find(word).unwrap_or(0);
                let expected = format!("a number in column {column}");
                self.broken = Some(
                    InputError::new(self.source, expected, word)
                        .at_line(number)
                        .at_column(line[..at].chars().count() + 1),
                );
                return;
            };
            values.push(value);
        }
        let report = self.current;
        for (total, rate) in rates.iter().enumerate() {
            let Some(rate) = *rate else { continue };
            if values[total] > 0.0 && values[rate] > 0.0 {
                let step_s = values[total] / values[rate];
                let wrong_s = step_s * (rounded(words[total]) + rounded(words[rate]));
                let known = &mut self.reports[report].step_s;
                if known.is_none_or(|(_, known)| wrong_s < known) {
                    *known = Some((step_s, wrong_s));
                }
            }
        }
        if !series.contains_key(name) {
            let host = host.as_ref().map(|(kernel, host)| (&kernel[..], &host[..]));
            let ids = columns.iter().zip(rates.iter()).map(|(column, rate)| {
                if rate.is_some() {
                    self.totals.insert(column.clone());
                    return None;
                }
                // Another table may have the same columns in a different order.
                let kind = head.kind;
                let apart = (kind == Rows::Host).then_some(columns);
                let key = format!("{kind:?} {name} {column} {host:?} {apart:?}");
                let draft = || draft(kind, name, column, columns, host);
                self.collector.id(&key, draft)
            });
            let ids = ids.collect();
            series.insert(name.to_owned(), ids);
        }
        let index = i64::try_from(report).unwrap_or(i64::MAX);
        for ((value, id), rate) in values.iter().zip(&series[name]).zip(rates.iter()) {
            if rate.is_none() {
                self.collector.push(*id, index, Some(*value));
            }
        }
    }
}

/// Returns the timestamp in a line, if the line is the timestamp of the next report.
fn stamp(line: &str) -> Option<String> {
    let text = line.trim();
    let text = text.strip_prefix("Time:").map_or(text, str::trim);
    // A format that the user named reads what was written.
    let plain = times::plain(text);
    let is_time = |text: &str| {
        Slashes::parse(text).is_some()
            || times::clock(text).is_some()
            || times::looks_like_time(text)
    };
    is_time(&plain).then(|| text.to_owned())
}

/// Parses a number with a point or a comma; with `-h`, it may have a suffix for thousands, or `%`.
pub(super) fn number_of(word: &str) -> Option<f64> {
    let word = word.strip_suffix('%').unwrap_or(word);
    let (digits, factor) = match word.as_bytes().last()? {
        b'k' => (&word[..word.len() - 1], 1.0),
        b'M' => (&word[..word.len() - 1], 1024.0),
        b'G' => (&word[..word.len() - 1], 1024.0 * 1024.0),
        b'T' => (&word[..word.len() - 1], 1024.0 * 1024.0 * 1024.0),
        _ => (word, 1.0),
    };
    let number = if digits.contains(',') {
        digits.replacen(',', ".", 1).parse::<f64>()
    } else {
        digits.parse()
    };
    number.ok().map(|number| number * factor)
}

/// Returns the possible error of a printed number, as a fraction: half of its last digit, or a whole one
/// for whole numbers, because some versions truncate these.
fn rounded(word: &str) -> f64 {
    let Some(number) = number_of(word.trim_end_matches(char::is_alphabetic)) else {
        return 1.0;
    };
    let digits = word.trim_end_matches(char::is_alphabetic);
    let last = match digits.split_once(['.', ',']) {
        Some((_, fraction)) => 0.5 * 0.1_f64.powi(i32::try_from(fraction.len()).unwrap_or(9)),
        None => 1.0,
    };
    last / number
}

/// Returns the column of rates, such as `kB_wrtn/s`, for a column of totals, `kB_wrtn`.
fn rate_of_total(column: &str, columns: &[String]) -> Option<usize> {
    columns
        .iter()
        .position(|rate| rate.strip_suffix("/s") == Some(column))
}
