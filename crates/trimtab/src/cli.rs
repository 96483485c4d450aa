//! The command line: one definition drives parsing, help, man pages and shell completions.

use crate::commands::bench::args::Bench;
use crate::commands::check::args::Check;
use crate::commands::collect::args::Collect;
use crate::commands::explain::args::Explain;
use crate::commands::livefix::args::Livefix;
use crate::commands::plan::args::Plan;
use crate::commands::rule::args::Rule;
use crate::commands::shards::args::Shards;
use crate::commands::ssd::args::Ssd;
use crate::commands::trim::args::Trim;
use crate::commands::{bench, explain, livefix, plan, shards, ssd, trim};
use crate::help::GLOBAL;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Text above the usage line of `trimtab --help`.
const LONG_ABOUT: &str = "Find and fix storage-level causes of slow databases\n\n\
    Examples of such causes: a weekly fstrim that stalls every node at once, an\n\
    encrypted volume that drops discards, a filesystem that wastes half the disk.\n\
    trimtab needs no server and no daemon. Diagnosis needs no root. `trim`,\n\
    `plan --apply`, `livefix install` and `bench` make changes, and say which\n\
    before they make them.";

/// Find and fix storage-level causes of slow databases
#[derive(Debug, Parser)]
#[command(
    name = "trimtab",
    long_about = LONG_ABOUT,
    version = crate::version::VERSION,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Examples:\n  trimtab check                     check this host, no root needed\n  \
    sudo trimtab check                also read dm tables and all crontabs\n  \
    trimtab collect -o host.tar.zst   save this host's facts for use elsewhere\n  \
    trimtab check --bundle host.tar.zst\n  \
    trimtab rule TRIM001              explain a rule\n  \
    trimtab explain nightly.csv       find what causes recurring drops\n  \
    trimtab trim --dry-run /data      show what trimming /data would do\n  \
    sudo trimtab trim --window 01:00-05:00 /data\n\n\
    Exit codes: 0 success, nothing found; 1 findings, or stopped early; 2 could\n\
    not run. See the help of each command for details."
)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,

    /// Read the configuration from FILE [default: /etc/trimtab/trimtab.toml, if it exists]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "TRIMTAB_CONFIG",
        hide_env = true,
        help_heading = GLOBAL
    )]
    pub config: Option<PathBuf>,

    /// Print full notes and every device stack; log more (-vv: trace)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL)]
    pub verbose: u8,

    /// Suppress progress and messages other than errors
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = GLOBAL
    )]
    pub quiet: bool,
}

/// Top-level commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check for storage and scheduling settings that slow databases down
    Check(Check),
    /// Save this host's facts to a bundle, without secrets
    Collect(Collect),
    /// Explain a rule, or list all rules
    Rule(Rule),
    /// Find recurring drops in a time series and the scheduled job behind them
    #[command(long_about = explain::args::LONG_ABOUT)]
    Explain(Box<Explain>),
    /// Discard a mounted filesystem's free space without disturbing its database
    #[command(long_about = trim::args::LONG_ABOUT)]
    Trim(Box<Trim>),
    /// Give every node of a cluster a slot of its own for its weekly trim
    #[command(long_about = plan::args::LONG_ABOUT)]
    Plan(Plan),
    /// Simulate an SSD under a workload, and the effect of changes
    #[command(long_about = ssd::args::LONG_ABOUT)]
    Ssd(Ssd),
    /// Predict the master's shard allocation decisions and what they cost
    #[command(long_about = shards::args::LONG_ABOUT)]
    Shards(Box<Shards>),
    /// Give Elasticsearch 6.8 to 7.5 the fast reroutes of 7.6, without an upgrade
    #[command(long_about = livefix::args::LONG_ABOUT)]
    Livefix(Box<Livefix>),
    /// Prove a gain: compare benchmark trials honestly
    #[command(long_about = bench::args::LONG_ABOUT)]
    Bench(Bench),
    /// Print a completion script for a shell
    Completions {
        /// Shell to generate completions for
        shell: Shell,
    },
    /// Write man pages into a directory
    Man {
        /// Output directory (created if missing)
        directory: PathBuf,
    },
}

/// Returns the command line with its help layout applied (see [`crate::help`]).
pub fn command() -> clap::Command {
    crate::help::laid_out(<Cli as clap::CommandFactory>::command())
}
