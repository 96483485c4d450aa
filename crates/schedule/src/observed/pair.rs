//! Begins and ends of runs, put together.

use super::host_lines::{HostLines, HostStart, host_name};
use super::log::{HOSTS_MAX, Log, OBSERVED_MAX, Observed, Part, SUBJECTS_MAX};
use super::message::Told;
use super::subject::Subject;
use crate::conditions::Uptime;
use crate::run::Seen;
use facts::InputError;
use jiff::Timestamp;
use std::collections::{HashMap, VecDeque};

/// systemd says "deactivated" and "finished" of the same run; in this time, in seconds.
const SAME_END_S: f64 = 2.0;
/// Runs of one subject that are under way at once.
const OPEN_MAX: usize = 1_000;

/// Said of a line that cannot be read, in the place of its text.
pub(super) const UNTOLD: &str = "something else";

/// Takes the lines of a log.
pub(super) struct Pairs {
    source: String,
    seen: Seen,
    span: Option<(Timestamp, Timestamp)>,
    hosts: Vec<HostLines>,
    of_names: HashMap<Option<String>, usize>,
    /// Of the line before.
    host: usize,
    /// Lines of hosts beyond those that are kept.
    of_further: usize,
    starts: Vec<HostStart>,
    told: Vec<Line>,
    subjects: Vec<Subject>,
    places: HashMap<Subject, usize>,
    unread: usize,
    first_unread: Option<InputError>,
    /// Where it was cut.
    full_at: Option<Timestamp>,
}

/// What a line tells.
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

impl Pairs {
    pub fn new(source: &str, seen: Seen) -> Self {
        Self {
            source: source.to_owned(),
            seen,
            span: None,
            hosts: Vec::new(),
            of_names: HashMap::new(),
            host: 0,
            of_further: 0,
            starts: Vec::new(),
            told: Vec::new(),
            subjects: Vec::new(),
            places: HashMap::new(),
            unread: 0,
            first_unread: None,
            full_at: None,
        }
    }

    /// A line that cannot be read.
    pub fn unread(&mut self, error: impl FnOnce() -> InputError) {
        self.unread += 1;
        self.first_unread.get_or_insert_with(error);
    }

    /// A line, what stands where it names its host, and what it tells; `false` where no more are taken.
    pub fn take(
        &mut self,
        at: Timestamp,
        number: usize,
        host: Option<&str>,
        told: Option<Told>,
    ) -> bool {
        let Some(host) = self.host(host.and_then(host_name), at) else {
            self.of_further += 1;
            return true;
        };
        let event = match told {
            None => None,
            Some(Told::HostStarts) => {
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
            Some(Told::Starts(subject)) => Some(Event::Starts(self.place(subject))),
            Some(Told::Ends(subject)) => Some(Event::Ends(self.place(subject))),
            Some(Told::Started(subject)) => Some(Event::Started(self.place(subject))),
        };
        if self.subjects.len() > SUBJECTS_MAX || self.told.len() >= 2 * OBSERVED_MAX {
            self.full_at = Some(at);
            return false;
        }
        self.told.extend(event.map(|event| Line {
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

    /// The place of a host; `None` where there are as many as may be.
    fn host(&mut self, name: Option<&str>, at: Timestamp) -> Option<usize> {
        let before = self.hosts.get(self.host);
        if before.is_some_and(|host| host.name.as_deref() == name) {
            return Some(self.host);
        }
        let name = name.map(str::to_owned);
        if let Some(&place) = self.of_names.get(&name) {
            self.host = place;
            return Some(place);
        }
        if self.hosts.len() >= HOSTS_MAX {
            return None;
        }
        self.host = self.hosts.len();
        self.of_names.insert(name.clone(), self.host);
        self.hosts.push(HostLines {
            name,
            from: at,
            until: at,
            lines: 0,
        });
        Some(self.host)
    }

    fn place(&mut self, subject: Subject) -> usize {
        if let Some(&place) = self.places.get(&subject) {
            return place;
        }
        self.subjects.push(subject.clone());
        self.places.insert(subject, self.subjects.len() - 1);
        self.subjects.len() - 1
    }

    /// The log.
    pub fn finish(mut self, empty: &str) -> Result<Log, InputError> {
        let Some((from, until)) = self.span else {
            let nothing = || InputError::new(&self.source, empty, "");
            return Err(self.first_unread.take().unwrap_or_else(nothing));
        };
        // Newest first (`journalctl -r`) and lines out of order are no trouble.
        self.told.sort_by_key(|line| (line.at, line.number));
        let mut runs = Runs::default();
        for line in &self.told {
            match line.event {
                Event::Starts(subject) => {
                    // systemd does not start a unit that runs: the end of the one before is missing.
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
        if let Some(first) = &self.first_unread {
            let lines = if self.unread == 1 { "line" } else { "lines" };
            // Not what stands there: it may be a command with a password.
            let place = first.line.map_or(String::new(), |line| format!(":{line}"));
            notes.push(format!(
                "{} {lines} could not be read, the first is {}{place}",
                self.unread, self.source
            ));
        }
        if self.of_further > 0 {
            notes.push(format!(
                "{} lines of {} are left out: it names more than {HOSTS_MAX} hosts",
                self.of_further, self.source
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
            hosts: self.hosts,
            subjects: self.subjects,
            observed: runs.observed,
        })
    }
}

/// Runs under way, and all of them. Each host has its own.
#[derive(Default)]
struct Runs {
    observed: Vec<Observed>,
    /// Begun and not ended, by host and subject.
    open: HashMap<(usize, usize), VecDeque<usize>>,
    /// When the last one ended.
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

/// The host was up from each start to the last line before the next one. When it was started before
/// the first is not known.
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
