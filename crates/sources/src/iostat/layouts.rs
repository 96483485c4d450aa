//! Lines that begin with a time, as `sar` prints them, and those of `vmstat`.

use super::columns::{DEVICE, Rows};
use super::log::{Head, Layout, Log, is_head, number_of};
use crate::SourceError;
use crate::times;

/// vmstat's columns from procps 3 on, which its `-t`, `-a`, `-w` and `-S` leave in place.
const VMSTAT: [&str; 2] = ["r", "b"];

/// All of them, in the order of procps' `vmstat.c`; `gu` came with 4.0.
const VMSTAT_COLUMNS: [&str; 18] = [
    "r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy",
    "id", "wa", "st", "gu",
];
/// The first of those that share the processors' time, in percent.
const VMSTAT_CPU: usize = 12;

/// Headings of sar's first columns that name what a row is about, with their labels; those without hold text, too.
const NAMED_FIRST: [(&str, Option<&str>); 10] = [
    ("DEV", Some(DEVICE)),
    ("IFACE", Some("interface")),
    ("INTR", Some("interrupt")),
    ("TTY", Some("tty")),
    ("FCHOST", Some("adapter")),
    ("CPU", Some("cpu")),
    ("BUS", None),
    ("FAN", None),
    ("TEMP", None),
    ("IN", None),
];
/// The same of last columns.
const NAMED_LAST: [&str; 2] = ["FILESYSTEM", "MOUNTPOINT"];

/// Returns how many words of one of sar's headings are its time; `None` if it is none. A row has the same number.
fn time_words(words: &[&str]) -> Option<usize> {
    // Most lines have no time; not to look twice.
    if words
        .first()
        .is_none_or(|first| first.is_ascii() && !first.contains(':'))
    {
        return None;
    }
    let is_named = |word: &str| NAMED_FIRST.iter().any(|(name, _)| *name == word);
    // At most `10:20:40 PM IST`, or three words in Korean.
    (1..=3.min(words.len())).rev().find(|&number| {
        let (time, names) = words.split_at(number);
        is_time(time) && (number == 1 || !is_named(time[number - 1])) && is_names(names)
    })
}

fn is_time(words: &[&str]) -> bool {
    times::clock(&times::plain(&words.join(" "))).is_some()
}

/// Returns whether a line begins one of sar's tables: a time, and names of columns.
pub(crate) fn is_sar_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    time_words(&words).is_some()
}

/// Returns whether a line is vmstat's heading.
pub(crate) fn is_vmstat_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&VMSTAT) && words.contains(&"bo")
}

/// Returns the columns of a row of vmstat without its heading: whole numbers, with a time behind them at most, of
/// which those of the processors add up to 100 % as rounded.
fn bare_vmstat_columns(words: &[&str]) -> Option<&'static [&'static str]> {
    let numbers: Vec<u64> = words
        .iter()
        .map_while(|word| word.parse().ok())
        .take(VMSTAT_COLUMNS.len())
        .collect();
    let has_time_at_most = words.len() <= numbers.len() + 3;
    let percent: u64 = numbers
        .get(VMSTAT_CPU..)?
        .iter()
        .copied()
        .fold(0, u64::saturating_add);
    let is_row = numbers.len() >= 16 && has_time_at_most && (97..=103).contains(&percent);
    is_row.then(|| &VMSTAT_COLUMNS[..numbers.len()])
}

/// Returns whether a text is what vmstat printed, cut off behind its heading.
pub(crate) fn is_bare_vmstat(text: &str) -> bool {
    let rows = text.lines().filter(|line| !line.trim().is_empty());
    let is_row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        bare_vmstat_columns(&words).is_some()
    };
    rows.clone().nth(1).is_some() && rows.take(2).all(is_row)
}

/// Returns whether words are the names of sar's columns, of which none is a number.
fn is_names(words: &[&str]) -> bool {
    let is_name = |word: &&str| {
        let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
        has_letter && !word.starts_with('(') && number_of(word).is_none()
    };
    words.len() >= 2 && words[0] != "LINUX" && words.iter().all(is_name)
}

/// Returns whether a line is one of sar's averages, in any language: `Average:`, `Moyenne :`.
fn is_average(words: &[&str]) -> bool {
    let ends = |word: &&str| word.ends_with([':', '：']);
    words.iter().take(2).any(ends)
}

impl Log<'_> {
    /// Reads a line of sar or vmstat; returns whether it was one.
    pub(super) fn other_layout(
        &mut self,
        number: usize,
        line: &str,
        words: &[&str],
    ) -> Result<bool, SourceError> {
        if is_vmstat_head(line) {
            self.layout = Layout::Vmstat;
            // With -t, the zone of the times stands above them.
            let last = words.iter().rposition(|word| ["st", "gu"].contains(word));
            let columns = last.map_or(words, |last| &words[..=last]);
            // The first row below the first heading is about the time since boot.
            self.fresh_header |= self.reports.is_empty();
            self.open(number, Head::new(columns, Rows::Host))?;
            return Ok(true);
        }
        if let Some(time_words) = time_words(words) {
            self.layout = Layout::Sar { time_words };
            // None of sar's reports is about the time since boot.
            self.fresh_header = false;
            self.sar_head(number, &words[time_words..])?;
            return Ok(true);
        }
        if self.tables.is_empty()
            && let Some(columns) = bare_vmstat_columns(words)
        {
            self.layout = Layout::Vmstat;
            self.open(number, Head::new(columns, Rows::Host))?;
        }
        let is_other = |log: &mut Self| {
            // Another program's output below it.
            let is_head = is_head(line, words);
            if is_head {
                log.layout = Layout::Iostat;
                log.table = None;
            }
            is_head
        };
        match self.layout {
            Layout::Iostat => Ok(false),
            Layout::Sar { time_words } => {
                let (time, rest) = words.split_at(time_words.min(words.len()));
                if is_time(time) {
                    self.sar_row(number, line, &time.join(" "), rest)?;
                } else if !is_average(words) {
                    if is_other(self) {
                        return Ok(false);
                    }
                    self.remark(number, line);
                }
                Ok(true)
            }
            Layout::Vmstat => {
                let is_row = words[0].parse::<u64>().is_ok();
                if let Some(table) = self.table.filter(|_| is_row) {
                    let columns = self.tables[table].columns();
                    let (values, time) = words.split_at(columns.min(words.len()));
                    let stamp = (!time.is_empty()).then(|| (number, time.join(" ")));
                    self.begin(number, stamp)?;
                    self.row(number, line, table, "", values);
                } else if is_other(self) {
                    return Ok(false);
                } else if !words[0].starts_with("procs") {
                    self.remark(number, line);
                }
                Ok(true)
            }
        }
    }

    /// Starts one of sar's tables. One that holds text is left out.
    fn sar_head(&mut self, number: usize, names: &[&str]) -> Result<(), SourceError> {
        let last = names.len() - 1;
        let first = NAMED_FIRST.iter().find(|(name, _)| *name == names[0]);
        let head = match first {
            Some((name, None)) => {
                self.table = None;
                self.with_text.insert((*name).to_owned());
                return Ok(());
            }
            Some((_, Some("cpu"))) => Head::new(&names[1..], Rows::Cpus),
            Some((_, Some(label))) => Head::new(&names[1..], Rows::First(label)),
            None if NAMED_LAST.contains(&names[last]) => {
                Head::new(&names[..last], Rows::Last("filesystem"))
            }
            // With -p and --pretty, what is named first otherwise is last.
            None => match NAMED_FIRST.iter().find(|(name, _)| *name == names[last]) {
                Some((_, Some(label))) => Head::new(&names[..last], Rows::Last(label)),
                _ => Head::new(names, Rows::Host),
            },
        };
        self.open(number, head)
    }

    fn sar_row(
        &mut self,
        number: usize,
        line: &str,
        time: &str,
        rest: &[&str],
    ) -> Result<(), SourceError> {
        // A restart, or a line that was cut off behind its time.
        if rest.first().is_none_or(|first| *first == "LINUX") {
            self.remark(number, line);
            return Ok(());
        }
        // Of a table that was left out, or whose heading is not there.
        let Some(table) = self.table else {
            if self.with_text.is_empty() {
                self.remark(number, line);
            }
            return Ok(());
        };
        self.begin_at(number, time.to_owned())?;
        let kind = self.tables[table].kind();
        let is_device = [Rows::First(DEVICE), Rows::Last(DEVICE)].contains(&kind);
        self.report().has_devices |= is_device;
        let (name, values) = kind.split(rest);
        self.row(number, line, table, name, values);
        Ok(())
    }

    /// Makes the report of a time the current one; sar prints each of its tables for all times before the next.
    fn begin_at(&mut self, number: usize, stamp: String) -> Result<(), SourceError> {
        let key = (self.headers.len(), stamp);
        if let Some(known) = self.by_time.get(&key) {
            self.current = *known;
            return Ok(());
        }
        self.begin(number, Some((number, key.1.clone())))?;
        self.by_time.insert(key, self.current);
        Ok(())
    }
}
