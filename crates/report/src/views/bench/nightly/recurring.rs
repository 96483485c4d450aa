//! What recurs: metrics with the same pattern and the same jobs, together.

use super::drawn::{Nightly, id};
use crate::views::phrases::cell;
use bench::nightly::Metric;
use explain::verdict::{Cycle, Kind, SeriesVerdict};
use page::{Block, Cell, Level, Section, Table, Text, Tone};
use units::share::percent_change;

/// Maximum number of jobs that are named in one breath.
const JOBS_MAX: usize = 3;

/// Metrics that recur alike; the first of them stands for all.
pub(super) struct Recurring<'a> {
    key: (Vec<&'a str>, Option<&'static str>, String),
    members: Vec<(usize, &'a Metric, &'a SeriesVerdict)>,
}

impl Recurring<'_> {
    /// Number of metrics.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The verdict on the first metric.
    pub fn sentence(&self) -> &str {
        let first = self.members.first();
        first.map_or("", |(_, _, verdict)| &verdict.verdict.sentence)
    }

    /// `12 of 40 metrics recur every week, when fstrim runs.`; `of` is `40 metrics`.
    pub fn lead(&self, of: &str) -> String {
        let recur = if self.len() == 1 { "recurs" } else { "recur" };
        let first = self.members.first().map(|(_, _, verdict)| &verdict.verdict);
        let when = match first.and_then(|verdict| verdict.cycle) {
            Some(Cycle::Hour) => " every hour".to_owned(),
            Some(Cycle::Day) => " every day".to_owned(),
            Some(Cycle::Week) => " every week".to_owned(),
            Some(Cycle::Fixed) => format!(" every {}", self.key.2),
            Some(Cycle::Runs) | None => String::new(),
        };
        let why = match self.key.0.as_slice() {
            [] => ", cause not proven".to_owned(),
            [job] => format!(", when {job} runs"),
            jobs => format!(", when {} run", units::list::list_up_to(jobs, JOBS_MAX)),
        };
        format!("{} of {of} {recur}{when}{why}.", self.len())
    }

    /// The verdict on the first metric, with the number of others.
    pub fn brief(&self) -> String {
        match self.len() - 1 {
            0 => self.sentence().to_owned(),
            more => format!(
                "{} ({} alike)",
                self.sentence(),
                units::count(more, "more metric")
            ),
        }
    }
}

/// Groups the metrics that recur, by their jobs and their period.
pub(super) fn groups(nightly: &Nightly) -> Vec<Recurring<'_>> {
    let mut groups: Vec<Recurring<'_>> = Vec::new();
    for (index, (metric, verdict)) in nightly.metrics().enumerate() {
        let (found, word) = match verdict.verdict.kind {
            Kind::Periodic => (verdict.verdict.classes.first(), Some("job")),
            Kind::Unattributed => (None, None),
            Kind::Change | Kind::None | Kind::Undecided => continue,
        };
        let jobs = found.map_or_else(Vec::new, |class| {
            class.jobs.iter().map(String::as_str).collect()
        });
        let period = verdict
            .verdict
            .period_s
            .map_or_else(String::new, units::seconds);
        let key = (jobs, word, period);
        let member = (index, metric, verdict);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.members.push(member),
            None => groups.push(Recurring {
                key,
                members: vec![member],
            }),
        }
    }
    groups
}

/// The section on what recurs: a sentence for each group, and a table if it has several metrics.
pub(super) fn section(nightly: &Nightly, groups: &[Recurring<'_>]) -> Option<Section> {
    if groups.is_empty() {
        return None;
    }
    let mut section = Section::new("What recurs");
    for group in groups {
        section.push(Text::new(group.sentence(), Tone::Level(Level::Warning)));
        section.push(table(nightly, group));
    }
    Some(section)
}

fn table(nightly: &Nightly, group: &Recurring<'_>) -> Block {
    let mut table = Table::new(&["<metric", "effect", "since", "cycles", "p"]);
    for (index, metric, verdict) in &group.members {
        let verdict = &verdict.verdict;
        let day = |at| units::date::day(at, &nightly.clock);
        let effect = verdict.effect.and_then(|effect| effect.relative);
        let cycles = verdict.cycles_seen.zip(verdict.cycles);
        table.rows.push(vec![
            Cell {
                text: metric.name.clone(),
                section: Some(id(*index)),
                ..Cell::default()
            },
            cell(effect, percent_change).into(),
            cell(verdict.since, day).into(),
            cell(cycles, |(seen, all)| format!("{seen} of {all}")).into(),
            cell(verdict.p, units::number::probability).into(),
        ]);
    }
    table.into()
}

/// A verdict in two words.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Periodic => "recurs with a job",
        Kind::Unattributed => "recurs",
        Kind::Change => "changed",
        Kind::None => "",
        Kind::Undecided => "cannot tell",
    }
}
