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
type Key = (String, BTreeMap<String, String>, Option<String>);

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

fn key(series: &Series) -> Key {
    (
        series.name.clone(),
        series.labels.clone(),
        series.unit.clone(),
    )
}

/// Adds the samples of `next` that are later than those of `known`, and what is known of them.
fn continue_with(known: &mut Series, next: Series) {
    let last = known.times_us.last().copied();
    let from = next.times_us.partition_point(|&time| Some(time) <= last);
    let counts = (known.values.len(), next.values.len() - from);
    let both = known.discard_time.take().zip(next.discard_time);
    known.discard_time = both.map(|(before, after)| DiscardTime {
        writes_per_s: before
            .writes_per_s
            .zip(after.writes_per_s)
            .map(|(before, after)| [&before, &after[from..]].concat()),
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

/// Joins series of several sources that follow each other in time, as a file for each day of a host: with the same name,
/// labels and unit, each beginning and ending later than the one before, and with the same samples where they overlap.
/// Series of different hosts overlap and differ, so they stay apart without labels as well. The joined series is where
/// the first of its parts was.
///
/// Returns a warning for each that would be too long, whose parts stay apart.
pub fn join_successive(series: &mut Vec<Series>) -> Vec<String> {
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (place, one) in series.iter().enumerate() {
        if one.dating == Dating::Absolute && !one.times_us.is_empty() {
            groups.entry(key(one)).or_default().push(place);
        }
    }
    let mut warnings = Vec::new();
    let mut continued = Vec::new();
    for ((name, ..), mut group) in groups {
        group.sort_by_key(|&place| series[place].times_us.first().copied());
        let are_successive = |pair: &[usize]| is_followed_by(&series[pair[0]], &series[pair[1]]);
        if group.len() < 2 || !group.windows(2).all(are_successive) {
            continue;
        }
        let samples: usize = group.iter().map(|&place| series[place].values.len()).sum();
        if samples > SERIES_SAMPLES_MAX {
            warnings.push(format!(
                "{name}: {} files follow each other, but have {samples} samples together, more than \
                 {SERIES_SAMPLES_MAX}: each is looked at alone",
                group.len()
            ));
            continue;
        }
        continued.push(group);
    }
    let mut parts: Vec<Option<Series>> = series.drain(..).map(Some).collect();
    for group in continued {
        let place = group.iter().copied().min();
        let mut ordered = group.into_iter().filter_map(|place| parts[place].take());
        let (Some(place), Some(mut known)) = (place, ordered.next()) else {
            continue;
        };
        let first = known.source.clone();
        for next in ordered {
            known.source = format!("{first} to {}", next.source);
            continue_with(&mut known, next);
        }
        parts[place] = Some(known);
    }
    series.extend(parts.into_iter().flatten());
    warnings
}

/// Whether `next` continues `one`, from another source.
fn is_followed_by(one: &Series, next: &Series) -> bool {
    let (Some(end), Some(begin)) = (one.times_us.last(), next.times_us.first()) else {
        return false;
    };
    let from = one.times_us.partition_point(|time| time < begin);
    let until = next.times_us.partition_point(|time| time <= end);
    // Where a day ends and the next one begins, both may have a sample.
    let overlaps = until > 1 || one.times_us.len() - from > 1;
    let is_same = one.times_us[from..] == next.times_us[..until]
        && one.values[from..] == next.values[..until];
    let is_later = one.times_us.first() < Some(begin) && Some(end) < next.times_us.last();
    one.source != next.source && is_later && (!overlaps || is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileOptions, read_bytes};
    use std::fmt::Write as _;

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

    /// A series of a source, from minute `from` on.
    fn part(source: &str, from: i64, values: &[f64]) -> Series {
        let mut text = "time,util\n".to_owned();
        for (minute, value) in (from..).zip(values) {
            writeln!(text, "{},{value}", 1_770_000_000 + 60 * minute).expect("text");
        }
        let reading = read_bytes(source, text.as_bytes(), &FileOptions::default()).unwrap();
        reading.series.into_iter().next().unwrap()
    }

    fn joined(mut parts: Vec<Series>) -> Vec<(String, Vec<f64>)> {
        assert_eq!(join_successive(&mut parts), Vec::<String>::new());
        let told = |one: Series| {
            assert!(one.times_us.is_sorted_by(|a, b| a < b));
            (one.source, one.values)
        };
        parts.into_iter().map(told).collect()
    }

    #[test]
    fn files_of_days_are_one_series_in_any_order() {
        let days = [
            part("sa03", 20, &[5.0, 6.0]),
            part("sa01", 0, &[1.0, 2.0]),
            part("sa02", 10, &[3.0, 4.0]),
        ];
        let whole = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(joined(days.to_vec()), [("sa01 to sa03".to_owned(), whole)]);
    }

    #[test]
    fn what_overlaps_is_joined_only_if_it_is_the_same() {
        let week = part("week1", 0, &[1.0, 2.0, 3.0, 4.0]);
        let same = joined(vec![week.clone(), part("week2", 2, &[3.0, 4.0, 5.0])]);
        let whole = vec![1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(same, [("week1 to week2".to_owned(), whole)]);
        // One sample at the seam may be of either.
        let edge = joined(vec![week.clone(), part("week2", 3, &[9.0, 5.0])]);
        assert_eq!(edge[0].1, [1.0, 2.0, 3.0, 4.0, 5.0]);
        for apart in [
            part("other host", 2, &[3.0, 9.0, 5.0]),
            part("other host", 0, &[1.0, 2.0, 3.0, 4.0, 5.0]),
            part("within", 1, &[2.0, 3.0]),
            part("the same", 0, &[1.0, 2.0, 3.0, 4.0]),
            part("week1", 9, &[5.0]),
        ] {
            assert_eq!(joined(vec![week.clone(), apart]).len(), 2);
        }
    }

    #[test]
    fn series_of_hosts_or_units_are_never_joined() {
        let mut other = part("b", 10, &[3.0]);
        other.labels.insert("host".to_owned(), "b".to_owned());
        let parts = vec![part("a", 0, &[1.0]), other, part("c", 20, &[4.0])];
        let told = joined(parts);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0], ("a to c".to_owned(), vec![1.0, 4.0]));
    }

    #[test]
    fn what_tells_discards_from_flushes_is_joined_too() {
        let with = |source: &str, from, writes: &[f64], flush_ms_per_write| Series {
            discard_time: Some(DiscardTime {
                writes_per_s: Some(writes.to_vec()),
                flush_ms_per_write,
            }),
            ..part(source, from, writes)
        };
        let mut parts = vec![
            with("a", 0, &[1.0], 2.0),
            with("b", 10, &[3.0, 4.0, 5.0], 6.0),
        ];
        join_successive(&mut parts);
        let about = parts[0].discard_time.as_ref().unwrap();
        assert_eq!(about.writes_per_s, Some(vec![1.0, 3.0, 4.0, 5.0]));
        assert_eq!(about.flush_ms_per_write.to_bits(), 5.0_f64.to_bits());
    }
}
