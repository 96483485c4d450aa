//! Jobs that start anywhere in a window, gauges, and jobs that do their work on some of their runs.
use crate::testing::{
    DAY_US, HOUR_US, START_US, assert_says, cron, given, noise, only, series, timer,
};
use explain::JobRuns;
use explain::verdict::{Level, Verdict};
use facts::series::Series;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

const MINUTE_US: i64 = HOUR_US / 60;
const WEEK_US: i64 = 7 * DAY_US;

/// Numbers between 0 and 1.
fn drawn(seed: u64) -> impl FnMut() -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// What a sample shows.
#[derive(Clone, Copy, PartialEq)]
enum Shows {
    Mean,
    Moment,
}

/// Values of 10 with a wave by the day and noise, `factor` times as high during events.
fn curve(
    days: i64,
    gap_us: i64,
    events: &[(i64, i64)],
    factor: f64,
    shows: Shows,
    seed: u64,
) -> Series {
    let count = days * DAY_US / gap_us;
    let times_us: Vec<i64> = (1..count)
        .map(|i| START_US + i * gap_us + gap_us / 3)
        .collect();
    let mut left = 0.0;
    let values = (times_us.iter().zip(noise(times_us.len(), seed)))
        .map(|(&at, noise)| {
            left = 0.5 * left + 0.08 * noise;
            let share: f64 = match shows {
                Shows::Mean => {
                    events
                        .iter()
                        .map(|&(from, len)| {
                            (at.min(from + len) - from.max(at - gap_us)).max(0) as f64
                        })
                        .sum::<f64>()
                        / gap_us as f64
                }
                Shows::Moment => {
                    let is_on = events
                        .iter()
                        .any(|&(from, len)| from < at && at <= from + len);
                    f64::from(u8::from(is_on))
                }
            };
            let day = (at - START_US).rem_euclid(DAY_US) as f64 / DAY_US as f64;
            let wave = 1.0 + 0.3 * (std::f64::consts::TAU * (day - 0.4)).sin();
            10.0 * wave * (1.0 + (factor - 1.0) * share) * (1.0 + left)
        })
        .collect();
    series(times_us, values)
}

/// Two timers of a usual host.
fn usual_timers(days: i64) -> [JobRuns; 2] {
    let upgrade = every(DAY_US, days, 6 * HOUR_US);
    [
        timer("apt-upgrade.timer", upgrade, HOUR_US),
        timer("man-db.timer", every(DAY_US, days, 0), 12 * HOUR_US),
    ]
}

fn every(period_us: i64, days: i64, from_us: i64) -> impl Iterator<Item = i64> {
    (0..days * DAY_US / period_us).map(move |number| START_US + number * period_us + from_us)
}

/// Sixteen weeks below the default fstrim.timer, beside the usual jobs of a host.
fn trimmed(factor: f64, gap_us: i64, seed: u64) -> Verdict {
    let (days, delay_us) = (112, 100 * MINUTE_US);
    let mut unit = drawn(seed);
    let events: Vec<(i64, i64)> = every(WEEK_US, days, 0)
        .map(|due| {
            let start = due + (unit() * delay_us as f64) as i64;
            (start, ((20.0 + 10.0 * unit()) * MINUTE_US as f64) as i64)
        })
        .collect();
    let made = curve(days, gap_us, &events, factor, Shows::Mean, seed);
    let [upgrade, man_db] = usual_timers(days);
    let jobs = [
        timer("fstrim.timer", every(WEEK_US, days, 0), delay_us),
        upgrade,
        man_db,
        cron("logrotate", "0 0 * * *", &made),
        cron("weekly", "47 6 * * 7", &made),
        cron("report", "0 0 * * 4", &made),
    ];
    only(made, &jobs)
}

/// How good an answer is for a job: it is named, listed, or neither.
fn quality(verdict: &Verdict, job: &str) -> u8 {
    match verdict.classes.first() {
        Some(class) if class.jobs == [job] && verdict.level == Some(Level::Named) => 2,
        _ => {
            let mut listed = verdict.classes.iter().flat_map(|class| &class.jobs);
            u8::from(listed.any(|one| one == job))
        }
    }
}

/// What a clearer event is answered with, which may be no worse than before.
fn at_least(before: u8, now: u8, told: &str) -> u8 {
    assert!(now >= before, "worse than before: {told}");
    now
}

#[test]
fn the_default_fstrim_timer_is_named_and_no_worse_the_larger_its_effect() {
    for (gap_us, seed) in [
        (MINUTE_US, 1),
        (5 * MINUTE_US, 2),
        (5 * MINUTE_US, 3),
        (15 * MINUTE_US, 4),
    ] {
        let mut least = 0;
        for factor in [1.15, 1.5, 3.0, 10.0, 50.0] {
            let verdict = trimmed(factor, gap_us, seed);
            let told = format!("x {factor}, seed {seed}: {}", verdict.sentence);
            least = at_least(least, quality(&verdict, "fstrim.timer"), &told);
            if factor > 2.0 {
                assert_eq!(least, 2, "{told}");
                // The first one may lie too near to the first sample.
                assert!(verdict.cycles_seen >= Some(15), "{}", verdict.sentence);
                assert_says(&verdict.sentence, "between Monday 00:00 and 01:40");
                let effect = verdict.effect.expect("an effect");
                let len_min = effect.len_s.expect("a length") / 60.0;
                assert!((15.0..46.0).contains(&len_min), "{}", verdict.sentence);
            }
        }
    }
}

#[test]
fn a_short_delay_every_day_is_no_worse_the_larger_its_effect() {
    let days = 28;
    for seed in 1..4 {
        let mut least = 0;
        for factor in [1.5, 5.0, 9.0, 20.0, 100.0] {
            let mut unit = drawn(seed);
            let events: Vec<(i64, i64)> = every(DAY_US, days, 3 * HOUR_US)
                .map(|due| {
                    (
                        due + (unit() * 5.0 * MINUTE_US as f64) as i64,
                        4 * MINUTE_US,
                    )
                })
                .collect();
            let made = curve(days, MINUTE_US, &events, factor, Shows::Mean, seed);
            let jobs = [
                timer(
                    "backup.timer",
                    every(DAY_US, days, 3 * HOUR_US),
                    5 * MINUTE_US,
                ),
                timer("man-db.timer", every(DAY_US, days, 0), 12 * HOUR_US),
                cron("other", "10 4 * * *", &made),
            ];
            let verdict = only(made, &jobs);
            let told = format!("x {factor}, seed {seed}: {}", verdict.sentence);
            least = at_least(least, quality(&verdict, "backup.timer"), &told);
        }
        assert_eq!(least, 2, "seed {seed}");
    }
}

#[test]
fn exact_starts_from_a_log_leave_no_event_out() {
    // The same trims, each at a time of its own that a log has.
    let days = 112;
    let mut unit = drawn(7);
    let starts: Vec<i64> = every(WEEK_US, days, 0)
        .map(|due| due + (unit() * 100.0 * MINUTE_US as f64) as i64)
        .collect();
    let events: Vec<(i64, i64)> = starts.iter().map(|&at| (at, 25 * MINUTE_US)).collect();
    for factor in [2.0, 20.0] {
        let made = curve(days, 5 * MINUTE_US, &events, factor, Shows::Mean, 7);
        let jobs = [
            given("fstrim.timer", starts.iter().copied()),
            cron("report", "0 0 * * 1", &made),
            cron("logrotate", "0 0 * * *", &made),
        ];
        let verdict = only(made, &jobs);
        assert_eq!(quality(&verdict, "fstrim.timer"), 2, "{}", verdict.sentence);
        assert!(verdict.cycles_seen >= Some(15), "{}", verdict.sentence);
        let place = "between Monday 00:0";
        assert_says(&verdict.sentence, place);
    }
}

#[test]
fn bursts_at_other_times_blame_no_timer() {
    // Two bursts a day at any time, as large as trims are.
    for seed in 1..6 {
        let (days, mut unit) = (84, drawn(seed));
        let events: Vec<(i64, i64)> = (0..2 * days)
            .map(|_| START_US + (unit() * (days * DAY_US) as f64) as i64)
            .map(|at| (at, 30 * MINUTE_US))
            .collect();
        let made = curve(days, 5 * MINUTE_US, &events, 6.0, Shows::Mean, seed);
        let [upgrade, man_db] = usual_timers(days);
        let fstrim = timer("fstrim.timer", every(WEEK_US, days, 0), 100 * MINUTE_US);
        let jobs = [fstrim, upgrade, man_db];
        let verdict = only(made, &jobs);
        let told = &verdict.sentence;
        assert_ne!(verdict.level, Some(Level::Named), "seed {seed}: {told}");
        assert!(!told.contains("timer"), "seed {seed}: {told}");
    }
}

#[test]
fn a_window_of_half_the_day_is_no_cause_of_what_is_always_in_one_place() {
    let days = 42;
    let events: Vec<(i64, i64)> = every(DAY_US, days, 9 * HOUR_US + 7 * MINUTE_US)
        .map(|at| (at, 20 * MINUTE_US))
        .collect();
    for factor in [1.6, 10.0] {
        let made = curve(days, 5 * MINUTE_US, &events, factor, Shows::Mean, 3);
        let jobs = [
            timer("dpkg-db-backup.timer", every(DAY_US, days, 0), 12 * HOUR_US),
            timer("apt-daily.timer", every(DAY_US / 2, days, 0), 12 * HOUR_US),
        ];
        let verdict = only(made, &jobs);
        assert_ne!(verdict.level, Some(Level::Named), "{}", verdict.sentence);
    }
}

#[test]
fn a_gauge_shows_the_moment() {
    // 12 to 40 minutes at a known minute, read every five minutes.
    for (seed, len_min) in [(1, 12), (2, 20), (3, 33), (4, 40)] {
        let days = 28;
        let start_us = 3 * HOUR_US + (seed as i64 * 7 + 1) * MINUTE_US;
        let events: Vec<(i64, i64)> = every(DAY_US, days, start_us)
            .map(|at| (at, len_min * MINUTE_US))
            .collect();
        let made = curve(days, 5 * MINUTE_US, &events, 3.0, Shows::Moment, seed);
        let minute = (start_us - 3 * HOUR_US) / MINUTE_US;
        let jobs = [
            cron("dump", &format!("{minute} 3 * * *"), &made),
            cron("other", "30 5 * * *", &made),
            cron("hourly", "17 * * * *", &made),
        ];
        let verdict = only(made, &jobs);
        let told = format!("{len_min} min: {}", verdict.sentence);
        assert_eq!(quality(&verdict, "dump"), 2, "{told}");
    }
}

#[test]
fn a_job_with_work_on_every_second_run_is_found() {
    let days = 42 * 7;
    let events: Vec<(i64, i64)> = every(2 * WEEK_US, days, 6 * DAY_US + 3 * HOUR_US)
        .map(|at| (at, 40 * MINUTE_US))
        .collect();
    let made = curve(days, 10 * MINUTE_US, &events, 4.0, Shows::Mean, 2);
    let jobs = [
        cron("scrub", "0 3 * * 7", &made),
        cron("daily", "25 6 * * *", &made),
        cron("weekly", "47 6 * * 7", &made),
    ];
    let verdict = only(made, &jobs);
    assert!(quality(&verdict, "scrub") >= 1, "{}", verdict.sentence);
}

#[test]
fn hours_on_one_night_of_the_week_are_no_load() {
    let days = 63;
    let events: Vec<(i64, i64)> = every(WEEK_US, days, 0)
        .map(|at| (at, 2 * HOUR_US))
        .collect();
    let made = curve(days, 5 * MINUTE_US, &events, 1.8, Shows::Mean, 5);
    let jobs = [
        cron("reindex", "0 0 * * 1", &made),
        cron("daily", "25 6 * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(quality(&verdict, "reindex"), 2, "{}", verdict.sentence);
}

#[test]
fn hours_of_every_day_are_no_wave_however_large() {
    let due = || every(DAY_US, 21, 7 * HOUR_US + 15 * MINUTE_US);
    for (gap_s, level) in [(15, 1), (60, 2), (300, 2), (900, 2), (3_600, 1)] {
        for seed in [301, 303] {
            let mut unit = drawn(seed);
            let events: Vec<(i64, i64)> = due()
                .map(|due| {
                    let start = due + (unit() * 5.0 * MINUTE_US as f64) as i64;
                    let len = 180.0 * (0.7 + 0.3 * (unit() + unit()));
                    (start, (len * MINUTE_US as f64) as i64)
                })
                .collect();
            let made = curve(21, gap_s * 1_000_000, &events, 50.0, Shows::Moment, seed);
            let jobs = [
                timer("report.timer", due(), 5 * MINUTE_US),
                cron("other", "25 6 * * *", &made),
            ];
            let verdict = only(made, &jobs);
            let told = format!("{gap_s} s, seed {seed}: {}", verdict.sentence);
            assert!(quality(&verdict, "report.timer") >= level, "{told}");
            let len_h = verdict.effect.expect(&told).len_s.expect(&told) / 3_600.0;
            assert!((2.4..4.1).contains(&len_h), "{told}");
        }
    }
}

#[test]
fn a_delay_drawn_anew_does_not_explain_what_comes_at_the_same_minute() {
    let days = 42;
    let moments = |is_fixed: bool| -> Vec<(i64, i64)> {
        let mut unit = drawn(71);
        every(DAY_US, days, 6 * HOUR_US)
            .map(|due| {
                let part = if is_fixed { 0.67 } else { unit() };
                (
                    due + (part * HOUR_US as f64) as i64,
                    20 * MINUTE_US + (unit() * 5.0 * MINUTE_US as f64) as i64,
                )
            })
            .collect()
    };
    for (is_fixed, right, wrong) in [
        (true, "fixed.timer", "anew.timer"),
        (false, "anew.timer", "fixed.timer"),
    ] {
        let made = curve(
            days,
            5 * MINUTE_US,
            &moments(is_fixed),
            4.0,
            Shows::Mean,
            71,
        );
        let with = |name: &str, from_us: i64, delay_us: i64, delays: schedule::Delays| {
            let mut job = timer(name, every(DAY_US, days, from_us), delay_us);
            for run in &mut job.runs {
                run.delays = delays;
            }
            job
        };
        let jobs = [
            with("anew.timer", 6 * HOUR_US, HOUR_US, schedule::Delays::Anew),
            with(
                "fixed.timer",
                5 * HOUR_US + 30 * MINUTE_US,
                100 * MINUTE_US,
                schedule::Delays::Shared,
            ),
        ];
        let verdict = only(made, &jobs);
        assert!(quality(&verdict, right) > 0, "{}", verdict.sentence);
        assert_eq!(verdict.classes[0].jobs, [right], "{}", verdict.sentence);
        assert_eq!(quality(&verdict, wrong), 0, "{}", verdict.sentence);
    }
}

#[test]
fn what_a_sample_is_comes_from_the_source_and_else_from_the_values() {
    use facts::series::SampleOf;
    let events: Vec<(i64, i64)> = every(DAY_US, 28, 3 * HOUR_US + 7 * MINUTE_US)
        .map(|due| (due, 25 * MINUTE_US))
        .collect();
    for (source, shows, told) in [
        (None, Shows::Mean, Some((SampleOf::Interval, false))),
        (
            Some(SampleOf::Interval),
            Shows::Mean,
            Some((SampleOf::Interval, true)),
        ),
        (
            Some(SampleOf::Moment),
            Shows::Moment,
            Some((SampleOf::Moment, true)),
        ),
        // An exporter that keeps means of its own.
        (
            Some(SampleOf::Moment),
            Shows::Mean,
            Some((SampleOf::Interval, false)),
        ),
    ] {
        let mut made = curve(28, 10 * MINUTE_US, &events, 4.0, shows, 81);
        made.sample_of = source;
        let jobs = [cron("sync", "7 3 * * *", &made)];
        let verdict = only(made, &jobs);
        let taken = verdict
            .sample
            .map(|taken| (taken.sample_of, taken.by_source));
        assert_eq!(taken, told, "{}", verdict.sentence);
        assert_eq!(quality(&verdict, "sync"), 2, "{}", verdict.sentence);
    }
}

#[test]
fn a_short_event_hours_after_a_window_is_not_that_timers() {
    // Load on working days; each Sunday something at 03:10; another timer starts on Saturdays from 21:00 on.
    let (days, gap_us) = (154, 5 * MINUTE_US);
    let due = || every(WEEK_US, days, 6 * DAY_US + 3 * HOUR_US + 10 * MINUTE_US);
    let times_us: Vec<i64> = (1..days * DAY_US / gap_us)
        .map(|i| START_US + i * gap_us)
        .collect();
    let values = (times_us.iter().zip(noise(times_us.len(), 1)))
        .map(|(&at, noise)| {
            let is_on = due().any(|from| (from + 1..=from + 20 * MINUTE_US).contains(&at));
            let hour = (at - START_US).rem_euclid(DAY_US) as f64 / HOUR_US as f64;
            let is_working = (at - START_US).rem_euclid(WEEK_US) < 5 * DAY_US;
            let hump = ((hour - 9.5).tanh() - (hour - 19.0).tanh()) / 2.0;
            let load = if is_working { 1.0 + 0.55 * hump } else { 1.0 };
            load * if is_on { 30.0 } else { 10.0 } * (1.0 + 0.02 * noise)
        })
        .collect();
    let made = series(times_us, values);
    let saturdays = every(WEEK_US, days, 5 * DAY_US + 21 * HOUR_US);
    let jobs = [
        timer("import.timer", saturdays, 100 * MINUTE_US),
        cron("scrub", "10 3 * * 7", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(quality(&verdict, "scrub"), 2, "{}", verdict.sentence);
}

/// Events of half an hour, three weeks or more of them, each anywhere in the half of the day from six on.
fn any_time_of_half_the_day(factor: f64, gap_us: i64, seed: u64) -> Verdict {
    let days = 42;
    let due = || every(DAY_US, days, 6 * HOUR_US);
    let mut unit = drawn(seed);
    let events: Vec<(i64, i64)> = due()
        .map(|due| {
            let start = due + (unit() * 12.0 * HOUR_US as f64) as i64;
            (start, ((30.0 + 15.0 * unit()) * MINUTE_US as f64) as i64)
        })
        .collect();
    let made = curve(days, gap_us, &events, factor, Shows::Mean, seed);
    let jobs = [
        timer("report.timer", due(), 12 * HOUR_US),
        timer("fstrim.timer", every(WEEK_US, days, 0), 100 * MINUTE_US),
        timer("logrotate.timer", every(DAY_US, days, 0), HOUR_US),
        cron("weekly", "47 6 * * 7", &made),
    ];
    only(made, &jobs)
}

#[test]
fn a_random_delay_of_half_the_day_is_named_and_no_worse_the_larger_its_effect() {
    for (gap_min, seed) in [(1, 91), (5, 92), (5, 93), (15, 94)] {
        let mut least = 0;
        for factor in [1.2, 3.0, 10.0, 50.0] {
            let verdict = any_time_of_half_the_day(factor, gap_min * MINUTE_US, seed);
            let told = format!("x {factor}, {gap_min} min: {}", verdict.sentence);
            least = at_least(least, quality(&verdict, "report.timer"), &told);
            assert!(factor < 3.0 || least == 2, "{told}");
        }
    }
}

#[test]
fn load_alone_is_nothing_that_windows_of_half_the_day_explain() {
    for seed in 101..107 {
        for gap_min in [5, 15, 60] {
            let verdict = any_time_of_half_the_day(1.0, gap_min * MINUTE_US, seed);
            let told = format!("seed {seed}, {gap_min} min: {}", verdict.sentence);
            assert_eq!(quality(&verdict, "report.timer"), 0, "{told}");
            assert_ne!(verdict.level, Some(Level::Named), "{told}");
        }
    }
}

#[test]
fn something_weekly_at_the_time_of_a_daily_timer_is_not_that_timers() {
    let days = 112;
    let events: Vec<(i64, i64)> = every(WEEK_US, days, 37 * MINUTE_US)
        .map(|due| (due, 10 * MINUTE_US))
        .collect();
    for (factor, own, seed) in [
        (3.0, 1.0, 111),
        (10.0, 1.0, 112),
        (50.0, 1.0, 113),
        (10.0, 1.6, 112),
        (50.0, 1.6, 113),
    ] {
        let mut made = curve(days, 5 * MINUTE_US, &events, factor, Shows::Mean, seed);
        // The daily job has a small effect of its own, at any time of its window.
        let mut unit = drawn(seed);
        for from in every(DAY_US, days, 0) {
            let from = from + (unit() * HOUR_US as f64) as i64;
            let is_on = |at: &i64| (from..from + 15 * MINUTE_US).contains(at);
            let values = made.times_us.iter().zip(&mut made.values);
            values
                .filter(|(at, _)| is_on(at))
                .for_each(|(_, value)| *value *= own);
        }
        let mut fstrim = timer("fstrim.timer", every(WEEK_US, days, 0), 100 * MINUTE_US);
        for run in &mut fstrim.runs {
            run.delays = schedule::Delays::Anew;
        }
        let jobs = [
            timer("logrotate.timer", every(DAY_US, days, 0), HOUR_US),
            fstrim,
            cron("backup", "37 0 * * 1", &made),
        ];
        let verdict = only(made, &jobs);
        let told = format!("x {factor}, own x {own}: {}", verdict.sentence);
        assert_eq!(quality(&verdict, "backup"), 2, "{told}");
        assert_eq!(quality(&verdict, "logrotate.timer"), 0, "{told}");
    }
}

#[test]
fn an_improvement_at_any_time_of_a_window_names_nobody() {
    let days = 60;
    let due = || every(DAY_US, days, 5 * HOUR_US);
    let mut unit = drawn(121);
    let events: Vec<(i64, i64)> = due()
        .map(|due| (due + (unit() * 2.0 * HOUR_US as f64) as i64, 20 * MINUTE_US))
        .collect();
    for (factor, level) in [(4.0, Some(Level::Named)), (0.4, Some(Level::Fits))] {
        let made = curve(days, 5 * MINUTE_US, &events, factor, Shows::Mean, 121);
        let jobs = [
            timer("sync.timer", due(), 2 * HOUR_US),
            cron("other", "25 6 * * *", &made),
        ];
        let verdict = only(made, &jobs);
        let told = &verdict.sentence;
        assert_eq!(verdict.level, level, "{told}");
        assert_eq!(verdict.classes[0].jobs, ["sync.timer"], "{told}");
    }
}

#[test]
fn a_level_near_zero_is_no_measure_of_a_size() {
    let times_us: Vec<i64> = (0..28 * 288)
        .map(|i| START_US + i * 5 * MINUTE_US)
        .collect();
    let of = |level: f64| {
        let values = (times_us.iter().zip(noise(times_us.len(), 131)))
            .map(|(&at, noise)| {
                let is_on = (at - START_US).rem_euclid(DAY_US) < 20 * MINUTE_US;
                level + 0.1 * noise + if is_on { 50.0 } else { 0.0 }
            })
            .collect();
        only(series(times_us.clone(), values), &[]).sentence
    };
    assert!(
        of(10.0).contains("to about 6 times its usual level for about 20 min"),
        "{}",
        of(10.0)
    );
    assert!(of(1e-4).contains(" by 50 ms for"), "{}", of(1e-4));
}
