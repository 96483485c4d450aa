//! What changed and when: changes of the environment and notes, with the metrics that moved at the same time; and
//! lasting changes of metrics at times when nothing is known to have happened.

use super::drawn::{Nightly, id};
use explain::verdict::{Change, ChangeKind};
use jiff::{SignedDuration, Timestamp};
use page::{Block, Cell, Section, Table};
use std::collections::BTreeSet;
use units::share::percent_change;

/// Maximum number of rows.
const ROWS_MAX: usize = 60;
/// Maximum number of metrics named in a row.
const NAMES_MAX: usize = 4;

/// What changed, newest first.
pub(super) struct Timeline {
    events: Vec<Event>,
}

struct Event {
    /// The number of the annotation on the charts.
    number: Option<usize>,
    at: Timestamp,
    /// What happened; empty if nothing is known.
    what: String,
    moved: Vec<Moved>,
}

/// A lasting change of a metric.
#[derive(Clone)]
struct Moved {
    /// Index of the metric.
    metric: usize,
    name: String,
    /// By how much: `-5.1 %`.
    by: String,
    from: Timestamp,
    to: Timestamp,
}

impl Timeline {
    pub fn of(nightly: &Nightly) -> Self {
        let moved: Vec<Moved> = nightly
            .metrics()
            .enumerate()
            .flat_map(|(index, (metric, verdict))| {
                let changes = verdict.verdict.changes.iter();
                changes.map(move |change| Moved {
                    metric: index,
                    name: metric.name.clone(),
                    by: by(change),
                    from: change.from,
                    to: change.to,
                })
            })
            .collect();
        let reach = reach(nightly);
        let meet = |one: &Moved, from: Timestamp, to: Timestamp| {
            one.from <= to.saturating_add(reach).unwrap_or(Timestamp::MAX)
                && from <= one.to.saturating_add(reach).unwrap_or(Timestamp::MAX)
        };
        let mut known = vec![false; moved.len()];
        let mut events: Vec<Event> = Vec::new();
        for (number, annotation) in (1..).zip(&nightly.history.annotations) {
            let mut own = Vec::new();
            for (one, is_known) in moved.iter().zip(&mut known) {
                if meet(one, annotation.from, annotation.to) {
                    *is_known = true;
                    own.push(one.clone());
                }
            }
            events.push(Event {
                number: Some(number),
                at: annotation.to,
                what: annotation.text.clone(),
                moved: own,
            });
        }
        let mut alone: Vec<Moved> = moved
            .into_iter()
            .zip(known)
            .filter_map(|(one, is_known)| (!is_known).then_some(one))
            .collect();
        alone.sort_by_key(|one| (one.to, one.metric));
        for one in alone {
            match events
                .last_mut()
                .filter(|event| event.number.is_none() && meet(&one, event.at, event.at))
            {
                Some(event) => event.moved.push(one),
                None => events.push(Event {
                    number: None,
                    at: one.to,
                    what: String::new(),
                    moved: vec![one],
                }),
            }
        }
        for event in &mut events {
            event.moved.sort_by_key(|one| one.metric);
            event.moved.dedup_by_key(|one| one.metric);
        }
        events.sort_by_key(|event| std::cmp::Reverse((event.at, event.number)));
        Self { events }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// How many metrics have a lasting change.
    pub fn metrics_moved(&self) -> usize {
        let moved = self.events.iter().flat_map(|event| &event.moved);
        moved.map(|one| one.metric).collect::<BTreeSet<_>>().len()
    }

    /// When the last of them was.
    pub fn last_moved(&self) -> Option<Timestamp> {
        let moved = self.events.iter().flat_map(|event| &event.moved);
        moved.map(|one| one.to).max()
    }

    /// The newest changes, one line each.
    pub fn lines(&self, nightly: &Nightly, max: usize) -> Vec<String> {
        let line = |event: &Event| {
            let day = units::date::day(event.at, &nightly.clock);
            let moved = event.names();
            match (event.what.as_str(), moved.as_str()) {
                ("", moved) => format!("{day}: {moved}"),
                (what, "") => format!("{day}: {what}"),
                (what, moved) => format!("{day}: {what}; then {moved}"),
            }
        };
        self.events.iter().take(max).map(line).collect()
    }

    /// The section on what changed; `None` if nothing did.
    pub fn section(&self, nightly: &Nightly) -> Option<Section> {
        if self.events.is_empty() {
            return None;
        }
        let mut section = Section::new("What changed");
        let mut table = Table::new(&[
            "when",
            "<what happened",
            "<what moved",
            "number on the charts",
        ]);
        for event in self.events.iter().take(ROWS_MAX) {
            let what = if event.what.is_empty() {
                "nothing known"
            } else {
                &event.what
            };
            let first = event.moved.first().map(|one| id(one.metric));
            let number = event
                .number
                .map_or_else(String::new, |number| number.to_string());
            table.rows.push(vec![
                units::date::day(event.at, &nightly.clock).into(),
                what.into(),
                Cell {
                    text: if event.moved.is_empty() {
                        "nothing".to_owned()
                    } else {
                        event.names()
                    },
                    section: first,
                    ..Cell::default()
                },
                number.into(),
            ]);
        }
        section.push(table);
        if self.events.len() > ROWS_MAX {
            let more = units::count(self.events.len() - ROWS_MAX, "earlier change");
            section.push(Block::aside(format!("And {more}: --format json has all.")));
        }
        Some(section)
    }
}

impl Event {
    /// `bulk throughput -5.1 %, search latency p99 +12 % and 3 more`.
    fn names(&self) -> String {
        let moved = self.moved.iter();
        let all: Vec<String> = moved
            .map(|one| format!("{} {}", one.name, one.by))
            .collect();
        units::list::list_up_to(&all, NAMES_MAX)
    }
}

/// How a metric changed, in two words.
fn by(change: &Change) -> String {
    match (change.what, change.levels()) {
        (ChangeKind::Level, Some((before, after))) if before != 0.0 => {
            percent_change((after - before) / before.abs())
        }
        (ChangeKind::Level, Some((before, after))) => {
            format!("{} to {}", units::number(before), units::number(after))
        }
        (ChangeKind::Level, None) => "changed".to_owned(),
        (ChangeKind::Slope, _) => "has another slope".to_owned(),
        (ChangeKind::PatternBegins, _) => "begins to recur".to_owned(),
        (ChangeKind::PatternEnds, _) => "stops recurring".to_owned(),
    }
}

/// How far apart a change and what happened may be: the change is between two trials, or a trial off.
fn reach(nightly: &Nightly) -> SignedDuration {
    let mut gaps: Vec<SignedDuration> = nightly
        .history
        .trials
        .windows(2)
        .map(|pair| pair[1].at().duration_since(pair[0].at()))
        .collect();
    gaps.sort();
    let middle = gaps.get(gaps.len() / 2).copied();
    middle
        .unwrap_or(SignedDuration::from_hours(24))
        .min(SignedDuration::from_hours(7 * 24))
        * 2
}
