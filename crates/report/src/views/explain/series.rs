//! Blocks for one series: its curve, its explanations, and the facts of its verdict.

use super::causes;
use super::chart;
use super::clock::{self, Clock};
use super::detail::ExplainDetail;
use super::listing::ListedSeries;
use super::names;
use crate::explain::ExplainReport;
use explain::verdict::{Change, ChangeKind, ClockChoice, Effect, SeriesVerdict, Verdict};
use facts::series::Better;
use page::{Block, Facts, Table};
use std::fmt::Write as _;
use units::count::grouped_usize;
use units::number::{probability, signed, with_unit};
use units::share::percent_change;

/// Maximum lines of lists on a terminal.
const NOTES_MAX: usize = 5;
const CHANGES_MAX: usize = 8;

/// Describes the series:
/// `320 samples from 2016-01-04 05:40 to 2016-11-18 05:40, usually 1 day apart`.
pub(super) fn about(report: &ExplainReport<'_>, series: &SeriesVerdict) -> String {
    let clock = Clock::of(report, series);
    let mut words = units::count(series.samples, "sample");
    match (series.from, series.until) {
        (Some(from), Some(until)) if from < until => {
            let (from, until) = (clock.moment(from), clock.moment(until));
            let _ = write!(words, " from {from} to {until}");
        }
        (Some(from), _) => {
            let _ = write!(words, " at {}", clock.moment(from));
        }
        _ => {}
    }
    if let Some(gap_s) = series.gap_s {
        let _ = write!(words, ", usually {} apart", units::seconds(gap_s));
    }
    if let Some(dating) = clock::dating(series.dating) {
        let _ = write!(words, "; {dating}");
    }
    words
}

/// Builds everything below the sentence, beginning with the description and the explanations.
pub(super) fn blocks(
    report: &ExplainReport<'_>,
    listed: &ListedSeries<'_>,
    detail: ExplainDetail,
    has_others: bool,
) -> Vec<Block> {
    let series = listed.verdict;
    let verdict = &series.verdict;
    let clock = Clock::of(report, series);
    let mut blocks = Vec::new();
    blocks.extend(chart::series_chart(report, listed).map(Block::from));
    blocks.extend(changes(verdict, series.unit.as_deref(), &clock, detail));
    blocks.extend(causes::blocks(verdict, detail));
    blocks.extend(chart::folded_chart(report, series).map(Block::from));
    blocks.push(facts(listed, has_others, &clock).into());
    let also = verdict.also.iter();
    let also: Vec<String> = also
        .map(|other| format!("{} (p {})", other.sentence, probability(other.p)))
        .collect();
    let lists = [
        ("Weaker patterns", &also, NOTES_MAX),
        (
            "What would change this verdict",
            &verdict.would_change,
            usize::MAX,
        ),
        ("Notes", &series.notes, NOTES_MAX),
    ];
    blocks.extend(
        lists
            .into_iter()
            .filter_map(|(title, items, max)| detail.list(title, items, max)),
    );
    blocks
}

/// Formats the effect: `-12 %`, or its size in the series' unit if there is no median for
/// comparison.
pub(super) fn effect(series: &SeriesVerdict) -> String {
    let Some(effect) = &series.verdict.effect else {
        return "-".to_owned();
    };
    match effect.relative {
        Some(relative) => percent_change(relative),
        None => signed(effect.size, series.unit.as_deref()),
    }
}

/// Returns the facts of a verdict with their labels.
fn facts(listed: &ListedSeries<'_>, has_others: bool, clock: &Clock<'_>) -> Facts {
    let series = listed.verdict;
    let verdict = &series.verdict;
    let unit = series.unit.as_deref();
    let mut facts = Facts::default();
    if let Some(period_s) = verdict.period_s {
        let cycle = verdict
            .cycle
            .map_or(String::new(), |cycle| format!(", {}", names::cycle(cycle)));
        let days = verdict
            .weekdays
            .as_ref()
            .map_or(String::new(), |days| format!(", on {}", units::list(days)));
        let period = units::seconds(period_s);
        facts.push("period", format!("{period}{cycle}{days}"));
    }
    if let Some(phase) = &verdict.phase {
        let (from, to) = (clock.moment(phase.from), clock.moment(phase.to));
        let when = format!(
            "between {} and {}; last from {from} to {to}",
            phase.from_text, phase.to_text,
        );
        facts.push("when", when);
    }
    facts.push_each("clock", verdict.clock.as_ref().map(clocks));
    facts.push_each("shape", verdict.shape.map(names::shape));
    let effect = verdict.effect.as_ref();
    facts.push_each("effect", effect.map(|effect| effect_in_full(effect, unit)));
    facts.push_each("samples", verdict.sample.map(names::sample));
    if let Some(since) = verdict.since {
        let until = match verdict.until {
            Some(until) => clock.moment(until),
            None => "the last sample".to_owned(),
        };
        facts.push("since", format!("{}, until {until}", clock.moment(since)));
    }
    if let Some(cycles) = verdict.cycles {
        let periods = format!("{} with samples", units::count(cycles, "period"));
        let seen = match verdict.cycles_seen {
            Some(seen) => format!(
                "in {} of {periods}, each tested separately",
                grouped_usize(seen)
            ),
            None => format!("in {periods}"),
        };
        facts.push("seen", seen);
    }
    if let Some(p) = verdict.p {
        let mut words = format!("p {} that noise alone looks this regular", probability(p));
        if let Some(q) = verdict.q.filter(|_| has_others) {
            let _ = write!(words, "; q {} across all series", probability(q));
        }
        facts.push("chance", words);
    }
    if let Some([value]) = listed.series.map(|series| series.values.as_slice()) {
        facts.push("value", with_unit(&units::number(*value), unit));
    }
    facts.push("values", values(series));
    facts
}

/// Describes whose clocks a pattern follows: `UTC, clearly (Europe/Berlin fits worse by 143 nats)`.
fn clocks(choice: &ClockChoice) -> String {
    let others: Vec<String> = (choice.others.iter())
        .map(|other| {
            let nats = units::number(other.gain_nats.abs());
            let way = if other.gain_nats < 0.0 {
                "better"
            } else {
                "worse"
            };
            format!("{} fits {way} by {nats} nats", other.zone)
        })
        .collect();
    let others = units::list(&others);
    if choice.is_decided {
        format!("{}: {others}", choice.zone)
    } else {
        format!(
            "{}, or another zone's: {others}, which is no clear difference",
            choice.zone
        )
    }
}

fn effect_in_full(effect: &Effect, unit: Option<&str>) -> String {
    let mut parts = vec![signed(effect.size, unit)];
    if let Some(relative) = effect.relative {
        parts.push(format!("{} of the median", percent_change(relative)));
    }
    if let Some(daily) = effect.relative_per_day {
        parts.push(format!("{} a day", percent_change(daily)));
    }
    if let Some(len_s) = effect.len_s {
        parts.push(format!("for {}", units::seconds(len_s)));
    }
    parts.join(", ")
}

fn values(series: &SeriesVerdict) -> String {
    let unit = series.unit.as_deref().unwrap_or("unit unknown");
    let better = match series.better {
        Some(Better::Higher) => "higher is better",
        Some(Better::Lower) => "lower is better",
        None => "whether higher or lower is better is unknown (set it with `--better`)",
    };
    format!("{unit}; {better}")
}

/// Lists the lasting changes.
fn changes(
    verdict: &Verdict,
    unit: Option<&str>,
    clock: &Clock<'_>,
    detail: ExplainDetail,
) -> Vec<Block> {
    let all = &verdict.changes;
    if all.is_empty() {
        return Vec::new();
    }
    let has_company = all.iter().any(|change| change.beside.is_some());
    let mut table = if has_company {
        Table::new(&["<lasting change", "<after", "<before", "<at the same time"])
    } else {
        Table::new(&["<lasting change", "<after", "<before"])
    };
    for change in &all[..detail.shown(all.len(), CHANGES_MAX)] {
        let mut cells = vec![
            what_changed(change, unit),
            clock.moment(change.from),
            clock.moment(change.to),
        ];
        if has_company {
            cells.push(change.beside.clone().unwrap_or_default());
        }
        table.row(cells);
    }
    let mut blocks = vec![table.into()];
    blocks.extend(detail.more(all.len(), CHANGES_MAX).map(Block::aside));
    if all.iter().any(|change| change.provisional) {
        blocks.push(Block::aside(
            "Provisional: more samples may move or remove it.",
        ));
    }
    blocks
}

/// Describes a change: `level from 51000 to 49500 ops/s (provisional)`.
fn what_changed(change: &Change, unit: Option<&str>) -> String {
    let mut text = names::change(change.what).to_owned();
    match (change.what, change.levels(), change.slopes_per_day()) {
        (ChangeKind::Level, Some((before, after)), _) => {
            let after = with_unit(&units::number(after), unit);
            let _ = write!(text, " from {} to {after}", units::number(before));
        }
        (ChangeKind::Slope, _, Some((before, after))) => {
            let (before, after) = (signed(before, None), signed(after, unit));
            let _ = write!(text, " from {before} to {after} a day");
        }
        _ => {}
    }
    if change.provisional {
        text += " (provisional)";
    }
    text
}
