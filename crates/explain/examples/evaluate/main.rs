//! Measures the quality of the analysis on curves with a known truth. Prints Markdown.
//!
//! cargo run --release -p explain --example evaluate -- [PART]... [--seeds N] [--nulls N]
//!
//! Parts: sawtooth, blind, spikes, nulls, large, many, weekday; by default all of them. `export DIR` writes the
//! sawteeth as CSV for other programs.

mod anova;
#[path = "../../tests/simulate/mod.rs"]
mod simulate;
mod speed;

use anova::fold_by_weekday;
use explain::verdict::{Kind, Shape, Verdict};
use explain::{JobRuns, Options, explain};
use facts::series::Series;
use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
use rayon::prelude::*;
use simulate::{Noise, Null, RIGHT_CLASS, Sawtooth, Simulated, SpikeTrain, four_jobs, zone};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

const PARTS: [&str; 7] = [
    "sawtooth", "blind", "weekday", "spikes", "nulls", "large", "many",
];
const USAGE: &str = "evaluate [sawtooth|blind|spikes|nulls|large|many|weekday]... [--seeds N] [--nulls N] \
                     | evaluate export DIR [--seeds N]";

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;
const WEEK_S: f64 = 604_800.0;
const NOISES: [f64; 3] = [0.01, 0.03, 0.06];

/// The command line.
struct Asked {
    parts: Vec<String>,
    export: Option<String>,
    seeds: u64,
    nulls: u64,
}

impl Asked {
    fn of(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked = Self {
            parts: Vec::new(),
            export: None,
            seeds: 100,
            nulls: 1_000,
        };
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seeds" => asked.seeds = arguments.next()?.parse().ok()?,
                "--nulls" => asked.nulls = arguments.next()?.parse().ok()?,
                "export" => asked.export = Some(arguments.next()?),
                part if PARTS.contains(&part) => asked.parts.push(argument),
                _ => return None,
            }
        }
        Some(asked)
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|asked| asked == part)
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::of(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if let Some(dir) = &asked.export {
        return match export(Path::new(dir), asked.seeds) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{dir}: {error}");
                ExitCode::from(2)
            }
        };
    }
    for part in PARTS.into_iter().filter(|part| asked.has(part)) {
        let text = match part {
            "sawtooth" => sawtooth(asked.seeds),
            "blind" => blind(asked.seeds),
            "weekday" => weekday(asked.seeds),
            "spikes" => spikes(asked.seeds),
            "nulls" => nulls(asked.nulls),
            "large" => speed::large(),
            _ => speed::many(),
        };
        print!("{text}");
    }
    ExitCode::SUCCESS
}

/// Prints the heading of a part, with the command that repeats it.
fn heading(title: &str, part: &str, count: &str) -> String {
    format!(
        "\n### {title}\n\n`cargo run --release -p explain --example evaluate -- {part} {count}`\n\n"
    )
}

fn verdict(series: &Series, jobs: &[JobRuns], zone: &TimeZone) -> Verdict {
    let options = Options {
        zone: zone.clone(),
        ..Options::default()
    };
    let mut analysis = explain(std::slice::from_ref(series), jobs, &options);
    analysis.series.remove(0).verdict
}

/// Returns jobs with their runs for the time of a series and five weeks before.
fn jobs_of(series: &Series, zone: &TimeZone) -> Vec<JobRuns> {
    let (Some(&first), Some(&last)) = (series.times_us.first(), series.times_us.last()) else {
        return Vec::new();
    };
    four_jobs(moment(first - 35 * DAY_US), moment(last + DAY_US), zone)
}

fn moment(at_us: i64) -> Timestamp {
    Timestamp::from_microsecond(at_us).expect("times of simulations")
}

/// How well one curve's resets were found.
#[derive(Default, Clone, Copy)]
struct Outcome {
    resets: usize,
    resets_found: usize,
    /// Events that contain no reset.
    false_events: usize,
    is_right_class: bool,
}

/// A reset counts as found if it lies in an event no wider than the two samples around it plus one sampling
/// interval (missing nights widen that anyway).
fn found(made: &Simulated, sawtooth: &Sawtooth, verdict: &Verdict) -> Outcome {
    #[expect(clippy::cast_possible_truncation, reason = "hours")]
    let spare_us = DAY_US + (sawtooth.jitter_s * 1e6) as i64;
    let events: Vec<(i64, i64)> = verdict
        .events
        .iter()
        .map(|event| (event.from.as_microsecond(), event.to.as_microsecond()))
        .collect();
    let times_us = &made.series.times_us;
    let is_found = |&at: &i64| {
        let after = times_us.partition_point(|&sample| sample < at);
        let widest = times_us[after] - times_us[after - 1] + spare_us;
        events
            .iter()
            .any(|&(from, to)| from <= at && at <= to && to - from <= widest)
    };
    let resets = &made.truth.resets_us;
    let mut blamed = verdict
        .classes
        .first()
        .map(|class| class.jobs.clone())
        .unwrap_or_default();
    blamed.sort_unstable();
    Outcome {
        resets: resets.len(),
        resets_found: resets.iter().filter(|at| is_found(at)).count(),
        false_events: events
            .iter()
            .filter(|(from, to)| !resets.iter().any(|at| from <= at && at <= to))
            .count(),
        is_right_class: blamed == RIGHT_CLASS,
    }
}

fn with_noise(noise: f64) -> Sawtooth {
    Sawtooth {
        noise,
        ..Sawtooth::default()
    }
}

fn count<T>(results: &[T], is: impl Fn(&T) -> bool) -> usize {
    results.iter().filter(|one| is(one)).count()
}

fn sawtooth(seeds: u64) -> String {
    let mut text = heading(
        "Weekly sawtooth, four jobs",
        "sawtooth",
        &format!("--seeds {seeds}"),
    );
    text.push_str(
        "| noise | seeds | every reset found | right class first | both | resets found | false events \
         |\n|---|---|---|---|---|---|---|\n",
    );
    for noise in NOISES {
        let results: Vec<Outcome> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let sawtooth = with_noise(noise);
                let made = sawtooth.simulate(seed);
                let jobs = jobs_of(&made.series, &sawtooth.zone);
                found(
                    &made,
                    &sawtooth,
                    &verdict(&made.series, &jobs, &sawtooth.zone),
                )
            })
            .collect();
        let all = |one: &Outcome| one.resets_found == one.resets;
        writeln!(
            text,
            "| {:.0} % | {seeds} | {} | {} | {} | {} of {} | {} |",
            noise * 100.0,
            count(&results, all),
            count(&results, |one| one.is_right_class),
            count(&results, |one| all(one) && one.is_right_class),
            results.iter().map(|one| one.resets_found).sum::<usize>(),
            results.iter().map(|one| one.resets).sum::<usize>(),
            results.iter().map(|one| one.false_events).sum::<usize>(),
        )
        .expect("text");
    }
    text
}

/// Returns whether the phase of a verdict, shifted by whole weeks, contains a reset and is no wider than
/// two days plus the jitter.
fn is_phase_right(made: &Simulated, verdict: &Verdict) -> bool {
    let Some(phase) = &verdict.phase else {
        return false;
    };
    let (from, to) = (phase.from.as_microsecond(), phase.to.as_microsecond());
    let is_narrow = to - from <= 2 * DAY_US + 7_200 * SECOND_US;
    let Some(&last) = made.truth.resets_us.last() else {
        return false;
    };
    let holds = |at: i64| from <= at && at <= to;
    is_narrow && (made.truth.resets_us.iter().any(|&at| holds(at)) || holds(last + 7 * DAY_US))
}

fn blind(seeds: u64) -> String {
    let mut text = heading(
        "The same without jobs",
        "blind",
        &format!("--seeds {seeds}"),
    );
    text.push_str(
        "| noise | seeds | period within 1 % | phase holds the reset | both, and a sawtooth | every \
         reset found |\n|---|---|---|---|---|---|\n",
    );
    for noise in NOISES {
        let results: Vec<(bool, bool, bool, bool)> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let sawtooth = with_noise(noise);
                let made = sawtooth.simulate(seed);
                let verdict = verdict(&made.series, &[], &sawtooth.zone);
                let found = found(&made, &sawtooth, &verdict);
                (
                    verdict
                        .period_s
                        .is_some_and(|period_s| (period_s / WEEK_S - 1.0).abs() <= 0.01),
                    is_phase_right(&made, &verdict),
                    verdict.shape == Some(Shape::Sawtooth),
                    found.resets_found == found.resets,
                )
            })
            .collect();
        writeln!(
            text,
            "| {:.0} % | {seeds} | {} | {} | {} | {} |",
            noise * 100.0,
            count(&results, |one| one.0),
            count(&results, |one| one.1),
            count(&results, |one| one.0 && one.1 && one.2),
            count(&results, |one| one.3),
        )
        .expect("text");
    }
    text
}

/// Returns whether a phase lies within five minutes of the spike's five minutes, on any day.
fn is_spike_phase(made: &Simulated, verdict: &Verdict) -> bool {
    const SLACK_US: i64 = 300 * SECOND_US;
    let Some(phase) = &verdict.phase else {
        return false;
    };
    let (from, to) = (phase.from.as_microsecond(), phase.to.as_microsecond());
    // The last occurrence within the samples, plus a day in case the phase ends after them.
    let last = made.truth.spikes_us.last().copied().unwrap_or(i64::MIN);
    made.truth
        .spikes_us
        .iter()
        .copied()
        .chain([last + DAY_US])
        .any(|at| at - SLACK_US <= from && to <= at + 2 * SLACK_US)
}

fn spikes(seeds: u64) -> String {
    let mut text = heading(
        "One raised sample a day in a year of 5-minute data, without jobs",
        "spikes",
        &format!("--seeds {seeds}"),
    );
    text.push_str(
        "| noise | spike, sigma of the noise | seeds | period is a day | phase within 5 minutes | both, \
         and a spike |\n|---|---|---|---|---|---|\n",
    );
    let red = Noise::Ar1 { phi: 0.9 };
    for (noise, name, amplitude_sigmas) in [
        (Noise::White, "white", 5.0),
        (Noise::White, "white", 3.0),
        (Noise::White, "white", 2.0),
        (red, "AR(1), 0.9", 5.0),
        (red, "AR(1), 0.9", 3.0),
        (red, "AR(1), 0.9", 2.0),
    ] {
        let results: Vec<(bool, bool, bool)> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let train = SpikeTrain {
                    amplitude_sigmas,
                    noise,
                    ..SpikeTrain::default()
                };
                let made = train.simulate(seed);
                let verdict = verdict(&made.series, &[], &train.zone);
                let is_day = verdict
                    .period_s
                    .is_some_and(|period_s| (period_s / 86_400.0 - 1.0).abs() <= 1e-3);
                let is_spike = verdict.shape == Some(Shape::Spike);
                let is_phase = is_spike_phase(&made, &verdict);
                if !(is_day && is_phase && is_spike) {
                    eprintln!("missed, seed {seed}: {}", verdict.sentence);
                }
                (is_day, is_phase, is_spike)
            })
            .collect();
        writeln!(
            text,
            "| {name} | {amplitude_sigmas:.0} | {seeds} | {} | {} | {} |",
            count(&results, |one| one.0),
            count(&results, |one| one.1),
            count(&results, |one| one.0 && one.1 && one.2),
        )
        .expect("text");
    }
    text
}

/// A kind of null series, with its name.
struct NullKind {
    name: &'static str,
    noise: Noise,
    daily_wave_sigmas: Option<f64>,
}

impl NullKind {
    const fn new(name: &'static str, noise: Noise, daily_wave_sigmas: Option<f64>) -> Self {
        Self {
            name,
            noise,
            daily_wave_sigmas,
        }
    }
}

const NULL_KINDS: [NullKind; 7] = [
    NullKind::new("white", Noise::White, None),
    NullKind::new("AR(1), 0.5", Noise::Ar1 { phi: 0.5 }, None),
    NullKind::new("AR(1), 0.9", Noise::Ar1 { phi: 0.9 }, None),
    NullKind::new("AR(1), 0.97", Noise::Ar1 { phi: 0.97 }, None),
    NullKind::new("random walk", Noise::RandomWalk, None),
    NullKind::new("daily wave, white", Noise::White, Some(1.0)),
    NullKind::new("daily wave, AR(1), 0.9", Noise::Ar1 { phi: 0.9 }, Some(1.0)),
];

/// Sampling intervals and numbers of samples, in turn: hours for 60 days, five minutes for 20 days, days
/// for a year; the last one not for daily waves, which it cannot resolve.
const SAMPLINGS: [(u32, u32); 3] = [(3_600, 1_440), (300, 5_760), (86_400, 365)];

fn null_series(kind: &NullKind, seed: u64) -> Series {
    let samplings: &[(u32, u32)] = if kind.daily_wave_sigmas.is_some() {
        &SAMPLINGS[..2]
    } else {
        &SAMPLINGS
    };
    let turn = usize::try_from(seed).expect("few seeds") % samplings.len();
    let (step_s, samples) = samplings[turn];
    Null {
        first_day: date(2025, 1, 1),
        zone: zone("Europe/Berlin"),
        samples,
        step_s,
        noise: kind.noise,
        daily_wave_sigmas: kind.daily_wave_sigmas,
    }
    .simulate(seed)
    .series
}

fn nulls(total: u64) -> String {
    let mut text = heading(
        "Series in which no job has a part, four jobs",
        "nulls",
        &format!("--nulls {total}"),
    );
    text.push_str(
        "| series | number | periodic | change | none | undecided | recurs, no job | a class named \
         |\n|---|---|---|---|---|---|---|---|\n",
    );
    let zone = zone("Europe/Berlin");
    let kinds = u64::try_from(NULL_KINDS.len()).expect("few");
    let mut false_alarms = 0;
    let mut blamed = 0;
    for (index, kind) in (0..).zip(&NULL_KINDS) {
        // As even as possible; the first ones get one more.
        let number = total / kinds + u64::from(index < total % kinds);
        let results: Vec<(Kind, bool)> = (0..number)
            .into_par_iter()
            .map(|seed| {
                let series = null_series(kind, seed * kinds + index);
                let verdict = verdict(&series, &jobs_of(&series, &zone), &zone);
                (verdict.kind, !verdict.classes.is_empty())
            })
            .collect();
        let of = |wanted| count(&results, |one| one.0 == wanted);
        false_alarms += of(Kind::Periodic) + of(Kind::Change);
        let named = count(&results, |one| one.1 || one.0 == Kind::Periodic);
        blamed += named;
        writeln!(
            text,
            "| {} | {number} | {} | {} | {} | {} | {} | {named} |",
            kind.name,
            of(Kind::Periodic),
            of(Kind::Change),
            of(Kind::None),
            of(Kind::Undecided),
            of(Kind::Unattributed),
        )
        .expect("text");
    }
    writeln!(
        text,
        "\n{false_alarms} of {total} `periodic` or `change`, a job named in {blamed}. For daily waves \
         \"recurs, no job\" is right."
    )
    .expect("text");
    text
}

fn weekday(seeds: u64) -> String {
    let mut text = heading(
        "Simple baseline: means by weekday (analysis of variance, p < 0.01)",
        "weekday",
        &format!("--seeds {seeds}"),
    );
    text.push_str(
        "It knows the period beforehand, gives no times, and blames nobody.\n\n\
         | series | seeds | weekdays differ | and rise most into Monday |\n|---|---|---|---|\n",
    );
    let zone = zone("Europe/Berlin");
    let mut row = |name: &str, series: &(dyn Fn(u64) -> Series + Sync)| {
        let results: Vec<(f64, usize)> = (0..seeds)
            .into_par_iter()
            .map(|seed| fold_by_weekday(&series(seed), &zone))
            .collect();
        writeln!(
            text,
            "| {name} | {seeds} | {} | {} |",
            count(&results, |one| one.0 < 0.01),
            count(&results, |one| one.0 < 0.01 && one.1 == 0),
        )
        .expect("text");
    };
    for noise in NOISES {
        row(
            &format!("sawtooth, noise {:.0} %", noise * 100.0),
            &|seed| with_noise(noise).simulate(seed).series,
        );
    }
    for kind in NULL_KINDS
        .iter()
        .filter(|kind| kind.daily_wave_sigmas.is_none())
    {
        row(&format!("{}, hourly, 60 days", kind.name), &|seed| {
            null_series(kind, seed * 3)
        });
    }
    text
}

/// Writes the sawteeth of part (a) as `sawtooth-NOISE-SEED.csv` with the columns `time` (RFC 3339),
/// `value`, and `resets`: the number of resets between this sample and the previous one.
fn export(dir: &Path, seeds: u64) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for noise in NOISES {
        for seed in 0..seeds {
            let made = with_noise(noise).simulate(seed);
            let mut text = String::from("time,value,resets\n");
            let mut before = i64::MIN;
            for (&at_us, value) in made.series.times_us.iter().zip(&made.series.values) {
                let resets = made.truth.resets_us.iter();
                let resets = resets
                    .filter(|&&reset| before < reset && reset <= at_us)
                    .count();
                writeln!(text, "{},{value:.3},{resets}", moment(at_us)).expect("text");
                before = at_us;
            }
            let name = format!("sawtooth-{:.0}-{seed:03}.csv", noise * 100.0);
            std::fs::write(dir.join(name), text)?;
        }
    }
    Ok(())
}
