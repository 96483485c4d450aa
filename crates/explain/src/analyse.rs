//! One series after the other, and all of them together.

use crate::attribution::{Cause, weigh};
use crate::compose::{causes, describe, is_event, members, moment, other};
use crate::find::{Findings, Found, Samples, find, is_wave};
use crate::grid::grid;
use crate::runs::{Class, classes};
use crate::verdict::{Analysis, Kind, SeriesVerdict, Verdict};
use crate::wall::{DAY_US, HOUR_US, Wall};
use crate::words::{Scene, separation};
use crate::{JobRuns, Options};
use facts::series::{Dating, Series};
use jiff::Timestamp;

/// Fewer samples tell nothing.
const SAMPLES_MIN: usize = 16;
/// Runs of a job among the samples, at least, for it to be weighed.
const RUNS_MIN: usize = 3;
/// Jobs are blamed from this probability on.
const SCORE_MIN: f64 = 0.5;
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
    let mut verdicts: Vec<SeriesVerdict> = series
        .iter()
        .map(|series| one(series, jobs, options))
        .collect();
    control_false_discoveries(&mut verdicts, options.alpha.max(0.01) * 5.0);
    verdicts.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    Analysis {
        series: verdicts,
        zone: zone_name(options),
    }
}

fn zone_name(options: &Options) -> String {
    options.zone.iana_name().unwrap_or("UTC").to_owned()
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
fn control_false_discoveries(verdicts: &mut [SeriesVerdict], share: f64) {
    let mut order: Vec<usize> = (0..verdicts.len())
        .filter(|&i| verdicts[i].verdict.p.is_some())
        .collect();
    order.sort_by(|&a, &b| {
        let p = |i: usize| verdicts[i].verdict.p.unwrap_or(1.0);
        p(a).total_cmp(&p(b))
    });
    let count = as_f64(order.len());
    let mut least: f64 = 1.0;
    for (rank, &i) in order.iter().enumerate().rev() {
        let p = verdicts[i].verdict.p.unwrap_or(1.0);
        least = least.min(p * count / as_f64(rank + 1));
        let verdict = &mut verdicts[i].verdict;
        verdict.q = Some(least);
        let recurs = matches!(verdict.kind, Kind::Periodic | Kind::Unattributed);
        if recurs && least > share {
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

fn one(series: &Series, jobs: &[JobRuns], options: &Options) -> SeriesVerdict {
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
        verdict: empty(Kind::Undecided),
    };
    let (times_us, values) = valid(series);
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
        return result;
    }
    if times_us.len() < SAMPLES_MIN {
        result.verdict.sentence = format!(
            "Cannot tell: {} samples, {SAMPLES_MIN} needed at least.",
            times_us.len()
        );
        return result;
    }
    let wall = Wall::new(&options.zone, times_us[0], times_us[times_us.len() - 1]);
    let samples = Samples {
        wall_us: times_us.iter().map(|&us| wall.of(us)).collect(),
        times_us,
        values,
        gap_us,
        wall,
    };
    let (classes, useless) = classes(jobs, &samples.times_us, &samples.wall, RUNS_MIN);
    let findings = find(&samples, &classes, options.alpha, options.seed);
    let scene = Scene {
        name: &series.name,
        unit: series.unit.as_deref(),
        better: result.better,
        zone: &zone_name(options),
        gap_s: seconds(gap_us),
        jobs,
        useless: useless.len(),
    };
    result.verdict = judge(&samples, &findings, &classes, jobs, &scene, options);
    result
}

/// Times that ascend and values that are numbers, whatever was handed in.
fn valid(series: &Series) -> (Vec<i64>, Vec<f64>) {
    let mut times_us = Vec::with_capacity(series.times_us.len());
    let mut values = Vec::with_capacity(series.values.len());
    for (&time, &value) in series.times_us.iter().zip(&series.values) {
        let ascends = times_us.last().is_none_or(|&last| time > last);
        if ascends && value.is_finite() && value.abs() < 1e150 {
            times_us.push(time);
            values.push(value);
        }
    }
    (times_us, values)
}

/// A verdict without anything.
fn empty(kind: Kind) -> Verdict {
    Verdict {
        kind,
        sentence: String::new(),
        period_s: None,
        cycle: None,
        phase: None,
        shape: None,
        p: None,
        q: None,
        since: None,
        until: None,
        cycles: None,
        cycles_seen: None,
        effect: None,
        events: Vec::new(),
        classes: Vec::new(),
        candidates: Vec::new(),
        also: Vec::new(),
        changes: Vec::new(),
        would_change: Vec::new(),
        folded: None,
    }
}

/// The weight of the likeliest class, of all of them, and of an unknown cause.
fn judge(
    samples: &Samples,
    findings: &Findings,
    classes: &[Class],
    jobs: &[JobRuns],
    scene: &Scene,
    options: &Options,
) -> Verdict {
    let mut verdict = empty(Kind::None);
    if findings.patterns.is_empty() {
        verdict.p = Some(findings.p_none);
        verdict.candidates.push(crate::verdict::Candidate {
            name: "nothing".to_owned(),
            score: 1.0,
            gain_nats: 0.0,
        });
        if let Some(few) = &findings.few {
            verdict.kind = Kind::Undecided;
            let seen = span_in_periods(samples, few);
            verdict.sentence = format!(
                "Cannot tell: {seen} cycles seen, 3 needed. What may recur: {}",
                other(few).sentence
            );
            return verdict;
        }
        verdict.sentence = scene.nothing(verdict.p);
        verdict.would_change = scene.would_change(&verdict, false);
        return verdict;
    }
    // A pattern that jobs explain is told first, then a sudden one, then load.
    let mut choices: Vec<(usize, Vec<crate::attribution::Weighed>, f64)> = Vec::new();
    for (number, found) in findings.patterns.iter().enumerate() {
        let own = found.pattern.values(&samples.wall_us);
        let values: Vec<f64> = findings.rest.iter().zip(own).map(|(a, b)| a + b).collect();
        let number_of_grid = found.pattern.grid;
        let grid = grid(&samples.wall_us, &values, samples.gap_us, number_of_grid);
        let weighed = weigh(found, &grid, classes);
        let of_jobs: f64 = weighed
            .iter()
            .filter(|one| matches!(one.cause, Cause::Class(..)))
            .map(|one| one.score)
            .sum();
        choices.push((number, weighed, of_jobs));
    }
    choices.sort_by(|a, b| {
        let worth = |choice: &(usize, Vec<crate::attribution::Weighed>, f64)| {
            let found = &findings.patterns[choice.0];
            (choice.2 >= SCORE_MIN, !is_wave(found))
        };
        worth(b).cmp(&worth(a)).then(a.0.cmp(&b.0))
    });
    let (number, weighed, of_jobs) = &choices[0];
    let found = &findings.patterns[*number];
    let explained = *of_jobs >= SCORE_MIN;
    describe(&mut verdict, found, samples);
    causes(&mut verdict, weighed, classes, jobs, samples, scene.better);
    verdict.kind = if explained {
        Kind::Periodic
    } else {
        Kind::Unattributed
    };
    if !explained {
        verdict.classes.retain(|class| class.score >= 0.05);
    }
    for class in &mut verdict.classes {
        class.separate_by = separation(class, jobs, &options.zone, scene.gap_s);
    }
    for (other_number, _, _) in &choices[1..] {
        verdict.also.push(other(&findings.patterns[*other_number]));
    }
    verdict.sentence = scene.recurring(&verdict, explained);
    for also in &verdict.also {
        if is_event(also.shape) {
            verdict.sentence.push_str(&format!(" {}", also.sentence));
        }
    }
    verdict.would_change = scene.would_change(&verdict, explained);
    let _ = (members, HOUR_US, DAY_US, Timestamp::UNIX_EPOCH);
    verdict
}

fn span_in_periods(samples: &Samples, found: &Found) -> usize {
    let span = samples.times_us[samples.times_us.len() - 1] - samples.times_us[0];
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "two or three"
    )]
    let periods = (span as f64 / found.pattern.clock.period_us()) as usize;
    periods
}

#[expect(clippy::cast_precision_loss, reason = "spans are below 2^53 microseconds")]
fn seconds(us: i64) -> f64 {
    us as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^52")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
