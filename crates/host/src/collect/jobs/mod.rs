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

/// Any of these paths indicates that crontabs can be read.
const CRON_SIGNS: &[&str] = &[
    "etc/crontab",
    "etc/cron.d",
    "etc/cron.weekly",
    "var/spool/cron",
    "etc/crontabs",
];
/// Any of these paths indicates that systemd runs.
const SYSTEMD_SIGNS: &[&str] = &["etc/systemd", "usr/lib/systemd", "lib/systemd"];

/// Reads jobs. The mounts and the platform must have been read before.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    // One of them exists but may not be read.
    let is_absent = |path: &&str| reader.exists(path) == Some(false);
    let has_systemd = !SYSTEMD_SIGNS.iter().all(is_absent);
    if !has_systemd && CRON_SIGNS.iter().all(is_absent) {
        skip(host, "no cron or systemd files found");
        return;
    }
    let mut files = Files::new(reader, host);
    let timers = timers::read(&files, host);
    // A part of a host's files says nothing of what is not in it.
    let no_timers = timers.jobs.is_empty() && !timers.answered && !reader.is_whole();
    host.timers_unknown = no_timers && has_systemd && files.systemd != Some(false);
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
    if jobs.is_empty() && no_timers && reader.text("etc/crontab").is_err() {
        skip(host, "no crontab and no timer could be read");
    } else {
        host.jobs = Some(jobs);
    }
}

fn skip(host: &mut Host, why: &str) {
    let needs = "/etc/crontab, /etc/cron.*, or systemd's unit files";
    host.skipped.push(Skipped::new("jobs", why, Some(needs)));
}
