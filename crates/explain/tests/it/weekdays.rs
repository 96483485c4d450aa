use crate::testing::{DAY_US, HOUR_US, assert_never_says, cron, made, noise, only, series};
use explain::verdict::{Kind, Level, Shape, Verdict};
use facts::series::Series;

const WORKDAYS: [&str; 5] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];

fn days(verdict: &Verdict) -> &[String] {
    verdict.weekdays.as_deref().unwrap_or_default()
}

/// Six weeks of people working from 8 to 18, with values of 15 to 25 ms; a sample every `gap_us`.
fn working_hours(gap_us: i64, seed: u64, phi: f64) -> Series {
    let mut made = made((42 * DAY_US / gap_us) as usize, gap_us, seed, |_| 0.0);
    let mut lasting = 0.0;
    for (i, value) in made.values.iter_mut().enumerate() {
        lasting = phi * lasting + *value;
        let at = i as i64 * gap_us;
        let is_busy = at / DAY_US % 7 < 5 && (8..18).contains(&(at % DAY_US / HOUR_US));
        *value = 15.0 + if is_busy { 10.0 } else { 0.0 } + lasting;
    }
    made
}

#[test]
fn working_hours_are_one_pattern_and_blame_no_job() {
    for (gap_us, phi) in [(HOUR_US, 0.3), (HOUR_US / 4, 0.7), (HOUR_US / 12, 0.7)] {
        for seed in 1..=3 {
            let made = working_hours(gap_us, seed, phi);
            let jobs = [
                cron("daily", "25 6 * * *", &made),
                cron("weekly", "47 6 * * 7", &made),
                cron("saturday", "50 6 * * 6", &made),
            ];
            let verdict = only(made, &jobs);
            let told = format!("{seed}: {}", verdict.sentence);
            assert_eq!(verdict.kind, Kind::Unattributed, "{told}");
            assert_eq!(verdict.shape, Some(Shape::Step), "{told}");
            assert_eq!(days(&verdict), WORKDAYS, "{told}");
            let effect = verdict.effect.expect("a step");
            assert!((effect.size - 10.0).abs() < 1.0, "{told}");
            assert_eq!(verdict.also, [], "{told}");
        }
    }
}

#[test]
fn weekday_job_is_identified_by_its_days() {
    let made = made(144 * 42, HOUR_US / 6, 3, |at| {
        let is_on = [1, 3].contains(&(at / DAY_US % 7));
        let of_day = at % DAY_US;
        if is_on && of_day > 22 * HOUR_US && of_day <= 22 * HOUR_US + HOUR_US / 2 {
            44.0
        } else {
            20.0
        }
    });
    let jobs = [
        cron("dump", "0 22 * * *", &made),
        cron("load", "0 22 * * 2,4", &made),
    ];
    let verdict = only(made.clone(), &jobs);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["load"], "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].idle_runs, 0, "{}", verdict.sentence);
    // Without a job for that day, the daily job is not blamed either.
    let verdict = only(made, &jobs[..1]);
    assert_eq!(days(&verdict), ["Tuesday", "Thursday"]);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
}

#[test]
fn daily_patterns_stay_daily() {
    for seed in 1..=6 {
        let made = made(24 * 42, HOUR_US, seed, |at| {
            if at % DAY_US / HOUR_US == 3 { 1.5 } else { 0.0 }
        });
        let verdict = only(made, &[]);
        assert_eq!(verdict.weekdays, None, "{seed}: {}", verdict.sentence);
    }
}

#[test]
fn reduced_weekend_load_blames_no_job() {
    for share in [0.3, 0.6] {
        let made = made(24 * 49, HOUR_US, 7, |at| {
            let is_busy = (8..18).contains(&(at % DAY_US / HOUR_US));
            let load = if at / DAY_US % 7 < 5 { 1.0 } else { share };
            15.0 + if is_busy { 12.0 * load } else { 0.0 }
        });
        let jobs = [
            cron("weekly", "47 6 * * 7", &made),
            cron("saturday", "50 6 * * 6", &made),
        ];
        let verdict = only(made, &jobs);
        assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
        let is_blamed = verdict.also.iter().any(|other| !other.jobs.is_empty());
        assert!(!is_blamed, "{}", verdict.sentence);
    }
}

/// Ten weeks in which latency is 40 ms higher for half an hour after 02:00, and on Sundays by a fraction of
/// that.
fn less_on_sundays(share: f64) -> Series {
    made(288 * 70, HOUR_US / 12, 4, |at| {
        let of_day = at % DAY_US - 2 * HOUR_US;
        let size = if at / DAY_US % 7 == 6 { share } else { 1.0 };
        let is_on = of_day > 0 && of_day <= HOUR_US / 2;
        20.0 + if is_on { 40.0 * size } else { 0.0 }
    })
}

#[test]
fn daily_job_with_less_work_on_sundays_is_named() {
    for share in [0.0, 0.1, 0.25, 0.6] {
        let made = less_on_sundays(share);
        let jobs = [
            cron("check", "17 * * * *", &made),
            cron("etl", "0 2 * * *", &made),
            cron("scrub", "0 2 * * 7", &made),
        ];
        let verdict = only(made, &jobs);
        let told = format!("{share}: {}", verdict.sentence);
        assert_eq!(verdict.kind, Kind::Periodic, "{told}");
        assert_eq!(verdict.classes[0].jobs, ["etl"], "{told}");
    }
}

#[test]
fn daily_effects_of_an_hourly_job_are_attributed_to_it() {
    let made = less_on_sundays(1.0);
    let verdict = only(made.clone(), &[cron("sync", "0 * * * *", &made)]);
    assert_eq!(verdict.kind, Kind::Unattributed, "{}", verdict.sentence);
    let told = verdict.sentence.contains("No known job explains it.");
    assert!(told, "{}", verdict.sentence);
}

#[test]
fn midnight_jobs_belong_to_the_day_that_begins() {
    // Samples are instantaneous: the one at midnight shows it.
    let made = made(288 * 56, HOUR_US / 12, 4, |at| {
        let is_on = at / DAY_US % 7 < 5 && at % DAY_US < HOUR_US / 2;
        if is_on { 60.0 } else { 20.0 }
    });
    let jobs = [
        cron("check", "17 * * * *", &made),
        cron("dump", "0 0 * * 1-5", &made),
    ];
    let verdict = only(made, &jobs);
    assert_eq!(days(&verdict), WORKDAYS, "{}", verdict.sentence);
    assert_eq!(verdict.classes[0].jobs, ["dump"], "{}", verdict.sentence);
}

#[test]
fn hours_of_reduced_load_in_coarse_samples_blame_no_job() {
    // Nobody works between 22:00 and 06:00, in two kinds of samples; values are better then, and a job runs
    // at 22:00.
    for gap_us in [HOUR_US, HOUR_US / 12] {
        let made = made((42 * DAY_US / gap_us) as usize, gap_us, 6, |at| {
            let of_day = at % DAY_US;
            let is_rest = of_day > 22 * HOUR_US || of_day <= 3 * HOUR_US;
            if is_rest { 14.0 } else { 24.0 }
        });
        let verdict = only(made.clone(), &[cron("prune", "0 22 * * *", &made)]);
        assert_eq!(verdict.level, Some(Level::Fits), "{}", verdict.sentence);
        assert_eq!(verdict.classes[0].jobs, ["prune"], "{}", verdict.sentence);
        let suspects = verdict.sentence.contains("ossible cause")
            || verdict.sentence.contains("Cause unclear");
        assert!(!suspects, "{}", verdict.sentence);
        let load = verdict
            .sentence
            .contains("The usual load by day and night looks like this");
        assert!(load, "{}", verdict.sentence);
    }
}

#[test]
fn runs_well_within_the_gap_need_no_caveat() {
    // Samples are instantaneous, 5 to 20 seconds after every fifth minute.
    let late = noise(288 * 30, 8);
    let late_us = |i: usize| ((12.0 + 4.0 * late[i].clamp(-1.75, 2.0)) * 1e6) as i64;
    let exact = made(288 * 30, HOUR_US / 12, 4, |at| {
        if (2 * HOUR_US..2 * HOUR_US + HOUR_US / 3).contains(&(at % DAY_US)) {
            59.0
        } else {
            20.0
        }
    });
    let times = exact.times_us.iter().enumerate();
    let made = series(
        times.map(|(i, at)| at + late_us(i)).collect(),
        exact.values.clone(),
    );
    let verdict = only(made.clone(), &[cron("backup", "0 2 * * *", &made)]);
    assert_eq!(verdict.kind, Kind::Periodic, "{}", verdict.sentence);
    assert!(!verdict.classes[0].dated_by_start, "{}", verdict.sentence);
    let sentence = &verdict.sentence;
    assert!(sentence.starts_with("Likely cause: backup. "), "{sentence}");
    assert_never_says(sentence, "timestamps");
}
