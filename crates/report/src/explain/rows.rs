//! What text and page both tell of a series: labelled facts, and the table of explanations.

use super::words::{
    self, Clock, duration, micros, number, probability, signed, signed_percent, with_unit,
};
use super::{ExplainReport, Told};
use crate::words::{count, grouped};
use explain::verdict::{
    Candidate, Change, ChangeKind, JobClass, OtherPattern, SeriesVerdict, Verdict,
};
use facts::series::Better;
use std::fmt::Write as _;

/// A line of the table of explanations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Explanation {
    /// Probability against the others; `-` where nothing was weighed.
    pub score: String,
    /// Events with a run, events without one, runs without an event; empty where there are no runs.
    pub matched: String,
    /// See `matched`.
    pub missed: String,
    /// See `matched`.
    pub idle: String,
    /// `heals`, `hurts`, or nothing.
    pub role: &'static str,
    /// Jobs, or what else it is.
    pub name: String,
    /// Index of its class.
    pub class: Option<usize>,
}

/// Names of the columns.
pub(super) const EXPLANATION_HEAD: [&str; 6] =
    ["score", "matched", "missed", "idle", "role", "explanation"];

/// Names of the columns of the summary.
pub(super) const SUMMARY_HEAD: [&str; 5] = ["effect", "verdict", "period", "q", "series"];

/// The candidate that blames nothing.
const NOTHING: &str = "nothing";

/// Every explanation, the likeliest first; "nothing" is always among them.
pub(super) fn explanations(verdict: &Verdict) -> Vec<Explanation> {
    let mut rows: Vec<(f64, Explanation)> = Vec::new();
    let mut is_told = vec![false; verdict.classes.len()];
    for candidate in &verdict.candidates {
        let class = verdict
            .classes
            .iter()
            .position(|class| is_of(class, candidate));
        if let Some(class) = class {
            is_told[class] = true;
        }
        let row = match class {
            Some(index) => of_class(index, &verdict.classes[index], &candidate.name),
            None => plain(&candidate.name, words::score(candidate.score)),
        };
        rows.push((candidate.score, row));
    }
    for (index, class) in verdict.classes.iter().enumerate() {
        if !is_told[index] {
            let name = class.jobs.join(", ");
            rows.push((class.score, of_class(index, class, &name)));
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut rows: Vec<Explanation> = rows.into_iter().map(|(_, row)| row).collect();
    if !rows.iter().any(|row| row.name == NOTHING) {
        rows.push(plain(NOTHING, "-".to_owned()));
    }
    rows
}

/// Whether a candidate is a class: it has its score, and names its jobs, those of one directory perhaps
/// together: `cron.weekly (fstrim, man-db)`.
fn is_of(class: &JobClass, candidate: &Candidate) -> bool {
    let own = |job: &String| {
        let (_, own) = job.split_once('/').unwrap_or(("", job));
        candidate.name.contains(own)
    };
    class.score.to_bits() == candidate.score.to_bits() && class.jobs.iter().all(own)
}

fn of_class(index: usize, class: &JobClass, name: &str) -> Explanation {
    Explanation {
        score: words::score(class.score),
        matched: grouped(class.matched as u64),
        missed: grouped(class.missed as u64),
        idle: grouped(class.idle_runs as u64),
        role: words::role(class.role),
        name: name.to_owned(),
        class: Some(index),
    }
}

fn plain(name: &str, score: String) -> Explanation {
    Explanation {
        score,
        matched: String::new(),
        missed: String::new(),
        idle: String::new(),
        role: "",
        name: name.to_owned(),
        class: None,
    }
}

/// `-12 %`, or the size in the series' unit where there is no median to compare with.
pub(super) fn effect(series: &SeriesVerdict) -> String {
    let Some(effect) = &series.verdict.effect else {
        return "-".to_owned();
    };
    match effect.relative {
        Some(relative) => signed_percent(relative),
        None => signed(effect.size, series.unit.as_deref()),
    }
}

/// The clock of a series.
pub(super) fn clock(report: &ExplainReport<'_>, told: &Told<'_>) -> Clock {
    let first_us = told.verdict.from.map_or(0, micros);
    let last_us = told.verdict.until.map_or(first_us, micros);
    Clock::new(report.zone, told.verdict.dating, first_us, last_us)
}

/// `320 samples from 2016-01-04 05:40 to 2016-11-18 05:40, 1 day apart as a rule`.
pub(super) fn about(series: &SeriesVerdict, clock: &Clock) -> String {
    let mut words = count(series.samples, "sample");
    match (series.from, series.until) {
        (Some(from), Some(until)) if from < until => {
            let _ = write!(
                words,
                " from {} to {}",
                clock.moment(micros(from)),
                clock.moment(micros(until))
            );
        }
        (Some(from), _) => {
            let _ = write!(words, " at {}", clock.moment(micros(from)));
        }
        _ => {}
    }
    if let Some(gap_s) = series.gap_s {
        let _ = write!(words, ", {} apart as a rule", duration(gap_s));
    }
    words
}

/// What the values are.
pub(super) fn values(series: &SeriesVerdict) -> String {
    let unit = series.unit.as_deref().unwrap_or("no unit known");
    let better = match series.better {
        Some(Better::Higher) => "higher is better",
        Some(Better::Lower) => "lower is better",
        None => "which way is better is not known (`--better higher` or `lower` tells it)",
    };
    format!("{unit}; {better}")
}

/// The facts of a verdict, each with its label.
pub(super) fn facts(series: &SeriesVerdict, all: usize, clock: &Clock) -> Vec<(String, String)> {
    let verdict = &series.verdict;
    let unit = series.unit.as_deref();
    let mut rows = Vec::new();
    let mut row = |label: &str, words: String| rows.push((label.to_owned(), words));
    if let Some(period_s) = verdict.period_s {
        let calendar = verdict
            .cycle
            .map_or(String::new(), |cycle| format!(", {}", words::cycle(cycle)));
        let days = verdict
            .weekdays
            .as_ref()
            .map_or(String::new(), |days| format!(", on {}", days.join(", ")));
        row("period", format!("{}{calendar}{days}", duration(period_s)));
    }
    if let Some(phase) = &verdict.phase {
        row(
            "when",
            format!(
                "between {} and {}; last from {} to {}",
                phase.from_text,
                phase.to_text,
                clock.moment(micros(phase.from)),
                clock.moment(micros(phase.to))
            ),
        );
    }
    if let Some(shape) = verdict.shape {
        row("shape", words::shape(shape).to_owned());
    }
    if let Some(effect) = &verdict.effect {
        let mut parts = vec![signed(effect.size, unit)];
        if let Some(relative) = effect.relative {
            parts.push(format!("{} of the median", signed_percent(relative)));
        }
        if let Some(daily) = effect.relative_per_day {
            parts.push(format!("{} a day", signed_percent(daily)));
        }
        if let Some(len_s) = effect.len_s {
            parts.push(format!("for {}", duration(len_s)));
        }
        row("effect", parts.join(", "));
    }
    if let Some(since) = verdict.since {
        let until = match verdict.until {
            Some(until) => format!("until {}", clock.moment(micros(until))),
            None => "goes on until the last sample".to_owned(),
        };
        row("since", format!("{}; {until}", clock.moment(micros(since))));
    }
    if let Some(cycles) = verdict.cycles {
        let words = match verdict.cycles_seen {
            Some(seen) => format!(
                "by itself in {} of {} with samples",
                grouped(seen as u64),
                count(cycles, "period")
            ),
            None => format!("{} with samples", count(cycles, "period")),
        };
        row("seen", words);
    }
    if let Some(p) = verdict.p {
        let mut words = format!("as clear by chance alone: p {}", probability(p));
        if let Some(q) = verdict.q.filter(|_| all > 1) {
            let _ = write!(words, ", q {} over all series", probability(q));
        }
        row("chance", words);
    }
    rows
}

/// Classes that are drawn and told in full, with their indices: all that are not as good as ruled out.
pub(super) fn classes(verdict: &Verdict, max: usize) -> impl Iterator<Item = (usize, &JobClass)> {
    /// One less likely is told by the table alone, unless it is the likeliest.
    const SCORE_MIN: f64 = 0.01;
    let all = verdict.classes.iter().enumerate();
    all.filter(|(index, class)| *index == 0 || class.score >= SCORE_MIN)
        .take(max)
}

/// A change in one line.
pub(super) fn change(change: &Change, unit: Option<&str>, clock: &Clock) -> String {
    let mut text = format!(
        "{} to {}: {}",
        clock.moment(micros(change.from)),
        clock.moment(micros(change.to)),
        words::change(change.what)
    );
    match (change.what, change.levels(), change.slopes_per_day()) {
        (ChangeKind::Level, Some((before, after)), _) => {
            let _ = write!(
                text,
                " from {} to {}",
                number(before),
                with_unit(&number(after), unit)
            );
        }
        (ChangeKind::Slope, _, Some((before, after))) => {
            let _ = write!(
                text,
                " from {} to {} a day",
                signed(before, None),
                signed(after, unit)
            );
        }
        _ => {}
    }
    if let Some(beside) = &change.beside {
        let _ = write!(text, "; beside it: {beside}");
    }
    if change.provisional {
        text += " (provisional: more samples may move or end it)";
    }
    text
}

/// A weaker pattern in one line.
pub(super) fn other(pattern: &OtherPattern) -> String {
    format!("{} (p {})", pattern.sentence, probability(pattern.p))
}
