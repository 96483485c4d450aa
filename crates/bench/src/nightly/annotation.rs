//! What changed from one night to the next.

use crate::trial::{JobRun, TrialDocument};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Something that happened, with its date.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Annotation {
    /// What it is.
    pub kind: AnnotationKind,
    /// In a few words: `kernel 6.1.0-41 (before: 6.1.0-40)`, or the note.
    pub text: String,
    /// Its earliest time.
    pub from: Timestamp,
    /// Its latest time.
    pub to: Timestamp,
}

/// What an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnnotationKind {
    /// The environment of a trial differs from that of the one before.
    Environment,
    /// The track differs: the trials before are not repetitions of those after.
    Track,
    /// The server's address differs.
    Target,
    /// A note by hand.
    Note,
}

/// Runs of a job within trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Within {
    /// The job.
    pub job: String,
    /// When it started, or was due.
    pub runs: Vec<Timestamp>,
}

/// What the last trial of a track said, and when it ended.
type Last = BTreeMap<(String, AnnotationKind, String), (String, Timestamp)>;

/// Collects what differs from night to night.
#[derive(Debug, Default)]
pub(super) struct Changes {
    last: Last,
    found: Vec<Annotation>,
    within: BTreeMap<String, Vec<Timestamp>>,
}

impl Changes {
    /// Adds a trial; they come in the order of their time. `ended_at` is the time of its values.
    pub fn add(&mut self, document: &TrialDocument, ended_at: Timestamp) {
        let environment = document.environment.iter();
        let environment = environment.map(|(key, value)| (AnnotationKind::Environment, key, value));
        let (track, target) = ("track".to_owned(), "target".to_owned());
        let own = [
            (AnnotationKind::Track, &track, &document.track_crc32),
            (AnnotationKind::Target, &target, &document.target),
        ];
        for (kind, key, value) in own.into_iter().chain(environment) {
            self.compare(document, kind, key, value, ended_at);
        }
        let runs = document.jobs.iter().filter(|run| run.is_within);
        for JobRun {
            name, started_at, ..
        } in runs
        {
            self.within
                .entry(name.clone())
                .or_default()
                .push(*started_at);
        }
    }

    /// Compares a value with the one of the same track's last trial that stated it: what one trial could not find
    /// out did not change.
    fn compare(
        &mut self,
        document: &TrialDocument,
        kind: AnnotationKind,
        key: &str,
        value: &str,
        ended_at: Timestamp,
    ) {
        let place = (document.track.clone(), kind, key.to_owned());
        let last = self.last.insert(place, (value.to_owned(), ended_at));
        let Some((before, from)) = last.filter(|(before, _)| before != value) else {
            return;
        };
        let text = match kind {
            AnnotationKind::Track => format!("track {} was edited", document.track),
            _ => format!("{key} {value} (before: {before})"),
        };
        let to = document.started_at.max(from);
        // Trials of several tracks see the same change.
        let is_known = |one: &Annotation| one.text == text && one.to >= from;
        match self.found.iter_mut().rev().find(|one| is_known(one)) {
            Some(known) => {
                known.from = known.from.max(from).min(known.to);
            }
            None => self.found.push(Annotation {
                kind,
                text,
                from,
                to,
            }),
        }
    }

    /// Returns the changes by time, and the runs of jobs within trials.
    pub fn finish(mut self) -> (Vec<Annotation>, Vec<Within>) {
        self.found.sort_by_key(|one| (one.to, one.from));
        let within = self.within.into_iter().map(|(job, mut runs)| {
            runs.sort();
            runs.dedup();
            Within { job, runs }
        });
        (self.found, within.collect())
    }
}
