//! The words of `trimtab explain`.

use crate::answer::AnswerArgs;
use crate::arguments::AccessArgs;
use crate::values;
use clap::{Args, ValueEnum};
use facts::series::Better;
use std::path::PathBuf;
use std::time::Duration;

/// What `trimtab explain --help` begins with.
pub const LONG_ABOUT: &str = "Say what makes a curve drop again and again: what recurs in a history, since when, \
    how sure that is, and which scheduled job is behind it.\n\nThe answer is a sentence, then what it \
    rests on: the curve with the runs of jobs below it, one period folded, every explanation that was \
    weighed (nothing and an unknown cause included), and what would change the verdict. Jobs are those \
    of this host, unless --jobs says otherwise; no root is needed.";

/// `trimtab explain`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab explain races/                a directory of Rally's race.json files\n  \
    trimtab explain nightly.csv --column throughput --better higher\n  \
    trimtab explain iostat.log --jobs es1.tar.zst --tz Europe/Berlin\n  \
    trimtab explain /var/lib/mongo/diagnostic.data --select '*latency*'\n  \
    trimtab explain http://localhost:9090 --query 'rate(node_disk_io_time_seconds_total[5m])' \\\n    \
    --since 90d --step 5m --jobs none\n  \
    trimtab explain http://localhost:9200 --index 'metricbeat-*' --field system.load.1 \\\n    \
    --split-by host.name --agg max\n  \
    trimtab explain nightly.csv --events deploys.csv --format html -o why.html\n\n\
    Times (--since, --until): 2026-11-01, '2026-11-01 06:00' in the zone of --tz, 2026-11-01T06:00:00Z,\n\
    or a span before now: 90d, 12h.\n\n\
    Exit codes: 0 nothing recurs and nothing changed, or too little is known to tell (the sentence says\n\
    which); 1 a series recurs, with or without a known job, or changed for good, or what is written to\n\
    the disks of a short log jumps; 2 could not run, or nothing could be read."
)]
pub struct Explain {
    /// Histories: files (CSV, TSV, JSON lines, iostat's text, sadf -j), directories (Rally's races,
    /// MongoDB's diagnostic.data), stores made with --save, or URLs of a Prometheus (with --query), an
    /// Elasticsearch or an OpenSearch (with --index)
    #[arg(value_name = "SOURCE", required_unless_present = "schema")]
    pub sources: Vec<String>,

    /// Whose jobs may be behind it: `/` for this host, a directory or bundle of another one, a crontab,
    /// or `none`; when they really ran is read from logs that are there: syslog, and of this host the
    /// journal [default: /]
    #[arg(long, value_name = "HOST")]
    pub jobs: Option<String>,

    /// Other moments that may be behind it, such as deployments: lines with a time, and if wanted a name
    /// and a length in seconds after commas; may be given several times
    #[arg(long, value_name = "CSV")]
    pub events: Vec<PathBuf>,

    /// When jobs really ran, beside the logs of --jobs: the output of `journalctl -o json`, or a file
    /// of syslog; `none` leaves the logs of --jobs unread; may be given several times
    #[arg(long, value_name = "FILE|none")]
    pub log: Vec<PathBuf>,

    /// Time zone that calendars are told in (Europe/Berlin, UTC) [default: that of the host of --jobs,
    /// else UTC]
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,

    /// Whether higher or lower values are better, if name and unit do not tell
    #[arg(long, value_enum, value_name = "WAY")]
    pub better: Option<BetterArg>,

    /// Leave out what is older
    #[arg(long, value_name = "T")]
    pub since: Option<String>,

    /// Leave out what is younger, this moment included
    #[arg(long, value_name = "T")]
    pub until: Option<String>,

    /// Only series whose name fits: `*` stands for any characters, `?` for one; may be given several
    /// times
    #[arg(long, value_name = "GLOB")]
    pub select: Vec<String>,

    /// Keep what was read in a store of one's own, to be added to and read again later
    #[arg(long, value_name = "STORE")]
    pub save: Option<PathBuf>,

    /// Seed of the bootstrap: the same seed gives the same answer [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Show every series in full [default: the first 5 in text, the first 20 on a page]
    #[arg(long)]
    pub all: bool,

    /// Exit with 0 whatever is found (errors of trimtab itself still give 2)
    #[arg(long)]
    pub exit_zero: bool,

    // Last: what follows them stands below their headings.
    #[command(flatten)]
    pub files: FileArgs,

    #[command(flatten)]
    pub servers: ServerArgs,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// How files are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct FileArgs {
    /// Column or field with values [default: all that hold numbers]; may be given several times
    #[arg(long, value_name = "NAME")]
    pub column: Vec<String>,

    /// Column or field that tells series apart [default: found by itself]; may be given several times
    #[arg(long, value_name = "NAME")]
    pub label_column: Vec<String>,

    /// Column or field that counts up: its rate a second is looked at; may be given several times
    #[arg(long, value_name = "NAME")]
    pub counter: Vec<String>,

    /// Column or field with times [default: found by itself]
    #[arg(long, value_name = "NAME")]
    pub time_column: Option<String>,

    /// How times are written: a format as of strptime(3), or s, ms, us, ns since 1970
    #[arg(long, value_name = "F")]
    pub time_format: Option<String>,

    /// Zone of times that name none [default: that of --tz]
    #[arg(long, value_name = "ZONE")]
    pub data_tz: Option<String>,
}

/// How servers are asked. Nothing on them is changed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerArgs {
    /// Ask the Prometheus at SOURCE for PROMQL; may be given several times
    #[arg(long, value_name = "PROMQL")]
    pub query: Vec<String>,

    /// Ask the Elasticsearch or OpenSearch at SOURCE for documents of these indices
    #[arg(
        long,
        value_name = "PATTERN",
        requires = "field",
        conflicts_with = "query"
    )]
    pub index: Option<String>,

    /// The field with the values
    #[arg(long, value_name = "F", requires = "index")]
    pub field: Option<String>,

    /// One series for each value of this field
    #[arg(long, value_name = "F", requires = "index")]
    pub split_by: Option<String>,

    /// What becomes of the values of one step [default: avg]
    #[arg(long, value_enum, value_name = "HOW", requires = "index")]
    pub agg: Option<Aggregate>,

    /// Only documents that this query string fits (`host.name:es1`)
    #[arg(long, value_name = "QUERY", requires = "index")]
    pub filter: Option<String>,

    /// Distance between samples [default: 60s; 10s for MongoDB's diagnostic.data]; also between the
    /// reports of an iostat's log without times
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub step: Option<Duration>,

    #[command(flatten)]
    pub access: AccessArgs,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BetterArg {
    /// More is better: throughput
    Higher,
    /// Less is better: latency
    Lower,
}

impl From<BetterArg> for Better {
    fn from(better: BetterArg) -> Self {
        match better {
            BetterArg::Higher => Self::Higher,
            BetterArg::Lower => Self::Lower,
        }
    }
}

/// What becomes of the values of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Aggregate {
    /// Their mean
    Avg,
    /// The lowest
    Min,
    /// The highest: a short spike survives
    Max,
    /// Their sum
    Sum,
    /// Their 99th percentile
    P99,
    /// For a counter: what it grew by a second
    Rate,
}
