//! Arguments of `trimtab shards`.
#![allow(clippy::doc_markdown)] // help shows no backticks

use super::values;
use crate::answer::AnswerArgs;
use clap::{Args, Subcommand};
use shards::profile::Server;
use shards::what_if::{NewIndex, NewNode, NodeShutdown};
use std::path::PathBuf;

/// Text above the usage line of `trimtab shards --help`.
pub const LONG_ABOUT: &str = "Predict the master's shard allocation decisions and what they cost\n\n\
    Decides as the master of the cluster's version does, decider by decider:\n\
    Elasticsearch 7.4 to 9.2, OpenSearch 1 to 3. Never changes a cluster: a URL\n\
    is only read.";

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

    /// Print the JSON schema of --format json and exit
    #[arg(long)]
    pub schema: bool,
}

/// Subcommands of `shards`.
#[derive(Debug, Subcommand)]
pub enum ShardsCommand {
    /// Predict the master's time for a reroute and for index operations
    Cost(Cost),
    /// Explain what the next reroute would do and why
    Reroute(Reroute),
    /// Simulate a change: what is lost, what moves, how long it takes
    WhatIf(WhatIf),
}

/// Options that select the cluster to read.
#[derive(Debug, Default, Args)]
pub struct StateArgs {
    /// Response to GET _cluster/state: a file, `-` for stdin, an archive of support-diagnostics, or
    /// the URL of a cluster; from the last two everything is read
    #[arg(
        long,
        value_name = "FILE|-|DIR|URL",
        required_unless_present = "schema"
    )]
    pub state: Option<String>,

    /// Response to GET _nodes or _nodes/stats: roles, versions, disks (repeatable)
    #[arg(long, visible_alias = "stats", value_name = "FILE")]
    pub nodes: Vec<PathBuf>,

    /// Response to GET _stats?level=shards or _cat/shards?bytes=b&format=json: shard sizes (repeatable)
    #[arg(long, value_name = "FILE")]
    pub sizes: Vec<PathBuf>,

    /// Response to GET _cluster/settings, preferably with include_defaults=true
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,

    /// Response to GET _internal/desired_balance, of Elasticsearch from 8.6 on
    #[arg(long, value_name = "FILE")]
    pub desired: Option<PathBuf>,

    /// Server version, if the responses do not contain it [default: 7.4.0]
    #[arg(long, value_name = "VERSION", value_parser = Server::parse)]
    pub version: Option<Server>,

    /// Read the credentials for the URL from FILE [default: TRIMTAB_USER etc.]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Additional CA certificates to trust (PEM) [default: TRIMTAB_CA_FILE]
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
    The cluster is not changed.\n\n\
    Exit codes: 0 explained; 2 could not run, or the state was not understood."
)]
pub struct Reroute {
    #[command(flatten)]
    pub cluster: StateArgs,

    /// Maximum number of decisions to explain (all are still counted)
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::count_in::<usize>(0..=u64::MAX))]
    pub limit: usize,

    /// Also show deciders that return YES
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
    trimtab shards what-if --state state.json --nodes stats.json \\\n    \
    --remove-node node-3\n  \
    trimtab shards what-if --state state.json \\\n    \
    --set cluster.routing.allocation.exclude._name=node-3   drain it first\n  \
    trimtab shards what-if --state state.json --close 'logs-2019*' \\\n    \
    --to-version 7.17.28\n  \
    trimtab shards what-if --state state.json --add-node node-4:zone=b,disk=2TB\n\n\
    All changes are simulated at once, in this order: settings, nodes added, announced\n\
    to leave, removed, indices closed, set, created. The cluster is not changed.\n\n\
    Exit codes: 0 not worse; 1 worse (more unassigned shards, more shards that must\n\
    leave their node but cannot, another disk above the high watermark, or still\n\
    moving after --rounds); 2 could not run, or the state was not understood."
)]
pub struct WhatIf {
    #[command(flatten)]
    pub cluster: StateArgs,

    /// Add an empty data node, NAME or NAME:attribute=value,...; disk=SIZE sets its disk size [default:
    /// median of the other nodes], role=data_hot a role [default: data]; with id=ID it is the node of this
    /// id that comes back with its data (repeatable)
    #[arg(long, value_name = "NAME[:k=v,...]", value_parser = values::new_node)]
    pub add_node: Vec<NewNode>,

    /// Remove a node (name or ID) as if it had failed (repeatable)
    #[arg(long, value_name = "NODE")]
    pub remove_node: Vec<String>,

    /// Announce that a node leaves (remove), restarts, or is replaced by another, as the node shutdown API
    /// does [default: remove] (repeatable)
    #[arg(long, value_name = "NODE[:restart|replace=NAME]", value_parser = values::shutdown)]
    pub shut_down: Vec<NodeShutdown>,

    /// Close open indices that match PATTERN, such as logs-2019* (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub close: Vec<String>,

    /// Set a cluster setting; an empty VALUE resets it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,

    /// Set a setting of the open indices that match PATTERN: replicas, tiers, filters; an empty VALUE resets
    /// it (repeatable)
    #[arg(long, value_name = "PATTERN:KEY=VALUE", value_parser = values::index_setting)]
    pub set_index: Vec<(String, String, String)>,

    /// Create an index [default: shards=1,replicas=1] (repeatable)
    #[arg(long, value_name = "NAME[:shards=N,replicas=N]", value_parser = values::new_index)]
    pub create_index: Vec<NewIndex>,

    /// Server version afterwards, to predict reroute time (decisions remain those of the version before)
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
    trimtab shards cost --state http://localhost:9200/\n  \
    trimtab shards cost --state state.json --version 7.17.28 --format json\n\n\
    Without a version, all versions are compared. Times are CPU time of the master's\n\
    thread on the machine used for measuring: compare them with each other.\n\n\
    Exit codes: 0 predicted; 2 could not run."
)]
pub struct Cost {
    /// Total primaries and replicas of open and closed indices (50,000 or 50k)
    #[arg(
        long,
        value_name = "N",
        value_parser = values::count_in::<u64>(1..=100_000_000),
        required_unless_present_any = ["schema", "state"],
        conflicts_with = "state"
    )]
    pub shards: Option<u64>,

    /// Number of data nodes
    #[arg(
        long,
        value_name = "N",
        value_parser = values::count_in::<u32>(1..=100_000),
        required_unless_present_any = ["schema", "state"],
        conflicts_with = "state"
    )]
    pub nodes: Option<u32>,

    /// Take the size from a cluster: the response to GET _cluster/state (a file, or `-` for stdin), or
    /// the URL of a cluster
    #[arg(long, value_name = "FILE|-|URL")]
    pub state: Option<String>,

    /// Response to GET _internal/desired_balance: what computing it takes (8.6 or later)
    #[arg(long, value_name = "FILE", requires = "state")]
    pub desired: Option<PathBuf>,

    /// Share of the shards in closed indices (90% or 0.9) [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = values::share, conflicts_with = "state")]
    pub closed: Option<f64>,

    /// Number of open and closed indices [default: from --shards, --primaries, --replicas]
    #[arg(long, value_name = "N", value_parser = values::count_in::<u64>(1..=100_000_000), conflicts_with = "state")]
    pub indices: Option<u64>,

    /// Server version (6.8.23, 7.4.0, opensearch-2.19.1) [default: the cluster's, or all]
    #[arg(long, value_name = "VERSION", value_parser = Server::parse)]
    pub version: Option<Server>,

    /// Primaries of the index being created, deleted, opened or closed [default: the version's: 5 on
    /// 6.8, else 1]
    #[arg(long, value_name = "N", value_parser = values::count_in::<u32>(1..=1024))]
    pub primaries: Option<u32>,

    /// Replicas of each primary
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::count_in::<u32>(0..=1000))]
    pub replicas: u32,

    /// Predict with disk.include_relocations set to false
    #[arg(long)]
    pub without_relocations: bool,

    /// Read the credentials for the URL from FILE [default: TRIMTAB_USER etc.]
    #[arg(long, value_name = "FILE")]
    pub credentials_file: Option<PathBuf>,

    /// Additional CA certificates to trust (PEM) [default: TRIMTAB_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}
