use crate::testing::{DAY_US, HOUR_US, START_US, cron, given, made, noise, only, series};
use explain::JobRuns;
use explain::verdict::{Kind, Level, Role, Verdict};
use facts::series::Series;
use schedule::Seen;

const MINUTE_US: i64 = HOUR_US / 60;

/// Returns whether a sample shows a run of some minutes at a minute of the day: it covers the time since
/// the previous one.
fn shows(at: i64, start_min: i64, len_min: i64) -> bool {
    let of_day = at.rem_euclid(DAY_US) - start_min * MINUTE_US;
    of_day > 0 && of_day <= len_min * MINUTE_US
}

/// Eight weeks in which latency is 24 ms higher for half an hour on working days at 22:00.
fn slow_on_working_days(seed: u64) -> Series {
    made(144 * 56, 10 * MINUTE_US, seed, |at| {
        let is_workday = at.div_euclid(DAY_US) % 7 < 5;
        if is_workday && shows(at, 22 * 60, 30) {
            44.0
        } else {
            20.0
        }
    })
}

#[test]
fn a_late_collector_does_not_change_the_cause() {
    // The backup starts at the minute of the samples, some of which are taken right after it began.
    let exact = made(288 * 30, 5 * MINUTE_US, 4, |at| {
        if shows(at, 390, 20) { 50.0 } else { 20.0 }
    });
    let late = noise(exact.times_us.len(), 9);
    let times = exact.times_us.iter().zip(late);
    let times_us: Vec<i64> = times
        .map(|(time, late)| time + (late * 1.5e6) as i64)
        .collect();
    let made = series(times_us, exact.values.clone());
    let jobs = [
        cron("cron-daily", "25 6 * * *", &made),
        cron("backup", "30 6 * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.classes[0].jobs, ["backup"], "{}", verdict.sentence);
    assert!(verdict.classes[0].score > 0.8, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].missed, 0, "{}", verdict.sentence);
}

#[test]
fn wide_bins_give_the_same_cause_as_narrow_ones() {
    // More samples than an exact fit uses.
    for start_min in [120, 197, 390] {
        let made = made(1_440 * 30, MINUTE_US, 5, |at| {
            if shows(at, start_min, 20) { 50.0 } else { 20.0 }
        });
        let spec = format!("{} {} * * *", start_min % 60, start_min / 60);
        let verdict = only(made.clone(), &[cron("backup", &spec, &made)]);
        assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
        assert_eq!(verdict.classes[0].jobs, ["backup"]);
        let effect = verdict.effect.expect("a stall");
        assert!((effect.size - 30.0).abs() < 1.0, "{}", verdict.sentence);
    }
}

#[test]
fn a_log_with_lost_lines_clears_no_job() {
    let made = made(144 * 60, 10 * MINUTE_US, 7, |at| {
        if shows(at, 75, 50) { 40.0 } else { 20.0 }
    });
    let logged = |is_told: &dyn Fn(i64) -> bool| {
        let nights = (0..60).filter(|&day| is_told(day));
        let mut backup = given(
            "backup",
            nights.map(|day| START_US + day * DAY_US + 75 * MINUTE_US),
        );
        for run in &mut backup.runs {
            run.seen = Seen::Syslog;
        }
        backup
    };
    let lost = [2, 9, 13, 20, 21, 33, 40, 52, 55];
    let mut backup = logged(&|day| !lost.contains(&day));
    let verdict = only(made.clone(), &[backup.clone()]);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["backup"]);
    assert_eq!(verdict.classes[0].missed, 9, "{}", verdict.sentence);
    // A job of working days does not run at weekends, so its log has not lost those runs.
    let verdict = only(made.clone(), &[logged(&|day| day % 7 < 5)]);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
    // A list of deployments is complete: what happens without one is not caused by them.
    for run in &mut backup.runs {
        run.seen = Seen::Given;
    }
    let verdict = only(made, &[backup]);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
}

#[test]
fn weekday_job_is_a_single_pattern() {
    let made = slow_on_working_days(2);
    let jobs = [
        cron("hourly", "15 * * * *", &made),
        cron("load", "0 22 * * 1-5", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["load"], "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].role, Role::Hurts);
    assert_eq!(verdict.classes[0].missed, 0, "{}", verdict.sentence);
    let effect = verdict.effect.expect("a stall");
    assert!((effect.size - 24.0).abs() < 2.0, "{}", verdict.sentence);
}

#[test]
fn bursts_at_any_times_are_no_pattern() {
    for seed in 1..=6 {
        // One in about 170 samples starts one that lasts half an hour to an hour.
        let begins = noise(288 * 28, 100 + seed);
        let len = noise(288 * 28, 200 + seed);
        let is_burst = |i: usize| {
            (i.saturating_sub(11)..=i)
                .any(|from| begins[from] > 2.5 && ((i - from) as f64) < 9.0 + 2.0 * len[from])
        };
        let made = made(288 * 28, 5 * MINUTE_US, seed, |at| {
            let i = (at / (5 * MINUTE_US)) as usize;
            if is_burst(i) { 60.0 } else { 20.0 }
        });
        let jobs = [
            cron("hourly", "17 * * * *", &made),
            cron("daily", "25 6 * * *", &made),
        ];
        let verdict = only(made, &jobs);
        let recurs = matches!(verdict.kind, Kind::Periodic | Kind::Unattributed);
        assert!(!recurs, "{seed}: {}", verdict.sentence);
    }
}

#[test]
fn a_quiet_final_weekend_does_not_end_the_pattern() {
    // From Monday to Sunday, 8 weeks: the last two days are quiet, as in every week.
    let made = slow_on_working_days(3);
    let verdict = only(made, &[]);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
    assert_eq!(verdict.until, None, "{}", verdict.sentence);
}

#[test]
fn a_job_that_misses_most_occurrences_is_not_blamed() {
    // Every four hours, and rarely much larger, as on servers; the job runs once a day at another time.
    let rarely = noise(84, 31);
    let made = made(288 * 14, 5 * MINUTE_US, 30, |at| {
        let is_large = rarely[(at / (4 * HOUR_US)) as usize] > 1.4;
        if shows(at % (4 * HOUR_US), 110, 5) {
            20.0 + if is_large { 40.0 } else { 3.0 }
        } else {
            20.0
        }
    });
    for spec in ["0 3 * * *", "25 6 * * *", "40 20 * * *"] {
        let verdict = only(made.clone(), &[cron("innocent", spec, &made)]);
        let first = &verdict.candidates[0].name;
        assert!(first.starts_with("an unknown cause"), "{spec}: {first}");
        assert!(verdict.classes.is_empty(), "{spec}: {}", verdict.sentence);
    }
}

#[test]
fn a_job_that_happens_to_run_often_is_not_blamed() {
    // A dip every half hour, with smaller ones every ten minutes, which every other schedule of ten minutes fits.
    let made = made(288 * 14, 5 * MINUTE_US, 32, |at| {
        match at / (5 * MINUTE_US) % 6 {
            0 => 17.0,
            2 | 4 => 18.5,
            _ => 20.0,
        }
    });
    for spec in ["*/10 * * * *", "5-55/10 * * * *"] {
        let verdict = only(made.clone(), &[cron("sysstat", spec, &made)]);
        assert_ne!(
            verdict.level,
            Some(Level::Named),
            "{spec}: {}",
            verdict.sentence
        );
    }
}

/// The part of a sample's time, which ends at `at`, that an event fills.
fn share(at: i64, gap_us: i64, (start, len_us): (i64, i64)) -> f64 {
    let filled = at.min(start + len_us) - (at - gap_us).max(start);
    filled.max(0) as f64 / gap_us as f64
}

#[test]
fn events_of_lengths_that_differ_are_no_load() {
    // Every four hours from 02:33 on, for 10 to 30 minutes, while the level drifts and once jumps.
    let (gap_us, every_us) = (10 * MINUTE_US, 4 * HOUR_US);
    let lengths = noise(42 * 6 + 2, 35);
    let made = made(144 * 42, gap_us, 34, |at| {
        let days = at as f64 / DAY_US as f64;
        let level = 100.0 + days / 2.0 + if days > 20.0 { 40.0 } else { 0.0 };
        let number = (at - 153 * MINUTE_US).div_euclid(every_us);
        let start = number * every_us + 153 * MINUTE_US;
        let len_min = (20.0 + 5.0 * lengths[(number + 1) as usize]).clamp(10.0, 30.0);
        level + 6.0 * share(at, gap_us, (start, (len_min * MINUTE_US as f64) as i64))
    });
    let jobs = [
        cron("report", "33 2-23/4 * * *", &made),
        cron("hourly", "17 * * * *", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(verdict.level, Some(Level::Named), "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["report"], "{}", verdict.sentence);
    // Not the mean length of what a wave or a box shows.
    assert!(verdict.candidates[0].score > 0.99, "{}", verdict.sentence);
}

/// What is said of a job of some minutes that a timer delays at random by up to some more each day, in samples of some
/// minutes, for some days.
fn delayed(size: f64, (len_min, delay_min): (i64, i64), gap_min: i64, days: i64) -> Verdict {
    let (gap_us, delay_us) = (gap_min * MINUTE_US, delay_min * MINUTE_US);
    let start_us = |day: i64| day * DAY_US + (17 * 60 + 19) * MINUTE_US;
    let made = made((days * DAY_US / gap_us) as usize, gap_us, 37, |at| {
        let day = at.div_euclid(DAY_US);
        let start = start_us(day) + day * 37 % 100 * delay_us / 100;
        20.0 + size * share(at, gap_us, (start, len_min * MINUTE_US))
    });
    let mut timer = given("job.timer", (0..days).map(|day| START_US + start_us(day)));
    for run in &mut timer.runs {
        run.latest += jiff::SignedDuration::from_micros(delay_us);
    }
    let others = ["25 6 * * *", "30 18 * * *"].map(|spec| cron(spec, spec, &made));
    let jobs: Vec<JobRuns> = std::iter::once(timer).chain(others).collect();
    only(made, &jobs)
}

#[test]
fn a_short_job_that_is_delayed_at_random_is_named() {
    // A pattern shows it as long as the delay, and that much smaller; of its samples, some are of the job, and most are not.
    let of_start = delayed(5.0, (10, 100), 5, 49);
    assert!(!of_start.classes[0].dated_by_start, "{}", of_start.sentence);
    let others = [
        delayed(8.0, (5, 200), 5, 49),
        delayed(4.0, (20, 100), 30, 42),
    ];
    for verdict in others.iter().chain([&of_start]) {
        let sentence = &verdict.sentence;
        assert_eq!(verdict.level, Some(Level::Named), "{sentence}");
        assert_eq!(verdict.classes[0].jobs, ["job.timer"], "{sentence}");
    }
}

/// Ten weeks of latencies in samples of a quarter of an hour, whose noise is in proportion to their level; a job of 35
/// minutes makes them ten times as high, now more, now less.
fn latencies(seed: u64) -> Series {
    let gap_us = 15 * MINUTE_US;
    let mut series = made(96 * 70, gap_us, seed, |_| 0.0);
    for (time, value) in series.times_us.iter().zip(&mut series.values) {
        let at = time - START_US;
        let start = at.div_euclid(DAY_US) * DAY_US + (13 * 60 + 17) * MINUTE_US;
        let part = share(at, gap_us, (start, 35 * MINUTE_US));
        *value = 20.0 * (2.3 * part + 0.4 * (1.0 + 2.3 * part) * *value).exp();
    }
    series
}

#[test]
fn a_job_whose_events_differ_in_size_is_named() {
    for seed in 65..68 {
        let made = latencies(seed);
        let jobs = [
            cron("job", "17 13 * * *", &made),
            cron("before", "57 12 * * *", &made),
            cron("daily", "25 6 * * *", &made),
        ];
        let verdict = only(made, &jobs);
        let sentence = &verdict.sentence;
        assert_eq!(verdict.level, Some(Level::Named), "{sentence}");
        assert_eq!(verdict.classes[0].jobs, ["job"], "{sentence}");
    }
}
