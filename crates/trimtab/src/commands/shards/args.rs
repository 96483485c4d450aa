//! The arguments of `trimtab shards`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use super::values;
use crate::answer::AnswerArgs;
use clap::{Args, Subcommand};
use shards::profile::Server;
use shards::what_if::NewNode;
use std::path::PathBuf;

/// What `trimtab shards --help` begins with.
pub const LONG_ABOUT: &str = "Predict what the master of a cluster decides about shards, and what that costs.\n\n\
    The model makes the decisions of Elasticsearch 7.4.0, decider by decider. It never changes a \
    cluster: a URL is only read.";

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
    /// The subcommand.
    #[command(subcommand)]
    pub command: Option<ShardsCommand>,

    /// Print the JSON schema of --format json, and nothing else
    #[arg(long)]
    pub schema: bool,
}

/// The commands below `shards`.
#[derive(Debug, Subcommand)]
pub enum ShardsCommand {
    /// Predict how long a reroute, or creating, deleting, opening and closing an index take the master
    Cost(Cost),
    /// Explain what the next reroute would do, and why
    Reroute(Reroute),
    /// Simulate a change: what moves, in how many rounds, and whether the cluster is worse off
    WhatIf(WhatIf),
}

/// Where the cluster comes from.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// The answer of GET _cluster/state: a file, `-` for standard input, or the URL of the cluster,
    /// from which everything is read
    #[arg(long, value_name = "FILE|-|URL", required_unless_present = "schema")]
    pub state: Option<String>,

    /// The answer of GET _nodes or _nodes/stats: roles, versions, disks; may be given several times
    #[arg(long, visible_alias = "stats", value_name = "FILE")]
    pub nodes: Vec<PathBuf>,

    /// The answer of GET _stats?level=shards, or of _cat/shards?bytes=b&format=json: sizes of shards
    #[arg(long, value_name = "FILE")]
    pub sizes: Vec<PathBuf>,

    /// The answer of GET _cluster/settings, best with include_defaults=true
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,

    /// Version of the server, if the answers do not tell it [default: 7.4.0]
    #[arg(long, value_name = "VERSION", value_parser = Server::parse)]
    pub version: Option<Server>,

    /// File with the credentials for the URL [default: TRIMTAB_USER and its like]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Certificates to trust in addition to the system's, in PEM [default: TRIMTAB_CA_FILE]
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
    The cluster itself is not changed. Exit codes: 0 explained, 2 could not run."
)]
pub struct Reroute {
    #[command(flatten)]
    pub cluster: StateArgs,

    /// Maximum number of decisions to explain (all are still counted)
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::count_in::<usize>(0..=u64::MAX))]
    pub limit: usize,

    /// Show deciders that say yes, too
    #[arg(long)]
    pub all_deciders: bool,

    #[command(flatten)]
    pub answer: AnswerArgs,
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
    All changes are made at once, in this order: settings, nodes added, nodes removed, indices\n\
    closed. The cluster itself is not changed. Exit codes: 0 not worse off; 1 worse off (more shards\n\
    unassigned, more that must leave their node and cannot, another disk above the high\n\
    watermark, or no rest within --rounds); 2 could not run."
)]
pub struct WhatIf {
    #[command(flatten)]
    pub cluster: StateArgs,

    /// Add an empty data node: NAME, or NAME:attribute=value,...; disk=SIZE is its disk [default: the
    /// median of the others]
    #[arg(long, value_name = "NAME[:k=v,...]", value_parser = values::new_node)]
    pub add_node: Vec<NewNode>,

    /// Remove a node as if it had died: its name or id
    #[arg(long, value_name = "NODE")]
    pub remove_node: Vec<String>,

    /// Close the open indices whose names match PATTERN: logs-2019*
    #[arg(long, value_name = "PATTERN")]
    pub close: Vec<String>,

    /// Set a cluster setting; an empty value resets it
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,

    /// Version afterwards, for the time of a reroute (decisions stay those of 7.4.0)
    #[arg(long, value_name = "VERSION", value_parser = Server::parse)]
    pub to_version: Option<Server>,

    /// Maximum number of rounds to simulate
    #[arg(long, value_name = "N", default_value = "100,000", value_parser = values::count_in::<u32>(0..=u64::from(u32::MAX)))]
    pub rounds: u32,

    #[command(flatten)]
    pub answer: AnswerArgs,
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
    /// Shards in the cluster: primaries and replicas of open and closed indices: 50,000 or 50k
    #[arg(
        long,
        value_name = "N",
        value_parser = values::count_in::<u64>(1..=100_000_000),
        required_unless_present = "schema"
    )]
    pub shards: Option<u64>,

    /// Data nodes
    #[arg(
        long,
        value_name = "N",
        value_parser = values::count_in::<u32>(1..=100_000),
        required_unless_present = "schema"
    )]
    pub nodes: Option<u32>,

    /// Share of the shards in closed indices: 90% or 0.9 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub closed: Option<f64>,

    /// Indices, open and closed [default: from --shards, --primaries and --replicas]
    #[arg(long, value_name = "N", value_parser = values::count_in::<u64>(1..=100_000_000))]
    pub indices: Option<u64>,

    /// Version of the server: 6.8.23, 7.4.0, opensearch-2.19.1
    #[arg(long, value_name = "VERSION", default_value = "7.4.0", value_parser = Server::parse)]
    pub version: Server,

    /// Primaries of the index that is created, deleted, opened or closed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::count_in::<u32>(1..=1024))]
    pub primaries: u32,

    /// Replicas of each primary
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::count_in::<u32>(0..=1000))]
    pub replicas: u32,

    /// Predict for disk.include_relocations: false
    #[arg(long)]
    pub without_relocations: bool,

    #[command(flatten)]
    pub answer: AnswerArgs,
}
