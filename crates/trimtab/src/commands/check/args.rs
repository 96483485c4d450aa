//! The arguments of `trimtab check`.

use crate::answer::OutputArgs;
use crate::arguments::{ClusterArgs, SourceArgs};
use clap::{Args, ValueEnum};
use facts::Severity;
use std::path::PathBuf;

/// `trimtab check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trimtab check --data-path /srv/kafka\n  \
    trimtab check --bundle host.tar.zst --format json\n  \
    trimtab check --cluster http://localhost:9200      a cluster instead of this host\n  \
    trimtab check --cluster https://es1:9200 --bundle es1.tar.zst --bundle es2.tar.zst\n  \
    trimtab check --select TRIM --fail-on error --format sarif > trimtab.sarif\n  \
    trimtab check --format nagios     as a monitoring plugin\n\n\
    Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 could not run (also when every rule\n\
    was skipped); with --format nagios 0, 1, 2, 3 as monitoring plugins do.")]
pub struct Check {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Check a bundle (made by `trimtab collect`) instead of this host; several are the hosts of one
    /// cluster, and compared
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub bundle: Vec<PathBuf>,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Threads of the master from FILE (a jstack, or the answer to hot threads) instead of its own
    /// answer
    #[arg(long, value_name = "FILE")]
    pub hot_threads: Option<PathBuf>,

    /// Run only these rules: ids or beginnings of ids, separated by commas (TRIM,FS003)
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        env = "TRIMTAB_SELECT"
    )]
    pub select: Vec<String>,

    /// Leave these rules out, in the same form
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        env = "TRIMTAB_IGNORE"
    )]
    pub ignore: Vec<String>,

    /// Print the answer in this form [default: text, or what the name of -o FILE ends in]
    #[arg(long, value_enum, env = "TRIMTAB_FORMAT", help_heading = "Output")]
    pub format: Option<Format>,

    /// Exit with 1 from this severity on [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY", env = "TRIMTAB_FAIL_ON")]
    pub fail_on: Option<SeverityArg>,

    /// Exit with 0 whatever is found (errors of trimtab itself still give 2)
    #[arg(long)]
    pub exit_zero: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Forms of `check`'s output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people
    Text,
    /// For programs: see --schema
    Json,
    /// For a browser: a page that loads nothing
    Html,
    /// For tickets
    Markdown,
    /// For code-scanning and security dashboards (SARIF 2.1.0)
    Sarif,
    /// One line and performance data, exit codes of monitoring plugins
    Nagios,
}

/// A severity on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeverityArg {
    /// Worth knowing; text output calls it a note
    #[value(alias = "note")]
    Info,
    /// Will hurt
    Warning,
    /// Hurts now
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
