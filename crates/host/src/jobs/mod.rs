//! Everything scheduled: cron, anacron, systemd timers.
//!
//! Schedules stay text here; what they mean is another crate's business. The parsers are pure and
//! public, since other tools read a plain crontab too.

pub mod anacrontab;
mod command;
mod cron;
pub mod crontab;
mod files;
mod plain;
mod programs;
mod run_parts;
pub mod script;
pub mod span;
mod syntax;
pub mod systemctl;
mod timers;
pub mod unit;
mod units;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use command::{Keep, Scope, breakdown, is_safe_path};
pub(crate) use files::SCRIPT_BYTES_MAX;
pub use plain::from_crontab;
pub(crate) use syntax::{Node, Role, Syntax};
pub(crate) use words::{Kind, Segment, Word, plain, plain_commands, shell};

use crate::Reader;
use facts::{Host, Skipped};
use files::Files;

/// Properties asked of `systemctl show`, [`systemctl::PROPERTIES`] in its notation. No
/// `Environment`: it may hold secrets.
pub const SYSTEMCTL_PROPERTIES: &str = "Id,Names,LoadState,ActiveState,SubState,UnitFileState,\
FragmentPath,DropInPaths,Unit,Triggers,TriggeredBy,TimersCalendar,TimersMonotonic,AccuracyUSec,\
RandomizedDelayUSec,Persistent,NextElapseUSecRealtime,LastTriggerUSec,ExecStartPre,ExecStart,User,\
Nice,IOSchedulingClass,CPUSchedulingPolicy";

/// Any of these says something of what is scheduled.
const SIGNS: &[&str] = &[
    "etc/crontab",
    "etc/cron.d",
    "etc/cron.weekly",
    "etc/systemd",
    "usr/lib/systemd",
    "lib/systemd",
    "var/spool/cron",
];
/// More jobs than a sound host has.
const JOBS_MAX: usize = 20_000;

/// Reads jobs. The platform has to be known.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    // Something that may not be looked at is there.
    if SIGNS.iter().all(|path| reader.exists(path) == Some(false)) {
        host.skipped.push(Skipped::new(
            "jobs",
            "there are neither cron's files nor systemd's",
            Some("/etc/crontab, /etc/cron.*, or systemd's unit files"),
        ));
        return;
    }
    let mut files = Files::new(reader, host.platform.systemd);
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
