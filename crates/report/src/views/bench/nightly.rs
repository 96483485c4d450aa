//! Page of `trimtab bench nightly`: what changed and when, what recurs, a chart per metric, and every trial.

mod chart;
mod drawn;
mod nights;
mod recurring;
mod timeline;

pub use drawn::{Nightly, NightlyJob};

use bench::nightly::{Metric, Outcome};
use drawn::id;
use explain::verdict::{Kind, SeriesVerdict};
use page::{Facts, Level, List, Page, Section, Text, Tone};
use recurring::Recurring;
use std::collections::BTreeSet;
use timeline::Timeline;

/// Maximum number of patterns in the lead.
const LEAD_MAX: usize = 2;
/// Maximum number of sentences and of changes on a terminal.
const LINES_MAX: usize = 8;

pub(super) fn page(nightly: &Nightly, is_brief: bool) -> Page {
    let recurring = recurring::groups(nightly);
    let timeline = Timeline::of(nightly);
    let is_finding = !recurring.is_empty() || timeline.metrics_moved() > 0;
    let lead = lead(nightly, &recurring, &timeline);
    let mut page = Page::new(title(nightly), lead);
    if is_finding {
        page.tone = Tone::Level(Level::Warning);
    }
    page.cautions.extend(nights::caution(nightly));
    page.push(facts(nightly, is_brief));
    if is_brief {
        brief(&mut page, &recurring, &timeline, nightly);
        return page;
    }
    page.extend(timeline.section(nightly));
    page.extend(recurring::section(nightly, &recurring));
    page.extend(charts(nightly));
    page.extend(nights::sections(nightly));
    page
}

/// What a terminal has room for: the page has the rest.
fn brief(page: &mut Page, recurring: &[Recurring<'_>], timeline: &Timeline, nightly: &Nightly) {
    let more = |list: &mut Vec<String>, all: usize| {
        if all > LINES_MAX {
            list.push(format!("and {} more on the page", all - LINES_MAX));
        }
    };
    let shown = recurring.iter().take(LINES_MAX);
    let mut sentences: Vec<String> = shown.map(Recurring::brief).collect();
    more(&mut sentences, recurring.len());
    let mut changes = timeline.lines(nightly, LINES_MAX);
    more(&mut changes, timeline.len());
    for (title, items) in [("What recurs", sentences), ("What changed", changes)] {
        if !items.is_empty() {
            page.push(List::new(title, items));
        }
    }
}

fn title(nightly: &Nightly) -> String {
    let tracks: BTreeSet<&str> = nightly
        .history
        .trials
        .iter()
        .map(|night| night.track.as_str())
        .collect();
    let tracks: Vec<&str> = tracks.into_iter().take(3).collect();
    format!("Nightly benchmark: {}", units::list(&tracks))
}

/// What recurs and with which jobs, then what changed for good.
fn lead(nightly: &Nightly, recurring: &[Recurring<'_>], timeline: &Timeline) -> String {
    let of = units::count(nightly.verdicts.len(), "metric");
    let mut sentences: Vec<String> = recurring
        .iter()
        .take(LEAD_MAX)
        .map(|group| group.lead(&of))
        .collect();
    let more: usize = recurring.iter().skip(LEAD_MAX).map(Recurring::len).sum();
    if more > 0 {
        let recur = if more == 1 { "recurs" } else { "recur" };
        sentences.push(format!("{more} more {recur} otherwise."));
    }
    if let Some(at) = timeline.last_moved() {
        let day = units::date::day(at, &nightly.clock);
        let (count, of) = match (timeline.metrics_moved(), sentences.is_empty()) {
            (1, true) => (format!("1 of {of} has"), ""),
            (moved, true) => (format!("{moved} of {of} have"), ""),
            (1, false) => ("1".to_owned(), " has"),
            (moved, false) => (moved.to_string(), " have"),
        };
        sentences.push(format!("{count}{of} a lasting change, the last on {day}."));
    }
    if sentences.is_empty() {
        if nightly.count(Outcome::Valid) == 0 {
            return "Cannot tell: there is no valid trial yet.".to_owned();
        }
        let verdicts = || nightly.verdicts.iter().map(|one| &one.verdict);
        let is_undecided = verdicts().all(|verdict| verdict.kind == Kind::Undecided);
        sentences.push(match verdicts().next().filter(|_| is_undecided) {
            Some(first) => first.sentence.clone(),
            None => format!("Nothing recurs in {of}, and nothing changed for good."),
        });
    }
    sentences.join(" ")
}

fn facts(nightly: &Nightly, is_brief: bool) -> Facts {
    let trials = &nightly.history.trials;
    let counts = [
        (Outcome::Valid, "valid"),
        (Outcome::Invalid, "not valid"),
        (Outcome::Unfinished, "unfinished"),
    ]
    .map(|(outcome, words)| (nightly.count(outcome), words));
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", units::count::grouped_usize(count)))
        .collect();
    let mut facts = Facts::of([("trials", counts.join(", "))]);
    if let (Some(first), Some(last)) = (trials.first(), trials.last()) {
        let day = |at| units::date::day(at, &nightly.clock);
        let days = format!(
            "{} to {} ({})",
            day(first.started_at),
            day(last.started_at),
            nightly.zone
        );
        facts.push("time", days);
        facts.push("target", &last.target);
    }
    facts.push_each("jobs", &nightly.jobs_from);
    if is_brief {
        facts.push("page", &nightly.page);
    }
    facts
}

/// The charts: of the primary metrics first, then the others, by operation.
fn charts(nightly: &Nightly) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, (metric, verdict)) in nightly.metrics().enumerate() {
        let title = if metric.is_primary {
            "Throughput and latency".to_owned()
        } else {
            let operation = metric
                .name
                .strip_suffix(&metric.metric)
                .unwrap_or(&metric.name);
            format!("More of {}", operation.trim_end())
        };
        if sections.last().is_none_or(|section| section.title != title) {
            sections.push(Section::new(title));
        }
        if let Some(section) = sections.last_mut() {
            section.push(metric_section(nightly, index, metric, verdict));
        }
    }
    sections
}

fn metric_section(
    nightly: &Nightly,
    index: usize,
    metric: &Metric,
    verdict: &SeriesVerdict,
) -> Section {
    let mut section = Section::new(&metric.name);
    section.id = id(index);
    recurring::kind(verdict.verdict.kind).clone_into(&mut section.aside);
    let tone = match verdict.verdict.kind {
        Kind::Periodic | Kind::Unattributed | Kind::Change => Tone::Level(Level::Warning),
        Kind::None | Kind::Undecided => Tone::Dim,
    };
    section.push(Text::new(&verdict.verdict.sentence, tone));
    section.extend(chart::chart(nightly, metric, verdict));
    section
}
