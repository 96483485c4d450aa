//! The decision on a series. Sentences are generated from it later and decide nothing.

use super::lasting::Lasting;
use super::like_load::{LikeLoad, Waves, is_as_long_as_load, is_break, is_coarse, like_load};
use super::phrases::{how_often, names};
use super::recurrence::{Recurrence, Secondary, is_event};
use super::result::{Candidate, Cycle, JobClass, Kind, Role};
use super::times_of_day;
use crate::causes::attribution::Attribution;
use crate::causes::likelihood::Cause;
use crate::causes::matches::{IDLE_MAX, LAG_US, Matches, Reach, count_inside, matches};
use crate::change::Segments;
use crate::fit::found::{Findings, Found};
use crate::model::form::Form;
use crate::model::input::JobRuns;
use crate::model::samples::{SampleTaken, Samples, Unusable};
use crate::numbers::{as_count, as_f64, widest_us};
use crate::search::runs::Class;
use facts::series::Better;
use jiff::tz::TimeZone;

/// Minimum probability of a class of jobs to be reported.
const SCORE_REPORTED_MIN: f64 = 0.001;
/// Minimum probability at which one class of jobs is said to be the cause.
pub(super) const SCORE_NAMED: f64 = 0.95;
/// Maximum probability of one that fits only by an effect that jobs seldom have, or only if samples far apart are dated by
/// the start of their interval, unless that is more probable than [`SCORE_COARSE_NAMED`].
const SCORE_VAGUE: f64 = 0.94;
const SCORE_COARSE_NAMED: f64 = 0.97;
/// Minimum probability at which it is said to fit.
const SCORE_FITS: f64 = 0.02;
/// A job that starts in so many windows for each that it does not start in is reported, unless it starts in one of so many
/// windows by chance; at most so many classes.
const NEARLY_ALWAYS: usize = 9;
const RARE: i64 = 4;
const STARTS_THEN_MAX: usize = 2;
/// Minimum size of a pattern without jobs, relative to another one, to be reported next to it: piecewise
/// linear forms leave residuals of real curves.
const SECONDARY_MIN: f64 = 0.03;

/// The decision on a series.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// The classification, before other series are considered.
    pub kind: Kind,
    /// What was found.
    pub outcome: Outcome,
    /// All explanations, most likely first.
    pub candidates: Vec<Candidate>,
    /// Probability by chance, and the same extrapolated below what a bootstrap can resolve; `None` if
    /// nothing was searched.
    pub chance: Option<Chance>,
    /// Lasting changes; `None` if nothing was searched.
    pub lasting: Option<Lasting>,
    /// Jobs that could not be compared with the samples.
    pub jobs_left_out: usize,
}

/// The probability of a pattern this clear by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    /// From the bootstrap; `None` if no pattern can be named.
    pub p: Option<f64>,
    /// Extrapolated, for comparing many series.
    pub p_extrapolated: f64,
}

/// What was found in a series.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The series could not be searched.
    Unusable(Unusable),
    /// Something may recur, but there are too few cycles to decide.
    TooFewCycles {
        /// The possible pattern.
        pattern: Box<Secondary>,
        /// The number of cycles.
        cycles_seen: usize,
    },
    /// Nothing recurs.
    Nothing {
        /// The probability by chance of the best candidate; `None` if it did not pass an exact fit.
        p: Option<f64>,
    },
    /// Something recurs.
    Recurs(Box<Recurs>),
}

/// Something that recurs, and its possible causes.
#[derive(Debug, Clone)]
pub(crate) struct Recurs {
    /// What recurs.
    pub recurrence: Recurrence,
    /// Its cause.
    pub cause: CauseFound,
    /// Jobs that may be the cause, most likely first, without the experiment that would tell them apart.
    pub classes: Vec<JobClass>,
    /// The kind of load that looks the same, if any.
    pub like_load: Option<LikeLoad>,
    /// Jobs that match only if timestamps mark the start of each sample's interval, if these are the most
    /// likely.
    pub depends_on_dating: Option<Vec<String>>,
    /// Whether it may be ordinary load, which comes as often and lasts as long.
    pub may_be_load: bool,
    /// What a sample was taken for, where that matters.
    pub sample: Option<SampleTaken>,
    /// Other patterns, in the order in which they are reported.
    pub others: Vec<Secondary>,
}

/// The cause of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CauseFound {
    /// The first class of jobs.
    Jobs,
    /// Load, because the pattern is smooth.
    SmoothLoad,
    /// Unknown: no jobs were given.
    NoJobsGiven,
    /// Reduced load, which is more likely than the first class of jobs, although that runs at the time.
    LessLoad,
    /// Perhaps one of the classes of jobs: they fit, but so do others.
    Fits,
    /// Unknown, although the first class of jobs starts at nearly every occurrence: an unknown cause fits better.
    RunsThen,
    /// Unknown, although jobs run at the time.
    NotTheJobs,
    /// Unknown; no job runs at the time.
    NoJobRuns,
}

impl Decision {
    /// Returns the decision for a series that cannot be searched.
    pub fn unusable(why: Unusable) -> Self {
        Self {
            kind: Kind::Undecided,
            outcome: Outcome::Unusable(why),
            candidates: Vec::new(),
            chance: None,
            lasting: None,
            jobs_left_out: 0,
        }
    }

    /// Returns its main pattern, if something recurs.
    pub fn recurs(&self) -> Option<&Recurs> {
        match &self.outcome {
            Outcome::Recurs(recurs) => Some(recurs),
            _ => None,
        }
    }
}

/// The input of a decision besides the findings.
pub(crate) struct Evidence<'a> {
    /// The series.
    pub samples: &'a Samples,
    /// Classes of jobs that the samples can distinguish.
    pub classes: &'a [Class],
    /// All jobs.
    pub jobs: &'a [JobRuns],
    /// Jobs that could not be compared with the samples.
    pub jobs_left_out: usize,
    /// Whether higher or lower is better.
    pub better: Option<Better>,
    /// The time zone.
    pub zone: &'a TimeZone,
}

/// Decides what a series shows.
pub(crate) fn decide(
    findings: &Findings,
    segmentation: &Segments,
    attributions: &[Attribution],
    evidence: &Evidence,
) -> Decision {
    let main = attributions.first();
    let outcome = outcome(findings, attributions, evidence);
    let recurs = match &outcome {
        Outcome::Recurs(recurs) => main.map(|main| (main.found, &recurs.recurrence)),
        _ => None,
    };
    let lasting = Lasting::new(segmentation, recurs, evidence.samples, evidence.jobs);
    let chance = Chance {
        p: match &outcome {
            Outcome::Recurs(recurs) => Some(recurs.recurrence.p),
            _ => Some(
                findings
                    .patterns
                    .first()
                    .map_or(findings.p_none, |found| found.p),
            ),
        },
        p_extrapolated: main.map_or(findings.p_none, |main| main.found.p_extrapolated),
    };
    Decision {
        kind: kind(&outcome, &lasting),
        candidates: candidates(&outcome, main, evidence),
        outcome,
        chance: Some(chance),
        lasting: Some(lasting),
        jobs_left_out: evidence.jobs_left_out,
    }
}

/// Classifies a decision. Lasting changes take precedence over periodic load.
fn kind(outcome: &Outcome, lasting: &Lasting) -> Kind {
    let (kind, yields) = match outcome {
        Outcome::Unusable(_) | Outcome::TooFewCycles { .. } => (Kind::Undecided, false),
        Outcome::Nothing { .. } => (Kind::None, true),
        Outcome::Recurs(recurs) if recurs.cause == CauseFound::Jobs => (Kind::Periodic, false),
        Outcome::Recurs(recurs) => (Kind::Unattributed, !is_event(recurs.recurrence.shape)),
    };
    if yields && !lasting.changes.is_empty() {
        Kind::Change
    } else {
        kind
    }
}

fn outcome(findings: &Findings, attributions: &[Attribution], evidence: &Evidence) -> Outcome {
    let Some(main) = attributions.first() else {
        return match (&findings.patterns[..], &findings.too_few_cycles) {
            ([], Some(found)) => Outcome::TooFewCycles {
                cycles_seen: periods_seen(evidence.samples, found),
                pattern: Box::new(Secondary::new(found, Vec::new())),
            },
            ([], None) => Outcome::Nothing {
                p: Some(findings.p_none),
            },
            _ => Outcome::Nothing { p: None },
        };
    };
    Outcome::Recurs(Box::new(recurs(
        findings,
        main,
        &attributions[1..],
        evidence,
    )))
}

/// Returns how many periods the samples cover, for a pattern seen in two or three of them.
fn periods_seen(samples: &Samples, found: &Found) -> usize {
    let span = samples.times_us[samples.times_us.len() - 1] - samples.times_us[0];
    as_count(as_f64(span) / found.pattern.clock.period_us()).min(2)
}

fn recurs(
    findings: &Findings,
    main: &Attribution,
    others: &[Attribution],
    evidence: &Evidence,
) -> Recurs {
    let found = main.found;
    let recurrence = Recurrence::new(found, evidence.samples);
    let classes = job_matches(main, evidence);
    let mut like_load = like_load(
        &recurrence,
        Waves::new(findings, found),
        evidence.samples,
        evidence.zone,
    );
    // Reduced load improves values for hours too, possibly starting at the exact hour of a job if the
    // samples have no finer resolution.
    let is_less = is_coarse(evidence.samples) && found.pattern.size() < 0.0;
    let heals = |class: &JobClass| class.role == Role::Heals;
    let is_less_load =
        main.is_explained && is_less && like_load.is_some() && classes.first().is_some_and(heals);
    let is_daily = is_event(recurrence.shape) && recurrence.rhythm.cycle == Cycle::Day;
    // Samples this far apart show no edge by which a job could be told from load of the same hour.
    if like_load.is_none() && is_daily && is_coarse(evidence.samples) {
        let of_jobs = others.iter().filter(|other| other.is_explained);
        let of_jobs: Vec<&Found> = of_jobs.map(|other| other.found).collect();
        like_load = times_of_day::are_alike(found, &of_jobs, evidence.samples)
            .then_some(LikeLoad::TimesOfDay);
    }
    let runs_on_others = (classes.first()).is_some_and(|job| job.idle_runs * 10 > job.matched);
    if like_load.is_none() && is_daily && is_break(&recurrence, runs_on_others, evidence.zone) {
        like_load = Some(LikeLoad::Break);
    }
    let is_rest_of_wave = is_event(recurrence.shape) && like_load == Some(LikeLoad::PartOfWave);
    let is_of_people = matches!(
        like_load,
        Some(LikeLoad::TimesOfDay | LikeLoad::Break | LikeLoad::WorkingHours)
    );
    let may_be_load =
        is_rest_of_wave || is_of_people || is_as_long_as_load(&recurrence, main, evidence.samples);
    let is_named = main.is_explained
        && !is_less_load
        && !may_be_load
        && classes
            .first()
            .is_some_and(|class| class.score >= SCORE_NAMED && class.matched > class.missed);
    let depends_on_dating = classes
        .first()
        .filter(|class| class.dated_by_start)
        .map(|class| class.jobs.clone());
    let (mut classes, others_then): (Vec<JobClass>, Vec<JobClass>) =
        classes.into_iter().partition(|class| {
            is_named || class.score >= SCORE_FITS && class.matched >= class.missed.max(1)
        });
    let starts_then = classes.is_empty() && is_event(recurrence.shape);
    if starts_then {
        classes = nearly_always(&others_then, main, evidence);
    }
    let at_once = Reach::shifted(0, evidence.samples);
    let runs_then = |class: &Class| {
        matches(&main.gaps, class, evidence.jobs, evidence.samples, at_once).is_most()
    };
    let was_weighed = main
        .causes
        .iter()
        .any(|one| matches!(one.cause, Cause::Class(..)));
    let cause = if is_named {
        CauseFound::Jobs
    } else if !is_event(recurrence.shape) {
        CauseFound::SmoothLoad
    } else if evidence.jobs.is_empty() {
        CauseFound::NoJobsGiven
    } else if is_less_load && !classes.is_empty() {
        CauseFound::LessLoad
    } else if !classes.is_empty() && starts_then {
        CauseFound::RunsThen
    } else if !classes.is_empty() {
        CauseFound::Fits
    } else if was_weighed || evidence.classes.iter().any(runs_then) {
        CauseFound::NotTheJobs
    } else {
        CauseFound::NoJobRuns
    };
    let size = |found: &Found| found.pattern.size().abs();
    let others = others
        .iter()
        .map(|other| (other.found, likeliest_jobs(other, evidence)))
        .filter(|(other, jobs)| !jobs.is_empty() || size(other) >= size(found) * SECONDARY_MIN)
        .map(|(other, jobs)| Secondary::new(other, jobs))
        .collect();
    Recurs {
        recurrence,
        cause,
        classes,
        like_load,
        depends_on_dating,
        may_be_load,
        sample: main.sample,
        others,
    }
}

/// Returns the most likely jobs of a pattern if jobs explain it.
fn likeliest_jobs(attribution: &Attribution, evidence: &Evidence) -> Vec<String> {
    let class = attribution.causes.iter().find_map(|one| match one.cause {
        Cause::Class(number, _) if attribution.is_explained => Some(&evidence.classes[number]),
        _ => None,
    });
    class.map_or(Vec::new(), |class| members(class, evidence.jobs))
}

/// Returns the classes that start at nearly every occurrence although something else explains the values better, the one
/// that does so most often first; not those that start nearly anywhere.
fn nearly_always(weighed: &[JobClass], main: &Attribution, evidence: &Evidence) -> Vec<JobClass> {
    let samples = evidence.samples;
    let span_us = samples.times_us[samples.times_us.len() - 1] - samples.times_us[0];
    let at_once = Reach::shifted(0, samples);
    let by_class = evidence.classes.iter().filter_map(|class| {
        let runs = matches(&main.gaps, class, evidence.jobs, samples, at_once);
        let often = class.period_us.min(span_us).max(1);
        let reached_us = widest_us(&main.gaps) + LAG_US + class.width_us();
        let is_anywhere = reached_us * RARE > often;
        let is_idle = runs.idle > runs.matched * IDLE_MAX;
        if runs.matched < (runs.missed * NEARLY_ALWAYS).max(3) || is_anywhere || is_idle {
            return None;
        }
        let unknown = job_class(class, evidence.jobs, &runs);
        let known = weighed.iter().find(|one| one.jobs == unknown.jobs);
        Some(JobClass {
            role: known.map_or(Role::Unknown, |known| known.role),
            score: known.map_or(0.0, |known| known.score),
            ..unknown
        })
    });
    let mut all: Vec<JobClass> = by_class.collect();
    // A run that does nothing speaks against a job.
    all.sort_by_key(|one| (one.missed * 4 + one.idle_runs, one.missed));
    all.truncate(STARTS_THEN_MAX);
    all
}

/// Returns the classes of jobs that may cause a pattern, most likely first.
fn job_matches(attribution: &Attribution, evidence: &Evidence) -> Vec<JobClass> {
    let (gaps, jobs) = (&attribution.gaps, evidence.jobs);
    let found = attribution.found;
    let on = found.active_onsets(evidence.samples);
    let shown = on.iter().filter(|(_, gain)| *gain > 0.0).count();
    // A curve that resets in fewer than half of its periods is none that a job resets in each.
    let is_rare = found.pattern.form == Form::Sawtooth && shown * 2 < on.len();
    let told = attribution.causes.iter().filter_map(|one| match one.cause {
        Cause::Class(number, fit) if one.score >= SCORE_REPORTED_MIN => Some((one, number, fit)),
        _ => None,
    });
    told.map(|(one, number, fit)| {
        let class = &evidence.classes[number];
        let reach = Reach::of(&fit, evidence.samples);
        let runs = matches(gaps, class, jobs, evidence.samples, reach);
        let inside = count_inside(gaps, &jobs[class.members[0]].runs);
        let dated_by_start = fit.shift < 0 && inside * 2 < runs.matched;
        // Half an hour's freedom, or more, to move an event to where a job runs.
        let is_coarse = dated_by_start && is_coarse(evidence.samples);
        let role = role(fit.form, fit.amplitude, evidence.better);
        // What is better just while a job runs, and not each time or not at the same one, is seldom so because of it.
        let is_odd = role == Role::Heals
            && matches!(fit.form, Form::Box { .. })
            && (shown * 10 < on.len() * 9 || found.located.is_some());
        let is_vague = is_coarse && one.score < SCORE_COARSE_NAMED || is_odd || is_rare;
        JobClass {
            role,
            dated_by_start,
            score: if is_vague {
                one.score.min(SCORE_VAGUE)
            } else {
                one.score
            },
            ..job_class(class, jobs, &runs)
        }
    })
    .collect()
}

/// Describes a class by how it runs, without its effect and its score.
fn job_class(class: &Class, jobs: &[JobRuns], runs: &Matches) -> JobClass {
    JobClass {
        jobs: members(class, jobs),
        role: Role::Unknown,
        matched: runs.matched,
        missed: runs.missed,
        idle_runs: runs.idle,
        lag_s: runs.lag_s,
        dated_by_start: false,
        score: 0.0,
        evidence: evidence_of(class, jobs),
        separate_by: None,
    }
}

/// Returns every explanation that was compared.
fn candidates(
    outcome: &Outcome,
    main: Option<&Attribution>,
    evidence: &Evidence,
) -> Vec<Candidate> {
    let (Outcome::Recurs(recurs), Some(main)) = (outcome, main) else {
        return vec![Candidate {
            name: "nothing".to_owned(),
            score: 1.0,
            gain_nats: 0.0,
        }];
    };
    main.causes
        .iter()
        .map(|one| Candidate {
            name: match one.cause {
                Cause::Nothing => "nothing".to_owned(),
                Cause::Unknown => {
                    format!("an unknown cause, {}", how_often(&recurs.recurrence.rhythm))
                }
                Cause::Class(number, _) => {
                    names(&members(&evidence.classes[number], evidence.jobs))
                }
            },
            score: one.score,
            gain_nats: one.gain,
        })
        .collect()
}

/// Returns the effect of a job whose runs begin a pattern.
fn role(form: Form, amplitude: f64, better: Option<Better>) -> Role {
    let Some(better) = better else {
        return Role::Unknown;
    };
    let up_at_run = form.jump(amplitude) > 0.0;
    if up_at_run == (better == Better::Higher) {
        Role::Heals
    } else {
        Role::Hurts
    }
}

/// Returns the names of a class's jobs.
fn members(class: &Class, jobs: &[JobRuns]) -> Vec<String> {
    class
        .members
        .iter()
        .map(|&member| jobs[member].name.clone())
        .collect()
}

/// Describes how a class's runs are known, in up to eight lines.
fn evidence_of(class: &Class, jobs: &[JobRuns]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for &member in &class.members {
        for run in &jobs[member].runs {
            if !lines.iter().any(|line| **line == *run.evidence) {
                lines.push(run.evidence.to_string());
            }
            if lines.len() >= 8 {
                return lines;
            }
        }
    }
    lines
}
