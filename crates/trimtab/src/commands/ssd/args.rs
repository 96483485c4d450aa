//! The words of `trimtab ssd`.

use super::values;
use crate::answer::{Format, OutputArgs};
use crate::values as plain;
use clap::{Args, Subcommand, ValueEnum};
use flash::calibrate::HostWrites;
use flash::ftl::{Collection, PowerOn};
use flash::setup::{Mix, TrimSchedule};
use flash::workload::rhythm::Rhythm;
use std::path::PathBuf;

/// What `trimtab ssd --help` begins with.
pub const LONG_ABOUT: &str = "Simulate a solid-state drive: what it will do under a load, and what a change would \
    bring.\n\nThe drive is a model: pages mapped one by one, blocks collected by a policy, dies and \
    channels with their times. What it says of a host is a scenario, not a prediction, unless measured \
    media writes stand beside it.";

/// `trimtab ssd`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab ssd run --capacity 3.84TB --writes-per-day 1.9TB --fill 62%\n  \
    trimtab ssd run --from-host /data    with what this host's counters say\n  \
    trimtab ssd run --logical-pages 1M --op 25% --format json\n  \
    trimtab ssd sweep --capacity 3.84TB --writes-per-day 1.9TB --op 7%,28%\n  \
    trimtab ssd replay trace.csv --capacity 480GB\n  \
    trimtab ssd example five-pages       why deletes have to reach a drive\n  \
    trimtab ssd calibrate decay.csv      which spare area explains a decay"
)]
pub struct Ssd {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<SsdCommand>,

    /// Print the JSON schema of --format json, and nothing else
    #[arg(long)]
    pub schema: bool,
}

/// The commands below `ssd`.
#[derive(Debug, Subcommand)]
pub enum SsdCommand {
    /// Simulate a drive under a workload
    Run(Box<Run>),
    /// Simulate a grid of settings, on all cores
    Sweep(Box<Sweep>),
    /// Replay recorded requests on a drive
    Replay(Box<Replay>),
    /// Tell the articles' stories step by step
    Example(Example),
    /// Find the spare area and timing that explain a measured decay
    Calibrate(Calibrate),
}

/// `trimtab ssd run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trimtab ssd run --capacity 3.84TB --op 7% --fill 62% \\\n    \
    --writes-per-day 1.9TB --trim weekly\n  \
    trimtab ssd run --capacity 960GB --drives 4 --writes-per-day 1.9TB \\\n    \
    --workload lucene@80,log@20/5 -o ssd.html\n  \
    trimtab ssd run --from-host /data --trim daily   this host, trimmed otherwise\n  \
    trimtab ssd run --logical-pages 1M --op 25% --policy d-choices:10 --format json\n  \
    trimtab ssd run --logical-pages 256Ki --op 15% --trim-share 0.2\n\n\
    Sizes: 3.84TB and 960GB are decimal, as drives are sold; 16KiB, 1TiB and K, M, G, T alone are\n\
    binary. Counts: 1000000, 1M; 16Mi is binary. Shares: 7% or 0.07.\n\
    Exit codes: 0 simulated, 2 could not run.")]
pub struct Run {
    #[command(flatten)]
    pub scene: Scene,

    /// Spare area, of what the host can address: 7%, 0.28 [default: 7%]
    #[arg(long, visible_alias = "over-provisioning", value_name = "SHARE", value_parser = values::over_provisioning, allow_hyphen_values = true, help_heading = "The drive")]
    pub op: Option<f64>,

    /// Which block is collected: greedy, fifo, d-choices:D [default: greedy]
    #[arg(long, value_name = "POLICY", help_heading = "The drive")]
    pub policy: Option<Collection>,

    /// Live data by capacity: 62% [default: 62%, or the host's]
    #[arg(long, value_name = "SHARE", value_parser = values::fill, allow_hyphen_values = true, help_heading = "A drive below a filesystem, over days")]
    pub fill: Option<f64>,

    /// When free space is trimmed: weekly, daily, online (at each delete), never, swallowed (weekly,
    /// and the drive never hears), "Sun 06:47", "03:00", "every 3 days" [default: weekly, or the host's]
    #[arg(
        long,
        value_name = "WHEN",
        help_heading = "A drive below a filesystem, over days"
    )]
    pub trim: Option<TrimSchedule>,

    /// Of all requests, so many trim a page at random; the others write one (uniform only)
    #[arg(long, value_name = "SHARE", value_parser = values::trim_share, allow_hyphen_values = true, help_heading = "A bare drive, in pages")]
    pub trim_share: Option<f64>,

    /// Only what was asked: do not also simulate another trim schedule and more spare area
    #[arg(long, help_heading = "A drive below a filesystem, over days")]
    pub alone: bool,

    /// Form of the answer [default: text, or what the name of -o FILE ends in]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<SsdFormat>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a run and a sweep have in common.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // flags of a command line
pub struct Scene {
    #[command(flatten)]
    pub bare: Bare,

    #[command(flatten)]
    pub days: Days,

    #[command(flatten)]
    pub drive: DriveArgs,

    /// Who writes. Patterns: uniform, zipf:S, hot-cold:PAGES/WRITES, sequential. Below a filesystem
    /// also elasticsearch, opensearch, mongodb, lucene, lsm, log (files come and go), circular-log
    /// (overwritten), files, and mixes by percent of the writes and of the data, which both come to
    /// 100: lucene@80,circular-log@20/5 (of the data the log has 5, and lucene what is left: 95)
    /// [default: uniform; below a filesystem elasticsearch, or what the host's store does]
    #[arg(long, value_name = "WORKLOAD", help_heading = "The load")]
    pub workload: Option<Mix>,

    /// Seed of everything that is drawn; the same seed gives the same answer
    #[arg(long, value_name = "N", value_parser = plain::count, help_heading = "The load", default_value_t = 1)]
    pub seed: u64,
}

/// A bare drive, counted in pages.
#[derive(Debug, Args)]
#[command(next_help_heading = "A bare drive, in pages")]
pub struct Bare {
    /// Pages that the host can address: 1000000, 1M, 16Mi (16 times 1024 times 1024)
    #[arg(long, value_name = "N", value_parser = values::pages)]
    pub logical_pages: Option<u64>,

    /// Hot and cold writes go to blocks of their own (hot-cold only)
    #[arg(long)]
    pub streams: bool,

    /// The drive before the first write: empty, filled in order, or aged:P (filled, then
    /// overwritten P times at random) [default: filled]
    #[arg(long, value_name = "STATE")]
    pub power_on: Option<PowerOn>,

    /// Drive writes before anything is counted [default: 8]
    #[arg(long, value_name = "P", value_parser = values::warm_up)]
    pub warm_up: Option<f64>,

    /// Drive writes that are counted [default: 4, and a million pages at least]
    #[arg(long, value_name = "P", value_parser = values::passes)]
    pub passes: Option<f64>,

    /// Page writes that are counted, instead of --passes
    #[arg(long, value_name = "N", value_parser = values::pages, conflicts_with = "passes")]
    pub writes: Option<u64>,
}

/// A drive below a filesystem.
#[derive(Debug, Args)]
#[command(next_help_heading = "A drive below a filesystem, over days")]
#[allow(clippy::struct_field_names)] // fields are flags
pub struct Days {
    /// What the host can address of one drive: 3.84TB
    #[arg(long, value_name = "SIZE", value_parser = plain::size, conflicts_with = "logical_pages")]
    pub capacity: Option<u64>,

    /// All that is written on a mean day, to all drives together: 1.9TB
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub writes_per_day: Option<u64>,

    /// Drives of a RAID-0 [default: 1]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 1024>)]
    pub drives: Option<u32>,

    /// Chunk of the RAID-0 [default: 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub chunk: Option<u64>,

    /// Days that are shown [default: 28]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 3660>)]
    pub days: Option<u32>,

    /// Days before that [default: weeks until the drive was written three times, 52 at most]
    #[arg(long, value_name = "N", value_parser = values::whole::<0, 3660>)]
    pub warm_up_days: Option<u32>,

    /// Length of a point of the series, in whole hours [default: 6h]
    #[arg(long, value_name = "TIME", value_parser = values::hours)]
    pub interval: Option<u32>,

    /// How writes lie over the day: steady, or daily:HOUR/SHARE, the peak at HOUR and SHARE of it
    /// twelve hours later (daily:14/20%) [default: steady]
    #[arg(long, value_name = "RHYTHM")]
    pub rhythm: Option<Rhythm>,

    /// Bytes read at random by byte written [default: 0]
    #[arg(long, value_name = "R", value_parser = values::reads, allow_hyphen_values = true)]
    pub reads: Option<f64>,

    /// The drive before: new (discarded whole), or used:P (overwritten P times, never trimmed)
    /// [default: new]
    #[arg(long, value_name = "STATE")]
    pub history: Option<flash::scenario::History>,

    /// Pages that are simulated at most: larger drives are scaled down [default: 256Ki]
    #[arg(long, value_name = "N", value_parser = values::pages)]
    pub simulated_pages: Option<u64>,

    /// What the host wrote, by the drive's own account (with --media-written)
    #[arg(long, value_name = "SIZE", value_parser = plain::size, requires = "media_written")]
    pub host_written: Option<u64>,

    /// What the drive wrote to its flash, by its own account (OCP log, vendor attributes): the
    /// measured amplification then stands beside the model's
    #[arg(long, value_name = "SIZE", value_parser = plain::size, requires = "host_written")]
    pub media_written: Option<u64>,

    /// Take what is not given from this host: bytes written since boot, free space, the drives below
    /// MOUNT, its trim schedule [without MOUNT: that of the store's data]
    #[arg(long, value_name = "MOUNT", num_args = 0..=1, default_missing_value = "", conflicts_with = "logical_pages")]
    pub from_host: Option<String>,

    /// With --from-host: read the files below DIR instead of this host's
    #[arg(long, value_name = "DIR", requires = "from_host")]
    pub root: Option<PathBuf>,

    /// With --from-host: read a bundle (made by `trimtab collect`) instead of this host
    #[arg(
        long,
        value_name = "FILE",
        requires = "from_host",
        conflicts_with = "root"
    )]
    pub bundle: Option<PathBuf>,
}

/// The drive.
#[derive(Debug, Args)]
#[command(next_help_heading = "The drive")]
pub struct DriveArgs {
    /// Pages of a block: of what is erased at once [default: 256]
    #[arg(long, value_name = "N", value_parser = values::pages_per_block)]
    pub pages_per_block: Option<u32>,

    /// Bytes of a page [default: 4KiB, below a filesystem 16KiB]
    #[arg(long, value_name = "SIZE", value_parser = values::page_bytes)]
    pub page_bytes: Option<u64>,

    /// Moved pages go to blocks of their own, or share the host's [default: apart, on a bare drive
    /// shared, as in the papers]
    #[arg(long, value_enum, value_name = "WHERE")]
    pub moved: Option<Moved>,

    /// What its parts take: slc, mlc, tlc, tlc-slc-cache, qlc (a guess) [default: tlc]
    #[arg(long, value_name = "NAME", value_parser = values::preset)]
    pub preset: Option<String>,

    /// A drive of your own, in TOML (see docs/ssd.md); flags outrank it
    #[arg(long, value_name = "FILE")]
    pub drive: Option<PathBuf>,
}

/// Where moved pages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moved {
    /// To blocks of their own
    Apart,
    /// To the host's
    Shared,
}

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SsdFormat {
    /// For people
    #[default]
    Text,
    /// For programs: see `trimtab ssd --schema`
    Json,
    /// For spreadsheets
    Csv,
    /// For tickets
    Markdown,
    /// A page with pictures; loads nothing
    Html,
}

impl From<Format> for SsdFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Json => Self::Json,
            Format::Markdown => Self::Markdown,
            Format::Html => Self::Html,
        }
    }
}

/// `trimtab ssd sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trimtab ssd sweep --capacity 3.84TB --writes-per-day 1.9TB \\\n    \
    --op 7%,15%,28% --fill 50%,80% --trim weekly,daily\n  \
    trimtab ssd sweep --logical-pages 1M --op 7%,28% \\\n    \
    --policy greedy,fifo,d-choices:10 --format csv\n\n\
    Every value of a list is combined with every value of the others. Exit codes: 0 simulated,\n\
    1 some settings could not be simulated (the table says which), 2 could not run.")]
pub struct Sweep {
    #[command(flatten)]
    pub scene: Scene,

    /// Spare areas [default: 7%]
    #[arg(long, visible_alias = "over-provisioning", value_name = "LIST", value_delimiter = ',', value_parser = values::over_provisioning, allow_hyphen_values = true, help_heading = "The grid")]
    pub op: Vec<f64>,

    /// Policies [default: greedy]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "The grid"
    )]
    pub policy: Vec<Collection>,

    /// Fill levels [default: 62%]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::fill, allow_hyphen_values = true, help_heading = "The grid", conflicts_with = "logical_pages")]
    pub fill: Vec<f64>,

    /// Trim schedules, as `ssd run --trim` [default: weekly]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "The grid",
        conflicts_with = "logical_pages"
    )]
    pub trim: Vec<TrimSchedule>,

    /// Shares of requests that trim (bare drives) [default: 0]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::trim_share, allow_hyphen_values = true, help_heading = "The grid")]
    pub trim_share: Vec<f64>,

    /// Simulations at a time [default: as many as cores]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 1024>)]
    pub jobs: Option<u32>,

    /// Form of the answer [default: text, or what the name of -o FILE ends in]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<SsdFormat>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `trimtab ssd replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trimtab ssd replay usr_0.csv      as large a drive as the trace needs\n  \
    trimtab ssd replay io_traces.csv --devices 17,42 --capacity 40GB --op 28%\n  \
    zcat trace.gz | trimtab ssd replay - --capacity 500GB\n  \
    blkparse -i nvme0n1 | trimtab ssd replay - --capacity 1TB\n\n\
    Formats: msr, alibaba, tencent, cloudphysics, blkparse-d (requests as issued), blkparse-q (as\n\
    queued), fio-v2, fio-v3, ssdsim. Exit codes: 0 replayed, 2 could not run (also at the first line\n\
    that cannot be read, unless --skip-bad-lines).")]
pub struct Replay {
    /// Traces, replayed one after the other; `-` reads standard input
    #[arg(value_name = "TRACE", required_unless_present = "schema")]
    pub traces: Vec<PathBuf>,

    /// The traces' format [default: what their first lines tell]
    #[arg(long, value_name = "FORMAT", value_parser = values::trace_format)]
    pub trace_format: Option<flash::trace::Format>,

    /// Unit of the trace's times, in nanoseconds, where it is not the format's
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    pub time_unit: Option<u64>,

    /// Leave out up to N lines that cannot be read
    #[arg(long, value_name = "N", value_parser = plain::count)]
    pub skip_bad_lines: Option<u64>,

    /// Devices of the trace, by name; `all` lays them over each other [default: the first]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub devices: Vec<String>,

    /// What the host can address of one drive [default: what the trace needs]
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub capacity: Option<u64>,

    /// What to do with addresses beyond the drive: leave them out, fold them back, or scale all
    /// [default: leave them out]
    #[arg(long, value_enum, value_name = "HOW")]
    pub beyond: Option<Beyond>,

    /// Submit as fast as the drive takes it, N requests under way, instead of when they were recorded
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 65_536>)]
    pub queue_depth: Option<u32>,

    /// Times that the traces are replayed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::whole::<1, 100_000>)]
    pub rounds: u32,

    /// The drive before the first request: empty, filled in order, or aged:P [default: filled]
    #[arg(long, value_name = "STATE")]
    pub power_on: Option<PowerOn>,

    /// Length of a point of the series: 1s, 500ms [default: a ninetieth of the trace]
    #[arg(long, value_name = "TIME", value_parser = values::seconds)]
    pub interval: Option<f64>,

    #[command(flatten)]
    pub drive: DriveArgs,

    /// Spare area, of what the host can address [default: 7%]
    #[arg(long, visible_alias = "over-provisioning", value_name = "SHARE", value_parser = values::over_provisioning, allow_hyphen_values = true, help_heading = "The drive")]
    pub op: Option<f64>,

    /// Which block is collected [default: greedy]
    #[arg(long, value_name = "POLICY", help_heading = "The drive")]
    pub policy: Option<Collection>,

    /// Drives of a RAID-0 [default: 1]
    #[arg(long, value_name = "N", value_parser = values::whole::<1, 1024>, help_heading = "The drive")]
    pub drives: Option<u32>,

    /// Chunk of the RAID-0 [default: 512KiB]
    #[arg(long, value_name = "SIZE", value_parser = plain::size, help_heading = "The drive")]
    pub chunk: Option<u64>,

    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", value_parser = plain::count, default_value_t = 1)]
    pub seed: u64,

    /// Form of the answer [default: text, or what the name of -o FILE ends in]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<SsdFormat>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// What becomes of addresses beyond the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Beyond {
    /// Such requests are left out and counted
    Skip,
    /// They begin again at the drive's head
    Wrap,
    /// All addresses are scaled so that they fit
    Scale,
}

/// `trimtab ssd example`.
#[derive(Debug, Args)]
pub struct Example {
    /// Which
    #[arg(value_enum)]
    pub name: ExampleName,

    /// Form of the answer [default: text, or what the name of -o FILE ends in]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<SsdFormat>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// The stories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExampleName {
    /// A drive of five pages: 12 KB are stored, 20 KB written, 12 KB read; 8 KB with the trim known
    FivePages,
    /// A benchmark run ten times: trimmed before the first run only, before each, and never heard
    TenRuns,
    /// A host trimmed weekly and daily, over four weeks
    Schedules,
}

/// `trimtab ssd calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trimtab ssd calibrate decay.csv   seconds and MB/s of a full-speed write test\n  \
    trimtab ssd calibrate wa.csv --value write-amplification \\\n    \
    --written-per-second 210MB --capacity 3.84TB --start trimmed:62%\n\n\
    SERIES is a CSV of two columns, time in seconds and the value; a line of names and lines that\n\
    begin with # are passed over; `-` reads standard input.\n\
    Exit codes: 0 the series determines the spare area, 1 it does not (the answer says why), 2 could\n\
    not run.")]
pub struct Calibrate {
    /// The series
    #[arg(value_name = "SERIES")]
    pub series: PathBuf,

    /// What the second column is [default: throughput]
    #[arg(long, value_enum)]
    pub value: Option<Measured>,

    /// Unit of a throughput: 1MB for megabytes a second, 1MiB, 1 for bytes [default: 1MB]
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub unit: Option<u64>,

    /// What a time is, of the interval that its value is the mean of; all the same where points are
    /// evenly spaced [default: end]
    #[arg(long, value_enum)]
    pub stamps: Option<Stamped>,

    /// What the host wrote a second all the time [default: as much as the drive took]
    #[arg(long, value_name = "SIZE", value_parser = values::written_per_second)]
    pub written_per_second: Option<HostWrites>,

    /// What the host can address, where known
    #[arg(long, value_name = "SIZE", value_parser = plain::size)]
    pub capacity: Option<u64>,

    /// The drive at the first point: filled:SHARE or trimmed:SHARE of it in use
    /// [default: filled:100%]
    #[arg(long, value_name = "STATE")]
    pub start: Option<flash::theory::Start>,

    /// How the drive collects: fifo or greedy [default: greedy]
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<Collection>,

    /// Pages of a block [default: 256]
    #[arg(long, value_name = "N", value_parser = values::pages_per_block)]
    pub pages_per_block: Option<u32>,

    /// What a moved page costs, in pages that the host writes, where known
    #[arg(long, value_name = "R", value_parser = values::cost, allow_hyphen_values = true)]
    pub moved_page_cost: Option<f64>,

    /// Form of the answer [default: text, or what the name of -o FILE ends in]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<SsdFormat>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a time says of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stamped {
    /// Its end
    End,
    /// Its beginning
    Begin,
    /// Its middle
    Middle,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Measured {
    /// Bytes that the drive took a second
    Throughput,
    /// Media writes by host writes
    WriteAmplification,
}
