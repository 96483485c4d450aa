//! Logs that show when jobs actually ran: syslog, and systemd's journal on the running host.

use super::logs::{self, Age, LogFile};
use crate::parse::shell::script::commands;
use crate::source::{Source, read_log};
use crate::{Command, JOURNAL_ENTRIES_MAX, Unread};
use facts::Skipped;
use facts::host::Job;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::{HostIdentity, Log};

/// Maximum amount of a host's logs that is read, in bytes.
pub const LOG_BYTES_MAX: usize = LOG_MIB_MAX << 20;
const LOG_MIB_MAX: usize = 256;
const JOURNAL: &str = "systemd's journal";

/// The host whose job runs are read.
#[derive(Clone, Copy)]
pub struct JobHost<'a> {
    /// Its files.
    pub source: &'a dyn Source,
    /// Its jobs.
    pub jobs: &'a [Job],
    /// Its name, if known.
    pub name: Option<&'a str>,
}

/// Returns the runs between two times that are in the logs of a host: in syslog files, and on the
/// running host in systemd's journal. Logs that exist but cannot be read are added to `skipped`.
pub fn read(
    host: &JobHost<'_>,
    (since, until): (Timestamp, Timestamp),
    zone: &TimeZone,
    skipped: &mut Vec<Skipped>,
) -> Vec<Log> {
    let mut reader = LogReader {
        source: host.source,
        zone,
        since,
        until,
        bytes_left: LOG_BYTES_MAX,
        logs: Vec::new(),
        skipped,
    };
    let is_whole = host.source.is_whole();
    let told = reader.skipped.len();
    let is_there = reader.syslog();
    let logs = std::mem::take(&mut reader.logs);
    reader.logs = own_lines(logs, host.name, reader.skipped);
    let is_alone = reader.logs.is_empty() && !host.jobs.is_empty();
    if is_whole {
        reader.journal(host.jobs, is_alone);
    } else if is_there
        && reader.logs.is_empty()
        && reader.skipped.len() == told
        && !host.jobs.is_empty()
    {
        reader.skip(
            logs::DIRECTORY,
            "no file of syslog in it is of the time of the samples: runs are computed",
            Some("--log; of a journal in it `journalctl -D DIRECTORY -o json`"),
        );
    }
    reader.logs
}

/// Keeps only the lines of the host whose jobs are analyzed: a host that collects the logs of other
/// hosts has lines about the same jobs at other times. Logs of which nothing is left are added to
/// `skipped`.
pub fn own_lines(logs: Vec<Log>, host_name: Option<&str>, skipped: &mut Vec<Skipped>) -> Vec<Log> {
    let identity = HostIdentity::of(&logs, host_name);
    let mut own = Vec::with_capacity(logs.len());
    for log in logs {
        let source = log.source.clone();
        if let Some(log) = log.restrict_to(&identity) {
            own.push(log);
            continue;
        }
        let why = match &identity {
            HostIdentity::Known { .. } => "all of its lines are of other hosts".to_owned(),
            HostIdentity::Unknown { some, count } => format!(
                "lines of {count} hosts at a time ({}{}), and which of them has the jobs is not \
                 known: none is used",
                some.join(", "),
                if some.len() < *count {
                    " and others"
                } else {
                    ""
                }
            ),
        };
        let needs = "--log with the lines of that host alone";
        skipped.push(Skipped::new(source, why, Some(needs)));
    }
    own
}

/// Reads the logs of one host.
struct LogReader<'a> {
    source: &'a dyn Source,
    /// The host's time zone.
    zone: &'a TimeZone,
    since: Timestamp,
    until: Timestamp,
    bytes_left: usize,
    logs: Vec<Log>,
    skipped: &'a mut Vec<Skipped>,
}

impl LogReader<'_> {
    fn skip(&mut self, what: &str, why: impl Into<String>, needs: Option<&str>) {
        self.skipped.push(Skipped::new(what, why, needs));
    }

    /// Reads the syslog files; returns whether there is a directory that may contain some.
    fn syslog(&mut self) -> bool {
        let found = match logs::find(self.source) {
            Ok(found) => found,
            Err(Unread::NotFound | Unread::NotRecorded) => {
                for part in ["var", logs::DIRECTORY] {
                    if let Some(why) = logs::dangling_link(self.source, part) {
                        self.skip(part, why, Some("--log"));
                    }
                }
                return false;
            }
            Err(unread) => {
                self.skip(logs::DIRECTORY, unread.to_string(), needs(&unread));
                return true;
            }
        };
        for files in found {
            self.family(&files);
        }
        true
    }

    /// Reads the files of one log, newest first. Files without a gap between them are joined.
    fn family(&mut self, files: &[LogFile]) {
        let mut chain: Vec<Log> = Vec::new();
        // The modification times in a copied tree may be those of copying.
        let is_dated = files
            .windows(2)
            .all(|pair| pair[1].written.is_some() && pair[0].written > pair[1].written);
        for (index, file) in files.iter().enumerate() {
            let older = files.get(index + 1);
            // It ended before the time range, or began after it.
            let is_before = file.written.is_some_and(|ended| ended < self.since);
            let is_after = is_dated
                && older.is_some_and(|older| older.written.is_some_and(|ended| ended > self.until));
            if is_before || is_after {
                self.keep(&mut chain);
                continue;
            }
            if let Some(compressed) = &file.compressed {
                let why = format!("{compressed} is not read");
                self.skip(&file.path, why, Some("it decompressed, with --log"));
                self.keep(&mut chain);
                continue;
            }
            if self.bytes_left == 0 {
                let why = format!(
                    "it and what is older: what was read before has {LOG_MIB_MAX} MiB, and no more \
                     is read"
                );
                self.skip(&file.path, why, Some("--log"));
                break;
            }
            let is_whole = self.file(file, &mut chain);
            let is_gap = older.is_some_and(|older| file.age.is_gap(older.age));
            if !is_whole || is_gap {
                self.keep(&mut chain);
            }
        }
        self.keep(&mut chain);
    }

    /// Joins consecutive files and adds them to the logs.
    fn keep(&mut self, chain: &mut Vec<Log>) {
        self.logs.extend(Log::joined(std::mem::take(chain)));
    }

    /// Reads a file; returns `false` if an older file would not continue what was read of it.
    fn file(&mut self, file: &LogFile, chain: &mut Vec<Log>) -> bool {
        let end = match read_log(self.source, &file.path, &mut self.bytes_left) {
            Ok(end) => end,
            Err(unread) => {
                let nowhere = unread
                    .is_absent()
                    .then(|| logs::dangling_link(self.source, &file.path));
                let why = nowhere.flatten().unwrap_or_else(|| unread.to_string());
                self.skip(&file.path, why, needs(&unread));
                return false;
            }
        };
        if end.is_cut {
            self.bytes_left = 0;
        }
        let text = logs::text(end.bytes);
        if text.trim().is_empty() {
            let why = if end.is_cut {
                "a line without end"
            } else {
                "empty: it tells of no run"
            };
            self.skip(&file.path, why, None);
            return !end.is_cut;
        }
        let ended = file.written.unwrap_or(self.until);
        // Errors do not quote a line, which may contain a command with a password.
        let Ok(log) = Log::parse(&file.path, &text, self.zone, ended, &commands) else {
            self.skip(&file.path, "not one line of syslog in it", None);
            return false;
        };
        if end.is_cut {
            let why = format!(
                "longer than what is read, {LOG_MIB_MAX} MiB of all logs: only its newest lines, \
                 from {} on",
                log.from.strftime("%Y-%m-%d %H:%M UTC")
            );
            self.skip(&file.path, why, Some("--log"));
        }
        let is_dated = matches!(file.age, Age::Date(_));
        if chain.last().is_some_and(|newer| {
            newer.seen != log.seen || (is_dated && is_missing_rotation(newer, &log))
        }) {
            self.keep(chain);
        }
        chain.push(log);
        !end.is_cut
    }

    /// Reads the journal. `is_alone` is whether there is no other evidence of job runs.
    fn journal(&mut self, jobs: &[Job], is_alone: bool) {
        let asked = Command::Journal {
            units: logs::timer_services(jobs),
            since: self.since,
            until: self.until,
        };
        let by_hand = Some("--log with the output of `journalctl -o json`");
        match self.source.command(&asked) {
            Ok(answer) => {
                let text = logs::text(answer);
                let is_entry = text.starts_with('{');
                match Log::parse(JOURNAL, &text, self.zone, self.until, &commands) {
                    Ok(log) if is_entry => {
                        if text.lines().count() >= JOURNAL_ENTRIES_MAX {
                            let why = format!(
                                "only its newest {JOURNAL_ENTRIES_MAX} entries are read, from {} on",
                                log.from.strftime("%Y-%m-%d %H:%M UTC")
                            );
                            self.skip(JOURNAL, why, by_hand);
                        }
                        self.logs.push(log.without_line_numbers());
                    }
                    Err(_) if is_entry => {
                        self.skip(JOURNAL, "not one entry in what journalctl prints", by_hand);
                    }
                    // `-- No entries --`
                    _ if is_alone => {
                        let why =
                            "it tells of no job in the time of the samples: runs are computed";
                        self.skip(JOURNAL, why, None);
                    }
                    _ => {}
                }
            }
            Err(Unread::NotFound) => {
                if is_alone {
                    let why = "neither it nor a file of syslog that tells of this host is there: runs are \
                               computed";
                    self.skip(JOURNAL, why, Some("--log"));
                }
            }
            Err(Unread::Denied) => self.skip(
                JOURNAL,
                Unread::Denied.to_string(),
                Some("root, or the group systemd-journal"),
            ),
            Err(unread) => self.skip(JOURNAL, unread.to_string(), by_hand),
        }
    }
}

/// Whether a file is missing between two whose names contain only dates. Rotations at a regular
/// interval cover equal times, so a missing one leaves at least two fifths of the time without a
/// line. If lines are as rare as rotations, two files may be treated as two logs, which is the safe
/// side: runs between them are computed.
fn is_missing_rotation(newer: &Log, older: &Log) -> bool {
    let between = newer.from.duration_since(older.until);
    let whole = newer.until.duration_since(older.until);
    // A gap from one night to the next does not mean that a file is missing.
    between >= SignedDuration::from_hours(20)
        && whole > SignedDuration::from_hours(36)
        && between.as_secs().saturating_mul(5) >= whole.as_secs().saturating_mul(2)
}

/// Returns what would make it possible to read a file.
fn needs(unread: &Unread) -> Option<&'static str> {
    match unread {
        Unread::Denied => Some("root, or a group that may read it"),
        Unread::TooLarge(_) => Some("it decompressed, with --log"),
        Unread::NotFound => Some("--log"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
