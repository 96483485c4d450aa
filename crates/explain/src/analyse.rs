//! One series after the other, and all of them together.

use crate::attribution::{Cause, Weighed, weigh};
use crate::compose::{causes, cycle, describe, gaps, is_event, matches, members, moment, other};
use crate::find::find;
use crate::found::{Findings, Found, Samples, is_wave};
use crate::grid::grid;
use crate::lasting::Lasting;
use crate::numbers::{count_f64, seconds};
use crate::runs::{Class, classes};
use crate::verdict::{Analysis, Cycle, JobClass, Kind, Role, SeriesVerdict, Verdict};
use crate::wall::Wall;
use crate::weekdays::takes_back;
use crate::words::{Answer, Load, Scene, separation};
use crate::{JobRuns, Options};
use facts::series::{Dating, Series};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Fewer samples tell nothing.
const SAMPLES_MIN: usize = 16;
/// Runs of a job among the samples, at least, for it to be weighed.
pub(crate) const RUNS_MIN: usize = 3;
/// Jobs are blamed from this probability on.
const SCORE_MIN: f64 = 0.5;
/// What nobody does is told beside a pattern from this part of its size on: forms of lines leave something of real
/// curves.
const BESIDE_MIN: f64 = 0.03;
/// Of the series that are told to recur, at most this share does by chance.
const FALSE_SHARE: f64 = 0.05;
/// Larger values are no measurements, and their squares no numbers.
const VALUE_MAX: f64 = 1e150;
/// Samples beyond a gap so many times as long as all the rest have nothing to do with them.
const FAR: i64 = 100;
/// Distances of samples that are taken to be meant, in seconds.
const USUAL_GAPS_S: [i64; 22] = [
    1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400,
    21_600, 43_200, 86_400, 604_800,
];

/// Explains series: which recur, with what period, since when and until when, which jobs may be
/// behind it, and what changed for good.
///
/// Series whose times are no moments, and those with fewer than 16 samples, are undecided.
/// Everything depends on the arguments alone.
pub fn explain(series: &[Series], jobs: &[JobRuns], options: &Options) -> Analysis {
    let (mut verdicts, chances): (Vec<SeriesVerdict>, Vec<Option<f64>>) = series
        .par_iter()
        .map(|series| one(series, jobs, options))
        .unzip();
    control_false_discoveries(&mut verdicts, &chances);
    verdicts.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    Analysis {
        series: verdicts,
        zone: zone_name(options),
    }
}

fn zone_name(options: &Options) -> String {
    match options.zone.iana_name() {
        None | Some("Etc/UTC" | "Etc/UCT" | "UCT" | "Zulu" | "Etc/Zulu") => "UTC".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// Larger is more worth reading: what has a cause, then what recurs, then what changed.
fn rank(one: &SeriesVerdict) -> f64 {
    let verdict = &one.verdict;
    let class = match verdict.kind {
        Kind::Periodic => 4.0,
        Kind::Unattributed => 3.0,
        Kind::Change => 2.0,
        Kind::Undecided => 1.0,
        Kind::None => 0.0,
    };
    let effect = verdict
        .effect
        .and_then(|effect| effect.relative)
        .map_or(0.0, |relative| relative.abs().min(1e6));
    class * 1e7 + effect
}

/// Benjamini and Hochberg (1995): of the patterns that are told, at most this share is chance.
fn control_false_discoveries(verdicts: &mut [SeriesVerdict], chances: &[Option<f64>]) {
    let mut order: Vec<(usize, f64)> = chances
        .iter()
        .enumerate()
        .filter_map(|(i, chance)| Some((i, (*chance)?)))
        .collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let count = count_f64(order.len());
    let mut least: f64 = 1.0;
    for (rank, &(i, chance)) in order.iter().enumerate().rev() {
        least = least.min(chance * count / count_f64(rank + 1));
        let verdict = &mut verdicts[i].verdict;
        // The tail is fitted: it may decide among many series, but shows no more than was made.
        verdict.q = Some(least.max(verdict.p.unwrap_or(0.0)));
        let recurs = matches!(verdict.kind, Kind::Periodic | Kind::Unattributed);
        if recurs && least > FALSE_SHARE {
            verdict.kind = Kind::Undecided;
            verdict.sentence = format!(
                "Cannot tell: among so many series one as clear as this is likely by chance (q = {least:.2}). {}",
                verdict.sentence
            );
        }
    }
}

/// The usual distance of samples, in microseconds; what is nearly a round one is taken for it.
fn usual_gap(times_us: &[i64]) -> i64 {
    let mut gaps: Vec<i64> = times_us.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if gaps.is_empty() {
        return 1;
    }
    let middle = gaps.len() / 2;
    let gap = (*gaps.select_nth_unstable(middle).1).max(1);
    USUAL_GAPS_S
        .iter()
        .map(|gap_s| gap_s * 1_000_000)
        .find(|usual| (gap - usual).abs() * 20 <= *usual)
        .unwrap_or(gap)
}

/// A series' verdict, and how probable as clear a pattern is by chance.
fn one(series: &Series, jobs: &[JobRuns], options: &Options) -> (SeriesVerdict, Option<f64>) {
    let mut result = SeriesVerdict {
        name: series.name.clone(),
        source: series.source.clone(),
        unit: series.unit.clone(),
        better: series.better.or(options.better),
        dating: series.dating,
        samples: series.values.len(),
        from: series.times_us.first().map(|&us| moment(us)),
        until: series.times_us.last().map(|&us| moment(us)),
        gap_s: None,
        notes: series.notes.clone(),
        verdict: Verdict::new(Kind::Undecided),
    };
    let (times_us, values) = valid(series, &mut result.notes);
    let gap_us = usual_gap(&times_us);
    if times_us.len() > 1 {
        result.gap_s = Some(seconds(gap_us));
    }
    if series.dating != Dating::Absolute {
        let day = match series.dating {
            Dating::Day(date) => format!("only that it was on {date}"),
            _ => "not even on which day".to_owned(),
        };
        result.verdict.sentence = format!(
            "Cannot tell: the samples do not say when they were taken, {day}, so no schedule is confirmed or excluded.",
        );
        return (result, None);
    }
    if times_us.len() < SAMPLES_MIN {
        result.verdict.sentence = format!(
            "Cannot tell: {} samples, {SAMPLES_MIN} needed at least.",
            times_us.len()
        );
        return (result, None);
    }
    if only_rises(&values) {
        result.verdict.sentence = format!(
            "Cannot tell: {} only rises, as a counter does; its rate may recur (--counter {}).",
            series.name, series.name
        );
        return (result, None);
    }
    let wall = Wall::new(&options.zone, times_us[0], times_us[times_us.len() - 1]);
    let samples = Samples {
        wall_us: times_us.iter().map(|&us| wall.of(us)).collect(),
        times_us,
        values,
        gap_us,
        wall,
    };
    let (classes, useless) = classes(jobs, &samples.times_us, gap_us, &samples.wall, RUNS_MIN);
    let mut findings = find(&samples, &classes, options.alpha, options.seed);
    let mut lasting = Lasting::new(&samples.times_us, &findings.rest);
    if findings.patterns.is_empty() && !lasting.changes.is_empty() {
        // Steps hide what recurs: once more without them.
        let level = Samples {
            values: lasting.without(&samples.times_us, &samples.values),
            ..samples.clone()
        };
        let below = find(&level, &classes, options.alpha, options.seed);
        if !below.patterns.is_empty() {
            let left: Vec<f64> =
                below
                    .patterns
                    .iter()
                    .fold(samples.values.clone(), |left, found| {
                        let own = found.values(&samples.wall_us);
                        left.iter().zip(own).map(|(a, b)| a - b).collect()
                    });
            lasting = Lasting::new(&samples.times_us, &left);
            findings = below;
        }
    }
    let scene = Scene {
        name: &series.name,
        unit: series.unit.as_deref(),
        better: result.better,
        zone: &zone_name(options),
        gap_us,
        first: moment(samples.times_us[0]),
        jobs,
        useless: useless.len(),
        clock: &options.zone,
    };
    let (mut verdict, main) = judge(&samples, &findings, &classes, jobs, &scene, options);
    let main = main.map(|number| &findings.patterns[number]);
    lasting.tell(&mut verdict, main, &samples, jobs, &scene);
    result.verdict = verdict;
    let chance = main.map_or(findings.p_none, |found| found.tail);
    (result, Some(chance))
}

/// Whether the values are those of a counter: they rise, many times by as much as in one step, and
/// fall in one of 200 steps at most.
fn only_rises(values: &[f64]) -> bool {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let falls = steps.iter().filter(|step| **step < 0.0).count();
    let rises = steps.iter().filter(|step| **step > 0.0).count();
    let is_whole = values
        .iter()
        .all(|value| value.fract() == 0.0 && *value >= 0.0);
    is_whole && falls * 200 <= steps.len() && rises * 2 > steps.len() && steps.len() >= 50
}

/// Times that ascend and values that are numbers, whatever was handed in, without samples that are far
/// away from the others; what is left out is noted.
fn valid(series: &Series, notes: &mut Vec<String>) -> (Vec<i64>, Vec<f64>) {
    let mut times_us = Vec::with_capacity(series.times_us.len());
    let mut values = Vec::with_capacity(series.values.len());
    for (&time, &value) in series.times_us.iter().zip(&series.values) {
        let ascends = times_us.last().is_none_or(|&last| time > last);
        if ascends && value.is_finite() && value.abs() < VALUE_MAX {
            times_us.push(time);
            values.push(value);
        }
    }
    let left_out = series.values.len().min(series.times_us.len()) - times_us.len();
    if left_out > 0 {
        notes.push(format!(
            "samples left out: {left_out}, no number below 1e150 or not later than the one before"
        ));
    }
    let main = main_part(&times_us);
    let far = times_us.len() - main.len();
    if far > 0 {
        notes.push(format!(
            "samples left out: {far}, further away from the others than {FAR} times the time of these"
        ));
    }
    (times_us[main.clone()].to_vec(), values[main].to_vec())
}

/// The samples without those beyond a gap that is much longer than all the rest.
fn main_part(times_us: &[i64]) -> std::ops::Range<usize> {
    let mut part = 0..times_us.len();
    while part.len() > 2 {
        let times = &times_us[part.clone()];
        let span = times[times.len() - 1].saturating_sub(times[0]);
        let Some((after, gap)) = times
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .zip(1..)
            .map(|(gap, after)| (after, gap))
            .max_by_key(|(_, gap)| *gap)
        else {
            break;
        };
        if gap / FAR <= span - gap {
            break;
        }
        part = if after * 2 > times.len() {
            part.start..part.start + after
        } else {
            part.start + after..part.end
        };
    }
    part
}

/// A pattern that may be told, and what may be behind it.
struct Choice {
    /// Index into the findings.
    number: usize,
    weighed: Vec<Weighed>,
    /// Probability of all classes of jobs together.
    of_jobs: f64,
}

/// The patterns that stand an exact fit, in the order of telling: what jobs explain first, then what
/// is sudden and not small beside a wave, then the others as they were found.
fn choices(
    samples: &Samples,
    findings: &Findings,
    classes: &[Class],
    jobs: &[JobRuns],
) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for (number, found) in findings.patterns.iter().enumerate() {
        let own = found.values(&samples.wall_us);
        let values: Vec<f64> = findings.rest.iter().zip(own).map(|(a, b)| a + b).collect();
        let number_of_grid = found.pattern.grid;
        let grid = grid(&samples.wall_us, &values, samples.gap_us, number_of_grid);
        let gaps = gaps(found, samples);
        let in_gaps = |class: usize, shift| matches(&gaps, &classes[class], jobs, samples, shift);
        let weighed = weigh(found, &grid, classes, &in_gaps);
        let known = |other: &Found| takes_back(&found.pattern, &other.pattern);
        let of_jobs: f64 = if findings.patterns.iter().any(known) {
            0.0
        } else {
            let of_class = |one: &&Weighed| matches!(one.cause, Cause::Class(..));
            weighed.iter().filter(of_class).map(|one| one.score).sum()
        };
        // What looked like more than noise may not stand an exact fit.
        let is_nothing = weighed
            .first()
            .is_none_or(|one| one.cause == Cause::Nothing);
        if !is_nothing && found.is_seen(samples) {
            choices.push(Choice {
                number,
                weighed,
                of_jobs,
            });
        }
    }
    let size = |choice: &Choice| findings.patterns[choice.number].pattern.size().abs();
    let wave = choices
        .iter()
        .filter(|choice| is_wave(&findings.patterns[choice.number]))
        .map(size)
        .fold(0.0, f64::max);
    choices.sort_by(|a, b| {
        let worth = |choice: &Choice| {
            let explained = choice.of_jobs >= SCORE_MIN;
            // What nothing explains may be what load is beside a wave.
            let is_sudden = !is_wave(&findings.patterns[choice.number])
                && (explained || size(choice) * 2.0 > wave);
            (explained, is_sudden)
        };
        let larger = match worth(a) {
            (false, false) => size(b).total_cmp(&size(a)),
            _ => Ordering::Equal,
        };
        worth(b)
            .cmp(&worth(a))
            .then(larger)
            .then(a.number.cmp(&b.number))
    });
    choices
}

/// The verdict on what recurs, and which of the patterns it tells.
fn judge(
    samples: &Samples,
    findings: &Findings,
    classes: &[Class],
    jobs: &[JobRuns],
    scene: &Scene,
    options: &Options,
) -> (Verdict, Option<usize>) {
    let mut verdict = Verdict::new(Kind::None);
    if findings.patterns.is_empty() {
        verdict.p = Some(findings.p_none);
        verdict.candidates.push(nothing());
        if let Some(few) = &findings.few {
            verdict.kind = Kind::Undecided;
            let seen = span_in_periods(samples, few);
            verdict.sentence = format!(
                "Cannot tell: {seen} cycles seen, 3 needed, of {}.",
                scene.other(few)
            );
            return (verdict, None);
        }
        verdict.sentence = scene.nothing(verdict.p);
        verdict.would_change = scene.would_change(&verdict, false);
        return (verdict, None);
    }
    let choices = choices(samples, findings, classes, jobs);
    if choices.is_empty() {
        verdict.p = findings.patterns.first().map(|found| found.p);
        verdict.candidates.push(nothing());
        verdict.sentence = scene.nothing(None);
        verdict.would_change = scene.would_change(&verdict, false);
        return (verdict, None);
    }
    let told = &choices[0];
    let found = &findings.patterns[told.number];
    let explained = told.of_jobs >= SCORE_MIN;
    let size = |found: &Found| found.pattern.size().abs();
    describe(&mut verdict, found, samples);
    let gaps = gaps(found, samples);
    causes(
        &mut verdict,
        &told.weighed,
        classes,
        jobs,
        (samples, &gaps),
        scene.better,
    );
    let waves = || findings.patterns.iter().filter(|other| is_wave(other));
    let is_larger =
        |wave: &Found| wave.pattern.is_of_period(&found.pattern) && size(wave) > size(found);
    let load = Load {
        is_daily: waves().any(|wave| cycle(&wave.pattern) == Cycle::Day),
        is_larger: waves().any(is_larger),
    };
    let like_load = scene.like_load(&verdict, load);
    // Fewer people make it better for hours, too, and at a job's very hour where samples show no more than that.
    let heals = |class: &JobClass| class.role == Role::Heals;
    let is_less = scene.is_coarse() && found.pattern.size() < 0.0;
    let is_rest =
        explained && is_less && like_load.is_some() && verdict.classes.first().is_some_and(heals);
    let explained = explained && !is_rest;
    let runs_then = |class: &Class| matches(&gaps, class, jobs, samples, 0).is_most();
    let answer = Answer {
        explained,
        is_rest,
        runs_then: classes.iter().any(runs_then),
        like_load,
    };
    verdict.kind = if explained {
        Kind::Periodic
    } else {
        Kind::Unattributed
    };
    if !explained {
        // One that runs in nearly all of the gaps is worth a word, whatever its score.
        verdict
            .classes
            .retain(|class| class.score >= 0.05 || class.matched >= 4 * class.missed.max(1));
    }
    for class in &mut verdict.classes {
        class.separate_by = separation(class, jobs, &options.zone, seconds(scene.gap_us));
    }
    let told_pattern = found;
    for choice in &choices[1..] {
        let likeliest = choice.weighed.iter().find_map(|one| match one.cause {
            Cause::Class(number, _) if choice.of_jobs >= SCORE_MIN => Some(&classes[number]),
            _ => None,
        });
        let jobs = likeliest.map_or(Vec::new(), |class| members(class, jobs));
        let found = &findings.patterns[choice.number];
        if jobs.is_empty() && size(found) < size(told_pattern) * BESIDE_MIN {
            continue;
        }
        verdict.also.push(other(found, jobs, scene));
    }
    verdict.sentence = scene.recurring(&verdict, &answer);
    for also in &verdict.also {
        if is_event(also.shape) {
            verdict.sentence.push(' ');
            verdict.sentence.push_str(&also.sentence);
        }
    }
    let more = scene.would_change(&verdict, explained);
    verdict.would_change.extend(more);
    (verdict, Some(told.number))
}

/// The explanation that is always weighed, alone.
fn nothing() -> crate::verdict::Candidate {
    crate::verdict::Candidate {
        name: "nothing".to_owned(),
        score: 1.0,
        gain_nats: 0.0,
    }
}

fn span_in_periods(samples: &Samples, found: &Found) -> usize {
    let span = samples.times_us[samples.times_us.len() - 1] - samples.times_us[0];
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "two or three"
    )]
    let periods = (span as f64 / found.pattern.clock.period_us()).round() as usize;
    periods.min(2)
}

#[cfg(test)]
#[path = "analyse_tests.rs"]
mod tests;
