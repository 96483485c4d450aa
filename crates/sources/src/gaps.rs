//! Says where a curve has no samples for long: such a time counts neither for nor against what recurs, and
//! whoever reads the answer should know of it.

use crate::mend::count;
use facts::series::{Dating, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A gap is as long as so many usual (median) distances of samples, at least. A nightly run that failed
/// now and then leaves none. Samples at random moments leave one in place of each thousandth distance, and
/// these make 0.8 % of the time.
const DISTANCES: i128 = 10;

/// Gaps are told where they make so many percent of the time of all samples.
const PERCENT_MIN: i128 = 2;

/// The gaps of a series in one sentence, its times in `zone`: `2 gaps: 27 % of the time has no sample, the
/// longest of them 42 days, from 2025-06-01 12:00 to 2025-07-13 12:00`. `None` where there are none worth
/// a word. The order of samples without dates is no measure of time, so that they have none.
///
/// This is no part of a series' own notes: a store may get the samples later.
pub fn note(series: &Series, zone: &TimeZone) -> Option<String> {
    let [first, .., last] = series.times_us[..] else {
        return None;
    };
    if series.dating != Dating::Absolute {
        return None;
    }
    let mut distances_us: Vec<i64> = series
        .times_us
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    let middle = distances_us.len() / 2;
    let usual_us = i128::from(*distances_us.select_nth_unstable(middle).1);
    let is_gap = |pair: &&[i64]| i128::from(pair[1]) - i128::from(pair[0]) >= usual_us * DISTANCES;
    let gaps: Vec<(i64, i64)> = series
        .times_us
        .windows(2)
        .filter(is_gap)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    let len_us = |&(from, to): &(i64, i64)| i128::from(to) - i128::from(from);
    // Of several that are as long, the first.
    let longest = *gaps.iter().rev().max_by_key(|gap| len_us(gap))?;
    let all_us = gaps.iter().map(len_us).sum::<i128>();
    let percent = all_us * 100 / len_us(&(first, last));
    if percent < PERCENT_MIN {
        return None;
    }
    let share = format!("{percent} % of the time has no sample");
    let of = span(len_us(&longest));
    let at = |us: i64| {
        Timestamp::from_microsecond(us).ok().map(|at| {
            let at = at.to_zoned(zone.clone());
            at.strftime("%Y-%m-%d %H:%M").to_string()
        })
    };
    let (from, to) = (at(longest.0)?, at(longest.1)?);
    let gap = if gaps.len() == 1 {
        format!("1 gap: {share}, {of}")
    } else {
        format!(
            "{}: {share}, the longest of them {of}",
            count(gaps.len(), "gap")
        )
    };
    Some(format!("{gap}, from {from} to {to}"))
}

/// A time in its largest unit that it has twice, cut.
fn span(len_us: i128) -> String {
    let seconds = usize::try_from(len_us / 1_000_000).unwrap_or(usize::MAX);
    for (unit, size) in [("day", 86_400), ("hour", 3_600), ("minute", 60)] {
        if seconds >= 2 * size {
            return count(seconds / size, unit);
        }
    }
    count(seconds, "second")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const HOUR_US: i64 = 3_600_000_000;

    fn series(times_us: Vec<i64>) -> Series {
        Series {
            name: "v".to_owned(),
            source: "f".to_owned(),
            labels: BTreeMap::new(),
            unit: None,
            better: None,
            dating: Dating::Absolute,
            values: vec![1.0; times_us.len()],
            times_us,
            notes: Vec::new(),
        }
    }

    fn told(hours: impl IntoIterator<Item = i64>) -> Option<String> {
        let times = hours.into_iter().map(|hour| hour * HOUR_US).collect();
        note(&series(times), &TimeZone::UTC)
    }

    #[test]
    fn gaps_of_days_are_told_with_the_longest() {
        // 40 days of hours; 5 days from hour 100 on, and 10 days from hour 500 on, are not there.
        let hours = (0..960).filter(|hour| !(101..220).contains(hour));
        let hours = hours.filter(|hour| !(501..740).contains(hour));
        assert_eq!(
            told(hours).unwrap(),
            "2 gaps: 37 % of the time has no sample, the longest of them 10 days, from \
             1970-01-21 20:00 to 1970-01-31 20:00"
        );
        let hours = (0..960).filter(|hour| !(101..130).contains(hour));
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let one = series(hours.map(|hour| hour * HOUR_US).collect());
        assert_eq!(
            note(&one, &zone).unwrap(),
            "1 gap: 3 % of the time has no sample, 30 hours, from 1970-01-05 05:00 to \
             1970-01-06 11:00"
        );
    }

    #[test]
    fn what_is_usual_is_not_told() {
        // Every tenth night is missing, once a week of them.
        let nights = (0..365).filter(|night| night % 10 != 3 && !(200..207).contains(night));
        assert_eq!(told(nights.map(|night| night * 24)), None);
        // Nine distances are no gap, ten of them are one.
        assert_eq!(told((0..100).chain(108..200)), None);
        assert!(told((0..100).chain(109..200)).is_some());
        // Ten distances of a thousand are half of what is told.
        assert_eq!(told((0..500).chain(510..1_000)), None);
        for few in [&[][..], &[1], &[1, 2], &[1, 2, 1_000]] {
            assert_eq!(told(few.iter().copied()), None);
        }
        let mut undated = series(vec![0, 1, 2, 3, 1_000]);
        undated.dating = Dating::Undated;
        assert_eq!(note(&undated, &TimeZone::UTC), None);
    }

    #[test]
    fn a_time_in_one_unit() {
        for (seconds, words) in [
            (42 * 86_400 + 3_600, "42 days"),
            (47 * 3_600, "47 hours"),
            (119 * 60 + 59, "119 minutes"),
            (119, "119 seconds"),
            (1, "1 second"),
        ] {
            assert_eq!(span(seconds * 1_000_000), words);
        }
    }

    proptest! {
        /// Any times there are: no overflow, and never more than all of the time.
        #[test]
        fn any_times_are_taken(times in prop::collection::btree_set(any::<i64>(), 0..60)) {
            if let Some(words) = note(&series(times.into_iter().collect()), &TimeZone::UTC) {
                let (_, rest) = words.split_once(": ").unwrap();
                let (percent, _) = rest.split_once(" %").unwrap();
                prop_assert!((2..=100).contains(&percent.parse::<i32>().unwrap()), "{words}");
            }
        }
    }
}
