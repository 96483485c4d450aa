//! Runs that a log tells of: systemd's journal, or the files of syslog.
//!
//! What is read of a log is who started what and when. Of a command's text, which may hold a
//! password, nothing is kept but the programs that it runs, by the one who takes the commands of
//! crontabs apart, too ([`Commands`]), and a figure that tells it from others.

mod hosts;
mod join;
mod journal;
mod message;
mod pair;
mod syslog;

pub use hosts::Whose;
pub(crate) use join::drop_doubles;
pub use join::{RUNS_OF_ALL_MAX, observed_runs};

use crate::conditions::Uptime;
use crate::run::{Run, Seen};
use facts::InputError;
use facts::host::{Job, JobCommand, Trigger};
use hosts::{HostLines, HostStart};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use message::Lines;
use std::collections::HashSet;
use std::fmt;

/// The most runs that are kept of one log: a year of ten jobs that run every minute.
pub const OBSERVED_MAX: usize = 5_000_000;

/// The most different things that one log may start.
const SUBJECTS_MAX: usize = 100_000;

/// The most hosts that are told apart in one log.
const HOSTS_MAX: usize = 100_000;

/// Takes the command of a crontab's line apart, as [`Job::commands`] has it: its programs, and of
/// their arguments only what is no secret. `host::jobs::script::scan` does.
pub type Commands<'a> = dyn Fn(&str) -> Vec<JobCommand> + 'a;

/// What a log tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// Its name: a file, or the newest of several that are read as one.
    pub source: String,
    /// What kind it is: [`Seen::Journal`] or [`Seen::Syslog`].
    pub seen: Seen,
    /// Its first line.
    pub from: Timestamp,
    /// Its last line.
    pub until: Timestamp,
    /// When the host was up, as far as lines of its kernel tell.
    pub uptimes: Vec<Uptime>,
    /// What could not be read, in plain words with counts.
    pub notes: Vec<String>,
    /// What it was read from: one file, or several of which each goes on where the one before ends.
    parts: Vec<Part>,
    /// Whose lines it has.
    hosts: Vec<HostLines>,
    host_starts: Vec<HostStart>,
    subjects: Vec<Subject>,
    /// In the order of their start.
    observed: Vec<Observed>,
}

/// A file of a log.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    name: String,
    /// Whether somebody can look a line up by its number.
    has_lines: bool,
}

/// A run as a log tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Observed {
    start: Timestamp,
    len_s: Option<f64>,
    /// Index into the subjects.
    subject: usize,
    /// Index into the hosts.
    host: usize,
    /// Index into the parts.
    part: usize,
    /// 1-based line.
    line: usize,
}

/// What was started.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Subject {
    /// A unit of systemd.
    Unit(String),
    /// A command of a crontab.
    Cron(CronCommand),
    /// A job of anacron, by its identifier.
    Anacron(String),
    /// A script that run-parts started, without leading slash: `etc/cron.daily/logrotate`.
    Script(String),
}

/// A command of a crontab, without its text.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CronCommand {
    user: String,
    /// The programs that it runs, by their names.
    programs: Vec<String>,
    /// The directory whose scripts it starts: `cron.weekly`.
    directory: Option<String>,
    /// Of its text: two commands of one program are two.
    text_hash: u64,
}

impl Subject {
    /// Who started what, for evidence; of a command only the program.
    fn told(&self) -> String {
        match self {
            Self::Unit(unit) => format!("systemd started {unit}"),
            Self::Anacron(identifier) => format!("anacron started {identifier}"),
            Self::Script(path) => format!("run-parts started {path}"),
            Self::Cron(command) => {
                format!("cron started {} for {}", self.name(), command.user)
            }
        }
    }

    /// A short name.
    fn name(&self) -> String {
        match self {
            Self::Unit(name) | Self::Anacron(name) => name.clone(),
            Self::Script(path) => path.strip_prefix("etc/").unwrap_or(path).to_owned(),
            Self::Cron(command) => command
                .directory
                .as_ref()
                .or_else(|| command.programs.first())
                .map_or_else(|| "a command".to_owned(), Clone::clone),
        }
    }

    /// The directory whose scripts a command of a crontab starts: `cron.weekly`.
    fn directory(&self) -> Option<&str> {
        match self {
            Self::Cron(command) => command.directory.as_deref(),
            _ => None,
        }
    }

    /// Whether it is a run of a job.
    fn is_of(&self, job: &Job) -> bool {
        match self {
            Self::Unit(unit) => job
                .timer
                .as_ref()
                .is_some_and(|timer| timer.activates == *unit),
            Self::Script(path) => job.defined_in == *path,
            Self::Anacron(known) => job.triggers.iter().any(|trigger| {
                matches!(trigger, Trigger::Anacron { identifier, .. } if identifier == known)
            }),
            Self::Cron(command) => {
                // A line that only looks for anacron starts nothing; its trigger is not in force.
                let by_cron = job
                    .triggers
                    .iter()
                    .any(|trigger| matches!(trigger, Trigger::Cron { .. } | Trigger::Boot { .. }));
                if !by_cron || job
                        .user
                        .as_ref()
                        .is_some_and(|known| *known != command.user)
                {
                    return false;
                }
                if let Some(directory) = self.directory() {
                    let of_script = job.defined_in.strip_prefix("etc/");
                    let of_script = of_script.and_then(|path| path.rsplit_once('/'));
                    return of_script.is_some_and(|(of_job, _)| of_job == directory)
                        || starts_directory(job, directory);
                }
                let mut of_line = job
                    .commands
                    .iter()
                    .filter(|command| command.source == job.defined_in)
                    .peekable();
                of_line.peek().is_some()
                    && of_line.all(|known| command.programs.contains(&known.program))
            }
        }
    }
}

/// Whether a job is the line that starts a directory's scripts.
fn starts_directory(job: &Job, directory: &str) -> bool {
    job.commands
        .iter()
        .any(|command| started_directory(command) == Some(directory))
}

/// The directory of cron whose scripts a program starts.
fn started_directory(command: &JobCommand) -> Option<&str> {
    if command.program != "run-parts" {
        return None;
    }
    let mut names = command
        .arguments
        .iter()
        .filter_map(|argument| argument.strip_prefix("/etc/"));
    let name = names.find(|name| name.starts_with("cron."))?;
    Some(name.trim_end_matches('/'))
}

/// As it is told.
impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told())
    }
}

/// A run of a job, as a log tells it.
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

    /// Where that is written.
    fn place(&self) -> String {
        let part = &self.log.parts[self.part];
        if part.has_lines {
            format!("{}:{}", part.name, self.line)
        } else {
            part.name.clone()
        }
    }

    /// Whether it would be as good a sighting of another job.
    pub fn is_of(&self, job: &Job) -> bool {
        self.log.subjects[self.subject].is_of(job)
    }

    /// Whether the same was started.
    pub fn is_same_subject(&self, other: &Self) -> bool {
        self.subject == other.subject
    }

    /// Whether cron alone decides whose run it is, by the programs of the command.
    pub fn is_by_words(&self) -> bool {
        let subject = &self.log.subjects[self.subject];
        matches!(subject, Subject::Cron(_)) && subject.directory().is_none()
    }
}

impl Log {
    /// Reads a log: the output of `journalctl -o json`, or a file of syslog in its traditional
    /// form, with RFC 3339 times, or as RFC 5424 has it. Traditional lines have neither year nor
    /// zone: `ended` is when the file was written last, and `zone` the host's. `commands` takes the
    /// commands of crontabs apart.
    ///
    /// Lines of programs that start no jobs count only towards the time that the log covers. Lines
    /// that cannot be read are counted in its notes. The runs of several hosts are all there until
    /// [`Log::lines_of`] leaves those of one.
    ///
    /// # Errors
    /// When no line can be read; the error names the first, and not what stands there: it may hold
    /// a command with a password.
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

    /// How many runs it tells of.
    pub fn count(&self) -> usize {
        self.observed.len()
    }

    /// The runs of a job. Where the log tells of the script itself, what started its directory says
    /// nothing more.
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
        // Runs alone decide: those of a subject may all have been another host's.
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
