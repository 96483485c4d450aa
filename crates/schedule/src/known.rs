//! Observed runs, completed by computed ones where no log covers the time.

use crate::conditions::{Conditions, RUNS_OF_MINUTES_MAX, Uptime, Uptimes};
use crate::forecast::runs;
use crate::guard::{Gate, Passes};
use crate::observed::{Log, Sighting, drop_duplicates};
use crate::run::{Forecast, Run, earlier_of};
use facts::InputError;
use facts::host::{Job, Trigger};
use jiff::{SignedDuration, Timestamp};

/// cron logs a command in the minute for which it is scheduled, or a little later under load.
const CRON_LATE: SignedDuration = SignedDuration::from_secs(120);

/// A run that was due right before the first line of a log may be that line. Less than the shortest
/// interval between two runs.
const AT_BORDER: SignedDuration = SignedDuration::from_secs(59);

/// Returns the runs of a job from `from` until before `until`: those recorded in logs, and computed
/// ones where no log covers the time. Each run states how it is known.
///
/// A log covers the time from its first to its last line if it records the job at all; one that
/// does not may have been filtered or belong to another host. A job whose schedule was changed
/// while the log was written thus gets its actual runs ([`rhythm_changes`] finds the change),
/// whereas a computation would only know the current schedule. If the programs in cron's lines do
/// not distinguish two of `jobs`, each run goes to the job that was scheduled then. Starts at which
/// the job's guards end it at once are no runs, recorded or not.
///
/// If `conditions.run_len_s` is not set, the observed durations are used; boots recorded in the
/// logs are used if `conditions` has none.
///
/// [`rhythm_changes`]: crate::rhythm_changes
///
/// # Errors
/// As [`runs`].
pub fn known_runs(
    job: &Job,
    jobs: &[Job],
    logs: &[Log],
    from: Timestamp,
    until: Timestamp,
    conditions: &Conditions,
) -> Result<Forecast, InputError> {
    let mut covered: Vec<(Timestamp, Timestamp)> = Vec::new();
    let mut seen: Vec<(usize, Sighting<'_>)> = Vec::new();
    let mut silent: Vec<&str> = Vec::new();
    let mut gate = Gate::of(job, conditions);
    let mut some_may_not_run = false;
    for (index, log) in logs.iter().enumerate() {
        let mut sightings = log.sightings(job);
        drop_runs_of_rivals(&mut sightings, job, jobs, log, conditions);
        if sightings.is_empty() {
            silent.push(&log.source);
            continue;
        }
        covered.push((log.from, log.until));
        if let Some(gate) = &mut gate {
            sightings.retain(|sighting| {
                let triggers = job.triggers.iter().map(Trigger::source);
                let passes = gate.passes_by_any(triggers, sighting.start.as_microsecond());
                let is_within = from <= sighting.start && sighting.start < until;
                some_may_not_run |= is_within && passes == Passes::Perhaps;
                passes != Passes::No
            });
        }
        seen.extend(sightings.into_iter().map(|sighting| (index, sighting)));
    }
    let mut conditions = conditions.clone();
    if conditions.run_len_s.is_none() {
        conditions.run_len_s =
            seen.iter()
                .filter_map(|(_, run)| run.len_s)
                .fold(None, |known, len_s| match known {
                    None => Some((len_s, len_s)),
                    Some((shortest, longest)) => {
                        Some((f64::min(shortest, len_s), f64::max(longest, len_s)))
                    }
                });
    }
    if !conditions.uptimes.is_known() {
        let recorded: Vec<Uptime> = logs.iter().flat_map(|log| log.uptimes.clone()).collect();
        conditions.uptimes = Uptimes::new(recorded);
    }
    seen.retain(|(_, run)| from <= run.start && run.start < until);
    drop_duplicates(&mut seen);
    let mut seen: Vec<Run> = seen.iter().map(|(_, run)| run.run(&job.name)).collect();
    let mut forecast = Forecast {
        some_may_not_run,
        ..Forecast::default()
    };
    forecast
        .unknown
        .extend((gate.filter(|_| some_may_not_run)).map(|gate| gate.note(job)));
    if covered.is_empty() && !logs.is_empty() {
        let logs = silent.join(", ");
        forecast
            .unknown
            .push(format!("not mentioned in {logs}: its runs are computed"));
    }
    let mut computed: Vec<Run> = Vec::new();
    for (gap_from, gap_until) in gaps(covered, from, until) {
        let found = runs(job, gap_from, gap_until, &conditions)?;
        for reason in found.unknown {
            if !forecast.unknown.contains(&reason) {
                forecast.unknown.push(reason);
            }
        }
        forecast.some_may_not_run |= found.some_may_not_run;
        forecast.truncated_at = earlier_of(forecast.truncated_at, found.truncated_at);
        let last = Timestamp::from_microsecond(gap_until.as_microsecond() - 1).unwrap_or(gap_until);
        for mut run in found.runs {
            // It may have started while a log covered the time: then it is the run observed there.
            let index = seen.partition_point(|seen| seen.earliest < run.earliest);
            let latest = run.latest.checked_add(AT_BORDER).unwrap_or(run.latest);
            if seen.get(index).is_some_and(|seen| seen.earliest <= latest) {
                continue;
            }
            // Nothing was observed on the other side of the border.
            if gap_from > from {
                run.earliest = run.earliest.max(gap_from);
            }
            if gap_until < until {
                run.latest = run.latest.min(last);
            }
            computed.push(run);
        }
    }
    seen.extend(computed);
    seen.sort_by_key(|run| (run.earliest, run.latest));
    if let Some(first_cut) = seen.get(conditions.runs_max) {
        forecast.truncated_at = earlier_of(forecast.truncated_at, Some(first_cut.earliest));
    }
    if let Some(cut) = forecast.truncated_at {
        seen.retain(|run| run.earliest < cut);
    }
    forecast.runs = seen;
    Ok(forecast)
}

/// Returns the times between `from` and `until` that are not covered. A log covers its last line
/// too.
fn gaps(
    mut covered: Vec<(Timestamp, Timestamp)>,
    from: Timestamp,
    until: Timestamp,
) -> Vec<(Timestamp, Timestamp)> {
    covered.sort();
    let mut gaps = Vec::new();
    let mut open = from;
    for (begin, end) in covered {
        if begin > open {
            gaps.push((open, begin.min(until)));
        }
        let after = Timestamp::from_microsecond(end.as_microsecond() + 1).unwrap_or(end);
        open = open.max(after);
        if open >= until {
            break;
        }
    }
    if open < until {
        gaps.push((open, until));
    }
    gaps.retain(|(begin, end)| begin < end);
    gaps
}

/// Drops runs that more likely belong to another of the jobs: one that runs the same programs,
/// according to cron's lines, and that was scheduled then when this one was not.
fn drop_runs_of_rivals(
    sightings: &mut Vec<Sighting<'_>>,
    job: &Job,
    jobs: &[Job],
    log: &Log,
    conditions: &Conditions,
) {
    let by_program: Vec<Sighting<'_>> = {
        let mut subjects: Vec<Sighting<'_>> = Vec::new();
        for sighting in sightings
            .iter()
            .filter(|sighting| sighting.is_matched_by_program_only())
        {
            if !subjects.iter().any(|known| known.is_same_subject(sighting)) {
                subjects.push(*sighting);
            }
        }
        subjects
    };
    let rivals: Vec<&Job> = jobs
        .iter()
        .filter(|other| other.name != job.name)
        .filter(|other| by_program.iter().any(|sighting| sighting.is_of(other)))
        .collect();
    if rivals.is_empty() {
        return;
    }
    let conditions = Conditions {
        runs_max: RUNS_OF_MINUTES_MAX,
        ..conditions.clone()
    };
    let scheduled = |job: &Job| -> Vec<Timestamp> {
        let from = log.from.checked_sub(CRON_LATE).unwrap_or(log.from);
        let until = log.until.checked_add(CRON_LATE).unwrap_or(log.until);
        let found = runs(job, from, until, &conditions).unwrap_or_default().runs;
        found.iter().map(|run| run.earliest).collect()
    };
    let is_due = |moments: &[Timestamp], at: Timestamp| {
        let index = moments.partition_point(|moment| *moment <= at);
        index
            .checked_sub(1)
            .is_some_and(|index| at.duration_since(moments[index]) <= CRON_LATE)
    };
    let own = scheduled(job);
    let theirs: Vec<(&Job, Vec<Timestamp>)> = rivals
        .into_iter()
        .map(|rival| (rival, scheduled(rival)))
        .collect();
    sightings.retain(|sighting| {
        !sighting.is_matched_by_program_only()
            || is_due(&own, sighting.start)
            || !theirs
                .iter()
                .any(|(rival, moments)| is_due(moments, sighting.start) && sighting.is_of(rival))
    });
}
