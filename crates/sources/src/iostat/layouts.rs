//! Lines that begin with a time, as `sar` prints them, and those of `vmstat`.

use super::columns::Rows;
use super::log::{Head, Layout, Log};
use crate::SourceError;
use crate::times;

/// vmstat's columns from procps 3 on, which its `-t`, `-a`, `-w` and `-S` leave in place.
const VMSTAT: [&str; 2] = ["r", "b"];

/// Headings of sar's first columns, which name what a row is about, and what it prints of a restart.
const SAR_NAMES: [&str; 9] = [
    "CPU", "DEV", "IFACE", "INTR", "TTY", "BUS", "FAN", "TEMP", "LINUX",
];

/// The time that begins one of sar's lines, as written, and what follows it.
pub(super) fn timed<'w, 'l>(words: &'w [&'l str]) -> Option<(String, &'w [&'l str])> {
    let (first, rest) = words.split_first()?;
    let is_time = |text: &str| times::clock(&times::plain(text)).is_some();
    if let Some((half, rest)) = rest
        .split_first()
        .filter(|(half, _)| times::is_half_of_day(half))
    {
        let text = format!("{first} {half}");
        return is_time(&text).then(|| (text, without_zone(rest)));
    }
    // `시`, `분` and `초` are words of their own.
    let three = (words.len() > 3).then(|| words[..3].join(" "));
    if let Some(text) = three.filter(|text| text.contains('시') && is_time(text)) {
        return Some((text, &words[3..]));
    }
    is_time(first).then(|| ((*first).to_owned(), without_zone(rest)))
}

/// Leaves out the abbreviation of a zone behind a time, which is no name of a table.
fn without_zone<'w, 'l>(words: &'w [&'l str]) -> &'w [&'l str] {
    match words.split_first() {
        Some((zone, rest))
            if (3..=5).contains(&zone.len())
                && zone.bytes().all(|byte| byte.is_ascii_uppercase())
                && !SAR_NAMES.contains(zone) =>
        {
            rest
        }
        _ => words,
    }
}

/// Returns whether a line begins one of sar's tables: a time, and names of columns.
pub(crate) fn is_sar_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    timed(&words).is_some_and(|(_, rest)| is_names(rest))
}

/// Returns whether a line is vmstat's heading.
pub(crate) fn is_vmstat_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&VMSTAT) && words.contains(&"bo")
}

/// Returns whether words are the names of sar's columns, of which none is a number.
fn is_names(words: &[&str]) -> bool {
    let is_name = |word: &&str| {
        let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
        has_letter && !word.starts_with('(') && super::log::number_of(word).is_none()
    };
    words.len() >= 2 && words[0] != "LINUX" && words.iter().all(is_name)
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
        if self.layout == Layout::Vmstat {
            return self.vmstat_row(number, line, words);
        }
        let Some((stamp, rest)) = timed(words) else {
            // The averages at the end, in any language.
            let is_average = self.layout == Layout::Sar && !line.starts_with("Linux ");
            return Ok(is_average);
        };
        if is_names(rest) {
            self.layout = Layout::Sar;
            // None of sar's reports is about the time since boot.
            self.fresh_header = false;
            let head = match rest[0] {
                "CPU" => Head::new(&rest[1..], Rows::Cpus),
                name if name.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                    Head::new(&rest[1..], Rows::Devices)
                }
                _ => Head::new(rest, Rows::Host),
            };
            self.open(number, head)?;
            return Ok(true);
        }
        if self.layout != Layout::Sar {
            return Ok(false);
        }
        // A restart, or a line that was cut off behind its time.
        let is_row = rest.first().is_some_and(|first| *first != "LINUX");
        let Some(table) = self.table.filter(|_| is_row) else {
            self.remark(number, line);
            return Ok(true);
        };
        self.begin_at(number, stamp)?;
        let kind = self.tables[table].kind();
        self.report().has_devices |= kind == Rows::Devices;
        let (name, values) = match kind {
            Rows::Host | Rows::Processors => ("", rest),
            _ => (rest[0], &rest[1..]),
        };
        self.row(number, line, table, name, values);
        Ok(true)
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

    fn vmstat_row(
        &mut self,
        number: usize,
        line: &str,
        words: &[&str],
    ) -> Result<bool, SourceError> {
        let is_row = words[0].parse::<u64>().is_ok();
        let Some(table) = self.table.filter(|_| is_row) else {
            // The heading of groups, and what was typed.
            if !words[0].starts_with("procs") {
                self.remark(number, line);
            }
            return Ok(true);
        };
        let columns = self.tables[table].columns();
        let (values, time) = words.split_at(columns.min(words.len()));
        let stamp = (!time.is_empty()).then(|| (number, time.join(" ")));
        self.begin(number, stamp)?;
        self.row(number, line, table, "", values);
        Ok(true)
    }
}
