//! Arguments of `trimtab explain`.

use crate::answer::AnswerArgs;
use crate::arguments::AccessArgs;
use crate::values;
use clap::{Args, ValueEnum};
use facts::series::Better;
use std::path::PathBuf;
use std::time::Duration;

/// Text above the usage line of `trimtab explain --help`.
pub const LONG_ABOUT: &str = "Find what recurs in a time series (since when, and how certain that is) and\n\
    which scheduled job runs at the same time\n\n\
    Prints a short verdict, then the evidence: the curve with job runs below it,\n\
    one period folded, all explanations that were compared (including nothing\n\
    and an unknown cause), and what would change the verdict. Jobs are those of this\n\
    host unless --jobs says otherwise. Root is not needed.";

/// `trimtab explain`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab explain races/           a directory of Rally's race.json files\n  \
    trimtab explain nightly.csv --column throughput --better higher\n  \
    trimtab explain iostat.log --jobs es1.tar.zst --tz Europe/Berlin\n  \
    trimtab explain /var/lib/mongo/diagnostic.data --select '*latency*'\n  \
    trimtab explain http://localhost:9090 --since 90d --step 5m --jobs none \\\n    \
    --query 'rate(node_disk_io_time_seconds_total[5m])'\n  \
    trimtab explain http://localhost:9200 --index 'metricbeat-*' \\\n    \
    --field system.load.1 --split-by host.name --agg max\n  \
    trimtab explain nightly.csv --events deploys.csv --format html -o why.html\n\n\
    Times (--since, --until): 2026-11-01 or '2026-11-01 06:00' in the zone of --tz,\n\
    2026-11-01T06:00:00Z, or a span before now: 90d, 12h.\n\n\
    Exit codes: 0 no pattern and no lasting change, or not enough data (the verdict\n\
    says which); 1 a recurring pattern (with or without a known job), a lasting\n\
    change, or a short disk log in which discards or writes do harm; 2 could not\n\
    run, or nothing could be read."
)]
pub struct Explain {
    /// Time series: files (CSV, TSV, JSON lines, the output of iostat, sar, vmstat or sadf -j), `-` (one
    /// of these from stdin), directories (Rally races, MongoDB diagnostic.data, pt-stalk), or URLs of
    /// Prometheus (with --query or --discards), Elasticsearch or OpenSearch (with --index). Files that
    /// follow each other, such as sar's of each day, are one history
    #[arg(value_name = "SOURCE", required_unless_present = "schema")]
    pub sources: Vec<String>,

    /// Source of scheduled jobs: `/` (this host), a directory or bundle of another host, a crontab,
    /// or `none`; actual run times come from its logs: syslog, and on this host the journal
    /// [default: /]
    #[arg(long, value_name = "HOST")]
    pub jobs: Option<String>,

    /// Other possible causes, such as deployments: lines with a time and, optionally, a name and a
    /// duration in seconds, separated by commas (repeatable)
    #[arg(long, value_name = "CSV")]
    pub events: Vec<PathBuf>,

    /// Additional log of actual job runs: `journalctl -o json` output or a syslog file; `none` ignores
    /// the logs of --jobs (repeatable)
    #[arg(long, value_name = "FILE|none")]
    pub log: Vec<PathBuf>,

    /// Time zone of calendar patterns (Europe/Berlin, UTC) [default: zone of the --jobs host, else UTC]
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,

    /// Whether higher or lower values are better, if name and unit do not tell
    #[arg(long, value_enum, value_name = "WAY")]
    pub better: Option<BetterArg>,

    /// Ignore samples before T
    #[arg(long, value_name = "T")]
    pub since: Option<String>,

    /// Ignore samples at or after T
    #[arg(long, value_name = "T")]
    pub until: Option<String>,

    /// Include only series whose name matches GLOB: `*` matches any characters, `?` one (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub select: Vec<String>,

    /// Random seed of the bootstrap; the same seed gives the same result [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Show all series in full [default: first 5 in text, first 20 in documents]
    #[arg(long)]
    pub all: bool,

    /// Exit with 0 even if something is found (errors still give 2)
    #[arg(long)]
    pub exit_zero: bool,

    // Last, because options after a flattened group would be listed under its heading.
    #[command(flatten)]
    pub files: FileArgs,

    #[command(flatten)]
    pub servers: ServerArgs,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Options for reading files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct FileArgs {
    /// Column or field with values (repeatable) [default: all numeric ones]
    #[arg(long, value_name = "NAME")]
    pub column: Vec<String>,

    /// Column or field that identifies a series (repeatable) [default: detected]
    #[arg(long, value_name = "NAME")]
    pub label_column: Vec<String>,

    /// Column or field with a counter, analyzed as its rate per second (repeatable)
    #[arg(long, value_name = "NAME")]
    pub counter: Vec<String>,

    /// Column or field with timestamps [default: detected]
    #[arg(long, value_name = "NAME")]
    pub time_column: Option<String>,

    /// Timestamp format: a strptime(3) format, or s, ms, us, ns since 1970
    #[arg(long, value_name = "F")]
    pub time_format: Option<String>,

    /// Day on which a log of disks begins (2026-11-26), if it has times of day alone
    #[arg(long, value_name = "DAY", value_parser = values::day)]
    pub date: Option<jiff::civil::Date>,

    /// Time zone of timestamps without one [default: --tz]
    #[arg(long, value_name = "ZONE")]
    pub data_tz: Option<String>,
}

/// Options for querying servers, which are only read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerArgs {
    /// Query for the Prometheus server at SOURCE (repeatable)
    #[arg(long, value_name = "PROMQL", group = "values")]
    pub query: Vec<String>,

    /// Indices to query on the Elasticsearch or OpenSearch cluster at SOURCE
    #[arg(
        long,
        value_name = "PATTERN",
        requires = "figure",
        conflicts_with = "query"
    )]
    pub index: Option<String>,

    /// Field with the values
    #[arg(long, value_name = "F", requires = "index", groups = ["figure", "values"])]
    pub field: Option<String>,

    /// Discards of each disk in a Prometheus or in documents of Metricbeat or Elastic Agent (--index),
    /// computed where they are not recorded
    #[arg(long, group = "figure", conflicts_with = "query")]
    pub discards: bool,

    /// Make one series for each value of this field, or of this label of a Prometheus (`instance`)
    #[arg(long, value_name = "F", requires = "values")]
    pub split_by: Option<String>,

    /// Aggregation of the values in each step; of a Prometheus, of the series of a label [default: avg]
    #[arg(long, value_enum, value_name = "HOW", requires = "values")]
    pub agg: Option<Aggregate>,

    /// Include only documents that match this query string (`host.name:es1`); with --discards of a
    /// Prometheus, only series with these labels (`instance=~"db.+"`)
    #[arg(long, value_name = "QUERY", requires = "figure")]
    pub filter: Option<String>,

    /// Interval between samples, or between the reports of an iostat log without times [default: 60s;
    /// 10s for MongoDB diagnostic.data]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub step: Option<Duration>,

    #[command(flatten)]
    pub access: AccessArgs,
}

/// Values of `--better`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BetterArg {
    /// Higher is better, as for throughput
    Higher,
    /// Lower is better, as for latency
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

/// Values of `--agg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Aggregate {
    /// Mean
    Avg,
    /// Minimum
    Min,
    /// Maximum, which preserves short spikes
    Max,
    /// Sum
    Sum,
    /// 99th percentile
    P99,
    /// Increase per second of a counter
    Rate,
}
