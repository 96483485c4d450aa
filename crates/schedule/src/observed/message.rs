//! What lines of cron, anacron, run-parts, systemd and the kernel tell of runs.

use super::subject::{Commands, CronCommand, Subject, started_directory};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The longest name that is shown.
const NAME_BYTES_MAX: usize = 255;
/// The longest command that is taken apart, in bytes: cronie's longest line of a crontab.
const COMMAND_BYTES_MAX: usize = 128 << 10;
/// The most programs of a command that are kept.
const PROGRAMS_MAX: usize = 64;
/// The most commands that are known while a log is read.
const KNOWN_MAX: usize = 10_000;

/// What a line tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    /// A run begins.
    Starts(Subject),
    /// One ends.
    Ends(Subject),
    /// systemd has started a unit: the end of a run that it announced (a service of type oneshot),
    /// else the begin of one.
    Started(Subject),
    /// The kernel begins.
    HostStarts,
}

/// Reads what lines tell.
pub(super) struct Lines<'a> {
    commands: &'a Commands<'a>,
    /// A log has the same commands over and over: what was found in each, by its text's hash.
    known: HashMap<u64, (Vec<String>, Option<String>)>,
}

impl<'a> Lines<'a> {
    pub fn new(commands: &'a Commands<'a>) -> Self {
        Self {
            commands,
            known: HashMap::new(),
        }
    }

    /// What a line of a program tells, if anything.
    pub fn told(&mut self, program: &str, message: &str) -> Option<Told> {
        match program {
            "CRON" | "CROND" | "cron" | "crond" => self.cron(message),
            "anacron" => anacron(message),
            "systemd" => systemd(message),
            "kernel" => kernel(message),
            _ => run_parts(program, message),
        }
    }

    /// `(root) CMD (command)`, and where the daemon is told to, `(root) END (command)` (Debian,
    /// `-L 2`) or `(root) CMDEND (command)` (cronie).
    fn cron(&mut self, message: &str) -> Option<Told> {
        let (user, rest) = message.strip_prefix('(')?.split_once(") ")?;
        let (kind, rest) = rest.split_once(" (")?;
        let is_begin = match kind {
            "CMD" => true,
            "END" | "CMDEND" => false,
            _ => return None,
        };
        let command = rest.trim_end().strip_suffix(')')?;
        let subject = Subject::Cron(self.command(plain(user)?, without_process(command)));
        Some(if is_begin {
            Told::Starts(subject)
        } else {
            Told::Ends(subject)
        })
    }

    /// What of a command may be kept.
    fn command(&mut self, user: String, text: &str) -> CronCommand {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let text_hash = hasher.finish();
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

/// Debian's `-L 8` puts the number of the process in front of the command.
fn without_process(command: &str) -> &str {
    let command = command.trim();
    command
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .filter(|(pid, _)| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
        .map_or(command, |(_, rest)| rest.trim_start())
}

/// ``Job `cron.weekly' started``, ``Job `cron.weekly' terminated (exit status: 1)``.
fn anacron(message: &str) -> Option<Told> {
    let (identifier, rest) = message
        .strip_prefix("Job ")?
        .strip_prefix(['`', '\''])?
        .split_once("' ")?;
    let subject = Subject::Anacron(plain(identifier)?);
    if rest == "started" {
        Some(Told::Starts(subject))
    } else if rest.starts_with("terminated") {
        Some(Told::Ends(subject))
    } else {
        None
    }
}

/// The run-parts of crontabs: `run-parts[9]: (/etc/cron.daily) starting logrotate`, and before it
/// `run-parts(/etc/cron.daily)[9]: starting logrotate`.
fn run_parts(program: &str, message: &str) -> Option<Told> {
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
        "starting" => Some(Told::Starts(subject)),
        "finished" => Some(Told::Ends(subject)),
        _ => None,
    }
}

/// Lines of systemd that name the unit: `Starting fstrim.service - Discard...` (since version 250),
/// `fstrim.service: Deactivated successfully.` Older ones give the description alone, which names
/// nobody.
fn systemd(message: &str) -> Option<Told> {
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
            .then_some(Told::Ends(subject));
    }
    let (verb, rest) = message.split_once(' ')?;
    let (unit, _) = rest.split_once(" - ")?;
    let subject = unit_subject(unit)?;
    match verb {
        "Starting" => Some(Told::Starts(subject)),
        "Started" | "Finished" => Some(Told::Started(subject)),
        "Failed" => Some(Told::Ends(subject)),
        _ => None,
    }
}

/// A service by its name.
pub(super) fn unit_subject(unit: &str) -> Option<Subject> {
    unit.ends_with(".service").then_some(())?;
    Some(Subject::Unit(plain(unit)?))
}

/// The first line of a kernel's log, with its clock or without.
fn kernel(message: &str) -> Option<Told> {
    let text = match message.strip_prefix('[') {
        Some(rest) => rest.split_once("] ")?.1,
        None => message,
    };
    text.starts_with("Linux version ")
        .then_some(Told::HostStarts)
}

/// A name that may be shown: of a user, a unit, a script, a program.
fn plain(name: &str) -> Option<String> {
    let is_plain = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-/@:\\$+~".contains(c));
    is_plain.then(|| name.to_owned())
}
