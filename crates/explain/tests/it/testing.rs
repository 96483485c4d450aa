//! Series and jobs for tests.

use crate::simulate::{job, runs_of};
use explain::verdict::Verdict;
use explain::{JobRuns, Options, explain};
use facts::host::Trigger;
use facts::series::{Better, Dating, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

pub(crate) const HOUR_US: i64 = 3_600_000_000;
pub(crate) const DAY_US: i64 = 24 * HOUR_US;
/// 2026-06-01 00:00 UTC, a Monday.
pub(crate) const START_US: i64 = 1_780_272_000_000_000;

pub(crate) fn at(us: i64) -> Timestamp {
    Timestamp::from_microsecond(us).expect("in range")
}

pub(crate) fn series(times_us: Vec<i64>, values: Vec<f64>) -> Series {
    Series {
        name: "await".to_owned(),
        source: "test".to_owned(),
        labels: BTreeMap::new(),
        unit: Some("ms".to_owned()),
        better: Some(Better::Lower),
        dating: Dating::Absolute,
        sample_of: None,
        times_us,
        values,
        notes: Vec::new(),
        discard_time: None,
    }
}

/// Nearly normal noise of variance 1, from a seed.
pub(crate) fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x9e37_79b9_7f4a_7c15);
    (0..count)
        .map(|_| {
            (0..12)
                .map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64)
                .sum::<f64>()
                - 6.0
        })
        .collect()
}

/// A sample every `gap_us`, computed from its time since the start and noise.
pub(crate) fn made(count: usize, gap_us: i64, seed: u64, value: impl Fn(i64) -> f64) -> Series {
    let times_us: Vec<i64> = (0..count as i64).map(|i| START_US + i * gap_us).collect();
    let values = times_us
        .iter()
        .zip(noise(count, seed))
        .map(|(time, noise)| value(time - START_US) + noise)
        .collect();
    series(times_us, values)
}

/// Asserts that a sentence has this part.
#[track_caller]
pub(crate) fn assert_says(sentence: &str, part: &str) {
    assert!(sentence.contains(part), "not {part:?}: {sentence}");
}

/// Asserts that it does not.
#[track_caller]
pub(crate) fn assert_never_says(sentence: &str, part: &str) {
    assert!(!sentence.contains(part), "{part:?}: {sentence}");
}

pub(crate) fn only(series: Series, jobs: &[JobRuns]) -> Verdict {
    in_zone(series, jobs, &TimeZone::UTC)
}

pub(crate) fn in_zone(series: Series, jobs: &[JobRuns], zone: &TimeZone) -> Verdict {
    let options = Options {
        zone: zone.clone(),
        ..Options::default()
    };
    explain(&[series], jobs, &options).series.remove(0).verdict
}

pub(crate) fn cron(name: &str, spec: &str, series: &Series) -> JobRuns {
    let trigger = Trigger::Cron {
        spec: spec.to_owned(),
        time_zone: None,
        source: "etc/crontab:1".to_owned(),
    };
    let from = at(series.times_us[0] - 40 * DAY_US);
    let until = at(*series.times_us.last().expect("samples"));
    runs_of(&job(name, trigger), from, until, &TimeZone::UTC)
}

/// Runs at times known to the second.
pub(crate) fn given(name: &str, starts_us: impl Iterator<Item = i64>) -> JobRuns {
    let runs = starts_us
        .map(at)
        .map(|at| schedule::Run {
            job: name.to_owned(),
            earliest: at,
            latest: at,
            delays: schedule::Delays::Either,
            len_s: None,
            seen: schedule::Seen::Given,
            evidence: "trims.csv".into(),
        })
        .collect();
    JobRuns {
        name: name.to_owned(),
        runs,
        unknown: Vec::new(),
        by_hand: None,
    }
}

/// A timer that starts at any moment within `delay_us` of each due time.
pub(crate) fn timer(name: &str, due_us: impl Iterator<Item = i64>, delay_us: i64) -> JobRuns {
    let mut job = given(name, due_us);
    for run in &mut job.runs {
        run.latest = at(run.earliest.as_microsecond() + delay_us);
        run.seen = schedule::Seen::Computed;
    }
    job
}
