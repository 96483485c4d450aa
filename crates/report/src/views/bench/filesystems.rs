//! Page of `trimtab bench filesystems`: the table, what differs and what does not, every query, and what the host did.

use super::range::range;
use super::run::per_second;
use crate::views::phrases::{cell, grouped, words_if};
use bench::compare::{Comparison, Interval, Rank, Verdict};
use experiments::filesystems::{Course, Figure, Outcome, Queried, Scatter, VariantMeans};
use page::chart::{Axis, Curve, Format, LineChart, Scale};
use page::{Block, Facts, List, Page, Section, Table};
use std::collections::{BTreeMap, BTreeSet};
use units::size::bytes_estimate;

pub(super) fn page(outcome: &Outcome, is_brief: bool) -> Page {
    let mut page = Page {
        cautions: cautions(outcome),
        ..Page::new("trimtab bench filesystems", lead(outcome))
    };
    page.push(table(&outcome.variants));
    page.extend(sentences(outcome));
    page.push(facts(outcome));
    if !is_brief {
        page.push(sizes(&outcome.variants));
        let mut section = Section::new("Queries");
        section.push(scatter(&outcome.scatters));
        section.extend(outcome.courses.iter().map(lines));
        page.push(section);
    }
    page.push(Block::aside(
        "Ratios are those of this server's version: others write other files.",
    ));
    page
}

fn baseline(outcome: &Outcome) -> &str {
    outcome
        .variants
        .first()
        .map_or("", |baseline| baseline.variant.as_str())
}

fn primary(outcome: &Outcome) -> impl Iterator<Item = &Comparison> {
    let all = outcome
        .comparison
        .iter()
        .flat_map(|report| &report.comparisons);
    all.filter(|comparison| comparison.rank == Rank::Primary)
}

/// `On Elasticsearch 6.8.23, btrfs:zstd takes 0.66 times the space of xfs. No difference between queries is larger
/// than 3 %.`
fn lead(outcome: &Outcome) -> String {
    let server = &outcome.server;
    let base = baseline(outcome);
    if outcome.variants.len() < 2 {
        return format!("{server} on {base}: nothing to compare it with.");
    }
    let smallest = outcome
        .variants
        .iter()
        .min_by(|one, other| one.of_baseline.total_cmp(&other.of_baseline));
    let sizes = match smallest.filter(|smallest| smallest.of_baseline < 0.99) {
        Some(smallest) => format!(
            "{} takes {:.2} times the space of {base}",
            smallest.variant, smallest.of_baseline
        ),
        None => format!("no variant takes less space than {base}"),
    };
    let of_queries = || {
        let label = Queried::Query.label();
        primary(outcome).filter(move |one| one.operation == label)
    };
    let differs = |one: &&Comparison| matches!(one.verdict, Verdict::Differs { .. });
    let furthest = of_queries()
        .filter(differs)
        .max_by(|one, other| one.ratio.ln().abs().total_cmp(&other.ratio.ln().abs()));
    let queries = match furthest {
        Some(one) => format!(
            "Queries take {} times as long on {} as on {base}",
            interval(one),
            one.contender
        ),
        None if of_queries().next().is_none() => "Queries were not compared".to_owned(),
        None => {
            let margins: Option<Vec<f64>> = of_queries()
                .map(|one| match one.verdict {
                    Verdict::NoDifferenceLargerThan { margin } => Some(margin),
                    _ => None,
                })
                .collect();
            match margins.and_then(|margins| margins.into_iter().reduce(f64::max)) {
                Some(margin) => format!(
                    "No difference between their queries is larger than {}",
                    units::percent(margin)
                ),
                None => "No difference between their queries is shown".to_owned(),
            }
        }
    };
    format!("On {server}, {sizes}. {queries}.")
}

/// What weakens the result.
fn cautions(outcome: &Outcome) -> Vec<String> {
    let mut cautions = outcome.notes.clone();
    let trials = || outcome.runs.iter().flat_map(|run| &run.trials);
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut invalid = 0;
    for trial in trials().filter(|trial| !trial.trial.is_valid()) {
        invalid += 1;
        let judgement = trial.trial.judgement.iter();
        let all = judgement.flat_map(|judgement| &judgement.reasons);
        // Each operation of a trial may have the same reason.
        let labels: BTreeSet<&str> = all.map(|reason| reason.check.label()).collect();
        for label in labels {
            *reasons.entry(label).or_default() += 1;
        }
    }
    if invalid > 0 {
        let reasons: Vec<String> = reasons
            .into_iter()
            .map(|(reason, count)| format!("{reason} in {count}"))
            .collect();
        cautions.push(format!(
            "{invalid} of {} {} INVALID ({}); without --include-invalid, their times do not count",
            units::count(trials().count(), "trial"),
            if invalid == 1 { "is" } else { "are" },
            reasons.join(", ")
        ));
    }
    let named = |is_one: &dyn Fn(&VariantMeans) -> bool| -> Vec<&str> {
        let variants = outcome.variants.iter().filter(|variant| is_one(variant));
        variants.map(|variant| variant.variant.as_str()).collect()
    };
    let warm = named(&|variant| variant.start_read_bytes_min == Some(0));
    if !warm.is_empty() {
        cautions.push(format!(
            "a server on {} started without reading from the drive: it was not cold",
            units::list(&warm)
        ));
    }
    let without = named(&|variant| outcome.larger_than_memory && is_little(variant));
    if !without.is_empty() {
        cautions.push(format!(
            "queries on {} read less than a tenth of the index from the drive: what they use of it stays in memory, and \
             the drive hardly matters there; use more --documents",
            units::list(&without)
        ));
    }
    cautions
}

/// Whether the queries of a variant read little of its index.
fn is_little(variant: &VariantMeans) -> bool {
    variant
        .read_bytes
        .is_some_and(|bytes| bytes < variant.filesystem_bytes / 10.0)
}

fn table(variants: &[VariantMeans]) -> Table {
    let base = variants.first().map_or("first", |first| &first.variant);
    let of_base = format!("of {base}");
    let mut table = Table::titled(
        "Size, and total time of the measured queries",
        &[
            "<variant",
            "size",
            &of_base,
            "docs/s",
            "queries",
            "request cache on",
            "while ingesting",
            "read",
        ],
    );
    for variant in variants {
        table.row([
            variant.variant.clone(),
            bytes_estimate(variant.filesystem_bytes),
            format!("{:.2}", variant.of_baseline),
            cell(variant.documents_per_s, per_second),
            cell(variant.query_s, units::seconds),
            cell(variant.query_cached_s, units::seconds),
            cell(variant.query_while_ingesting_s, units::seconds),
            cell(variant.read_bytes, bytes_estimate),
        ]);
    }
    table
}

/// The sizes in all ways in which they are measured.
fn sizes(variants: &[VariantMeans]) -> Table {
    let mut table = Table::titled(
        "Size by method (du does not see the compression of Btrfs)",
        &["<variant", "on the drive", "by compsize", "by the server"],
    );
    for variant in variants {
        table.row([
            variant.variant.clone(),
            bytes_estimate(variant.filesystem_bytes),
            cell(variant.compsize_bytes, bytes_estimate),
            bytes_estimate(variant.store_bytes),
        ]);
    }
    table
}

/// What differs, what does not, and what cannot be told, each with its interval.
fn sentences(outcome: &Outcome) -> Vec<List> {
    let base = baseline(outcome);
    let of = |title: &str, is_of: fn(&Verdict) -> bool| {
        let of_verdict = primary(outcome).filter(|one| is_of(&one.verdict));
        List::new(title, items(of_verdict, base))
    };
    [
        of("What differs", |verdict| {
            matches!(verdict, Verdict::Differs { .. })
        }),
        of("What does not differ", |verdict| {
            matches!(verdict, Verdict::NoDifferenceLargerThan { .. })
        }),
        of("What these runs cannot tell", |verdict| {
            matches!(verdict, Verdict::CannotTell { .. })
        }),
    ]
    .into_iter()
    .filter(|list| !list.items.is_empty())
    .collect()
}

/// One line for each operation: `space: btrfs:lzo 0.99 (0.98 to 1.00) and btrfs:zstd 0.71 (0.71 to 0.72) times that of xfs`.
fn items<'c>(all: impl Iterator<Item = &'c Comparison>, base: &str) -> Vec<String> {
    grouped(all.map(|one| (one.operation.as_str(), one)))
        .into_iter()
        .map(|(operation, of_operation)| {
            let what = match operation {
                "size" => "space".to_owned(),
                operation if operation == Queried::Ingest.label() => "indexing rate".to_owned(),
                operation => operation.replacen("query", "query time", 1),
            };
            let ratios: Vec<String> = of_operation
                .iter()
                .map(|one| format!("{} {}", one.contender, interval(one)))
                .collect();
            let margin = of_operation.iter().filter_map(|one| match one.verdict {
                Verdict::NoDifferenceLargerThan { margin } => Some(margin),
                _ => None,
            });
            let more = of_operation.iter().filter_map(|one| match one.verdict {
                Verdict::CannotTell {
                    more_pairs_needed, ..
                } => Some(more_pairs_needed),
                _ => None,
            });
            let tail = match (margin.reduce(f64::max), more.max()) {
                (Some(margin), _) => format!(", within {}", units::percent(margin)),
                (None, Some(more)) => {
                    format!("; {} of each would tell", units::count(more, "more run"))
                }
                (None, None) => String::new(),
            };
            format!(
                "{what}: {} times that of {base}{tail}",
                units::list(&ratios)
            )
        })
        .collect()
}

/// With two decimals, or as many more as show an interval that excludes 1 to exclude it.
fn interval(one: &Comparison) -> String {
    let Interval { low, high, .. } = one.interval;
    let excludes_one = low > 1.0 || high < 1.0;
    let is_one =
        |end: f64, decimals: usize| format!("{end:.decimals$}") == format!("{:.decimals$}", 1.0);
    let decimals = (2..4)
        .find(|decimals| !excludes_one || !(is_one(low, *decimals) || is_one(high, *decimals)))
        .unwrap_or(4);
    format!(
        "{:.decimals$} ({})",
        one.ratio,
        range(one.interval, decimals)
    )
}

fn facts(outcome: &Outcome) -> Facts {
    let mut facts = Facts::default();
    facts.push("server", &outcome.server);
    facts.push("drive", &outcome.disk);
    facts.push_each("kernel", &outcome.kernel);
    if let Some(run) = outcome.runs.first() {
        let segments = words_if(outcome.same_segments, ", the same segments in all variants");
        let documents = units::grouped(run.documents);
        facts.push("documents", format!("{documents}{segments}"));
        if let Some(bytes) = outcome.runs.iter().find_map(|run| run.cache_bytes) {
            let (cache, index) = (units::bytes(bytes), units::bytes(run.store_bytes));
            facts.push("page cache", format!("{cache}, for an index of {index}"));
        }
    }
    facts.push_each("read-ahead", read_ahead(outcome));
    let cold = outcome
        .variants
        .iter()
        .filter_map(|variant| variant.start_read_bytes_min)
        .min();
    if let Some(cold) = cold.filter(|cold| *cold > 0) {
        let cold = units::bytes(cold);
        let words =
            format!("each server read {cold} or more from the drive before the first query");
        facts.push("cold start", words);
    }
    facts
}

/// `128 KiB on xfs and ext4; 4 MiB on btrfs`: with little memory, what is read ahead pushes out what is needed.
fn read_ahead(outcome: &Outcome) -> Option<String> {
    let mut by_len: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for variant in &outcome.variants {
        let run = outcome
            .runs
            .iter()
            .find(|run| run.variant == variant.variant);
        if let Some(bytes) = run.and_then(|run| run.read_ahead_bytes) {
            by_len.entry(bytes).or_default().push(&variant.variant);
        }
    }
    if by_len.is_empty() {
        return None;
    }
    let parts: Vec<String> = by_len
        .iter()
        .map(|(bytes, variants)| format!("{} on {}", units::bytes(*bytes), units::list(variants)))
        .collect();
    Some(parts.join("; "))
}

#[allow(clippy::cast_precision_loss)] // numbers of queries
fn scatter(scatters: &[Scatter]) -> LineChart {
    LineChart {
        title: "Time of each query, first run of each variant".to_owned(),
        x: Axis::new("number of the query", Scale::Count),
        y_label: "time".to_owned(),
        y_format: Format::Seconds,
        y_from: Some(0.0),
        curves: scatters
            .iter()
            .map(|scatter| {
                let points = (1..).zip(&scatter.latencies_s);
                Curve::dots(
                    &scatter.variant,
                    points.map(|(number, latency_s)| (f64::from(number), *latency_s)),
                )
            })
            .collect(),
        ..LineChart::default()
    }
}

fn lines(course: &Course) -> LineChart {
    let (title, y_format) = match course.figure {
        Figure::CpuUser => ("CPU time in user space", Format::Percent),
        Figure::CpuSystem => ("CPU time in the kernel", Format::Percent),
        Figure::IoWait => ("CPU time that waited for a drive", Format::Percent),
        Figure::Reads => ("Reads from the drive", Format::BytesPerSecond),
        Figure::Writes => ("Writes to the drive", Format::BytesPerSecond),
    };
    LineChart {
        title: format!("{title}, from the first warm-up query on"),
        x: Axis::new("", Scale::Elapsed),
        y_label: title.to_owned(),
        y_format,
        y_from: Some(0.0),
        curves: course
            .curves
            .iter()
            .map(|(variant, values)| Curve::line(variant, values.iter().copied()))
            .collect(),
        ..LineChart::default()
    }
}

#[cfg(test)]
#[path = "filesystems_tests.rs"]
mod tests;
