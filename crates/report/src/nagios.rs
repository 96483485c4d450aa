//! Nagios plugin output: one line with performance data, then long output. Format: Monitoring
//! Plugins Development Guidelines, "Plugin Output for Nagios".

use crate::check::{CheckReport, sorted};
use crate::shared::{self, HOSTS_MIN};
use crate::views::finding::severity_word;
use facts::{Finding, Severity};
use std::fmt::Write as _;
use units::count;
use units::escape::{cut, escape};

/// Maximum number of findings named in the first line.
const NAMED_MAX: usize = 4;
/// Maximum number of lines of long output; Nagios Core keeps 8 KiB in all.
const LINES_MAX: usize = 40;
/// Maximum number of characters per line.
const LINE_CHARS_MAX: usize = 160;

/// State of a plugin; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NagiosStatus {
    /// No finding above `info`.
    Ok = 0,
    /// Warnings, no errors.
    Warning = 1,
    /// At least one error.
    Critical = 2,
    /// No finding above `info`, but most rules had nothing to look at.
    Unknown = 3,
}

impl NagiosStatus {
    /// Returns the exit code: 0 to 3.
    pub fn exit_code(self) -> u8 {
        self as u8
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// Returns the Nagios state of a report.
pub fn nagios_status(report: &CheckReport<'_>) -> NagiosStatus {
    match report.worst() {
        Some(Severity::Error) => NagiosStatus::Critical,
        Some(Severity::Warning) => NagiosStatus::Warning,
        _ if report.coverage().is_mostly_blind() => NagiosStatus::Unknown,
        Some(Severity::Info) | None => NagiosStatus::Ok,
    }
}

/// Renders a report as plugin output; the exit code is that of [`nagios_status`].
pub fn nagios(report: &CheckReport<'_>) -> String {
    let status = nagios_status(report);
    let counts = report.counts();
    let findings = sorted(report.findings);
    let mut said: Vec<String> = [(counts.error, "error"), (counts.warning, "warning")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    if said.is_empty() {
        said.push(match (status, counts.info) {
            (NagiosStatus::Unknown, _) => {
                format!("could not tell: {}", report.coverage())
            }
            (_, 0) if report.coverage().filesystems_unread > 0 => {
                format!("nothing found in what could be read; {}", report.coverage())
            }
            (_, 0) => "nothing found".to_owned(),
            (_, notes) => count(notes, "note"),
        });
    }
    let mut out = format!("TRIMTAB {} - {}", status.word(), said.join(", "));
    // Notes do not raise an alarm, so leave them out of its line.
    let is_alarm = |finding: &Finding| finding.severity > Severity::Info;
    let groups = shared::groups(report.findings);
    // What each finding is about; of many hosts, those of one kind together.
    let all: Vec<(&Finding, String)> = if report.hosts.len() < HOSTS_MIN {
        let findings = findings.into_iter();
        findings
            .map(|finding| (finding, subject(finding)))
            .collect()
    } else {
        let of_clusters = findings.into_iter();
        let of_clusters = of_clusters.filter(|finding| finding.cluster.is_some());
        let of_clusters = of_clusters.map(|finding| (finding, subject(finding)));
        let of_hosts = groups.iter().map(|group| {
            let about = match group.hosts.as_slice() {
                [only] => format!("{only}:{}", group.first.subject),
                hosts => format!("{} hosts", hosts.len()),
            };
            (group.first, about)
        });
        of_clusters.chain(of_hosts).collect()
    };
    let mut named: Vec<String> = all
        .iter()
        .filter(|(finding, _)| is_alarm(finding))
        .map(|(finding, about)| shown(&format!("{} {about}", finding.rule)))
        .collect();
    if named.len() > NAMED_MAX {
        let more = named.len() - NAMED_MAX;
        named.truncate(NAMED_MAX);
        named.push(format!("and {more} more"));
    }
    if !named.is_empty() {
        let _ = write!(out, ": {}", named.join(", "));
    }
    // label=value;warn;crit: an alarm above 0.
    let _ = writeln!(
        out,
        " | errors={};;0 warnings={};0 notes={} skipped={}",
        counts.error,
        counts.warning,
        counts.info,
        report.skipped.len()
    );

    let found = all.iter().map(|(finding, about)| {
        let severity = severity_word(finding.severity);
        format!("{severity} {} {about}: {}", finding.rule, finding.title)
    });
    let skipped = report.skipped.iter().map(|skip| match &skip.host {
        Some(host) => format!("skipped {}: {}: {}", host, skip.what, skip.why),
        None => format!("skipped {}: {}", skip.what, skip.why),
    });
    let warnings = report
        .warnings
        .iter()
        .map(|warning| format!("caution: {warning}"));
    let lines: Vec<String> = found.chain(skipped).chain(warnings).collect();
    for line in lines.iter().take(LINES_MAX) {
        let _ = writeln!(out, "{}", shown(line));
    }
    if lines.len() > LINES_MAX {
        let _ = writeln!(out, "... and {} more lines", lines.len() - LINES_MAX);
    }
    out
}

/// Renders an error as plugin output: nothing could be checked, and why. The exit code is that of
/// [`NagiosStatus::Unknown`].
pub fn nagios_error(message: &str) -> String {
    format!(
        "TRIMTAB {} - {}\n",
        NagiosStatus::Unknown.word(),
        shown(message)
    )
}

/// Returns what a finding is about; of several hosts, after the name of its host.
fn subject(finding: &Finding) -> String {
    match &finding.host {
        Some(host) => format!("{host}:{}", finding.subject),
        None => finding.subject.clone(),
    }
}

/// Formats one line without the bar, which would start performance data.
fn shown(text: &str) -> String {
    cut(&escape(text).replace('|', "\\u{7c}"), LINE_CHARS_MAX).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_without_performance_data() {
        assert_eq!(
            nagios_error("bundle a|b\u{1b}]0;x\u{7}\nTRIMTAB OK"),
            "TRIMTAB UNKNOWN - bundle a\\u{7c}b\\u{1b}]0;x\\u{7}\\nTRIMTAB OK\n"
        );
    }
}
