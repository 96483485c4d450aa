//! Arguments of `trimtab ssd`.

use super::values;
use crate::answer::AnswerArgs;
use crate::values as plain;
use clap::{Args, Subcommand, ValueEnum};
use flash::ftl::Collection;
use flash::setup::{Mix, TrimSchedule};
use flash::workload::rhythm::Rhythm;
use std::path::PathBuf;

/// Text above the usage line of `trimtab ssd --help`.
pub const LONG_ABOUT: &str = "Simulate an SSD under a workload, and the effect of changes\n\n\
    The drive model has page mapping, garbage collection with a selectable policy,\n\
    and dies and channels with their timing. Results for a host are a scenario, not\n\
    a prediction, unless measured media writes are given for comparison.";

/// `trimtab ssd`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab ssd run --capacity 3.84TB --writes-per-day 1.9TB --fill 62%\n  \
    trimtab ssd run --from-host /data    use this host's counters\n  \
    trimtab ssd sweep --capacity 3.84TB --writes-per-day 1.9TB --op 7%,28%\n  \
    trimtab ssd example five-pages       show why deletes must reach a drive"
)]
pub struct Ssd {
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: Option<SsdCommand>,

    /// Print the JSON schema of --format json and exit
    #[arg(long)]
    pub schema: bool,
}

/// Subcommands of `ssd`.
#[derive(Debug, Subcommand)]
pub enum SsdCommand {
    /// Simulate a drive under a workload
    Run(Box<Run>),
    /// Simulate a grid of settings on all cores
    Sweep(Box<Sweep>),
    /// Walk through published examples step by step
    Example(Example),
}

/// `trimtab ssd run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trimtab ssd run --capacity 3.84TB --op 7% --fill 62% \\\n    \
    --writes-per-day 1.9TB --trim weekly\n  \
    trimtab ssd run --capacity 960GB --drives 4 --writes-per-day 1.9TB \\\n    \
    --workload lucene@80,log@20/5 -o ssd.html\n  \
    trimtab ssd run --from-host /data --trim daily   this host, trimmed daily\n\n\
    Sizes: 3.84TB and 960GB are decimal, as drives are sold; 16KiB, 1TiB and K, M,\n\
    G, T alone are binary. Counts: 1000000, 1M; 16Mi is binary. Shares: 7% or 0.07.\n\n\
    Exit codes: 0 simulated; 2 could not run.")]
pub struct Run {
    #[command(flatten)]
    pub scene: Scene,

    /// Spare area relative to logical capacity: 7%, 0.28 [default: 7%]
    #[arg(long, visible_alias = "over-provisioning", value_name = "SHARE", value_parser = values::over_provisioning, allow_hyphen_values = true, help_heading = "Drive")]
    pub op: Option<f64>,

    /// Garbage collection policy: greedy, fifo, d-choices:D [default: greedy]
    #[arg(long, value_name = "POLICY", help_heading = "Drive")]
    pub policy: Option<Collection>,

    /// Live data as a share of capacity [default: 62%, or the host's]
    #[arg(long, value_name = "SHARE", value_parser = values::fill, allow_hyphen_values = true, help_heading = "Filesystem and load")]
    pub fill: Option<f64>,

    /// Trim schedule: weekly, daily, online (at each delete), never, swallowed (weekly, but dropped
    /// before the drive), "Sun 06:47", "03:00", "every 3 days" [default: weekly, or the host's]
    #[arg(long, value_name = "WHEN", help_heading = "Filesystem and load")]
    pub trim: Option<TrimSchedule>,

    /// Do not also simulate another trim schedule and more spare area
    #[arg(long, help_heading = "Filesystem and load")]
    pub alone: bool,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Options that `run` and `sweep` share.
#[derive(Debug, Args)]
pub struct Scene {
    #[command(flatten)]
    pub days: Days,

    #[command(flatten)]
    pub drive: DriveArgs,

    /// What writes: elasticsearch, opensearch, mongodb, lucene, lsm, log (files come and go),
    /// circular-log (overwritten), files; one file overwritten by a pattern: uniform, zipf:S,
    /// hot-cold:PAGES/WRITES, sequential; and mixes by percent of writes and of data, each adding up
    /// to 100: lucene@80,circular-log@20/5 (the log has 5 % of the data, lucene the remaining 95 %)
    /// [default: elasticsearch, or the host's store]
    #[arg(long, value_name = "WORKLOAD", help_heading = "Workload")]
    pub workload: Option<Mix>,

    /// Random seed; the same seed gives the same result
    #[arg(long, value_name = "N", value_parser = plain::count, help_heading = "Workload", default_value_t = 1)]
    pub seed: u64,
}

/// Options of the filesystem and its load over days.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filesystem and load")]
#[allow(clippy::struct_field_names)] // fields are flags
pub struct Days {
    /// Logical capacity of each drive: 3.84TB
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub capacity: Option<u64>,

    /// Mean bytes written per day to all drives together: 1.9TB
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub writes_per_day: Option<u64>,

    /// Number of RAID-0 drives [default: 1]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 1024>)]
    pub drives: Option<u32>,

    /// RAID-0 chunk size [default: 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub chunk: Option<u64>,

    /// Number of days to report [default: 28]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 3660>)]
    pub days: Option<u32>,

    /// Days simulated before those [default: whole weeks until three drive writes, at most 52]
    #[arg(long, value_name = "N", value_parser = values::whole::<0, 3660>)]
    pub warm_up_days: Option<u32>,

    /// Interval between points of the series, in whole hours [default: 6h]
    #[arg(long, value_name = "TIME", value_parser = values::hours)]
    pub interval: Option<u32>,

    /// Write rate over the day: steady, or daily:HOUR/SHARE, with its peak at HOUR and SHARE of the
    /// peak twelve hours later (daily:14/20%) [default: steady]
    #[arg(long, value_name = "RHYTHM")]
    pub rhythm: Option<Rhythm>,

    /// Random bytes read per byte written [default: 0]
    #[arg(long, value_name = "R", value_parser = values::reads, allow_hyphen_values = true)]
    pub reads: Option<f64>,

    /// State of the drive before: new (fully discarded), or used:P (overwritten P times, never
    /// trimmed) [default: new]
    #[arg(long, value_name = "STATE")]
    pub history: Option<flash::scenario::History>,

    /// Maximum number of pages to simulate; larger drives are scaled down [default: 256Ki]
    #[arg(long, value_name = "N", value_parser = values::pages)]
    pub simulated_pages: Option<u64>,

    /// Host writes, as reported by the drive (with --media-written)
    #[arg(long, value_name = "SIZE", value_parser = plain::size, requires = "media_written")]
    pub host_written: Option<u64>,

    /// Media writes, as reported by the drive (OCP log, vendor attributes), to compare measured with
    /// modeled write amplification
    #[arg(long, value_name = "SIZE", value_parser = plain::size, requires = "host_written")]
    pub media_written: Option<u64>,

    /// Take missing values from this host: bytes written since boot, free space, the drives below
    /// MOUNT, its trim schedule [default MOUNT: that of the store's data]
    #[arg(long, value_name = "MOUNT", num_args = 0..=1, default_missing_value = "")]
    pub from_host: Option<String>,

    /// With --from-host: read the files below DIR instead of this host's
    #[arg(long, value_name = "DIR", requires = "from_host")]
    pub root: Option<PathBuf>,

    /// With --from-host: read a bundle (from `trimtab collect`) instead of this host
    #[arg(
        long,
        value_name = "FILE",
        requires = "from_host",
        conflicts_with = "root"
    )]
    pub bundle: Option<PathBuf>,
}

/// Options of the drive model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drive")]
pub struct DriveArgs {
    /// Pages per erase block [default: one erase block per die]
    #[arg(long, value_name = "N", value_parser = values::pages_per_block)]
    pub pages_per_block: Option<u32>,

    /// Page size [default: 16KiB]
    #[arg(long, value_name = "SIZE", value_parser = values::page_bytes)]
    pub page_bytes: Option<u32>,

    /// Flash timing: slc, mlc, tlc, tlc-slc-cache, qlc (a guess) [default: tlc]
    #[arg(long, value_name = "NAME", value_parser = values::preset)]
    pub preset: Option<String>,

    /// Read a drive description in TOML (see docs/ssd.md); flags override it
    #[arg(long, value_name = "FILE")]
    pub drive: Option<PathBuf>,
}

/// `trimtab ssd sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trimtab ssd sweep --capacity 3.84TB --writes-per-day 1.9TB \\\n    \
    --op 7%,15%,28% --fill 50%,80% --trim weekly,daily\n  \
    trimtab ssd sweep --from-host /data --op 7%,28% --policy greedy,fifo\n\n\
    Every combination of the values in the lists is simulated.\n\n\
    Exit codes: 0 simulated; 1 some settings could not be simulated (see the table);\n\
    2 could not run.")]
pub struct Sweep {
    #[command(flatten)]
    pub scene: Scene,

    /// Spare areas [default: 7%]
    #[arg(long, visible_alias = "over-provisioning", value_name = "LIST", value_delimiter = ',', value_parser = values::over_provisioning, allow_hyphen_values = true, help_heading = "Grid")]
    pub op: Vec<f64>,

    /// Garbage collection policies [default: greedy]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Grid"
    )]
    pub policy: Vec<Collection>,

    /// Fill levels [default: 62%]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::fill, allow_hyphen_values = true, help_heading = "Grid")]
    pub fill: Vec<f64>,

    /// Trim schedules, as for `ssd run --trim` [default: weekly]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Grid"
    )]
    pub trim: Vec<TrimSchedule>,

    /// Simulations to run in parallel [default: number of cores]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 1024>, help_heading = "Grid")]
    pub jobs: Option<u32>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab ssd example`.
#[derive(Debug, Args)]
pub struct Example {
    /// Example to show
    #[arg(value_enum)]
    pub name: ExampleName,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Examples of `trimtab ssd example`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExampleName {
    /// A drive of five pages: 12 KB stored, 20 KB written, 12 KB read (8 KB if trimmed)
    FivePages,
    /// A benchmark run ten times: trimmed before the first run only, before each, or without effect
    TenRuns,
    /// A host trimmed weekly and daily over four weeks
    Schedules,
}
