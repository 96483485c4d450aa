//! Series of many hosts: those that show the same pattern at the same times are one row.

use super::listing::{self, ListedSeries};
use crate::explain::ExplainReport;
use explain::verdict::{Common, SeriesVerdict};
use page::Facts;
use std::collections::BTreeSet;
use units::count::counted;
use units::list::list_up_to;

/// Maximum number of names in one line.
const NAMES_MAX: usize = 8;

/// A row of the summary: a series, or several that are alike.
pub(super) struct Row<'a> {
    pub title: String,
    /// The series, or the first of them, whose effect is the largest.
    pub series: ListedSeries<'a>,
    /// What they have in common.
    pub common: Option<&'a Common>,
    /// The title of that series alone.
    pub name: String,
}

/// Returns the rows in the order of the series, those of several hosts first.
pub(super) fn rows<'a>(report: &ExplainReport<'a>, listed: &[ListedSeries<'a>]) -> Vec<Row<'a>> {
    let all = &report.analysis.series;
    let titles = listing::titles(listed);
    let place = |index: usize| {
        let verdict: *const SeriesVerdict = &raw const all[index];
        let is_it = |one: &ListedSeries<'_>| std::ptr::eq(one.verdict, verdict);
        listed.iter().position(is_it)
    };
    let mut told = BTreeSet::new();
    let mut rows = Vec::new();
    for common in &report.analysis.common {
        let places: Vec<usize> = common
            .series
            .iter()
            .filter_map(|&index| place(index))
            .collect();
        let Some(&first) = places.first() else {
            continue;
        };
        rows.push(Row {
            title: format!(
                "{} {}, {}",
                common.hosts.len(),
                what(common),
                counted(places.len(), "series", "series")
            ),
            series: listed[first],
            common: Some(common),
            name: titles[first].clone(),
        });
        told.extend(places);
    }
    let others = listed.iter().zip(titles).enumerate();
    rows.extend(
        others
            .filter(|(index, _)| !told.contains(index))
            .map(|(_, (series, title))| Row {
                name: title.clone(),
                title,
                series: *series,
                common: None,
            }),
    );
    rows
}

fn what(common: &Common) -> &'static str {
    if common.are_hosts { "hosts" } else { "sources" }
}

/// Returns the conclusions: those with known jobs, else the first.
pub(super) fn lead(report: &ExplainReport<'_>) -> Option<String> {
    const SENTENCES_MAX: usize = 3;
    let all = &report.analysis.common;
    let known = all.iter().filter(|common| !common.jobs.is_empty());
    let known: Vec<&str> = known.map(|common| common.sentence.as_str()).collect();
    match known.as_slice() {
        [] => all.first().map(|common| common.sentence.clone()),
        known => Some(known[..known.len().min(SENTENCES_MAX)].join(" ")),
    }
}

/// Names the hosts, and the series that is shown for them.
pub(super) fn about(common: &Common, shown: &str) -> Facts {
    let hosts = list_up_to(&common.hosts, NAMES_MAX);
    Facts::of([(what(common), hosts.as_str()), ("shown", shown)])
}
