//! The command line: one definition gives parsing, help, man pages and completions.

use crate::commands::check::args::Check;
use crate::commands::collect::args::Collect;
use crate::commands::explain::args::Explain;
use crate::commands::rule::args::Rule;
use crate::commands::shards::args::Shards;
use crate::commands::ssd::args::Ssd;
use crate::commands::trim::args::Trim;
use crate::commands::{explain, shards, ssd, trim};
use crate::help::GLOBAL;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Find, explain, predict and fix what slows databases down below the query
///
/// A weekly fstrim that stalls every node at once, an encrypted volume that swallows discards, a filesystem
/// that wastes half the disk: trimtab looks for causes that no query shows. It needs no server, no agent and
/// no root to look; only `trimtab trim` changes anything.
#[derive(Debug, Parser)]
#[command(
    name = "trimtab",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Examples:\n  trimtab check                     check this host, no root needed\n  \
    sudo trimtab check                also read device-mapper tables and all crontabs\n  \
    trimtab collect -o host.tar.zst   take this host's facts elsewhere\n  \
    trimtab check --bundle host.tar.zst\n  \
    trimtab rule TRIM001              read what a rule means\n  \
    trimtab explain nightly.csv       find what makes this curve drop\n  \
    trimtab trim --dry-run /data      see what a trim of a mount would do\n  \
    sudo trimtab trim --window 01:00-05:00 /data\n\n\
    Exit codes: 0 nothing found, done or predicted; 1 findings, or stopped; 2 could not run.\n\
    The help of a command tells its own."
)]
pub struct Cli {
    /// What to do.
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

    /// Print full notes and every device stack; log more (-vv: debug)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL)]
    pub verbose: u8,

    /// Print nothing but errors on stderr
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = GLOBAL
    )]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check for storage and scheduling settings that slow databases down
    Check(Check),
    /// Write this host's facts to a bundle, secrets left out
    Collect(Collect),
    /// Explain a rule, or list them all
    Rule(Rule),
    /// Find recurring drops in a time series and the scheduled job behind them
    #[command(long_about = explain::args::LONG_ABOUT)]
    Explain(Box<Explain>),
    /// Trim a mounted filesystem completely, without slowing its store down
    #[command(long_about = trim::args::LONG_ABOUT)]
    Trim(Box<Trim>),
    /// Simulate a solid-state drive under a load, and what a change would bring
    #[command(long_about = ssd::args::LONG_ABOUT)]
    Ssd(Ssd),
    /// Predict what a cluster's master decides about shards, and what that costs
    #[command(long_about = shards::args::LONG_ABOUT)]
    Shards(Box<Shards>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write man pages into a directory
    Man {
        /// The directory; created if it does not exist
        directory: PathBuf,
    },
}

/// The command line with its help laid out, see [`crate::help`].
pub fn command() -> clap::Command {
    crate::help::laid_out(<Cli as clap::CommandFactory>::command())
}
