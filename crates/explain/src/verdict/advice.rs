//! What additional data would change a verdict.

use super::clocks::Clocks;
use super::decision::{CauseFound, Decision, Outcome, Recurs};
use super::phrases::{every, names};
use super::result::Cycle;
use super::sentence::SentenceContext;
use crate::model::input::JobRuns;
use crate::numbers::seconds;
use crate::search::runs::RUNS_MIN;

/// Sampling interval, in seconds, above which samples say little about when something happens.
const RARE_S: f64 = 3_600.0;

/// Returns what would change a verdict, one sentence each.
pub(crate) fn would_change(
    decision: &Decision,
    context: &SentenceContext,
    jobs: &[JobRuns],
) -> Vec<String> {
    let mut lines = match &decision.outcome {
        Outcome::Unusable(_) | Outcome::TooFewCycles { .. } => return Vec::new(),
        Outcome::Nothing { .. } => Vec::new(),
        Outcome::Recurs(recurs) => about_pattern(recurs, context, jobs),
    };
    if decision.jobs_left_out > 0 {
        let (were, they) = match decision.jobs_left_out {
            1 => ("was", "it"),
            _ => ("were", "they"),
        };
        lines.push(format!(
            "{} of {} jobs {were} not considered: {they} ran fewer than {RUNS_MIN} times in this period, or between almost every pair of samples.",
            decision.jobs_left_out, context.jobs
        ));
    }
    if context.better.is_none() {
        lines.push("Pass --better to say whether higher or lower is better.".to_owned());
    }
    lines
}

/// Returns the commands that run jobs once, as far as they are known, in words.
fn by_hand(names: &[String], jobs: &[JobRuns]) -> String {
    let command = |name: &String| {
        let job = jobs.iter().find(|job| job.name == *name)?;
        job.by_hand.as_ref().map(|command| format!("`{command}`"))
    };
    let commands: Vec<String> = names.iter().filter_map(command).collect();
    if commands.is_empty() {
        return String::new();
    }
    format!(" ({})", units::list(&commands))
}

fn about_pattern(recurs: &Recurs, context: &SentenceContext, jobs: &[JobRuns]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(jobs) = &recurs.depends_on_dating {
        lines.push(format!(
            "Check whether your timestamps mark the start of each interval: {} {} at that time only if they do.",
            names(jobs),
            if jobs.len() > 1 { "run" } else { "runs" }
        ));
    }
    let fits = [CauseFound::Jobs, CauseFound::Fits].contains(&recurs.cause);
    if let Some(first) = recurs.classes.first().filter(|_| fits) {
        lines.push(format!(
            "Run {} once at another time{}: if the pattern does not show then, the cause is something else.",
            names(&first.jobs),
            by_hand(&first.jobs, jobs)
        ));
        if first.idle_runs > 0 {
            lines.push(format!(
                "{} runs of {} had no visible effect: check whether they had any work to do.",
                first.idle_runs,
                names(&first.jobs)
            ));
        }
    }
    if recurs.cause != CauseFound::Jobs {
        lines.push(
            "Add schedules of other hosts and of the store itself (snapshots, merges, backups) with --jobs and --events."
                .to_owned(),
        );
        let is_calendar = matches!(recurs.recurrence.rhythm.cycle, Cycle::Day | Cycle::Week);
        let is_decided = |clocks: &Clocks| clocks.is_decided();
        if is_calendar && !recurs.recurrence.clocks.as_ref().is_some_and(is_decided) {
            lines.push(format!(
                "Try another time zone with --tz, in case the cause follows one (used here: {}).",
                context.zone
            ));
        }
    }
    if seconds(context.gap_us) >= RARE_S {
        lines.push(format!(
            "Sample more often than {} to narrow down when it happens.",
            every(None, seconds(context.gap_us))
        ));
    }
    lines
}
