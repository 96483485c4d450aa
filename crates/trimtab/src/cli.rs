//! The command line: one definition gives parsing, help, man pages and completions.

use crate::commands::explain::args::Explain;
use crate::commands::shards::args::Shards;
use crate::commands::ssd::args::Ssd;
use crate::commands::trim::values::{self, BytesPerSecond};
use crate::commands::{explain, shards, ssd};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use facts::Severity;
use std::path::PathBuf;
use std::time::Duration;
use trim::window::Window;

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
    trimtab check --bundle host.tar.zst\n  trimtab rule TRIM001              what a rule means\n  \
    trimtab explain nightly.csv       what makes this curve drop again and again\n  \
    trimtab trim --dry-run /data      what a trim of a mount would do\n  \
    sudo trimtab trim --window 01:00-05:00 /data\n\n\
    Exit codes: 0 nothing at or above --fail-on (default: warning), 1 findings, 2 could not run;\n\
    `trimtab trim --help` tells those of a trim."
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
    /// Say what makes a curve drop again and again, and which scheduled job is behind it
    #[command(long_about = explain::args::LONG_ABOUT)]
    Explain(Box<Explain>),
    /// Free, at the drives, what a mounted filesystem no longer uses
    #[command(long_about = TRIM_LONG_ABOUT)]
    Trim(Box<Trim>),
    /// Simulate a solid-state drive: what will it do under this load, what would a change bring
    #[command(long_about = ssd::args::LONG_ABOUT)]
    Ssd(Ssd),
    /// What a cluster's master decides about shards, and what that costs it
    #[command(long_about = shards::args::LONG_ABOUT)]
    Shards(Box<Shards>),
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

/// Which cluster to ask, and how.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Ask the Elasticsearch or OpenSearch at URL about itself; nothing on it is changed
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,

    #[command(flatten)]
    pub access: AccessArgs,
}

/// How a server is asked.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// The longest time for one answer of the server [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub timeout: Option<Duration>,

    /// File with the credentials for the server [default: `TRIMTAB_USER` and its like]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Certificates to trust beside the system's, in PEM [default: `TRIMTAB_CA_FILE`]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// How an answer about what was found is given.
#[derive(Debug, Args)]
pub struct AnswerArgs {
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

    /// Form of the output [default: text]
    #[arg(long, value_enum, env = "TRIMTAB_FORMAT")]
    pub format: Option<Format>,

    /// Exit with 1 from this severity on [default: warning]
    #[arg(long, value_enum, value_name = "SEVERITY", env = "TRIMTAB_FAIL_ON")]
    pub fail_on: Option<SeverityArg>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab collect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sudo trimtab collect -o host.tar.zst\n  \
    trimtab collect --anonymise -o - | ssh desk 'cat > host.tar.zst'\n  \
    trimtab collect --cluster http://localhost:9200 -o host.tar.zst\n\n\
    A bundle holds what `trimtab check` reads, after the filter for secrets: no passwords, no\n\
    Environment= of units, no key material, no script beyond the programs that it runs. Run by\n\
    root, it holds what drives count of their own writes, where smartctl or nvme-cli is installed:\n\
    numbers, no serials. Look into it with `tar -tf`. Nothing on the host is changed.")]
pub struct Collect {
    #[command(flatten)]
    pub source: SourceArgs,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// The bundle to write (.tar.zst); `-` writes to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace names (of hosts, users, nodes, indices), addresses and serials, the same one always
    /// by the same word
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

/// What `trimtab trim --help` begins with.
pub const TRIM_LONG_ABOUT: &str = "Free, at the drives, what a mounted filesystem no longer uses, completely and \
    without anybody noticing.\n\nA pass is cut into steps that suit the filesystem. After each one \
    trimtab waits until the drives have finished and reads are as quick as before; it grows slower \
    where they are not, and stops where that does not help. A pass that was stopped goes on where it \
    was with the same command. What was freed is counted at every layer below the mount.";

/// `trimtab trim`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trimtab trim --dry-run /data       what would be done, and how long it may take\n  \
    sudo trimtab trim --now /data      under a running store: an explicit word is needed\n  \
    sudo trimtab trim --window 01:00-05:00 --deadline 20h /data\n  \
    sudo trimtab trim --now --probe http://localhost:9200/ --max-latency 5ms /data\n  \
    sudo trimtab trim --all --yes      every writable local filesystem, one after another\n  \
    trimtab trim --status              passes that run or can be resumed\n  \
    sudo trimtab trim --cancel /data   from another terminal\n\n\
    Values: durations 5ms, 90s, 1h30m; sizes 16MiB, 500MB (K, M, G, T alone are binary);\n\
    rates 500MiB/s; windows 01:00-05:00, across midnight too.\n\n\
    Exit codes: 0 complete; 1 stopped (a latency budget, deadline or window could not be kept,\n\
    cancelled, or the stack swallows discards); 2 refused or could not run;\n\
    129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM. What was stopped or ended by a signal can be\n\
    resumed with the same command, except after --cancel."
)]
// Flags of a command line; help shows no backticks.
#[allow(clippy::struct_excessive_bools, clippy::doc_markdown)]
pub struct Trim {
    /// Mount points of the filesystems to trim
    #[arg(value_name = "MOUNT", required_unless_present_any = ["all", "status", "restore_limits"])]
    pub mounts: Vec<PathBuf>,

    /// Every writable local filesystem that takes discards; needs --yes
    #[arg(long, conflicts_with = "mounts")]
    pub all: bool,

    /// Say what would be done and change nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    /// Trim at once, also below a running store
    #[arg(long, conflicts_with = "window")]
    pub now: bool,

    /// Work only between these wall-clock times, and wait for them; may be given several times
    #[arg(long, value_name = "HH:MM-HH:MM", value_parser = Window::parse)]
    pub window: Vec<Window>,

    /// Time zone of --window (Europe/Berlin, UTC) [default: the host's]
    #[arg(long, value_name = "ZONE", requires = "window")]
    pub tz: Option<String>,

    /// Keep the mean latency of small reads on the drives below this [default: twice the quiet
    /// level, measured first]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub max_latency: Option<Duration>,

    /// Stop this long after the call, whatever it is doing: waits for a window and all mounts
    /// included; the same command goes on later
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub deadline: Option<Duration>,

    /// Discard at most this much a second
    #[arg(long, value_name = "SIZE/s", value_parser = values::rate)]
    pub rate: Option<BytesPerSecond>,

    /// Let no single discard request be larger (lowers discard_max_bytes of the drives for the
    /// length of the pass)
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub max_request: Option<u64>,

    /// Make steps that cannot be split although they may lock their space for up to this long
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub accept_stall: Option<Duration>,

    /// Watch the store itself as well: the latency of a URL, or of a command; may be given several
    /// times
    #[arg(long, value_name = "URL|COMMAND")]
    pub probe: Vec<String>,

    /// Start only while the Elasticsearch or OpenSearch at this URL reports green
    #[arg(long, value_name = "URL")]
    pub require_green: Option<String>,

    /// File with the credentials for --probe and --require-green (TRIMTAB_USER and its like
    /// otherwise)
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Certificates to trust beside the system's, in PEM [default: TRIMTAB_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Where checkpoints and the audit log are kept [default: /var/lib/trimtab]
    #[arg(long, value_name = "DIR", env = "TRIMTAB_STATE")]
    pub state: Option<PathBuf>,

    /// Start over instead of going on from the checkpoint
    #[arg(long)]
    pub restart: bool,

    /// Trim although rule TRIM010 says that this must not be done by hand here
    #[arg(long)]
    pub force: bool,

    /// Agree to what --all would do
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// List the passes that run or can be resumed
    #[arg(long, conflicts_with_all = ["all", "dry_run", "now", "cancel", "restart"])]
    pub status: bool,

    /// End the pass on MOUNT that runs in another terminal, and forget how far it was
    #[arg(long, conflicts_with_all = ["all", "dry_run", "now", "restart"], requires = "mounts")]
    pub cancel: bool,

    /// Put back the limits that a pass which died had lowered, and nothing else (for a unit's
    /// ExecStopPost=)
    #[arg(long, conflicts_with_all = ["mounts", "all", "dry_run", "now", "status", "cancel"])]
    pub restore_limits: bool,

    /// Form of the output: text, or one JSON object a line [default: text]
    #[arg(long, value_enum)]
    pub format: Option<TrimFormat>,
}

/// Forms of `trim`'s output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrimFormat {
    /// For people
    #[default]
    Text,
    /// For programs: one object a line
    Json,
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
