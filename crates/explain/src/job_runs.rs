//! The runs of jobs around series: seen in logs where logs cover them, else computed from schedules.

use crate::model::input::JobRuns;
use facts::Skipped;
use facts::host::Job;
use facts::series::{Dating, Series};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::{Conditions, CronFlavor, Log, Seen};

/// Runs of one job: one every five minutes for a year, and some more.
const RUNS_MAX: usize = 120_000;
/// Runs of all jobs together.
const RUNS_OF_JOBS_MAX: usize = 2_000_000;
/// Runs before and after a series may have to do with it.
const MARGIN: SignedDuration = SignedDuration::from_hours(8 * 24);

/// The clock by which jobs run.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The host's own zone, whatever zone the answer is told in.
    pub zone: TimeZone,
    /// How its cron takes changes of the clock.
    pub cron: CronFlavor,
}

/// The stretch of time that runs may have to do with: that of all series that know their days.
pub fn stretch(series: &[Series]) -> Option<(Timestamp, Timestamp)> {
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

/// The runs of all jobs in a stretch of time: those that logs tell of, else computed ones; and what cannot
/// be told. Where there are no jobs, what the logs tell of are the jobs.
pub fn runs(
    jobs: &[Job],
    clock: &Clock,
    logs: &[Log],
    (from, until): (Timestamp, Timestamp),
    skipped: &mut Vec<Skipped>,
) -> Vec<JobRuns> {
    let conditions = Conditions {
        cron: clock.cron,
        // A thousand jobs that run every minute are to fit into memory.
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

/// What is said of a job whose runs are known until then only.
fn cut_at(at: Timestamp) -> String {
    format!(
        "its runs from {} on: it runs too often to be told apart",
        at.strftime("%Y-%m-%d %H:%M UTC")
    )
}

/// What is said of the jobs' origin, and in which logs how many of their runs were seen.
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
