//! The command line: one definition gives parsing, help, man pages and completions.

use crate::commands::check::args::Check;
use crate::commands::collect::args::Collect;
use crate::commands::explain::args::Explain;
use crate::commands::rule::args::Rule;
use crate::commands::shards::args::Shards;
use crate::commands::ssd::args::Ssd;
use crate::commands::trim::args::Trim;
use crate::commands::{explain, shards, ssd, trim};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
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
    #[command(long_about = trim::args::LONG_ABOUT)]
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
