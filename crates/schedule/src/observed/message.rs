//! Parses messages of cron, anacron, run-parts, systemd and the kernel about runs.

use super::descriptions;
use super::subject::{Commands, CronCommand, Subject, started_directory};
use std::collections::HashMap;

/// Maximum length of a name that is shown.
const NAME_BYTES_MAX: usize = 255;
/// Maximum length of a command that is parsed, in bytes: cronie's limit on a crontab line.
const COMMAND_BYTES_MAX: usize = 128 << 10;
/// Maximum number of programs kept per command.
const PROGRAMS_MAX: usize = 64;
/// Maximum number of commands cached while a log is read.
const KNOWN_MAX: usize = 10_000;

/// The event that a line records.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LogEvent {
    /// A run begins.
    Starts(Subject),
    /// A run ends.
    Ends(Subject),
    /// systemd has started a unit: the end of a run that it announced (a service of type oneshot),
    /// otherwise the beginning of one.
    Started(Subject),
    /// The kernel boots.
    HostStarts,
}

/// Parses messages into events.
pub(super) struct MessageParser<'a> {
    commands: &'a Commands<'a>,
    /// Parsed commands by the hash of their text, because a log repeats the same commands.
    known: HashMap<u64, (Vec<String>, Option<String>)>,
}

impl<'a> MessageParser<'a> {
    pub fn new(commands: &'a Commands<'a>) -> Self {
        Self {
            commands,
            known: HashMap::new(),
        }
    }

    /// Returns the event that a program's message records, if any.
    pub fn event(&mut self, program: &str, message: &str) -> Option<LogEvent> {
        match program {
            "CRON" | "CROND" | "cron" | "crond" => self.cron(message),
            "anacron" => anacron(message),
            "systemd" => systemd(message),
            "kernel" => kernel(message),
            _ => run_parts(program, message),
        }
    }

    /// Parses `(root) CMD (command)` and, if the daemon is configured to log it,
    /// `(root) END (command)` (Debian, `-L 2`) or `(root) CMDEND (command)` (cronie).
    fn cron(&mut self, message: &str) -> Option<LogEvent> {
        let (user, rest) = message.strip_prefix('(')?.split_once(") ")?;
        let (kind, rest) = rest.split_once(" (")?;
        let is_begin = match kind {
            "CMD" => true,
            "END" | "CMDEND" => false,
            _ => return None,
        };
        let command = rest.trim_end().strip_suffix(')')?;
        let subject = Subject::Cron(self.command(plain(user)?, without_process(command)));
        Some(begin_or_end(is_begin, subject))
    }

    /// Extracts the parts of a command that may be kept.
    fn command(&mut self, user: String, text: &str) -> CronCommand {
        let text_hash = descriptions::hash(text);
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        let (programs, directory) = self.known.entry(text_hash).or_insert_with(|| {
            if text.len() > COMMAND_BYTES_MAX {
                return (Vec::new(), None);
            }
            let found = (self.commands)(text);
            let directory = found.iter().find_map(started_directory);
            let directory = directory.and_then(plain);
            let programs = found.iter().filter_map(|one| plain(&one.program));
            (programs.take(PROGRAMS_MAX).collect(), directory)
        });
        CronCommand {
            user,
            programs: programs.clone(),
            directory: directory.clone(),
            text_hash,
        }
    }
}

fn begin_or_end(is_begin: bool, subject: Subject) -> LogEvent {
    if is_begin {
        LogEvent::Starts(subject)
    } else {
        LogEvent::Ends(subject)
    }
}

/// Strips the process ID that Debian's `-L 8` puts in front of the command.
fn without_process(command: &str) -> &str {
    let command = command.trim();
    command
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .filter(|(pid, _)| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
        .map_or(command, |(_, rest)| rest.trim_start())
}

/// Parses ``Job `cron.weekly' started``, ``Job `cron.weekly' terminated (exit status: 1)``.
fn anacron(message: &str) -> Option<LogEvent> {
    let (identifier, rest) = message
        .strip_prefix("Job ")?
        .strip_prefix(['`', '\''])?
        .split_once("' ")?;
    let subject = Subject::Anacron(plain(identifier)?);
    if rest == "started" {
        Some(LogEvent::Starts(subject))
    } else if rest.starts_with("terminated") {
        Some(LogEvent::Ends(subject))
    } else {
        None
    }
}

/// Parses messages of the run-parts used in crontabs:
/// `run-parts[9]: (/etc/cron.daily) starting logrotate`, and in older versions
/// `run-parts(/etc/cron.daily)[9]: starting logrotate`.
fn run_parts(program: &str, message: &str) -> Option<LogEvent> {
    let rest = program.strip_prefix("run-parts")?;
    let (directory, rest) = if rest.is_empty() {
        message.strip_prefix('(')?.split_once(") ")?
    } else {
        (rest.strip_prefix('(')?.strip_suffix(')')?, message)
    };
    let (kind, name) = rest.split_once(' ')?;
    let path = format!("{}/{}", directory.trim_matches('/'), name.trim());
    let subject = Subject::Script(plain(&path)?);
    match kind {
        "starting" => Some(LogEvent::Starts(subject)),
        "finished" => Some(LogEvent::Ends(subject)),
        _ => None,
    }
}

/// Parses systemd messages: `Starting fstrim.service - Discard...` (since version 250),
/// `fstrim.service: Deactivated successfully.`, and those of older versions, which have only the
/// description, `Starting Discard...`.
fn systemd(message: &str) -> Option<LogEvent> {
    if let Some((unit, rest)) = message.split_once(": ")
        && let Some(subject) = unit_subject(unit)
    {
        let ends = [
            "Deactivated successfully",
            "Succeeded",
            "Failed with result",
        ];
        return ends
            .iter()
            .any(|end| rest.starts_with(end))
            .then_some(LogEvent::Ends(subject));
    }
    let (verb, rest) = message.split_once(' ')?;
    let named = rest
        .split_once(" - ")
        .and_then(|(unit, _)| unit_subject(unit));
    let Some(subject) = named else {
        return described(verb, rest);
    };
    match verb {
        "Starting" => Some(LogEvent::Starts(subject)),
        "Started" | "Finished" => Some(LogEvent::Started(subject)),
        "Failed" => Some(LogEvent::Ends(subject)),
        _ => None,
    }
}

/// Parses `Starting DESCRIPTION...`, `Started DESCRIPTION.` and the like. A service of type oneshot
/// has started when it has ended. Without a beginning, the line is about something else: the timer,
/// which often has the same description, is started at boot.
fn described(verb: &str, rest: &str) -> Option<LogEvent> {
    let (is_begin, description) = match verb {
        "Starting" => (true, rest.strip_suffix("...").or(rest.strip_suffix('…'))?),
        "Started" | "Finished" => (false, rest.strip_suffix('.')?),
        "Failed" => (false, rest.strip_prefix("to start ")?.strip_suffix('.')?),
        _ => return None,
    };
    let subject = match descriptions::service(description) {
        Some(service) => Subject::Unit(service.to_owned()),
        None => Subject::Described(descriptions::hash(description)),
    };
    Some(begin_or_end(is_begin, subject))
}

/// Returns the subject for a service name.
pub(super) fn unit_subject(unit: &str) -> Option<Subject> {
    unit.ends_with(".service").then_some(())?;
    Some(Subject::Unit(plain(unit)?))
}

/// Recognizes the first line of a kernel log, with or without its time stamp.
fn kernel(message: &str) -> Option<LogEvent> {
    let text = match message.strip_prefix('[') {
        Some(rest) => rest.split_once("] ")?.1,
        None => message,
    };
    text.starts_with("Linux version ")
        .then_some(LogEvent::HostStarts)
}

/// Returns the name if it may be shown: of a user, a unit, a script, a program.
fn plain(name: &str) -> Option<String> {
    let is_plain = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-/@:\\$+~".contains(c));
    is_plain.then(|| name.to_owned())
}
