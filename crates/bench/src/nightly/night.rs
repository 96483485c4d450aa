//! One trial of a history.

use crate::trial::{State, TrialDocument};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A trial of a history.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Night {
    /// Its folder within the history.
    pub folder: String,
    /// Its id.
    pub id: String,
    /// Name of its track.
    pub track: String,
    /// The server, without credentials.
    pub target: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended; `null` while it runs, or if it was killed.
    pub ended_at: Option<Timestamp>,
    /// Whether its values count.
    pub outcome: Outcome,
    /// Why they do not, with what to do about it; empty if they do.
    pub reasons: Vec<String>,
    /// Which of the files that a trial may have are in its folder.
    pub files: Vec<String>,
}

/// Whether the values of a trial count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended, and nothing speaks against it.
    Valid,
    /// Something speaks against it.
    Invalid,
    /// It runs, or was killed.
    Unfinished,
}

impl Night {
    /// Takes a trial's document from `folder`, which holds `files`.
    pub fn new(folder: &str, files: Vec<String>, document: &TrialDocument) -> Self {
        let reasons = reasons(document);
        let outcome = match &document.judgement {
            None => Outcome::Unfinished,
            Some(_) if reasons.is_empty() => Outcome::Valid,
            Some(_) => Outcome::Invalid,
        };
        Self {
            folder: folder.to_owned(),
            id: document.id.clone(),
            track: document.track.clone(),
            target: document.target.clone(),
            started_at: document.started_at,
            ended_at: document.ended_at,
            outcome,
            reasons,
            files,
        }
    }

    /// The time of its values: the end of what they cover, so that a job within the trial comes before them.
    pub fn at(&self) -> Timestamp {
        let ended_at = self.ended_at.unwrap_or(self.started_at);
        ended_at.max(self.started_at)
    }
}

fn reasons(document: &TrialDocument) -> Vec<String> {
    let because = |what: &str| match &document.state_detail {
        Some(detail) => format!("{what}: {detail}"),
        None => format!("{what}."),
    };
    let mut reasons = Vec::new();
    match (document.state, &document.judgement) {
        (_, None) => reasons.push(because("It has no end: it still runs, or was killed")),
        (State::Running, Some(_)) => reasons.push(because("It was judged, but did not end")),
        (State::Stopped, _) => reasons.push(because("It was stopped by a signal")),
        (State::Failed, _) => reasons.push(because("It failed")),
        (State::Complete | State::Overloaded, _) => {}
    }
    let judged = document.judgement.iter().flat_map(|one| &one.reasons);
    reasons.extend(judged.map(|reason| sentences(&reason.found, &reason.remedy)));
    reasons
}

/// What was found and what to do about it, as two sentences.
fn sentences(found: &str, remedy: &str) -> String {
    let gap = if remedy.is_empty() { "" } else { " " };
    format!("{}.{gap}{remedy}", found.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nightly::history::tests::document;
    use crate::validity::{Check, Judgement, Reason};

    #[test]
    fn a_night_is_valid_if_it_ended_and_nothing_speaks_against_it() {
        let of = |document: &TrialDocument| Night::new("n", Vec::new(), document);
        let mut trial = document(0, &[]);
        assert_eq!(of(&trial).outcome, Outcome::Valid);
        assert_eq!(of(&trial).at(), trial.ended_at.unwrap());
        trial.state = State::Stopped;
        trial.state_detail = Some("SIGTERM".to_owned());
        assert_eq!(of(&trial).reasons, ["It was stopped by a signal: SIGTERM"]);
        trial.state = State::Complete;
        trial.judgement = Some(Judgement {
            reasons: vec![Reason {
                check: Check::ForeignCpu,
                found: "other processes used 9 % of the CPU time".to_owned(),
                remedy: "Stop them.".to_owned(),
            }],
            unchecked: Vec::new(),
        });
        assert_eq!(
            of(&trial).reasons,
            ["other processes used 9 % of the CPU time. Stop them."]
        );
        assert_eq!(of(&trial).outcome, Outcome::Invalid);
        trial.judgement = None;
        trial.ended_at = None;
        assert_eq!(of(&trial).outcome, Outcome::Unfinished);
        assert_eq!(of(&trial).at(), trial.started_at);
    }
}
