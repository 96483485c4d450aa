//! Page of `trimtab bench run`: whether the trial may be believed, then what it measured.

use super::compare::{self, Compared};
use bench::trial::{Latency, OperationResult, TrialDocument};
use bench::validity::Reason;
use page::{Block, Finding, Fix, Level, List, Page, Section, Table, Tone};
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
    /// Whether all trials may be believed.
    pub fn is_valid(&self) -> bool {
        self.trials.iter().all(|ran| ran.trial.is_valid())
    }
}

pub(super) fn page(ran: &Ran, is_brief: bool) -> Page {
    let mut page = match (&ran.comparison, &ran.trials[..]) {
        (Some(compared), _) => compare::page(compared, is_brief),
        (None, [one]) => trial_page(one),
        (None, several) => Page {
            lead: lead_of_several(several),
            tone: tone(ran.is_valid()),
            ..Page::default()
        },
    };
    "trimtab bench run".clone_into(&mut page.title);
    if ran.trials.len() > 1 {
        page.push(overview(&ran.trials));
        let invalid = ran.trials.iter().filter(|ran| !ran.trial.is_valid());
        for ran in invalid {
            let mut section = Section::new(format!("{} is INVALID", escape(&ran.folder)));
            section.blocks.extend(reasons(&ran.trial));
            page.push(section);
        }
    }
    page
}

fn tone(is_valid: bool) -> Tone {
    if is_valid {
        Tone::Strong
    } else {
        Tone::Level(Level::Warning)
    }
}

fn trial_page(ran: &RanTrial) -> Page {
    let trial = &ran.trial;
    let mut page = Page {
        lead: lead(trial),
        tone: tone(trial.is_valid()),
        ..Page::default()
    };
    page.blocks.extend(reasons(trial));
    for table in tables(&trial.operations) {
        page.push(table);
    }
    let counted = counted(trial);
    if !counted.is_empty() {
        let mut section = Section::new("Within the measured time");
        section.push(Block::Facts(counted));
        page.push(section);
    }
    if let Some(judgement) = &trial.judgement
        && !judgement.unchecked.is_empty()
    {
        let items = judgement
            .unchecked
            .iter()
            .map(|check| format!("{}: needs {}", check.label(), check.needs()));
        page.push(Block::List(List {
            title: "Not checked".to_owned(),
            items: items.collect(),
        }));
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
    let reasons = trial
        .judgement
        .as_ref()
        .map_or(&[][..], |judgement| &judgement.reasons);
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
        format!(
            "; latency p50 {}, p99 {}",
            ms(latency.p50_ms),
            ms(latency.p99_ms)
        )
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

fn reasons(trial: &TrialDocument) -> Vec<Block> {
    let reasons = trial
        .judgement
        .iter()
        .flat_map(|judgement| &judgement.reasons);
    reasons
        .map(|reason| Block::Finding(finding(reason)))
        .collect()
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

/// A table for each phase.
fn tables(operations: &[OperationResult]) -> Vec<Table> {
    let mut phases: Vec<(&str, Vec<&OperationResult>)> = Vec::new();
    for operation in operations {
        match phases
            .iter_mut()
            .find(|(phase, _)| *phase == operation.phase)
        {
            Some((_, of_phase)) => of_phase.push(operation),
            None => phases.push((&operation.phase, vec![operation])),
        }
    }
    phases
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
        ms(latency.p50_ms),
        ms(latency.p90_ms),
        ms(latency.p99_ms),
        latency.p99_9_ms.map_or_else(|| "-".to_owned(), ms),
        ms(latency.max_ms),
    ]
}

fn ms(ms: f64) -> String {
    units::seconds(ms / 1e3)
}

/// What servers and host counted, those figures that people ask for first.
fn counted(trial: &TrialDocument) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut put = |label: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.push((label.to_owned(), value));
        }
    };
    let (server, host) = (&trial.server, &trial.host);
    let get = |of: &BTreeMap<String, f64>, name: &str| of.get(name).copied();
    let seconds = |of, name: &str| get(of, name).map(units::seconds);
    put("merges", seconds(server, "merge_time_s"));
    put("GC", seconds(server, "gc_time_s"));
    put(
        "store",
        get(server, "store_bytes").map(units::size::bytes_estimate),
    );
    for (label, name) in [
        ("read", "read_bytes"),
        ("written", "written_bytes"),
        ("discarded", "discarded_bytes"),
    ] {
        put(label, get(host, name).map(units::size::bytes_estimate));
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
    put("CPU", (!shares.is_empty()).then(|| shares.join(", ")));
    facts
}

/// A row for each trial.
fn overview(trials: &[RanTrial]) -> Table {
    let mut table = Table::new(&["<trial", "<verdict", "per second", "p50", "p99"]);
    "Trials, first operation of each".clone_into(&mut table.title);
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
