//! Arguments of `trimtab check`.

use crate::answer::OutputArgs;
use crate::arguments::{ClusterArgs, SourceArgs};
use crate::values;
use clap::{Args, ValueEnum};
use facts::Severity;
use std::path::PathBuf;

/// `trimtab check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trimtab check --data-path /srv/kafka\n  \
    trimtab check --bundle host.tar.zst --format json\n  \
    trimtab check --cluster http://localhost:9200   check a cluster, not this host\n  \
    trimtab check --cluster https://es1:9200 --bundle es1.tar.zst \\\n    \
    --bundle es2.tar.zst\n  \
    trimtab check --bundle sosreport-db1.tar.xz\n  \
    trimtab check --bundle bundles/   check a fleet\n  \
    trimtab check --to https://es1:9200   also send the findings to an index\n  \
    trimtab check --select TRIM --fail-on error --format sarif > trimtab.sarif\n  \
    trimtab check --format nagios     run as a monitoring plugin\n\n\
    Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 could not run, or\n\
    could not tell: most rules had nothing to look at. With --format nagios: 0 to 3,\n\
    as for monitoring plugins.")]
pub struct Check {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Check a bundle (from `trimtab collect`), a sosreport or another support archive, or a
    /// directory of them instead of this host (repeatable; `-` is stdin)
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub bundle: Vec<PathBuf>,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Also send the findings to indices of the Elasticsearch or OpenSearch at URL (trimtab-findings,
    /// trimtab-hosts; created if missing)
    #[arg(long, value_name = "URL", env = "TRIMTAB_TO")]
    pub to: Option<String>,

    /// Read the master's threads from FILE (jstack or hot threads output), not from the cluster
    #[arg(long, value_name = "FILE")]
    pub hot_threads: Option<PathBuf>,

    /// Run only these rules: comma-separated IDs or ID prefixes (TRIM,FS003)
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        value_parser = values::RuleId,
        hide_possible_values = true,
        env = "TRIMTAB_SELECT"
    )]
    pub select: Vec<String>,

    /// Skip these rules, in the same form
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        value_parser = values::RuleId,
        hide_possible_values = true,
        env = "TRIMTAB_IGNORE"
    )]
    pub ignore: Vec<String>,

    /// Output format [default: from the extension of -o FILE, else text]
    #[arg(long, value_enum, env = "TRIMTAB_FORMAT", help_heading = "Output")]
    pub format: Option<Format>,

    /// Lowest severity that gives exit code 1 [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY", env = "TRIMTAB_FAIL_ON")]
    pub fail_on: Option<SeverityArg>,

    /// Exit with 0 even if there are findings (errors still give 2)
    #[arg(long)]
    pub exit_zero: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Output formats of `check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Plain text
    Text,
    /// JSON (see --schema)
    Json,
    /// Self-contained HTML page
    Html,
    /// Markdown for tickets
    Markdown,
    /// SARIF 2.1.0, for code-scanning and security dashboards
    Sarif,
    /// One line with performance data and monitoring plugin exit codes
    Nagios,
    /// Metrics for Prometheus, as `node_exporter`'s textfile collector reads them (-o FILE.prom)
    Openmetrics,
    /// Lines for `_bulk` of Elasticsearch and OpenSearch, with ECS field names
    Bulk,
}

/// Values of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeverityArg {
    /// Worth knowing; shown as a note in text output
    #[value(alias = "note")]
    #[serde(alias = "note")]
    Info,
    /// Will cause problems under load or after a change
    Warning,
    /// Affects a database's data now
    Error,
}

impl From<SeverityArg> for Severity {
    fn from(severity: SeverityArg) -> Self {
        match severity {
            SeverityArg::Info => Self::Info,
            SeverityArg::Warning => Self::Warning,
            SeverityArg::Error => Self::Error,
        }
    }
}
