//! Arguments of `trimtab bench`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use crate::answer::AnswerArgs;
use crate::arguments::AccessArgs;
use crate::values;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use experiments::Variant;
use facts::InputError;
use std::path::PathBuf;
use std::time::Duration;

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
    sudo trimtab bench filesystems\n  \
    trimtab bench trim --model\n  \
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
    /// Load a server, and say whether the trial is valid
    Run(Run),
    /// List the tracks that come with trimtab, or print one
    Tracks(Tracks),
    /// Tell whether sets of trials differ, and by how much
    Compare(Compare),
    /// Draw a history of trials: what changed and when, and what recurs
    Nightly(Nightly),
    /// Compare filesystems and compressions below a server
    Filesystems(Filesystems),
    /// Write and delete again and again, with one trim and with a trim before each run
    Trim(Trim),
    /// Save facts that only root may read, for trials run by another user (--facts)
    Facts(Facts),
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

    /// Read this host's facts from what `trimtab bench facts` wrote as root within the last hour;
    /// its logs and counters are read as they are
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,

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

/// `trimtab bench facts`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    sudo trimtab bench facts host.tar.zst\n  \
    trimtab bench run ingest --target http://localhost:9200 \\\n    \
    --facts host.tar.zst\n\n\
    FILE is a bundle as trimtab collect writes it, plus the last complete pass of\n\
    trimtab trim on each filesystem. The umask decides who may read it. It is valid\n\
    for an hour, on this host, until the next reboot."
)]
pub struct Facts {
    /// Bundle to write (.tar.zst); an existing one is replaced
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
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

    /// Read this host's facts from what `trimtab bench facts` wrote as root within the last hour;
    /// its logs and counters are read as they are
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,

    /// Access options.
    #[command(flatten)]
    pub access: AccessArgs,

    /// Output options.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab bench filesystems`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    sudo trimtab bench filesystems\n  \
    sudo trimtab bench filesystems --variants xfs,btrfs:zstd --documents 2m \\\n    \
    --larger-than-memory -o filesystems.html\n  \
    sudo trimtab bench filesystems --server opensearch-3.0.0.tar.gz \\\n    \
    --device /dev/nvme1n1 --overwrite\n\n\
    Each run makes the filesystem, starts the server on it as a user of its own, writes\n\
    metrics of two hosts, takes the sizes, and then queries a server that starts\n\
    cold: 500 queries, a pause, and 1,000 measured ones; with the request cache off\n\
    and on, and while documents are written. Runs of the variants alternate. A run\n\
    takes about four minutes, three of them pauses; the default of 21 runs, an hour and\n\
    a half.\n\n\
    Everything is made below one folder in --loop-dir, and removed at the end. What a\n\
    crash leaves is removed when the next experiment begins. The trials stay in\n\
    --into.\n\n\
    Exit codes: 0 compared; 1 not all trials are VALID; 2 could not run."
)]
#[allow(clippy::struct_excessive_bools)] // command-line flags
pub struct Filesystems {
    /// What to compare, the first with each of the others: xfs, ext4, btrfs, btrfs:lzo,
    /// btrfs:zlib, btrfs:zstd; +best_compression sets the codec of the index, +read_ahead_128k
    /// (Btrfs only) sets read-ahead to 128 KiB instead of 4 MiB
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        hide_default_value = true,
        value_parser = variant,
        default_value = "xfs,ext4,btrfs,btrfs:lzo,btrfs:zlib,btrfs:zstd,xfs+best_compression"
    )]
    pub variants: Vec<Variant>,

    /// The server: elasticsearch-VERSION or opensearch-VERSION, which Maven fetches, or the
    /// path of an archive or of an unpacked server
    #[arg(long, value_name = "SERVER", default_value = "elasticsearch-6.8.23")]
    pub server: String,

    /// Folder on the drive to measure, for an image of --size. Neither it nor a folder above
    /// it may be another user's or open to others, unless sticky: not the store's own
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/tmp",
        conflicts_with = "device"
    )]
    pub loop_dir: PathBuf,

    /// Size of the image
    #[arg(long, value_name = "SIZE", default_value = "6GiB", value_parser = values::size, conflicts_with = "device")]
    pub size: u64,

    /// Use this block device instead: everything on it is lost
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<PathBuf>,

    /// Confirm that what --device holds may be lost
    #[arg(long, requires = "device")]
    pub overwrite: bool,

    /// Documents to write in each run
    #[arg(long, value_name = "N", default_value = "500k", value_parser = values::count)]
    pub documents: u64,

    /// Runs of each variant
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,

    /// Pause between the queries that warm up and those that are measured
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration)]
    pub pause: Duration,

    /// Copy one index to all variants instead of writing each its own
    #[arg(long)]
    pub same_segments: bool,

    /// Give the server a page cache of an eighth of its index, and send queries of all fields and
    /// times: otherwise nothing is read from the drive, and filesystems cannot differ
    #[arg(long)]
    pub larger_than_memory: bool,

    /// Rank what could make the same query slow on the first variant: the request cache, CPU
    /// credits, memory, the client, other processes
    #[arg(long, conflicts_with_all = ["same_segments", "larger_than_memory"])]
    pub candidates: bool,

    /// Count times of INVALID trials as well, which are left out otherwise
    #[arg(long)]
    pub include_invalid: bool,

    /// Folder in which the trials' folders are created
    #[arg(long, value_name = "DIR", default_value = "trials/filesystems")]
    pub into: PathBuf,

    /// Output options.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// `trimtab bench trim`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    override_usage = "trimtab bench trim [OPTIONS] <--device DEVICE|--loop-dir DIR|--model>",
    group = ArgGroup::new("drive").required(true).args(["device", "loop_dir", "model", "schema"]),
    after_help = "Examples:\n  \
    trimtab bench trim --model\n  \
    sudo trimtab bench trim --device /dev/nvme1n1 --overwrite\n  \
    sudo trimtab bench trim --device /dev/nvme1n1 --overwrite \\\n    \
    --trimmer trimtab -o trim.html\n\n\
    A run fills 30 % of the filesystem with files, overwrites as much at random, and\n\
    deletes the files; other data fills half of the drive all the time. A drive\n\
    that is not told of what was deleted has less and less room to collect garbage.\n\n\
    A loop device (--loop-dir) tries the experiment without a drive of its own, but\n\
    is no SSD. --model needs neither a drive nor root.\n\n\
    Exit codes: 0 measured; 2 could not run."
)]
pub struct Trim {
    /// Block device to use: everything on it is lost
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<PathBuf>,

    /// Confirm that what --device holds may be lost
    #[arg(long, requires = "device")]
    pub overwrite: bool,

    /// Folder for an image of --size, on which a loop device is made. Neither it nor a folder
    /// above it may be another user's or open to others, unless sticky, such as /var/tmp
    #[arg(long, value_name = "DIR")]
    pub loop_dir: Option<PathBuf>,

    /// Size of the image
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = values::size, requires = "loop_dir")]
    pub size: u64,

    /// Use the simulated drive of trimtab ssd
    #[arg(long)]
    pub model: bool,

    /// Runs per arm
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..=100))]
    pub runs: u32,

    /// What trims
    #[arg(long, value_enum, default_value_t = Trimmer::Fstrim)]
    pub trimmer: Trimmer,

    /// Threads that write
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,

    /// Output options.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// What trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Trimmer {
    /// fstrim
    Fstrim,
    /// trimtab trim
    Trimtab,
}

/// clap names the option itself.
fn variant(text: &str) -> Result<Variant, String> {
    text.parse().map_err(|error: InputError| {
        format!("expected {}, found {:?}", error.expected, error.found)
    })
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
