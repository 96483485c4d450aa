//! Analyses series one by one, then ranks and adjusts them as a whole.

use super::advice::would_change;
use super::clocks::{place, zone_name};
use super::common::common;
use super::decision::{CauseFound, Decision, Evidence, Outcome, Recurs, decide};
use super::discards::requests;
use super::lasting::Lasting;
use super::recurrence::Recurrence;
use super::result::{
    Analysis, Change, ClockChoice, JobClass, Kind, Level, OtherClock, OtherPattern, Phase,
    Requests, SeriesVerdict, Undecided, Verdict,
};
use super::sentence::{SentenceContext, sentence};
use super::separation::experiment;
use super::significance::{Significance, control_false_discoveries};
use crate::calendar::offsets::moment;
use crate::causes::attribution::attribute;
use crate::fit::segmentation::find_patterns_and_changes;
use crate::model::input::{JobRuns, Options};
use crate::model::samples::{Samples, Unusable, prepare};
use crate::numbers::seconds;
use crate::search::runs::classes;
use facts::series::{Better, Series};
use jiff::Timestamp;
use rayon::prelude::*;

/// Series with more samples than this are analysed one after another.
const SAMPLES_TOGETHER_MAX: usize = 250_000;

/// The decision on a series, and what its sentence needs of its samples.
struct Decided {
    decision: Decision,
    gap_us: Option<i64>,
    notes: Vec<String>,
    first: Option<Timestamp>,
}

/// Explains series: which of them recur, with what period, since when and until when, which jobs may be the
/// cause, and what changed permanently.
///
/// Series without absolute times, and those with fewer than 16 samples, are undecided. The result depends
/// only on the arguments.
pub fn explain(series: &[Series], jobs: &[JobRuns], options: &Options) -> Analysis {
    let zone = zone_name(&options.zone);
    let other_zones = options.other_zones();
    let decide_on = |series: &Series| {
        let prepared = prepare(series, &options.zone, &other_zones);
        let decision = match &prepared.samples {
            Ok(samples) => decision(samples, series.better.or(options.better), jobs, options),
            Err(why) => Decision::unusable(*why),
        };
        let first = prepared.samples.as_ref().ok();
        Decided {
            decision,
            gap_us: prepared.gap_us,
            notes: prepared.notes,
            first: first.map(|samples| moment(samples.times_us[0])),
        }
    };
    // Long series are analysed one after another, so that the copies of only one are in memory; each is
    // analysed in parallel anyway.
    let is_long = |series: &Series| series.values.len() > SAMPLES_TOGETHER_MAX;
    let mut decided: Vec<Option<Decided>> = (series.par_iter())
        .map(|series| (!is_long(series)).then(|| decide_on(series)))
        .collect();
    for (series, decided) in series.iter().zip(&mut decided) {
        decided.get_or_insert_with(|| decide_on(series));
    }
    let decided: Vec<Decided> = decided.into_iter().flatten().collect();
    let significances = control_false_discoveries(decided.iter().map(|one| &one.decision));
    let mut verdicts: Vec<SeriesVerdict> = series
        .iter()
        .zip(&decided)
        .zip(&significances)
        .map(|((series, decided), significance)| {
            let better = series.better.or(options.better);
            let context = SentenceContext {
                name: &series.name,
                unit: series.unit.as_deref(),
                better,
                zone: &zone,
                gap_us: decided.gap_us.unwrap_or(1),
                first: decided.first,
                jobs: jobs.len(),
                requests: requests(
                    series,
                    decided.decision.recurs().map(|recurs| &recurs.recurrence),
                ),
            };
            SeriesVerdict {
                name: series.name.clone(),
                source: series.source.clone(),
                host: series.host().map(str::to_owned),
                unit: series.unit.clone(),
                better,
                dating: series.dating,
                samples: series.values.len(),
                from: series.times_us.first().map(|&us| moment(us)),
                until: series.times_us.last().map(|&us| moment(us)),
                gap_s: decided.gap_us.map(seconds),
                notes: [&series.notes[..], &decided.notes[..]].concat(),
                verdict: verdict(&decided.decision, significance, &context, jobs, options),
            }
        })
        .collect();
    verdicts.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    Analysis {
        common: common(&verdicts, &zone, options.folded.as_ref()),
        series: verdicts,
        zone,
    }
}

/// Returns the sort rank, larger for what is more interesting: series with a cause, then those that recur,
/// then those that changed.
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
    // What happens on the disk says more than what that does to others.
    let is_discards = verdict.requests == Some(Requests::Discards);
    class * 1e7 + effect + if is_discards { 2e6 } else { 0.0 }
}

/// Analyses the samples of a series and returns the decision.
fn decision(
    samples: &Samples,
    better: Option<Better>,
    jobs: &[JobRuns],
    options: &Options,
) -> Decision {
    let (classes, left_out) = classes(jobs, &samples.times_us, samples.gap_us, &samples.offsets);
    let (findings, segmentation) = find_patterns_and_changes(samples, &classes, options);
    let attributions = attribute(samples, &findings, &classes, jobs);
    let evidence = Evidence {
        samples,
        classes: &classes,
        jobs,
        jobs_left_out: left_out.len(),
        better,
        zone: &options.zone,
    };
    decide(&findings, &segmentation, &attributions, &evidence)
}

/// Builds the verdict from a decision and its significance.
fn verdict(
    decision: &Decision,
    significance: &Significance,
    context: &SentenceContext,
    jobs: &[JobRuns],
    options: &Options,
) -> Verdict {
    let recurs = decision.recurs();
    let recurrence = recurs.map(|recurs| &recurs.recurrence);
    let experiment_of =
        |class: &JobClass| experiment(&class.jobs, jobs, &options.zone, seconds(context.gap_us));
    let of_first = recurs
        .and_then(|recurs| recurs.classes.first())
        .and_then(experiment_of);
    let phase = recurrence.and_then(|recurrence| {
        let at = recurrence.place?;
        let text = |wall_us| place(recurrence.rhythm.cycle, wall_us, context.gap_us);
        Some(Phase {
            from: at.from,
            to: at.to,
            from_text: text(at.from_wall_us),
            to_text: text(at.to_wall_us),
        })
    });
    let classes = recurs.map_or(&[][..], |recurs| &recurs.classes);
    Verdict {
        kind: significance.kind,
        level: (recurs
            .filter(|_| [Kind::Periodic, Kind::Unattributed].contains(&significance.kind)))
        .map(level),
        undecided: undecided(decision, significance),
        sentence: sentence(decision, significance, of_first.as_deref(), context),
        period_s: recurrence.map(|recurrence| recurrence.rhythm.period_s),
        cycle: recurrence.map(|recurrence| recurrence.rhythm.cycle),
        weekdays: recurrence.and_then(|recurrence| recurrence.rhythm.weekdays.clone()),
        phase,
        clock: recurrence.and_then(|recurrence| clock(recurrence, context)),
        shape: recurrence.map(|recurrence| recurrence.shape),
        looks_like_load: recurs.is_some_and(|recurs| recurs.like_load.is_some()),
        p: decision.chance.and_then(|chance| chance.p),
        q: significance.q,
        since: recurrence.and_then(|recurrence| recurrence.since),
        until: recurrence.and_then(|recurrence| recurrence.until),
        cycles: recurrence.map(|recurrence| recurrence.cycles),
        cycles_seen: recurrence.map(|recurrence| recurrence.cycles_seen),
        effect: recurrence.map(|recurrence| recurrence.effect),
        requests: context.requests,
        sample: recurs.and_then(|recurs| recurs.sample),
        events: recurrence.map_or(Vec::new(), |recurrence| recurrence.events.clone()),
        classes: classes
            .iter()
            .map(|class| JobClass {
                separate_by: experiment_of(class),
                ..class.clone()
            })
            .collect(),
        candidates: decision.candidates.clone(),
        also: recurs.map_or(Vec::new(), |recurs| others(recurs, context)),
        changes: decision.lasting.as_ref().map_or(Vec::new(), changes),
        trend_per_day: (decision.lasting.as_ref())
            .and_then(|lasting| lasting.trend)
            .map(|trend| trend.slope_per_day),
        would_change: would_change(decision, context, jobs),
        folded: recurrence.map(|recurrence| recurrence.folded.clone()),
    }
}

/// Returns how sure the cause of a pattern is. Of jobs that samples cannot tell apart, each only fits.
fn level(recurs: &Recurs) -> Level {
    match (recurs.cause, &recurs.classes[..]) {
        (CauseFound::Jobs, [first, ..]) if first.jobs.len() == 1 => Level::Named,
        (
            CauseFound::Jobs | CauseFound::Fits | CauseFound::LessLoad | CauseFound::RunsThen,
            [_, ..],
        ) => Level::Fits,
        _ => Level::Unknown,
    }
}

/// Returns why it cannot be told whether something recurs.
fn undecided(decision: &Decision, significance: &Significance) -> Option<Undecided> {
    match decision.outcome {
        _ if significance.likely_chance.is_some() => Some(Undecided::NotSignificant),
        Outcome::Unusable(Unusable::NotDated(_)) => Some(Undecided::NoTimes),
        Outcome::Unusable(Unusable::TooFew(_)) => Some(Undecided::TooFewSamples),
        Outcome::Unusable(Unusable::Counter) => Some(Undecided::Counter),
        Outcome::TooFewCycles { .. } => Some(Undecided::TooFewCycles),
        Outcome::Nothing { .. } | Outcome::Recurs(_) => None,
    }
}

/// Returns whose clocks a pattern follows.
fn clock(recurrence: &Recurrence, context: &SentenceContext) -> Option<ClockChoice> {
    let clocks = recurrence.clocks.as_ref()?;
    let name = |zone: Option<&String>| zone.map_or(context.zone, String::as_str).to_owned();
    let others = clocks.losses.iter().map(|(zone, loss)| OtherClock {
        zone: name(zone.as_ref()),
        gain_nats: *loss,
    });
    Some(ClockChoice {
        zone: name(clocks.other.as_ref()),
        others: others.collect(),
        is_decided: clocks.is_decided(),
        local: clocks.places.clone(),
    })
}

fn others(recurs: &Recurs, context: &SentenceContext) -> Vec<OtherPattern> {
    let told = recurs.others.iter().map(|other| OtherPattern {
        period_s: other.rhythm.period_s,
        shape: other.shape,
        p: other.p,
        jobs: other.jobs.clone(),
        sentence: context.also(other),
    });
    told.collect()
}

/// Returns all changes, oldest first.
fn changes(lasting: &Lasting) -> Vec<Change> {
    let mut all: Vec<Change> = [&lasting.changes[..], &lasting.bounds].concat();
    all.sort_by_key(|change| change.from);
    all
}
