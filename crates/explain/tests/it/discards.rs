//! Series of the time of discards and flushes: what recurs in them is told to be discards only where writes do not explain it.

use crate::testing::{DAY_US, HOUR_US, START_US, assert_never_says, assert_says, made};
use explain::verdict::{Requests, SeriesVerdict};
use explain::{Options, explain};
use facts::series::{DiscardTime, Series};

const GAP_US: i64 = HOUR_US / 6;
/// Nine weeks.
const SAMPLES: usize = 9 * 7 * 24 * 6;

/// Whether a sample is one of Sunday's 03:00 to 03:40.
fn is_sunday_night(time_us: i64) -> bool {
    let of_week = time_us.rem_euclid(7 * DAY_US) - 6 * DAY_US;
    (3 * HOUR_US..3 * HOUR_US + 4 * GAP_US).contains(&of_week)
}

/// The series of a device that is written to `writes` times a second, of which each takes a flush of `flush_ms`, and with
/// discards or slower flushes of `more_ms` a second on Sunday nights; both vary by a tenth.
fn device(more_ms: f64, flush_ms: f64, writes: impl Fn(i64) -> f64) -> Series {
    let noise = made(SAMPLES, GAP_US, 5, |_| 0.0).values;
    let mut time = made(SAMPLES, GAP_US, 4, |_| 0.0);
    let writes: Vec<f64> = (time.times_us.iter().zip(&noise))
        .map(|(time, noise)| writes(time - START_US) * (1.0 + noise / 10.0).max(0.1))
        .collect();
    for (at, value) in time.values.iter_mut().enumerate() {
        let more = if is_sunday_night(time.times_us[at] - START_US) {
            more_ms
        } else {
            0.0
        };
        *value = (more + flush_ms * writes[at] * *value / 10.0 + noise[at] * 0.1).max(0.0);
    }
    Series {
        name: "discard or flush time of sda".to_owned(),
        unit: Some("ms/s".to_owned()),
        discard_time: Some(DiscardTime {
            writes_per_s: Some(writes),
            flush_ms_per_write: flush_ms,
        }),
        ..time
    }
}

fn of(series: Series) -> SeriesVerdict {
    explain(&[series], &[], &Options::default())
        .series
        .remove(0)
}

#[test]
fn a_weekly_rise_without_writes_is_of_discards_however_large() {
    for more_ms in [60.0, 300.0, 30_000.0] {
        let verdict = of(device(more_ms, 0.1, |_| 100.0)).verdict;
        assert_eq!(verdict.requests, Some(Requests::Discards), "{more_ms}");
        let sentence = &verdict.sentence;
        assert!(
            sentence.starts_with("Probably discards: discard or flush time of sda"),
            "{sentence}"
        );
        assert_says(sentence, "every week (9 of 9 weeks)");
        assert_says(sentence, "Writes do not rise then");
    }
}

/// A store that waits for less while the drive trims writes less.
#[test]
fn writes_that_fall_meanwhile_are_no_flushes() {
    let writes = |at: i64| if is_sunday_night(at) { 10.0 } else { 100.0 };
    let verdict = of(device(300.0, 0.1, writes)).verdict;
    assert_eq!(verdict.requests, Some(Requests::Discards));
}

/// Many fsyncs on Sunday nights, which take longer than usual: what is left of them after the usual time is taken off.
#[test]
fn flushes_that_come_with_writes_are_not_told_as_discards() {
    for times in [2.0, 5.0, 50.0] {
        let writes = |at: i64| {
            if is_sunday_night(at) {
                100.0 * times
            } else {
                100.0
            }
        };
        let verdict = of(device(20.0 * times, 0.1, writes)).verdict;
        assert_eq!(verdict.requests, Some(Requests::WithWrites), "{times}");
        assert_never_says(&verdict.sentence, "Probably discards");
        assert_says(&verdict.sentence, "may be flushes");
    }
}

/// 50 ms/s of flushes are there always, and take twice as long on Sunday nights, as on a drive that is busy otherwise.
#[test]
fn slower_flushes_are_not_told_as_discards() {
    let verdict = of(device(50.0, 0.5, |_| 100.0)).verdict;
    assert_eq!(verdict.requests, Some(Requests::DiscardsOrFlushes));
    assert_never_says(&verdict.sentence, "Probably");
}

#[test]
fn without_the_number_of_writes_it_may_be_either() {
    let mut series = device(300.0, 0.1, |_| 100.0);
    series.discard_time.as_mut().unwrap().writes_per_s = None;
    let verdict = of(series).verdict;
    assert_eq!(verdict.requests, Some(Requests::DiscardsOrFlushes));
}

/// Fsyncs all the time, by day more than by night, and nothing else.
#[test]
fn a_host_of_many_fsyncs_has_no_discards() {
    let by_day = |at: i64| {
        if at.rem_euclid(DAY_US) < DAY_US / 2 {
            800.0
        } else {
            200.0
        }
    };
    let verdict = of(device(0.0, 0.3, by_day)).verdict;
    assert_never_says(&verdict.sentence, "iscards:");
    assert_ne!(verdict.requests, Some(Requests::Discards));
}

#[test]
fn discards_come_first() {
    let discards = device(300.0, 0.1, |_| 100.0);
    let harm = made(SAMPLES, GAP_US, 9, |at| {
        if is_sunday_night(at) { 900.0 } else { 20.0 }
    });
    let analysis = explain(&[harm, discards], &[], &Options::default());
    let [first, second] = &analysis.series[..] else {
        panic!("two series");
    };
    assert!(first.name.starts_with("discard"), "{}", first.name);
    assert_eq!(second.verdict.requests, None);
    assert_eq!(first.verdict.kind, second.verdict.kind);
}
