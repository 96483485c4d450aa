//! Runs that a log records: the systemd journal, or the files of syslog.
//!
//! From a log we read who started what and when. The text of a command may hold a password. We keep
//! only the programs that it runs, as the parser of crontab commands ([`Commands`]) returns them, and
//! a hash that distinguishes commands.

mod host_lines;
mod hosts;
mod join;
mod journal;
mod log;
mod message;
mod pair;
mod subject;
mod syslog;

pub use hosts::Whose;
pub(crate) use join::drop_doubles;
pub use join::{RUNS_OF_ALL_MAX, observed_runs};
pub use log::{Log, OBSERVED_MAX};
pub use subject::Commands;

use crate::run::Run;
use facts::InputError;
use facts::host::Job;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use log::Observed;
use message::Lines;
use std::collections::HashSet;
use subject::Subject;

/// A run of a job that a log records.
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
            len_s: self.len_s,
            seen: self.log.seen,
            evidence: format!(
                "{}: {}",
                self.place(),
                self.log.subjects[self.subject].told()
            ),
        }
    }

    /// File and line.
    fn place(&self) -> String {
        let part = &self.log.parts[self.part];
        if part.has_lines {
            format!("{}:{}", part.name, self.line)
        } else {
            part.name.clone()
        }
    }

    /// Whether it may be a run of another job, too.
    pub fn is_of(&self, job: &Job) -> bool {
        self.log.subjects[self.subject].is_of(job)
    }

    /// Whether both started the same thing.
    pub fn is_same_subject(&self, other: &Self) -> bool {
        self.subject == other.subject
    }

    /// Whether only the programs of a cron command identify the job.
    pub fn is_by_words(&self) -> bool {
        let subject = &self.log.subjects[self.subject];
        matches!(subject, Subject::Cron(_)) && subject.directory().is_none()
    }
}

impl Log {
    /// Reads a log: the output of `journalctl -o json`, or a file of syslog in its traditional
    /// form, with RFC 3339 times, or as RFC 5424 has it. Traditional lines have neither year nor
    /// zone: `ended` is when the file was written last, and `zone` that of the host. `commands` parses
    /// the commands of crontabs.
    ///
    /// Lines of other programs only extend the time that the log covers. The notes count the lines
    /// that cannot be parsed. The log has the runs of all hosts; [`Log::lines_of`] selects one.
    ///
    /// # Errors
    /// If no line can be parsed; the error names the first one without its text, which may hold a
    /// password.
    pub fn parse(
        source: &str,
        text: &str,
        zone: &TimeZone,
        ended: Timestamp,
        commands: &Commands<'_>,
    ) -> Result<Self, InputError> {
        let lines = Lines::new(commands);
        if text.trim_start().starts_with('{') {
            journal::parse(source, text, lines)
        } else {
            syslog::parse(source, text, zone, ended, lines)
        }
    }

    /// Number of runs.
    pub fn count(&self) -> usize {
        self.observed.len()
    }

    /// The runs of a job. If the log records the script itself, starts of its directory are ignored.
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
