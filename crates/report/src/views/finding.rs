//! A finding as it is shown.

use crate::check::is_command;
use facts::{Finding, Remedy, Severity};
use page::{Evidence, Fix, Level};

/// A finding in full, below a heading that says what it is about.
pub(crate) fn in_full(finding: &Finding) -> page::Finding {
    page::Finding {
        level: level(finding.severity),
        rule: finding.rule.clone(),
        title: prose(&finding.title),
        subject: String::new(),
        why: prose(&finding.why),
        fixes: finding.remedy.iter().map(fix).collect(),
        evidence: evidence(finding),
    }
}

pub(crate) fn level(severity: Severity) -> Level {
    match severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Info => Level::Note,
    }
}

pub(crate) fn evidence(finding: &Finding) -> Vec<Evidence> {
    let evidence = finding.evidence.iter();
    evidence
        .map(|evidence| Evidence {
            source: evidence.source.clone(),
            value: evidence.value.clone(),
        })
        .collect()
}

pub(crate) fn fix(remedy: &Remedy) -> Fix {
    let undo = remedy.undo.clone();
    let (undo_command, undo) = match undo {
        Some(undo) if is_command(&undo) => (Some(undo), None),
        undo => (None, undo.map(|undo| prose(&undo))),
    };
    Fix {
        text: prose(&remedy.text),
        command: remedy.command.clone(),
        risk: remedy.risk.as_deref().map(prose),
        undo,
        undo_command,
    }
}

/// Sentences on one line, however they were broken.
pub(crate) fn prose(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
