//! Jobs that follow the clocks of another zone, across a change of clocks.

use crate::testing::{DAY_US, HOUR_US, assert_never_says, given, in_zone, noise, series};
use explain::verdict::{Cycle, Kind, Verdict};
use explain::{Options, explain};
use facts::series::Series;
use jiff::tz::TimeZone;
use std::fmt::Write as _;

/// 2026-09-23 00:00 UTC, a Wednesday, and the days until November 21; Berlin's clocks change on October 25.
const FROM_US: i64 = 1_790_121_600_000_000;
const DAYS: i64 = 59;
const STEP_US: i64 = HOUR_US / 6;

fn berlin() -> TimeZone {
    schedule::parse_zone("Europe/Berlin").expect("known")
}

/// Samples every ten minutes, with spikes where `is_on` says for UTC, and a daily wave of load by the
/// clocks of Berlin of the given size.
fn spikes(seed: u64, size: f64, wave: f64, is_on: impl Fn(i64) -> bool) -> Series {
    let times: Vec<i64> = (0..DAYS * DAY_US / STEP_US)
        .map(|i| FROM_US + i * STEP_US)
        .collect();
    let values = times
        .iter()
        .zip(noise(times.len(), seed))
        .map(|(&at, noise)| {
            let hour = (berlin_us(at) % DAY_US) as f64 / HOUR_US as f64;
            let load = wave * (std::f64::consts::TAU * (hour - 14.0) / 24.0).cos();
            40.0 + load + noise + if is_on(at) { size } else { 0.0 }
        });
    let values = values.collect();
    series(times, values)
}

/// Local time of Berlin.
fn berlin_us(utc_us: i64) -> i64 {
    let change = FROM_US + 32 * DAY_US + HOUR_US;
    utc_us + if utc_us < change { 2 } else { 1 } * HOUR_US
}

/// Whether a job that starts at 06:50 by these clocks shows in the sample.
fn at_0650(clock_us: i64) -> bool {
    let from = 6 * HOUR_US + 50 * HOUR_US / 60;
    (from..from + HOUR_US / 6).contains(&((clock_us - 1) % DAY_US))
}

fn is_sunday(clock_us: i64) -> bool {
    (clock_us - 1) / DAY_US % 7 == 3
}

fn clock_of(verdict: &Verdict) -> String {
    let clock = verdict.clock.as_ref();
    clock.map_or(String::new(), |clock| clock.zone.clone())
}

#[test]
fn a_weekly_job_at_a_fixed_hour_of_utc_is_seen_across_the_change_of_clocks() {
    for (seed, size) in [(1, 30.0), (2, 30.0), (3, 10.0), (4, 10.0)] {
        let made = spikes(seed, size, 0.0, |at| at_0650(at) && is_sunday(at));
        let verdict = in_zone(made.clone(), &[], &berlin());
        let told = format!("{seed}, {size}: {}", verdict.sentence);
        assert_eq!(verdict.cycle, Some(Cycle::Week), "{told}");
        assert_eq!(
            (verdict.cycles, verdict.cycles_seen),
            (Some(8), Some(8)),
            "{told}"
        );
        assert_eq!(verdict.until, None, "{told}");
        assert_eq!(verdict.also, [], "{told}");
        assert_eq!(clock_of(&verdict), "UTC", "{told}");
        let clock = verdict.clock.expect("compared");
        assert!(clock.is_decided, "{told}");
        let phase = verdict.phase.expect("a spike");
        assert_eq!(
            (&*phase.from_text, &*phase.to_text),
            ("Sunday 06:50", "Sunday 07:00"),
            "{told}"
        );
        let local = clock.local.iter().fold(String::new(), |mut text, local| {
            let _ = write!(text, "{}-{} ", local.from_text, local.to_text);
            text
        });
        assert_eq!(
            local, "Sunday 08:50-Sunday 09:00 Sunday 07:50-Sunday 08:00 ",
            "{told}"
        );
        assert!(
            verdict.sentence.contains("follows UTC, not Europe/Berlin"),
            "{told}"
        );
        assert!(verdict.sentence.contains("until 2026-10-25"), "{told}");
        // In UTC there is only one clock to look at.
        let verdict = in_zone(made, &[], &TimeZone::UTC);
        assert_eq!(verdict.cycles_seen, Some(8), "{}", verdict.sentence);
        assert_eq!(verdict.clock, None, "{}", verdict.sentence);
    }
}

#[test]
fn a_daily_job_of_utc_beside_load_of_local_time_keeps_its_clock() {
    for seed in 1..=2 {
        let made = spikes(seed, 25.0, 6.0, at_0650);
        let verdict = in_zone(made, &[], &berlin());
        let told = format!("{seed}: {}", verdict.sentence);
        assert_eq!(verdict.cycle, Some(Cycle::Day), "{told}");
        assert_eq!(verdict.cycles_seen, Some(59), "{told}");
        assert_eq!(clock_of(&verdict), "UTC", "{told}");
        assert!(verdict.also.len() <= 1, "{told}: {:?}", verdict.also);
    }
}

#[test]
fn a_job_of_local_time_is_not_taken_for_one_of_utc() {
    for seed in 1..=2 {
        for weekly in [true, false] {
            let is_on = |at: i64| {
                let at = berlin_us(at);
                at_0650(at) && (is_sunday(at) || !weekly)
            };
            let verdict = in_zone(spikes(seed, 15.0, 0.0, is_on), &[], &berlin());
            let told = format!("{seed}, {weekly}: {}", verdict.sentence);
            assert_eq!(verdict.cycles, verdict.cycles_seen, "{told}");
            assert_eq!(clock_of(&verdict), "Europe/Berlin", "{told}");
            let clock = verdict.clock.expect("compared");
            assert!(clock.is_decided && clock.local.is_empty(), "{told}");
            assert!(!verdict.sentence.contains("UTC"), "{told}");
        }
    }
}

#[test]
fn the_zone_of_the_jobs_host_is_tried_when_the_reader_names_utc() {
    for (seed, weekly) in [(1, true), (2, false)] {
        let is_on = |at: i64| {
            let at = berlin_us(at);
            at_0650(at) && (is_sunday(at) || !weekly)
        };
        let options = Options {
            host_zone: Some(berlin()),
            ..Options::default()
        };
        let made = spikes(seed, 15.0, 0.0, is_on);
        let verdict = explain(&[made], &[], &options).series.remove(0).verdict;
        let told = format!("{seed}, {weekly}: {}", verdict.sentence);
        assert_eq!(verdict.cycles, verdict.cycles_seen, "{told}");
        assert_eq!(clock_of(&verdict), "Europe/Berlin", "{told}");
        let phase = verdict.phase.expect("a spike");
        assert!(phase.from_text.ends_with("06:50"), "{told}");
    }
}

#[test]
fn the_runs_of_a_job_of_utc_explain_it() {
    let made = spikes(5, 15.0, 0.0, |at| at_0650(at) && is_sunday(at));
    let sunday = FROM_US + 4 * DAY_US + 6 * HOUR_US + 50 * HOUR_US / 60;
    let jobs = [
        given(
            "snapshot",
            (0..8).map(|week| sunday + week * 7 * DAY_US + 1_000_000),
        ),
        given(
            "other",
            (0..59).map(|day| FROM_US + day * DAY_US + 3 * HOUR_US),
        ),
    ];
    let verdict = in_zone(made, &jobs, &berlin());
    let told = &verdict.sentence;
    assert_eq!(verdict.kind, Kind::Periodic, "{told}");
    assert_eq!(verdict.classes[0].jobs, ["snapshot"], "{told}");
    assert_eq!(verdict.classes[0].matched, 8, "{told}");
}

#[test]
fn clocks_are_not_mentioned_where_the_samples_cannot_tell() {
    // It ends before the clocks change.
    let change = FROM_US + 32 * DAY_US;
    let made = spikes(3, 15.0, 0.0, |at| at_0650(at) && at < change);
    let verdict = in_zone(made, &[], &berlin());
    let clock = verdict.clock.expect("compared");
    assert_eq!(clock.zone, "Europe/Berlin", "{}", verdict.sentence);
    assert!(!clock.is_decided, "{}", verdict.sentence);
    assert_never_says(&verdict.sentence, "UTC");
}
