//! Gaps: long intervals without samples, which count neither for nor against a recurring pattern. The user
//! should know about them.

use facts::series::{Dating, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use units::count;

/// Minimum length of a gap, in median sample intervals. A nightly run that failed now and then leaves no
/// gap. If samples come at random times, one interval in a thousand is a gap, and these make up 0.8 % of
/// the time.
const DISTANCES: i128 = 10;

/// Minimum share of the total time, in percent, for gaps to be reported.
const PERCENT_MIN: i128 = 2;

/// Minimum number of gaps for them to be considered recurring.
const RECURRING_MIN: usize = 5;

/// Describes the gaps of a series in one sentence, with times in `zone`:
/// `2 gaps: 27 % of the time has no sample, the longest of them 42 days, from ... to ...`. Gaps that recur,
/// for example when a benchmark runs for an hour every night, are described by their rhythm, plus any that
/// are far longer. Returns `None` if no gaps are worth mentioning, or if the samples have no dates, because
/// their order says nothing about time.
///
/// This is not one of the series' own notes, because other files may have the missing samples.
pub fn note(series: &Series, zone: &TimeZone) -> Option<String> {
    let [first, .., last] = series.times_us[..] else {
        return None;
    };
    if series.dating != Dating::Absolute {
        return None;
    }
    let all_us = len_us(&(first, last));
    let pairs = series.times_us.windows(2).map(|pair| (pair[0], pair[1]));
    let usual_us = median(pairs.clone().map(|pair| len_us(&pair)))?;
    let gaps: Vec<(i64, i64)> = pairs
        .filter(|pair| len_us(pair) >= usual_us * DISTANCES)
        .collect();
    let percent = percent_of(&gaps, all_us);
    if percent < PERCENT_MIN {
        return None;
    }
    let Some(rhythm) = Rhythm::of(&gaps, first) else {
        return describe(&gaps, all_us, zone);
    };
    let longer: Vec<(i64, i64)> = gaps
        .into_iter()
        .filter(|gap| len_us(gap) >= rhythm.gap_us * DISTANCES)
        .collect();
    let every = span(rhythm.period_us);
    // Compares the usual gap, not the share of all gaps: one long hole does not turn continuous data into
    // bursts.
    let mut words = if rhythm.gap_us * 2 >= rhythm.period_us {
        format!(
            "samples come in bursts, one every {every} as a rule: {percent} % of the time has no \
             sample"
        )
    } else {
        let of = span(rhythm.gap_us);
        format!("a gap of {of} every {every} as a rule: {percent} % of the time has no sample")
    };
    if percent_of(&longer, all_us) >= PERCENT_MIN {
        words = format!("{words}; beside these {}", describe(&longer, all_us, zone)?);
    }
    Some(words)
}

/// `2 gaps: 27 % of the time has no sample, the longest of them 42 days, from ... to ...`
fn describe(gaps: &[(i64, i64)], all_us: i128, zone: &TimeZone) -> Option<String> {
    // The first, if several are equally long.
    let longest = *gaps.iter().rev().max_by_key(|gap| len_us(gap))?;
    let share = format!("{} % of the time has no sample", percent_of(gaps, all_us));
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

/// The rhythm of recurring gaps.
struct Rhythm {
    /// Median length of a gap.
    gap_us: i128,
    /// Median time from the end of a gap to the end of the next.
    period_us: i128,
}

impl Rhythm {
    /// Returns `None` if gaps come at irregular times: fewer than two thirds of the periods are within a
    /// quarter of the median, which tolerates weekends and skipped nights.
    fn of(gaps: &[(i64, i64)], first: i64) -> Option<Self> {
        if gaps.len() < RECURRING_MIN {
            return None;
        }
        let begins: Vec<i64> = std::iter::once(first)
            .chain(gaps.iter().map(|gap| gap.1))
            .collect();
        let periods = || begins.windows(2).map(|pair| len_us(&(pair[0], pair[1])));
        let period_us = median(periods())?;
        let alike = periods()
            .filter(|len| (len - period_us).abs() * 4 <= period_us)
            .count();
        (alike * 3 >= gaps.len() * 2).then_some(Self {
            gap_us: median(gaps.iter().map(len_us))?,
            period_us,
        })
    }
}

fn len_us(&(from, to): &(i64, i64)) -> i128 {
    i128::from(to) - i128::from(from)
}

fn median(lens: impl Iterator<Item = i128>) -> Option<i128> {
    let mut lens: Vec<i128> = lens.collect();
    let middle = lens.len() / 2;
    (!lens.is_empty()).then(|| *lens.select_nth_unstable(middle).1)
}

fn percent_of(gaps: &[(i64, i64)], all_us: i128) -> i128 {
    gaps.iter().map(len_us).sum::<i128>() * 100 / all_us.max(1)
}

/// Formats a duration, dropping anything below a second.
fn span(len_us: i128) -> String {
    #[allow(clippy::cast_precision_loss)] // two units are shown
    units::seconds((len_us / 1_000_000) as f64)
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
            sample_of: None,
            values: vec![1.0; times_us.len()],
            times_us,
            notes: Vec::new(),
            discard_time: None,
        }
    }

    fn note_of(hours: impl IntoIterator<Item = i64>) -> Option<String> {
        let times = hours.into_iter().map(|hour| hour * HOUR_US).collect();
        note(&series(times), &TimeZone::UTC)
    }

    #[test]
    fn gaps_of_days_report_the_longest() {
        // 40 days of hourly samples; 5 days from hour 100 and 10 days from hour 500 are missing.
        let hours = (0..960).filter(|hour| !(101..220).contains(hour));
        let hours = hours.filter(|hour| !(501..740).contains(hour));
        assert_eq!(
            note_of(hours).unwrap(),
            "2 gaps: 37 % of the time has no sample, the longest of them 10 days, from \
             1970-01-21 20:00 to 1970-01-31 20:00"
        );
        let hours = (0..960).filter(|hour| !(101..130).contains(hour));
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let one = series(hours.map(|hour| hour * HOUR_US).collect());
        assert_eq!(
            note(&one, &zone).unwrap(),
            "1 gap: 3 % of the time has no sample, 1 day 6 h, from 1970-01-05 05:00 to \
             1970-01-06 11:00"
        );
    }

    #[test]
    fn minor_gaps_are_not_reported() {
        // Every tenth night is missing, and once a whole week.
        let nights = (0..365).filter(|night| night % 10 != 3 && !(200..207).contains(night));
        assert_eq!(note_of(nights.map(|night| night * 24)), None);
        // Nine intervals are not a gap, ten are.
        assert_eq!(note_of((0..100).chain(108..200)), None);
        assert!(note_of((0..100).chain(109..200)).is_some());
        // Ten intervals of a thousand are below the reporting threshold.
        assert_eq!(note_of((0..500).chain(510..1_000)), None);
        for few in [&[][..], &[1], &[1, 2], &[1, 2, 1_000]] {
            assert_eq!(note_of(few.iter().copied()), None);
        }
        let mut undated = series(vec![0, 1, 2, 3, 1_000]);
        undated.dating = Dating::Undated;
        assert_eq!(note(&undated, &TimeZone::UTC), None);
    }

    /// Samples a minute apart: `len` of them from each of the given hours.
    fn bursts(hours: impl IntoIterator<Item = i64>, len: i64) -> Series {
        let minute_us = HOUR_US / 60;
        let of_burst = |hour: i64| (0..len).map(move |minute| hour * HOUR_US + minute * minute_us);
        series(hours.into_iter().flat_map(of_burst).collect())
    }

    #[test]
    fn bursts_are_reported_as_bursts() {
        let told = |series: &Series| note(series, &TimeZone::UTC).unwrap();
        // Ten minutes of each hour, for 15 days: 51 of 60 minutes lie between two bursts.
        assert_eq!(
            told(&bursts(0..360, 10)),
            "samples come in bursts, one every 1 h as a rule: 84 % of the time has no sample"
        );
        // Two days are missing: 49 hours, 13 % of 360. A single missing hour is not worth mentioning.
        let hours = (0..360).filter(|hour| !(100..148).contains(hour) && *hour != 50);
        assert_eq!(
            told(&bursts(hours, 10)),
            "samples come in bursts, one every 1 h as a rule: 87 % of the time has no sample; \
             beside these 1 gap: 13 % of the time has no sample, 2 days 1 h, from 1970-01-05 03:09 to \
             1970-01-07 04:00"
        );
        // An hour every night except one night in seven, and never at the same minute.
        let nights = (0..200).filter(|night| night % 7 != 3);
        let nights = nights.map(|night| night * 24 + night % 3);
        assert_eq!(
            told(&bursts(nights, 60)),
            "samples come in bursts, one every 1 day 1 h as a rule: 96 % of the time has no sample"
        );
        // Office hours: weekends are not reported separately.
        let days = (0..200).filter(|day| day % 7 < 5).map(|day| day * 24 + 8);
        assert_eq!(
            told(&bursts(days, 540)),
            "samples come in bursts, one every 1 day as a rule: 72 % of the time has no sample"
        );
    }

    #[test]
    fn recurring_gaps_report_their_length() {
        // Half an hour is missing every night, plus a minute.
        let minutes = (0..20 * 1_440).filter(|minute| !(60..90).contains(&(minute % 1_440)));
        let one = series(minutes.map(|minute| minute * (HOUR_US / 60)).collect());
        assert_eq!(
            note(&one, &TimeZone::UTC).unwrap(),
            "a gap of 31 min every 1 day as a rule: 2 % of the time has no sample"
        );
    }

    #[test]
    fn a_long_gap_does_not_turn_continuous_data_into_bursts() {
        // A nightly pause as above, on 20 days and, 40 days later, on 5.
        let minutes = (0..65 * 1_440).filter(|minute| !(60..90).contains(&(minute % 1_440)));
        let minutes = minutes.filter(|minute| !(20 * 1_440..60 * 1_440).contains(minute));
        let one = series(minutes.map(|minute| minute * (HOUR_US / 60)).collect());
        assert_eq!(
            note(&one, &TimeZone::UTC).unwrap(),
            "a gap of 31 min every 1 day as a rule: 62 % of the time has no sample; beside \
             these 1 gap: 61 % of the time has no sample, 40 days, from 1970-01-20 23:59 to \
             1970-03-02 00:00"
        );
    }

    #[test]
    fn irregular_gaps_are_counted() {
        // Eight gaps at ever different distances.
        let holes: Vec<i64> = (1..=8).map(|hole| hole * hole * 40).collect();
        let is_there = |hour: &i64| !holes.iter().any(|hole| (0..30).contains(&(hour - hole)));
        let words = note_of((0..3_000).filter(is_there)).unwrap();
        assert!(words.starts_with("8 gaps: 8 % of the time"), "{words}");
        // Four are too few for a rhythm.
        let four = (0..2_000).filter(|hour| hour % 400 < 350);
        let words = note_of(four).unwrap();
        assert!(words.starts_with("4 gaps: "), "{words}");
    }

    proptest! {
        /// Arbitrary times, including bursts: no overflow, and never more than all of the time.
        #[test]
        fn any_times_are_handled(
            times in prop_oneof![
                prop::collection::btree_set(any::<i64>(), 0..60),
                prop::collection::btree_set((0_i64..8, 0_i64..6), 0..40).prop_map(|bursts| {
                    let at = |(burst, sample)| burst * 1_000_000_000 + sample;
                    bursts.into_iter().map(at).collect()
                }),
            ],
        ) {
            if let Some(words) = note(&series(times.into_iter().collect()), &TimeZone::UTC) {
                for told in words.split("; ") {
                    let (_, rest) = told.split_once(": ").unwrap();
                    let (percent, _) = rest.split_once(" %").unwrap();
                    prop_assert!((2..=100).contains(&percent.parse::<i32>().unwrap()), "{words}");
                }
            }
        }
    }
}
