use crate::simulate::{Noise, Null, RIGHT_CLASS, Sawtooth, four_jobs, job, runs_of};
use crate::testing::{
    DAY_US, HOUR_US, START_US, assert_says, at, cron, given, in_zone, made, only, series,
};
use explain::verdict::{ChangeKind, Cycle, Kind, Level, Role, Shape};
use explain::{Options, explain};
use facts::host::Trigger;
use facts::series::{Dating, Series};
use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;

#[test]
fn weekly_sawtooth_is_attributed_to_the_jobs_of_its_day() {
    let saw = Sawtooth::default();
    for seed in 1..4 {
        let made = saw.simulate(seed);
        let from = at(made.series.times_us[0] - 40 * DAY_US);
        let until = at(*made.series.times_us.last().expect("samples"));
        let jobs = four_jobs(from, until, &saw.zone);
        let verdict = in_zone(made.series, &jobs, &saw.zone);
        assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
        assert_eq!(verdict.cycle, Some(Cycle::Week));
        assert_eq!(verdict.shape, Some(Shape::Sawtooth));
        assert_eq!(verdict.classes[0].jobs, RIGHT_CLASS);
        assert_eq!(verdict.classes[0].role, Role::Heals);
        let per_day = verdict.effect.and_then(|effect| effect.relative_per_day);
        assert!((per_day.expect("known") + 0.12 / 7.0 / 0.94).abs() < 0.002);
        for reset in &made.truth.resets_us {
            let held = verdict
                .events
                .iter()
                .any(|event| event.from <= at(*reset) && at(*reset) <= event.to);
            assert!(held, "{}", at(*reset));
        }
    }
}

#[test]
fn patterns_that_end_with_a_schedule_change_are_reported() {
    let saw = Sawtooth {
        first_day: date(2016, 7, 1),
        days: 180,
        daily_from: Some(date(2016, 10, 17)),
        ..Sawtooth::default()
    };
    let made = saw.simulate(5);
    let from = at(made.series.times_us[0] - 40 * DAY_US);
    let until = at(*made.series.times_us.last().expect("samples"));
    let cut: Timestamp = "2016-10-16T22:00:00Z".parse().expect("a time");
    let mut jobs = four_jobs(from, until, &saw.zone);
    for one in jobs
        .iter_mut()
        .filter(|one| RIGHT_CLASS.contains(&one.name.as_str()))
    {
        let daily = Trigger::Cron {
            spec: "25 6 * * *".to_owned(),
            time_zone: None,
            source: "etc/crontab:17".to_owned(),
        };
        one.runs.retain(|run| run.earliest < cut);
        one.runs
            .extend(runs_of(&job(&one.name, daily), cut, until, &saw.zone).runs);
    }
    let verdict = in_zone(made.series, &jobs, &saw.zone);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.cycle, Some(Cycle::Week));
    assert_eq!(verdict.classes[0].jobs, RIGHT_CLASS);
    let ends = verdict.until.expect("it ends");
    assert!(
        (ends.as_second() - cut.as_second()).abs() < 4 * 86_400,
        "{ends}"
    );
    let end = verdict
        .changes
        .iter()
        .find(|change| change.what == ChangeKind::PatternEnds)
        .expect("told");
    assert!(
        end.beside
            .as_ref()
            .is_some_and(|beside| beside.contains("fstrim"))
    );
}

#[test]
fn one_unlogged_run_does_not_clear_a_job() {
    let saw = Sawtooth::default();
    for seed in 1..4 {
        let made = saw.simulate(seed);
        let missing = made.truth.resets_us.len() / 2;
        let runs = made.truth.resets_us.iter().enumerate();
        let seen = runs
            .filter(|(number, _)| *number != missing)
            .map(|(_, &at)| at);
        let jobs = [
            given("trim", seen),
            cron("nightly", "30 3 * * *", &made.series),
        ];
        let verdict = in_zone(made.series, &jobs, &saw.zone);
        assert_eq!(verdict.classes[0].jobs, ["trim"], "{}", verdict.sentence);
        assert_eq!(verdict.classes[0].missed, 1);
    }
}

#[test]
fn run_time_between_two_samples_does_not_matter() {
    let saw = Sawtooth {
        noise: 0.001,
        ..Sawtooth::default()
    };
    let made = saw.simulate(2);
    // Five hours after each reset, and before the next night.
    let late = made.truth.resets_us.iter().map(|at| at + 5 * HOUR_US);
    let jobs = [given("trim", late)];
    let verdict = in_zone(made.series, &jobs, &saw.zone);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["trim"]);
}

#[test]
fn daily_stall_is_a_spike_attributed_to_its_job() {
    // Ten days of minutes; a spike of five minutes from 03:10 on.
    let made = made(14_400, 60_000_000, 1, |since| {
        let minute = since.rem_euclid(DAY_US) / 60_000_000;
        let is_stall = (190..195).contains(&minute);
        20.0 + if is_stall { 6.0 } else { 0.0 }
    });
    let jobs = [
        cron("backup", "10 3 * * *", &made),
        cron("rotate", "25 6 * * *", &made),
        cron("hourly", "17 * * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.shape, Some(Shape::Spike));
    assert_eq!(verdict.cycle, Some(Cycle::Day));
    assert_eq!(verdict.classes[0].jobs, ["backup"]);
    assert_eq!(verdict.classes[0].role, Role::Hurts);
    let phase = verdict.phase.expect("known");
    let minute = |at: Timestamp| at.as_second().rem_euclid(86_400) / 60;
    assert!(
        minute(phase.from) >= 188 && minute(phase.to) <= 191,
        "{phase:?}"
    );
    let effect = verdict.effect.expect("known");
    assert!((effect.size - 6.0).abs() < 1.0, "{effect:?}");
    assert!(
        (120.0..=480.0).contains(&effect.len_s.expect("known")),
        "{effect:?}"
    );
}

#[test]
fn patterns_without_a_matching_job_blame_none() {
    let stall = |since: i64| f64::from(u8::from(since.rem_euclid(37 * 60_000_000) < 120_000_000));
    let made = made(6_000, 60_000_000, 2, |since| 20.0 + 6.0 * stall(since));
    let jobs = [
        cron("backup", "10 3 * * *", &made),
        cron("hourly", "17 * * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
    assert_eq!(verdict.cycle, Some(Cycle::Fixed));
    assert!((verdict.period_s.expect("known") - 37.0 * 60.0).abs() < 2.0);
}

#[test]
fn day_and_night_load_is_a_wave_and_blames_no_job() {
    let made = made(24 * 60, HOUR_US, 3, |since| {
        100.0 + 10.0 * (since as f64 / DAY_US as f64 * std::f64::consts::TAU).sin()
    });
    let jobs = [
        cron("backup", "0 3 * * *", &made),
        cron("rotate", "25 6 * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
    assert_eq!(verdict.shape, Some(Shape::Wave));
}

#[test]
fn a_step_is_a_change_not_a_pattern() {
    let made = made(365, DAY_US, 5, |since| {
        if since < 200 * DAY_US { 50.0 } else { 56.0 }
    });
    let verdict = only(made, &[]);
    assert_eq!(verdict.kind, Kind::Change, "{}", verdict.sentence);
    let change = &verdict.changes[0];
    let at = (change.to.as_microsecond() - START_US) / DAY_US;
    assert!((198..=202).contains(&at), "{at}");
}

#[test]
fn two_weeks_are_too_short_for_a_weekly_pattern() {
    let made = made(24 * 17, HOUR_US, 6, |since| {
        let week = (since as f64 / DAY_US as f64 / 7.0).fract();
        100.0 - 20.0 * week
    });
    let verdict = only(made, &[]);
    assert_eq!(verdict.kind, Kind::Undecided, "{}", verdict.sentence);
    assert_says(&verdict.sentence, "only 2 cycles of");
}

#[test]
fn short_constant_or_undated_series_have_no_pattern() {
    for count in [0, 1, 15] {
        let verdict = only(made(count, DAY_US, 7, |_| 1.0), &[]);
        assert_eq!(verdict.kind, Kind::Undecided, "{}", verdict.sentence);
    }
    let flat = series(
        (0..500).map(|i| START_US + i * DAY_US).collect(),
        vec![7.0; 500],
    );
    let verdict = only(flat, &[]);
    assert_eq!(verdict.kind, Kind::None, "{}", verdict.sentence);
    let mut undated = made(100, DAY_US, 8, |_| 1.0);
    undated.dating = Dating::Day(date(2020, 4, 13));
    let verdict = only(undated, &[]);
    assert_eq!(verdict.kind, Kind::Undecided);
    assert!(verdict.sentence.contains("2020-04-13"));
}

#[test]
fn false_discoveries_are_controlled_over_many_series() {
    let null = Null {
        first_day: date(2026, 1, 1),
        zone: TimeZone::UTC,
        samples: 400,
        step_s: 3_600,
        noise: Noise::Ar1 { phi: 0.9 },
        daily_wave_sigmas: None,
    };
    let series: Vec<Series> = (0..20).map(|seed| null.simulate(seed).series).collect();
    let analysis = explain(&series, &[], &Options::default());
    let told = analysis
        .series
        .iter()
        .filter(|one| matches!(one.verdict.kind, Kind::Periodic | Kind::Unattributed))
        .count();
    assert_eq!(told, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_input_is_handled_without_panic(
        gaps in proptest::collection::vec(1i64..1_000_000_000_000, 0..200),
        values in proptest::collection::vec(prop_oneof![
            -1e3..1e3f64,
            Just(0.0),
            Just(1e300),
            Just(f64::MIN_POSITIVE),
            any::<f64>(),
        ], 200),
        spec in prop_oneof![Just("* * * * *"), Just("47 6 * * 7"), Just("0 0 1 * *")],
    ) {
        let times_us: Vec<i64> = gaps
            .iter()
            .scan(START_US, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect();
        let values = values[..times_us.len()].to_vec();
        let series = series(times_us, values);
        let jobs = if series.values.is_empty() { Vec::new() } else { vec![cron("job", spec, &series)] };
        let verdict = only(series, &jobs);
        prop_assert!(!verdict.sentence.is_empty());
    }

    #[test]
    fn units_and_origin_do_not_matter(scale in 1e-6..1e6f64, shift in -1e3..1e3f64, seed in 0u64..50) {
        let one = made(120, DAY_US, seed, |since| 3.0 * (since as f64 / DAY_US as f64 / 7.0).fract());
        let other = Series {
            values: one.values.iter().map(|value| (value + shift) * scale).collect(),
            ..one.clone()
        };
        let (one, other) = (only(one, &[]), only(other, &[]));
        prop_assert_eq!(one.kind, other.kind);
        prop_assert_eq!(one.period_s, other.period_s);
        prop_assert_eq!(one.shape, other.shape);
    }
}

#[test]
fn resets_are_located_to_the_sample() {
    let step_us = HOUR_US / 6;
    let (period_us, reset_us) = (3 * DAY_US, 15 * HOUR_US / 2);
    for seed in 1..=8 {
        let series = made(90 * 144, step_us, seed, |at| {
            let phase = (at - reset_us).rem_euclid(period_us) as f64 / period_us as f64;
            50.0 - 6.0 * phase
        });
        let verdict = only(series, &[]);
        let sentence = &verdict.sentence;
        assert_eq!(verdict.shape, Some(Shape::Sawtooth), "{sentence}");
        assert!(verdict.also.is_empty(), "{seed}: {sentence}");
        assert_eq!(verdict.events.len(), 30, "{seed}: {sentence}");
        for (event, number) in verdict.events.iter().zip(0..) {
            let at = START_US + reset_us + number * period_us;
            let told = (event.from.as_microsecond(), event.to.as_microsecond());
            assert_eq!(told, (at - step_us, at), "{seed}: {sentence}");
        }
    }
}

#[test]
fn an_isolated_distant_sample_is_ignored() {
    let mut series = made(24 * 60, HOUR_US, 31, |at| {
        let is_on = at.rem_euclid(DAY_US) == 3 * HOUR_US;
        50.0 + if is_on { 8.0 } else { 0.0 }
    });
    series.times_us[0] = 0;
    let analysis = explain(&[series], &[], &Options::default());
    let told = &analysis.series[0];
    let sentence = &told.verdict.sentence;
    assert_eq!(told.verdict.cycle, Some(Cycle::Day), "{sentence}");
    assert!(told.notes[0].starts_with("1 sample was skipped: too far"));
}

#[test]
fn jobs_that_run_during_a_stall_are_not_blamed() {
    let made = made(48 * 30, HOUR_US / 2, 33, |at| {
        let hour = at.rem_euclid(DAY_US) as f64 / HOUR_US as f64;
        let is_stall = hour > 5.0 && hour <= 8.0;
        if is_stall { 56.0 } else { 50.0 }
    });
    let guilty = cron("guilty", "0 5 * * *", &made);
    let middle = cron("middle", "30 6 * * *", &made);
    let after = cron("after", "10 8 * * *", &made);
    let verdict = only(made.clone(), &[middle.clone(), after.clone()]);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
    let verdict = only(made, &[middle, after, guilty]);
    assert_eq!(verdict.classes[0].jobs, ["guilty"], "{}", verdict.sentence);
    // Three hours a day may be load as well.
    assert_eq!(verdict.level, Some(Level::Fits), "{}", verdict.sentence);
}
