//! The words of `trimtab shards`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use super::values;
use clap::{Args, Subcommand, ValueEnum};
use shards::profile::Server;
use shards::what_if::NewNode;
use std::path::PathBuf;

/// What `trimtab shards --help` begins with.
pub const LONG_ABOUT: &str = "What the master of a cluster decides about shards, and what that costs it.\n\n\
    The model decides as Elasticsearch 7.4.0 does, decider by decider. Nothing is changed on a cluster: \
    a URL is only asked.";

/// `trimtab shards`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    trimtab shards cost --shards 50000 --nodes 12 --closed 0.9 --version 7.4.0\n  \
    trimtab shards reroute --state http://localhost:9200/\n  \
    trimtab shards reroute --state state.json --nodes stats.json\n  \
    trimtab shards what-if --state state.json --remove-node node-3"
)]
pub struct Shards {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<ShardsCommand>,

    /// Print the JSON schema of --format json, and nothing else
    #[arg(long)]
    pub schema: bool,
}

/// The commands below `shards`.
#[derive(Debug, Subcommand)]
pub enum ShardsCommand {
    /// Predict what a reroute, and what creating, deleting, opening and closing an index take
    Cost(Cost),
    /// Explain what the next reroute would do, and why
    Reroute(Reroute),
    /// Tell what a change would bring: what moves, in how many rounds, to which balance
    WhatIf(WhatIf),
}

/// Where the cluster comes from.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// The answer of GET _cluster/state: a file, `-` for standard input, or the cluster's URL, which
    /// is asked for everything
    #[arg(long, value_name = "FILE|-|URL")]
    pub state: String,

    /// The answer of GET _nodes or _nodes/stats: roles, versions, disks; may be given several times
    #[arg(long, visible_alias = "stats", value_name = "FILE")]
    pub nodes: Vec<PathBuf>,

    /// The answer of GET _stats?level=shards, or of _cat/shards?bytes=b&format=json: sizes of shards
    #[arg(long, value_name = "FILE")]
    pub sizes: Vec<PathBuf>,

    /// The answer of GET _cluster/settings, best with include_defaults=true
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,

    /// Version of the server, where it is not told [default: 7.4.0]
    #[arg(long, value_name = "VERSION", value_parser = Server::parse)]
    pub version: Option<Server>,

    /// File with the credentials for the URL (TRIMTAB_USER and its like otherwise)
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Certificates to trust beside the system's, in PEM [default: TRIMTAB_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// `trimtab shards reroute`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab shards reroute --state http://localhost:9200/\n  \
    curl -s localhost:9200/_cluster/state > state.json\n  \
    curl -s localhost:9200/_nodes/stats > stats.json\n  \
    trimtab shards reroute --state state.json --nodes stats.json\n  \
    trimtab shards reroute --state - --format json < state.json\n\n\
    Nothing is changed on the cluster. Exit codes: 0 explained, 2 could not run."
)]
pub struct Reroute {
    #[command(flatten)]
    pub cluster: StateArgs,

    /// Explain so many decisions at most; all are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,

    /// Tell deciders that say yes, too
    #[arg(long)]
    pub all_deciders: bool,

    /// Form of the output [default: text]
    #[arg(long, value_enum)]
    pub format: Option<ShardsFormat>,
}

/// `trimtab shards what-if`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab shards what-if --state http://localhost:9200/ --add-node node-4\n  \
    trimtab shards what-if --state state.json --nodes stats.json --remove-node node-3\n  \
    trimtab shards what-if --state state.json \\\n    \
    --set cluster.routing.allocation.exclude._name=node-3   empty it first\n  \
    trimtab shards what-if --state state.json --close 'logs-2019*' --to-version 7.17.28\n  \
    trimtab shards what-if --state state.json --add-node node-4:zone=b,disk=2TB\n\n\
    Changes are made at once, in the order settings, nodes added, nodes removed, indices closed.\n\
    Nothing is changed on the cluster. Exit codes: 0 told; 1 the cluster would be worse off (more\n\
    shards unassigned, or that have to leave their nodes and cannot, a disk above the high\n\
    watermark that is not now, or no rest within --rounds); 2 could not run."
)]
pub struct WhatIf {
    #[command(flatten)]
    pub cluster: StateArgs,

    /// Add an empty data node: NAME, or NAME:attribute=value,...; disk=SIZE is its disk [default: the
    /// median of the others]
    #[arg(long, value_name = "NAME[:k=v,...]", value_parser = values::new_node)]
    pub add_node: Vec<NewNode>,

    /// Take a node away as if it had died: its name or id
    #[arg(long, value_name = "NODE")]
    pub remove_node: Vec<String>,

    /// Close the open indices whose names match: logs-2019*
    #[arg(long, value_name = "PATTERN")]
    pub close: Vec<String>,

    /// Set a setting of the cluster; an empty value takes it back
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,

    /// The version afterwards: what a reroute takes is told for it (decisions stay those of 7.4.0)
    #[arg(long, value_name = "VERSION", value_parser = Server::parse)]
    pub to_version: Option<Server>,

    /// Rounds at most
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rounds: u32,

    /// Form of the output [default: text]
    #[arg(long, value_enum)]
    pub format: Option<ShardsFormat>,
}

/// `trimtab shards cost`.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  \
    trimtab shards cost --shards 50000 --nodes 12\n  \
    trimtab shards cost --shards 50000 --nodes 12 --closed 90% --version 7.4.0\n  \
    trimtab shards cost --shards 25000 --nodes 2 --primaries 1 --replicas 0 \\\n    \
    --version 7.17.28 --format json\n\n\
    Times are processor time of the master's thread on the machine that was measured:\n\
    compare them with each other. Exit codes: 0 predicted, 2 could not run."
)]
pub struct Cost {
    /// Copies of shards in the cluster: primaries and replicas, of open and closed indices
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub shards: u64,

    /// Data nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub nodes: u32,

    /// Share of the shards that belong to closed indices: 0.9, 90% [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub closed: Option<f64>,

    /// Indices, open and closed [default: as many as these shards make with --primaries and --replicas]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub indices: Option<u64>,

    /// Version of the server: 6.8.23, 7.4.0, opensearch-2.19.1
    #[arg(long, value_name = "VERSION", default_value = "7.4.0", value_parser = Server::parse)]
    pub version: Server,

    /// Primaries of the index that is created, deleted, opened, closed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub primaries: u32,

    /// Replicas of each primary
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub replicas: u32,

    /// As with cluster.routing.allocation.disk.include_relocations: false
    #[arg(long)]
    pub without_relocations: bool,

    /// Form of the output [default: text]
    #[arg(long, value_enum)]
    pub format: Option<ShardsFormat>,
}

/// Forms of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ShardsFormat {
    /// For people
    #[default]
    Text,
    /// For programs: see `trimtab shards --schema`
    Json,
}
