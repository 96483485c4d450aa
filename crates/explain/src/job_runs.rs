//! The runs of jobs in the time range of series: from logs where logs cover it, otherwise computed from
//! schedules.

use crate::model::input::JobRuns;
use crate::verdict::Analysis;
use facts::Skipped;
use facts::host::Job;
use facts::series::{Dating, Series};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::{Conditions, CronFlavor, Forecast, Log, Seen};
use std::collections::HashSet;

/// Maximum number of runs per job: one every five minutes for a year, and some more.
const RUNS_MAX: usize = 120_000;
/// Maximum number of runs of all jobs together: each takes some 400 bytes until it is compared, and every
/// user of the host may write as many jobs as they like.
const RUNS_OF_JOBS_MAX: usize = 500_000;
/// Runs of what only logs know: fewer cannot be compared, and of many the rest are not.
const UNLISTED_RUNS_MIN: usize = 3;
const UNLISTED_MAX: usize = 30;
/// Time before and after the series in which runs are still considered.
const MARGIN: SignedDuration = SignedDuration::from_hours(8 * 24);

/// The clock by which jobs run.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The host's own zone, whatever zone the output uses.
    pub zone: TimeZone,
    /// How its cron handles clock changes.
    pub cron: CronFlavor,
}

/// Returns the time range in which runs are relevant: that of all dated series, plus a margin.
pub fn time_range(series: &[Series]) -> Option<(Timestamp, Timestamp)> {
    let dated = || {
        series
            .iter()
            .filter(|series| series.dating != Dating::Undated)
    };
    let first = dated().filter_map(|series| series.times_us.first()).min()?;
    let last = dated().filter_map(|series| series.times_us.last()).max()?;
    let at = |us: i64| Timestamp::from_microsecond(us).ok();
    let (first, last) = (at(*first)?, at(*last)?);
    Some((
        first.checked_sub(MARGIN).unwrap_or(first),
        last.checked_add(MARGIN).unwrap_or(last),
    ))
}

/// Returns the runs of all jobs in a time range, logged if logs cover them and computed otherwise; adds
/// what is unknown to `skipped`.
pub fn runs(
    jobs: &[Job],
    clock: &Clock,
    logs: &[Log],
    (from, until): (Timestamp, Timestamp),
    skipped: &mut Vec<Skipped>,
) -> Vec<JobRuns> {
    let conditions = Conditions {
        cron: clock.cron,
        runs_max: RUNS_MAX.min(RUNS_OF_JOBS_MAX / jobs.len().max(1)),
        ..Conditions::in_zone(&clock.zone)
    };
    let mut all = unlisted(jobs, logs, (from, until));
    for log in logs {
        let unread = log.notes.iter();
        skipped.extend(unread.map(|note| Skipped::new(&log.source, note, None)));
        if log.until < from || log.from > until {
            skipped.push(Skipped::new(
                format!("the runs of {}", log.source),
                format!(
                    "it tells of {} to {}, and no sample is of that time",
                    log.from.strftime("%Y-%m-%d"),
                    log.until.strftime("%Y-%m-%d")
                ),
                Some(
                    "a log of the same time; lines without a year are dated by the file's own time",
                ),
            ));
        }
    }
    all.extend(runs_of_each(
        jobs,
        logs,
        (from, until),
        &conditions,
        skipped,
    ));
    all
}

/// Returns the runs of what logs say was started and is none of the jobs: if there are jobs, only of what started often
/// enough to be compared and is no service of a login, and of these the ones that started most rarely.
fn unlisted(jobs: &[Job], logs: &[Log], (from, until): (Timestamp, Timestamp)) -> Vec<JobRuns> {
    let mut found = schedule::observed_runs(logs, jobs, from, until, RUNS_MAX);
    if !jobs.is_empty() {
        found.retain(|(name, seen)| seen.runs.len() >= UNLISTED_RUNS_MIN && !is_of_login(name));
        found.sort_by_key(|(_, seen)| seen.runs.len());
        found.truncate(UNLISTED_MAX);
    }
    let is_taken = |name: &str| jobs.iter().any(|job| job.name == name);
    let of_log = |(name, seen): (String, Forecast)| JobRuns {
        name: if is_taken(&name) {
            format!("{name} (log)")
        } else {
            name
        },
        runs: seen.runs,
        unknown: seen.truncated_at.map(cut_at).into_iter().collect(),
        by_hand: None,
    };
    found.into_iter().map(of_log).collect()
}

/// Returns whether systemd starts a unit when somebody logs in.
fn is_of_login(unit: &str) -> bool {
    [
        "user@",
        "user-runtime-dir@",
        "session-",
        "getty@",
        "serial-getty@",
    ]
    .iter()
    .any(|start| unit.starts_with(start))
}

/// Returns the known runs of each job. Each gets an equal share of what fits in memory; what most of them
/// leave of theirs is for those that run more often.
fn runs_of_each(
    jobs: &[Job],
    logs: &[Log],
    (from, until): (Timestamp, Timestamp),
    conditions: &Conditions,
    skipped: &mut Vec<Skipped>,
) -> Vec<JobRuns> {
    let share = conditions.runs_max;
    let known = |job: &Job, runs_max: usize| {
        let conditions = Conditions {
            runs_max,
            ..conditions.clone()
        };
        schedule::known_runs(job, jobs, logs, from, until, &conditions)
    };
    let mut found: Vec<(&Job, Forecast)> = Vec::with_capacity(jobs.len());
    for job in jobs {
        match known(job, share) {
            Ok(forecast) => found.push((job, forecast)),
            Err(error) => skipped.push(Skipped::new(
                format!("the runs of {}", job.name),
                error.to_string(),
                None,
            )),
        }
    }
    let taken: usize = found.iter().map(|(_, forecast)| forecast.runs.len()).sum();
    let is_cut = |forecast: &Forecast| forecast.truncated_at.is_some();
    let cut = (found.iter().filter(|(_, forecast)| is_cut(forecast))).count();
    let left = RUNS_OF_JOBS_MAX.saturating_sub(taken);
    let more = RUNS_MAX.min(share + left / cut.max(1));
    for (job, forecast) in &mut found {
        if more > share
            && is_cut(forecast)
            && let Ok(longer) = known(job, more)
        {
            *forecast = longer;
        }
    }
    let of_job = |(job, forecast): (&Job, Forecast)| {
        let mut unknown = forecast.unknown;
        unknown.extend(forecast.truncated_at.map(cut_at));
        JobRuns {
            name: job.name.clone(),
            runs: forecast.runs,
            unknown,
            by_hand: by_hand(job),
        }
    };
    found.into_iter().map(of_job).collect()
}

/// Returns the command that runs a job once: of a timer's unit, or of a script in one of cron's directories. `None` for a
/// line of a crontab, of which only the program is kept, and for names that a shell would not read as they are.
fn by_hand(job: &Job) -> Option<String> {
    let is_plain = |text: &str| {
        let is_part = |one: char| one.is_ascii_alphanumeric() || "/_.:@-".contains(one);
        !text.is_empty() && !text.starts_with('-') && text.chars().all(is_part)
    };
    let directories = ["hourly", "daily", "weekly", "monthly"];
    let is_script = directories.iter().any(|often| {
        let inside = job.defined_in.strip_prefix("etc/cron.");
        inside.is_some_and(|inside| inside.starts_with(&format!("{often}/")))
    });
    let (command, what) = match &job.timer {
        Some(timer) => ("systemctl start ", timer.activates.clone()),
        None if is_script => ("", format!("/{}", job.defined_in)),
        None => return None,
    };
    is_plain(&what).then(|| format!("{command}{what}"))
}

/// Returns the caution for verdicts that name a job whose runs are known from logs to which any user may
/// write.
pub fn caution(jobs: &[JobRuns], logs: &[Log], analysis: &Analysis) -> Option<String> {
    let verdicts = analysis.series.iter().map(|series| &series.verdict);
    let named: HashSet<&str> = verdicts
        .flat_map(|verdict| &verdict.classes)
        .flat_map(|class| class.jobs.iter().map(String::as_str))
        .collect();
    let seen: Vec<Seen> = (jobs.iter())
        .filter(|job| named.contains(job.name.as_str()))
        .flat_map(|job| job.runs.iter().map(|run| run.seen))
        .collect();
    let open: Vec<&str> = (logs.iter())
        .filter(|log| log.is_of_anybody && seen.contains(&log.seen))
        .map(|log| log.source.as_str())
        .collect();
    (!open.is_empty()).then(|| {
        format!(
            "Every user of the host can write lines like those about jobs in {}; only entries of \
             systemd's journal say who wrote them.",
            units::list(&open)
        )
    })
}

/// Returns the note for a job whose runs are only known up to a time.
fn cut_at(at: Timestamp) -> String {
    format!(
        "its runs from {} on: it runs too often to be told apart",
        at.strftime("%Y-%m-%d %H:%M UTC")
    )
}

/// Describes where the jobs come from, and how many of their runs were found in which logs.
pub fn origin(
    from: &str,
    logs: &[Log],
    jobs: &[JobRuns],
    (since, until): (Timestamp, Timestamp),
    zone: &TimeZone,
) -> String {
    let day = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string();
    let read: Vec<String> = logs
        .iter()
        .filter(|log| log.from <= until && since <= log.until)
        .map(|log| {
            let files = match log.files() {
                1 => String::new(),
                several => format!("{several} files, "),
            };
            format!(
                "{} ({files}{} to {})",
                log.source,
                day(log.from),
                day(log.until)
            )
        })
        .collect();
    if read.is_empty() {
        return from.to_owned();
    }
    let seen = jobs
        .iter()
        .flat_map(|job| &job.runs)
        .filter(|run| run.seen.is_recorded())
        .count();
    let runs = match seen {
        0 => "none of their runs was".to_owned(),
        1 => "1 of their runs was".to_owned(),
        several => format!("{several} of their runs were"),
    };
    format!("{from}; {runs} seen in {}", read.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::TimerState;

    #[test]
    fn a_timers_unit_and_a_script_run_by_hand() {
        let job = |defined_in: &str, activates: Option<&str>| Job {
            timer: activates.map(|unit| TimerState {
                unit: "trim.timer".to_owned(),
                activates: unit.to_owned(),
                enabled: None,
                active: None,
                drop_ins: Vec::new(),
            }),
            ..Job::new("trim".to_owned(), defined_in.to_owned())
        };
        let timer = |unit| by_hand(&job("lib/systemd/system/trim.timer", Some(unit)));
        let script = |path| by_hand(&job(path, None));
        let command = |text: &str| Some(text.to_owned());
        assert_eq!(
            timer("backup@db1.service"),
            command("systemctl start backup@db1.service")
        );
        assert_eq!(
            script("etc/cron.weekly/trim"),
            command("/etc/cron.weekly/trim")
        );
        // Of a line of a crontab, only the program is known.
        assert_eq!(script("etc/crontab:18"), None);
        assert_eq!(script("etc/cron.d/trim:3"), None);
        // A shell would not read these as names.
        assert_eq!(timer("--force"), None);
        assert_eq!(timer("a.service;reboot"), None);
        assert_eq!(timer(r"a\x2db.service"), None);
        assert_eq!(timer(""), None);
        assert_eq!(script("etc/cron.daily/$(reboot)"), None);
    }
}
