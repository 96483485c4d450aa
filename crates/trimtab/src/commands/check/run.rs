use super::args::{Check, Format};
use super::inputs::Inputs;
use super::options::Options;
use super::upload;
use crate::answer::{self, generated_at};
use crate::config::{CheckConfig, Config, Suppress};
use crate::error::CommandError;
use crate::output;
use facts::{Finding, Severity};
use report::{CheckReport, CheckedHost, NagiosStatus, RuleInfo, Suppressed, TextOptions};
use rules::{Budget, DiskCalendar, Meetings, NamedHost, Rule, Selection, Subject};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The time that all rules may take for one host. Real hosts take milliseconds, a bundle can be
/// made to take hours.
const RULES_TIME: Duration = Duration::from_secs(8);

/// Runs `trimtab check`.
///
/// # Errors
/// When nothing could be read or the arguments conflict; findings are not errors. With the Nagios format an
/// error is printed to standard output as UNKNOWN instead.
pub fn run(
    arguments: &Check,
    config: Result<Config, CommandError>,
    verbose: bool,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    let configured = config.as_ref().ok().and_then(|config| config.check.format);
    let file = arguments.output.file();
    let format = answer::resolve_format(arguments.format, file, configured, format_of)?;
    let format = format.unwrap_or(Format::Text);
    match config.and_then(|config| check(arguments, &config.check, format, (verbose, quiet))) {
        Err(error) if format == Format::Nagios => {
            output::print(&report::nagios_error(&error.message))?;
            Ok(ExitCode::from(NagiosStatus::Unknown.exit_code()))
        }
        outcome => outcome,
    }
}

fn check(
    arguments: &Check,
    config: &CheckConfig,
    format: Format,
    (verbose, quiet): (bool, bool),
) -> Result<ExitCode, CommandError> {
    if arguments.output.schema {
        return answer::print_schema::<report::CheckResult<'_>>();
    }
    let options = Options::resolve(arguments, config)?;
    let target = |url: &String| upload::Target::new(url, &arguments.cluster.access, config);
    let target = arguments.to.as_ref().map(target).transpose()?;
    let inputs = Inputs::at(arguments, config)?;
    let hosts: Vec<NamedHost<'_>> = inputs
        .hosts
        .iter()
        .map(|read| NamedHost {
            name: &read.name,
            host: &read.host,
        })
        .collect();
    let subject = Subject {
        hosts: &hosts,
        cluster: inputs.cluster.as_ref(),
    };
    refuse_rules_without_subject(subject, &options.selection)?;
    let start = Instant::now();
    let clock = || start.elapsed();
    let budget = Budget::new(&clock, RULES_TIME);
    let outcome = rules::run_on(subject, &options.selection, budget);
    let (suppressed, findings) = suppress(outcome.findings, options.suppress);
    let mut skipped = inputs.skipped();
    skipped.extend(outcome.skipped);
    let rule_docs: Vec<RuleInfo> = rules::all()
        .iter()
        .map(|rule| RuleInfo {
            id: rule.id.to_owned(),
            title: rule.title.to_owned(),
            is_about_cluster: rule.is_about_cluster(),
            help_markdown: rule.documentation(),
        })
        .collect();
    let mut warnings = inputs.remarks.clone();
    warnings.extend(unused_suppressions(
        options
            .suppress
            .iter()
            .filter(|suppress| options.selection.includes(&suppress.rule.to_uppercase())),
        &suppressed,
    ));
    let report = CheckReport {
        hosts: inputs
            .hosts
            .iter()
            .map(|read| CheckedHost {
                name: read.name.clone(),
                source: read.label.clone(),
                host: &read.host,
            })
            .collect(),
        cluster: subject.cluster,
        findings: &findings,
        suppressed: &suppressed,
        skipped: &skipped,
        rules_run: &outcome.rules_run,
        rule_docs: &rule_docs,
        meetings: if hosts.len() > 1 {
            rules::meetings(&hosts, budget)
        } else {
            Meetings::default()
        },
        source: inputs.label.clone(),
        tool_version: crate::version::VERSION.to_owned(),
        generated_at: generated_at()?,
        warnings: &warnings,
    };
    arguments
        .output
        .write(&render(&report, (format, verbose), arguments, budget))?;
    if let Some(target) = &target {
        upload::send(&report, target, quiet)?;
    }
    exit_code(&report, format, options.fail_on, arguments.exit_zero)
}

/// Splits findings into suppressed ones and the rest.
fn suppress(findings: Vec<Finding>, accepted: &[Suppress]) -> (Vec<Suppressed>, Vec<Finding>) {
    let mut suppressed = Vec::new();
    let mut kept = Vec::new();
    for finding in findings {
        match accepted.iter().find(|suppress| suppress.covers(&finding)) {
            Some(suppress) => suppressed.push(Suppressed {
                reason: suppress.reason.clone(),
                finding,
            }),
            None => kept.push(finding),
        }
    }
    (suppressed, kept)
}

/// Warns of suppressions that match no finding: they are out of date or misspelled.
fn unused_suppressions<'a>(
    accepted: impl Iterator<Item = &'a Suppress>,
    suppressed: &[Suppressed],
) -> Vec<String> {
    accepted
        .filter(|suppress| {
            !suppressed
                .iter()
                .any(|known| suppress.covers(&known.finding))
        })
        .map(|suppress| {
            let subject = suppress
                .subject
                .as_deref()
                .map_or(String::new(), |s| format!(" for {s}"));
            format!(
                "the suppression of {}{subject} matches no finding",
                suppress.rule
            )
        })
        .collect()
}

/// Refuses a selection of which no rule is about what is checked.
fn refuse_rules_without_subject(
    subject: Subject<'_>,
    selection: &Selection,
) -> Result<(), CommandError> {
    let selected = || {
        rules::all()
            .iter()
            .filter(|rule| selection.includes(rule.id))
    };
    let is_checked = |rule: &Rule| {
        if rule.is_about_cluster() {
            subject.cluster.is_some()
        } else {
            !subject.hosts.is_empty()
        }
    };
    if selection.select.is_empty() || selected().any(is_checked) {
        return Ok(());
    }
    let select = selection.select.join(",");
    Err(if subject.cluster.is_none() {
        let message =
            format!("--select {select}: these rules are about a cluster, and none is given");
        CommandError::usage(message)
            .hint("name it with --cluster URL, or a bundle that was collected with --cluster")
    } else {
        let message = format!("--select {select}: these rules are about a host, and none is given");
        CommandError::usage(message).hint(
            "add the bundles of the cluster's hosts with --bundle FILE, or leave --cluster out to \
             check this host",
        )
    })
}

fn render(
    report: &CheckReport<'_>,
    (format, verbose): (Format, bool),
    arguments: &Check,
    budget: Budget<'_>,
) -> String {
    match format {
        Format::Text => {
            let terminal = arguments.output.terminal();
            report::text(report, &TextOptions { terminal, verbose })
        }
        Format::Json => report::json(report),
        Format::Html => report::html(report),
        Format::Markdown => report::markdown(report),
        Format::Sarif => report::sarif(report),
        Format::Nagios => report::nagios(report),
        Format::Openmetrics => {
            let calendars: Vec<DiskCalendar> = report
                .hosts
                .iter()
                .map(|checked| rules::disk_calendar(checked.host, budget))
                .collect();
            report::openmetrics(report, &calendars)
        }
        Format::Bulk => report::bulk(report),
    }
}

/// The format for a lower-case file extension.
fn format_of(extension: &str) -> Option<Format> {
    Some(match extension {
        "sarif" => Format::Sarif,
        "prom" => Format::Openmetrics,
        _ => match answer::format_of(extension)? {
            answer::Format::Text => Format::Text,
            answer::Format::Json => Format::Json,
            answer::Format::Markdown => Format::Markdown,
            answer::Format::Html => Format::Html,
        },
    })
}

fn exit_code(
    report: &CheckReport<'_>,
    format: Format,
    fail_on: Severity,
    exit_zero: bool,
) -> Result<ExitCode, CommandError> {
    if format == Format::Nagios {
        return Ok(ExitCode::from(report::nagios_status(report).exit_code()));
    }
    let failed = report
        .findings
        .iter()
        .any(|finding| finding.severity >= fail_on);
    let coverage = report.coverage();
    if !failed && coverage.is_mostly_blind() {
        return Err(CommandError::environment(format!(
            "{}: could not tell: {coverage}",
            report.source
        ))
        .hint(if report.hosts.is_empty() {
            "see what is skipped and why; a cluster needs the privileges monitor and \
             view_index_metadata"
        } else {
            "see what is skipped and why; `trimtab collect` on the host reads all that the rules \
             need, a tree needs proc/self/mountinfo and sys/block"
        }));
    }
    Ok(ExitCode::from(u8::from(failed && !exit_zero)))
}
