//! Pairs the begin and end events of runs.

use super::host_lines::{HostLines, HostStart, host_name};
use super::log::{HOSTS_MAX, Log, OBSERVED_MAX, Observed, Part, SUBJECTS_MAX};
use super::message::LogEvent;
use super::subject::Subject;
use crate::conditions::Uptime;
use crate::run::Seen;
use facts::InputError;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet, VecDeque};

/// systemd logs "deactivated" and "finished" for the same run within this time, in seconds.
const SAME_END_S: f64 = 2.0;
/// Maximum number of concurrent runs of one subject.
const OPEN_MAX: usize = 1_000;

/// Shown instead of the text of a line that cannot be parsed.
pub(super) const REDACTED: &str = "something else";

/// Collects the lines of a log.
pub(super) struct RunPairer {
    source: String,
    seen: Seen,
    span: Option<(Timestamp, Timestamp)>,
    hosts: Vec<HostLines>,
    host_indices: HashMap<Option<String>, usize>,
    /// Index of the previous line's host.
    host: usize,
    /// Number of lines of hosts beyond [`HOSTS_MAX`].
    lines_over_host_limit: usize,
    starts: Vec<HostStart>,
    events: Vec<Line>,
    subjects: Vec<Subject>,
    subject_indices: HashMap<Subject, usize>,
    unparsed: usize,
    first_unparsed: Option<InputError>,
    /// Where the log was cut off.
    full_at: Option<Timestamp>,
    /// Number of lines about jobs that users other than root wrote.
    of_users: usize,
    /// Whether any user may have written lines that count.
    is_of_anybody: bool,
}

/// An event with its line.
#[derive(Debug, Clone, Copy)]
struct Line {
    at: Timestamp,
    number: usize,
    /// Index into the hosts.
    host: usize,
    event: Event,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Starts(usize),
    Ends(usize),
    Started(usize),
}

impl RunPairer {
    pub fn new(source: &str, seen: Seen) -> Self {
        Self {
            source: source.to_owned(),
            seen,
            span: None,
            hosts: Vec::new(),
            host_indices: HashMap::new(),
            host: 0,
            lines_over_host_limit: 0,
            starts: Vec::new(),
            events: Vec::new(),
            subjects: Vec::new(),
            subject_indices: HashMap::new(),
            unparsed: 0,
            first_unparsed: None,
            full_at: None,
            of_users: 0,
            is_of_anybody: seen == Seen::Syslog,
        }
    }

    /// Records a line about a job that a user other than root wrote, which does not count.
    pub fn count_of_users(&mut self) {
        self.of_users += 1;
    }

    /// Records that any user may have written a line that counts.
    pub fn allow_anybody(&mut self) {
        self.is_of_anybody = true;
    }

    /// Records a line that cannot be parsed.
    pub fn count_unparsed(&mut self, error: impl FnOnce() -> InputError) {
        self.unparsed += 1;
        self.first_unparsed.get_or_insert_with(error);
    }

    /// Adds a line with the text in its host field and its event; returns `false` if a limit is
    /// reached.
    pub fn push(
        &mut self,
        at: Timestamp,
        number: usize,
        host: Option<&str>,
        recorded: Option<LogEvent>,
    ) -> bool {
        let Some(host) = self.host_index(host.and_then(host_name), at) else {
            self.lines_over_host_limit += 1;
            return true;
        };
        let event = match recorded {
            None => None,
            Some(LogEvent::HostStarts) => {
                let own = &self.hosts[host];
                let before = self.span.map(|(_, last)| last);
                let before_own = (own.lines > 0).then_some(own.until);
                if self.starts.len() < OPEN_MAX {
                    self.starts.push(HostStart {
                        at,
                        host,
                        before: before.filter(|last| *last <= at),
                        before_own: before_own.filter(|last| *last <= at),
                    });
                }
                None
            }
            Some(LogEvent::Starts(subject)) => Some(Event::Starts(self.subject_index(subject))),
            Some(LogEvent::Ends(subject)) => Some(Event::Ends(self.subject_index(subject))),
            Some(LogEvent::Started(subject)) => Some(Event::Started(self.subject_index(subject))),
        };
        if self.subjects.len() > SUBJECTS_MAX || self.events.len() >= 2 * OBSERVED_MAX {
            self.full_at = Some(at);
            return false;
        }
        self.events.extend(event.map(|event| Line {
            at,
            number,
            host,
            event,
        }));
        let own = &mut self.hosts[host];
        own.lines += 1;
        (own.from, own.until) = (own.from.min(at), own.until.max(at));
        self.span = Some(match self.span {
            Some((first, last)) => (first.min(at), last.max(at)),
            None => (at, at),
        });
        true
    }

    /// Returns the index of a host; `None` if there are too many hosts.
    fn host_index(&mut self, name: Option<&str>, at: Timestamp) -> Option<usize> {
        let before = self.hosts.get(self.host);
        if before.is_some_and(|host| host.name.as_deref() == name) {
            return Some(self.host);
        }
        let name = name.map(str::to_owned);
        if let Some(&index) = self.host_indices.get(&name) {
            self.host = index;
            return Some(index);
        }
        if self.hosts.len() >= HOSTS_MAX {
            return None;
        }
        self.host = self.hosts.len();
        self.host_indices.insert(name.clone(), self.host);
        self.hosts.push(HostLines {
            name,
            from: at,
            until: at,
            lines: 0,
        });
        Some(self.host)
    }

    fn subject_index(&mut self, subject: Subject) -> usize {
        if let Some(&index) = self.subject_indices.get(&subject) {
            return index;
        }
        self.subjects.push(subject.clone());
        self.subject_indices
            .insert(subject, self.subjects.len() - 1);
        self.subjects.len() - 1
    }

    /// Finds out which units the descriptions are of, and drops the lines of the others: when a unit
    /// ends, an older systemd writes `backup.service: Succeeded.`, and right after it `Started Nightly
    /// backup.` or `Finished Nightly backup.`
    fn name_described(&mut self) {
        let is_described =
            |subjects: &[Subject], at: usize| matches!(subjects[at], Subject::Described(_));
        if !(0..self.subjects.len()).any(|at| is_described(&self.subjects, at)) {
            return;
        }
        // The units that descriptions seem to be of; `None` if there are several.
        let mut named: HashMap<usize, Option<usize>> = HashMap::new();
        let mut open: HashSet<(usize, usize)> = HashSet::new();
        let mut ended: HashMap<usize, (Timestamp, usize)> = HashMap::new();
        for line in &self.events {
            let (Event::Starts(subject) | Event::Ends(subject) | Event::Started(subject)) =
                line.event;
            let is_unit = matches!(self.subjects[subject], Subject::Unit(_));
            if !is_unit && !is_described(&self.subjects, subject) {
                continue;
            }
            let before = ended.remove(&line.host);
            match line.event {
                Event::Ends(_) if is_unit => {
                    ended.insert(line.host, (line.at, subject));
                }
                Event::Starts(_) if !is_unit => {
                    open.insert((line.host, subject));
                }
                Event::Ends(_) if open.remove(&(line.host, subject)) => {
                    let Some((at, unit)) = before else { continue };
                    if line.at.duration_since(at).as_secs_f64() <= SAME_END_S {
                        let known = named.entry(subject).or_insert(Some(unit));
                        *known = known.filter(|known| *known == unit);
                    }
                }
                Event::Starts(_) | Event::Ends(_) | Event::Started(_) => {}
            }
        }
        let subjects = &self.subjects;
        self.events.retain_mut(|line| {
            let (Event::Starts(subject) | Event::Ends(subject) | Event::Started(subject)) =
                &mut line.event;
            if !is_described(subjects, *subject) {
                return true;
            }
            let unit = named.get(subject).copied().flatten();
            *subject = unit.unwrap_or(*subject);
            unit.is_some()
        });
    }

    /// Builds the log.
    pub fn finish(mut self, empty: &str) -> Result<Log, InputError> {
        let Some((from, until)) = self.span else {
            let nothing = || InputError::new(&self.source, empty, "an empty file");
            return Err(self.first_unparsed.take().unwrap_or_else(nothing));
        };
        // The input may be newest first (`journalctl -r`) or out of order.
        self.events.sort_by_key(|line| (line.at, line.number));
        self.name_described();
        let mut runs = Runs::default();
        for line in &self.events {
            match line.event {
                Event::Starts(subject) => {
                    // systemd does not start a unit that is already running: the end of the
                    // previous run is missing.
                    if matches!(self.subjects[subject], Subject::Unit(_)) {
                        runs.open.remove(&(line.host, subject));
                    }
                    runs.begin(line, subject);
                }
                Event::Started(subject) => runs.started(line, subject),
                Event::Ends(subject) => runs.end(line, subject),
            }
        }
        let mut notes = Vec::new();
        if let Some(first) = &self.first_unparsed {
            let lines = if self.unparsed == 1 { "line" } else { "lines" };
            // Omit the text of the line: it may be a command with a password.
            let place = first.line.map_or(String::new(), |line| format!(":{line}"));
            notes.push(format!(
                "{} {lines} could not be read, the first is {}{place}",
                self.unparsed, self.source
            ));
        }
        if self.of_users > 0 {
            let (entries, were) = match self.of_users {
                1 => ("entry", "was"),
                _ => ("entries", "were"),
            };
            notes.push(format!(
                "{} {entries} about jobs {were} not written by root, and do not count: every user may \
                 write such",
                self.of_users
            ));
        }
        if self.lines_over_host_limit > 0 {
            notes.push(format!(
                "{} lines of {} are left out: it names more than {HOSTS_MAX} hosts",
                self.lines_over_host_limit, self.source
            ));
        }
        if let Some(at) = self.full_at {
            notes.push(format!(
                "{} is read until {at} only: it tells of too much",
                self.source
            ));
        }
        Ok(Log {
            uptimes: uptimes(&self.starts),
            parts: vec![Part {
                name: self.source.clone(),
                has_lines: true,
            }],
            host_starts: self.starts,
            source: self.source,
            seen: self.seen,
            from,
            until,
            notes,
            is_of_anybody: self.is_of_anybody,
            hosts: self.hosts,
            subjects: self.subjects,
            observed: runs.observed,
        })
    }
}

/// Open runs and all runs. Each host has its own.
#[derive(Default)]
struct Runs {
    observed: Vec<Observed>,
    /// Runs that have begun and not ended, by host and subject.
    open: HashMap<(usize, usize), VecDeque<usize>>,
    /// When the last one ended, by host and subject.
    ended: HashMap<(usize, usize), Timestamp>,
}

impl Runs {
    fn begin(&mut self, line: &Line, subject: usize) {
        let under_way = self.open.entry((line.host, subject)).or_default();
        if under_way.len() == OPEN_MAX {
            under_way.pop_front();
        }
        under_way.push_back(self.observed.len());
        self.observed.push(Observed {
            start: line.at,
            len_s: None,
            subject,
            host: line.host,
            part: 0,
            line: line.number,
        });
    }

    fn started(&mut self, line: &Line, subject: usize) {
        let key = (line.host, subject);
        let is_same = self
            .ended
            .get(&key)
            .is_some_and(|at| line.at.duration_since(*at).as_secs_f64() <= SAME_END_S);
        if self.open.get(&key).is_some_and(|runs| !runs.is_empty()) {
            self.end(line, subject);
        } else if !is_same {
            self.begin(line, subject);
        }
    }

    fn end(&mut self, line: &Line, subject: usize) {
        let key = (line.host, subject);
        self.ended.insert(key, line.at);
        if let Some(index) = self.open.get_mut(&key).and_then(VecDeque::pop_front) {
            let run = &mut self.observed[index];
            run.len_s = Some(line.at.duration_since(run.start).as_secs_f64());
        }
    }
}

/// Computes when the host was up: from each boot to the last line before the next one. The boot
/// before the first recorded one is unknown.
pub(super) fn uptimes(starts: &[HostStart]) -> Vec<Uptime> {
    let mut known = Vec::new();
    if let Some(before) = starts.first().and_then(|start| start.before) {
        known.push(Uptime {
            from: Timestamp::MIN,
            until: Some(before),
        });
    }
    for (index, start) in starts.iter().enumerate() {
        known.push(Uptime {
            from: start.at,
            until: starts.get(index + 1).and_then(|next| next.before),
        });
    }
    known
}
