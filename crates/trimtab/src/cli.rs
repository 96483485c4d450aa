//! The command line: one definition gives parsing, help, man pages and completions.

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use facts::Severity;
use std::path::PathBuf;

/// Finds what slows a store down from below, and says how to mend it.
///
/// A weekly fstrim that stalls every node at once, an encrypted volume that swallows discards, a
/// filesystem that fights its RAID: trimtab looks for what no query shows.
#[derive(Debug, Parser)]
#[command(
    name = "trimtab",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Examples:\n  trimtab check                     audit this host, no root needed\n  \
    sudo trimtab check                also read device-mapper tables and every crontab\n  \
    trimtab collect -o host.tar.zst   take this host's facts elsewhere\n  \
    trimtab check --bundle host.tar.zst\n  trimtab rule TRIM001              what a rule means\n\n\
    Exit codes: 0 nothing at or above --fail-on (default: warning), 1 findings, 2 could not run."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Configuration file [default: /etc/trimtab/trimtab.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "TRIMTAB_CONFIG")]
    pub config: Option<PathBuf>,

    /// Show notes in full and every stack; say more on stderr, twice: everything (TRIMTAB_LOG overrides)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look for what is set up so that it will hurt
    Check(Check),
    /// Write this host's facts to a bundle, secrets left out
    Collect(Collect),
    /// Explain a rule, or list them all
    Rule(Rule),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write man pages into a directory
    Man {
        /// The directory; made if it is not there
        directory: PathBuf,
    },
}

/// Where to read a host from.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Read the files below DIR instead of this host's (a mounted image, an unpacked support
    /// archive); DIR/cmd may hold command outputs
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// A directory that holds a store's data, beside those found; may be given several times
    #[arg(long, value_name = "DIR")]
    pub data_path: Vec<String>,
}

/// `trimtab check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trimtab check --data-path /srv/kafka\n  \
    trimtab check --bundle host.tar.zst --format json\n  \
    trimtab check --select TRIM --fail-on error --format sarif > trimtab.sarif\n  \
    trimtab check --format nagios     as a monitoring plugin\n\n\
    Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 could not run (also when every rule\n\
    was skipped); with --format nagios 0, 1, 2, 3 as monitoring plugins do.")]
pub struct Check {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Check a bundle (made by `trimtab collect`) instead of this host
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub bundle: Option<PathBuf>,

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

    /// Form of the output [default: text]
    #[arg(long, value_enum, env = "TRIMTAB_FORMAT")]
    pub format: Option<Format>,

    /// Exit with 1 from this severity on [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY", env = "TRIMTAB_FAIL_ON")]
    pub fail_on: Option<SeverityArg>,

    /// Exit with 0 whatever is found (errors of trimtab itself still give 2)
    #[arg(long)]
    pub exit_zero: bool,

    /// Colour in text output; NO_COLOR is obeyed
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// Width of text output in columns [default: the terminal's, 80 elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=400))]
    pub width: Option<u16>,

    /// Print the JSON schema of --format json, and nothing else
    #[arg(long)]
    pub schema: bool,
}

/// `trimtab collect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sudo trimtab collect -o host.tar.zst\n  \
    trimtab collect --anonymise -o - | ssh desk 'cat > host.tar.zst'\n\n\
    A bundle holds what `trimtab check` reads, after the filter for secrets: no passwords, no\n\
    Environment= of units, no key material, no script beyond the programs that it runs. Look into it\n\
    with `tar -tf`. Nothing on the host is changed.")]
pub struct Collect {
    #[command(flatten)]
    pub source: SourceArgs,

    /// The bundle to write (.tar.zst); `-` writes to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace host names, addresses, serials and user names, the same one always by the same word
    #[arg(long, visible_alias = "anonymize")]
    pub anonymise: bool,

    /// Overwrite FILE if it is there
    #[arg(long)]
    pub force: bool,
}

/// `trimtab rule`.
#[derive(Debug, Args)]
pub struct Rule {
    /// The rule's id; without it all rules are listed
    pub id: Option<String>,

    /// Print the documentation of every rule, in Markdown
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
}

/// Forms of `check`'s output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people
    Text,
    /// For programs: see --schema
    Json,
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

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
