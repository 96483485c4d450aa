//! Page of `trimtab bench run`: whether the trial is valid, then what it measured.

use super::compare::{self, Compared};
use crate::views::phrases::{cell, grouped, milliseconds};
use bench::trial::{Latency, OperationResult, TrialDocument};
use bench::validity::Reason;
use page::{Block, Facts, Finding, Fix, Level, List, Page, Section, Table, Tone};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use units::escape;

/// Trials that were run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ran {
    /// The trials, in the order in which they ran.
    pub trials: Vec<RanTrial>,
    /// The comparison of two sides; `null` with one.
    pub comparison: Option<Compared>,
}

/// A trial that was run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RanTrial {
    /// Its folder.
    pub folder: String,
    /// What was run and measured.
    pub trial: TrialDocument,
}

impl Ran {
    /// Whether all trials are valid.
    pub fn is_valid(&self) -> bool {
        self.trials.iter().all(|ran| ran.trial.is_valid())
    }
}

pub(super) fn page(ran: &Ran, is_brief: bool) -> Page {
    let mut page = match (&ran.comparison, &ran.trials[..]) {
        (Some(compared), _) => compare::page(compared, is_brief),
        (None, [one]) => trial_page(one),
        (None, several) => titled(lead_of_several(several), ran.is_valid()),
    };
    "trimtab bench run".clone_into(&mut page.title);
    if ran.trials.len() > 1 {
        page.push(overview(&ran.trials));
        let invalid = ran.trials.iter().filter(|ran| !ran.trial.is_valid());
        for ran in invalid {
            let mut section = Section::new(format!("{} is INVALID", escape(&ran.folder)));
            section.extend(reasons(&ran.trial));
            page.push(section);
        }
    }
    page
}

fn titled(lead: String, is_valid: bool) -> Page {
    let mut page = Page::new("trimtab bench run", lead);
    if !is_valid {
        page.tone = Tone::Level(Level::Warning);
    }
    page
}

fn trial_page(ran: &RanTrial) -> Page {
    let trial = &ran.trial;
    let mut page = titled(lead(trial), trial.is_valid());
    page.extend(reasons(trial));
    page.extend(tables(&trial.operations));
    let counted = counted(trial);
    if !counted.is_empty() {
        let mut section = Section::new("Within the measured time");
        section.push(counted);
        page.push(section);
    }
    if let Some(judgement) = &trial.judgement
        && !judgement.unchecked.is_empty()
    {
        let items = judgement
            .unchecked
            .iter()
            .map(|check| format!("{}: needs {}", check.label(), check.needs()));
        page.push(List::new("Not checked", items));
    }
    page.cautions.extend(trial.notes.iter().cloned());
    page.push(Block::aside(format!(
        "Everything is in {}; look for patterns with `trimtab explain {}`.",
        escape(&ran.folder),
        escape(&ran.folder)
    )));
    page
}

/// `VALID: index wrote 41,300 docs/s; latency p50 12 ms, p99 40 ms.`
fn lead(trial: &TrialDocument) -> String {
    let reasons = reasons_of(trial);
    let first = trial.operations.first().map(summary);
    let first = first.unwrap_or_else(|| "nothing was measured".to_owned());
    match reasons {
        [] => format!("VALID: {first}."),
        [one] => format!("INVALID: {}. Do not compare this trial.", one.found),
        [one, rest @ ..] => format!(
            "INVALID: {}, and {}. Do not compare this trial.",
            one.found,
            units::count(rest.len(), "more reason")
        ),
    }
}

fn summary(operation: &OperationResult) -> String {
    let rate = match operation.documents_per_s {
        Some(rate) => format!("wrote {} docs/s", per_second(rate)),
        None => format!(
            "had {} answers a second",
            per_second(operation.requests_per_s)
        ),
    };
    let latency = operation.latency.as_ref().map_or(String::new(), |latency| {
        let [p50, _, p99, ..] = columns(latency);
        format!("; latency p50 {p50}, p99 {p99}")
    });
    format!("{} {rate}{latency}", escape(&operation.operation))
}

/// A rate to three digits, or to whole numbers from a thousand on.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
pub(super) fn per_second(rate: f64) -> String {
    if (1e3..1e15).contains(&rate) {
        units::grouped(rate.round() as u64)
    } else {
        units::number(rate)
    }
}

fn lead_of_several(trials: &[RanTrial]) -> String {
    let invalid = trials.iter().filter(|ran| !ran.trial.is_valid()).count();
    let all = units::count(trials.len(), "trial");
    if invalid == 0 {
        format!("{all}, all VALID.")
    } else {
        format!("{all}, {invalid} of them INVALID.")
    }
}

fn reasons_of(trial: &TrialDocument) -> &[Reason] {
    let judgement = trial.judgement.as_ref();
    judgement.map_or(&[][..], |judgement| &judgement.reasons)
}

fn reasons(trial: &TrialDocument) -> impl Iterator<Item = Finding> {
    reasons_of(trial).iter().map(finding)
}

fn finding(reason: &Reason) -> Finding {
    Finding {
        level: Level::Warning,
        rule: reason.check.id(),
        title: units::list::capitalised(&reason.found),
        fixes: vec![Fix {
            text: reason.remedy.clone(),
            ..Fix::default()
        }],
        subject: String::new(),
        why: String::new(),
        evidence: Vec::new(),
    }
}

fn tables(operations: &[OperationResult]) -> Vec<Table> {
    let by_phase = operations.iter().map(|one| (one.phase.as_str(), one));
    grouped(by_phase)
        .into_iter()
        .map(|(phase, operations)| {
            let mut table = Table::new(&[
                "<operation",
                "per second",
                "p50",
                "p90",
                "p99",
                "p99.9",
                "max",
                "failed",
            ]);
            let len_s = operations.first().map_or(0.0, |first| first.duration_s);
            table.title = format!(
                "Latency in {}, {}",
                escape(phase),
                units::duration(std::time::Duration::from_secs_f64(len_s.max(0.0).round()))
            );
            for operation in operations {
                table.row(row(operation));
            }
            table
        })
        .collect()
}

fn row(operation: &OperationResult) -> Vec<String> {
    let rate = operation.documents_per_s.map_or_else(
        || per_second(operation.requests_per_s),
        |rate| format!("{} docs", per_second(rate)),
    );
    let mut row = vec![operation.operation.clone(), rate];
    match &operation.latency {
        Some(latency) => row.extend(columns(latency)),
        None => row.extend(vec!["-".to_owned(); 5]),
    }
    let failed: u64 = operation.errors.values().sum::<u64>() + operation.unfinished;
    row.push(units::grouped(failed));
    row
}

fn columns(latency: &Latency) -> [String; 5] {
    [
        milliseconds(latency.p50_ms),
        milliseconds(latency.p90_ms),
        milliseconds(latency.p99_ms),
        cell(latency.p99_9_ms, milliseconds),
        milliseconds(latency.max_ms),
    ]
}

/// What servers and host counted, those figures that people ask for first.
fn counted(trial: &TrialDocument) -> Facts {
    let mut facts = Facts::default();
    let (server, host) = (&trial.server, &trial.host);
    let get = |of: &BTreeMap<String, f64>, name: &str| of.get(name).copied();
    let seconds = |of, name: &str| get(of, name).map(units::seconds);
    facts.push_each("merges", seconds(server, "merge_time_s"));
    facts.push_each("GC", seconds(server, "gc_time_s"));
    let bytes = |of, name: &str| get(of, name).map(units::size::bytes_estimate);
    facts.push_each("store", bytes(server, "store_bytes"));
    for (label, name) in [
        ("read", "read_bytes"),
        ("written", "written_bytes"),
        ("discarded", "discarded_bytes"),
    ] {
        facts.push_each(label, bytes(host, name));
    }
    let shares: Vec<String> = [
        ("idle", "cpu_idle"),
        ("driver", "cpu_driver"),
        ("other processes", "cpu_foreign"),
        ("steal", "cpu_steal"),
    ]
    .into_iter()
    .filter_map(|(label, name)| Some(format!("{label} {}", units::percent(get(host, name)?))))
    .collect();
    if !shares.is_empty() {
        facts.push("CPU", shares.join(", "));
    }
    facts
}

fn overview(trials: &[RanTrial]) -> Table {
    let mut table = Table::titled(
        "Trials, first operation of each",
        &["<trial", "<verdict", "per second", "p50", "p99"],
    );
    for ran in trials {
        let verdict = if ran.trial.is_valid() {
            "VALID"
        } else {
            "INVALID"
        };
        let mut cells = vec![ran.folder.clone(), verdict.to_owned()];
        match ran.trial.operations.first() {
            Some(operation) => {
                let row = row(operation);
                cells.extend([row[1].clone(), row[2].clone(), row[4].clone()]);
            }
            None => cells.extend(vec!["-".to_owned(); 3]),
        }
        table.row(cells);
    }
    table
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
