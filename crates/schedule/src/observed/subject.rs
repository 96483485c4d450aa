//! What a log line says was started.

use facts::host::{Job, JobCommand, Trigger};
use std::fmt;

/// Parses the command of a crontab line like [`Job::commands`]: its programs, and those arguments
/// that cannot be secret (`host::parse::shell::script::commands`).
pub type Commands<'a> = dyn Fn(&str) -> Vec<JobCommand> + 'a;

/// What was started.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// A systemd unit.
    Unit(String),
    /// A systemd unit of which a log of an older version has only the description, as its hash.
    Described(u64),
    /// A crontab command.
    Cron(CronCommand),
    /// An anacron job, by its identifier.
    Anacron(String),
    /// A script that run-parts started, without leading slash: `etc/cron.daily/logrotate`.
    Script(String),
    /// A job, by the name that a monitoring system has of it.
    Named(String),
}

/// A crontab command, without its text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CronCommand {
    pub(super) user: String,
    /// Names of the programs it runs.
    pub(super) programs: Vec<String>,
    /// The directory whose scripts it starts: `cron.weekly`.
    pub(super) directory: Option<String>,
    /// Hash of its text, to distinguish commands of the same program.
    pub(super) text_hash: u64,
}

impl Subject {
    /// Describes who started what, as evidence; of a command only the program.
    pub(super) fn evidence(&self) -> String {
        match self {
            Self::Unit(unit) => format!("systemd started {unit}"),
            Self::Described(_) => "systemd started a unit".to_owned(),
            Self::Anacron(identifier) => format!("anacron started {identifier}"),
            Self::Script(path) => format!("run-parts started {path}"),
            Self::Named(name) => format!("{name} started"),
            Self::Cron(command) => {
                format!("cron started {} for {}", self.name(), command.user)
            }
        }
    }

    /// Returns a short name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Unit(name) | Self::Anacron(name) | Self::Named(name) => name.clone(),
            Self::Described(_) => "a unit".to_owned(),
            Self::Script(path) => path.strip_prefix("etc/").unwrap_or(path).to_owned(),
            Self::Cron(command) => command
                .directory
                .as_ref()
                .or_else(|| command.programs.first())
                .map_or_else(|| "a command".to_owned(), Clone::clone),
        }
    }

    /// Returns the directory whose scripts a crontab command starts: `cron.weekly`.
    pub(super) fn directory(&self) -> Option<&str> {
        match self {
            Self::Cron(command) => command.directory.as_deref(),
            _ => None,
        }
    }

    /// Whether it is a run of this job.
    pub(super) fn is_of(&self, job: &Job) -> bool {
        match self {
            Self::Unit(unit) => job
                .timer
                .as_ref()
                .is_some_and(|timer| timer.activates == *unit),
            Self::Described(_) => false,
            Self::Script(path) => job.defined_in == *path,
            Self::Named(name) => job.name == *name,
            Self::Anacron(known) => job.triggers.iter().any(|trigger| {
                matches!(trigger, Trigger::Anacron { identifier, .. } if identifier == known)
            }),
            Self::Cron(command) => {
                // A line that only checks for anacron has no trigger and starts nothing.
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

/// Whether a job is the crontab line that starts the scripts in a directory.
fn starts_directory(job: &Job, directory: &str) -> bool {
    job.commands
        .iter()
        .any(|command| started_directory(command) == Some(directory))
}

/// Returns the cron directory whose scripts a program starts.
pub(super) fn started_directory(command: &JobCommand) -> Option<&str> {
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

/// As [`Subject::evidence`].
impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.evidence())
    }
}
