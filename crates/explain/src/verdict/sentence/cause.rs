//! The cause of a pattern: which jobs, how sure, and by what.

use crate::numbers::seconds;
use crate::verdict::decision::{CauseFound, Recurs, SCORE_NAMED};
use crate::verdict::phrases::{in_periods, names, periods, sampling};
use crate::verdict::result::{Cycle, JobClass, Role, Shape};
use std::fmt::Write as _;
use units::share;

const TYPICAL_OF_TRIM: &str =
    " A slow decay with a sudden recovery right after a run is typical of a trim.";

/// Begins the sentence with the jobs that are the cause: `Likely cause: fstrim.timer. `; empty if none are.
pub(super) fn lead(recurs: &Recurs, gap_us: i64) -> String {
    let Some(first) = named_class(recurs) else {
        return String::new();
    };
    let of = match (recurs.recurrence.shape, first.role) {
        (Shape::Sawtooth, Role::Heals) => " of the recovery",
        (_, Role::Heals) => " of the improvement",
        (_, Role::Hurts | Role::Unknown) => "",
    };
    let jobs = names(&first.jobs);
    if first.jobs.len() > 1 {
        let samples = sampling(seconds(gap_us));
        format!("Likely cause{of}: {jobs}; {samples} cannot tell which. ")
    } else {
        format!("Likely cause{of}: {jobs}. ")
    }
}

/// Describes the runs that a pattern follows: `each time the job starts`, if the sentence began with it.
pub(super) fn starts(recurs: &Recurs, is_each: bool) -> String {
    let first = recurs.classes.first();
    let several = first.is_some_and(|first| first.jobs.len() > 1);
    let who = match (recurs.cause, first) {
        (CauseFound::Jobs, _) | (_, None) if several => "these jobs".to_owned(),
        (CauseFound::Jobs, _) | (_, None) => "the job".to_owned(),
        (_, Some(first)) => names(&first.jobs),
    };
    match (is_each, several) {
        (true, true) => format!("each time {who} start"),
        (true, false) => format!("each time {who} starts"),
        (false, _) => format!("on some runs of {who}"),
    }
}

/// Returns the class of jobs that is the cause.
fn named_class(recurs: &Recurs) -> Option<&JobClass> {
    let is_cause = recurs.cause == CauseFound::Jobs;
    recurs.classes.first().filter(|_| is_cause)
}

/// Says by what the cause is known, or what else is known of it.
pub(super) fn evidence(recurs: &Recurs, name: &str) -> String {
    let first = recurs.classes.first();
    match (recurs.cause, first) {
        (CauseFound::Jobs, Some(first)) => jobs(recurs, first, name),
        (CauseFound::LessLoad, Some(first)) => format!(
            " {}, but an improvement this long is more likely reduced load than an effect of the job.",
            runs_then(recurs, first),
        ),
        (CauseFound::Fits, Some(first)) => fitting(recurs, first),
        (CauseFound::RunsThen, Some(first)) => format!(
            " {}, but the values do not follow its starts closely enough to name it.",
            runs_then(recurs, first)
        ),
        (CauseFound::SmoothLoad, _) => {
            let cycle = match recurs.recurrence.rhythm.cycle {
                Cycle::Day => "the daily cycle of load",
                Cycle::Week => "the weekly cycle of load",
                _ => "load",
            };
            format!(" A curve this smooth looks like {cycle}, not like a job.")
        }
        (CauseFound::NoJobsGiven, _) => " There are no jobs to compare it with.".to_owned(),
        (CauseFound::NotTheJobs, _) => " No known job explains it.".to_owned(),
        (CauseFound::NoJobRuns, _) => " No known job on this host runs at that time.".to_owned(),
        (
            CauseFound::Jobs | CauseFound::LessLoad | CauseFound::Fits | CauseFound::RunsThen,
            None,
        ) => String::new(),
    }
}

/// Says how often the jobs run that explain a pattern.
fn jobs(recurs: &Recurs, first: &JobClass, name: &str) -> String {
    let (who, runs) = match first.jobs.len() {
        0 | 1 => ("The job", "runs"),
        _ => ("These jobs", "run"),
    };
    let before = (first.lag_s).map_or(String::new(), |lag_s| {
        format!(", or up to {} before,", units::seconds(lag_s))
    });
    let is_after_runs = recurs.recurrence.rhythm.cycle == Cycle::Runs;
    let mut text = match first.missed {
        0 if is_after_runs => String::new(),
        _ => format!(" {who} {runs} then{before} {}.", how_many(recurs, first)),
    };
    if recurs.recurrence.shape == Shape::Sawtooth {
        match first.role {
            Role::Heals if may_trim(&first.jobs) => text.push_str(TYPICAL_OF_TRIM),
            Role::Hurts => {
                let _ = write!(
                    text,
                    " {name} is worst right after a run, then improves slowly."
                );
            }
            Role::Heals | Role::Unknown => {}
        }
    }
    text
}

/// Says at how many of the occurrences jobs run: `on all 77 days`, `in 8 of 9 weeks`.
fn how_many(recurs: &Recurs, jobs: &JobClass) -> String {
    let (matched, all) = (jobs.matched, jobs.matched + jobs.missed);
    let cycle = recurs.recurrence.rhythm.cycle;
    let (within, what) = if all == recurs.recurrence.cycles {
        (in_periods(cycle), periods(cycle))
    } else {
        ("in ", "cases")
    };
    match jobs.missed {
        0 => format!("{within}all {matched} {what}"),
        _ => format!("{within}{matched} of {all} {what}"),
    }
}

/// Says on what the cause depends.
pub(super) fn condition(recurs: &Recurs) -> &'static str {
    match named_class(recurs) {
        Some(first) if first.dated_by_start => {
            " Likely only if your timestamps mark the start of each interval."
        }
        _ => "",
    }
}

/// Says what would tell jobs apart that run at the same time.
pub(super) fn experiment(recurs: &Recurs, experiment: Option<&str>) -> String {
    let is_told = recurs.cause == CauseFound::Jobs
        || recurs.cause == CauseFound::Fits && !(recurs.may_be_load && recurs.like_load.is_some());
    let Some((experiment, first)) = experiment.filter(|_| is_told).zip(recurs.classes.first())
    else {
        return String::new();
    };
    // Those that are the cause begin the sentence.
    let jobs = match recurs.cause {
        CauseFound::Jobs => "them".to_owned(),
        _ => units::list(&first.jobs),
    };
    format!(" To tell {jobs} apart: {experiment}.")
}

/// Begins a sentence on how often jobs run at the time of a pattern: `backup runs then on 69 of 70 days`.
fn runs_then(recurs: &Recurs, jobs: &JobClass) -> String {
    let dated = if jobs.dated_by_start {
        "If your timestamps mark the start of each interval, "
    } else {
        ""
    };
    format!(
        "{dated}{} {} then {}",
        names(&jobs.jobs),
        if jobs.jobs.len() > 1 { "run" } else { "runs" },
        how_many(recurs, jobs)
    )
}

/// Describes the jobs that fit a pattern, with their shares.
fn fitting(recurs: &Recurs, first: &JobClass) -> String {
    let mut text = if recurs.may_be_load {
        // The load that looks like this comes next: a job that runs then is no suspect.
        match recurs.like_load {
            Some(_) => String::new(),
            None => format!(
                " Cause unclear: {}, but ordinary load may last as long.",
                runs_then(recurs, first)
            ),
        }
    } else {
        let shares: Vec<String> = recurs.classes.iter().enumerate().map(share_of).collect();
        let left = 1.0 - recurs.classes.iter().map(|class| class.score).sum::<f64>();
        let (shares, left) = (shares.join(", "), left.max(0.0));
        let something_else = format!("something else ({})", share::score(left));
        match recurs.classes.len() {
            _ if left > first.score => {
                format!(" Cause unclear: {something_else}, or {shares}.")
            }
            0 | 1 => format!(" Possible cause, not proven: {shares}, or {something_else}."),
            _ => format!(" Possible causes, none proven: {shares}, or {something_else}."),
        }
    };
    if recurs.recurrence.shape == Shape::Sawtooth
        && first.role == Role::Heals
        && may_trim(&first.jobs)
    {
        text.push_str(TYPICAL_OF_TRIM);
    }
    text
}

/// Describes how probable jobs are as the cause; of the first, how probable they would have to be.
fn share_of((place, class): (usize, &JobClass)) -> String {
    // Never rounded up to a share at which it would be named.
    let is_below = class.score < SCORE_NAMED;
    let most = if is_below { 0.94 } else { 1.0 };
    let share = share::score(class.score.min(most));
    let each = if class.jobs.len() > 1 {
        " together"
    } else {
        ""
    };
    let needed = if place == 0 && is_below {
        format!(" likely, {} needed", share::score(SCORE_NAMED))
    } else {
        String::new()
    };
    format!("{} ({share}{each}{needed})", names(&class.jobs))
}

/// Returns whether one of these jobs may be a trim, judging by its name; a directory of scripts may contain
/// one.
fn may_trim(jobs: &[String]) -> bool {
    jobs.iter().any(|name| {
        let is_directory = ["cron.daily", "cron.weekly", "cron.monthly"].contains(&name.as_str());
        is_directory || name.contains("trim")
    })
}
