//! The trials: which do not count and why, and where the files of each are.

use super::drawn::Nightly;
use bench::nightly::{Night, Outcome};
use page::{Cell, Section, Table};

/// Trials that are listed before the others are folded.
const NIGHTS_SHOWN: usize = 14;
/// Files of a trial, with the name of their column.
const FILES: [(&str, &str); 4] = [
    ("trial.json", "<document"),
    ("client.csv", "<client"),
    ("host.csv", "<host"),
    ("server.csv", "<server"),
];

/// What to know before anything else: the last trial does not count.
pub(super) fn caution(nightly: &Nightly) -> Option<String> {
    let last = nightly.history.trials.last()?;
    let word = match last.outcome {
        Outcome::Valid => return None,
        Outcome::Invalid => "is not valid",
        Outcome::Unfinished => "is unfinished",
    };
    let at = units::date::minute(last.started_at, &nightly.clock);
    Some(format!(
        "the last trial ({at}) {word}. {}",
        last.reasons.join(" ")
    ))
}

/// The sections on trials, newest first.
pub(super) fn sections(nightly: &Nightly) -> Vec<Section> {
    let newest: Vec<&Night> = nightly.history.trials.iter().rev().collect();
    let wrong: Vec<&Night> = newest
        .iter()
        .copied()
        .filter(|night| night.outcome != Outcome::Valid)
        .collect();
    let mut sections = Vec::new();
    if !wrong.is_empty() {
        let mut table = Table::new(&["started", "result", "<why"]);
        for night in &wrong {
            let reasons = night.reasons.join(" ");
            table.rows.push(vec![
                file(night, "trial.json", &started(nightly, night)),
                result(night).into(),
                reasons.into(),
            ]);
        }
        let mut section = Section::with_aside(
            "Trials that do not count",
            units::count(wrong.len(), "trial"),
        );
        section.push(table);
        sections.push(section);
    }
    let (shown, older) = newest.split_at(NIGHTS_SHOWN.min(newest.len()));
    let mut section = Section::new("Trials");
    section.push(files(nightly, shown));
    if !older.is_empty() {
        let mut folded = Section::new(units::count(older.len(), "older trial"));
        folded.is_folded = true;
        folded.push(files(nightly, older));
        section.push(folded);
    }
    sections.push(section);
    sections
}

/// A table with links to the files of trials.
fn files(nightly: &Nightly, nights: &[&Night]) -> Table {
    let is_there = |name: &str| {
        let mut files = nights.iter().flat_map(|night| &night.files);
        files.any(|file| file == name)
    };
    let present: Vec<(&str, &str)> = FILES
        .into_iter()
        .filter(|(name, _)| is_there(name))
        .collect();
    let has_many_tracks = nights.iter().any(|night| night.track != nights[0].track);
    let mut columns = vec!["<started", "<result"];
    if has_many_tracks {
        columns.push("<track");
    }
    columns.extend(present.iter().map(|(_, column)| column));
    let mut table = Table::new(&columns);
    for night in nights {
        let mut row = vec![started(nightly, night).into(), result(night).into()];
        if has_many_tracks {
            row.push(Cell::from(night.track.as_str()));
        }
        let links = present.iter().map(|(name, _)| file(night, name, name));
        row.extend(links);
        table.rows.push(row);
    }
    table
}

fn started(nightly: &Nightly, night: &Night) -> String {
    units::date::weekday_minute(night.started_at, &nightly.clock)
}

fn result(night: &Night) -> &'static str {
    match night.outcome {
        Outcome::Valid => "valid",
        Outcome::Invalid => "not valid",
        Outcome::Unfinished => "unfinished",
    }
}

/// A link to a file of a trial; empty if it has none of that name.
fn file(night: &Night, name: &str, text: &str) -> Cell {
    if !night.files.iter().any(|file| file == name) {
        return Cell::default();
    }
    Cell {
        text: text.to_owned(),
        file: Some(format!("{}/{name}", night.folder)),
        ..Cell::default()
    }
}
