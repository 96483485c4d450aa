use super::args::{Check, Format};
use super::options::Options;
use crate::answer::{self, generated_at};
use crate::commands::cluster::Asked;
use crate::commands::{cluster, source};
use crate::config::{CheckConfig, Config, Suppress};
use crate::error::{CommandError, Kind};
use crate::output;
use facts::{Cluster, Finding, Host, Severity, Skipped};
use report::{CheckReport, NagiosStatus, RuleInfo, Suppressed, TextOptions};
use rules::Subject;
use std::process::ExitCode;

/// Runs `trimtab check`.
///
/// # Errors
/// When nothing could be read or the arguments conflict; findings are not errors. With the Nagios format an
/// error is printed to standard output as UNKNOWN instead.
pub fn run(
    arguments: &Check,
    config: Result<Config, CommandError>,
    verbose: bool,
) -> Result<ExitCode, CommandError> {
    let configured = config.as_ref().ok().and_then(|config| config.check.format);
    let file = arguments.output.file();
    let format = answer::resolve_format(arguments.format, file, configured, format_of)?;
    let format = format.unwrap_or(Format::Text);
    match config.and_then(|config| check(arguments, &config.check, format, verbose)) {
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
    verbose: bool,
) -> Result<ExitCode, CommandError> {
    if arguments.output.schema {
        output::print(&report::schema_of::<report::CheckResult<'_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::resolve(arguments, config)?;
    let inputs = Inputs::at(arguments, config)?;
    let node_hosts: Vec<&Host> = inputs.hosts.iter().collect();
    let subject = Subject {
        host: inputs.host(),
        cluster: inputs.cluster.as_ref(),
        node_hosts: &node_hosts,
    };
    let outcome = rules::run_on(subject, &options.selection);
    let (suppressed, findings) = suppress(outcome.findings, options.suppress);
    let of_host = subject.host.map(|host| &host.skipped);
    let of_cluster = subject.cluster.map(|cluster| &cluster.skipped);
    let skipped: Vec<Skipped> = [of_host, of_cluster, Some(&outcome.skipped)]
        .into_iter()
        .flatten()
        .flatten()
        .cloned()
        .collect();
    let rule_docs: Vec<RuleInfo> = rules::all()
        .iter()
        .map(|rule| RuleInfo {
            id: rule.id.to_owned(),
            title: rule.title.to_owned(),
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
        host: subject.host,
        cluster: subject.cluster,
        findings: &findings,
        suppressed: &suppressed,
        skipped: &skipped,
        rules_run: &outcome.rules_run,
        rule_docs: &rule_docs,
        source: inputs.label.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        generated_at: generated_at()?,
        warnings: &warnings,
    };
    arguments
        .output
        .write(&render(&report, format, arguments, verbose))?;
    exit_code(&report, format, options.fail_on, arguments.exit_zero)
}

/// The hosts and cluster that a check examines.
struct Inputs {
    /// This host, the host at `--root`, or the hosts of the bundles.
    hosts: Vec<Host>,
    /// The cluster.
    cluster: Option<Cluster>,
    /// Description of the sources, shown to the user.
    label: String,
    /// Remarks about the sources for the user.
    remarks: Vec<String>,
}

impl Inputs {
    fn at(arguments: &Check, config: &CheckConfig) -> Result<Self, CommandError> {
        // Query the cluster first, so that a connection error is reported before the host is read.
        let this_host = arguments.source.root.is_none() && arguments.bundle.is_empty();
        let asked = Asked::new(&arguments.cluster, config, this_host)?;
        let mut answers = cluster::ask(asked, &arguments.cluster, config)?;
        let mut opened = match &arguments.source.root {
            Some(root) => vec![source::stored(root, "directory")?],
            None => Vec::new(),
        };
        for bundle in &arguments.bundle {
            opened.push(source::stored(bundle, "bundle")?);
        }
        // `--cluster` replaces this host; a configured cluster is checked in addition to it.
        if this_host && !matches!(asked, Asked::Named(_)) {
            opened.push(source::live());
        } else if answers.is_none() {
            // Use the cluster of the first bundle that has one.
            for opened in &opened {
                answers = cluster::stored(opened.source.as_ref())?;
                if answers.is_some() {
                    break;
                }
            }
        }
        let hot_threads = arguments.hot_threads.as_deref();
        let cluster = match &answers {
            Some(answers) => Some(cluster::facts(answers, hot_threads)?),
            None if hot_threads.is_some() => {
                let message = "--hot-threads: there is no cluster that the threads belong to";
                return Err(CommandError::new(Kind::Usage, message).hint(
                    "name it with --cluster URL, or a bundle that was collected with --cluster",
                ));
            }
            None => None,
        };
        let mut labels: Vec<String> = Vec::new();
        let mut remarks = Vec::new();
        let mut hosts = Vec::new();
        for opened in &opened {
            let (host, _) = source::read(opened, &arguments.source, &config.data_paths)?;
            hosts.push(host);
            labels.push(opened.label.clone());
            remarks.extend(opened.source.remarks());
        }
        if let (Some(cluster), true) = (&cluster, asked != Asked::Nobody) {
            labels.push(format!("cluster {}", cluster.endpoint));
        }
        if hosts.len() > 1 {
            if cluster.is_none() {
                let message = "several bundles, and none of them holds a cluster";
                return Err(CommandError::new(Kind::Usage, message)
                    .hint("name their cluster with --cluster URL, or check one bundle at a time"));
            }
            remarks.push(format!(
                "of the {} hosts only what concerns their cluster was checked; check each bundle by \
                 itself for the rest",
                hosts.len()
            ));
        }
        Ok(Self {
            hosts,
            cluster,
            label: labels.join(", "),
            remarks,
        })
    }

    /// The host whose host rules run, if there is exactly one.
    fn host(&self) -> Option<&Host> {
        match self.hosts.as_slice() {
            [host] => Some(host),
            _ => None,
        }
    }
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

fn render(report: &CheckReport<'_>, format: Format, arguments: &Check, verbose: bool) -> String {
    match format {
        Format::Text => {
            let terminal = arguments.output.terminal();
            let options = TextOptions {
                width: terminal.width,
                color: terminal.color,
                unicode: terminal.unicode,
                verbose,
            };
            report::text(report, &options)
        }
        Format::Json => report::json(report),
        Format::Html => report::html(report),
        Format::Markdown => report::markdown(report),
        Format::Sarif => report::sarif(report),
        Format::Nagios => report::nagios(report),
    }
}

/// The format for a lower-case file extension.
fn format_of(extension: &str) -> Option<Format> {
    Some(match extension {
        "sarif" => Format::Sarif,
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
    if report.nothing_checked() {
        return Err(CommandError::new(
            Kind::Environment,
            format!(
                "{}: nothing could be checked, every rule was skipped",
                report.source
            ),
        )
        .hint(if report.host.is_some() {
            "see what is skipped and why; a tree needs at least proc/self/mountinfo and sys/block"
        } else {
            "see what is skipped and why; a cluster wants the privileges monitor and \
             view_index_metadata"
        }));
    }
    let failed = report
        .findings
        .iter()
        .any(|finding| finding.severity >= fail_on);
    Ok(ExitCode::from(u8::from(failed && !exit_zero)))
}
