//! Arguments of `trimtab bench`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use crate::answer::AnswerArgs;
use crate::arguments::AccessArgs;
use crate::values;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Text above the usage line of `trimtab bench --help`.
pub const LONG_ABOUT: &str = "Prove a gain: load a server, and compare trials honestly\n\n\
    A trial is one execution of a benchmark. Two executions of the same system\n\
    differ by more than the noise within each, so only repeated trials can be\n\
    compared.";

/// `trimtab bench`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab bench run ingest --target http://localhost:9200\n  \
    trimtab bench run before.toml after.toml --interleave --trials 5 \\\n    \
    --target http://localhost:9200\n  \
    trimtab bench compare races/before races/after --fail-on-regression 5%\n  \
    trimtab bench nightly /var/lib/trimtab-bench/logs\n  \
    trimtab bench tracks ingest > mine.toml"
)]
pub struct Bench {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Option<BenchCommand>,

    /// Print the JSON schema of --format json and exit
    #[arg(long)]
    pub schema: bool,
}

/// Subcommands of `bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Load a server, and tell whether the trial may be believed
    Run(Run),
    /// List the tracks that come with trimtab, or print one
    Tracks(Tracks),
    /// Tell whether sets of trials differ, and by how much
    Compare(Compare),
    /// Draw a history of trials: what changed and when, and what recurs
    Nightly(Nightly),
}

/// `trimtab bench run`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab bench run ingest --target http://localhost:9200\n  \
    trimtab bench run mine.toml --target https://es1:9200 --trials 5 \\\n    \
    --ca-file ca.crt\n  \
    trimtab bench run mine.toml --interleave --trials 5 \\\n    \
    --target http://old:9200 --target http://new:9200\n\n\
    Each trial gets a folder: trial.json, the latencies (trial.bin), and client.csv,\n\
    host.csv and server.csv, a row a second, which `trimtab explain` reads.\n\n\
    Run it on the server's host to have jobs, drives, trim debt and foreign CPU time\n\
    checked as well; root is not needed, but sees more.\n\n\
    Exit codes: 0 all trials VALID; 1 a trial is INVALID; 2 could not run."
)]
pub struct Run {
    /// Tracks: TOML files, or names of built-in tracks; two are compared
    #[arg(value_name = "TRACK", required_unless_present = "schema")]
    pub tracks: Vec<String>,

    /// URL of the server; two are compared
    #[arg(long, value_name = "URL", required_unless_present = "schema")]
    pub target: Vec<String>,

    /// Folder in which each trial's folder is created
    #[arg(long, value_name = "DIR", default_value = "trials")]
    pub into: PathBuf,

    /// Number of trials of each side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,

    /// Alternate two tracks or two targets, A B B A, so that what drifts affects both
    #[arg(long)]
    pub interleave: bool,

    /// Threads that send requests; one sends tens of thousands a second
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,

    /// If a scheduled job is due within a trial, wait until it is over
    #[arg(long)]
    pub wait: bool,

    /// Access options.
    #[command(flatten)]
    pub access: AccessArgs,

    /// Output options.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab bench tracks`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab bench tracks\n  \
    trimtab bench tracks ingest > mine.toml\n  \
    trimtab bench tracks --schema > track.schema.json"
)]
pub struct Tracks {
    /// The track to print
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// Print the JSON schema of tracks and exit
    #[arg(long)]
    pub schema: bool,
}

/// `trimtab bench compare`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab bench compare races/before races/after\n  \
    trimtab bench compare before/ after/ --fail-on-regression 5%\n  \
    trimtab bench compare xfs/ ext4/ btrfs/ --margin 2% -o compare.html\n\n\
    Each SET is a folder of trials of `bench run`, or a file or folder of files with\n\
    one trial each: race.json of Rally, test_run.json or test_execution.json of\n\
    OpenSearch Benchmark, JSON of hyperfine (--export-json) or of oha\n\
    (--output-format json). The first set is the baseline.\n\n\
    Exit codes: 0 compared; 1 a regression is shown (--fail-on-regression);\n\
    2 could not compare."
)]
pub struct Compare {
    /// Trials of a baseline, then of what is compared with it: files or folders
    #[arg(value_name = "SET", num_args = 2.., required_unless_present = "schema")]
    pub sets: Vec<PathBuf>,

    /// Differences up to this do not matter
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = small_share)]
    pub margin: f64,

    /// End with 1 if a primary metric is shown to be worse by SHARE or more
    #[arg(long, value_name = "SHARE", value_parser = small_share)]
    pub fail_on_regression: Option<f64>,

    /// Take each run in hyperfine's files as a trial of its own: for commands that set up
    /// and tear down everything themselves
    #[arg(long)]
    pub runs_are_trials: bool,

    /// Compare INVALID trials of `bench run` as well, which are left out otherwise
    #[arg(long)]
    pub include_invalid: bool,

    /// Output options.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab bench nightly`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab bench nightly /var/lib/trimtab-bench/logs\n  \
    trimtab bench nightly history/ --run logs --target http://localhost:9200\n  \
    trimtab bench nightly history/ --jobs es1.tar.zst --tz Europe/Berlin\n\n\
    HISTORY holds a folder for each trial, as bench run --into HISTORY writes it. The\n\
    page is HISTORY/index.html: a chart for each metric, what changed between\n\
    trials, what recurs and the scheduled job behind it, and links to every trial.\n\
    It loads nothing and can be opened as a file. Trials that are not valid are\n\
    drawn as crosses, and left out of the verdicts.\n\n\
    Notes of your own go into HISTORY/notes.csv, with a date each:\n  \
    2026-11-01,moved to new racks\n\n\
    Exit codes: 0 the page was written; 1 the trial of --run is INVALID, or could not\n\
    run; 2 the page could not be written."
)]
pub struct Nightly {
    /// Folder with a folder for each trial
    #[arg(value_name = "HISTORY", required_unless_present = "schema")]
    pub history: Option<PathBuf>,

    /// First run a trial of TRACK and add it to HISTORY
    #[arg(long, value_name = "TRACK", requires = "target")]
    pub run: Option<String>,

    /// URL of the server for --run
    #[arg(long, value_name = "URL", requires = "run")]
    pub target: Option<String>,

    /// If a scheduled job is due within the trial, wait until it is over
    #[arg(long, requires = "run")]
    pub wait: bool,

    /// Source of scheduled jobs: `/` (this host), a directory or bundle of another host, a crontab,
    /// or `none`; actual run times come from its logs
    #[arg(long, value_name = "HOST", default_value = "/")]
    pub jobs: String,

    /// Additional log of actual job runs: `journalctl -o json` output or a syslog file; `none` ignores
    /// the logs of --jobs (repeatable)
    #[arg(long, value_name = "FILE|none")]
    pub log: Vec<PathBuf>,

    /// Time zone of the page and of calendar patterns [default: zone of the last trial's host]
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,

    /// Access options.
    #[command(flatten)]
    pub access: AccessArgs,

    /// Output options.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// A difference below 100 %: a bare 3 is most likely 3 %.
fn small_share(text: &str) -> Result<f64, units::ValueError> {
    match values::share(text)? {
        share if share < 1.0 => Ok(share),
        _ => Err(units::ValueError::new(
            "a share below 100 % such as 3% or 0.03",
            text,
        )),
    }
}
