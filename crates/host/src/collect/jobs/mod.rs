//! Scheduled jobs: cron, anacron, systemd timers.
//!
//! Schedules are kept as text; another crate interprets them.

mod cron;
mod files;
mod timers;
mod units;

#[cfg(test)]
mod tests;

use crate::parse::crontab_jobs::JOBS_MAX;
use crate::source::Reader;
use facts::{Host, Skipped};
use files::Files;

/// Any of these paths indicates that schedules can be read.
const SIGNS: &[&str] = &[
    "etc/crontab",
    "etc/cron.d",
    "etc/cron.weekly",
    "etc/systemd",
    "usr/lib/systemd",
    "lib/systemd",
    "var/spool/cron",
];

/// Reads jobs. The mounts and the platform must have been read before.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    // One of them exists but may not be read.
    if SIGNS.iter().all(|path| reader.exists(path) == Some(false)) {
        host.skipped.push(Skipped::new(
            "jobs",
            "no cron or systemd files found",
            Some("/etc/crontab, /etc/cron.*, or systemd's unit files"),
        ));
        return;
    }
    let mut files = Files::new(reader, host);
    let timers = timers::read(&files, host);
    if timers.answered {
        files.systemd = Some(true);
    }
    let cron = cron::read(
        &files,
        host,
        &timers.jobs,
        timers.cron_stopped,
        timers.anacron_at_boot,
    );
    let mut jobs = timers.jobs;
    jobs.extend(cron);
    if jobs.len() > JOBS_MAX {
        let what = format!("jobs beyond the first {JOBS_MAX}");
        let why = format!("at most {JOBS_MAX} jobs are looked at");
        files.skip(Skipped::new(what, why, None));
        jobs.truncate(JOBS_MAX);
    }
    files.report(host);
    host.jobs = Some(jobs);
}
