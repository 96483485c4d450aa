//! The runs of jobs in the time range of series: from logs where logs cover it, otherwise computed from
//! schedules.

use crate::model::input::JobRuns;
use facts::Skipped;
use facts::host::Job;
use facts::series::{Dating, Series};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::{Conditions, CronFlavor, Log, Seen};

/// Maximum number of runs per job: one every five minutes for a year, and some more.
const RUNS_MAX: usize = 120_000;
/// Maximum number of runs of all jobs together.
const RUNS_OF_JOBS_MAX: usize = 2_000_000;
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
/// what is unknown to `skipped`. If there are no jobs, those found in the logs are used.
pub fn runs(
    jobs: &[Job],
    clock: &Clock,
    logs: &[Log],
    (from, until): (Timestamp, Timestamp),
    skipped: &mut Vec<Skipped>,
) -> Vec<JobRuns> {
    let conditions = Conditions {
        cron: clock.cron,
        // A thousand jobs that run every minute have to fit in memory.
        runs_max: RUNS_MAX.min(RUNS_OF_JOBS_MAX / jobs.len().max(1)),
        ..Conditions::in_zone(&clock.zone)
    };
    let mut all = Vec::new();
    if jobs.is_empty() {
        let of_logs = schedule::observed_runs(logs, from, until, RUNS_MAX);
        all.extend(of_logs.into_iter().map(|(name, seen)| JobRuns {
            name,
            runs: seen.runs,
            unknown: seen.truncated_at.map(cut_at).into_iter().collect(),
        }));
    }
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
    for job in jobs {
        match schedule::known_runs(job, jobs, logs, from, until, &conditions) {
            Ok(forecast) => {
                let mut unknown = forecast.unknown;
                unknown.extend(forecast.truncated_at.map(cut_at));
                all.push(JobRuns {
                    name: job.name.clone(),
                    runs: forecast.runs,
                    unknown,
                });
            }
            Err(error) => skipped.push(Skipped::new(
                format!("the runs of {}", job.name),
                error.to_string(),
                None,
            )),
        }
    }
    all
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
        .filter(|run| matches!(run.seen, Seen::Journal | Seen::Syslog))
        .count();
    let runs = match seen {
        0 => "none of their runs was".to_owned(),
        1 => "1 of their runs was".to_owned(),
        several => format!("{several} of their runs were"),
    };
    format!("{from}; {runs} seen in {}", read.join(", "))
}
