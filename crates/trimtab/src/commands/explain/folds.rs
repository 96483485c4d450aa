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
    let folds = match elastic::fold(client, endpoint, &query, times, &mut told) {
        Ok(None) => None,
        Ok(Some(folds)) => Some(folds),
        // What cannot be folded is read as far as it goes.
        Err(error @ (SourceError::Http(_) | SourceError::Empty { .. })) => return Err(error),
        Err(error) => {
            let mut reading = elastic::read(client, endpoint, &query, times, limits)?;
            let what = format!("the weeks of all values of {by}");
            let skipped = Skipped::new(what, error.to_string(), None);
            reading.skipped.push(skipped);
            return Ok(Many {
                reading,
                folded: None,
            });
        }
    };
    let Some(folds) = folds else {
        let reading = elastic::read(client, endpoint, &query, times, limits)?;
        return Ok(Many {
            reading,
            folded: None,
        });
    };
    draw.show(&format!(
        "comparing {}",
        count(folds.weeks.len(), "folded week")
    ));
    tracing::info!(
        values = folds.weeks.len(),
        slots = folds.slots,
        "{endpoint}: weeks folded"
    );
    let found = folded(&folds.weeks, better.or(folds.better));
    for name in found.groups.iter().flat_map(|kin| &kin.shown) {
        if !query.split_values.contains(name) {
            query.split_values.push(name.clone());
        }
    }
    let mut reading = elastic::read(client, endpoint, &query, times, limits)?;
    let samples: usize = reading.series.iter().map(|one| one.values.len()).sum();
    tracing::info!(samples, "{endpoint}: curves read whole");
    reading.warnings.push(words(&folds, &found, &query, &by));
    // Said better by that.
    reading
        .skipped
        .retain(|skipped| !skipped.what.starts_with("further values"));
    Ok(Many {
        reading,
        folded: Some(found),
    })
}

fn words(folds: &Folds, found: &Folded, query: &Query, by: &str) -> String {
    let all = units::count::counted(folds.weeks.len(), "value", "values");
    let more = if folds.is_cut { ", and not all" } else { "" };
    if found.groups.is_empty() {
        return format!(
            "{all} of {by}{more} were compared by their folded weeks, of which none are alike; those with the most documents were \
             read whole"
        );
    }
    let names = list_up_to(&query.split_values, NAMES_MAX);
    format!(
        "{all} of {by}{more} were compared by their folded weeks; read whole, for those that are alike: {names}"
    )
}
