//! Input and output types common to all readers.

use crate::discard_time;
use facts::Skipped;
use facts::series::{Dating, DiscardTime, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// How times are interpreted, and which range is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The zone of times that do not name one.
    pub zone: TimeZone,
    /// Start of the range, inclusive.
    pub since: Option<Timestamp>,
    /// End of the range, exclusive.
    pub until: Option<Timestamp>,
}

impl Times {
    /// Returns the range that is wanted, in microseconds.
    pub(crate) fn wanted_us(&self) -> Range<i64> {
        let us = |at: Option<Timestamp>, open| at.map_or(open, Timestamp::as_microsecond);
        us(self.since, i64::MIN)..us(self.until, i64::MAX)
    }
}

impl Default for Times {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            since: None,
            until: None,
        }
    }
}

/// Maximum number of samples of one series: its analysis takes up to 124 bytes for each. Beside as many others
/// as there may be, which take 16 bytes a sample, that is about a gigabyte.
pub(crate) const SERIES_SAMPLES_MAX: usize = 5_000_000;

/// Limits on what a reader keeps, whatever its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of samples, over all series.
    pub samples_max: usize,
    /// Maximum number of series.
    pub series_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            samples_max: 20_000_000,
            series_max: 10_000,
        }
    }
}

/// The result of reading a history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The series, in the order of the source.
    pub series: Vec<Series>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// Warnings about the whole reading; those about a single series are in its notes.
    pub warnings: Vec<String>,
    /// Examples of names of series that no pattern of a selection matched.
    pub unselected: Vec<String>,
}

/// What series have in common that continue each other: name, labels and unit.
pub(crate) type Key = (String, BTreeMap<String, String>, Option<String>);

impl Reading {
    /// Adds what was read elsewhere.
    pub fn append(&mut self, other: Self) {
        self.series.extend(other.series);
        self.skipped.extend(other.skipped);
        self.warnings.extend(other.warnings);
        self.unselected.extend(other.unselected);
    }

    /// Joins series that continue each other, as those of one file a day: with the same name, labels and
    /// unit. Where they overlap, the one that begins first counts. The joined one has the source of the
    /// first.
    pub fn join(&mut self) {
        let mut all = std::mem::take(&mut self.series);
        // Computed from others, and again below.
        all.retain(|series| series.discard_time.is_none());
        all.sort_by_key(|series| series.times_us.first().copied());
        let mut places: HashMap<Key, usize> = HashMap::new();
        for series in all {
            let key = key(&series);
            // Where only the order of the samples is known, nothing continues anything.
            if series.dating != Dating::Absolute {
                self.series.push(series);
                continue;
            }
            let place = *places.entry(key).or_insert(self.series.len());
            match self.series.get_mut(place) {
                None => self.series.push(series),
                Some(known) => continue_with(known, series),
            }
        }
        discard_time::add(&mut self.series);
    }

    /// Keeps the series whose names match one of the patterns; all of them if there are none.
    pub fn select(&mut self, patterns: &[String]) {
        const EXAMPLES: usize = 5;
        self.series.retain(|series| {
            let name = &series.name;
            let is_selected = patterns.is_empty()
                || patterns
                    .iter()
                    .any(|pattern| units::glob::matches(pattern, name));
            if !is_selected && self.unselected.len() < EXAMPLES {
                self.unselected.push(name.clone());
            }
            is_selected
        });
    }
}

pub(crate) fn key(series: &Series) -> Key {
    (
        series.name.clone(),
        series.labels.clone(),
        series.unit.clone(),
    )
}

/// Adds the samples of `next` that are later than those of `known`, and what is known of them.
pub(crate) fn continue_with(known: &mut Series, next: Series) {
    let last = known.times_us.last().copied();
    let from = next.times_us.partition_point(|&time| Some(time) <= last);
    let counts = (known.values.len(), next.values.len() - from);
    let both = known.discard_time.take().zip(next.discard_time);
    known.discard_time = both.map(|(before, after)| DiscardTime {
        writes_per_s: before
            .writes_per_s
            .zip(after.writes_per_s)
            .map(|(mut before, after)| {
                before.extend_from_slice(&after[from..]);
                before
            }),
        flush_ms_per_write: mean_of(
            (before.flush_ms_per_write, counts.0),
            (after.flush_ms_per_write, counts.1),
        ),
    });
    known.times_us.extend_from_slice(&next.times_us[from..]);
    known.values.extend_from_slice(&next.values[from..]);
    let notes = next.notes.into_iter();
    let new: Vec<String> = notes.filter(|note| !known.notes.contains(note)).collect();
    known.notes.extend(new);
}

#[expect(clippy::cast_precision_loss, reason = "numbers of samples")]
fn mean_of(one: (f64, usize), other: (f64, usize)) -> f64 {
    let (weight, more) = (one.1 as f64, other.1 as f64);
    (one.0 * weight + other.0 * more) / (weight + more).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileOptions, read_bytes};

    fn day(text: &str) -> Reading {
        read_bytes("x.csv", text.as_bytes(), &FileOptions::default()).unwrap()
    }

    #[test]
    fn days_of_one_curve_are_joined_in_order() {
        let mut all = day("time,util\n2026-02-08T00:00:00Z,3\n2026-02-08T00:10:00Z,4\n");
        all.append(day(
            "time,util\n2026-02-07T23:50:00Z,1\n2026-02-08T00:00:00Z,2\n",
        ));
        all.append(day("time,await\n2026-02-07T23:50:00Z,9\n"));
        all.join();
        let values: Vec<(&str, &[f64])> = all
            .series
            .iter()
            .map(|series| (series.name.as_str(), series.values.as_slice()))
            .collect();
        assert_eq!(values, [("util", &[1.0, 2.0, 4.0][..]), ("await", &[9.0])]);
        assert!(all.series[0].times_us.is_sorted());
    }
}
