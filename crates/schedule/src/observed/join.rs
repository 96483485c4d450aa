//! Several files as one log.

use super::pair::uptimes;
use super::{Events, Log, OBSERVED_MAX, SUBJECTS_MAX, Sighting, Subject};
use std::collections::HashMap;

/// A run in the journal and in a file of syslog, or in two files of syslog, is the same one when the two
/// tell it within this, in seconds: a forwarded line may come late.
const SAME_RUN_S: f64 = 5.0;

impl Log {
    /// Files of which each goes on where another one ends, as one log: `syslog.1` and `syslog`. A job
    /// that one of them tells of did not run in the time of the others unless they tell of it.
    ///
    /// The name is that of the newest, and evidence names each file. A run that begins in one file and
    /// ends in the next has no length. `None` where there is no file.
    pub fn joined(mut files: Vec<Self>) -> Option<Self> {
        files.sort_by_key(|file| (file.from, file.until));
        let mut files = files.into_iter();
        let mut whole = files.next()?;
        let mut places: HashMap<Subject, usize> = whole.subjects.iter().cloned().zip(0..).collect();
        for file in files {
            whole.append(file, &mut places);
        }
        whole.observed.sort_by_key(|seen| seen.start);
        whole.uptimes = uptimes(&whole.host_starts);
        Some(whole)
    }

    fn append(&mut self, file: Self, places: &mut HashMap<Subject, usize>) {
        // Far more than a host has: no more is taken in, as within a file.
        let subjects = self.subjects.len() + file.subjects.len();
        if subjects > SUBJECTS_MAX || self.count() + file.count() > OBSERVED_MAX {
            self.notes.push(format!(
                "{} and what came after it are not read: {} tells of too much",
                file.source, self.source
            ));
            return;
        }
        let parts = self.parts.len();
        let of_subjects: Vec<usize> = file
            .subjects
            .into_iter()
            .map(|subject| {
                *places.entry(subject).or_insert_with_key(|subject| {
                    self.subjects.push(subject.clone());
                    self.subjects.len() - 1
                })
            })
            .collect();
        self.observed
            .extend(file.observed.into_iter().map(|mut seen| {
                seen.subject = of_subjects[seen.subject];
                seen.part += parts;
                seen
            }));
        let before = self.until;
        self.host_starts
            .extend(file.host_starts.into_iter().map(|(start, last)| {
                let last = last.or((before <= start).then_some(before));
                (start, last)
            }));
        self.parts.extend(file.parts);
        self.notes.extend(file.notes);
        self.until = self.until.max(file.until);
        self.source = file.source;
    }

    /// The log of a text that nobody keeps, such as a command's answer: evidence names no line of it.
    #[must_use]
    pub fn without_lines(mut self) -> Self {
        for part in &mut self.parts {
            part.has_lines = false;
        }
        self
    }

    /// [`observed_runs`] of this log alone.
    pub fn events(&self) -> Vec<Events> {
        observed_runs(std::slice::from_ref(self))
    }

    /// How many files it was read from.
    pub fn files(&self) -> usize {
        self.parts.len()
    }
}

/// Takes out what a second log tells of the same runs: `runs` are in the order of their starts, each with
/// the log that tells it. Of two the one that is known better stays.
pub(crate) fn drop_doubles(runs: &mut Vec<(usize, Sighting<'_>)>) {
    runs.sort_by_key(|(_, seen)| (seen.start, seen.log.seen));
    runs.dedup_by(|(later_log, later), (kept_log, kept)| {
        let same = later_log != kept_log
            && later.start.duration_since(kept.start).as_secs_f64() <= SAME_RUN_S;
        if same {
            if later.log.seen < kept.log.seen {
                std::mem::swap(later, kept);
                std::mem::swap(later_log, kept_log);
            }
            kept.len_s = kept.len_s.or(later.len_s);
        }
        same
    });
}

/// All that logs tell of, by the names of what was started, for whoever takes the logs for lists of
/// events. A run that two of them tell of is there once.
pub fn observed_runs(logs: &[Log]) -> Vec<Events> {
    let mut lists: Vec<(String, Vec<(usize, Sighting<'_>)>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (index, log) in logs.iter().enumerate() {
        let places: Vec<usize> = log
            .subjects
            .iter()
            .map(|subject| {
                *known.entry(subject.name()).or_insert_with_key(|name| {
                    lists.push((name.clone(), Vec::new()));
                    lists.len() - 1
                })
            })
            .collect();
        for seen in &log.observed {
            let list = &mut lists[places[seen.subject]].1;
            list.push((index, log.sighting(seen)));
        }
    }
    lists
        .into_iter()
        .filter(|(_, seen)| !seen.is_empty())
        .map(|(name, mut seen)| {
            drop_doubles(&mut seen);
            let runs = seen.iter().map(|(_, seen)| seen.run(&name)).collect();
            Events { name, runs }
        })
        .collect()
}
