//! The text output of sysstat's `iostat` and `sar`, version 9 and later, in every layout and language, and of `vmstat`; a
//! whole log or a pasted excerpt. And the counters that these are made of, in [`diskstats`].
//!
//! The layouts are those of sysstat's `iostat.c` and `pr_stats.c`, and of procps' `vmstat.c`: a line about the host, then
//! reports. Those of iostat consist of a table with one row for the processors (`avg-cpu`) and a table with a row per
//! device; in sar's tables, a time begins each line; a row of vmstat is a report. Columns are identified by the table
//! headings.

mod columns;
mod dating;
pub(crate) mod diskstats;
mod layouts;
mod log;

use crate::options::FileOptions;
use crate::text::Lines;
use crate::{Reading, SourceError};
use dating::Dated;
use facts::series::Dating;
use facts::{InputError, Skipped};
use log::Log;
use std::io::BufRead;
use units::count;

/// Returns whether a line can only come from `iostat`, `sar` or `vmstat`.
pub(crate) fn is_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    log::is_head(line, &words) || layouts::is_sar_head(line) || layouts::is_vmstat_head(line)
}

pub(crate) use layouts::is_bare_vmstat;

pub(crate) fn read(
    source: &str,
    input: impl BufRead,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let mut log = Log::new(source, options.limits);
    let mut lines = Lines::new(source, input);
    while let Some((number, line)) = lines.next()? {
        log.line(number, &line)?;
    }
    log.finish(options)
}

impl Log<'_> {
    fn finish(mut self, options: &FileOptions) -> Result<Reading, SourceError> {
        if self.reports.is_empty() {
            let expected = "reports of iostat: tables with a head";
            return Err(InputError::new(self.source, expected, "none").into());
        }
        if let Some(error) = self.broken.take() {
            self.collector
                .warnings
                .push(format!("the last line is not whole: {error}"));
        }
        let dated = dating::date(&self, options)?;
        self.add_warnings(&dated);
        let mut wanted_us = options.times.wanted_us();
        let Dated {
            dating,
            mut times_us,
            notes,
            ..
        } = dated;
        // Of what happened since boot the average is known, which tells whether anything was ever discarded.
        let is_since_boot = times_us.iter().all(Option::is_none);
        if is_since_boot {
            times_us = (0..times_us.len())
                .map(|index| i64::try_from(index).ok().map(|index| index * 1_000_000))
                .collect();
        }
        let dating = if is_since_boot {
            Dating::Undated
        } else {
            dating
        };
        let is_wanted = options.times.since.is_some() || options.times.until.is_some();
        if dating == Dating::Undated && is_wanted {
            let warning = "the times that are wanted are not looked at: the log is not dated";
            self.collector.warnings.push(warning.to_owned());
            wanted_us = i64::MIN..i64::MAX;
        }
        for time in &mut times_us {
            *time = time.filter(|time| wanted_us.contains(time));
        }
        if times_us.iter().all(Option::is_none) {
            return Err(SourceError::empty(
                self.source,
                "no report lies between the times that are wanted",
            ));
        }
        let kept = times_us.iter().zip(&self.reports);
        let with_devices = kept
            .filter(|(time, report)| time.is_some() && report.has_devices)
            .count();
        let notes: &[String] = if is_since_boot { &[] } else { &notes };
        let mut reading = self.collector.finish_with(dating, notes, |index| {
            *times_us.get(usize::try_from(index).ok()?)?
        })?;
        for one in &mut reading.series {
            if is_since_boot {
                one.labels.insert("since".to_owned(), "boot".to_owned());
            }
            let absent = with_devices.saturating_sub(one.values.len());
            if absent > 0 && one.labels.contains_key("device") {
                one.notes.push(format!(
                    "not in {}: with -z, iostat leaves out devices that did nothing",
                    count(absent, "report")
                ));
            }
        }
        Ok(reading)
    }

    fn add_warnings(&mut self, dated: &Dated) {
        if !self.totals.is_empty() {
            let names: Vec<&str> = self.totals.iter().map(String::as_str).collect();
            self.collector.skipped.push(Skipped::new(
                format!("columns {}", names.join(", ")),
                "they are the rates times the interval",
                None,
            ));
        }
        if !self.with_text.is_empty() {
            let names: Vec<&str> = self.with_text.iter().map(String::as_str).collect();
            self.collector.skipped.push(Skipped::new(
                format!("sar's tables {}", names.join(", ")),
                "they hold text",
                None,
            ));
        }
        self.collector
            .warnings
            .extend(dated.warnings.iter().cloned());
        let last = self.reports.len();
        for (before, line, text) in &self.remarks {
            if (1..last).contains(before) {
                let gap = if dated.is_counted {
                    ": time may be missing there"
                } else {
                    ""
                };
                self.collector.warnings.push(format!(
                    "line {line} is not part of a report: {text:?}{gap}"
                ));
            }
        }
        if self.remark_count > self.remarks.len() {
            let lines = count(self.remark_count, "line");
            self.collector
                .warnings
                .push(format!("{lines} in all belong to no report"));
        }
    }
}

#[cfg(test)]
#[path = "iostat_tests.rs"]
mod tests;
