use crate::cli::{Check, Format, SeverityArg};
use crate::commands::source;
use crate::config::{CheckConfig, Config, Suppress};
use crate::error::{CommandError, Kind};
use crate::output;
use facts::{Finding, Severity, Skipped};
use jiff::Timestamp;
use report::{CheckReport, NagiosStatus, RuleInfo, Suppressed, TextOptions};
use rules::Selection;
use std::process::ExitCode;

/// Runs `trimtab check`.
///
/// # Errors
/// When nothing could be read or the arguments do not fit; findings are no errors. For monitoring
/// an error is an answer as well: UNKNOWN, on standard output.
pub fn run(
    arguments: &Check,
    config: Result<Config, CommandError>,
    verbose: bool,
) -> Result<ExitCode, CommandError> {
    let configured = config.as_ref().ok().and_then(|config| config.check.format);
    let format = arguments.format.or(configured).unwrap_or(Format::Text);
    match config.and_then(|config| check(arguments, &config.check, format, verbose)) {
        Err(error) if format == Format::Nagios => {
            let message = error.message.replace(['|', '\n'], " ");
            output::print(&format!("TRIMTAB UNKNOWN - {message}\n"))?;
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
    if arguments.schema {
        let schema = serde_json::to_string_pretty(&report::json_schema())
            .map_err(|error| CommandError::new(Kind::Environment, format!("schema: {error}")))?;
        output::print(&(schema + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let selection = selection(arguments, config)?;
    for suppress in &config.suppress {
        if rules::find(&suppress.rule).is_none() {
            return Err(CommandError::new(
                Kind::Input,
                format!(
                    "configuration: a suppression names the rule {:?}, which is not there",
                    suppress.rule
                ),
            )
            .hint("`trimtab rule` lists them all"));
        }
    }
    let opened = match (&arguments.bundle, &arguments.source.root) {
        (Some(bundle), _) => source::stored(bundle, "bundle")?,
        (None, Some(root)) => source::stored(root, "directory")?,
        (None, None) => source::live(),
    };
    let (host, _) = source::read(&opened, &arguments.source, &config.data_paths)?;
    let outcome = rules::run(&host, &selection);
    let (suppressed, findings) = suppress(outcome.findings, &config.suppress);
    let skipped: Vec<Skipped> = host
        .skipped
        .iter()
        .chain(&outcome.skipped)
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
    let mut warnings = opened.source.remarks();
    warnings.extend(unused_suppressions(
        config
            .suppress
            .iter()
            .filter(|suppress| selection.includes(&suppress.rule.to_uppercase())),
        &suppressed,
    ));
    let report = CheckReport {
        host: &host,
        findings: &findings,
        suppressed: &suppressed,
        skipped: &skipped,
        rules_run: &outcome.rules_run,
        rule_docs: &rule_docs,
        source: opened.label.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        generated_at: generated_at()?,
        warnings: &warnings,
    };
    output::print(&render(&report, format, arguments, verbose))?;
    let fail_on = arguments
        .fail_on
        .or(config.fail_on)
        .unwrap_or(SeverityArg::Warning)
        .into();
    exit_code(&report, format, fail_on, arguments.exit_zero)
}

fn selection(arguments: &Check, config: &CheckConfig) -> Result<Selection, CommandError> {
    let upper = |ids: &[String]| {
        ids.iter()
            .map(|id| id.trim().to_uppercase())
            .collect::<Vec<_>>()
    };
    let chosen =
        |flag: &[String], file: &[String]| upper(if flag.is_empty() { file } else { flag });
    let selection = Selection {
        select: chosen(&arguments.select, &config.select),
        ignore: chosen(&arguments.ignore, &config.ignore),
    };
    for pattern in selection.select.iter().chain(&selection.ignore) {
        if pattern.is_empty()
            || !rules::all()
                .iter()
                .any(|rule| rule.id.starts_with(pattern.as_str()))
        {
            return Err(CommandError::new(
                Kind::Usage,
                format!("no rule's id begins with {pattern:?}"),
            )
            .hint("`trimtab rule` lists them all"));
        }
    }
    Ok(selection)
}

/// Takes out what the configuration accepts.
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

/// A suppression that hides nothing is out of date, or has a typing error.
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

/// Now, or the moment that `SOURCE_DATE_EPOCH` names, for reports that can be repeated
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
///
/// # Errors
/// When that is no number.
pub fn generated_at() -> Result<Timestamp, CommandError> {
    let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") else {
        return Ok(Timestamp::now());
    };
    text.parse()
        .ok()
        .and_then(|second| Timestamp::from_second(second).ok())
        .ok_or_else(|| {
            CommandError::new(
                Kind::Usage,
                format!("SOURCE_DATE_EPOCH: expected seconds since 1970, found {text:?}"),
            )
        })
}

fn render(report: &CheckReport<'_>, format: Format, arguments: &Check, verbose: bool) -> String {
    match format {
        Format::Text => report::text(
            report,
            &TextOptions {
                width: usize::from(arguments.width.unwrap_or_else(output::terminal_columns)),
                color: output::use_color(arguments.color),
                unicode: output::use_unicode(),
                verbose,
            },
        ),
        Format::Json => report::json(report),
        Format::Markdown => report::markdown(report),
        Format::Sarif => report::sarif(report),
        Format::Nagios => report::nagios(report),
    }
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
        .hint(
            "see what is skipped and why; a tree needs at least proc/self/mountinfo and sys/block",
        ));
    }
    let failed = report
        .findings
        .iter()
        .any(|finding| finding.severity >= fail_on);
    Ok(ExitCode::from(u8::from(failed && !exit_zero)))
}
