//! Converts findings for display.

use facts::{Finding, Remedy, Severity};
use page::{Evidence, Fix, Level};

/// Converts a finding in full, for a section whose heading names its subject.
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

/// Returns the word for a severity in human-readable formats: an `info` is a note.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    level(severity).word()
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

/// Joins sentences into one line, whatever their line breaks.
pub(crate) fn prose(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns whether an undo is a bare command of one or more lines, which must not be wrapped. Prose
/// starts with a capital letter or ends with a full stop.
fn is_command(undo: &str) -> bool {
    !undo.ends_with('.') && !undo.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_commands_are_distinguished() {
        assert!(is_command("cryptsetup refresh --persistent c0"));
        assert!(is_command("/sbin/fstrim -v /"));
        assert!(is_command("mv a b &&\nmv c d"));
        assert!(!is_command("Remove the line again"));
        assert!(!is_command("remove the line again."));
    }
}
