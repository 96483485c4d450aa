//! Time and memory of large inputs.

use super::simulate::{Noise, Null, SpikeTrain, fifty_jobs, seconds, with_timers, zone};
use super::{DAY_US, NULL_KINDS, SECOND_US, heading, moment, verdict};
use explain::verdict::Kind;
use explain::{JobRuns, Options, explain};
use facts::series::Series;
use jiff::civil::date;
use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::time::Instant;

const MINUTE_US: i64 = 60 * SECOND_US;
const DAY_S: f64 = 86_400.0;

/// A year of minutes: its name, its noise, the size of its daily spike at 03:10, and what becomes of its values.
type Year = (&'static str, Noise, f64, fn(&mut Series));

/// Noise that remembers, noise that does not, load and a cause that is on no list, outliers, ties: the search takes another
/// way in each.
const YEARS: [Year; 5] = [
    ("AR(1) 0.9, a spike", Noise::Ar1 { phi: 0.9 }, 5.0, |_| ()),
    ("white, a spike", Noise::White, 5.0, |_| ()),
    (
        "AR(1) 0.7, a wave, an unknown weekly cause",
        Noise::Ar1 { phi: 0.7 },
        0.0,
        add_wave_and_weekly_cause,
    ),
    ("heavy tails, a spike", Noise::White, 5.0, cube),
    (
        "gauge of whole numbers, 12 min a day",
        Noise::Ar1 { phi: 0.7 },
        0.0,
        add_events_and_round,
    ),
];

/// Load of two standard deviations, and 40 minutes more each week.
fn add_wave_and_weekly_cause(series: &mut Series) {
    add(series, 7 * DAY_US, (37, 40), 4.0);
    let first_us = series.times_us[0];
    for (&at_us, value) in series.times_us.iter().zip(&mut series.values) {
        *value += 2.0 * (seconds(at_us - first_us) / DAY_S * TAU).sin();
    }
}

/// A normal distribution becomes one with a kurtosis of 46.
fn cube(series: &mut Series) {
    for value in &mut series.values {
        *value = (*value - 20.0).powi(3);
    }
}

fn add_events_and_round(series: &mut Series) {
    add(series, DAY_US, (190, 12), 6.0);
    for value in &mut series.values {
        *value = (*value / 2.0).round();
    }
}

/// Adds an event in each period, from a minute of it on.
fn add(series: &mut Series, period_us: i64, (from, minutes): (i64, i64), size: f64) {
    let first_us = series.times_us[0];
    for (&at_us, value) in series.times_us.iter().zip(&mut series.values) {
        let since_us = (at_us - first_us).rem_euclid(period_us) - from * MINUTE_US;
        if (0..minutes * MINUTE_US).contains(&since_us) {
            *value += size;
        }
    }
}

/// Returns the peak resident size of this process, in kB (proc(5), `VmHWM`).
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn peak() -> String {
    peak_memory_kb().map_or("unknown".to_owned(), |kb| format!("{} MiB", kb / 1024))
}

/// Years of minutes, each against fifty jobs, some of which are timers with random delays.
pub(super) fn large() -> String {
    let mut text = heading("A year of minutes against fifty jobs", "large", "");
    text.push_str(
        "| series | samples | runs | time | peak memory so far | kind | first class |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut sentences = String::new();
    for (name, noise, amplitude_sigmas, change) in YEARS {
        let train = SpikeTrain {
            step_s: 60,
            noise,
            amplitude_sigmas,
            ..SpikeTrain::default()
        };
        let mut series = train.simulate(1).series;
        change(&mut series);
        let samples = series.times_us.len();
        let (first, last) = (series.times_us[0], series.times_us[samples - 1]);
        let (from, until) = (moment(first - 35 * DAY_US), moment(last + DAY_US));
        let jobs: Vec<JobRuns> = with_timers(
            fifty_jobs(1, from, until, &train.zone, "cron.d/culprit:1"),
            from,
            until,
            &train.zone,
        );
        let start = Instant::now();
        let verdict = verdict(&series, &jobs, &train.zone);
        let took_s = start.elapsed().as_secs_f64();
        writeln!(
            text,
            "| {name} | {samples} | {} | {took_s:.2} s | {} | {:?} | {} |",
            jobs.iter().map(|job| job.runs.len()).sum::<usize>(),
            peak(),
            verdict.kind,
            verdict
                .classes
                .first()
                .map_or("-".to_owned(), |class| class.jobs.join(", ")),
        )
        .expect("text");
        writeln!(sentences, "\n> {name}: {}", verdict.sentence).expect("text");
    }
    text + &sentences
}

/// Many series at once, of noise and load.
pub(super) fn many() -> String {
    const SAMPLES: u32 = 10_000;
    let zone = zone("Europe/Berlin");
    let series: Vec<Series> = (0..200)
        .zip(NULL_KINDS.iter().cycle())
        .map(|(seed, kind)| {
            let null = Null {
                first_day: date(2025, 1, 1),
                zone: zone.clone(),
                samples: SAMPLES,
                step_s: 300,
                noise: kind.noise,
                daily_wave_sigmas: kind.daily_wave_sigmas,
            };
            null.simulate(seed).series
        })
        .collect();
    let first_us = series[0].times_us[0];
    let (from, until) = (first_us - 35 * DAY_US, first_us + 36 * DAY_US);
    let jobs = fifty_jobs(1, moment(from), moment(until), &zone, "cron.d/any:1");
    let options = Options {
        zone,
        ..Options::default()
    };
    let start = Instant::now();
    let analysis = explain(&series, &jobs, &options);
    let took_s = start.elapsed().as_secs_f64();
    let recur = analysis
        .series
        .iter()
        .filter(|one| [Kind::Periodic, Kind::Unattributed].contains(&one.verdict.kind));
    let mut text = heading("Many series against fifty jobs", "many", "");
    writeln!(
        text,
        "| series | samples each | jobs | time | peak memory | recur |\n|---|---|---|---|---|---|\n\
         | {} | {SAMPLES} | {} | {took_s:.1} s | {} | {} |",
        series.len(),
        jobs.len(),
        peak(),
        recur.count(),
    )
    .expect("text");
    text
}
