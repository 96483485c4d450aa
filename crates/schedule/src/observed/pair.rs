//! Begins and ends of runs, put together.

use super::message::Told;
use super::{Log, OBSERVED_MAX, Observed, Part, SUBJECTS_MAX, Subject};
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
    /// Starts of the host, each with the last line before it.
    starts: Vec<(Timestamp, Option<Timestamp>)>,
    told: Vec<(Timestamp, usize, Event)>,
    subjects: Vec<Subject>,
    places: HashMap<Subject, usize>,
    unread: usize,
    first_unread: Option<InputError>,
    /// Where it was cut.
    full_at: Option<Timestamp>,
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

    /// A line and what it tells; `false` where no more are taken.
    pub fn take(&mut self, at: Timestamp, line: usize, told: Option<Told>) -> bool {
        let event = match told {
            None => None,
            Some(Told::HostStarts) => {
                let before = self.span.map(|(_, last)| last).filter(|last| *last <= at);
                if self.starts.len() < OPEN_MAX {
                    self.starts.push((at, before));
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
        self.told.extend(event.map(|event| (at, line, event)));
        self.span = Some(match self.span {
            Some((first, last)) => (first.min(at), last.max(at)),
            None => (at, at),
        });
        true
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
        self.told.sort_by_key(|(at, line, _)| (*at, *line));
        let mut observed: Vec<Observed> = Vec::new();
        let mut open: HashMap<usize, VecDeque<usize>> = HashMap::new();
        let mut ended: HashMap<usize, Timestamp> = HashMap::new();
        for &(start, line, event) in &self.told {
            let mut begin = |subject: usize, open: &mut HashMap<usize, VecDeque<usize>>| {
                let under_way = open.entry(subject).or_default();
                if under_way.len() == OPEN_MAX {
                    under_way.pop_front();
                }
                under_way.push_back(observed.len());
                observed.push(Observed {
                    start,
                    len_s: None,
                    subject,
                    part: 0,
                    line,
                });
            };
            match event {
                Event::Starts(subject) => {
                    // systemd does not start a unit that runs: the end of the one before is missing.
                    if matches!(self.subjects[subject], Subject::Unit(_)) {
                        open.remove(&subject);
                    }
                    begin(subject, &mut open);
                }
                Event::Started(subject) => {
                    let is_same = ended
                        .get(&subject)
                        .is_some_and(|at| start.duration_since(*at).as_secs_f64() <= SAME_END_S);
                    let has_begun = open.get(&subject).is_some_and(|runs| !runs.is_empty());
                    if has_begun {
                        end(subject, start, &mut open, &mut ended, &mut observed);
                    } else if !is_same {
                        begin(subject, &mut open);
                    }
                }
                Event::Ends(subject) => end(subject, start, &mut open, &mut ended, &mut observed),
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
            subjects: self.subjects,
            observed,
        })
    }
}

fn end(
    subject: usize,
    at: Timestamp,
    open: &mut HashMap<usize, VecDeque<usize>>,
    ended: &mut HashMap<usize, Timestamp>,
    observed: &mut [Observed],
) {
    ended.insert(subject, at);
    if let Some(index) = open.get_mut(&subject).and_then(VecDeque::pop_front) {
        let run = &mut observed[index];
        run.len_s = Some(at.duration_since(run.start).as_secs_f64());
    }
}

/// The host was up from each start to the last line before the next one. When it was started before
/// the first is not known.
pub(super) fn uptimes(starts: &[(Timestamp, Option<Timestamp>)]) -> Vec<Uptime> {
    let mut known = Vec::new();
    if let Some((_, Some(before))) = starts.first() {
        known.push(Uptime {
            from: Timestamp::MIN,
            until: Some(*before),
        });
    }
    for (index, (from, _)) in starts.iter().enumerate() {
        known.push(Uptime {
            from: *from,
            until: starts.get(index + 1).and_then(|(_, before)| *before),
        });
    }
    known
}
