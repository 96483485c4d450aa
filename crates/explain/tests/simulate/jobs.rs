//! Jobs for the simulated curves, with the runs that `schedule` computes.

use super::random::Random;
use explain::JobRuns;
use facts::host::{Calendars, Job, Trigger};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schedule::{Conditions, RUNS_OF_MINUTES_MAX};

/// The jobs of [`four_jobs`] that reset a [`Sawtooth`](super::Sawtooth): a single crontab line starts both,
/// so they cannot be distinguished.
pub const RIGHT_CLASS: [&str; 2] = ["cron.weekly/fstrim", "cron.weekly/man-db"];

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A host's jobs with four schedules: cron.weekly on Sunday 06:47 (two scripts), a backup every night at
/// 03:30, a report on Wednesday at 03:00, and an array check on the first Sunday of a month at 00:57.
pub fn four_jobs(from: Timestamp, until: Timestamp, zone: &TimeZone) -> Vec<JobRuns> {
    let weekly = |script: &str| {
        job(
            &format!("cron.weekly/{script}"),
            cron("etc/crontab:18", "47 6 * * 7"),
        )
    };
    let jobs = [
        weekly("fstrim"),
        weekly("man-db"),
        job("cron.d/backup:3", cron("etc/cron.d/backup:3", "30 3 * * *")),
        job("report.timer", calendar("report.timer", "Wed 03:00")),
        job(
            "checkarray.timer",
            calendar("checkarray.timer", "Sun *-*-01..07 00:57"),
        ),
    ];
    jobs.iter()
        .map(|job| runs_of(job, from, until, zone))
        .collect()
}

/// Fifty jobs with random schedules, from every ten hours to monthly. None of them runs at 03:10, when
/// [`SpikeTrain`](super::SpikeTrain) has its spikes; `culprit` is added, and does.
pub fn fifty_jobs(
    seed: u64,
    from: Timestamp,
    until: Timestamp,
    zone: &TimeZone,
    culprit: &str,
) -> Vec<JobRuns> {
    let mut random = Random::new(seed);
    let mut jobs = vec![job(culprit, cron("etc/cron.d/culprit:1", "10 3 * * *"))];
    while jobs.len() < 50 {
        let number = jobs.len();
        // Never minute 10.
        let minute = 11 + random.below(49);
        let hour = random.below(24);
        let weekday = WEEKDAYS[random.below(7) as usize];
        let name = format!("job-{number:02}.timer");
        let expression = match random.below(5) {
            0 => format!("*-*-* {:02}/10:{minute:02}", hour % 10),
            1 => format!("*-*-* {hour:02}:{minute:02}"),
            2 => format!("{weekday} {hour:02}:{minute:02}"),
            3 => format!("*-*-{:02} {hour:02}:{minute:02}", 1 + random.below(28)),
            _ => format!("{weekday} *-*-01..07 {hour:02}:{minute:02}"),
        };
        jobs.push(job(&name, calendar(&name, &expression)));
    }
    jobs.iter()
        .map(|job| runs_of(job, from, until, zone))
        .collect()
}

/// Replaces the last of some jobs by as many timers of Debian 12, whose starts are delayed at random.
pub fn with_timers(
    mut jobs: Vec<JobRuns>,
    from: Timestamp,
    until: Timestamp,
    zone: &TimeZone,
) -> Vec<JobRuns> {
    const TIMERS: [(&str, &str, f64, f64); 6] = [
        ("fstrim.timer", "weekly", 6_000.0, 3_600.0),
        ("apt-daily.timer", "*-*-* 6,18:00", 43_200.0, 60.0),
        ("apt-daily-upgrade.timer", "*-*-* 6:00", 3_600.0, 60.0),
        ("man-db.timer", "daily", 43_200.0, 60.0),
        ("e2scrub_all.timer", "Sun *-*-* 03:10:00", 60.0, 60.0),
        ("logrotate.timer", "daily", 0.0, 3_600.0),
    ];
    jobs.truncate(jobs.len().saturating_sub(TIMERS.len()));
    jobs.extend(TIMERS.map(|(name, expression, delay_s, accuracy_s)| {
        let trigger = Trigger::Calendar(Calendars {
            expressions: vec![expression.to_owned()],
            randomized_delay_s: Some(delay_s),
            accuracy_s: Some(accuracy_s),
            source: format!("usr/lib/systemd/system/{name}"),
            ..Calendars::default()
        });
        runs_of(&job(name, trigger), from, until, zone)
    }));
    jobs
}

/// A job with one trigger.
pub fn job(name: &str, trigger: Trigger) -> Job {
    Job {
        triggers: vec![trigger],
        ..Job::new(name.to_owned(), name.to_owned())
    }
}

/// Its runs, as `schedule` computes them.
///
/// # Panics
/// When a schedule is invalid; those here are hard-coded.
pub fn runs_of(job: &Job, from: Timestamp, until: Timestamp, zone: &TimeZone) -> JobRuns {
    let conditions = Conditions {
        runs_max: RUNS_OF_MINUTES_MAX,
        ..Conditions::in_zone(zone)
    };
    let forecast =
        schedule::runs(job, from, until, &conditions).unwrap_or_else(|error| panic!("{error}"));
    JobRuns {
        name: job.name.clone(),
        runs: forecast.runs,
        unknown: forecast.unknown,
        by_hand: None,
    }
}

fn cron(source: &str, spec: &str) -> Trigger {
    Trigger::Cron {
        spec: spec.to_owned(),
        time_zone: None,
        source: source.to_owned(),
    }
}

fn calendar(unit: &str, expression: &str) -> Trigger {
    Trigger::Calendar(Calendars {
        expressions: vec![expression.to_owned()],
        source: format!("etc/systemd/system/{unit}"),
        ..Calendars::default()
    })
}
