//! The arguments of `trimtab trim`.

use crate::answer::AnswerArgs;
use crate::values;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use trim::window::Window;

/// What `trimtab trim --help` begins with.
pub const LONG_ABOUT: &str = "Free, at the drives, what a mounted filesystem no longer uses, completely and \
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
    #[arg(value_name = "MOUNT", required_unless_present_any = ["all", "status", "restore_limits", "schema"])]
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
    pub rate: Option<u64>,

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

    #[command(flatten)]
    pub answer: AnswerArgs,
}
