use crate::simulate::{Noise, Null};
use crate::testing::{
    DAY_US, HOUR_US, START_US, assert_never_says, assert_says, cron, in_zone, made, only,
};
use explain::change::segments;
use explain::verdict::{Kind, Level, Shape, Verdict};
use facts::series::Series;
use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
use std::ops::Range;

#[test]
fn a_sawtooth_below_the_load_is_still_found() {
    let made = made(24 * 70, HOUR_US, 4, |since| {
        let day = since as f64 / DAY_US as f64;
        // Saturday 02:00 is 5 days and 2 hours after the start.
        let age = (day - 5.0 - 2.0 / 24.0).rem_euclid(7.0) / 7.0;
        100.0 + 10.0 * (day * std::f64::consts::TAU).sin() + 6.0 * age
    });
    let jobs = [
        cron("weekly", "0 2 * * 6", &made),
        cron("nightly", "30 3 * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.shape, Some(Shape::Sawtooth));
    assert_eq!(verdict.classes[0].jobs, ["weekly"]);
    assert!(verdict.also.iter().any(|other| other.shape == Shape::Wave));
}

#[test]
fn a_sawtooth_of_hours_is_not_told_by_the_day() {
    for (hours, per_day) in [(4, None), (24, Some(0.1))] {
        let made = made(96 * 42, HOUR_US / 4, 4, |since| {
            let age = since.rem_euclid(hours * HOUR_US) as f64 / (hours * HOUR_US) as f64;
            100.0 + 10.0 * age
        });
        let verdict = only(made, &[]);
        assert_eq!(verdict.shape, Some(Shape::Sawtooth), "{}", verdict.sentence);
        let effect = verdict.effect.expect("a sawtooth");
        let told = effect.relative_per_day.map(|by| (by * 20.0).round() / 20.0);
        assert_eq!(told, per_day, "{}", verdict.sentence);
        let says = if per_day.is_some() {
            "rises 9"
        } else {
            "rises by 9"
        };
        assert_says(&verdict.sentence, says);
    }
}

#[test]
fn working_hours_are_reported_as_load() {
    let series = made(90 * 96, HOUR_US / 4, 21, |at| {
        let (hour, day) = (at.rem_euclid(DAY_US) / HOUR_US, at / DAY_US % 7);
        match (day < 5, (8..18).contains(&hour)) {
            (true, true) => 60.0,
            (false, true) => 53.0,
            _ => 50.0,
        }
    });
    let verdict = only(series, &[]);
    assert_eq!(verdict.kind, Kind::Unattributed);
    let sentence = &verdict.sentence;
    assert_says(sentence, "for about 10 h from Monday to Friday (");
    assert_says(sentence, "days), starting between 07:45 and 08:00 UTC.");
    assert!(sentence.contains("Load during working hours looks like this"));
    // The effect is smaller on both days of the weekend.
    let weekend = "a longer rise of 3 ms on Saturday and Sunday between 07:45 and 08:00";
    assert_says(sentence, weekend);
}

#[test]
fn steady_rise_is_a_trend_without_a_pattern() {
    let rising = made(24 * 90, HOUR_US, 22, |at| {
        20.0 + 0.24 * at as f64 / DAY_US as f64
    });
    let verdict = only(rising, &[]);
    assert_eq!(verdict.kind, Kind::None, "{}", verdict.sentence);
    let slope = verdict.trend_per_day.expect("a slope");
    assert!((slope / 0.24 - 1.0).abs() < 0.05, "{slope}");
    assert_says(&verdict.sentence, "rises steadily, from 2");
    assert!(
        only(made(24 * 90, HOUR_US, 23, |_| 20.0), &[])
            .trend_per_day
            .is_none()
    );
}

#[test]
fn daily_sine_leaves_no_residual_pattern() {
    for seed in 1..=4 {
        let wave = made(24 * 90, HOUR_US, seed, |at| {
            20.0 + 4.0 * (std::f64::consts::TAU * at as f64 / DAY_US as f64).sin()
        });
        let verdict = only(wave, &[]);
        assert_eq!(verdict.shape, Some(Shape::Wave), "{}", verdict.sentence);
        assert!(verdict.also.is_empty(), "{}", verdict.sentence);
    }
}

#[test]
fn random_walk_is_not_a_trend() {
    for noise in [
        Noise::White,
        Noise::Ar1 { phi: 0.9 },
        Noise::Ar1 { phi: 0.97 },
        Noise::RandomWalk,
    ] {
        let null = Null {
            first_day: date(2026, 1, 1),
            zone: TimeZone::UTC,
            samples: 365,
            step_s: 86_400,
            noise,
            daily_wave_sigmas: None,
        };
        let told = (0..100)
            .filter(|&seed| {
                let Series {
                    times_us, values, ..
                } = null.simulate(seed).series;
                let cut = segments(&times_us, &values);
                matches!(cut.segments[..], [only] if only.slope_per_day != 0.0)
            })
            .count();
        assert!(told <= 5, "{told} of 100, {noise:?}");
    }
}

#[test]
fn a_dip_next_to_a_wave_is_not_a_sawtooth() {
    // Four hours a day may be load as well.
    for (seed, len_h, level) in [
        (1, 1.0, Level::Named),
        (2, 1.5, Level::Named),
        (3, 4.0, Level::Fits),
    ] {
        let made = made(288 * 60, HOUR_US / 12, seed, |at| {
            let hour = at.rem_euclid(DAY_US) as f64 / HOUR_US as f64;
            let wave = 10.0 * (std::f64::consts::TAU * (hour - 3.0) / 24.0).sin();
            let is_dip = hour > 2.0 && hour <= 2.0 + len_h;
            60.0 + wave - if is_dip { 12.0 } else { 0.0 }
        });
        let backup = cron("backup", "0 2 * * *", &made);
        let verdict = only(made, &[backup]);
        assert_eq!(verdict.level, Some(level), "{}", verdict.sentence);
        assert_eq!(verdict.classes[0].jobs, ["backup"], "{}", verdict.sentence);
        let effect = verdict.effect.expect("a dip");
        assert!((effect.size + 12.0).abs() < 0.5, "{}", verdict.sentence);
        assert!(
            (effect.len_s.expect("a length") / 3_600.0 - len_h).abs() < 0.02,
            "{}",
            verdict.sentence
        );
    }
}

#[test]
fn effects_of_two_jobs_are_separated() {
    let made = made(48 * 84, HOUR_US / 2, 34, |at| {
        let week = at.rem_euclid(7 * DAY_US) as f64 / (7 * DAY_US) as f64;
        // Reset on Mondays at 06:47; the first sample after it is at 07:00.
        let since = (week - 6.78 / 168.0).rem_euclid(1.0);
        let hour = at.rem_euclid(DAY_US) as f64 / HOUR_US as f64;
        let backup = if hour > 2.5 && hour <= 3.5 { 20.0 } else { 0.0 };
        100.0 + 12.0 * since + backup
    });
    let backup = cron("backup", "30 2 * * *", &made);
    let trim = cron("fstrim", "47 6 * * 1", &made);
    let verdict = only(made, &[backup, trim]);
    let told = &verdict.sentence;
    assert_eq!(verdict.classes[0].jobs, ["backup"], "{told}");
    let beside = verdict.also.iter().find(|also| also.jobs == ["fstrim"]);
    assert_eq!(
        beside.map(|also| also.shape),
        Some(Shape::Sawtooth),
        "{told}"
    );
    assert_eq!(verdict.also.len(), 1, "{told}");
}

#[test]
fn two_jobs_half_a_day_apart_are_separated() {
    for (seed, sizes) in [(41, (10.0, 6.0)), (42, (6.0, 10.0)), (43, (5.0, 15.0))] {
        let made = made(96 * 40, HOUR_US / 4, seed, |at| {
            let hour = at.rem_euclid(DAY_US) as f64 / HOUR_US as f64;
            if hour > 3.0 && hour <= 4.0 {
                50.0 + sizes.0
            } else if hour > 15.0 && hour <= 16.0 {
                50.0 + sizes.1
            } else {
                50.0
            }
        });
        let a = cron("a", "0 3 * * *", &made);
        let b = cron("b", "0 15 * * *", &made);
        let verdict = only(made, &[a, b]);
        let told = &verdict.sentence;
        assert_eq!(verdict.kind, Kind::Periodic, "{told}");
        assert_eq!(verdict.shape, Some(Shape::Spike), "{told}");
        let beside: Vec<&String> = verdict.also.iter().flat_map(|also| &also.jobs).collect();
        let mut all = vec![&verdict.classes[0].jobs[0]];
        all.extend(beside);
        all.sort();
        assert_eq!(all, ["a", "b"], "{told}");
        assert!(
            verdict.also.iter().all(|also| also.shape == Shape::Spike),
            "{told}"
        );
    }
}

#[test]
fn late_patterns_report_their_size_while_active() {
    // A job that ran all along but degrades values only in the last third of the time.
    let half_an_hour = |of_day: i64| of_day > 2 * HOUR_US && of_day <= 5 * HOUR_US / 2;
    let made = made(288 * 60, HOUR_US / 12, 6, |at| {
        let hurts = at > 40 * DAY_US && half_an_hour(at.rem_euclid(DAY_US));
        if hurts { 32.0 } else { 20.0 }
    });
    let backup = cron("backup", "0 2 * * *", &made);
    let verdict = only(made, &[backup]);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["backup"]);
    let effect = verdict.effect.expect("a stall");
    assert!((effect.size - 12.0).abs() < 0.5, "{}", verdict.sentence);
    assert_eq!(effect.len_s, Some(1800.0), "{}", verdict.sentence);
    let since = verdict.since.expect("a beginning").as_microsecond();
    let apart = since - (START_US + 40 * DAY_US);
    assert!((0..=3 * HOUR_US).contains(&apart), "{}", verdict.sentence);
}

#[test]
fn a_slow_bend_is_not_a_wave() {
    // A disk that fills up: the residual of a straight line rises and falls once or twice.
    let made = made(24 * 90, HOUR_US, 3, |at| {
        let days = at as f64 / DAY_US as f64;
        100.0 * (1.0 - (-days / 25.0).exp())
    });
    let verdict = only(made, &[]);
    let recurs = matches!(verdict.kind, Kind::Periodic | Kind::Unattributed);
    assert!(!recurs, "{}", verdict.sentence);
}

#[test]
fn timestamps_may_mark_the_start_of_an_interval() {
    // Samples dated by the minute in which a job runs, as exports of buckets are; other jobs run at other
    // minutes.
    let made = made(1_440 * 30, HOUR_US / 60, 8, |at| {
        let minute = at.rem_euclid(DAY_US) / (HOUR_US / 60);
        if minute == 190 { 30.0 } else { 20.0 }
    });
    let jobs = [
        cron("other", "40 3 * * *", &made),
        cron("culprit", "10 3 * * *", &made),
        cron("third", "0 15 * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["culprit"]);
    assert_eq!(verdict.classes[0].missed, 0);
}

#[test]
fn monthly_effects_are_found_by_job_runs() {
    // Samples at the exact times of the runs: the next one shows the effect of a run.
    let first = START_US / HOUR_US;
    let made = made(24 * 365, HOUR_US, 4, |at| {
        let hour = jiff::Timestamp::from_second((first + at / HOUR_US) * 3_600).expect("a time");
        let hour = hour.to_zoned(TimeZone::UTC);
        let hurts = hour.day() == 1 && hour.hour() == 4;
        if hurts { 32.0 } else { 20.0 }
    });
    let jobs = [
        cron("invoice", "0 3 1 * *", &made),
        cron("report", "30 4 * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["invoice"]);
    assert_eq!(verdict.classes[0].missed, 0, "{}", verdict.sentence);
    let effect = verdict.effect.expect("a stall");
    assert!((effect.size - 12.0).abs() < 1.0, "{}", verdict.sentence);
    assert!((effect.len_s.expect("a length") - 3_600.0).abs() < 1.0);
}

#[test]
fn separated_waves_are_not_separated_again() {
    // Ten times the load in working hours, and a stall on Sundays that is invisible to the eye: the wave
    // that is separated from its edges looks like a mixture again.
    let mut made = made(288 * 70, HOUR_US / 12, 5, |_| 0.0);
    let mut lasting = 0.0;
    for (value, at) in made.values.iter_mut().zip(&made.times_us) {
        lasting = 0.7 * lasting + 0.04 * *value;
        let since = at - START_US;
        let hour = since.rem_euclid(DAY_US) as f64 / HOUR_US as f64;
        let day = since.div_euclid(DAY_US) % 7;
        let busy = 0.5 * (((hour - 8.0) * 3.0).tanh() - ((hour - 18.0) * 3.0).tanh());
        let load = if day < 5 { 25.0 + 225.0 * busy } else { 25.0 };
        let stalls = day == 6 && (6.8..7.0).contains(&hour);
        *value = lasting.exp() * if stalls { load * 0.2 } else { load };
    }
    let verdict = only(made, &[]);
    let recurs = matches!(verdict.kind, Kind::Periodic | Kind::Unattributed);
    assert!(recurs, "{}", verdict.sentence);
    assert!(verdict.also.len() < 6, "{}", verdict.sentence);
}

/// Ten weeks of two humps a day in hourly samples.
fn humps(seed: u64, early: &Range<i64>, late: &Range<i64>, sizes: (f64, f64)) -> Series {
    made(24 * 70, HOUR_US, seed, |at| match at / HOUR_US % 24 {
        hour if early.contains(&hour) => 20.0 + sizes.0,
        hour if late.contains(&hour) => 20.0 + sizes.1,
        _ => 20.0,
    })
}

#[test]
fn an_hour_at_the_edge_of_a_wave_of_load_is_part_of_it() {
    let series = humps(53, &(7..10), &(12..16), (5.0, 7.0));
    let mut said = Vec::new();
    for spec in ["10 14 * * *", "58 14 * * *"] {
        let verdict = only(series.clone(), &[cron("idle", spec, &series)]);
        assert!(
            !verdict.sentence.contains("ossible cause")
                && !verdict.sentence.contains("Cause unclear"),
            "{}",
            verdict.sentence
        );
        said.push(verdict.sentence);
    }
    let part = "It may be part of the larger wave of load.";
    assert!(said.iter().any(|one| one.contains(part)), "{said:?}");
}

#[test]
fn two_hours_of_hourly_load_may_be_a_job_of_one() {
    // A job of an hour that begins in the middle of a sample fills two in part.
    let series = humps(53, &(7..10), &(12..14), (10.0, 14.0));
    let jobs = [
        cron("rise", "19 11 * * *", &series),
        cron("fall", "36 13 * * *", &series),
    ];
    let verdict = only(series, &jobs);
    assert_eq!(verdict.level, Some(Level::Fits), "{}", verdict.sentence);
    let may_be = "but ordinary load may last as long";
    assert_says(&verdict.sentence, may_be);
}

/// Hourly samples of six weeks with a level for each hour of the day, and what `explain` says with an idle job at 13:20.
fn by_hour(level: impl Fn(usize) -> u8) -> Verdict {
    let series = made(24 * 42, HOUR_US, 54, |at| {
        20.0 + f64::from(level(usize::try_from(at / HOUR_US % 24).unwrap()))
    });
    let job = cron("job", "20 13 * * *", &series);
    only(series, &[job])
}

#[test]
fn an_hour_may_be_load_where_other_hours_differ_as_much() {
    const LEVELS: [u8; 24] = [
        3, 8, 2, 1, 5, 9, 4, 7, 2, 6, 3, 8, 5, 1, 10, 4, 7, 3, 9, 2, 6, 1, 8, 5,
    ];
    let verdict = by_hour(|hour| LEVELS[hour]);
    assert_ne!(verdict.level, Some(Level::Named), "{}", verdict.sentence);
    let may_be = "Other times of the day vary by a comparable amount";
    assert_says(&verdict.sentence, may_be);
}

#[test]
fn an_hour_is_a_jobs_beside_few_others_and_the_edges_of_load() {
    let named = |level: fn(usize) -> u8| {
        let verdict = by_hour(level);
        assert_eq!(verdict.level, Some(Level::Named), "{}", verdict.sentence);
        assert_eq!(verdict.classes[0].jobs, ["job"]);
    };
    // Alone; beside another hour; beside work from two to seven, whose edges are as steep.
    named(|hour| if hour == 14 { 15 } else { 3 });
    named(|hour| match hour {
        14 => 15,
        4 => 10,
        _ => 3,
    });
    named(|hour| match hour {
        14 => 15,
        2..7 => 13,
        _ => 3,
    });
}

/// Load drops for 50 minutes at noon on working days, when a job of every day runs, or one of working days.
#[test]
fn a_drop_at_noon_of_working_days_may_be_a_break() {
    let series = made(12 * 24 * 56, HOUR_US / 12, 55, |at| {
        let is_noon = (144..154).contains(&(at / (HOUR_US / 12) % 288));
        if is_noon && at / DAY_US % 7 < 5 {
            30.0
        } else {
            40.0
        }
    });
    let daily = only(series.clone(), &[cron("report", "55 11 * * *", &series)]);
    assert_ne!(daily.level, Some(Level::Named), "{}", daily.sentence);
    let may_be = "A break in the work of these days looks like this";
    assert_says(&daily.sentence, may_be);
    let own = only(series.clone(), &[cron("report", "55 11 * * 1-5", &series)]);
    assert_eq!(own.level, Some(Level::Named), "{}", own.sentence);
}

/// The samples end where clocks have just been set back.
#[test]
fn samples_may_end_in_an_hour_that_comes_twice() {
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let end: Timestamp = "2026-10-25T01:05:00Z".parse().unwrap();
    let mut series = made(48 * 30, HOUR_US / 2, 54, |at| {
        if at / HOUR_US % 24 == 14 { 30.0 } else { 20.0 }
    });
    let by_us = end.as_microsecond() - series.times_us.last().unwrap();
    for time_us in &mut series.times_us {
        *time_us += by_us;
    }
    let verdict = in_zone(series, &[], &berlin);
    assert_says(&verdict.sentence, "jumps up");
}

#[test]
fn a_weekly_job_before_nightly_samples_is_not_called_load() {
    let mut series = made(7 * 30, DAY_US, 52, |at| {
        if at / DAY_US % 7 == 3 { 40.0 } else { 20.0 }
    });
    for time_us in &mut series.times_us {
        *time_us += 2 * HOUR_US;
    }
    let jobs = [
        cron("scrub", "30 1 * * 4", &series),
        cron("daily", "25 6 * * *", &series),
    ];
    let verdict = only(series, &jobs);
    // One weekday of seven: that is no proof.
    assert_eq!(verdict.level, Some(Level::Fits), "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["scrub"], "{}", verdict.sentence);
    assert_never_says(&verdict.sentence, "load");
}
