//! Copies of /proc/diskstats below a time each, as Percona's pt-stalk keeps them in `PREFIX-diskstats` (`TS SECONDS DATE
//! TIME`), or a loop of one's own. The counters become what `iostat -x` shows of them.

use super::columns::{DEVICE, Rows, draft};
use crate::collector::SeriesCollector;
use crate::options::FileOptions;
use crate::text::Lines;
use crate::times::{TimeReader, looks_like_time};
use crate::{Reading, SourceError, clean};
use facts::series::{Dating, SampleOf, Series};
use facts::{InputError, Skipped};
use linux::counters::{DeviceCounters, ms_between, parse_columns};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use units::count;

/// Maximum number of names in a list.
const NAMED_MAX: usize = 5;
/// A counter of milliseconds that fell from below this began anew; from above, it wrapped.
const WRAPS_FROM_MS: u64 = 1 << 31;

/// Returns whether a text begins with a time and a line of /proc/diskstats below it.
pub(crate) fn is_log(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else {
        return false;
    };
    let words: Vec<&str> = second.split_ascii_whitespace().collect();
    looks_like_time(time_of(first)) && is_device(&words) && parse_columns(&words).is_ok()
}

/// Returns the time of a line: of pt-stalk's, the seconds.
fn time_of(line: &str) -> &str {
    let stamp = line.strip_prefix("TS ").map(str::trim_start);
    let seconds = stamp.map(|stamp| stamp.split(' ').next().unwrap_or(stamp));
    seconds.unwrap_or(line).trim()
}

/// Returns whether the words are those of a device: `8 0 sda ...`.
fn is_device(words: &[&str]) -> bool {
    let is_number = |word: &&str| word.parse::<u32>().is_ok();
    words.len() > 3 && words[..2].iter().all(is_number) && !is_number(&words[2])
}

pub(crate) fn read(
    source: &str,
    input: impl BufRead,
    options: &FileOptions,
) -> Result<Reading, SourceError> {
    let mut collector = SeriesCollector::new(source, &options.times, options.limits);
    collector.sample_of = Some(SampleOf::Interval);
    let mut log = Log {
        source,
        collector,
        reader: options.time_reader(),
        now_us: None,
        copies: 0,
        devices: BTreeMap::new(),
        partitions: BTreeSet::new(),
        resets: 0,
        not_later: 0,
    };
    let mut lines = Lines::new(source, input);
    let mut broken: Option<InputError> = None;
    while let Some((number, line)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(error) = broken.take() {
            return Err(error.into());
        }
        let outcome = if lines.has_end() {
            log.line(&line)
        } else {
            Err(("a line with its end".to_owned(), line.clone()))
        };
        broken = outcome
            .err()
            .map(|(expected, found)| InputError::new(source, expected, &found).at_line(number));
        log.collector.check_limits()?;
    }
    if let Some(error) = broken {
        let warning = format!("the last line is not whole: {error}");
        log.collector.warnings.push(warning);
    }
    log.finish()
}

/// A device, as the last copy shows it.
struct Device {
    at_us: i64,
    columns: usize,
    counters: DeviceCounters,
    /// Whether it ever did anything from one copy to the next.
    is_used: bool,
}

struct Log<'s> {
    source: &'s str,
    collector: SeriesCollector,
    reader: TimeReader,
    /// The time of the copy that is being read.
    now_us: Option<i64>,
    copies: usize,
    devices: BTreeMap<String, Device>,
    partitions: BTreeSet<String>,
    resets: usize,
    not_later: usize,
}

impl Log<'_> {
    /// Reads a line; otherwise what was expected, and what was found.
    fn line(&mut self, line: &str) -> Result<(), (String, String)> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if !is_device(&words) {
            let time = time_of(line);
            let at_us = self.reader.read_us(time);
            self.now_us = Some(at_us.map_err(|expected| {
                let expected = format!("{expected}, or a line of /proc/diskstats");
                (expected, time.to_owned())
            })?);
            self.copies += 1;
            return Ok(());
        }
        let wrong = |expected: &str| (expected.to_owned(), line.trim().to_owned());
        let at_us = self
            .now_us
            .ok_or_else(|| wrong("a time above the lines of /proc/diskstats"))?;
        let counters = parse_columns(&words).map_err(|why| {
            (
                format!("a line of /proc/diskstats ({why})"),
                line.trim().to_owned(),
            )
        })?;
        let name = words[2];
        if self.is_partition(name) {
            self.partitions.insert(name.to_owned());
            return Ok(());
        }
        let mut device = Device {
            at_us,
            columns: words.len(),
            counters,
            is_used: false,
        };
        if let Some(before) = self.devices.get(name) {
            if before.columns != device.columns {
                let expected = format!("{} columns, as before", before.columns);
                return Err(wrong(&expected));
            }
            device.is_used = before.is_used || before.counters != counters;
            if at_us <= before.at_us {
                self.not_later += 1;
            } else if has_begun_anew(&before.counters, &counters) {
                self.resets += 1;
            } else {
                #[expect(clippy::cast_precision_loss, reason = "microseconds of an interval")]
                let seconds = at_us.abs_diff(before.at_us) as f64 / 1e6;
                let figures = figures(&before.counters, &counters, seconds);
                self.push(name, at_us, &figures);
            }
        }
        self.devices.insert(name.to_owned(), device);
        Ok(())
    }

    /// Returns whether a device is a part of one above it: `sda1` of `sda`, `nvme0n1p1` of `nvme0n1`.
    fn is_partition(&self, name: &str) -> bool {
        let whole = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if whole.len() == name.len() {
            return false;
        }
        let is_digit = |name: &str| name.ends_with(|c: char| c.is_ascii_digit());
        let of_numbered = whole.strip_suffix('p').filter(|disk| is_digit(disk));
        self.devices.contains_key(of_numbered.unwrap_or(whole))
    }

    fn push(&mut self, name: &str, at_us: i64, figures: &[(&str, Option<f64>)]) {
        for (column, value) in figures {
            // Without requests, there is no time that each takes.
            if value.is_some() {
                let id = self.collector.id(&format!("{name} {column}"), || {
                    draft(Rows::First(DEVICE), name, column, &[], None)
                });
                self.collector.push(id, at_us, *value);
            }
        }
    }

    fn finish(mut self) -> Result<Reading, SourceError> {
        if self.copies < 2 {
            return Err(SourceError::empty(
                self.source,
                "it is one copy of /proc/diskstats, of counters since boot: their rates need two",
            ));
        }
        let warnings = &mut self.collector.warnings;
        warnings.extend(self.reader.notes());
        if self.resets > 0 {
            warnings.push(clean::reset_note(self.resets));
        }
        if self.not_later > 0 {
            let lines = count(self.not_later, "line");
            warnings.push(format!("{lines} left out: not later than the one before"));
        }
        let (used, idle): (Vec<_>, Vec<_>) = (self.devices.iter()).partition(|one| one.1.is_used);
        let mut reading = self.collector.finish(Dating::Absolute)?;
        let mut skip = |devices: &[&String], why: &str| {
            if !devices.is_empty() {
                let names = units::list::list_up_to(devices, NAMED_MAX);
                reading.skipped.push(Skipped::new(names, why, None));
            }
        };
        skip(
            &self.partitions.iter().collect::<Vec<_>>(),
            "parts of devices that are read",
        );
        // If none did anything, that is what there is to tell.
        if !used.is_empty() {
            let idle: Vec<&String> = idle.into_iter().map(|(name, _)| name).collect();
            skip(&idle, "did nothing in this time, or is in one copy only");
            let is_of_idle =
                |one: &Series| (one.labels.get(DEVICE)).is_some_and(|name| idle.contains(&name));
            reading.series.retain(|one| !is_of_idle(one));
        }
        Ok(reading)
    }
}

/// Returns whether counters do not continue those before: a device of that name was attached again.
fn has_begun_anew(before: &DeviceCounters, now: &DeviceCounters) -> bool {
    let counts = |of: &DeviceCounters| {
        let discards = [of.discards, of.discarded_bytes, of.flushes];
        [of.reads, of.read_bytes, of.writes, of.written_bytes]
            .into_iter()
            .chain(discards.into_iter().flatten())
    };
    let times_ms = |of: &DeviceCounters| {
        [of.read_ms, of.write_ms, of.busy_ms, of.weighted_ms]
            .into_iter()
            .chain(of.discard_ms)
            .chain(of.flush_ms)
    };
    let fell = |(before, now): (u64, u64)| now < before;
    counts(before).zip(counts(now)).any(fell)
        || (times_ms(before).zip(times_ms(now))).any(|pair| fell(pair) && pair.0 < WRAPS_FROM_MS)
}

/// Returns the columns of `iostat -x` for an interval; a time that each request takes is `None` if there were none.
#[expect(clippy::cast_precision_loss, reason = "growths of counters")]
fn figures(
    before: &DeviceCounters,
    now: &DeviceCounters,
    seconds: f64,
) -> Vec<(&'static str, Option<f64>)> {
    let per_s = |before: u64, now: u64| (now - before) as f64 / seconds;
    let ms = |before, now| ms_between(before, now) as f64;
    let mut figures = Vec::new();
    let mut requests = |[rate, each]: [&'static str; 2], counts: [u64; 2], times: [u64; 2]| {
        let grown = counts[1] - counts[0];
        figures.push((rate, Some(per_s(counts[0], counts[1]))));
        let each_ms = (grown > 0).then(|| ms(times[0], times[1]) / grown as f64);
        figures.push((each, each_ms));
    };
    requests(
        ["r/s", "r_await"],
        [before.reads, now.reads],
        [before.read_ms, now.read_ms],
    );
    requests(
        ["w/s", "w_await"],
        [before.writes, now.writes],
        [before.write_ms, now.write_ms],
    );
    let both = |of: fn(&DeviceCounters) -> Option<u64>| Some([of(before)?, of(now)?]);
    if let (Some(counts), Some(times)) = (both(|of| of.discards), both(|of| of.discard_ms)) {
        requests(["d/s", "d_await"], counts, times);
    }
    if let (Some(counts), Some(times)) = (both(|of| of.flushes), both(|of| of.flush_ms)) {
        requests(["f/s", "f_await"], counts, times);
    }
    let kb_per_s = |before, now| Some(per_s(before, now) / 1024.0);
    figures.push(("rkB/s", kb_per_s(before.read_bytes, now.read_bytes)));
    figures.push(("wkB/s", kb_per_s(before.written_bytes, now.written_bytes)));
    if let Some([before, now]) = both(|of| of.discarded_bytes) {
        figures.push(("dkB/s", kb_per_s(before, now)));
    }
    let share = |before, now| ms(before, now) / (seconds * 1e3);
    figures.push(("aqu-sz", Some(share(before.weighted_ms, now.weighted_ms))));
    let busy = share(before.busy_ms, now.busy_ms).min(1.0);
    figures.push(("%util", Some(busy * 100.0)));
    figures
}

#[cfg(test)]
#[path = "diskstats_tests.rs"]
mod tests;
