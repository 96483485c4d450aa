//! Arguments of `trimtab trim`.

use crate::answer::AnswerArgs;
use crate::values;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use trim::window::Window;

/// Text above the usage line of `trimtab trim --help`.
pub const LONG_ABOUT: &str = "Discard the free space of a mounted filesystem completely, without disturbing\n\
    the database on it\n\n\
    A pass runs in steps that match the filesystem's layout. After each step,\n\
    trimtab waits until the drives have finished and read latency is back to normal.\n\
    If latency stays high it slows down, and stops if that does not help. To resume\n\
    a stopped pass, run the same command again. Discarded bytes are counted at every\n\
    layer below the mount.";

/// `trimtab trim`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trimtab trim --dry-run /data       show what it would do and how long\n  \
    sudo trimtab trim --now /data      trim at once, even under a running store\n  \
    sudo trimtab trim --window 01:00-05:00 --deadline 20h /data\n  \
    sudo trimtab trim --now --probe http://localhost:9200/ --max-latency 5ms /data\n  \
    sudo trimtab trim --all --yes      trim all writable local filesystems in turn\n  \
    trimtab trim --status              list running and resumable passes\n  \
    sudo trimtab trim --cancel /data   cancel a pass from another terminal\n\n\
    Values: durations 5ms, 90s, 1h30m; sizes 16MiB, 500MB (K, M, G, T alone are\n\
    binary); rates 500MiB/s; windows 01:00-05:00, which may cross midnight.\n\n\
    Exit codes: 0 complete; 1 stopped (latency budget, deadline or window exceeded,\n\
    cancelled, or the stack drops discards); 2 refused or could not run; 129, 130,\n\
    143 ended by SIGHUP, SIGINT, SIGTERM. To resume a pass that was stopped or ended\n\
    by a signal, run the same command again (not after --cancel)."
)]
// Flags of a command line; help shows no backticks.
#[allow(clippy::struct_excessive_bools, clippy::doc_markdown)]
pub struct Trim {
    /// Mount points of the filesystems to trim
    #[arg(value_name = "MOUNT", required_unless_present_any = ["all", "status", "schema"])]
    pub mounts: Vec<PathBuf>,

    /// Trim all writable local filesystems that support discards (requires --yes)
    #[arg(long, conflicts_with = "mounts")]
    pub all: bool,

    /// Show what would be done without changing anything
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    /// Trim immediately, even under a running store
    #[arg(long, conflicts_with = "window")]
    pub now: bool,

    /// Trim only between these wall-clock times, waiting for them to begin (repeatable)
    #[arg(long, value_name = "HH:MM-HH:MM", value_parser = Window::parse)]
    pub window: Vec<Window>,

    /// Time zone of --window (Europe/Berlin, UTC) [default: host's zone]
    #[arg(long, value_name = "ZONE", requires = "window")]
    pub tz: Option<String>,

    /// Keep the mean latency of small reads on the drives below TIME [default: twice the idle latency
    /// measured before]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub max_latency: Option<Duration>,

    /// Stop after TIME in total, for all mounts and including waits for a window; the same command
    /// resumes later
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub deadline: Option<Duration>,

    /// Maximum discard rate
    #[arg(long, value_name = "SIZE/s", value_parser = values::rate)]
    pub rate: Option<u64>,

    /// Allow indivisible steps that may lock free space for up to this long
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub accept_stall: Option<Duration>,

    /// Also watch the store's latency, using a URL or a command (repeatable)
    #[arg(long, value_name = "URL|COMMAND")]
    pub probe: Vec<String>,

    /// Start only once the Elasticsearch or OpenSearch cluster at URL is green and moves no shard
    #[arg(long, value_name = "URL")]
    pub require_green: Option<String>,

    /// Read the credentials for --probe and --require-green from FILE [default: TRIMTAB_USER etc.]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Additional CA certificates to trust (PEM) [default: TRIMTAB_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Directory for checkpoints and the audit log [default: /var/lib/trimtab]
    #[arg(long, value_name = "DIR", env = "TRIMTAB_STATE")]
    pub state: Option<PathBuf>,

    /// Start over instead of resuming from the checkpoint
    #[arg(long)]
    pub restart: bool,

    /// Trim even if rule TRIM010 advises against trimming by hand here
    #[arg(long)]
    pub force: bool,

    /// Confirm the plan of --all
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// List running and resumable passes
    #[arg(long, conflicts_with_all = ["all", "dry_run", "now", "cancel", "restart"])]
    pub status: bool,

    /// Cancel the pass on MOUNT, running or stopped, and discard its progress
    #[arg(long, conflicts_with_all = ["all", "dry_run", "now", "restart"], requires = "mounts")]
    pub cancel: bool,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// `check` reads lines of cron that run `trimtab trim`.
    #[test]
    fn the_rules_know_which_options_take_a_value() {
        let mut cli = crate::cli::command();
        cli.build();
        let trim = cli.find_subcommand("trim").expect("a command");
        let options = trim
            .get_arguments()
            .filter(|option| option.get_action().takes_values());
        let names: BTreeSet<String> = options
            .flat_map(|option| {
                let long = option.get_long().map(|name| format!("--{name}"));
                let short = option.get_short().map(|name| format!("-{name}"));
                long.into_iter().chain(short)
            })
            .collect();
        let known = rules::TRIM_OPTIONS_WITH_VALUE.iter();
        assert_eq!(names, known.map(ToString::to_string).collect());
    }
}
