//! Scheduled jobs within a trial: those that are due, before it starts, and those that ran, after it.

use super::document::JobRun;
use crate::validity::JobWithin;
use explain::JobRuns;
use facts::Skipped;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::{Run, Seen};
use std::time::Duration;

/// How far ahead a time without jobs is looked for.
const HORIZON: SignedDuration = SignedDuration::from_hours(24);
/// Steps in which it is looked for.
const STEP: SignedDuration = SignedDuration::from_mins(1);
/// Share of the time in which a job may start that must lie within the trial: a job with a random delay of 12
/// hours rarely meets a trial of ten minutes.
const LIKELY: f64 = 0.5;

/// The jobs of the server's host.
pub trait Jobs {
    /// The runs of each job between two times, as far as logs and schedules tell; adds the logs that could not be read
    /// to `skipped`.
    fn runs(&self, from: Timestamp, until: Timestamp, skipped: &mut Vec<Skipped>) -> Vec<JobRuns>;

    /// The zone in which people read times.
    fn zone(&self) -> &TimeZone;
}

/// What jobs mean for a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Within {
    /// Jobs within it that do not run in every trial.
    pub jobs: Vec<JobWithin>,
    /// Their runs, and those of jobs that are so frequent that every trial has them.
    pub runs: Vec<JobRun>,
    /// Logs that could not be read: what only they tell is not known, and runs are computed.
    pub unread: Vec<Skipped>,
}

/// Finds the jobs between `from` and `until`. A job that never pauses for as long as a trial takes cannot be
/// avoided, and is the same for all of them.
pub fn within(jobs: &dyn Jobs, from: Timestamp, until: Timestamp) -> Within {
    let horizon = until.saturating_add(HORIZON).unwrap_or(until);
    // A job that began before may still run.
    let since = from.saturating_sub(HORIZON).unwrap_or(from);
    let mut found = Within::default();
    let all = jobs.runs(since, horizon, &mut found.unread);
    let len = until.duration_since(from);
    let rare: Vec<&JobRuns> = all
        .iter()
        .filter(|job| longest_pause(job).is_none_or(|pause| pause > len))
        .collect();
    for job in &all {
        let is_rare = rare.iter().any(|rare| std::ptr::eq(*rare, job));
        for run in job.runs.iter().filter(|run| meets(run, from, until)) {
            let is_logged = run.seen != Seen::Computed;
            found.runs.push(JobRun {
                name: job.name.clone(),
                started_at: run.earliest,
                is_logged,
                is_within: true,
            });
            if !is_rare {
                continue;
            }
            let time = run.earliest.to_zoned(jobs.zone().clone());
            found.jobs.push(JobWithin {
                name: job.name.clone(),
                start: time.strftime("%H:%M").to_string(),
                is_proven: is_logged,
                free_in: free_in(&rare, from, len),
            });
        }
    }
    found
}

/// How long to wait from `from` until a trial of this length meets none of the jobs.
fn free_in(jobs: &[&JobRuns], from: Timestamp, len: SignedDuration) -> Option<Duration> {
    let mut wait = STEP;
    while wait <= HORIZON {
        let start = from.checked_add(wait).ok()?;
        let end = start.checked_add(len).ok()?;
        let is_free = jobs
            .iter()
            .all(|job| !job.runs.iter().any(|run| meets(run, start, end)));
        if is_free {
            return Duration::try_from(wait).ok();
        }
        wait = wait.checked_add(STEP)?;
    }
    None
}

/// The longest time between two runs; `None` with fewer than two.
fn longest_pause(job: &JobRuns) -> Option<SignedDuration> {
    let pairs = job.runs.windows(2);
    pairs
        .map(|pair| pair[1].earliest.duration_since(pair[0].latest))
        .max()
}

/// Whether a run falls into a time, if it is known, or probably does.
fn meets(run: &Run, from: Timestamp, until: Timestamp) -> bool {
    let len = run
        .len_s
        .map(SignedDuration::from_secs_f64)
        .unwrap_or_default();
    let end = run.latest.saturating_add(len).unwrap_or(run.latest);
    if run.earliest > until || end < from {
        return false;
    }
    let uncertain_s = run.latest.duration_since(run.earliest).as_secs_f64();
    if uncertain_s <= 0.0 {
        return true;
    }
    let (first, last) = (run.earliest.max(from), end.min(until));
    let common_s = last.duration_since(first).as_secs_f64();
    common_s / uncertain_s >= LIKELY
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Host(Vec<JobRuns>);

    impl Jobs for Host {
        fn runs(
            &self,
            from: Timestamp,
            until: Timestamp,
            skipped: &mut Vec<Skipped>,
        ) -> Vec<JobRuns> {
            skipped.push(Skipped::new("systemd's journal", "permission denied", None));
            let mut all = self.0.clone();
            for job in &mut all {
                job.runs
                    .retain(|run| run.latest >= from && run.earliest <= until);
            }
            all
        }

        fn zone(&self) -> &TimeZone {
            const { &TimeZone::UTC }
        }
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + 60 * minute).unwrap()
    }

    fn run(from: i64, until: i64, seen: Seen) -> Run {
        Run {
            job: "job".to_owned(),
            earliest: at(from),
            latest: at(until),
            delays: schedule::Delays::Either,
            len_s: None,
            seen,
            evidence: "crontab".into(),
        }
    }

    fn job(name: &str, runs: Vec<Run>) -> JobRuns {
        JobRuns {
            name: name.to_owned(),
            runs,
            unknown: Vec::new(),
            by_hand: None,
        }
    }

    #[test]
    fn a_rare_job_is_named_with_the_time_to_wait() {
        let host = Host(vec![
            job("fstrim", vec![run(5, 5, Seen::Computed)]),
            job("backup", vec![run(20, 20, Seen::Computed)]),
        ]);
        let found = within(&host, at(0), at(10));
        assert_eq!(found.jobs.len(), 1);
        assert_eq!(found.jobs[0].name, "fstrim");
        assert!(!found.jobs[0].is_proven);
        // From minute 6 to 9 a trial of 10 minutes meets neither: 6 + 10 < 20.
        assert_eq!(found.jobs[0].free_in, Some(Duration::from_mins(6)));
        let later = within(&host, at(30), at(40));
        assert!(later.jobs.is_empty());
        // That none is known to have run is not the same as that none did.
        assert_eq!(later.unread.len(), 1);
    }

    #[test]
    fn a_job_of_every_trial_is_no_reason() {
        let every = (0..40).map(|minute| run(minute, minute, Seen::Computed));
        let found = within(&Host(vec![job("sa1", every.collect())]), at(0), at(10));
        assert!(found.jobs.is_empty());
        assert_eq!(found.runs.len(), 11);
    }

    #[test]
    fn a_job_that_runs_twice_in_a_night_is_rare_all_the_same() {
        let runs = [0, 5, 1440, 1445].map(|minute| run(minute, minute, Seen::Computed));
        let host = Host(vec![job("backup", runs.to_vec())]);
        assert_eq!(within(&host, at(1439), at(1449)).jobs.len(), 2);
    }

    #[test]
    fn a_run_that_is_logged_is_proven_and_a_long_delay_is_unlikely() {
        let logged = Host(vec![job("fstrim", vec![run(5, 5, Seen::Journal)])]);
        assert!(within(&logged, at(0), at(10)).jobs[0].is_proven);
        let delayed = Host(vec![job("apt-daily", vec![run(0, 720, Seen::Computed)])]);
        assert!(within(&delayed, at(100), at(110)).jobs.is_empty());
    }

    #[test]
    fn a_run_that_began_before_may_still_go_on() {
        let mut long = run(-30, -30, Seen::Syslog);
        long.len_s = Some(3600.0);
        let found = within(&Host(vec![job("backup", vec![long])]), at(0), at(10));
        assert_eq!(found.jobs.len(), 1);
    }
}
