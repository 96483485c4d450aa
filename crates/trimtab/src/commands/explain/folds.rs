//! Curves of more hosts than are read whole: the server folds their weeks, which tell which of them are worth it.

use crate::progress::Draw;
use ::explain::folds::{Folded, folded};
use bounded_http::{Client, Endpoint};
use facts::Skipped;
use facts::series::Better;
use sources::elastic::{self, Folds, Query};
use sources::{Limits, Reading, SourceError, Times};
use units::count;
use units::list::list_up_to;

/// Maximum number of names in one line.
const NAMES_MAX: usize = 12;

/// The curves that were read whole, and what folded weeks tell of the others.
pub(super) struct Many {
    pub reading: Reading,
    pub folded: Option<Folded>,
}

/// Reads the curves of a query. Of too many hosts, those that folded weeks show to be alike are represented by a few.
///
/// # Errors
/// As [`elastic::read`].
pub(super) fn read(
    client: &Client,
    endpoint: &Endpoint,
    mut query: Query,
    times: &Times,
    limits: &Limits,
    better: Option<Better>,
    draw: &mut Draw,
) -> Result<Many, SourceError> {
    let by = query.split_by.clone().unwrap_or_default();
    let mut told = |done: usize, all: usize| {
        draw.show(&format!("folding the weeks of {by}: {done} of {all}"));
    };
    // What cannot be folded is read as far as it goes, which fails for the same reason if nothing answers.
    let folds = elastic::fold(client, endpoint, &query, times, &mut told);
    let folded = match &folds {
        Ok(Some(folds)) => Some(compared(folds, better, endpoint, draw)),
        Ok(None) | Err(_) => None,
    };
    let shown = folded.iter().flat_map(|folded| &folded.groups);
    for name in shown.flat_map(|kin| &kin.shown) {
        if !query.split_values.contains(name) {
            query.split_values.push(name.clone());
        }
    }
    let mut reading = elastic::read(client, endpoint, &query, times, limits)?;
    match (folds, &folded) {
        (Ok(Some(folds)), Some(folded)) => {
            let samples: usize = reading.series.iter().map(|one| one.values.len()).sum();
            tracing::info!(samples, "{endpoint}: curves read whole");
            reading.warnings.push(words(&folds, folded, &query, &by));
        }
        (Err(error), _) => {
            let what = format!("the weeks of all values of {by}");
            let skipped = Skipped::new(what, error.to_string(), None);
            reading.skipped.push(skipped);
        }
        (Ok(_), _) => {}
    }
    Ok(Many { reading, folded })
}

fn compared(folds: &Folds, better: Option<Better>, endpoint: &Endpoint, draw: &mut Draw) -> Folded {
    let weeks = count(folds.weeks.len(), "folded week");
    draw.show(&format!("comparing {weeks}"));
    let slots = folds.slots;
    tracing::info!(slots, "{endpoint}: {weeks}");
    folded(&folds.weeks, better.or(folds.better))
}

fn words(folds: &Folds, found: &Folded, query: &Query, by: &str) -> String {
    let all = count(folds.weeks.len(), "value");
    let more = if folds.is_cut { ", and not all" } else { "" };
    if found.groups.is_empty() {
        return format!(
            "{all} of {by}{more} were compared by their folded weeks only, and none are alike; those with the most \
             documents were read whole"
        );
    }
    let names = list_up_to(&query.split_values, NAMES_MAX);
    format!(
        "{all} of {by}{more} were compared by their folded weeks only; {names} were read whole, as examples of those that \
         are alike"
    )
}
