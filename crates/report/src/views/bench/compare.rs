//! Page of `trimtab bench compare`: what differs, what does not, and what cannot be told.

use super::range::range;
use crate::views::phrases::words_if;
use bench::compare::{
    Comparison, Design, EnvironmentDifference, Place, Rank, Regression, Report, SetValues, Shows,
    Verdict,
};
use facts::series::Better;
use page::{Block, List, Page, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// Secondary metrics shown.
const DETAILS_MAX: usize = 200;
/// Nobody runs more trials than that for one answer.
const MORE_MAX: u32 = 1_000;

/// A comparison, and what it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// The comparison.
    #[serde(flatten)]
    pub report: Report,
    /// Smallest regression of a primary metric that is a failure, as a share; `null` if none is.
    pub fail_on_regression: Option<f64>,
    /// Whether one of them is shown to be that much worse.
    pub has_regressed: bool,
}

impl Compared {
    /// Judges a comparison.
    pub fn new(report: Report, fail_on_regression: Option<f64>) -> Self {
        let has_regressed = fail_on_regression.is_some_and(|share| {
            report.regressions(share).next().is_some() || report.appeared().next().is_some()
        });
        Self {
            report,
            fail_on_regression,
            has_regressed,
        }
    }
}

pub(super) fn page(compared: &Compared, is_brief: bool) -> Page {
    let report = &compared.report;
    let mut page = Page {
        cautions: report.notes.clone(),
        ..Page::new("trimtab bench compare", lead(compared))
    };
    let of_rank = |rank: Rank| -> Vec<&Comparison> {
        let all = report.comparisons.iter();
        all.filter(|comparison| comparison.rank == rank).collect()
    };
    let (primary, details) = (of_rank(Rank::Primary), of_rank(Rank::Secondary));
    if !primary.is_empty() {
        page.push(table(&primary, report));
    }
    let told = |one: &&Comparison| !is_brief || matches!(one.verdict, Verdict::Differs { .. });
    let shown: Vec<&Comparison> = details
        .iter()
        .copied()
        .filter(told)
        .take(DETAILS_MAX)
        .collect();
    if !details.is_empty() {
        let mut section = Section::new("Details");
        if !shown.is_empty() {
            section.push(table(&shown, report));
        }
        if shown.len() < details.len() {
            section.push(Block::aside(format!(
                "Not shown: {} without a proven difference (--format html shows all).",
                units::count(details.len() - shown.len(), "metric")
            )));
        }
        page.push(section);
    }
    page.extend(environment(&report.environment));
    if !report.skipped.is_empty() {
        let items = report.skipped.iter().map(|skipped| {
            format!(
                "{} {}, {}: {}",
                skipped.operation, skipped.metric, skipped.contender, skipped.reason
            )
        });
        page.push(List::new("Not compared", items));
    }
    page.push(Block::aside(method(report)));
    page
}

/// The most important result: a regression, then any difference, then how sure the rest is.
fn lead(compared: &Compared) -> String {
    let report = &compared.report;
    let primary = || {
        report
            .comparisons
            .iter()
            .filter(|one| one.rank == Rank::Primary)
    };
    if let Some(share) = compared.fail_on_regression {
        let regressions: Vec<&Comparison> = report.regressions(share).collect();
        if let Some(first) = regressions.first() {
            return format!(
                "Regression of {} or more: {}{}.",
                units::percent(share),
                sentence(first),
                others(regressions.len() - 1, "regressed")
            );
        }
    }
    let differing: Vec<&Comparison> = primary().filter(|one| one.is_better().is_some()).collect();
    let first = match differing.first() {
        Some(first) => format!(
            "{}{}.",
            units::list::capitalised(&sentence(first)),
            others(differing.len() - 1, "differ")
        ),
        None => match same(primary()) {
            Some((count, margin)) => format!(
                "No difference larger than {} in {}.",
                units::percent(margin),
                units::count(count, "metric")
            ),
            None => String::new(),
        },
    };
    let drifting = unknown(primary(), true);
    let mut sentences = vec![appeared(report), first, unknown(primary(), false)];
    // If nothing is shown to differ, how to find out comes first.
    sentences.insert(if differing.is_empty() { 1 } else { 2 }, drifting);
    if let Some(share) = compared.fail_on_regression {
        let open = primary().filter(|one| {
            matches!(
                one.regression(share),
                Regression::Possible | Regression::WorseMaybeByLess
            )
        });
        let open = open.count();
        let left_out = report.skipped.iter().find(|one| one.shows != Shows::Same);
        let state = if let Some(one) = left_out {
            let what = format!("{} {}", one.operation, one.metric);
            format!("not ruled out: {what} was not compared")
        } else if primary().next().is_none() {
            "not ruled out: no primary metric was compared".to_owned()
        } else if open == 0 {
            "ruled out".to_owned()
        } else {
            let metrics = units::count(open, "metric");
            format!("neither shown nor ruled out in {metrics}")
        };
        let share = units::percent(share);
        sentences.push(format!("A regression of {share} is {state}."));
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.join(" ")
}

/// What was 0 and is not any more.
fn appeared(report: &Report) -> String {
    report.appeared().next().map_or_else(String::new, |first| {
        let what = format!("{} {}", first.operation, first.metric);
        format!(
            "{} of {} is above 0 in all trials, and was 0 in all before, which is worse{}.",
            units::list::capitalised(&what),
            first.contender,
            others(report.appeared().count() - 1, "appeared")
        )
    })
}

fn same<'c>(all: impl Iterator<Item = &'c Comparison>) -> Option<(usize, f64)> {
    let margins: Vec<f64> = all
        .filter_map(|one| match one.verdict {
            Verdict::NoDifferenceLargerThan { margin } => Some(margin),
            _ => None,
        })
        .collect();
    margins.first().map(|margin| (margins.len(), *margin))
}

/// What cannot be told and what would: of the metrics that may only drift, or of the others.
fn unknown<'c>(all: impl Iterator<Item = &'c Comparison>, may_drift: bool) -> String {
    let needed: Vec<u32> = all
        .filter_map(|one| match one.verdict {
            Verdict::CannotTell {
                more_pairs_needed,
                in_turns,
                ..
            } if in_turns == may_drift => Some(more_pairs_needed),
            _ => None,
        })
        .collect();
    let Some(most) = needed.iter().max() else {
        return String::new();
    };
    let what = units::count(needed.len(), "metric");
    let way = match (may_drift, *most < MORE_MAX) {
        (true, true) => format!(", {} of each", units::count(*most, "trial")),
        (true, false) => "; trials differ too much among themselves".to_owned(),
        (false, true) => format!("{} of each would", units::count(*most, "more trial")),
        (false, false) => "trials differ too much among themselves".to_owned(),
    };
    if may_drift {
        format!("Cannot tell change from drift in {what}: run the sets in turns (A B B A){way}.")
    } else {
        format!("Cannot tell for {what}: {way}.")
    }
}

/// `; 2 more metrics differ`.
fn others(count: usize, did: &str) -> String {
    match (count, did) {
        (0, _) => String::new(),
        (1, "differ") => "; 1 more metric differs".to_owned(),
        _ => format!("; {} {did}", units::count(count, "more metric")),
    }
}

/// `bulk throughput mean of new is 6 % lower (5 to 7 %), which is worse`.
fn sentence(comparison: &Comparison) -> String {
    let judged = match comparison.is_better() {
        Some(true) => ", which is better",
        Some(false) => ", which is worse",
        None => "",
    };
    format!(
        "{} {} of {} is {}{judged}",
        comparison.operation,
        comparison.metric,
        comparison.contender,
        change(comparison)
    )
}

/// `0.94 times that of old (0.93 to 0.95)` as a change: `6 % lower (5 to 7 %)`.
fn change(comparison: &Comparison) -> String {
    let (ratio, interval) = (comparison.ratio, comparison.interval);
    let is_lower = ratio < 1.0;
    let share = |ratio: f64| if is_lower { 1.0 - ratio } else { ratio - 1.0 };
    let (near, far) = if is_lower {
        (share(interval.high), share(interval.low))
    } else {
        (share(interval.low), share(interval.high))
    };
    format!(
        "{} {} ({} to {})",
        units::percent(share(ratio)),
        if is_lower { "lower" } else { "higher" },
        units::percent(near),
        units::percent(far)
    )
}

fn table(comparisons: &[&Comparison], report: &Report) -> Table {
    let has_many = comparisons
        .iter()
        .any(|comparison| comparison.contender != comparisons[0].contender);
    let mut columns = vec!["<metric"];
    if has_many {
        columns.push("<of");
    }
    columns.extend(["before", "after", "ratio", "<verdict"]);
    let mut table = Table::new(&columns);
    table.title = if has_many {
        format!("Compared with {}", report.baseline)
    } else {
        format!(
            "{} compared with {}",
            comparisons[0].contender, report.baseline
        )
    };
    for comparison in comparisons {
        let unit = comparison
            .unit
            .as_deref()
            .map_or(String::new(), |unit| format!(" ({unit})"));
        let mut row = vec![format!(
            "{} {}{unit}",
            comparison.operation, comparison.metric
        )];
        if has_many {
            row.push(comparison.contender.clone());
        }
        row.extend([
            units::number(comparison.baseline_value),
            units::number(comparison.contender_value),
            format!(
                "{:.3} ({})",
                comparison.ratio,
                range(comparison.interval, 3)
            ),
            verdict(comparison),
        ]);
        table.row(row);
    }
    table
}

fn verdict(comparison: &Comparison) -> String {
    match comparison.verdict {
        Verdict::Differs { within_margin } => {
            let word = match (comparison.is_better(), comparison.better) {
                (Some(true), _) => "better",
                (_, Better::Higher | Better::Lower) => "worse",
            };
            let small = words_if(within_margin, ", within the margin");
            format!("{word}{small}")
        }
        Verdict::NoDifferenceLargerThan { margin } => {
            format!("same within {}", units::percent(margin))
        }
        Verdict::CannotTell {
            more_pairs_needed: needed,
            more_pairs_at_most: at_most,
            in_turns,
        } => {
            let trials = if in_turns {
                "trials in turns"
            } else {
                "more trials of each"
            };
            if needed >= MORE_MAX {
                "cannot tell: trials differ too much".to_owned()
            } else if at_most >= MORE_MAX {
                format!("cannot tell: {needed} {trials}, or far more")
            } else if at_most > needed {
                format!("cannot tell: {needed} to {at_most} {trials}")
            } else if needed > 1 {
                format!("cannot tell: {needed} {trials}")
            } else {
                "cannot tell: 1 more trial of each".to_owned()
            }
        }
    }
}

fn environment(differences: &[EnvironmentDifference]) -> Option<Section> {
    if differences.is_empty() {
        return None;
    }
    let mut section = Section::new("Environments differ");
    let sentences = differences.iter().map(|difference| {
        let values: Vec<String> = difference.values.iter().map(of_set).collect();
        let place = match difference.place {
            Place::Between => "",
            Place::Within => " (within a set: its trials do not repeat the same)",
        };
        format!("{}: {}{place}", difference.key, values.join("; "))
    });
    section.push(List::new("", sentences));
    Some(section)
}

fn of_set(set: &SetValues) -> String {
    let values: Vec<String> = set
        .values
        .iter()
        .map(|(value, trials)| {
            let value = value.as_deref().unwrap_or("not stated");
            if set.values.len() == 1 {
                value.to_owned()
            } else {
                format!("{value} in {}", units::count(*trials as u64, "trial"))
            }
        })
        .collect();
    format!("{} has {}", set.set, values.join(", "))
}

fn method(report: &Report) -> String {
    let Some(first) = report.comparisons.first() else {
        return String::new();
    };
    let how = match first.design {
        Design::Pairs => "in pairs, as they ran alternately",
        Design::Sets if first.widening > 1.0 => "as two sets that may drift",
        Design::Sets => "as two independent sets",
        Design::CommonSpread => "with the spread of the larger set taken for both",
        Design::PooledSpread => "with one spread taken for all sets",
    };
    format!(
        "Intervals hold the true ratio with {} confidence. Trials were compared {how}: {} against {}.",
        units::percent(first.interval.confidence),
        first.trials.0,
        first.trials.1
    )
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
