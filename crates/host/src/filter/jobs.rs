//! Filters crontabs, anacrontab, scripts, unit files and systemd's answers.

mod shell;

use crate::parse::anacrontab::{self, Line as AnacrontabLine};
use crate::parse::crontab::{self, Kind, Line as CrontabLine, split_input};
use crate::parse::shell::keep::is_safe_path;
use crate::parse::shell::lexer::{ExecLine, exec_lines};
use crate::parse::shell::programs::is_called;
use crate::parse::shell::script::{SCRIPT_BYTES_MAX, is_shell_script, mentions_in_line};
use crate::parse::systemctl;
use crate::parse::unit_file::{self, suffix};
use crate::unread::Unread;
use shell::{REDACTED, filter_until_stable, reduce, reduce_plain};

/// Relevant settings in crontabs.
const SETTINGS: &[&str] = &[
    "CRON_TZ",
    "PATH",
    "RANDOM_DELAY",
    "SHELL",
    "START_HOURS_RANGE",
    "TZ",
];
/// Where systemd looks for units.
const UNIT_ROOTS: &[&str] = &[
    "etc/systemd/system/",
    "run/systemd/",
    "usr/local/lib/systemd/system/",
    "usr/lib/systemd/system/",
    "lib/systemd/system/",
];
/// Keys of unit files that are kept, by section.
const UNIT_KEYS: &[(&str, &[&str])] = &[
    ("Unit", &["ConditionPathExists", "ConditionVirtualization"]),
    (
        "Timer",
        &[
            "AccuracySec",
            "FixedRandomDelay",
            "OnActiveSec",
            "OnBootSec",
            "OnCalendar",
            "OnStartupSec",
            "OnUnitActiveSec",
            "OnUnitInactiveSec",
            "Persistent",
            "RandomizedDelaySec",
            "RandomizedOffsetSec",
            "Unit",
            "WakeSystem",
        ],
    ),
    (
        "Service",
        &[
            "CPUSchedulingPolicy",
            "ExecStart",
            "ExecStartPre",
            "Group",
            "IOSchedulingClass",
            "IOSchedulingPriority",
            "Nice",
            "Type",
            "User",
        ],
    ),
    ("Install", &["Alias", "Also", "RequiredBy", "WantedBy"]),
];

/// Filters the files of jobs: crontabs, anacrontab, scripts, unit files.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Unread>> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let filter: fn(&str) -> Option<String> = if path == "etc/crontab" || directory == "etc/cron.d" {
        |text| filter_until_stable(text, |text| Some(crontab(text, Kind::System)))
    } else if directory == "etc/crontabs" || is_spool(directory) {
        |text| filter_until_stable(text, |text| Some(crontab(text, Kind::User)))
    } else if path == "etc/anacrontab" {
        |text| filter_until_stable(text, |text| Some(anacrontab(text)))
    } else if directory == "var/spool/anacron" {
        |text| Some(stamp(text))
    } else if is_unit(path, name) {
        |text| filter_until_stable(text, |text| Some(unit(text)))
    } else if is_run_parts(directory) || (is_called(path) && bytes.starts_with(b"#!")) {
        // Configuration files, which other filters handle, do not start with `#!`.
        |text| filter_until_stable(text, script)
    } else if is_called(path) && suffix(name) == "sh" {
        // Named like a script, and none: of a file of one word, such as a token, the script's filter would keep
        // that word as the name of a program.
        |_| Some(String::new())
    } else {
        return None;
    };
    // A binary, not text.
    if bytes.contains(&0) {
        return Some(Ok(Vec::new()));
    }
    let kept = filter(&String::from_utf8_lossy(bytes)).ok_or_else(unparsable);
    Some(kept.map(String::into_bytes))
}

/// Filters the answer of `systemctl show`.
pub(super) fn keep_systemctl_show(bytes: &[u8]) -> Result<Vec<u8>, Unread> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Unread::Malformed("the answer of systemctl is not UTF-8".to_owned()))?;
    let kept =
        filter_until_stable(text, |text| Some(systemctl_show(text))).ok_or_else(unparsable)?;
    Ok(kept.into_bytes())
}

/// The error for text that cannot be made safe.
fn unparsable() -> Unread {
    Unread::Malformed(
        "it is nested too deeply, or its quoting is too confused, to be taken apart".to_owned(),
    )
}

fn is_spool(directory: &str) -> bool {
    matches!(
        directory,
        "var/spool/cron" | "var/spool/cron/crontabs" | "var/spool/cron/tabs"
    )
}

fn is_unit(path: &str, name: &str) -> bool {
    UNIT_ROOTS.iter().any(|root| path.starts_with(root))
        && matches!(suffix(name), "timer" | "service" | "conf")
}

fn is_run_parts(directory: &str) -> bool {
    directory
        .strip_prefix("etc/")
        .is_some_and(|below| below.starts_with("cron.") || below.starts_with("periodic/"))
}

/// Returns a value if it consists of plain characters, otherwise the placeholder for removed text.
fn plain_value<'v>(value: &'v str, more: &str) -> &'v str {
    let plain = value.len() <= 1024
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " _./:+,-".contains(c) || more.contains(c));
    if plain && !value.contains("://") {
        value
    } else {
        REDACTED
    }
}

fn setting(name: &str, value: &str) -> String {
    if SETTINGS.contains(&name) {
        format!("{name}={}", plain_value(value, ""))
    } else {
        String::new()
    }
}

/// Returns the wrong word of a malformed line if it is a number or a list of numbers.
fn wrong_word(found: &str) -> &str {
    let numbers = |c: char| c.is_ascii_digit() || "*/,~-".contains(c);
    if found.len() <= 16 && found.chars().all(numbers) {
        found
    } else {
        REDACTED
    }
}

/// Filters a command line in a crontab or anacrontab: the result is never empty and always one
/// line.
fn command_line(command: &str) -> String {
    let in_one_line = |text: &str| Some(reduce(text)?.replace('\n', " ").trim().to_owned());
    match filter_until_stable(command, in_one_line) {
        Some(reduced) if reduced.is_empty() => ":".to_owned(),
        Some(reduced) => reduced,
        None => REDACTED.to_owned(),
    }
}

/// Filters line by line, so that line numbers are preserved.
fn by_line(text: &str, reduce: impl Fn(&str) -> String) -> String {
    let mut kept: Vec<String> = text.lines().map(reduce).collect();
    if text.ends_with('\n') {
        kept.push(String::new());
    }
    kept.join("\n")
}

fn crontab(text: &str, kind: Kind) -> String {
    by_line(text, |line| match crontab::classify(line, kind) {
        CrontabLine::Nothing => String::new(),
        CrontabLine::Setting(name, value) => setting(name, value),
        CrontabLine::Entry { command_at, .. } => {
            let (command, input) = split_input(&line[command_at..]);
            let command = command_line(&command).replace('%', "\\%");
            let input = input.map_or("", |_| "%…");
            format!("{}{command}{input}", &line[..command_at])
        }
        CrontabLine::Wrong { at, found, .. } => format!("{}{}", &line[..at], wrong_word(found)),
    })
}

fn anacrontab(text: &str) -> String {
    by_line(text, |line| match anacrontab::classify(line) {
        AnacrontabLine::Nothing => String::new(),
        AnacrontabLine::Setting(name, value) => setting(name, value),
        AnacrontabLine::Job { command_at, .. } => {
            format!(
                "{}{}",
                &line[..command_at],
                command_line(&line[command_at..])
            )
        }
        AnacrontabLine::Wrong { at, found, .. } => format!("{}{}", &line[..at], wrong_word(found)),
    })
}

fn stamp(text: &str) -> String {
    let day = text.trim();
    if anacrontab::parse_stamp(day).is_some() {
        format!("{day}\n")
    } else {
        String::new()
    }
}

fn script(text: &str) -> Option<String> {
    let text = bounded(text);
    let first = text.lines().next().unwrap_or_default();
    let interpreter = first.strip_prefix("#!").map(|line| {
        let plain = |word: &&str| {
            word.len() <= 64
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
        };
        let words: Vec<&str> = line.split_whitespace().take_while(plain).take(4).collect();
        format!("#!{}", words.join(" "))
    });
    let body = if is_shell_script(text) {
        // The first line is a comment to the shell.
        reduce(text)?
    } else {
        let lines = text.lines().enumerate().map(|(index, line)| {
            let words: Vec<&str> = mentions_in_line(line).filter(|_| index > 0).collect();
            format!("{}\n", words.join(" "))
        });
        lines.collect()
    };
    Some(format!("{}{body}", interpreter.unwrap_or_default()))
}

/// Returns the beginning of a script that is scanned, in whole lines.
fn bounded(text: &str) -> &str {
    if text.len() <= SCRIPT_BYTES_MAX {
        return text;
    }
    let mut end = SCRIPT_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text[..end].rfind('\n') {
        Some(line_end) => &text[..=line_end],
        None => "",
    }
}

fn unit(text: &str) -> String {
    let unit = unit_file::parse("", text);
    let mut lines = vec![String::new(); text.lines().count()];
    let mut put = |line: usize, content: String| {
        if let Some(slot) = line.checked_sub(1).and_then(|index| lines.get_mut(index)) {
            *slot = content;
        }
    };
    for (name, line) in &unit.sections {
        let known = UNIT_KEYS.iter().any(|(section, _)| section == name);
        put(*line, format!("[{}]", if known { name } else { REDACTED }));
    }
    for assignment in &unit.assignments {
        if let Some(kept) = unit_assignment(assignment) {
            put(assignment.line, kept);
        }
    }
    for error in &unit.errors {
        let is_section = error.found.starts_with('[');
        let kept = if is_section { "[…" } else { REDACTED };
        let line = error.line.and_then(|line| usize::try_from(line).ok());
        put(line.unwrap_or_default(), kept.to_owned());
    }
    let mut kept = lines.join("\n");
    if !kept.is_empty() {
        kept.push('\n');
    }
    kept
}

fn unit_assignment(assignment: &unit_file::Assignment) -> Option<String> {
    let unit_file::Assignment {
        section,
        key,
        value,
        ..
    } = assignment;
    // An empty condition of any kind resets all before it.
    let resets = section == "Unit" && key.starts_with("Condition") && value.is_empty();
    if resets {
        return Some("ConditionPathExists=".to_owned());
    }
    let (_, keys) = UNIT_KEYS.iter().find(|(known, _)| known == section)?;
    if !keys.contains(&key.as_str()) {
        return None;
    }
    let value = match key.as_str() {
        "ExecStart" | "ExecStartPre" => exec(value),
        _ => plain_value(value, "*!|@%~").to_owned(),
    };
    Some(format!("{key}={value}"))
}

/// Filters a command line that runs without a shell.
fn reduce_exec(line: &str) -> String {
    reduce_plain(line).unwrap_or_else(|| REDACTED.to_owned())
}

/// Filters the value of an `ExecStart=`: command lines with their prefixes, separated by
/// semicolons.
fn exec(value: &str) -> String {
    let reduced = exec_lines(value).map(|ExecLine { prefix, command }| {
        let reduced = reduce_exec(&command);
        if !prefix.contains('@') {
            return format!("{prefix}{reduced}");
        }
        let (program, arguments) = reduced.split_once(' ').unwrap_or((&reduced, ""));
        format!("{prefix}{program} {REDACTED} {arguments}")
            .trim_end()
            .to_owned()
    });
    reduced.collect::<Vec<String>>().join(" ; ")
}

fn systemctl_show(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        if line.is_empty() {
            kept.push('\n');
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if !systemctl::PROPERTIES.contains(&name) {
            continue;
        }
        kept.push_str(name);
        kept.push('=');
        if name.starts_with("ExecStart") {
            if let Some((before, command, _)) = systemctl::command_line(value) {
                let path = before
                    .split(" ; ")
                    .find_map(|field| field.split_once("path="))
                    .map(|(_, path)| path.trim())
                    .filter(|path| is_safe_path(path));
                let path = path.unwrap_or(REDACTED);
                let command = reduce_exec(command);
                kept.push_str("{ path=");
                kept.push_str(path);
                kept.push_str(" ; argv[]=");
                kept.push_str(&command);
                kept.push_str(" ; ignore_errors=no }");
            }
        } else {
            kept.push_str(plain_value(value, "@{}=;*()[]~"));
        }
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests;
