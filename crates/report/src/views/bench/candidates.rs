//! Page of `trimtab bench filesystems --candidates`: what makes the same query slow, ranked by the factor that it makes.

use super::range::range;
use bench::compare::{Comparison, Verdict};
use experiments::filesystems::CandidatesOutcome;
use page::{Block, Facts, Page, Table};

/// How many times as long the article's queries took on XFS as on Btrfs.
const ARTICLE: f64 = 2.5;

pub(super) fn page(outcome: &CandidatesOutcome) -> Page {
    let ranked = ranked(outcome);
    let lead = lead(outcome, &ranked);
    let mut page = Page {
        cautions: outcome.notes.clone(),
        ..Page::new("trimtab bench filesystems --candidates", lead)
    };
    page.push(table(&ranked));
    let mut facts = Facts::default();
    facts.push("server", &outcome.server);
    facts.push("filesystem", &outcome.filesystem);
    facts.push("documents", units::grouped(outcome.documents));
    let baseline = ranked.first().map(|first| first.baseline_value);
    facts.push_each("baseline query", baseline.map(units::seconds));
    let cpus = units::percent(outcome.cpus_without_credits);
    facts.push("without CPU credits", format!("{cpus} of a CPU"));
    facts.push("small page cache", units::bytes(outcome.cache_bytes));
    page.push(facts);
    page.push(Block::aside(
        "If only one of two identical servers is affected, it differs by that factor, whatever its filesystem. Which of \
         these the article's servers had cannot be told from here.",
    ));
    page
}

/// The comparisons, those furthest from 1 first.
fn ranked(outcome: &CandidatesOutcome) -> Vec<&Comparison> {
    let all = outcome.comparison.iter();
    let mut ranked: Vec<&Comparison> = all.flat_map(|report| &report.comparisons).collect();
    ranked.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    ranked
}

fn distance(one: &Comparison) -> f64 {
    one.ratio.ln().abs()
}

/// Whether a factor is shown that is as large as the article's, in either direction.
fn is_enough(one: &Comparison) -> bool {
    matches!(one.verdict, Verdict::Differs { .. })
        && (one.interval.low >= ARTICLE || one.interval.high <= 1.0 / ARTICLE)
}

/// Whether a factor as large as the article's is ruled out.
fn is_too_little(one: &Comparison) -> bool {
    one.interval.low > 1.0 / ARTICLE && one.interval.high < ARTICLE
}

fn lead(outcome: &CandidatesOutcome, ranked: &[&Comparison]) -> String {
    if ranked.is_empty() {
        return "The candidates were not compared.".to_owned();
    }
    let enough: Vec<String> = ranked
        .iter()
        .filter(|one| is_enough(one))
        .map(|one| format!("{} ({})", one.contender, factor(one)))
        .collect();
    if enough.is_empty() {
        let shown = if ranked.iter().all(|one| is_too_little(one)) {
            "changes"
        } else {
            "is shown to change"
        };
        format!(
            "On {}, no single candidate {shown} the time of a query by a factor of {ARTICLE}.",
            outcome.server
        )
    } else {
        format!(
            "On {}, each of these changes the time of a query by a factor of {ARTICLE} or more: {}.",
            outcome.server,
            units::list::list(&enough)
        )
    }
}

/// `5.1 times as long`, `12 times as fast`.
fn factor(one: &Comparison) -> String {
    if one.ratio < 1.0 {
        format!("{} times as fast", units::number(1.0 / one.ratio))
    } else {
        format!("{} times as long", units::number(one.ratio))
    }
}

fn table(ranked: &[&Comparison]) -> Table {
    let mut table = Table::titled(
        "Candidates, the largest factor first",
        &[
            "<candidate",
            "a query takes",
            "of the baseline",
            "<interval",
            "<explains 2.5x",
        ],
    );
    for one in ranked {
        let enough = if is_enough(one) {
            "yes"
        } else if is_too_little(one) {
            "no"
        } else {
            "cannot tell"
        };
        table.row([
            one.contender.clone(),
            units::seconds(one.contender_value),
            format!("{:.2}", one.ratio),
            range(one.interval, 2),
            enough.to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::compare::{Metric, MetricKey, Options, Rank, Trial, TrialSet, compare};
    use facts::series::Better;
    use page::{Terminal, terminal};

    fn outcome(sets: &[(&str, [f64; 3])]) -> CandidatesOutcome {
        let sets: Vec<TrialSet> = sets
            .iter()
            .map(|(name, times)| TrialSet {
                name: (*name).to_owned(),
                trials: times
                    .iter()
                    .map(|time| {
                        let metric = Metric::scalar(*time, Some("s"), Better::Lower, Rank::Primary);
                        Trial {
                            metrics: [(MetricKey::new("query", "mean time"), metric)].into(),
                            ..Trial::default()
                        }
                    })
                    .collect(),
            })
            .collect();
        let options = Options {
            pools_spread: true,
            ..Options::default()
        };
        CandidatesOutcome {
            server: "Elasticsearch 5.6.16".to_owned(),
            filesystem: "xfs".to_owned(),
            documents: 500_000,
            cpus_without_credits: 0.4,
            cache_bytes: 64 << 20,
            comparison: Some(compare(&sets, &options).unwrap()),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_largest_factor_comes_first_and_what_is_enough_is_said() {
        let outcome = outcome(&[
            ("baseline", [0.010, 0.0101, 0.0099]),
            ("small page cache", [0.0101, 0.0100, 0.0102]),
            ("CPU credits used up", [0.050, 0.051, 0.049]),
            ("start-up of curl and jq included", [0.018, 0.0181, 0.0179]),
        ]);
        let text = terminal(&page(&outcome), &Terminal::default());
        insta::assert_snapshot!(text);
    }
}
