//! Files that follow each other in time, as sar keeps one for each day, are one history.

use crate::discard_time;
use crate::reading::{Key, SERIES_SAMPLES_MAX, continue_with, key};
use facts::series::{Dating, Series};
use std::collections::{BTreeMap, HashSet};

/// The usual distances of samples of two files differ by this factor at most.
const GAPS_ALIKE: i64 = 2;
/// Number of notes of a joined series; each of its files may have some of its own.
const NOTES_MAX: usize = 4;
/// Logs that cover less than this, in microseconds, stay logs.
const DAY_US: i64 = 86_400_000_000;

/// Joins series of several sources that follow each other: with the same name, labels and unit, samples about as far
/// apart, each beginning and ending later than the one before, after a pause of no more than both of them cover. Where
/// they overlap, they have the same samples, save one at the seam, of which the earlier file's counts. Only the label
/// `kernel` may differ, and is then gone. Series of hosts without labels stay apart where they overlap, because their
/// samples differ. `is_log` says which are short logs: if they cover less than a day together, they stay apart.
///
/// The joined series is where the first of its parts was. Returns warnings about what seems to belong together and stays
/// apart.
pub fn join_successive(series: &mut Vec<Series>, is_log: impl Fn(&Series) -> bool) -> Vec<String> {
    join(series, is_log, SERIES_SAMPLES_MAX)
}

fn join(
    series: &mut Vec<Series>,
    is_log: impl Fn(&Series) -> bool,
    samples_max: usize,
) -> Vec<String> {
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (place, one) in series.iter().enumerate() {
        if one.dating == Dating::Absolute && !one.times_us.is_empty() {
            let mut key = key(one);
            key.1.remove("kernel");
            groups.entry(key).or_default().push(place);
        }
    }
    let (mut long, mut mixed) = (Vec::new(), Vec::new());
    let mut joined = Vec::new();
    for ((name, ..), mut group) in groups {
        group.sort_by_key(|&place| series[place].times_us.first().copied());
        let is_pair = |pair: &&[usize]| is_followed_by(&series[pair[0]], &series[pair[1]]);
        let pairs = group.windows(2).filter(is_pair).count();
        let parts = || group.iter().map(|&place| &series[place]);
        if pairs == 0 || parts().all(&is_log) && covered_us(parts()) < DAY_US {
            continue;
        }
        if pairs + 1 < group.len() {
            mixed.push(name);
        } else if parts().map(|part| part.values.len()).sum::<usize>() > samples_max {
            long.push(name);
        } else {
            joined.push(group);
        }
    }
    join_groups(series, joined);
    let about = |names: &[String], why: &str| match names {
        [] => None,
        [one] => Some(format!("{one}: {why}: each file is looked at alone")),
        [one, ..] => Some(format!(
            "{} series, such as {one}: {why}: each file is looked at alone",
            names.len()
        )),
    };
    let long = about(
        &long,
        &format!("files follow each other, but have more than {samples_max} samples together"),
    );
    let mixed = about(
        &mixed,
        "some files follow each other, and some do not (they overlap and differ, are far apart, or have samples at \
         another distance)",
    );
    long.into_iter().chain(mixed).collect()
}

fn join_groups(series: &mut Vec<Series>, groups: Vec<Vec<usize>>) {
    let mut parts: Vec<Option<Series>> = series.drain(..).map(Some).collect();
    let mut sources = HashSet::new();
    for group in groups {
        let place = group.iter().copied().min();
        let mut ordered = group.into_iter().filter_map(|place| parts[place].take());
        let (Some(place), Some(mut known)) = (place, ordered.next()) else {
            continue;
        };
        let first = known.source.clone();
        for next in ordered {
            known.source = format!("{first} to {}", next.source);
            if known.labels.get("kernel") != next.labels.get("kernel") {
                known.labels.remove("kernel");
            }
            continue_with(&mut known, next);
        }
        if known.notes.len() > NOTES_MAX {
            let more = known.notes.split_off(NOTES_MAX).len();
            let note = units::count(more as u64, "more note");
            known.notes.push(format!("{note} about single files"));
        }
        sources.insert(known.source.clone());
        parts[place] = Some(known);
    }
    series.extend(parts.into_iter().flatten());
    // What is computed from other series takes their whole course into account, where they are there.
    let read = series.len();
    discard_time::add(series);
    for anew in series.split_off(read) {
        let is_same = |one: &&mut Series| {
            one.discard_time.is_some() && one.source == anew.source && key(one) == key(&anew)
        };
        if sources.contains(&anew.source)
            && let Some(known) = series.iter_mut().find(is_same)
        {
            *known = anew;
        }
    }
}

/// Whether `next` continues `one`, from another source.
fn is_followed_by(one: &Series, next: &Series) -> bool {
    let (Some((first, end)), Some((begin, last))) = (ends(one), ends(next)) else {
        return false;
    };
    let is_near = match (usual_gap_us(one), usual_gap_us(next)) {
        (Some(a), Some(b)) => {
            let covered_us = end
                .saturating_sub(first)
                .saturating_add(last.saturating_sub(begin));
            a.max(b) <= a.min(b).saturating_mul(GAPS_ALIKE)
                && begin.saturating_sub(end) <= covered_us.saturating_add(a.max(b))
        }
        // Single samples, as of Rally's races.
        _ => true,
    };
    let from = one.times_us.partition_point(|&time| time < begin);
    let until = next.times_us.partition_point(|&time| time <= end);
    let overlaps = until > 1 || one.times_us.len() - from > 1;
    let is_same = one.times_us[from..] == next.times_us[..until]
        && one.values[from..] == next.values[..until];
    let is_later = first < begin && end < last;
    one.source != next.source && is_near && is_later && (!overlaps || is_same)
}

/// The median distance of samples; `None` if there is only one.
fn usual_gap_us(series: &Series) -> Option<i64> {
    let pairs = series.times_us.windows(2);
    let mut gaps: Vec<i64> = pairs.map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let middle = gaps.len() / 2;
    (!gaps.is_empty()).then(|| *gaps.select_nth_unstable(middle).1)
}

/// The time from the first sample of all to the last.
fn covered_us<'s>(parts: impl Iterator<Item = &'s Series> + Clone) -> i64 {
    let first = parts.clone().filter_map(ends).map(|ends| ends.0).min();
    let last = parts.filter_map(ends).map(|ends| ends.1).max();
    first
        .zip(last)
        .map_or(0, |(first, last)| last.saturating_sub(first))
}

/// The times of the first sample and of the last.
fn ends(series: &Series) -> Option<(i64, i64)> {
    Some((*series.times_us.first()?, *series.times_us.last()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileOptions, read_bytes};
    use facts::series::DiscardTime;
    use std::fmt::Write as _;

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
        assert_eq!(join_successive(&mut parts, |_| false), Vec::<String>::new());
        let told = |one: Series| {
            assert!(one.times_us.is_sorted_by(|a, b| a < b));
            (one.source, one.values)
        };
        parts.into_iter().map(told).collect()
    }

    #[test]
    fn files_of_days_are_one_series_in_any_order() {
        let days = [
            part("sa03", 6, &[5.0, 6.0]),
            part("sa01", 0, &[1.0, 2.0]),
            part("sa02", 3, &[3.0, 4.0]),
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
            part("week1", 4, &[5.0, 6.0]),
            // After a pause as long as neither of them.
            part("long after", 9, &[5.0, 6.0]),
        ] {
            assert_eq!(joined(vec![week.clone(), apart]).len(), 2);
        }
    }

    #[test]
    fn series_of_hosts_or_units_are_never_joined() {
        let mut other = part("b", 10, &[3.0]);
        other.labels.insert("host".to_owned(), "b".to_owned());
        let mut ms = part("d", 30, &[5.0]);
        ms.unit = Some("ms".to_owned());
        let mut undated = part("e", 40, &[6.0]);
        undated.dating = Dating::Undated;
        let parts = [
            part("a", 0, &[1.0]),
            other,
            part("c", 20, &[4.0]),
            ms,
            undated,
        ];
        let told = joined(parts.to_vec());
        assert_eq!(told.len(), 4);
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
        join_successive(&mut parts, |_| false);
        let about = parts[0].discard_time.as_ref().unwrap();
        assert_eq!(about.writes_per_s, Some(vec![1.0, 3.0, 4.0, 5.0]));
        assert_eq!(about.flush_ms_per_write.to_bits(), 5.0_f64.to_bits());
    }

    #[test]
    fn a_new_kernel_goes_on_with_the_history() {
        let with = |source: &str, from, kernel: &str| {
            let mut one = part(source, from, &[1.0, 2.0]);
            one.labels.insert("kernel".to_owned(), kernel.to_owned());
            one
        };
        let mut parts = vec![
            with("a", 0, "6.1"),
            with("b", 2, "6.1"),
            with("c", 4, "6.12"),
        ];
        join_successive(&mut parts, |_| false);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].labels.get("kernel"), None);
        let mut same = vec![with("a", 0, "6.1"), with("b", 2, "6.1")];
        join_successive(&mut same, |_| false);
        assert_eq!(same[0].labels["kernel"], "6.1");
    }

    #[test]
    fn samples_at_another_distance_are_another_history() {
        let hours: Vec<Series> = (0..3)
            .map(|file| {
                let mut one = part(&format!("h{file}"), 0, &[1.0, 2.0, 3.0]);
                let base_us = one.times_us[0];
                let at_us = |sample: i64| base_us + (3 * file + sample) * 3_600_000_000;
                one.times_us = (0..3).map(at_us).collect();
                one
            })
            .collect();
        assert_eq!(joined(hours.clone()).len(), 1);
        let mut mixed = hours;
        mixed.push(part("minutes", 9 * 60, &[1.0, 2.0]));
        let warnings = join_successive(&mut mixed, |_| false);
        assert_eq!(mixed.len(), 4);
        assert!(
            warnings[0].starts_with("util: some files follow"),
            "{warnings:?}"
        );
    }

    #[test]
    fn short_logs_stay_logs_until_they_cover_a_day() {
        let logs = |count: i64| -> Vec<Series> {
            let values = vec![1.0; 60];
            (0..count)
                .map(|log| part(&format!("log{log}"), 60 * log, &values))
                .collect()
        };
        let (mut few, mut many) = (logs(3), logs(30));
        join_successive(&mut few, |_| true);
        join_successive(&mut many, |_| true);
        assert_eq!((few.len(), many.len()), (3, 1));
    }

    #[test]
    fn what_would_be_too_long_stays_apart_and_is_told_once() {
        let mut parts = vec![part("a", 0, &[1.0, 2.0]), part("b", 2, &[3.0, 4.0])];
        let mut more = parts.clone();
        for one in &mut more {
            one.name = "await".to_owned();
        }
        parts.extend(more);
        let warnings = join(&mut parts, |_| false, 3);
        assert_eq!((parts.len(), warnings.len()), (4, 1));
        assert!(
            warnings[0].starts_with("2 series, such as await: files follow"),
            "{warnings:?}"
        );
        assert_eq!(join(&mut parts, |_| false, 4), Vec::<String>::new());
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn notes_of_many_files_are_counted() {
        let with = |file: i64| Series {
            notes: vec![format!("{file} resets")],
            ..part(&format!("f{file}"), 2 * file, &[1.0, 2.0])
        };
        let mut parts: Vec<Series> = (0..9).map(with).collect();
        join_successive(&mut parts, |_| false);
        assert_eq!(parts[0].notes.len(), 5);
        assert_eq!(parts[0].notes[4], "5 more notes about single files");
    }
}
