//! What lines of cron, anacron, run-parts, systemd and the kernel tell of runs.

use super::Subject;

/// The most words of a command that are looked at, and their longest.
const WORDS_MAX: usize = 64;
const WORD_BYTES_MAX: usize = 255;

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

/// What a line of a program tells, if anything.
pub(super) fn told(program: &str, message: &str) -> Option<Told> {
    match program {
        "CRON" | "CROND" | "cron" | "crond" => cron(message),
        "anacron" => anacron(message),
        "systemd" => systemd(message),
        "kernel" => kernel(message),
        _ => run_parts(program, message),
    }
}

/// `(root) CMD (command)`, and where the daemon is told to, `(root) END (command)` (Debian, `-L 2`)
/// or `(root) CMDEND (command)` (cronie).
fn cron(message: &str) -> Option<Told> {
    let (user, rest) = message.strip_prefix('(')?.split_once(") ")?;
    let (kind, rest) = rest.split_once(" (")?;
    let command = rest.trim_end().strip_suffix(')')?;
    let subject = Subject::Cron {
        user: plain(user)?,
        words: words(command),
    };
    match kind {
        "CMD" => Some(Told::Starts(subject)),
        "END" | "CMDEND" => Some(Told::Ends(subject)),
        _ => None,
    }
}

/// The words of a command, without its quotes and operators. Debian's `-L 8` puts the process
/// number in front.
fn words(command: &str) -> Vec<String> {
    let command = command.trim_start();
    let command = command
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .filter(|(pid, _)| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
        .map_or(command, |(_, rest)| rest);
    command
        .split(|c: char| c.is_whitespace() || ";|&()`\"'<>".contains(c))
        .filter(|word| !word.is_empty() && word.len() <= WORD_BYTES_MAX)
        .take(WORDS_MAX)
        .map(str::to_owned)
        .collect()
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

/// A name that may be shown: of a user, a unit, a script.
fn plain(name: &str) -> Option<String> {
    let is_plain = !name.is_empty()
        && name.len() <= WORD_BYTES_MAX
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-/@:\\$+~".contains(c));
    is_plain.then(|| name.to_owned())
}
