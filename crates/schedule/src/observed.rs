//! Runs recorded in a log: the systemd journal or syslog files.
//!
//! A log shows who started what and when. Since the text of a command may contain a password, only
//! the programs it runs are kept, as returned by the crontab command parser ([`Commands`]), and a
//! hash that distinguishes commands.

mod descriptions;
mod host_lines;
mod hosts;
mod join;
mod journal;
mod log;
mod message;
mod pair;
mod subject;
mod syslog;

pub use hosts::HostIdentity;
pub(crate) use join::drop_duplicates;
pub use join::{RUNS_OF_ALL_MAX, observed_runs};
pub use log::{Log, OBSERVED_MAX};
pub use subject::Commands;

use crate::run::{Delays, Run, Seen};
use facts::InputError;
use facts::host::Job;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use log::Observed;
use message::{LogEvent, MessageParser};
use pair::RunPairer;
use std::collections::HashSet;
use subject::Subject;

/// A recorded run of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sighting<'a> {
    pub start: Timestamp,
    pub len_s: Option<f64>,
    log: &'a Log,
    subject: usize,
    part: usize,
    line: usize,
}

impl Sighting<'_> {
    pub fn run(&self, job: &str) -> Run {
        Run {
            job: job.to_owned(),
            earliest: self.start,
            latest: self.start,
            delays: Delays::Either,
            len_s: self.len_s,
            seen: self.log.seen,
            evidence: format!(
                "{}: {}",
                self.place(),
                self.log.subjects[self.subject].evidence()
            )
            .into(),
        }
    }

    /// Returns the file and line.
    fn place(&self) -> String {
        let part = &self.log.parts[self.part];
        if part.has_lines {
            format!("{}:{}", part.name, self.line)
        } else {
            part.name.clone()
        }
    }

    /// Whether it may also be a run of another job.
    pub fn is_of(&self, job: &Job) -> bool {
        self.log.subjects[self.subject].is_of(job)
    }

    /// Whether both started the same thing.
    pub fn is_same_subject(&self, other: &Self) -> bool {
        self.subject == other.subject
    }

    /// Whether only the programs of a cron command identify the job.
    pub fn is_matched_by_program_only(&self) -> bool {
        let subject = &self.log.subjects[self.subject];
        matches!(subject, Subject::Cron(_)) && subject.directory().is_none()
    }
}

impl Log {
    /// Parses a log: the output of `journalctl -o json`, or a syslog file in the traditional
    /// format, with RFC 3339 times, or in the RFC 5424 format. Traditional lines have neither year
    /// nor zone: `ended` is when the file was last written, and `zone` is the host's. `commands`
    /// parses the commands of crontabs.
    ///
    /// Lines of other programs only extend the time that the log covers. The notes count the lines
    /// that cannot be parsed. The log has the runs of all hosts; [`Log::restrict_to`] selects one.
    ///
    /// # Errors
    /// If no line can be parsed; the error names the first one without its text, which may contain
    /// a password.
    pub fn parse(
        source: &str,
        text: &str,
        zone: &TimeZone,
        ended: Timestamp,
        commands: &Commands<'_>,
    ) -> Result<Self, InputError> {
        let parser = MessageParser::new(commands);
        if text.trim_start().starts_with('{') {
            journal::parse(source, text, parser)
        } else {
            syslog::parse(source, text, zone, ended, parser)
        }
    }

    /// Returns the log of a host's jobs as a monitoring system recorded them between two times: systemd's timers, each of
    /// which starts the service of its own name, and others by their names as [`Job::name`] has them. `None` if none
    /// started.
    pub fn of_metrics(
        source: &str,
        host: &str,
        (from, until): (Timestamp, Timestamp),
        jobs: &[(String, Vec<Timestamp>)],
    ) -> Option<Self> {
        let mut pairs = RunPairer::new(source, Seen::Metric);
        for (job, starts) in jobs {
            let subject = match job.strip_suffix(".timer") {
                Some(stem) => Subject::Unit(format!("{stem}.service")),
                None => Subject::Named(job.clone()),
            };
            for at in starts.iter().filter(|at| (from..=until).contains(at)) {
                let started = LogEvent::Starts(subject.clone());
                if !pairs.push(*at, 0, Some(host), Some(started)) {
                    break;
                }
            }
        }
        pairs.push(from, 0, Some(host), None);
        pairs.push(until, 0, Some(host), None);
        let log = pairs.finish("").ok().filter(|log| log.count() > 0)?;
        Some(log.without_line_numbers())
    }

    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        self.observed.len()
    }

    /// Returns the runs of a job. If the log records the script itself, starts of its directory are
    /// ignored.
    pub(crate) fn sightings<'a>(&'a self, job: &Job) -> Vec<Sighting<'a>> {
        let matching: HashSet<usize> = (0..self.subjects.len())
            .filter(|&index| self.subjects[index].is_of(job))
            .collect();
        if matching.is_empty() {
            return Vec::new();
        }
        let mut seen: Vec<&Observed> = self
            .observed
            .iter()
            .filter(|seen| matching.contains(&seen.subject))
            .collect();
        // Look at the runs, not the subjects: all runs of a subject may be those of another host.
        let is_script =
            |seen: &&Observed| matches!(self.subjects[seen.subject], Subject::Script(_));
        if seen.iter().any(is_script) {
            seen.retain(is_script);
        }
        seen.into_iter().map(|seen| self.sighting(seen)).collect()
    }

    fn sighting(&self, seen: &Observed) -> Sighting<'_> {
        Sighting {
            start: seen.start,
            len_s: seen.len_s,
            log: self,
            subject: seen.subject,
            part: seen.part,
            line: seen.line,
        }
    }
}

#[cfg(test)]
#[path = "observed/tests.rs"]
mod tests;
